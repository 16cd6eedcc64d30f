//! The lab: puts a service through a trial and says how much it took.
//!
//! The spine, in the order in which a trial walks it:
//!
//! ```text
//! scenario  PURE  text -> a checked trial, or every mistake of the text at once
//! plan      PURE  (phases, seed) -> arrivals, lazily
//! drive           arrivals -> exchanges; an open loop with a visible in-flight cap
//! work            pieces that outlive their request: followed, counted, reconciled
//! record          samples and timeline, as they happen
//! fold      PURE  samples -> figures, mergeable, in constant memory
//! edge      PURE  levels -> the highest rate sustained, and what it says about capacity
//! verdict   PURE  figures and gates -> passed, failed or void
//! report    PURE  one record -> every view of it
//! compare   PURE  several records -> which figures differ by more than their noise
//! sweep           one scenario under many settings -> the best, and what it cost
//! ```
//!
//! Beside it: `safety` and `preflight` say what must not or cannot run before a byte is sent; `guard` and `cgroup`
//! bind what a trial starts to its life and its limits; `machine` looks at processes and the machine.
//!
//! `trial` is the edge that ties them to clocks, sockets and files; `cli` is its command line. The lab tests
//! services from outside: it refuses to know the code of any of them, ours included.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod aggregate;
pub mod cgroup;
pub mod cli;
pub mod clock;
pub mod compare;
pub mod default_gates;
pub mod edge;
pub mod findings;
mod flag;
pub mod generator;
pub mod guard;
pub mod limits;
pub mod machine;
pub mod metrics;
pub mod plan;
pub mod preflight;
pub mod record;
pub mod report;
pub mod safety;
pub mod scenario;
mod signals;
pub mod sweep;
pub mod trial;
pub mod verdict;
pub mod work;
