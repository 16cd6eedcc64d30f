//! Outages: times in which every request that ended had failed, second by second while rows are added; exact however
//! long the run is, and known while it runs. Seconds in which nothing ended do not interrupt an outage: a server
//! without responses has no good ones. Does not know the cause.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::limits::OUTAGES_MAX;
use crate::measurement::OutcomeCounts;

/// From the first second in which everything that ended had failed to the last one before anything succeeded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outage {
    pub(crate) seconds: Range<u64>,
    pub(crate) failed: u64,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Outages {
    /// Seconds to which rows may still be added.
    open: BTreeMap<u64, OutcomeCounts>,
    /// The first open second.
    next: u64,
    /// Whether the last outage is ongoing.
    is_ongoing: bool,
    all: Vec<Outage>,
}

impl Outages {
    /// Adds requests that ended in a second.
    pub(super) fn add_ended(&mut self, second: u64, counts: OutcomeCounts) {
        // Late rows are counted with the first open second.
        *self.open.entry(second.max(self.next)).or_default() += counts;
    }

    /// All seconds before this one are complete.
    pub(super) fn complete(&mut self, before: u64) {
        while let Some(entry) = self.open.first_entry().filter(|entry| *entry.key() < before) {
            let (second, counts) = entry.remove_entry();
            match counts {
                OutcomeCounts { ok: 0, denied: 0, errors: 0 } => {}
                OutcomeCounts { ok: 0, denied: 0, errors } => self.extend(second, errors),
                _ => self.is_ongoing = false,
            }
        }
        self.next = self.next.max(before);
    }

    /// There are no more rows.
    pub(super) fn close(&mut self) {
        let end = self.open.last_key_value().map_or(self.next, |(last, _)| last.saturating_add(1));
        self.complete(end);
    }

    /// All outages so far, in the order of their starts.
    pub(crate) fn all(&self) -> &[Outage] {
        &self.all
    }

    /// The ongoing outage, as far as seconds are complete.
    pub(crate) fn current(&self) -> Option<&Outage> {
        self.all.last().filter(|_| self.is_ongoing)
    }

    fn extend(&mut self, second: u64, failed: u64) {
        let end = second.saturating_add(1);
        match self.all.last_mut().filter(|_| self.is_ongoing) {
            Some(last) => {
                last.seconds.end = end;
                last.failed += failed;
            }
            None => {
                if self.all.len() >= OUTAGES_MAX {
                    let length = |index: &usize| self.all[*index].seconds.end - self.all[*index].seconds.start;
                    let shortest = (0..self.all.len()).min_by_key(length);
                    shortest.map(|index| self.all.remove(index));
                }
                self.all.push(Outage { seconds: second..end, failed });
            }
        }
        self.is_ongoing = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One character for each second: `g`ood, `b`ad, both (`m`), and anything else if nothing ended.
    fn built(seconds: &str) -> Outages {
        let counts = |ok, errors| OutcomeCounts { ok, denied: 0, errors };
        let mut outages = Outages::default();
        for (number, word) in (0..).zip(seconds.chars()) {
            match word {
                'g' => outages.add_ended(number, counts(3, 0)),
                'b' => outages.add_ended(number, counts(0, 3)),
                'm' => outages.add_ended(number, counts(1, 9)),
                _ => {}
            }
            outages.complete(number.saturating_sub(2));
        }
        outages
    }

    #[track_caller]
    fn check(seconds: &str, expected: &[(Range<u64>, u64)]) {
        let mut outages = built(seconds);
        outages.close();
        let found: Vec<_> = outages.all().iter().map(|outage| (outage.seconds.clone(), outage.failed)).collect();
        assert_eq!(found, expected, "{seconds}");
    }

    #[test]
    fn failing_seconds_are_one_outage_until_something_succeeds() {
        check("gggg", &[]);
        check("g  gg", &[]);
        check("gbbgg", &[(1..3, 6)]);
        check("gbb b", &[(1..5, 9)]);
        check("gbbmb", &[(1..3, 6), (4..5, 3)]);
        check("gmmg", &[]);
        check("  bb", &[(2..4, 6)]);
        check("gggb  b  bb  ", &[(3..11, 12)]);
    }

    #[track_caller]
    fn check_current(seconds: &str, expected: Option<(u64, u64)>) {
        let found = built(seconds).current().map(|outage| (outage.seconds.start, outage.seconds.end));
        assert_eq!(found, expected, "{seconds}");
    }

    #[test]
    fn an_outage_is_ongoing_as_far_as_seconds_are_complete() {
        // Rows may still be added to the last seconds.
        check_current("gbb", None);
        check_current("gbbb", None);
        check_current("gbbbb", Some((1, 2)));
        check_current("gbbbbb", Some((1, 3)));
        check_current("gbbbbbg", Some((1, 4)));
        check_current("gbbbbbgggg", None);
        check_current("gb     ", Some((1, 2)));
    }

    #[test]
    fn late_rows_count_in_the_first_open_second() {
        let mut outages = built("gbbbbbb");
        outages.add_ended(2, OutcomeCounts::all_ok(1));
        outages.close();
        let seconds: Vec<Range<u64>> = outages.all().iter().map(|outage| outage.seconds.clone()).collect();
        assert_eq!(seconds, [1..4, 5..7]);
    }

    #[test]
    fn the_shortest_of_too_many_are_dropped() {
        let mut outages = built(&format!("gbbb{}", "gb".repeat(OUTAGES_MAX + 9)));
        outages.close();
        assert_eq!((outages.all().len(), outages.all()[0].seconds.clone()), (OUTAGES_MAX, 1..4));
    }
}
