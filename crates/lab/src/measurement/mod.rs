//! What is measured, as data: a sample of one step, a second of one worker, the rows of a timeline. The generator makes it, the
//! aggregate adds it up, the record writes it down; none of them is known here.

mod interval;
mod sample;
pub mod timeline;
mod times;

pub(crate) use interval::keep_sample;
pub use interval::{
    ErrorStats, HeldCounts, HeldStats, Interval, LongPollTimes, OpId, OpKey, OpStats, OutcomeCounts, PauseImpact,
    PushStats,
};
pub use sample::{Awaited, Class, ErrorKind, Sample};
pub use timeline::WorkPoint;
pub(crate) use times::quantile_ms;
pub use times::{Basis, TimeHistogram, histogram};

/// How long after its end a second waits for late workers.
pub(crate) const SECOND_OPEN_FOR_S: u64 = 2;
