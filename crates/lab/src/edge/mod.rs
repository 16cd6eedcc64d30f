//! The edge: the highest load that a service can sustain. Pure, from the first rate to the last suggestion.
//!
//! ```text
//! search    (measurement of one rate)   -> the next rate, until the edge is found or a reason why not
//! overload  (measurement of one rate)   -> sustained, overloaded with reasons, or void
//! growth    (a count over time)         -> does it grow, by how much, and is that more than noise
//! usl       (concurrency, throughput)   -> contention and coherency with intervals, or a refusal
//! capacity  (levels)                    -> peak, ranges, knee, saturation, beyond, suggestions
//! ```
//!
//! Does not know clocks, sockets and files, and how a level is driven. The driver starts each level on a service with
//! nothing left over from the level before: leftovers would be counted against the wrong rate.

mod capacity;
mod format;
mod growth;
mod knee;
mod ladder;
mod level_assessment;
mod outcome;
mod search;
mod suggest;
#[cfg(test)]
mod tests;
mod usl;

pub use capacity::{Capacity, PastPeak, Peak, Range, Saturation, capacity};
pub use growth::{Growth, Window, growth};
pub use knee::{Knee, KneeMethod};
pub use ladder::{Axis, LevelPoint, LevelRef, SaturationSign};
pub use level_assessment::{LevelAssessment, LevelMeasurement, OverloadReason};
pub use outcome::{Ending, Level, LevelPurpose, LevelResult, SearchOutcome};
pub use search::Search;
pub use suggest::{Suggestion, SuggestionKind};
pub use usl::{Estimate, FitError, Usl, UslPeak, fit};
