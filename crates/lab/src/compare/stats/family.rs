//! All figures of one comparison, decided together, so that many figures do not make many false differences.

use super::counts::{self, Count};
use super::estimate::Estimate;
use super::repeats;
use super::series::{Evidence, Frame};
use super::student::{critical, normal_two_sided};
use super::{Answer, Call, FAMILY_LEVEL, RESAMPLES, Reason, Scale};

/// The figures that were asked about, in order.
#[derive(Debug)]
pub struct Family {
    resamples: usize,
    asked: Vec<Asked>,
}

#[derive(Debug)]
struct Asked {
    before: Option<f64>,
    after: Option<f64>,
    scale: Scale,
    shows: Shows,
}

#[derive(Debug)]
enum Shows {
    /// A distance with a standard error.
    Distance(Evidence),
    /// Two counts, and the probability of their split.
    Counts(Count, Count, f64),
    /// Nothing that could be decided.
    Settled(Call),
}

impl Default for Family {
    fn default() -> Self {
        Self::with_resamples(RESAMPLES)
    }
}

impl Family {
    /// A family of this many resamples; a test may want fewer than [`RESAMPLES`].
    #[must_use]
    pub fn with_resamples(resamples: usize) -> Self {
        Self { resamples, asked: Vec::new() }
    }

    /// Asks about a figure of one run a side. `grain` is the step to which either figure can be known, on the scale.
    pub fn ask_series(&mut self, frame: &Frame, scale: Scale, sides: [&dyn Estimate; 2], grain: f64) {
        let [before, after] = sides.map(Estimate::whole);
        // A rate that fell to nothing has no ratio; it has a difference.
        let scale = if before.zip(after).is_some_and(|(b, a)| b.min(a) <= 0.0) { Scale::Difference } else { scale };
        let shows = Shows::of(frame.weigh(scale, sides, grain, self.resamples));
        self.asked.push(Asked { before, after, scale, shows });
    }

    /// Asks about a figure of several runs. `floor` is the least variance that one run's figure can have.
    pub fn ask_runs(&mut self, scale: Scale, sides: [&[f64]; 2], grain: f64, floor: f64) {
        let nothing = sides.concat().iter().any(|figure| *figure <= 0.0);
        let scale = if nothing { Scale::Difference } else { scale };
        let [before, after] = sides.map(|side| repeats::together(scale, side));
        let shows = Shows::of(repeats::weigh(scale, sides, grain, floor));
        self.asked.push(Asked { before, after, scale, shows });
    }

    /// Asks about events of one run a side. Readers see them per `of`.
    pub fn ask_counts(&mut self, before: Count, after: Count) {
        let shows = match (counts::p(before, after), counts::least_p(before, after)) {
            _ if before.events + after.events == 0 => Shows::Settled(Call::Equal),
            (Ok(_), Ok(least)) if least > FAMILY_LEVEL => Shows::Settled(Call::Unknown(Reason::TooFewEvents)),
            (Ok(p), Ok(_)) => Shows::Counts(before, after, p),
            (Err(reason), _) | (_, Err(reason)) => Shows::Settled(Call::Unknown(reason)),
        };
        let [before, after] = [before, after].map(|count| Some(count.events as f64));
        self.asked.push(Asked { before, after, scale: Scale::Difference, shows });
    }

    /// Takes a figure in that nothing can be decided about.
    pub fn ask_nothing(&mut self, before: Option<f64>, after: Option<f64>, reason: Reason) {
        // What is not there does not come with a longer run.
        let is_on_one_side = before.is_some() != after.is_some();
        let reason = if reason == Reason::TooShort && is_on_one_side { Reason::Missing } else { reason };
        let shows = Shows::Settled(Call::Unknown(reason));
        self.asked.push(Asked { before, after, scale: Scale::Difference, shows });
    }

    /// How many figures were asked about.
    #[must_use]
    pub fn len(&self) -> usize {
        self.asked.len()
    }

    /// Whether none was.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.asked.is_empty()
    }

    /// Decides all of them together, in the order in which they were asked.
    ///
    /// Step by step: whatever is beyond the level of all open figures is called, and leaves the level of the others
    /// to be found again, until nothing more is called.
    #[must_use]
    pub fn decide(self) -> Vec<Answer> {
        let mut levels = vec![None; self.asked.len()];
        let mut open: Vec<usize> = (0..self.asked.len()).filter(|place| self.asked[*place].p().is_some()).collect();
        while !open.is_empty() {
            let level = self.level(&open);
            open.iter().for_each(|place| levels[*place] = Some(level));
            let before = open.len();
            open.retain(|place| self.asked[*place].p().is_some_and(|p| p >= level));
            if open.len() == before {
                break;
            }
        }
        self.asked.into_iter().zip(levels).map(|(asked, level)| asked.answer(level)).collect()
    }

    /// The largest level for each of these figures such that one of them is beyond it, where none differs, with
    /// probability [`FAMILY_LEVEL`] at most. Figures with draws are as dependent as their draws are; of the others
    /// nothing is assumed.
    fn level(&self, open: &[usize]) -> f64 {
        let draws: Vec<&[f64]> = open.iter().filter_map(|place| self.asked[*place].draws()).collect();
        let others = (open.len() - draws.len()) as f64;
        let resamples = draws.iter().map(|draws| draws.len()).min().unwrap_or(0);
        let farthest = |number: usize| draws.iter().map(|draws| draws[number].abs()).fold(0.0, f64::max);
        let mut least: Vec<f64> = (0..resamples).map(|number| normal_two_sided(farthest(number))).collect();
        least.sort_by(f64::total_cmp);
        let share = |place: usize| place as f64 / resamples.max(1) as f64;
        let left = |place: usize| if others > 0.0 { (FAMILY_LEVEL - share(place)) / others } else { 1.0 };
        // Below the next of the sorted values, as many draws lie beyond the level as stand before it.
        let reachable = (0..=resamples).take_while(|place| share(*place) <= FAMILY_LEVEL);
        let best = reachable.map(|place| least.get(place).copied().unwrap_or(FAMILY_LEVEL).min(left(place)));
        best.fold(0.0, f64::max).min(FAMILY_LEVEL)
    }
}

