//! The people of a table, present and former: names, standings, and how far each has read.

use super::bots;
use crate::ids::PlayerId;
use crate::limits::{CHAT_BURST, CHAT_INTERVAL, TABLE_PEOPLE_MAX};
use crate::pack::packed;
use crate::time::UnixMs;
use rules::stories::Standing;
use std::time::Duration;

/// A player who joins, with what the server knows about them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Newcomer {
    pub id: PlayerId,
    pub name: Box<str>,
    /// Points and cards.
    pub standing: Standing,
}
packed!(Newcomer { id, name, standing });

/// A present or former member of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Person {
    pub(super) id: PlayerId,
    pub(super) name: Box<str>,
    pub(super) standing: Standing,
    /// Events beyond the public ones.
    pub(super) private_events: u32,
    /// The number of the last game in which this player was the storyteller; 0 for none.
    pub(super) last_told_game: u32,
    /// When the next line of chat is due at the steady rate.
    pub(super) chat_due: UnixMs,
    pub(super) is_member: bool,
}
packed!(Person { id, name, standing, private_events, last_told_game, chat_due, is_member });

impl Person {
    pub(super) fn is_bot(&self) -> bool {
        bots::is_bot(self.id)
    }

    /// Until when the player has to wait before the next line of chat; `None` when it may be sent.
    pub(super) fn chat_wait_until(&self, now: UnixMs) -> Option<UnixMs> {
        let may_at = self.chat_due.plus(CHAT_INTERVAL).minus(CHAT_INTERVAL * CHAT_BURST);
        (may_at > now).then_some(may_at)
    }

    /// Counts a line of chat.
    pub(super) fn record_chat(&mut self, at: UnixMs) {
        self.chat_due = self.chat_due.max(at).plus(CHAT_INTERVAL);
    }
}

const _: () = assert!(CHAT_BURST > 0);
const _: () = assert!(CHAT_INTERVAL.as_millis() > Duration::ZERO.as_millis());

/// Those of a table, in the order in which they first came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct People {
    list: Vec<Person>,
}
packed!(People { list });

impl People {
    pub(super) fn get(&self, id: PlayerId) -> Option<&Person> {
        self.list.iter().find(|person| person.id == id)
    }

    pub(super) fn get_mut(&mut self, id: PlayerId) -> Option<&mut Person> {
        self.list.iter_mut().find(|person| person.id == id)
    }

    /// Those who sit there now.
    pub(super) fn members(&self) -> impl Iterator<Item = &Person> {
        self.list.iter().filter(|person| person.is_member)
    }

    pub(super) fn is_member(&self, id: PlayerId) -> bool {
        self.get(id).is_some_and(|person| person.is_member)
    }

    /// The people of these ids, for a record that outlives the table.
    pub(super) fn subset(&self, ids: impl Iterator<Item = PlayerId>) -> Self {
        Self { list: ids.filter_map(|id| self.get(id).cloned()).collect() }
    }

    /// A player joins. A former member continues with the earlier event count. When the list is full, the earliest of
    /// those who left is dropped: a game that has players who left admits no new one.
    pub(super) fn seat(&mut self, who: &Newcomer) {
        if let Some(person) = self.get_mut(who.id) {
            person.name = who.name.clone();
            person.standing = who.standing;
            person.is_member = true;
            return;
        }
        if self.list.len() >= TABLE_PEOPLE_MAX
            && let Some(index) = self.list.iter().position(|person| !person.is_member)
        {
            self.list.remove(index);
        }
        self.list.reserve_exact(1);
        self.list.push(Person {
            id: who.id,
            name: who.name.clone(),
            standing: who.standing,
            private_events: 0,
            last_told_game: 0,
            chat_due: UnixMs(0),
            is_member: true,
        });
    }

    pub(super) fn leave(&mut self, id: PlayerId) {
        if let Some(person) = self.get_mut(id) {
            person.is_member = false;
        }
    }
}
