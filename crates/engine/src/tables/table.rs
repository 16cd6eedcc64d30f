//! A table in memory.
//!
//! ```text
//! decide(actor, action) ─┐
//! tick()                 ├─► Change ──(commit it)──► apply(change) ──► view, feed
//! retire()              ─┘
//! ```
//!
//! A load is the same machine fed with the saved rows ([`Table::restore`]): one path applies an entry, live or read, so
//! a table continues as it was, timers and all sequences included. What a load starts from, the snapshot, follows the
//! log at a distance: a pending snapshot is taken at the end of each game, or after [`TABLE_SNAPSHOT_ENTRIES`], and
//! becomes the snapshot when the next one is taken. So readers always find what happened in the last game.

use super::action::Action;
use super::bots::BotSettings;
use super::change::{Change, TableSnapshot};
use super::decide::DecisionContext;
use super::entry::{Entry, LoggedEntry, TableLogRow};
use super::feed::{FeedEntry, FeedUpdate, FeedWindow};
use super::index::{index_changes_of, is_indexed};
use super::people::Newcomer;
use super::refusal::Refusal;
use super::settings::TableSettings;
use super::state::TableState;
use super::view::{TableView, table_view};
use crate::ids::{GameId, PlayerId, TableId};
use crate::limits::TABLE_SNAPSHOT_ENTRIES;
use crate::pack::{DecodeError, decode_versioned, encode_versioned};
use crate::time::UnixMs;
use rules::chance::Seed;
use std::fmt;

const FORMAT: u8 = 2;

/// A table that cannot be loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TableLoadError {
    /// The snapshot cannot be read.
    #[error("the table's snapshot cannot be read: {0}")]
    Snapshot(DecodeError),
    /// An entry of the log cannot be read.
    #[error("entry {version} of the table's log cannot be read: {why}")]
    Entry {
        /// Its place in the log.
        version: u32,
        why: DecodeError,
    },
    /// An entry of the log does not follow on what was before.
    #[error("entry {version} of the table's log does not follow: {why}")]
    Log {
        /// Its place in the log.
        version: u32,
        why: &'static str,
    },
}

/// A table: its members, its game, and the window of recent events.
///
/// Its `Debug` prints only which table it is: the seed alone would reveal all hands.
#[derive(Clone, PartialEq, Eq)]
pub struct Table {
    state: TableState,
    /// Entries under the snapshot: the window begins there.
    snapshot_version: u32,
    /// What becomes the snapshot when the next one is taken.
    pending_snapshot: Option<Box<TableSnapshot>>,
    window: FeedWindow,
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table").field("id", &self.id()).field("version", &self.version()).finish_non_exhaustive()
    }
}

impl Table {
    /// A table that does not exist yet, and the change that opens it with its first game: commit it with the snapshot that it holds, then
    /// [`Table::apply`] it.
    ///
    /// # Errors
    /// [`Refusal::Settings`].
    pub fn open(
        id: TableId,
        settings: TableSettings,
        seed: Seed,
        bots: BotSettings,
        opener: &Newcomer,
        now: UnixMs,
    ) -> Result<(Self, Change), Refusal> {
        let errors = settings.validation_errors();
        if !errors.is_empty() {
            return Err(Refusal::Settings(errors));
        }
        let table = Self::from_state(TableState::new(id, opener.id, settings, seed, bots));
        let context = DecisionContext { state: &table.state, now, is_present: &|_| true };
        let mut change = table.change(vec![context.start(opener)], now);
        change.snapshot = Some(table.snapshot_now());
        Ok((table, change))
    }

    /// A table as its snapshot and the entries after it left it.
    ///
    /// # Errors
    /// [`TableLoadError`] when they cannot be read, or do not fit.
    pub fn restore(snapshot: &[u8], rows: &[TableLogRow]) -> Result<Self, TableLoadError> {
        let mut table = Self::from_state(decode_versioned(FORMAT, snapshot).map_err(TableLoadError::Snapshot)?);
        for row in rows {
            let version = row.version;
            if version != table.version() {
                return Err(TableLoadError::Log { version, why: "it is not the next one" });
            }
            let logged = LoggedEntry::decode(&row.bytes).map_err(|why| TableLoadError::Entry { version, why })?;
            let committed_at_us = logged.at.0.saturating_mul(1_000);
            table.apply_entry(logged, committed_at_us).map_err(|why| TableLoadError::Log { version, why })?;
        }
        Ok(table)
    }

