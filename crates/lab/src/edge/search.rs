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
use super::outcome::{Ending, Level, LevelPurpose, LevelResult, SearchOutcome, highest_sustained, lowest_overloaded};
use crate::limits::{EDGE_FLOOR_DIVISOR, EDGE_HOLDS_MAX, EDGE_LEVELS_MAX};
use crate::scenario::EdgeSearch;

/// By how much the climb multiplies.
const CLIMB_FACTOR: f64 = 2.0;

/// A running search: all that it knows is in the levels that it has seen.
#[derive(Clone, Debug)]
pub struct Search {
    spec: EdgeSearch,
    /// Levels in all, repetitions included.
    pub(super) levels_max: usize,
    purpose: LevelPurpose,
    rate_per_s: f64,
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

    /// The next level; none once the search has ended.
    #[must_use]
    pub fn next_level(&self) -> Option<Level> {
        if self.ending.is_some() || self.levels.len() >= self.levels_max {
            return None;
        }
        let (number, rate_per_s, purpose) = (self.levels.len() + 1, self.rate_per_s, self.purpose);
        let duration = if purpose == LevelPurpose::Hold { self.spec.hold_duration } else { self.spec.level_duration };
        Some(Level { number, rate_per_s, duration, purpose })
    }

    /// Records the measurements of the next level, and returns its assessment.
    pub fn record_level(&mut self, level: Level, seen: &LevelMeasurement) -> LevelAssessment {
        let assessment = assess(&self.spec, seen);
        let judged = assessment.level.clone();
        // The search stays with a rate until a level of it stands.
        let mut doubted =
            self.levels.iter().rev().take_while(|tried| !tried.stands).map(|tried| &tried.judged).peekable();
        let void_before = matches!(doubted.peek(), Some(LevelAssessment::Void(_)));
        let overload_suspected = doubted.any(|earlier| matches!(earlier, LevelAssessment::Overloaded(_)));
        let stands = match &judged {
            LevelAssessment::Sustained => true,
            LevelAssessment::Overloaded(_) => assessment.decisive || overload_suspected,
            LevelAssessment::Void(_) => false,
        };
        self.levels.push(LevelResult::new(level, seen, assessment, stands));
        match &judged {
            LevelAssessment::Sustained => self.sustained(),
            LevelAssessment::Overloaded(_) if stands => self.overloaded(),
            LevelAssessment::Void(why) if void_before => self.ending = Some(Ending::Void { why: why.clone() }),
            LevelAssessment::Overloaded(_) | LevelAssessment::Void(_) => {}
        }
        judged
    }

    /// The result so far, or at the end.
    #[must_use]
    pub fn outcome(&self) -> SearchOutcome {
        let unended = if self.levels.len() >= self.levels_max { Ending::LevelsSpent } else { Ending::NotEnded };
        SearchOutcome::new(&self.spec, self.ending.clone().unwrap_or(unended), self.levels.clone())
    }

    fn sustained(&mut self) {
        let (rate_per_s, ceiling_per_s) = (self.rate_per_s, self.spec.to_per_s);
        match self.purpose {
            LevelPurpose::Climb if rate_per_s >= ceiling_per_s => self.move_to(LevelPurpose::Hold, rate_per_s),
            LevelPurpose::Climb => self.move_to(LevelPurpose::Climb, (rate_per_s * CLIMB_FACTOR).min(ceiling_per_s)),
            LevelPurpose::Descend | LevelPurpose::Bisect => self.bisect(),
            LevelPurpose::Hold => {
                let found = lowest_overloaded(&self.levels).is_some();
                self.ending = Some(if found { Ending::Found } else { Ending::NotFoundBelow { ceiling_per_s } });
            }
        }
    }

    fn overloaded(&mut self) {
        match self.purpose {
            LevelPurpose::Climb if highest_sustained(&self.levels).is_none() => self.descend(),
            LevelPurpose::Descend => self.descend(),
            LevelPurpose::Climb | LevelPurpose::Bisect => self.bisect(),
            LevelPurpose::Hold => self.step_down(),
        }
    }

    fn descend(&mut self) {
        let floor_per_s = self.floor_per_s();
        if self.rate_per_s <= floor_per_s {
            self.ending = Some(Ending::NoneSustained { floor_per_s });
        } else {
            self.move_to(LevelPurpose::Descend, (self.rate_per_s / CLIMB_FACTOR).max(floor_per_s));
        }
    }

    /// The geometric middle: a rate is as far from its double as from its half.
    fn bisect(&mut self) {
        let bounds = (highest_sustained(&self.levels), lowest_overloaded(&self.levels));
        let (Some(low), Some(high)) = bounds else { return };
        if high / low - 1.0 <= self.spec.precision {
            self.move_to(LevelPurpose::Hold, low);
        } else {
            self.move_to(LevelPurpose::Bisect, (low * high).sqrt());
        }
    }

    /// What a short level sustained is not sustained for longer: the steps double, so that few holds reach far.
    fn step_down(&mut self) {
        let failed = |tried: &&LevelResult| tried.level.purpose == LevelPurpose::Hold && tried.stands;
        let holds = self.levels.iter().filter(failed).count();
        let lower_per_s = self.rate_per_s / (1.0 + self.spec.precision * f64::from(1_u32 << (holds - 1)));
        if holds >= EDGE_HOLDS_MAX || lower_per_s < self.floor_per_s() {
            self.ending = Some(Ending::NotHeld { holds });
        } else {
            self.move_to(LevelPurpose::Hold, lower_per_s);
        }
    }

    fn move_to(&mut self, purpose: LevelPurpose, rate_per_s: f64) {
        (self.purpose, self.rate_per_s) = (purpose, rate_per_s);
    }
}
