//! The lab from outside: whole trials over real sockets and real processes.

#![allow(clippy::unwrap_used)]

mod awake;
mod engine;
mod fleet;
mod held;
mod processes;
mod scripted;
mod shown;
mod spoken;
mod stub;
mod trial;
