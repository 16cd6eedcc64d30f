//! A table between two saved states.
//!
//! ```text
//! decide(actor, action) ─┐
//! tick()                 ├─► Change ──(commit it)──► apply(change) ──► view, feed
//! retire()              ─┘
//! ```
//!
//! A load is the same machine fed with the saved rows ([`Table::restore`]): one path folds an entry, live or read, so a table
//! continues as it was, timers and everybody's sequences included. What a load starts from, the base, follows the log at a
//! distance: a state is marked at the end of each game, or after [`TABLE_MARK_ENTRIES`], and becomes the base at the
//! next mark. So readers always find what happened in the last game.

use super::action::Action;
use super::change::{Change, index_of, is_indexed};
use super::decide::Scene;
use super::entry::{Entry, Logged};
use super::feed::{Feed, Told, Window};
use super::pack::{seal, unseal};
use super::people::Newcomer;
use super::refusal::Refusal;
use super::settings::Settings;
use super::state::State;
use super::view::{TableView, table_view};
use crate::commands::Base;
use crate::ids::{GameId, PlayerId, TableId};
use crate::limits::TABLE_MARK_ENTRIES;
use crate::matches::entry::BadEntry;
use crate::rows::TableLogRow;
use crate::time::UnixMs;
use rules::chance::Seed;
use std::fmt;

const FORMAT: u8 = 2;

/// A table that cannot be loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Corrupt {
    /// The base cannot be read.
    #[error("the table's base cannot be read: {0}")]
    Base(BadEntry),
    /// An entry of the log cannot be read.
    #[error("entry {version} of the table's log cannot be read: {why}")]
    Entry {
        /// Its place in the log.
        version: u32,
        /// What is wrong with it.
        why: BadEntry,
    },
    /// An entry of the log does not follow on what was before.
    #[error("entry {version} of the table's log does not follow: {why}")]
    Log {
        /// Its place in the log.
        version: u32,
        /// What is wrong with it.
        why: &'static str,
    },
}

/// A table: who sits there, what is played, and what readers may still be told of the past.
///
/// Its `Debug` says which table it is and no more: the seed alone would tell all hands.
#[derive(Clone, PartialEq, Eq)]
pub struct Table {
    state: State,
    /// Entries under the base: the window begins there.
    base_version: u32,
    /// The state that becomes the base at the next mark.
    mark: Option<Box<Base>>,
    window: Window,
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table").field("id", &self.id()).field("version", &self.version()).finish_non_exhaustive()
    }
}

impl Table {
    /// A table that does not exist yet, and the change that opens it with its first game: commit it with the base that it holds, then
    /// [`Table::apply`] it.
    ///
    /// # Errors
    /// [`Refusal::Settings`].
    pub fn open(
        id: TableId,
        settings: Settings,
        seed: Seed,
        has_bots: bool,
        opener: &Newcomer,
        now: UnixMs,
    ) -> Result<(Self, Change), Refusal> {
        let mistakes = settings.mistakes();
        if !mistakes.is_empty() {
            return Err(Refusal::Settings(mistakes));
        }
        let table = Self::from_state(State::new(id, opener.id, settings, seed, has_bots));
        let scene = Scene { state: &table.state, now, is_present: &|_| true };
        let mut change = table.change(vec![scene.start(opener)], now);
        change.base = Some(table.base_of_now());
        Ok((table, change))
    }

    /// A table as its base and the entries after it left it.
    ///
    /// # Errors
    /// [`Corrupt`] when they cannot be read, or do not fit.
    pub fn restore(base: &[u8], rows: &[TableLogRow]) -> Result<Self, Corrupt> {
        let mut table = Self::from_state(unseal(FORMAT, base).map_err(Corrupt::Base)?);
        for row in rows {
            let version = row.version;
            if version != table.version() {
                return Err(Corrupt::Log { version, why: "it is not the next one" });
            }
            let logged = Logged::decode(&row.bytes).map_err(|why| Corrupt::Entry { version, why })?;
            let committed_at_us = logged.at.0.saturating_mul(1_000);
            table.take(logged, committed_at_us).map_err(|why| Corrupt::Log { version, why })?;
        }
        Ok(table)
    }

    fn from_state(state: State) -> Self {
        Self { base_version: state.version, state, mark: None, window: Window::default() }
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
        if let Some(game) = game.filter(|game| *game != self.state.number()) {
            return Err(Refusal::GameNotLive { game });
        }
        let scene = self.scene(now, is_present);
        Ok(self.change(scene.decide(actor, action)?, scene.now))
    }

    /// What the table does by itself now, one step; `None` when nothing is due. Ask again after it is applied.
    ///
    /// Call it at [`Table::next_due`], and when somebody's presence at the table has changed. Who has just loaded a table does not know
    /// who is present: for as long as a client may take to come back, he should count all members, or the first to come back
    /// takes the turn of one who is about to.
    #[must_use]
    pub fn tick(&self, now: UnixMs, is_present: &dyn Fn(PlayerId) -> bool) -> Option<Change> {
        let scene = self.scene(now, is_present);
        let entries = scene.tick();
        (!entries.is_empty()).then(|| self.change(entries, scene.now))
    }

    /// When [`Table::tick`] has something to do at the latest.
    #[must_use]
    pub fn next_due(&self) -> Option<UnixMs> {
        self.state.next_due()
    }

