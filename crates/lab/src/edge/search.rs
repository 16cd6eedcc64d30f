//! The search for the highest rate that a service sustains, as a state machine: climb, bisect, hold. Does not
//! know how a level is driven and assessed.
//!
//! ```text
//! climb ---overloaded--> bisect ---close enough--> hold ---sustained--> found
//!   | first one            ^                        | |
//!   +--overloaded--> descend                        +-+ overloaded: a step down, twice as wide each time
//! ```
//!
//! Which assessments it relies on:
//! - An overload stands when it is decisive (a backlog that grew steadily by several times what is material) or when
//!   the same rate is overloaded twice. A pause of a fifth of a second can raise a 99th percentile; it does not come
//!   back on request.
//! - A sustained level stands at once: if it was luck, the hold, which is longer, shows it.
//! - A void level is repeated once; a second void in a row ends the search, because a third would show no more.

use super::level_assessment::{LevelAssessment, LevelMeasurement, assess};
use super::outcome::{Ending, Level, LevelPurpose, LevelResult, SearchOutcome, highest_sustained};
use crate::limits::{EDGE_FLOOR_DIVISOR, EDGE_HOLDS_MAX, EDGE_LEVELS_MAX};
use crate::scenario::EdgeSearch;

/// By how much the climb multiplies.
const CLIMB_FACTOR: f64 = 2.0;

/// A running search.
#[derive(Clone, Debug)]
pub struct Search {
    spec: EdgeSearch,
    /// Levels in all, repetitions included.
    pub(super) levels_max: usize,
    purpose: LevelPurpose,
    rate_per_s: f64,
    /// The level before was of the same rate, overloaded, and not decisive.
    overload_suspected: bool,
    /// The level before was void.
    void_before: bool,
    held_per_s: Option<f64>,
    overloaded_per_s: Option<f64>,
    holds_failed: usize,
    step: f64,
    pending: Option<Level>,
    levels: Vec<LevelResult>,
    ending: Option<Ending>,
}

impl Search {
    /// A search that has not started.
    #[must_use]
    pub fn new(spec: EdgeSearch) -> Self {
        Self {
            levels_max: EDGE_LEVELS_MAX,
            purpose: LevelPurpose::Climb,
            rate_per_s: spec.from_per_s,
            overload_suspected: false,
            void_before: false,
            held_per_s: None,
            overloaded_per_s: None,
            holds_failed: 0,
            step: spec.precision,
            pending: None,
            levels: Vec::new(),
            ending: None,
            spec,
        }
    }

    /// The lowest rate that is tried when the first level is overloaded, in requests per second: a part of the first,
    /// and no less than ten requests in a level.
    fn floor_per_s(&self) -> f64 {
        let countable = 10.0 / self.spec.level_duration.as_secs_f64();
        (self.spec.from_per_s / EDGE_FLOOR_DIVISOR).max(countable).min(self.spec.from_per_s)
    }

    /// The next level; the same one again until it is recorded; none once the search has ended.
    pub fn next_level(&mut self) -> Option<Level> {
        if self.ending.is_none() && self.levels.len() >= self.levels_max {
            self.ending = Some(Ending::LevelsSpent);
        }
        if self.ending.is_some() {
            return None;
        }
        let (number, rate_per_s, purpose) = (self.levels.len() + 1, self.rate_per_s, self.purpose);
        let duration = if purpose == LevelPurpose::Hold { self.spec.hold_duration } else { self.spec.level_duration };
        Some(self.pending.get_or_insert(Level { number, rate_per_s, duration, purpose }).clone())
    }

    /// Records the measurements of the level, and returns its assessment.
    pub fn record_level(&mut self, seen: &LevelMeasurement) -> LevelAssessment {
        let Some(level) = self.pending.take() else {
            return LevelAssessment::Void("no level was asked for".to_owned());
        };
        let assessment = assess(&self.spec, seen);
        let stands = match &assessment.level {
            LevelAssessment::Sustained => true,
            LevelAssessment::Overloaded(_) => assessment.decisive || self.overload_suspected,
            LevelAssessment::Void(_) => false,
        };
        let judged = assessment.level.clone();
        self.levels.push(LevelResult::new(level, seen, assessment, stands));
        self.decide(&judged, stands);
        judged
    }

