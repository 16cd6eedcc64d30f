//! Stretches in which every request that ended had failed, second by second while rows come in: exact however long the run
//! is, and known while it goes on. Seconds in which nothing ended interrupt none: who answers nobody answers nobody well.
//! Refuses to know whose doing it was.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::limits::OUTAGES_MAX;

/// From the first second in which all that ended had failed to the last one before anything ended well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outage {
    pub(crate) seconds: Range<u64>,
    /// How many failed.
    pub(crate) failed: u64,
}

/// The outages of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outages {
    /// What is known of the seconds that more rows may belong to: how many ended well or were denied, and how many failed.
    open: BTreeMap<u64, (u64, u64)>,
    /// The first second that is open.
    next: u64,
    /// Whether the last of all goes on.
    goes_on: bool,
    all: Vec<Outage>,
}

impl Outages {
    /// Takes requests that ended in a second: well or denied, and with errors.
    pub(super) fn take_ended(&mut self, second: u64, good: u64, bad: u64) {
        // What comes late is counted with the first second that is open.
        let open = self.open.entry(second.max(self.next)).or_default();
        *open = (open.0 + good, open.1 + bad);
    }

    /// All seconds before this one are complete.
    pub(super) fn complete(&mut self, before: u64) {
        while let Some(entry) = self.open.first_entry().filter(|entry| *entry.key() < before) {
            let (second, (good, bad)) = entry.remove_entry();
            match (good, bad) {
                (0, 0) => {}
                (0, bad) => self.go_on(second, bad),
                _ => self.goes_on = false,
            }
        }
        self.next = self.next.max(before);
    }

    /// No more rows come.
    pub(super) fn close(&mut self) {
        let end = self.open.last_key_value().map_or(self.next, |(last, _)| last.saturating_add(1));
        self.complete(end);
    }

    /// Those so far, in the order in which they began.
    pub(crate) fn all(&self) -> &[Outage] {
        &self.all
    }

    /// The one that goes on, as far as the seconds are complete.
    pub(crate) fn current(&self) -> Option<&Outage> {
        self.all.last().filter(|_| self.goes_on)
    }

    fn go_on(&mut self, second: u64, failed: u64) {
        let end = second.saturating_add(1);
        match self.all.last_mut().filter(|_| self.goes_on) {
            Some(last) => {
                last.seconds.end = end;
                last.failed += failed;
            }
            None => {
                if self.all.len() >= OUTAGES_MAX {
                    self.forget_shortest();
                }
                self.all.push(Outage { seconds: second..end, failed });
            }
        }
        self.goes_on = true;
    }

    fn forget_shortest(&mut self) {
        let length = |outage: &Outage| outage.seconds.end - outage.seconds.start;
        let shortest = self.all.iter().enumerate().min_by_key(|(_, outage)| length(outage));
        if let Some(at) = shortest.map(|(at, _)| at) {
            self.all.remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One word for each second: `g`ood, `b`ad, both (`m`), and anything else where nothing ended.
    fn told(seconds: &str) -> Outages {
        let mut outages = Outages::default();
        for (number, word) in (0..).zip(seconds.chars()) {
            match word {
                'g' => outages.take_ended(number, 3, 0),
                'b' => outages.take_ended(number, 0, 3),
                'm' => outages.take_ended(number, 1, 9),
                _ => {}
            }
            outages.complete(number.saturating_sub(2));
        }
        outages
    }

    #[track_caller]
    fn check(seconds: &str, expected: &[(Range<u64>, u64)]) {
        let mut outages = told(seconds);
        outages.close();
        let found: Vec<_> = outages.all().iter().map(|outage| (outage.seconds.clone(), outage.failed)).collect();
        assert_eq!(found, expected, "{seconds}");
    }

    #[test]
    fn seconds_in_which_all_failed_are_one_outage_until_something_ended_well() {
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
        let found = told(seconds).current().map(|outage| (outage.seconds.start, outage.seconds.end));
        assert_eq!(found, expected, "{seconds}");
    }

    #[test]
    fn one_goes_on_as_far_as_seconds_are_complete() {
        // Of the last seconds more may be told.
        check_current("gbb", None);
        check_current("gbbb", None);
        check_current("gbbbb", Some((1, 2)));
        check_current("gbbbbb", Some((1, 3)));
        check_current("gbbbbbg", Some((1, 4)));
        check_current("gbbbbbgggg", None);
        check_current("gb     ", Some((1, 2)));
    }

    #[test]
    fn what_comes_late_counts_in_the_first_second_that_is_open() {
        let mut outages = told("gbbbbbb");
        outages.take_ended(2, 1, 0);
        outages.close();
        let seconds: Vec<Range<u64>> = outages.all().iter().map(|outage| outage.seconds.clone()).collect();
        assert_eq!(seconds, [1..4, 5..7]);
    }

    #[test]
    fn of_very_many_the_shortest_are_forgotten() {
        let mut outages = told(&format!("gbbb{}", "gb".repeat(OUTAGES_MAX + 9)));
        outages.close();
        assert_eq!((outages.all().len(), outages.all()[0].seconds.clone()), (OUTAGES_MAX, 1..4));
    }
}
