//! What is measured, as data: a sample of one step, a second of one worker, the rows of a timeline. The generator makes it, the
//! aggregate adds it up, the record writes it down; none of them is known here.

mod interval;
mod portable;
mod sample;
pub mod timeline;
mod work_point;

pub use interval::{
    ErrorStats, GeneratorDelay, GeneratorDelays, HeldStats, Interval, LongPollTimes, OpId, OpStats, PauseImpact,
    PushStats, histogram,
};
pub(crate) use interval::{keep_sample, merge_spans};
pub use sample::{Awaited, Class, ErrorKind, Sample};
pub use work_point::WorkPoint;

/// How long after its end a second waits for late workers.
pub(crate) const SECOND_OPEN_FOR_S: u64 = 2;
