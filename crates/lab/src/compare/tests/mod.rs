//! Whole comparisons of made-up records, from the directory to every view.

pub(crate) mod fixture;
mod refusals;
mod schema;
mod views;
