//! The way of an arrival: its steps in their order, what of them is repeated, and what runs beside it. All steps of a
//! journey stand in one list, its own first, so that figures of a step are found by its place. Refuses to know
//! requests.

use std::collections::BTreeMap;

use super::beside::{Beside, each_of, own_names};
use super::journey::{Place, Step};
use super::message::Known;
use super::reader::{At, name_of};
use super::repeat::{Repeat, Until};
use super::template::{Names, Template};
use crate::limits::{BACKGROUND_LOOPS_MAX, STEPS_MAX};

/// What one arrival does, step after step.
#[derive(Clone, Debug, Default)]
pub struct Journey {
    /// Its name: figures are found under it.
    pub name: String,
    /// Its steps, at least one, and behind them those of what runs beside it.
    pub steps: Vec<Step>,
    /// How many of them are its own.
    pub own: usize,
    /// What is taken again; inner repeats stand before outer ones.
    pub repeats: Vec<Repeat>,
    /// What runs beside it.
    pub beside: Vec<Beside>,
    /// Whether its steps are messages over a connection of its own, instead of requests.
    pub speaks: bool,
    /// Names whose values its held connection has kept before: the connection's own, and others only where the journey
    /// keeps them anew.
    pub inherits: Vec<String>,
}

/// Steps as they are read, one after the other.
struct Reader<'a> {
    works: &'a [String],
    known: Known<'a>,
    journey: Journey,
}

impl Journey {
    pub(crate) fn read(
        at: &At<'_>,
        names: &Names,
        inherited: &BTreeMap<String, Vec<String>>,
        works: &[String],
        known: Known<'_>,
    ) -> Option<Self> {
        let fields = at.fields()?;
        let name = fields.need("name", "phases and gates refer to it").and_then(|at| name_of(&at));
        let inherits = name.as_ref().and_then(|name| inherited.get(name)).cloned().unwrap_or_default();
        let mut names = Names { arrival: true, ..names.clone() };
        names.known.extend(inherits.iter().cloned());
        let mut reader = Reader { works, known, journey: Self::default() };
        let mut own_names = names.clone();
        match fields.need("step", "at least one [[journey.step]]").and_then(|at| at.list()) {
            Some(list) if list.is_empty() => at.wrong("needs at least one [[journey.step]]"),
            Some(list) => reader.steps(&list, &mut own_names, Place::Journey),
            None => {}
        }
        reader.journey.own = reader.journey.steps.len();
        // Later draws are not those of the journey's own steps.
        let names = Names { known: names.known, ..own_names };
        for at in fields.take("beside").and_then(|at| at.list()).unwrap_or_default() {
            reader.beside(&at, &names);
        }
        fields.close();
        let speaks = reader.journey.steps.iter().any(|step| step.message().is_some());
        let journey = Self { name: name.unwrap_or_default(), speaks, inherits, ..reader.journey };
        journey.refuse_twins(at);
        if speaks && journey.steps.iter().any(|step| step.request().is_some()) {
            at.wrong("has steps that `send` and steps that `request`: one connection speaks one language, so make two journeys");
        }
        let loops: usize = journey.beside.iter().map(|beside| beside.each.len()).sum();
        if loops > BACKGROUND_LOOPS_MAX || journey.steps.len() > STEPS_MAX {
            at.wrong(format!("may have {STEPS_MAX} steps, and {BACKGROUND_LOOPS_MAX} loops beside them"));
        }
        (!journey.name.is_empty()).then_some(journey)
    }

    /// The same journey with the values of the run filled in: what is left to fill in for each arrival is its own.
    #[must_use]
    pub fn bind(&self, globals: &BTreeMap<String, String>) -> Self {
        let bind = |template: &Template| template.bind(globals, &|name| self.keeps(name));
        Self { steps: self.steps.iter().map(|step| step.bind(&bind)).collect(), ..self.clone() }
    }

    /// Whether a name is one that an arrival has a value of its own for.
    #[must_use]
    pub fn keeps(&self, name: &str) -> bool {
        let mut kept = self.steps.iter().flat_map(|step| &step.keep);
        let mut own = self.beside.iter().flat_map(|beside| beside.each.iter().flatten());
        kept.any(|keep| keep.name == name)
            || own.any(|(own, _)| own == name)
            || self.inherits.iter().any(|own| own == name)
    }

    /// Whether its steps have figures of their own: where those of the journey as a whole do not say the same.
    #[must_use]
    pub fn tells_steps_apart(&self) -> bool {
        self.steps.len() > 1 || !self.repeats.is_empty() || self.steps.iter().any(|step| step.waits.is_some())
    }

    /// Whether a step pauses, repeats or waits: then how long the journey takes is in part its own doing.
    #[must_use]
    pub fn is_paced(&self) -> bool {
        let lingers = |step: &Step| step.pause.is_some() || step.until.is_some() || step.waits.is_some();
        !self.repeats.is_empty() || self.steps.iter().any(lingers)
    }

