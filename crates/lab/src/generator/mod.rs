//! The load generator. Workers take arrivals off the plan when they are due and run a journey for each. An open loop
//! never waits for a response before the next arrival; the only brake is the in-flight cap, and an arrival that waits
//! there is counted and keeps its intended time. The control client next to it sends requests that are no load. Does
//! not know what is reported.

mod config;
mod control_client;
mod control_step;
mod decoder;
mod failure;
mod framing;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod http1;
mod interval_accumulator;
mod json_pointer;
mod keys;
mod messages;
mod monotonic_time;
mod poller;
mod prepared;
mod response;
mod socket;
mod tls;
mod worker;
mod worker_main;
mod worker_pool;
mod worker_processes;

pub use config::{GeneratorConfig, RunInputs, Segment, WORKER_COMMAND, WorkerProcessSpec};
pub use control_client::{ControlClient, ControlRequest, ControlResponse};
pub(crate) use control_step::{ControlOutcome, perform_step, target_headers};
pub use failure::Failure;
pub(crate) use failure::excerpt;
pub use messages::{Gauges, StartedWork, WorkerReport};
pub use monotonic_time::MonotonicTime;
pub(crate) use tls::Trust;
pub use worker_main::run_worker_process;
pub use worker_pool::WorkerPool;