impl Shows {
    fn of(evidence: Result<Evidence, Reason>) -> Self {
        match evidence {
            Ok(evidence) if evidence.error == 0.0 && evidence.distance == 0.0 => Self::Settled(Call::Equal),
            Ok(evidence) => Self::Distance(evidence),
            Err(reason) => Self::Settled(Call::Unknown(reason)),
        }
    }
}

impl Asked {
    fn p(&self) -> Option<f64> {
        match &self.shows {
            Shows::Distance(evidence) => Some(evidence.p),
            Shows::Counts(_, _, p) => Some(*p),
            Shows::Settled(_) => None,
        }
    }

    fn draws(&self) -> Option<&[f64]> {
        match &self.shows {
            Shows::Distance(evidence) if !evidence.draws.is_empty() => Some(&evidence.draws),
            _ => None,
        }
    }

    fn answer(self, level: Option<f64>) -> Answer {
        let p = self.p();
        let (call, change) = match (self.shows, level.zip(p)) {
            (Shows::Settled(call), _) => (call, None),
            (_, None) => (Call::Unknown(Reason::Missing), None),
            (Shows::Distance(evidence), Some((level, p))) => {
                let reach = critical(level, evidence.freedom) * evidence.error;
                (called(p < level, evidence.distance > 0.0), Some(self.scale.change(evidence.distance, reach)))
            }
            (Shows::Counts(before, after, p), Some((level, _))) => {
                let higher = after.events as f64 / after.of > before.events as f64 / before.of;
                (called(p < level, higher), counts::change(before, after, level))
            }
        };
        Answer { before: self.before, after: self.after, call, change, p, level }
    }
}

fn called(beyond: bool, higher: bool) -> Call {
    match (beyond, higher) {
        (false, _) => Call::Noise,
        (true, true) => Call::Higher,
        (true, false) => Call::Lower,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(pairs: &[(&[f64], &[f64])]) -> Vec<Answer> {
        let mut family = Family::default();
        pairs.iter().for_each(|(before, after)| family.ask_runs(Scale::Difference, [before, after], 0.0, 0.0));
        family.decide()
    }

    const NOISE: (&[f64], &[f64]) = (&[1.0, 2.0, 3.0, 4.0], &[1.5, 2.5, 3.5, 4.5]);
    /// p = 0.0032: beyond a level of 0.025 / 7, not beyond one of 0.025 / 8.
    const CLEAR: (&[f64], &[f64]) = (&[1.0, 2.0, 3.0, 4.0], &[5.3, 6.3, 7.3, 8.3]);

    #[track_caller]
    fn check(clear: usize, noise: usize, called: usize) {
        let pairs: Vec<_> = std::iter::repeat_n(CLEAR, clear).chain(std::iter::repeat_n(NOISE, noise)).collect();
        let answers = runs(&pairs);
        let found = answers.iter().filter(|answer| answer.call.is_different()).count();
        assert_eq!(found, called, "{answers:?}");
    }

    #[test]
    fn many_figures_are_tested_more_strictly() {
        check(1, 0, 1);
        check(1, 6, 1);
        check(1, 7, 0);
        // Figures that were called make room for the others, as in Holm's procedure.
        check(8, 0, 0);
        check(2, 5, 2);
    }

    #[test]
    fn intervals_leave_equality_out_exactly_where_a_difference_is_called() {
        for answer in [runs(&[CLEAR, NOISE]), runs(&[CLEAR; 8])].concat() {
            let change = answer.change.unwrap();
            assert_eq!(change.low > 0.0 || change.high < 0.0, answer.call.is_different(), "{answer:?}");
        }
    }

    #[test]
    fn events_that_never_happened_are_equal_and_cost_the_others_nothing() {
        let mut family = Family::default();
        let none = Count { events: 0, of: 100.0 };
        (0..20).for_each(|_| family.ask_counts(none, none));
        family.ask_counts(none, Count { events: 2, of: 100.0 });
        family.ask_counts(none, Count { events: 8, of: 100.0 });
        let calls: Vec<Call> = family.decide().into_iter().map(|answer| answer.call).collect();
        assert!(calls[..20].iter().all(|call| *call == Call::Equal));
        assert_eq!(calls[20..], [Call::Unknown(Reason::TooFewEvents), Call::Higher]);
    }

    #[test]
    fn nothing_asked_nothing_answered() {
        assert!(Family::default().is_empty() && Family::default().decide().is_empty());
    }
}
