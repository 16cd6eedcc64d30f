//! Journeys: the steps of an arrival in order, which of them are repeated, and what runs in the background. All steps
//! of a journey are in one list, its own first, so that figures of a step are found by its index. Does not know
//! requests.

use std::collections::BTreeMap;
use std::ops::Range;

use super::declared_names::DeclaredNames;
use super::message::FormatStatus;
use super::reader::{NodeReader, check_template_name, read_name};
use super::repeat::{Repeat, RepeatEnd};
use super::step::{Step, StepContext};
use super::template::{Template, TemplateNames};
use crate::format::known_names;
use crate::limits::{BACKGROUND_LOOPS_MAX, STEPS_MAX};

/// What one arrival does, step by step.
#[derive(Clone, Debug, Default)]
pub struct Journey {
    /// Its name; figures are found under it.
    pub name: String,
    /// At least one step, followed by those of background loops.
    pub steps: Vec<Step>,
    /// How many of the steps are its own.
    pub own_step_count: usize,
    /// Inner repeats come before outer ones.
    pub repeats: Vec<Repeat>,
    pub background: Vec<BackgroundLoops>,
    /// Whether its steps are messages over the arrival's own connection, instead of requests.
    pub uses_messages: bool,
    /// Names whose values its held connection has kept before: the connection's own values, unless the journey keeps
    /// them anew.
    pub inherited_names: Vec<String>,
}

/// Loops of steps, each over its own connection, that begin after one of the journey's steps and end with the journey
/// at the latest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackgroundLoops {
    /// The index of the journey's step after whose response they begin.
    pub after_step: usize,
    /// Their steps, by index.
    pub steps: Range<usize>,
    /// For each loop, its own names and the kept values that they stand for.
    pub loop_bindings: Vec<Vec<(String, String)>>,
}

/// Reads the steps one after the other.
struct JourneyReader<'a> {
    declared: &'a DeclaredNames,
    format_status: FormatStatus<'a>,
    journey: Journey,
}

impl Journey {
    pub(super) fn read(
        at: &NodeReader<'_>,
        names: &TemplateNames,
        declared: &DeclaredNames,
        known: FormatStatus<'_>,
    ) -> Option<Self> {
        at.table(|fields| {
            let name = fields.get_required("name", "phases and gates refer to it").and_then(|at| read_name(&at));
            let inherits = name.as_ref().and_then(|name| declared.inherited.get(name)).cloned().unwrap_or_default();
            let mut names = TemplateNames { has_arrival: true, ..names.clone() };
            names.known.extend(inherits.iter().cloned());
            let mut reader = JourneyReader { declared, format_status: known, journey: Self::default() };
            let mut own_names = names.clone();
            let steps = fields.get_required("step", "at least one [[journey.step]]").and_then(|at| at.list());
            if steps.as_ref().is_some_and(Vec::is_empty) {
                at.add_error("needs at least one [[journey.step]]");
            }
            reader.read_steps(&steps.unwrap_or_default(), &mut own_names, StepContext::Journey);
            reader.journey.own_step_count = reader.journey.steps.len();
            // Later draws must differ from those of the journey's own steps.
            let names = TemplateNames { known: names.known, ..own_names };
            for at in fields.optional("background", NodeReader::list).unwrap_or_default() {
                reader.read_background(&at, &names);
            }
            let uses_messages = reader.journey.steps.iter().any(|step| step.message().is_some());
            let name = name.unwrap_or_default();
            let journey = Self { name, uses_messages, inherited_names: inherits, ..reader.journey };
            journey.check(at);
            (!journey.name.is_empty()).then_some(journey)
        })?
    }

    /// The same journey with the values of the run filled in: only what differs per arrival remains.
    #[must_use]
    pub fn bind(&self, globals: &BTreeMap<String, String>) -> Self {
        let mut bound = self.clone();
        let mut bind = |template: &mut Template| *template = template.bind(globals, &|name| self.keeps_name(name));
        bound.steps.iter_mut().for_each(|step| step.visit_templates(&mut bind));
        bound
    }

