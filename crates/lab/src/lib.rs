//! The lab: load-tests a service and reports how much load it sustained.
//!
//! Modules, in the order in which a trial uses them:
//!
//! ```text
//! scenario   PURE  text -> a validated scenario, or every error of the text at once
//! plan       PURE  (phases, seed) -> arrivals, lazily
//! generator        arrivals -> exchanges; an open loop with a visible in-flight cap
//! work             work items that outlive their request: followed, counted, reconciled
//! measurement PURE samples, seconds and rows of the timeline, as data
//! record           samples and timeline, as they happen
//! aggregate  PURE  samples -> figures, mergeable, in constant memory
//! edge       PURE  levels -> the highest sustained rate, and what it implies for capacity
//! verdict    PURE  figures and gates -> passed, failed or void
//! report     PURE  one record -> every view of it
//! compare    PURE  several records -> which figures differ by more than their noise
//! sweep            one scenario under many settings -> the best, and what it cost
//! ```
//!
//! In addition, `safety` and `preflight` check before the first byte is sent what must not or cannot run; `guard` and
//! `cgroup` end the processes of a trial with the lab and hold them within limits; `machine` observes processes and the
//! host.
//!
//! `trial` connects these to clocks, sockets and files; `cli` is the command line. The lab tests services from outside:
//! it uses the code of no service, not even our own.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod aggregate;
pub mod cgroup;
pub mod cli;
pub mod clock;
pub mod compare;
pub mod default_gates;
pub mod edge;
pub mod findings;
pub mod format;
pub mod generator;
pub mod guard;
pub mod limits;
pub mod machine;
pub mod measurement;
pub mod metrics;
mod output;
pub mod plan;
pub mod preflight;
pub mod record;
pub mod report;
pub mod safety;
pub mod scenario;
mod signals;
mod statistics;
pub mod sweep;
pub mod trial;
pub mod verdict;
pub mod work;