    /// Requests of one arrival, as far as that is known before: what is repeated for a time counts once, and what runs
    /// beside it as often as it begins.
    #[must_use]
    pub fn requests(&self) -> u64 {
        let times = |step: usize| {
            let around = self.repeats.iter().filter(|repeat| (repeat.first..=repeat.last).contains(&step));
            let rounds = around.map(|repeat| repeat.until.times.unwrap_or(1));
            let loops = self.beside.iter().find(|beside| beside.steps.contains(&step));
            rounds.fold(loops.map_or(1, |beside| beside.each.len() as u64), u64::saturating_mul)
        };
        (0..self.steps.len()).map(times).fold(0, u64::saturating_add)
    }

    /// Connections of one arrival.
    #[must_use]
    pub fn connections(&self) -> u64 {
        1 + self.beside.iter().map(|beside| beside.each.len() as u64).sum::<u64>()
    }

    /// Figures of a step are found under its name.
    fn refuse_twins(&self, at: &At<'_>) {
        for (place, step) in self.steps.iter().enumerate() {
            let same = |other: &&Step| other.name == step.name;
            // Once for each name, where it stands a second time.
            if self.steps[..place].iter().filter(same).count() == 1 {
                let name = &step.name;
                at.wrong(format!("has two steps called \"{name}\": give each a `name`, figures are found under it"));
            }
        }
    }
}

impl Reader<'_> {
    /// Steps and groups of them. The last one stands at the place that is given.
    fn steps(&mut self, list: &[At<'_>], names: &mut Names, last: Place) {
        for (number, at) in (1..).zip(list) {
            let place = if number == list.len() { last } else { Place::Journey };
            let first = self.journey.steps.len();
            let until = match at.node.get("step") {
                Some(_) => self.group(at, names, place),
                None => self.step(at, names, place),
            };
            if let (Some(until), Some(last)) = (until, self.journey.steps.len().checked_sub(1))
                && last >= first
            {
                self.journey.repeats.push(Repeat { first, last, until });
            }
        }
    }

    fn step(&mut self, at: &At<'_>, names: &mut Names, place: Place) -> Option<Until> {
        let (step, until) = Step::read(at, names, self.works, place, self.known)?;
        self.journey.steps.push(step);
        until
    }

    /// Steps that are repeated together.
    fn group(&mut self, at: &At<'_>, names: &mut Names, place: Place) -> Option<Until> {
        let fields = at.fields()?;
        let repeat = fields.need("repeat", "how often its steps are taken, such as 4");
        let list = fields.take("step").and_then(|at| at.list());
        // The answer to the last of them says when it is enough.
        let speaks = list.as_ref().and_then(|list| list.last()).is_some_and(|last| last.node.get("send").is_some());
        let known = speaks.then_some(self.known);
        let until = repeat.and_then(|at| Until::read(&at, place == Place::End, known));
        match list {
            Some(list) if list.is_empty() => at.wrong("has a `step` without any step"),
            Some(list) => self.steps(&list, names, Place::Journey),
            None => {}
        }
        fields.close();
        until
    }

    fn beside(&mut self, at: &At<'_>, names: &Names) {
        let Some(fields) = at.fields() else { return };
        let after = fields.need("after", "the step of the journey after which it begins");
        let after = after.and_then(|at| self.place_of(&at));
        let own = &self.journey.steps[..after.map_or(self.journey.own, |after| after + 1)];
        let mut names = names.clone();
        names.known.extend(own.iter().flat_map(|step| &step.keep).map(|keep| keep.name.clone()));
        let each = fields.take("each").map_or_else(|| vec![Vec::new()], |at| each_of(&at, &names));
        names.known.extend(own_names(&each));
        let first = self.journey.steps.len();
        let list = fields.need("step", "what it does: [[journey.beside.step]]").and_then(|at| at.list());
        self.steps(&list.unwrap_or_default(), &mut names, Place::End);
        fields.close();
        let steps = first..self.journey.steps.len();
        if let Some(after) = after.filter(|_| !steps.is_empty()) {
            self.journey.beside.push(Beside { after, steps, each });
        }
    }

    /// The place of a step of the journey's own that something may begin after: once, and with steps to come.
    fn place_of(&self, at: &At<'_>) -> Option<usize> {
        let name = at.text()?;
        let own = &self.journey.steps[..self.journey.own];
        let Some(place) = own.iter().position(|step| step.name == name) else {
            at.wrong(format!("names \"{name}\", which is no step of the journey"));
            return None;
        };
        if place + 1 == self.journey.own {
            at.wrong(format!("names \"{name}\", the journey's last step: what runs beside it ends with it"));
        }
        if self.journey.repeats.iter().any(|repeat| (repeat.first..=repeat.last).contains(&place)) {
            at.wrong(format!("names \"{name}\", which is repeated: nothing begins more than once"));
        }
        Some(place)
    }
}
