//! The fold: samples in, figures out. Pure and mergeable, in constant memory; the same samples give the same
//! figures in any order. Refuses to know clocks, files and whether a figure is good.

mod curve;
mod results;
mod series;
mod summary;
mod timeline;

use std::collections::BTreeMap;
use std::time::Duration;

pub use curve::{Curve, Point};
pub use results::{
    ErrorGroup, Generator, JourneyFigures, OpFigures, PartFigures, ProcessFigures, RESERVED, Results, Rss,
    ServerFigures, TotalsFigures, WORK_FIGURES, WorkFigures, figure, known_figures,
};
pub use series::{Series, Stretch};
pub(crate) use summary::round;
pub use summary::{Figures, STATISTICS, Summary};
pub(crate) use timeline::seconds_in_unit;
pub use timeline::{PartSpan, Timeline};

use crate::limits::{ERROR_GROUPS_MAX, SAMPLE_CHARS_MAX};
use crate::record::{Class, Sample, Trouble};
use crate::scenario::Journey;

/// Everything that samples say, folded.
#[derive(Clone, Debug, Default)]
pub struct Fold {
    journeys: Vec<JourneyFold>,
    lag_ms: Summary,
    capped: u64,
    abandoned: u64,
    errors: BTreeMap<ErrorKey, (u64, String)>,
}

#[derive(Clone, Debug, Default)]
struct JourneyFold {
    name: String,
    whole: OpFold,
    not_sent: u64,
    /// Empty for a journey of one step: the whole says the same.
    steps: Vec<(String, OpFold)>,
}

/// One operation: a journey or a step of it.
#[derive(Clone, Debug, Default)]
struct OpFold {
    ok: u64,
    denied: u64,
    errors: u64,
    retries: u64,
    latency_ms: Summary,
    service_ms: Summary,
    failed_ms: Summary,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ErrorKey {
    journey: usize,
    step: usize,
    trouble: Trouble,
}

impl Fold {
    /// An empty fold for these journeys.
    #[must_use]
    pub fn new(journeys: &[Journey]) -> Self {
        let fold = |journey: &Journey| JourneyFold {
            name: journey.name.clone(),
            steps: match journey.steps.as_slice() {
                [_] => Vec::new(),
                steps => steps.iter().map(|step| (step.name.clone(), OpFold::default())).collect(),
            },
            ..JourneyFold::default()
        };
        Self { journeys: journeys.iter().map(fold).collect(), ..Self::default() }
    }

    /// Takes one sample in.
    pub fn add(&mut self, sample: &Sample) {
        let Some(journey) = self.journeys.get_mut(sample.journey) else { return };
        match sample.step {
            None => {
                journey.whole.add(sample);
                self.lag_ms.record(ms(sample.lag));
            }
            Some(step) => {
                if let Some((_, op)) = journey.steps.get_mut(step) {
                    op.add(sample);
                }
            }
        }
    }

    /// Takes in why a step got no good answer; the first message of its group is kept.
    pub fn add_error(&mut self, journey: usize, step: usize, trouble: Trouble, message: &str) {
        let key = ErrorKey { journey, step, trouble };
        let known = self.errors.contains_key(&key) || self.errors.len() < ERROR_GROUPS_MAX;
        let group = if known { Some(self.errors.entry(key)) } else { None };
        match group {
            Some(entry) => entry.or_insert_with(|| (0, message.chars().take(SAMPLE_CHARS_MAX).collect())).0 += 1,
            None => {
                if let Some(mut last) = self.errors.last_entry() {
                    last.get_mut().0 += 1;
                }
            }
        }
    }

    /// Counts an arrival that had to wait for a free place in flight.
    pub fn add_capped(&mut self) {
        self.capped += 1;
    }

    /// Counts arrivals whose time had come but that were never sent, because the trial ended.
    pub fn add_not_sent(&mut self, journey: usize, count: u64) {
        if let Some(journey) = self.journeys.get_mut(journey) {
            journey.not_sent += count;
        }
    }

    /// Counts arrivals that were sent and given up when the trial was ended.
    pub fn add_abandoned(&mut self, count: u64) {
        self.abandoned += count;
    }

    /// Takes all of another fold of the same journeys in.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.journeys.iter_mut().zip(&other.journeys) {
            mine.whole.merge(&theirs.whole);
            mine.not_sent += theirs.not_sent;
            for ((_, mine), (_, theirs)) in mine.steps.iter_mut().zip(&theirs.steps) {
                mine.merge(theirs);
            }
        }
        self.lag_ms.merge(&other.lag_ms);
        self.capped += other.capped;
        self.abandoned += other.abandoned;
        for (key, (count, message)) in &other.errors {
            self.errors.entry(*key).or_insert_with(|| (0, message.clone())).0 += count;
        }
    }

    /// Arrivals that are over: ok, denied, error.
    #[must_use]
    pub fn counts(&self) -> (u64, u64, u64) {
        self.journeys.iter().fold((0, 0, 0), |(ok, denied, errors), journey| {
            (ok + journey.whole.ok, denied + journey.whole.denied, errors + journey.whole.errors)
        })
    }

    /// The figures of every journey.
    #[must_use]
    pub fn journeys(&self) -> BTreeMap<String, JourneyFigures> {
        let figures = |journey: &JourneyFold| JourneyFigures {
            op: journey.whole.figures(),
            not_sent: journey.not_sent,
            steps: journey.steps.iter().map(|(name, op)| (name.clone(), op.figures())).collect(),
        };
        self.journeys.iter().map(|journey| (journey.name.clone(), figures(journey))).collect()
    }

    /// The lab's own part: schedule lag, arrivals that waited for a place, arrivals never sent.
    #[must_use]
    pub fn generator(&self, lag_p99_max: Duration) -> Generator {
        Generator {
            schedule_lag_ms: self.lag_ms.figures(),
            lag_p99_max_ms: round(ms(lag_p99_max)),
            arrivals: self.lag_ms.count(),
            capped: self.capped,
            not_sent: self.journeys.iter().map(|journey| journey.not_sent).sum(),
            abandoned: self.abandoned,
            cpu_s: None,
            rss_bytes: None,
        }
    }

    /// Errors by journey, step and kind.
    #[must_use]
    pub fn errors(&self) -> Vec<ErrorGroup> {
        let group = |(key, (count, sample)): (&ErrorKey, &(u64, String))| {
            let journey = &self.journeys[key.journey];
            ErrorGroup {
                journey: journey.name.clone(),
                step: journey.steps.get(key.step).map(|(name, _)| name.clone()),
                kind: key.trouble.word().to_owned(),
                count: *count,
                sample: sample.clone(),
            }
        };
        self.errors.iter().filter(|(key, _)| key.journey < self.journeys.len()).map(group).collect()
    }
}

