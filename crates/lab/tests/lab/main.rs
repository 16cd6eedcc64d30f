//! The lab from outside: whole trials over real sockets and real processes.

#![allow(clippy::unwrap_used)]

mod fleet;
mod processes;
mod stub;
mod trial;
