//! The tables of whole processes, on a clock that jumps and a store in memory that fails on demand.

mod disk;
mod feeds;
mod lifecycle;
mod limits;
mod races;
mod sizes;
mod support;

use support::{Node, TestStore, settings};
