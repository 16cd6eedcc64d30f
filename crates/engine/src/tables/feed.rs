//! What happened at a table, for those who follow it: a window of recent entries, and each viewer's own numbering of
//! them.
//!
//! An entry is an event for all viewers, or only for those whom it concerns. A viewer's sequence counts that viewer's
//! events: the public ones plus the private ones. So it follows from the log alone, has no gaps, and reveals nothing
//! about the events of others.

use super::entry::{Entry, LoggedEntry};
use super::state::TableState;
use super::view::{EventKind, visible_event};
use crate::ids::PlayerId;
use crate::time::UnixMs;
use std::collections::VecDeque;

/// Something that happened, as one viewer may know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableEvent {
    /// Its place among the events that this viewer got, from 1, without gaps.
    pub seq: u64,
    /// When it was decided.
    pub at: UnixMs,
    /// During, or after, which of the table's games.
    pub game: u32,
    pub kind: EventKind,
}

/// What is new for a viewer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedUpdate {
    /// In order; empty when nothing is.
    pub events: Vec<TableEvent>,
    /// The sequence of this viewer's last event: the cursor for the next request.
    pub seq: u64,
    /// When the first of these events was committed, the one that waited longest; `None` without events. Microseconds since the Unix
    /// epoch. Of an event that was read from the log, when it was decided.
    pub committed_at_us: Option<i64>,
}

/// Who gets an event.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Audience {
    All,
    Only(Box<[PlayerId]>),
}

/// An id that no player has: it is older than any.
const NO_PLAYER: PlayerId = PlayerId(0);

/// An entry as it is remembered, with all that is needed to cut it for a viewer later as it would have been cut at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FeedEntry {
    pub(super) entry: LoggedEntry,
    pub(super) game: u32,
    /// The storyteller at that time; [`NO_PLAYER`] after leaving.
    storyteller: PlayerId,
    audience: Audience,
    committed_at_us: i64,
}

impl FeedEntry {
    /// An entry, seen after it was applied to the state.
    pub(super) fn new(logged: LoggedEntry, state: &TableState, committed_at_us: i64) -> Self {
        let storyteller = state.game.as_ref().and_then(|game| game.present_storyteller()).unwrap_or(NO_PLAYER);
        let audience = match &logged.entry {
            Entry::ChatSent { .. } => Audience::Only(state.people.members().map(|person| person.id).collect()),
            Entry::Invited { .. } => Audience::Only([storyteller].into()),
            _ => Audience::All,
        };
        Self { entry: logged, game: state.game_number(), storyteller, audience, committed_at_us }
    }

    fn is_visible_to(&self, viewer: Option<PlayerId>) -> bool {
        match &self.audience {
            Audience::All => true,
            Audience::Only(those) => viewer.is_some_and(|viewer| those.contains(&viewer)),
        }
    }

    /// Counts it for those who got it.
    pub(super) fn count_event(&self, state: &mut TableState) {
        match &self.audience {
            Audience::All => state.public_events += 1,
            Audience::Only(those) => {
                for id in those {
                    if let Some(person) = state.people.get_mut(*id) {
                        person.private_events += 1;
                    }
                }
            }
        }
    }
}

/// The entries since the table's snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FeedWindow {
    entries: VecDeque<FeedEntry>,
}

impl FeedWindow {
    pub(super) fn push(&mut self, entry: FeedEntry) {
        // Most tables are short: room for twice what is there would be the greater part of them.
        if self.entries.len() == self.entries.capacity() {
            self.entries.reserve_exact(1 + self.entries.len() / 4);
        }
        self.entries.push_back(entry);
    }

    /// Drops the oldest.
    pub(super) fn drop_oldest(&mut self, count: usize) {
        self.entries.drain(..count.min(self.entries.len()));
        self.entries.shrink_to_fit();
    }

    /// The events after `after`, for a viewer who got `seq` events in all; see [`super::Table::feed`].
    pub(super) fn since(&self, viewer: Option<PlayerId>, after: u64, seq: u64) -> Option<FeedUpdate> {
        let missing = seq.checked_sub(after)?;
        let newest_first = self.entries.iter().rev().filter(|entry| entry.is_visible_to(viewer));
        let wanted = usize::try_from(missing).unwrap_or(usize::MAX);
        let mut unseen: Vec<&FeedEntry> = newest_first.take(wanted).collect();
        if unseen.len() < wanted {
            return None;
        }
        unseen.reverse();
        let committed_at_us = unseen.first().map(|entry| entry.committed_at_us);
        let events = unseen.into_iter().zip(after + 1..).map(|(entry, seq)| entry.event_for(viewer, seq)).collect();
        Some(FeedUpdate { events, seq, committed_at_us })
    }
}

impl FeedEntry {
    fn event_for(&self, viewer: Option<PlayerId>, seq: u64) -> TableEvent {
        let storyteller = (self.storyteller != NO_PLAYER).then_some(self.storyteller);
        event(&self.entry, self.game, storyteller, viewer, seq)
    }
}

fn event(
    logged: &LoggedEntry,
    game: u32,
    storyteller: Option<PlayerId>,
    viewer: Option<PlayerId>,
    seq: u64,
) -> TableEvent {
    TableEvent { seq, at: logged.at, game, kind: visible_event(&logged.entry, storyteller, viewer) }
}

/// The events of a game's history, as a viewer would have got them, counted from 1.
pub(super) fn history_for(
    entries: &[LoggedEntry],
    game: u32,
    storyteller: Option<PlayerId>,
    viewer: Option<PlayerId>,
) -> Vec<TableEvent> {
    let is_for = |logged: &&LoggedEntry| match &logged.entry {
        Entry::Invited { .. } => viewer.is_some() && viewer == storyteller,
        Entry::ChatSent { .. } => false,
        _ => true,
    };
    entries.iter().filter(is_for).zip(1..).map(|(logged, seq)| event(logged, game, storyteller, viewer, seq)).collect()
}
