//! The minutes before a moment, as many as fit on the widest dashboard. Does not know how they are drawn.

use std::collections::VecDeque;

use super::NOTES_MAX;
use crate::format::{clock, sanitize};
use crate::report::progress::Progress;

/// Moments that are kept: one per second, one per column.
const SAMPLES_MAX: usize = 256;

/// Steps per unit: milliseconds are kept to the microsecond.
const STEPS_PER_UNIT: f64 = 1000.0;

#[derive(Debug, Default)]
pub(super) struct History {
    pub(super) throughput: FigureHistory,
    pub(super) latency: FigureHistory,
    notes: VecDeque<String>,
}

/// One figure over time, in whole steps.
#[derive(Debug, Default)]
pub(super) struct FigureHistory(VecDeque<Option<u64>>);

impl History {
    pub(super) fn push(&mut self, progress: &Progress) {
        self.throughput.push(progress.throughput_per_s);
        self.latency.push(progress.latency_p99_ms);
        let at = clock(progress.elapsed.as_secs_f64());
        self.notes.extend(progress.notes.iter().map(|note| format!("{at}  {}", sanitize(note))));
        self.notes.drain(..self.notes.len().saturating_sub(NOTES_MAX));
    }

    /// The latest notes, each with its moment.
    pub(super) fn notes(&self) -> impl Iterator<Item = &str> {
        self.notes.iter().map(String::as_str)
    }
}

impl FigureHistory {
    fn push(&mut self, value: Option<f64>) {
        if self.0.len() == SAMPLES_MAX {
            self.0.pop_front();
        }
        let steps = |value: f64| (value.max(0.0) * STEPS_PER_UNIT).round() as u64;
        self.0.push_back(value.filter(|value| value.is_finite()).map(steps));
    }

    /// The latest `n` moments, in steps.
    pub(super) fn latest(&self, n: usize) -> Vec<Option<u64>> {
        self.0.iter().skip(self.0.len().saturating_sub(n)).copied().collect()
    }

    pub(super) fn last(&self) -> Option<f64> {
        self.0.back().copied().flatten().map(Self::from_steps)
    }

    /// The value of a number of steps.
    pub(super) fn from_steps(steps: u64) -> f64 {
        steps as f64 / STEPS_PER_UNIT
    }
}