    fn from_state(state: TableState) -> Self {
        Self { snapshot_version: state.version, state, pending_snapshot: None, window: FeedWindow::default() }
    }

    /// What an action leads to. `game` is the number of the game that it is meant for, when it names one. Nothing changes.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn decide(
        &self,
        actor: PlayerId,
        game: Option<u32>,
        action: &Action,
        now: UnixMs,
        is_present: &dyn Fn(PlayerId) -> bool,
    ) -> Result<Change, Refusal> {
        if let Some(game) = game.filter(|game| *game != self.state.game_number()) {
            return Err(Refusal::GameNotLive { game });
        }
        let context = self.context(now, is_present);
        Ok(self.change(context.decide(actor, action)?, context.now))
    }

    /// What the table does by itself now, one step; `None` when nothing is due. Call again after it is applied.
    ///
    /// Call it at [`Table::next_due`], and when a member's presence has changed. A caller that has just loaded the
    /// table does not know who is present: for as long as a client may take to reconnect, it should count all members
    /// as present, or the first to reconnect takes the turn of one who is about to.
    #[must_use]
    pub fn tick(&self, now: UnixMs, is_present: &dyn Fn(PlayerId) -> bool) -> Option<Change> {
        let context = self.context(now, is_present);
        let entries = context.tick();
        (!entries.is_empty()).then(|| self.change(entries, context.now))
    }

    /// When [`Table::tick`] has something to do at the latest.
    #[must_use]
    pub fn next_due(&self) -> Option<UnixMs> {
        self.state.next_due()
    }

    /// A change without entries that makes the present state the snapshot: for a table that leaves memory. Readers who were behind
    /// will need a full view.
    #[must_use]
    pub fn snapshot_change(&self) -> Change {
        Change {
            expected_version: self.version(),
            rows: Vec::new(),
            index_changes: Vec::new(),
            snapshot: Some(self.snapshot_now()),
            is_live: self.live_game().is_some(),
            entries: Vec::new(),
        }
    }

    /// Takes a change that is committed. It must have been decided on this very state.
    pub fn apply(&mut self, change: &Change, committed_at_us: i64) {
        debug_assert_eq!(change.expected_version, self.version(), "a change is applied to the state it was decided on");
        if let (true, Some(snapshot)) = (change.entries.is_empty(), &change.snapshot) {
            self.move_window_to(snapshot.version);
            self.pending_snapshot = None;
        }
        for logged in &change.entries {
            self.apply_entry(logged.clone(), committed_at_us).expect("decided on this state, so it follows on it");
        }
    }

    /// Entries so far.
    #[must_use]
    pub fn version(&self) -> u32 {
        self.state.version
    }

    #[must_use]
    pub fn id(&self) -> TableId {
        self.state.id
    }

    /// Who opened it.
    #[must_use]
    pub fn opener(&self) -> PlayerId {
        self.state.opener
    }

    /// The game that is played.
    #[must_use]
    pub fn live_game(&self) -> Option<GameId> {
        self.state.live().map(|_| self.state.game_id())
    }

    /// Whether a game is played that has no player but its storyteller, and none is invited or expected.
    #[must_use]
    pub fn has_lone_storyteller(&self) -> bool {
        let is_alone = self.state.live().is_some_and(|game| game.players.len() == 1 && game.invited.is_empty());
        is_alone && !self.state.bots.are_on
    }

    /// Who sits there.
    pub fn members(&self) -> impl Iterator<Item = PlayerId> {
        self.state.people.members().map(|person| person.id)
    }

    /// All that this viewer may know; `None` is an unauthenticated viewer.
    #[must_use]
    pub fn view(&self, viewer: Option<PlayerId>) -> TableView {
        table_view(&self.state, viewer, self.seq(viewer))
    }

    /// The events after `after` for this viewer; `None` when the window no longer holds what followed on this cursor, or the cursor is
    /// unknown: a full view is needed.
    #[must_use]
    pub fn feed(&self, viewer: Option<PlayerId>, after: u64) -> Option<FeedUpdate> {
        self.window.since(viewer, after, self.seq(viewer))
    }

    /// How many events this viewer got so far: the cursor that is up to date.
    #[must_use]
    pub fn seq(&self, viewer: Option<PlayerId>) -> u64 {
        let person = viewer.and_then(|viewer| self.state.people.get(viewer));
        u64::from(self.state.public_events) + person.map_or(0, |person| u64::from(person.private_events))
    }

    fn context<'a>(&'a self, now: UnixMs, is_present: &'a dyn Fn(PlayerId) -> bool) -> DecisionContext<'a> {
        DecisionContext { state: &self.state, now: now.max(self.state.last_at), is_present }
    }

    fn change(&self, entries: Vec<Entry>, at: UnixMs) -> Change {
        let entries: Vec<LoggedEntry> = entries.into_iter().map(|entry| LoggedEntry { at, entry }).collect();
        let mut change = Change {
            expected_version: self.version(),
            rows: Change::rows(&entries, self.version()),
            index_changes: Vec::new(),
            snapshot: self.due_snapshot(&entries),
            is_live: self.live_game().is_some(),
            entries,
        };
        self.derive_index_changes(&mut change);
        change
    }

    /// What follows for the lists, by playing the entries on a copy where any of them matters to the lists.
    fn derive_index_changes(&self, change: &mut Change) {
        if !change.entries.iter().any(|logged| is_indexed(&logged.entry)) {
            return;
        }
        let mut before = self.state.clone();
        for logged in &change.entries {
            let mut after = before.clone();
            after.apply(logged).expect("decided on this state, so it follows on it");
            change.index_changes.extend(index_changes_of(&before, &logged.entry, &after));
            before = after;
        }
        change.is_live = before.live().is_some();
    }

    /// The snapshot after these entries, when one of them is a snapshot point: the one that was pending. No change has two.
    fn due_snapshot(&self, entries: &[LoggedEntry]) -> Option<TableSnapshot> {
        let has_point =
            entries.iter().zip(self.version() + 1..).any(|(logged, version)| self.is_snapshot_point(logged, version));
        self.pending_snapshot.as_deref().filter(|_| has_point).cloned()
    }

    /// Whether a snapshot of the state of this version, after this entry, is taken.
    fn is_snapshot_point(&self, logged: &LoggedEntry, version: u32) -> bool {
        let last = self.pending_snapshot.as_ref().map_or(self.snapshot_version, |pending| pending.version);
        logged.entry.ends_game() || version - last >= TABLE_SNAPSHOT_ENTRIES
    }

    /// Applies one saved entry.
    fn apply_entry(&mut self, logged: LoggedEntry, committed_at_us: i64) -> Result<(), &'static str> {
        self.state.apply(&logged)?;
        let is_point = self.is_snapshot_point(&logged, self.version());
        let entry = FeedEntry::new(logged, &self.state, committed_at_us);
        entry.count_event(&mut self.state);
        self.window.push(entry);
        if is_point {
            self.rotate_snapshots();
        }
        Ok(())
    }

    /// The pending snapshot becomes the snapshot, and the entries under it are dropped; the present state becomes the
    /// pending snapshot.
    fn rotate_snapshots(&mut self) {
        if let Some(game) = self.state.game.as_deref_mut().filter(|game| !game.phase.is_live()) {
            // It stands in the game's record.
            game.history = Vec::new();
        }
        let pending = Box::new(self.snapshot_now());
        if let Some(snapshot) = self.pending_snapshot.replace(pending) {
            self.move_window_to(snapshot.version);
        }
    }

    fn move_window_to(&mut self, version: u32) {
        self.window.drop_oldest((version - self.snapshot_version) as usize);
        self.snapshot_version = version;
    }

    fn snapshot_now(&self) -> TableSnapshot {
        TableSnapshot { version: self.version(), bytes: encode_versioned(FORMAT, &self.state) }
    }
}
