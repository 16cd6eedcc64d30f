//! The built program putting services on trial: its own schedule is the subject here, so these tests do not run beside the servers'.

#![expect(clippy::unwrap_used, reason = "a test tells what is wrong by failing")]

#[path = "../support/mod.rs"]
mod support;

mod any_service;
mod interruption;
mod limiter;
mod void;
mod workers;
