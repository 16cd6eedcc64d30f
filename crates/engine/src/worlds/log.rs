//! What is decided and not committed yet: facts that wait for their turn, facts that are on their way, and the answers that
//! nobody may get before them.
//!
//! One group is on its way to the store at a time; what is decided meanwhile collects for the next. An answer waits for the
//! group that it depends on, also when it only says that somebody else was faster.

use super::answers::HeldAt;
use super::facts::Fact;
use super::input::{Answer, Seat};

/// A fact, and the mover whose claim it is.
#[derive(Clone, Debug)]
pub(super) struct Decided {
    pub(super) fact: Fact,
    pub(super) seat: Option<Seat>,
}

/// Facts of one commit, and the answers that wait for it.
#[derive(Clone, Debug, Default)]
pub(super) struct Group {
    number: u32,
    pub(super) facts: Vec<Decided>,
    pub(super) held: Vec<Answer>,
}

/// The end of a world's log.
#[derive(Clone, Debug)]
pub(super) struct Log {
    /// Rows that are committed.
    committed: u32,
    /// On its way.
    flying: Option<Group>,
    waiting: Group,
}

impl Log {
    pub(super) fn new(committed: u32) -> Self {
        Self { committed, flying: None, waiting: Group::default() }
    }

    pub(super) fn committed(&self) -> u32 {
        self.committed
    }

    /// A row was read from the log.
    pub(super) fn count_read(&mut self) {
        self.committed += 1;
    }

    /// Facts without a commit.
    pub(super) fn pending(&self) -> usize {
        self.waiting.facts.len() + self.flying.as_ref().map_or(0, |group| group.facts.len())
    }

    /// The number of the group that the next fact joins.
    pub(super) fn next_group(&self) -> u32 {
        self.waiting.number
    }

    pub(super) fn decide(&mut self, fact: Fact, seat: Option<Seat>) {
        self.waiting.facts.push(Decided { fact, seat });
    }

    /// Keeps an answer back until this group is committed; nothing if it already is: then the answer may go.
    pub(super) fn hold(&mut self, group: u32, answer: Answer) -> Option<HeldAt> {
        let group = self.group_mut(group)?;
        group.held.push(answer);
        Some(HeldAt { group: group.number, index: (group.held.len() - 1) as u32 })
    }

    /// Keeps the answer to a repeated input back as long as the first one.
    pub(super) fn hold_again(&mut self, at: HeldAt, again: impl Fn(&Answer) -> Answer) {
        if let Some(group) = self.group_mut(at.group)
            && let Some(first) = group.held.get(at.index as usize)
        {
            let answer = again(first);
            group.held.push(answer);
        }
    }

    fn group_mut(&mut self, number: u32) -> Option<&mut Group> {
        let flying = self.flying.as_mut().filter(|group| group.number & 0xff_ffff == number & 0xff_ffff);
        if flying.is_some() {
            return flying;
        }
        (self.waiting.number & 0xff_ffff == number & 0xff_ffff).then_some(&mut self.waiting)
    }

    /// What is to be saved now: nothing while something is on its way. The first of the rows has the version that comes first.
    pub(super) fn take(&mut self) -> Option<(u32, Vec<Vec<u8>>)> {
        if self.flying.is_some() || self.waiting.facts.is_empty() {
            return None;
        }
        let next = Group { number: self.waiting.number.wrapping_add(1), ..Group::default() };
        let group = std::mem::replace(&mut self.waiting, next);
        let rows = group.facts.iter().map(|decided| decided.fact.to_bytes()).collect();
        self.flying = Some(group);
        Some((self.committed, rows))
    }

    /// What was on its way is committed, if the log is as long now as it must be.
    pub(super) fn land(&mut self, version: u32) -> Option<Group> {
        let length = self.committed + self.flying.as_ref()?.facts.len() as u32;
        if version != length {
            return None;
        }
        self.committed = length;
        self.flying.take()
    }
}