impl OpFold {
    /// Only good answers have a latency: a quick refusal would flatter it.
    fn add(&mut self, sample: &Sample) {
        self.retries += sample.retries;
        match sample.class {
            Class::Ok => {
                self.ok += 1;
                self.latency_ms.record(ms(sample.done.saturating_sub(sample.intended)));
                self.service_ms.record(ms(sample.done.saturating_sub(sample.sent)));
            }
            Class::Denied => self.denied += 1,
            Class::Error(_) => self.errors += 1,
        }
        if sample.class != Class::Ok {
            self.failed_ms.record(ms(sample.done.saturating_sub(sample.intended)));
        }
    }

    fn merge(&mut self, other: &Self) {
        self.ok += other.ok;
        self.denied += other.denied;
        self.errors += other.errors;
        self.retries += other.retries;
        self.latency_ms.merge(&other.latency_ms);
        self.service_ms.merge(&other.service_ms);
        self.failed_ms.merge(&other.failed_ms);
    }

    fn figures(&self) -> OpFigures {
        OpFigures {
            count: self.ok + self.denied + self.errors,
            ok: self.ok,
            errors: self.errors,
            denied: self.denied,
            retries: self.retries,
            latency_ms: self.latency_ms.figures(),
            service_ms: self.service_ms.figures(),
            failed_ms: self.failed_ms.figures(),
        }
    }
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn empty() -> Fold {
        let journey = |name: &str| Journey { name: name.to_owned(), steps: Vec::new() };
        Fold::new(&[journey("a"), journey("b")])
    }

    fn sample((journey, intended, wait, service, class): (usize, u64, u64, u64, u8)) -> Sample {
        let (intended, sent) = (Duration::from_micros(intended), Duration::from_micros(intended + wait));
        Sample {
            phase: 0,
            index: 0,
            journey,
            step: None,
            intended,
            sent,
            first_byte: None,
            done: sent + Duration::from_micros(service),
            lag: Duration::from_micros(wait),
            retries: u64::from(class == 4),
            class: match class {
                0 => Class::Denied,
                1 => Class::Error(Trouble::Timeout),
                _ => Class::Ok,
            },
        }
    }

    fn samples() -> impl Strategy<Value = Vec<Sample>> {
        let row = (0usize..2, 0u64..1_000_000, 0u64..10_000, 0u64..100_000, 0u8..6).prop_map(sample);
        prop::collection::vec(row, 0..60)
    }

    fn fold(samples: &[Sample]) -> Fold {
        let mut fold = empty();
        for sample in samples {
            fold.add(sample);
            if let Class::Error(trouble) = sample.class {
                fold.add_error(sample.journey, 0, trouble, "late");
            }
        }
        fold
    }

    /// Everything that does not depend on the order in which floats were added.
    fn exact(fold: &Fold) -> String {
        let mut journeys = fold.journeys();
        for op in journeys.values_mut().map(|journey| &mut journey.op) {
            for figures in [&mut op.latency_ms, &mut op.service_ms] {
                (figures.sum, figures.avg) = (None, None);
            }
        }
        format!("{journeys:?} {:?} {}", fold.errors(), fold.capped)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn folding_parts_and_merging_is_folding_all(a in samples(), b in samples(), c in samples()) {
            let all = fold(&[a.clone(), b.clone(), c.clone()].concat());
            let (mut left, mut right, mut tail) = (fold(&a), fold(&a), fold(&b));
            left.merge(&fold(&b));
            left.merge(&fold(&c));
            tail.merge(&fold(&c));
            right.merge(&tail);
            prop_assert_eq!(exact(&left), exact(&all));
            prop_assert_eq!(exact(&right), exact(&all));
        }
    }

    #[test]
    fn waiting_counts_in_latency_and_not_in_service() {
        let fold = fold(&[sample((0, 1000, 5000, 2000, 5))]);
        let op = &fold.journeys()["a"].op;
        assert_eq!((op.latency_ms.max, op.service_ms.max), (Some(7.0), Some(2.0)));
    }

    #[test]
    fn a_refusal_does_not_flatter_the_latency() {
        let fold = fold(&[sample((0, 0, 0, 9000, 5)), sample((0, 0, 0, 1, 0)), sample((0, 0, 0, 1, 1))]);
        let op = &fold.journeys()["a"].op;
        assert_eq!((op.count, op.ok, op.denied, op.errors), (3, 1, 1, 1));
        assert_eq!((op.latency_ms.count, op.latency_ms.min), (1, Some(9.0)));
    }
}
