//! How far the counter is from the exact count, measured on traffic that the counter itself admits.
#![expect(clippy::unwrap_used, reason = "a test tells what is wrong by failing")]

use std::collections::VecDeque;
use std::time::Duration;

use limiter::{Counter, Decision, Log, Moment, Quota, State, decide};

const LIMIT: u64 = 100;
const WINDOW_NS: u64 = 60_000_000_000;
const CALLS: u64 = 1_000_000;

/// All in parts of a thousand.
#[derive(Debug)]
struct Measured {
    /// Mean distance between the units that the counter takes for used and those that are, of the limit.
    distance: u64,
    /// Most units in any window, of the limit.
    peak: u64,
    /// Units admitted, of those that the exact log admits of the same calls.
    admitted: u64,
}

/// Gaps between calls at `load` times the limit, by a generator of its own.
fn gaps(load: f64, is_bursty: bool) -> impl FnMut() -> u64 {
    let mut dice = 0x2545_f491_4f6c_dd1d_u64;
    let mut phase_ns = 0;
    let mut uniform = move || {
        dice ^= dice << 13;
        dice ^= dice >> 7;
        dice ^= dice << 17;
        (dice >> 11) as f64 / (1_u64 << 53) as f64
    };
    move || {
        // Bursty callers are ten times as fast in the first fifth of three minutes, and a tenth as fast in the rest.
        let pace = if !is_bursty {
            1.0
        } else if phase_ns % (3 * WINDOW_NS) < 3 * WINDOW_NS / 5 {
            4.6
        } else {
            0.1
        };
        let mean_ns = WINDOW_NS as f64 / (LIMIT as f64 * load * pace);
        let gap_ns = (-(1.0 - uniform()).ln() * mean_ns) as u64;
        phase_ns += gap_ns;
        gap_ns
    }
}

fn measure(load: f64, is_bursty: bool) -> Measured {
    let quota = Quota::new(LIMIT, Duration::from_nanos(WINDOW_NS)).unwrap();
    let (mut counter, mut log, mut window, mut now) = (Counter::default(), Log::default(), VecDeque::new(), WINDOW_NS);
    let (mut by_counter, mut by_log, mut distance, mut peak) = (0, 0, 0, 0);
    let mut gap = gaps(load, is_bursty);
    for _ in 0..CALLS {
        now += gap();
        while window.front().is_some_and(|at| at + WINDOW_NS <= now) {
            window.pop_front();
        }
        let Decision::Allow { remaining, .. } = counter.decide(Moment(now), quota, 0) else {
            panic!("a look is allowed")
        };
        distance += (LIMIT - remaining).abs_diff(window.len() as u64);
        if decide(&mut counter, Moment(now), quota, 1).is_allowed() {
            window.push_back(now);
            by_counter += 1;
            peak = peak.max(window.len() as u64);
        }
        by_log += u64::from(decide(&mut log, Moment(now), quota, 1).is_allowed());
    }
    Measured {
        distance: 1_000 * distance / (CALLS * LIMIT),
        peak: 1_000 * peak / LIMIT,
        admitted: 1_000 * by_counter / by_log,
    }
}

/// What the head of the counter states: within 3 % of the limit in the mean, a quarter above it in the busiest window, and as
/// many units as the log admits, give or take 1.5 %.
#[track_caller]
fn check(load: f64, is_bursty: bool) {
    let measured = measure(load, is_bursty);
    let is_as_stated = measured.distance <= 30 && measured.peak <= 1_250 && (985..=1_015).contains(&measured.admitted);
    assert!(is_as_stated, "load {load}, bursty {is_bursty}: {measured:?}");
}

#[test]
fn the_counter_errs_as_stated() {
    check(0.5, false);
    check(1.0, false);
    check(2.0, false);
    check(10.0, false);
    check(1.0, true);
}
