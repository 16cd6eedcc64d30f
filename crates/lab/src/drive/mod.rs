//! The drive: workers that take arrivals off the plan when they are due and send them on their journeys. An open loop
//! never waits for an answer before the next arrival; the only brake is the in-flight cap, and what waits there is
//! counted and keeps its intended moment. Beside it stands the control client, for requests that are no load. Refuses
//! to know what the figures will say.

mod answer;
mod book;
mod call;
mod child;
mod control;
mod crew;
mod failure;
mod frames;
mod http1;
mod moment;
mod perform;
mod pointer;
mod poller;
mod processes;
mod protocol;
mod slab;
mod socket;
mod speech;
mod tls;
mod worker;

pub use child::worker_process;
pub use control::{Call, Client, Reply};
pub use crew::{Begun, Crew, Gauges, Report, Segment, Setting};
pub use failure::Failure;
pub(crate) use failure::excerpt;
pub use moment::Moment;
pub(crate) use perform::{Answer, perform, target_headers};
pub use processes::{Processes, WORKER_COMMAND};
