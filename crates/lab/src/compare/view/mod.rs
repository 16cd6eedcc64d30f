//! The views of a comparison, for people and for programs. Pure: every view is a function of the comparison. Decides
//! nothing.

mod format;
mod json;
mod junit;
mod markdown;
mod sentence;

pub use json::json;
pub use junit::junit;
pub use markdown::markdown;
pub use sentence::verdict_sentence;
