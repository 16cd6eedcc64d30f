//! The views of a comparison, for people and for programs. Pure: every view is a function of the comparison. Decides
//! nothing.

mod document;
mod format;
mod json;
mod junit;
mod markdown;
pub(super) mod sentence;

pub(crate) use document::document;
pub(crate) use json::json;
pub(crate) use junit::junit;
pub(crate) use markdown::markdown;