    /// Whether an arrival has its own value for a name.
    #[must_use]
    pub fn keeps_name(&self, name: &str) -> bool {
        let mut kept = self.steps.iter().flat_map(|step| &step.keep);
        let mut own = self.background.iter().flat_map(|loops| loops.loop_bindings.iter().flatten());
        kept.any(|keep| keep.name == name)
            || own.any(|(own, _)| own == name)
            || self.inherited_names.iter().any(|own| own == name)
    }

    /// Whether its steps have figures of their own, which those of the whole journey do not already give.
    #[must_use]
    pub fn has_step_figures(&self) -> bool {
        self.steps.len() > 1 || !self.repeats.is_empty() || self.steps.iter().any(|step| step.long_poll.is_some())
    }

    /// Whether a step pauses, repeats or waits, so that the journey's duration depends in part on the journey itself.
    #[must_use]
    pub fn is_paced(&self) -> bool {
        let lingers = |step: &Step| step.pause.is_some() || step.pause_until.is_some() || step.long_poll.is_some();
        !self.repeats.is_empty() || self.steps.iter().any(lingers)
    }

    /// Requests of one arrival, as far as that is known in advance: what is repeated for a time counts once, and a
    /// background loop as often as it begins.
    #[must_use]
    pub fn request_count(&self) -> u64 {
        let times = |step: usize| {
            let around = self.repeats.iter().filter(|repeat| (repeat.first_step..=repeat.last_step).contains(&step));
            let rounds = around.map(|repeat| repeat.end.times.unwrap_or(1));
            let loops = self.background.iter().find(|loops| loops.steps.contains(&step));
            rounds.fold(loops.map_or(1, |loops| loops.loop_bindings.len() as u64), u64::saturating_mul)
        };
        (0..self.steps.len()).map(times).fold(0, u64::saturating_add)
    }

    /// Connections of one arrival.
    #[must_use]
    pub fn connection_count(&self) -> u64 {
        1 + self.background.iter().map(|loops| loops.loop_bindings.len() as u64).sum::<u64>()
    }

    /// Checks what concerns more than one of its steps.
    fn check(&self, at: &NodeReader<'_>) {
        for (index, step) in self.steps.iter().enumerate() {
            let same = |other: &&Step| other.name == step.name;
            // Once for each name, at its second occurrence.
            if self.steps[..index].iter().filter(same).count() == 1 {
                let name = &step.name;
                at.add_error(format!(
                    "has two steps called \"{name}\": give each a `name`, figures are found under it"
                ));
            }
        }
        if self.uses_messages && self.steps.iter().any(|step| step.request().is_some()) {
            at.add_error("has steps that `send` and steps that `request`: one connection speaks one language, so make two journeys");
        }
        if self.connection_count() > 1 + BACKGROUND_LOOPS_MAX as u64 || self.steps.len() > STEPS_MAX {
            at.add_error(format!("may have {STEPS_MAX} steps, and {BACKGROUND_LOOPS_MAX} loops beside them"));
        }
    }
}

