//! Aggregates the held connections of one load step: how many are open, how long opening them took, how they were lost.
//! Microseconds in, milliseconds out. Nothing here is a request. Does not know what is sent over them.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::op::{Basis, TimeHistogram};
use super::summary::Statistics;
use crate::format::round;
use crate::measurement::{HeldStats, merge_spans};

#[derive(Clone, Debug, Default)]
pub(crate) struct HeldAggregate {
    /// When the first of them was due.
    from: Duration,
    /// When the last of them was open, as far as workers have reported.
    until: Option<Duration>,
    opened: u64,
    kept: u64,
    reopened: u64,
    failed: u64,
    closed: u64,
    dropped: u64,
    left: u64,
    closed_after: u64,
    dropped_after: u64,
    lost_after: Option<(u64, u64)>,
    opening: TimeHistogram,
}

/// Figures of the connections that a phase holds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HeldFigures {
    /// How many should be held.
    pub planned: u64,
    /// How many were opened.
    pub opened: u64,
    /// The phase whose connections it resumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keeps: Option<String>,
    /// How many were open already when it started, because an earlier phase had left them open.
    #[serde(default)]
    pub kept: u64,
    /// Failed attempts to open one: each is repeated a second later.
    pub failed: u64,
    /// Connections that the peer closed in order while they were held.
    pub closed: u64,
    /// Connections that were lost otherwise while they were held.
    pub dropped: u64,
    /// Connections that were open again after that.
    pub reopened: u64,
    /// Connections that were open when it was over, and stayed open for a later phase.
    #[serde(default)]
    pub left: u64,
    /// Of those: closed by the peer in order before the later phase resumed them.
    #[serde(default)]
    pub closed_after: u64,
    /// Of those: lost otherwise before that.
    #[serde(default)]
    pub dropped_after: u64,
    /// The start of the first second in which any of those were lost and the end of the last one, in seconds from the
    /// start of the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_after_s: Option<(f64, f64)>,
    /// When the first was due, in seconds from the start of the plan.
    pub from_s: f64,
    /// From there until the last one was open, in seconds; none if not all were.
    pub opening_s: Option<f64>,
    /// How many were opened per second over that time.
    pub opened_per_s: Option<f64>,
    /// From the time at which a connection was due until it was open, its opening journey included, in milliseconds.
    pub opening_ms: Statistics,
}

impl HeldFigures {
    /// Connections that were left open and lost before a later phase resumed them.
    #[must_use]
    pub fn lost_after(&self) -> u64 {
        self.closed_after + self.dropped_after
    }

    #[must_use]
    pub fn opened_or_kept(&self) -> u64 {
        self.opened + self.kept
    }
}

impl HeldAggregate {
    pub(crate) fn starting_at(from: Duration) -> Self {
        Self { from, ..Self::default() }
    }

    pub(crate) fn add(&mut self, stats: &HeldStats) {
        self.opened += stats.opened;
        self.kept += stats.kept;
        self.reopened += stats.reopened;
        self.failed += stats.failed;
        self.closed += stats.closed;
        self.dropped += stats.dropped;
        self.left += stats.left;
        self.closed_after += stats.closed_after;
        self.dropped_after += stats.dropped_after;
        self.lost_after = merge_spans(self.lost_after, stats.lost_after);
        self.opening.add(&stats.opening_us);
        stats.generator_delay.iter().for_each(|generator_delay| self.opening.add_generator_delay(generator_delay));
    }

    /// The last of some connections was open at `at`.
    pub(crate) fn set_opened_by(&mut self, at: Duration) {
        self.until = self.until.max(Some(at));
    }

    /// When the last connection was open, as far as is known.
    pub(crate) fn opened_until(&self) -> Duration {
        self.until.unwrap_or(self.from)
    }

    pub(crate) fn figures(&self, planned: u64, basis: Basis) -> HeldFigures {
        let is_open = self.opened + self.kept >= planned;
        let until = self.until.filter(|_| is_open);
        let opening_s = until.map(|until| until.saturating_sub(self.from).as_secs_f64());
        HeldFigures {
            planned,
            opened: self.opened,
            kept: self.kept,
            failed: self.failed,
            closed: self.closed,
            dropped: self.dropped,
            reopened: self.reopened,
            left: self.left,
            closed_after: self.closed_after,
            dropped_after: self.dropped_after,
            lost_after_s: self.lost_after.map(|(first, last)| (first as f64, last as f64 + 1.0)),
            keeps: None,
            from_s: round(self.from.as_secs_f64()),
            opening_s: opening_s.map(round),
            opened_per_s: opening_s.filter(|took| *took > 0.0).map(|took| round(self.opened as f64 / took)),
            opening_ms: self.opening.statistics_ms_on(basis),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_opening_has_a_length_once_all_are_open() {
        let mut aggregate = HeldAggregate::starting_at(Duration::from_secs(5));
        let mut stats = HeldStats { opened: 30, failed: 2, closed: 1, dropped: 3, reopened: 4, ..HeldStats::new(0) };
        (0..30).for_each(|opened| stats.opening_us.record(opened * 10).unwrap());
        aggregate.add(&stats);
        aggregate.set_opened_by(Duration::from_secs(7));
        let figures = aggregate.figures(40, Basis::Measured);
        assert_eq!((figures.opened, figures.opening_s, figures.opened_per_s), (30, None, None));
        aggregate.add(&HeldStats { opened: 10, ..HeldStats::new(0) });
        aggregate.set_opened_by(Duration::from_secs(6));
        let figures = aggregate.figures(40, Basis::Measured);
        assert_eq!((figures.from_s, figures.opening_s, figures.opened_per_s), (5.0, Some(2.0), Some(20.0)));
        assert_eq!((figures.failed, figures.closed, figures.dropped, figures.reopened), (2, 1, 3, 4));
        assert_eq!((figures.opening_ms.count, figures.opening_ms.max), (30, Some(0.29)));
    }
}
