//! What holds for every history: properties of the three algorithms, of many keys, and of many policies.
#![expect(clippy::unwrap_used, reason = "a test tells what is wrong by failing")]

mod batches;
mod bounds;
mod clocks;
mod edits;
mod forgetting;
mod moments;
mod support;
mod together;
