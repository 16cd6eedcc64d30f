//! Comparisons in full: of records that were made up, from the directory to every view.

pub(crate) mod fixture;
mod refusals;
mod schema;
mod views;
