//! The lab from outside: whole trials over real sockets and real processes.

#![allow(clippy::unwrap_used)]

mod engine;
mod held_connections;
mod live_progress;
mod message_server;
mod processes;
mod scripted_server;
mod stub_service;
mod supervisor;
mod trial;
mod wake_probe;
