//! How many arrivals an expected count makes: shared by the language, which limits them, and the plan, which makes them.

/// The share of a count that rounding may add to it: no arrival is made of it.
const ROUNDING: f64 = 1e-12;

/// How many arrivals are due before the integral of the rate reaches `expected`.
#[must_use]
pub(crate) fn due_within(expected: f64) -> u64 {
    (expected - expected * ROUNDING).ceil().max(0.0) as u64
}
