//! Stretches in which requests were under way and none ended, and those in which every one that ended had failed, second
//! by second while rows come in: exact however long the run is, and known while it goes on. Refuses to know whose doing
//! it was.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::limits::OUTAGES_MAX;

/// What went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutageKind {
    /// Requests were under way, and none ended.
    Silent,
    /// Some ended, all of them with errors.
    OnlyErrors,
}

/// Seconds of one kind that follow each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outage {
    pub(crate) kind: OutageKind,
    pub(crate) seconds: Range<u64>,
}

/// The outages of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outages {
    /// What is known of the seconds that more rows may belong to.
    open: BTreeMap<u64, Second>,
    /// The first second that is open.
    next: u64,
    /// Whether anything has ended before that.
    has_begun: bool,
    /// Those that are over, and the last one, which goes on if it reaches to `next`.
    all: Vec<Outage>,
}

/// What is known of a second.
#[derive(Clone, Copy, Debug, Default)]
struct Second {
    good: u64,
    bad: u64,
    /// The most requests at a look in it; none where nobody looked.
    under_way: Option<u64>,
}

impl Outages {
    /// Takes requests that ended in a second: well or denied, and with errors.
    pub(super) fn take_ended(&mut self, second: u64, good: u64, bad: u64) {
        // What comes late is counted with the first second that is open.
        let open = self.open.entry(second.max(self.next)).or_default();
        (open.good, open.bad) = (open.good + good, open.bad + bad);
    }

    /// Takes a look at the load, and that all seconds before one are complete.
    pub(super) fn take_look(&mut self, second: u64, under_way: u64, complete_before: u64) {
        let open = self.open.entry(second.max(self.next)).or_default();
        open.under_way = Some(open.under_way.unwrap_or(0).max(under_way));
        self.settle(complete_before);
    }

    /// No more rows come.
    pub(super) fn close(&mut self) {
        let end = self.open.last_key_value().map_or(self.next, |(last, _)| last.saturating_add(1));
        self.settle(end);
    }

    /// Those so far, in the order in which they began.
    pub(crate) fn all(&self) -> &[Outage] {
        &self.all
    }

    /// The one that goes on, as far as the seconds are complete.
    pub(crate) fn current(&self) -> Option<&Outage> {
        self.all.last().filter(|last| last.seconds.end == self.next)
    }

    fn settle(&mut self, before: u64) {
        while let Some(entry) = self.open.first_entry().filter(|entry| *entry.key() < before) {
            let (number, second) = entry.remove_entry();
            let kind = second.kind().filter(|_| self.has_begun || second.bad > 0);
            self.has_begun |= second.good + second.bad > 0;
            if let Some(kind) = kind {
                self.go_on(kind, number);
            }
        }
        self.next = self.next.max(before);
    }

    fn go_on(&mut self, kind: OutageKind, number: u64) {
        match self.all.last_mut() {
            Some(last) if last.kind == kind && last.seconds.end == number => {
                last.seconds.end = number.saturating_add(1);
            }
            _ => {
                if self.all.len() >= OUTAGES_MAX {
                    self.forget_shortest();
                }
                self.all.push(Outage { kind, seconds: number..number.saturating_add(1) });
            }
        }
    }

    fn forget_shortest(&mut self) {
        let length = |outage: &Outage| outage.seconds.end - outage.seconds.start;
        let shortest = self.all.iter().enumerate().min_by_key(|(_, outage)| length(outage));
        if let Some(at) = shortest.map(|(at, _)| at) {
            self.all.remove(at);
        }
    }
}

impl Second {
    /// None where it was as it should be, or nobody looked.
    fn kind(self) -> Option<OutageKind> {
        match (self.good, self.bad, self.under_way?) {
            (0, 0, under_way) if under_way > 0 => Some(OutageKind::Silent),
            (0, bad, _) if bad > 0 => Some(OutageKind::OnlyErrors),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::OutageKind::{OnlyErrors, Silent};
    use super::*;

    /// One word for each second: `g`ood, `b`ad, both (`m`), `s`ilent, `i`dle, nobody `l`ooked.
    fn told(seconds: &str) -> Outages {
        let mut outages = Outages::default();
        for (number, word) in (0..).zip(seconds.chars()) {
            match word {
                'g' => outages.take_ended(number, 3, 0),
                'b' => outages.take_ended(number, 0, 3),
                'm' => outages.take_ended(number, 1, 9),
                _ => {}
            }
            if word != 'l' {
                outages.take_look(number, u64::from(word != 'i'), number.saturating_sub(2));
            }
        }
        outages
    }

    #[track_caller]
    fn check(seconds: &str, expected: &[(OutageKind, Range<u64>)]) {
        let mut outages = told(seconds);
        outages.close();
        let found: Vec<_> = outages.all().iter().map(|outage| (outage.kind, outage.seconds.clone())).collect();
        assert_eq!(found, expected, "{seconds}");
    }

    #[test]
    fn seconds_of_a_kind_follow_each_other() {
        check("gggg", &[]);
        check("ggsssgg", &[(Silent, 2..5)]);
        check("gbbsb", &[(OnlyErrors, 1..3), (Silent, 3..4), (OnlyErrors, 4..5)]);
        check("gmig", &[]);
        check("gslsg", &[(Silent, 1..2), (Silent, 3..4)]);
        // Before the first answer there is nothing to be missed; an error is one.
        check("ssg", &[]);
        check("ssbb", &[(OnlyErrors, 2..4)]);
    }

    #[track_caller]
    fn check_current(seconds: &str, expected: &[(OutageKind, Range<u64>)]) {
        let outages = told(seconds);
        let found = outages.current().map(|outage| (outage.kind, outage.seconds.clone())).into_iter();
        let found: Vec<_> = found.collect();
        assert_eq!(found, expected, "{seconds}");
    }

    #[test]
    fn one_goes_on_as_far_as_seconds_are_complete() {
        // Of the last seconds more may be told.
        check_current("gss", &[]);
        check_current("gsss", &[]);
        check_current("gssss", &[(Silent, 1..2)]);
        check_current("gsssss", &[(Silent, 1..3)]);
        check_current("gsssssg", &[(Silent, 1..4)]);
        check_current("gsssssgggg", &[]);
    }

    #[test]
    fn what_comes_late_counts_in_the_first_second_that_is_open() {
        let mut outages = told("gssssss");
        outages.take_ended(2, 1, 0);
        outages.close();
        let seconds: Vec<Range<u64>> = outages.all().iter().map(|outage| outage.seconds.clone()).collect();
        assert_eq!(seconds, [1..4, 5..7]);
    }

    #[test]
    fn of_very_many_the_shortest_are_forgotten() {
        let mut outages = told(&format!("gsss{}", "gs".repeat(OUTAGES_MAX + 9)));
        outages.close();
        assert_eq!((outages.all().len(), outages.all()[0].seconds.clone()), (OUTAGES_MAX, 1..4));
    }
}