    /// The result so far, or at the end.
    #[must_use]
    pub fn outcome(&self) -> SearchOutcome {
        let ending = self.ending.clone().unwrap_or(Ending::NotEnded);
        let bounds = (self.held_per_s, self.overloaded_per_s);
        SearchOutcome::new(&self.spec, ending, bounds, self.levels.clone())
    }

    fn decide(&mut self, judged: &LevelAssessment, stands: bool) {
        match judged {
            LevelAssessment::Void(why) if self.void_before => self.end(Ending::Void { why: why.clone() }),
            LevelAssessment::Void(_) => self.void_before = true,
            LevelAssessment::Overloaded(_) if !stands => (self.overload_suspected, self.void_before) = (true, false),
            LevelAssessment::Overloaded(_) => self.overloaded(),
            LevelAssessment::Sustained => self.sustained(),
        }
    }

    fn sustained(&mut self) {
        let rate_per_s = self.rate_per_s;
        match self.purpose {
            LevelPurpose::Climb if rate_per_s >= self.spec.to_per_s => self.move_to(LevelPurpose::Hold, rate_per_s),
            LevelPurpose::Climb => {
                self.move_to(LevelPurpose::Climb, (rate_per_s * CLIMB_FACTOR).min(self.spec.to_per_s));
            }
            LevelPurpose::Descend | LevelPurpose::Bisect => self.bisect(),
            LevelPurpose::Hold => self.held(),
        }
    }

    fn held(&mut self) {
        self.held_per_s = Some(self.rate_per_s);
        let ceiling_per_s = self.spec.to_per_s;
        let found = self.overloaded_per_s.is_some();
        self.end(if found { Ending::Found } else { Ending::NotFoundBelow { ceiling_per_s } });
    }

    fn overloaded(&mut self) {
        let rate_per_s = self.rate_per_s;
        self.overloaded_per_s = Some(self.overloaded_per_s.map_or(rate_per_s, |known| known.min(rate_per_s)));
        match self.purpose {
            LevelPurpose::Climb if self.sustained_per_s().is_none() => self.descend(),
            LevelPurpose::Descend => self.descend(),
            LevelPurpose::Climb | LevelPurpose::Bisect => self.bisect(),
            LevelPurpose::Hold => self.step_down(),
        }
    }

    fn descend(&mut self) {
        let floor_per_s = self.floor_per_s();
        if self.rate_per_s <= floor_per_s {
            return self.end(Ending::NoneSustained { floor_per_s });
        }
        self.move_to(LevelPurpose::Descend, (self.rate_per_s / CLIMB_FACTOR).max(floor_per_s));
    }

    /// The geometric middle: a rate is as far from its double as from its half.
    fn bisect(&mut self) {
        let (Some(low), Some(high)) = (self.sustained_per_s(), self.overloaded_per_s) else { return };
        if high / low - 1.0 <= self.spec.precision {
            self.move_to(LevelPurpose::Hold, low);
        } else {
            self.move_to(LevelPurpose::Bisect, (low * high).sqrt());
        }
    }

    /// What a short level sustained is not sustained for longer: the steps double, so that few holds reach far.
    fn step_down(&mut self) {
        self.holds_failed += 1;
        let lower_per_s = self.rate_per_s / (1.0 + self.step);
        self.step *= 2.0;
        if self.holds_failed >= EDGE_HOLDS_MAX || lower_per_s < self.floor_per_s() {
            return self.end(Ending::NotHeld { holds: self.holds_failed });
        }
        self.move_to(LevelPurpose::Hold, lower_per_s);
    }

    fn sustained_per_s(&self) -> Option<f64> {
        highest_sustained(&self.levels, self.overloaded_per_s)
    }

    fn move_to(&mut self, purpose: LevelPurpose, rate_per_s: f64) {
        (self.purpose, self.rate_per_s) = (purpose, rate_per_s);
        (self.overload_suspected, self.void_before) = (false, false);
    }

    fn end(&mut self, ending: Ending) {
        self.ending = Some(ending);
    }
}
