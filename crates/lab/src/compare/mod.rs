//! Comparison of runs.

pub mod stats;
