//! The tables of whole processes, on a clock that jumps and a store in memory that fails when it is told to.

mod crowds;
mod disk;
mod feeds;
mod lives;
mod races;
mod sizes;
mod world;

use world::{Node, World, settings};
