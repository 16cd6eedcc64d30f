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

use super::outcome::{Ending, LevelTried, Outcome, highest_sustained};
use super::overload::{Judged, LevelSeen};
use super::spec::{Level, Purpose, SearchSpec};
use crate::limits::EDGE_HOLDS_MAX;

/// A search under way.
#[derive(Clone, Debug)]
pub struct Search {
    spec: SearchSpec,
    purpose: Purpose,
    rate_per_s: f64,
    /// The level before was of the same rate, overloaded, and not decisive.
    suspected: bool,
    /// The level before was void.
    void_before: bool,
    held_per_s: Option<f64>,
    overloaded_per_s: Option<f64>,
    holds_failed: usize,
    step: f64,
    pending: Option<Level>,
    tried: Vec<LevelTried>,
    ending: Option<Ending>,
}

impl Search {
    /// A search that has not begun.
    ///
    /// # Errors
    /// Every mistake of the specification, each in a sentence.
    pub fn new(spec: SearchSpec) -> Result<Self, Vec<String>> {
        let mistakes = spec.mistakes();
        if !mistakes.is_empty() {
            return Err(mistakes);
        }
        Ok(Self {
            purpose: Purpose::Climb,
            rate_per_s: spec.from_per_s,
            suspected: false,
            void_before: false,
            held_per_s: None,
            overloaded_per_s: None,
            holds_failed: 0,
            step: spec.precision,
            pending: None,
            tried: Vec::new(),
            ending: None,
            spec,
        })
    }

    /// The next level; the same one again until it was seen; nothing when the search has ended.
    pub fn next_level(&mut self) -> Option<Level> {
        if self.ending.is_none() && self.tried.len() >= self.spec.levels_max {
            self.ending = Some(Ending::LevelsSpent);
        }
        if self.ending.is_some() {
            return None;
        }
        let lasting = if self.purpose == Purpose::Hold { self.spec.hold } else { self.spec.level };
        let level = Level { number: self.tried.len() + 1, rate_per_s: self.rate_per_s, lasting, purpose: self.purpose };
        Some(self.pending.get_or_insert(level).clone())
    }

    /// Tells the search what the level it asked for showed, and hears how that was judged.
    pub fn seen(&mut self, seen: &LevelSeen) -> Judged {
        let Some(level) = self.pending.take() else {
            return Judged::Void("no level was asked for".to_owned());
        };
        let judgement = self.spec.overload.judge(seen);
        let stands = match &judgement.judged {
            Judged::Sustained => true,
            Judged::Overloaded(_) => judgement.decisive || self.suspected,
            Judged::Void(_) => false,
        };
        let judged = judgement.judged.clone();
        self.tried.push(LevelTried::new(level, seen, judgement, stands));
        self.decide(&judged, stands);
        judged
    }

    /// What is known now: the end, or as far as the search has come.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        let ending = self.ending.clone().unwrap_or(Ending::NotEnded);
        Outcome::new(&self.spec, ending, self.held_per_s, self.overloaded_per_s, self.tried.clone())
    }

    fn decide(&mut self, judged: &Judged, stands: bool) {
        match judged {
            Judged::Void(why) if self.void_before => self.end(Ending::Void { why: why.clone() }),
            Judged::Void(_) => self.void_before = true,
            Judged::Overloaded(_) if !stands => (self.suspected, self.void_before) = (true, false),
            Judged::Overloaded(_) => self.overloaded(),
            Judged::Sustained => self.sustained(),
        }
    }

    fn sustained(&mut self) {
        let rate_per_s = self.rate_per_s;
        match self.purpose {
            Purpose::Climb if rate_per_s >= self.spec.to_per_s => self.go(Purpose::Hold, rate_per_s),
            Purpose::Climb => {
                self.go(Purpose::Climb, (rate_per_s * self.spec.factor).min(self.spec.to_per_s));
            }
            Purpose::Descend | Purpose::Bisect => self.bisect(),
            Purpose::Hold => self.held(),
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
            Purpose::Climb if self.sustained_per_s().is_none() => self.descend(),
            Purpose::Descend => self.descend(),
            Purpose::Climb | Purpose::Bisect => self.bisect(),
            Purpose::Hold => self.step_down(),
        }
    }

    fn descend(&mut self) {
        let floor_per_s = self.spec.floor_per_s();
        if self.rate_per_s <= floor_per_s {
            return self.end(Ending::NoneSustained { floor_per_s });
        }
        self.go(Purpose::Descend, (self.rate_per_s / self.spec.factor).max(floor_per_s));
    }

    /// The geometric middle: a rate is as far from its double as from its half.
    fn bisect(&mut self) {
        let (Some(low), Some(high)) = (self.sustained_per_s(), self.overloaded_per_s) else { return };
        if high / low - 1.0 <= self.spec.precision {
            self.go(Purpose::Hold, low);
        } else {
            self.go(Purpose::Bisect, (low * high).sqrt());
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
        self.go(Purpose::Hold, lower_per_s);
    }

    fn sustained_per_s(&self) -> Option<f64> {
        highest_sustained(&self.tried, self.overloaded_per_s)
    }

    fn go(&mut self, purpose: Purpose, rate_per_s: f64) {
        (self.purpose, self.rate_per_s) = (purpose, rate_per_s);
        (self.suspected, self.void_before) = (false, false);
    }

    fn end(&mut self, ending: Ending) {
        self.ending = Some(ending);
    }
}
