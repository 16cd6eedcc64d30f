//! The search for the highest rate that a service sustains, as a state machine: climb, bisect, hold. Refuses to
//! know how a level is driven and how it is judged.
//!
//! ```text
//! climb ---overloaded--> bisect ---close enough--> hold ---sustained--> found
//!   | first one            ^                        | |
//!   +--overloaded--> descend                        +-+ overloaded: a step down, twice as wide each time
//! ```
//!
//! Whom it believes:
//! - An overload is believed when it is decisive (a backlog that grew steadily by several times what is material)
//!   or when the same rate is overloaded twice. A pause of a fifth of a second can break a 99th percentile; it
//!   does not come back on request.
//! - A sustained level is believed at once: if it was luck, the hold, which is longer, says so.
//! - A void level is repeated once; a second void in a row ends the search, because a third would be no wiser.

use super::level_assessment::{LevelAssessment, LevelMeasurement};
use super::outcome::{Ending, LevelResult, SearchOutcome, highest_sustained};
use super::spec::{Level, LevelPurpose, SearchSpec};
use crate::limits::EDGE_HOLDS_MAX;

/// A running search.
#[derive(Clone, Debug)]
pub struct Search {
    spec: SearchSpec,
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
    ///
    /// # Errors
    /// Every mistake of the specification, each in a sentence.
    pub fn new(spec: SearchSpec) -> Result<Self, Vec<String>> {
        let mistakes = spec.validation_errors();
        if !mistakes.is_empty() {
            return Err(mistakes);
        }
        Ok(Self {
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
        })
    }

    /// The next level; the same one again until it is recorded; none once the search has ended.
    pub fn next_level(&mut self) -> Option<Level> {
        if self.ending.is_none() && self.levels.len() >= self.spec.levels_max {
            self.ending = Some(Ending::LevelsSpent);
        }
        if self.ending.is_some() {
            return None;
        }
        let lasting =
            if self.purpose == LevelPurpose::Hold { self.spec.hold_duration } else { self.spec.level_duration };
        let level = Level {
            number: self.levels.len() + 1,
            rate_per_s: self.rate_per_s,
            duration: lasting,
            purpose: self.purpose,
        };
        Some(self.pending.get_or_insert(level).clone())
    }

    /// Records the measurements of the level, and returns its assessment.
    pub fn record_level(&mut self, seen: &LevelMeasurement) -> LevelAssessment {
        let Some(level) = self.pending.take() else {
            return LevelAssessment::Void("no level was asked for".to_owned());
        };
        let judgement = self.spec.overload.assess(seen);
        let stands = match &judgement.level {
            LevelAssessment::Sustained => true,
            LevelAssessment::Overloaded(_) => judgement.decisive || self.overload_suspected,
            LevelAssessment::Void(_) => false,
        };
        let judged = judgement.level.clone();
        self.levels.push(LevelResult::new(level, seen, judgement, stands));
        self.decide(&judged, stands);
        judged
    }

    /// The result so far, or at the end.
    #[must_use]
    pub fn outcome(&self) -> SearchOutcome {
        let ending = self.ending.clone().unwrap_or(Ending::NotEnded);
        SearchOutcome::new(&self.spec, ending, self.held_per_s, self.overloaded_per_s, self.levels.clone())
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
                self.move_to(LevelPurpose::Climb, (rate_per_s * self.spec.factor).min(self.spec.to_per_s));
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
        let floor_per_s = self.spec.floor_per_s();
        if self.rate_per_s <= floor_per_s {
            return self.end(Ending::NoneSustained { floor_per_s });
        }
        self.move_to(LevelPurpose::Descend, (self.rate_per_s / self.spec.factor).max(floor_per_s));
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
        if self.holds_failed >= EDGE_HOLDS_MAX || lower_per_s < self.spec.floor_per_s() {
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