impl JourneyReader<'_> {
    /// Reads steps and groups of steps. `last` is the context of the last one.
    fn read_steps(&mut self, list: &[NodeReader<'_>], names: &mut TemplateNames, last: StepContext) {
        for (number, at) in (1..).zip(list) {
            let context = if number == list.len() { last } else { StepContext::Journey };
            let first = self.journey.steps.len();
            let until = match at.node.get("step") {
                Some(_) => self.read_group(at, names, context),
                None => self.read_step(at, names, context),
            };
            if let (Some(until), Some(last)) = (until, self.journey.steps.len().checked_sub(1))
                && last >= first
            {
                self.journey.repeats.push(Repeat { first_step: first, last_step: last, end: until });
            }
        }
    }

    fn read_step(&mut self, at: &NodeReader<'_>, names: &mut TemplateNames, context: StepContext) -> Option<RepeatEnd> {
        let (step, until) = Step::read(at, names, &self.declared.works, context, self.format_status)?;
        self.journey.steps.push(step);
        until
    }

    /// Reads steps that are repeated together.
    fn read_group(
        &mut self,
        at: &NodeReader<'_>,
        names: &mut TemplateNames,
        context: StepContext,
    ) -> Option<RepeatEnd> {
        at.table(|fields| {
            let repeat = fields.get_required("repeat", "how often its steps are taken, such as 4");
            let steps = fields.optional("step", NodeReader::list);
            // The response to the last of them decides when the repeat ends.
            let sends = steps.iter().flatten().next_back().is_some_and(|last| last.node.get("send").is_some());
            let format = sends.then_some(self.format_status);
            let end = repeat.and_then(|at| RepeatEnd::read(&at, context == StepContext::BackgroundEnd, format));
            if steps.as_ref().is_some_and(Vec::is_empty) {
                at.add_error("has a `step` without any step");
            }
            self.read_steps(&steps.unwrap_or_default(), names, StepContext::Journey);
            end
        })?
    }

    fn read_background(&mut self, at: &NodeReader<'_>, names: &TemplateNames) {
        at.table(|fields| {
            let after_step = fields.get_required("after", "the step of the journey after which it begins");
            let after_step = after_step.and_then(|at| self.read_step_index(&at));
            let own = &self.journey.steps[..after_step.map_or(self.journey.own_step_count, |after| after + 1)];
            let mut names = names.clone();
            names.known.extend(own.iter().flat_map(|step| &step.keep).map(|keep| keep.name.clone()));
            let loop_bindings = fields.optional("each", |at| Some(read_bindings(at, &names)));
            let loop_bindings = loop_bindings.unwrap_or_else(|| vec![Vec::new()]);
            names.known.extend(loop_bindings.iter().flatten().map(|(name, _)| name.clone()));
            let first = self.journey.steps.len();
            let steps = fields.required("step", "what it does: [[journey.background.step]]", NodeReader::list);
            self.read_steps(&steps, &mut names, StepContext::BackgroundEnd);
            let steps = first..self.journey.steps.len();
            if let Some(after_step) = after_step.filter(|_| !steps.is_empty()) {
                self.journey.background.push(BackgroundLoops { after_step, steps, loop_bindings });
            }
        });
    }

    /// The index of one of the journey's own steps after which background loops may begin: it runs once, and steps
    /// follow it.
    fn read_step_index(&self, at: &NodeReader<'_>) -> Option<usize> {
        let name = at.text()?;
        let own = &self.journey.steps[..self.journey.own_step_count];
        let Some(index) = own.iter().position(|step| step.name == name) else {
            return at.reject(format!("names \"{name}\", which is no step of the journey"));
        };
        if index + 1 == self.journey.own_step_count {
            at.add_error(format!("names \"{name}\", the journey's last step: what runs beside it ends with it"));
        }
        if self.journey.repeats.iter().any(|repeat| (repeat.first_step..=repeat.last_step).contains(&index)) {
            at.add_error(format!("names \"{name}\", which is repeated: nothing begins more than once"));
        }
        Some(index)
    }
}

/// `{ token = ["token_1", "token_2"] }`: as many loops as each list has kept values, each loop with its own value.
fn read_bindings(at: &NodeReader<'_>, names: &TemplateNames) -> Vec<Vec<(String, String)>> {
    let mut each: Vec<Vec<(String, String)>> = Vec::new();
    for (index, (name, column)) in at.entries(|name, at| Some((name, at.clone()))).into_iter().enumerate() {
        check_template_name(&column, name);
        let kept: Vec<String> = column.items(|at| read_kept_name(at, names));
        if index == 0 {
            each.resize(kept.len(), Vec::new());
        }
        if kept.is_empty() || kept.len() > BACKGROUND_LOOPS_MAX || kept.len() != each.len() {
            column.add_error(format!(
                "must list from 1 to {BACKGROUND_LOOPS_MAX} kept values, and as many as its neighbours"
            ));
            continue;
        }
        for (own, kept) in each.iter_mut().zip(kept) {
            own.push((name.to_owned(), kept));
        }
    }
    each
}

fn read_kept_name(at: &NodeReader<'_>, names: &TemplateNames) -> Option<String> {
    let Some(text) = at.node.as_text() else { return at.reject("must be the name of a kept value") };
    if !names.known.contains(text) {
        let known: Vec<&str> = names.known.iter().map(String::as_str).collect();
        at.add_error(format!("names `{text}`, which nothing has set before; known here: {}", known_names(known)));
    }
    Some(text.to_owned())
}