    /// A change without entries that makes the present state the base: for a table that leaves memory. Readers who were behind
    /// will need a full view.
    #[must_use]
    pub fn retire(&self) -> Change {
        Change {
            expected_version: self.version(),
            rows: Vec::new(),
            index: Vec::new(),
            base: Some(self.base_of_now()),
            is_live: self.live_game().is_some(),
            entries: Vec::new(),
        }
    }

    /// Takes a change that is committed. It must have been decided on this very state.
    pub fn apply(&mut self, change: &Change, committed_at_us: i64) {
        debug_assert_eq!(change.expected_version, self.version(), "a change is applied to the state it was decided on");
        if let (true, Some(base)) = (change.entries.is_empty(), &change.base) {
            self.window.forget((base.version - self.base_version) as usize);
            self.base_version = base.version;
            self.mark = None;
        }
        for logged in &change.entries {
            self.take(logged.clone(), committed_at_us).expect("decided on this state, so it follows on it");
        }
    }

    /// Entries so far.
    #[must_use]
    pub fn version(&self) -> u32 {
        self.state.version
    }

    /// Which table this is.
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

    /// Whether a game is played in which nobody sits but its storyteller, and nobody is asked or awaited.
    #[must_use]
    pub fn is_alone(&self) -> bool {
        let is_alone = self.state.live().is_some_and(|game| game.players.len() == 1 && game.invited.is_empty());
        is_alone && !self.state.has_bots
    }

    /// The game that is played, or the last one.
    #[must_use]
    pub fn current_game(&self) -> Option<GameId> {
        self.state.game.as_ref().map(|_| self.state.game_id())
    }

    /// Who sits there.
    pub fn members(&self) -> impl Iterator<Item = PlayerId> {
        self.state.people.members().map(|person| person.id)
    }

    /// Everything that this viewer may know; `None` is somebody who did not say who he is.
    #[must_use]
    pub fn view(&self, viewer: Option<PlayerId>) -> TableView {
        table_view(&self.state, viewer, self.seq(viewer))
    }

    /// What this viewer has not seen when he has seen everything up to `after`.
    #[must_use]
    pub fn feed(&self, viewer: Option<PlayerId>, after: u64) -> Feed {
        self.window.since(viewer, after, self.seq(viewer))
    }

    /// How many events this viewer got so far: the cursor that is up to date.
    #[must_use]
    pub fn seq(&self, viewer: Option<PlayerId>) -> u64 {
        let person = viewer.and_then(|viewer| self.state.people.get(viewer));
        u64::from(self.state.public_events) + person.map_or(0, |person| u64::from(person.private_events))
    }

    fn scene<'a>(&'a self, now: UnixMs, is_present: &'a dyn Fn(PlayerId) -> bool) -> Scene<'a> {
        Scene { state: &self.state, now: now.max(self.state.last_at), is_present }
    }

    fn change(&self, entries: Vec<Entry>, at: UnixMs) -> Change {
        let entries: Vec<Logged> = entries.into_iter().map(|entry| Logged { at, entry }).collect();
        let mut change = Change {
            expected_version: self.version(),
            rows: Change::rows(&entries, self.version()),
            index: Vec::new(),
            base: self.moved_base(&entries),
            is_live: self.live_game().is_some(),
            entries,
        };
        self.foresee(&mut change);
        change
    }

    /// What follows for the lists, by playing the entries on a copy where any of them matters to the lists.
    fn foresee(&self, change: &mut Change) {
        if !change.entries.iter().any(|logged| is_indexed(&logged.entry)) {
            return;
        }
        let mut before = self.state.clone();
        for logged in &change.entries {
            let mut after = before.clone();
            after.fold(logged).expect("decided on this state, so it follows on it");
            change.index.extend(index_of(&before, &logged.entry, &after));
            before = after;
        }
        change.is_live = before.live().is_some();
    }

    /// The base after these entries, when one of them is a mark: the mark before. No change has two.
    fn moved_base(&self, entries: &[Logged]) -> Option<Base> {
        let has_mark = entries.iter().zip(self.version() + 1..).any(|(logged, version)| self.is_mark(logged, version));
        self.mark.as_deref().filter(|_| has_mark).cloned()
    }

    /// Whether the state of this version, after this entry, is marked.
    fn is_mark(&self, logged: &Logged, version: u32) -> bool {
        let last = self.mark.as_ref().map_or(self.base_version, |mark| mark.version);
        logged.entry.ends_game() || version - last >= TABLE_MARK_ENTRIES
    }

    /// Folds one saved entry.
    fn take(&mut self, logged: Logged, committed_at_us: i64) -> Result<(), &'static str> {
        self.state.fold(&logged)?;
        let is_mark = self.is_mark(&logged, self.version());
        let told = Told::new(logged, &self.state, committed_at_us);
        told.count(&mut self.state);
        self.window.push(told);
        if is_mark {
            self.set_mark();
        }
        Ok(())
    }

    /// The mark before becomes the base, and what lies under it is forgotten; the present state is marked.
    fn set_mark(&mut self) {
        if let Some(game) = self.state.game.as_deref_mut().filter(|game| !game.phase.is_live()) {
            // It stands in the game's record.
            game.history = Vec::new();
        }
        let mark = Box::new(self.base_of_now());
        if let Some(base) = self.mark.replace(mark) {
            self.window.forget((base.version - self.base_version) as usize);
            self.base_version = base.version;
        }
    }

    fn base_of_now(&self) -> Base {
        Base { version: self.version(), bytes: seal(FORMAT, &self.state) }
    }
}
