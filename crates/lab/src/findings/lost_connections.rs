//! Held connections that did not stay open: lost while a phase held them, or between two phases of which the later one
//! takes over the connections of the earlier one. Does not explain the cause: only which side ended them, and when.

use super::Candidate;
use super::format::{count, moment, pluralize, share};
use super::thresholds::LOST_SHARE_MIN;
use super::view::RunView;
use crate::aggregate::HeldFigures;
use crate::measurement::HeldCounts;

/// Phases whose losses are listed one by one.
const LISTED_MAX: usize = 5;

/// Connections that were lost in one phase, or after it.
struct Loss<'a> {
    phase: &'a str,
    /// The phase that took the rest over, if they were lost between the two.
    next: Option<&'a str>,
    held: &'a HeldFigures,
    closed: u64,
    dropped: u64,
    /// How many connections there were.
    total: u64,
}

pub(super) fn candidates(view: &RunView<'_>) -> Vec<Candidate> {
    let phases = &view.input.results.phases;
    let held = || phases.iter().filter_map(|(name, phase)| Some((name.as_str(), phase.connections.as_ref()?)));
    let next = |name: &str| held().find(|(_, later)| later.keeps.as_deref() == Some(name)).map(|(later, _)| later);
    let losses = held().flat_map(|(phase, held)| {
        let HeldCounts { closed, dropped, left, closed_after, dropped_after, .. } = held.counts;
        let while_held = Loss { phase, next: None, held, closed, dropped, total: held.planned };
        let (closed, dropped) = (closed_after, dropped_after);
        [while_held, Loss { phase, next: Some(next(phase).unwrap_or("the end")), held, closed, dropped, total: left }]
    });
    let mut losses: Vec<Loss<'_>> = losses.filter(|loss| loss.share() >= LOST_SHARE_MIN).collect();
    losses.sort_by(|a, b| b.share().total_cmp(&a.share()));
    let Some(worst) = losses.first() else { return Vec::new() };
    let listed = losses.iter().take(LISTED_MAX).map(|loss| (loss.figure_name(), loss.sentence()));
    let case = Candidate::new("connections_lost", worst.share(), format!("{}.", worst.sentence())).all_evidence(listed);
    let refuted_by = "The same connections, held for as long by another client from another machine, stay open: then \
                      the cause is the network between, or the lab.";
    let advice = "Check why the target and everything in front of it closes connections: idle timeouts, limits on \
                  their number, memory, a restart.";
    vec![case.with_advice(refuted_by, advice)]
}

impl Loss<'_> {
    fn lost(&self) -> u64 {
        self.closed + self.dropped
    }

    fn share(&self) -> f64 {
        self.lost() as f64 / self.total.max(1) as f64
    }

    fn figure_name(&self) -> String {
        let after = if self.next.is_some() { "_after" } else { "" };
        let which = if self.closed >= self.dropped { "closed" } else { "dropped" };
        format!("phases.{}.connections.{which}{after}", self.phase)
    }

    fn sentence(&self) -> String {
        let (lost, of) = (count(self.lost()), pluralize(self.total, "connection"));
        let share = share(self.share());
        let how = match (self.closed, self.dropped) {
            (_, 0) => "the target closed them".to_owned(),
            (0, _) => "they were reset".to_owned(),
            (closed, dropped) => {
                format!("the target closed {}, {} were reset", count(closed), count(dropped))
            }
        };
        match self.next {
            None => format!("{lost} of {of} that `{}` held were lost ({share}): {how}", self.phase),
            Some(next) => {
                let phase = self.phase;
                format!("{lost} of {of} were lost between `{phase}` and `{next}` ({share}){}: {how}", self.time_range())
            }
        }
    }

    /// In one second, or from one to another.
    fn time_range(&self) -> String {
        match self.held.lost_after_s {
            Some((from_s, to_s)) if to_s - from_s > 1.0 => format!(", from {} to {}", moment(from_s), moment(to_s)),
            Some((from_s, _)) => format!(", at {}", moment(from_s)),
            None => String::new(),
        }
    }
}
