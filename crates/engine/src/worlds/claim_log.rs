//! What is decided and not committed yet: facts that are being collected, facts that are in flight, and the answers
//! that wait for their commit.
//!
//! One group is in flight to the store at a time; what is decided meanwhile is collected for the next. An answer waits
//! for the group that it depends on, also when it only reports that another mover was faster.

use super::answers::HeldAnswerRef;
use super::facts::Fact;
use super::input::{Answer, MoverRef};

/// A fact, and the mover whose claim it is.
#[derive(Clone, Debug)]
pub(super) struct DecidedFact {
    pub(super) fact: Fact,
    pub(super) mover: Option<MoverRef>,
}

/// Facts of one commit, and the answers that wait for it.
#[derive(Clone, Debug, Default)]
pub(super) struct CommitGroup {
    number: u32,
    pub(super) facts: Vec<DecidedFact>,
    pub(super) held_answers: Vec<Answer>,
}

/// The end of a world's log.
#[derive(Clone, Debug)]
pub(super) struct ClaimLog {
    /// Rows that are committed.
    committed: u32,
    /// On its way.
    in_flight: Option<CommitGroup>,
    collecting: CommitGroup,
}

impl ClaimLog {
    pub(super) fn new(committed: u32) -> Self {
        Self { committed, in_flight: None, collecting: CommitGroup::default() }
    }

    pub(super) fn committed(&self) -> u32 {
        self.committed
    }

    /// A row was read from the log.
    pub(super) fn count_replayed(&mut self) {
        self.committed += 1;
    }

    /// Facts without a commit.
    pub(super) fn pending(&self) -> usize {
        self.collecting.facts.len() + self.in_flight.as_ref().map_or(0, |group| group.facts.len())
    }

    /// The number of the group that the next fact joins.
    pub(super) fn next_group(&self) -> u32 {
        self.collecting.number
    }

    pub(super) fn push(&mut self, fact: Fact, mover_ref: Option<MoverRef>) {
        self.collecting.facts.push(DecidedFact { fact, mover: mover_ref });
    }

    /// Keeps an answer back until this group is committed; nothing if it already is: then the answer may go.
    pub(super) fn hold(&mut self, group: u32, answer: Answer) -> Option<HeldAnswerRef> {
        let group = self.group_mut(group)?;
        group.held_answers.push(answer);
        Some(HeldAnswerRef { group: group.number, index: (group.held_answers.len() - 1) as u32 })
    }

    /// Keeps the answer to a repeated input back as long as the first one.
    pub(super) fn hold_again(&mut self, at: HeldAnswerRef, again: impl Fn(&Answer) -> Answer) {
        if let Some(group) = self.group_mut(at.group)
            && let Some(first) = group.held_answers.get(at.index as usize)
        {
            let answer = again(first);
            group.held_answers.push(answer);
        }
    }

    fn group_mut(&mut self, number: u32) -> Option<&mut CommitGroup> {
        let flying = self.in_flight.as_mut().filter(|group| group.number & 0xff_ffff == number & 0xff_ffff);
        if flying.is_some() {
            return flying;
        }
        (self.collecting.number & 0xff_ffff == number & 0xff_ffff).then_some(&mut self.collecting)
    }

    /// What is to be saved now: nothing while something is on its way. The first of the rows has the version that comes first.
    pub(super) fn take_group(&mut self) -> Option<(u32, Vec<Vec<u8>>)> {
        if self.in_flight.is_some() || self.collecting.facts.is_empty() {
            return None;
        }
        let next = CommitGroup { number: self.collecting.number.wrapping_add(1), ..CommitGroup::default() };
        let group = std::mem::replace(&mut self.collecting, next);
        let rows = group.facts.iter().map(|decided| decided.fact.to_bytes()).collect();
        self.in_flight = Some(group);
        Some((self.committed, rows))
    }

    /// What was on its way is committed, if the log is as long now as it must be.
    pub(super) fn complete(&mut self, version: u32) -> Option<CommitGroup> {
        let length = self.committed + self.in_flight.as_ref()?.facts.len() as u32;
        if version != length {
            return None;
        }
        self.committed = length;
        self.in_flight.take()
    }
}
