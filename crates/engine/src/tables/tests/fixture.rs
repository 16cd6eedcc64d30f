//! A table with its store: every change is committed, loaded again, and compared.

use super::super::entry::{Entry, LoggedEntry};
use super::super::*;
use super::oracle::Oracle;
use crate::commands::IndexChange;
use crate::ids::{PlayerId, TableId};
use crate::rows::TableLogRow;
use crate::time::UnixMs;
use rules::chance::Seed;
use rules::stories::{Card, CardSet};
use std::collections::BTreeSet;
use std::time::Duration;

/// The n-th person of a test; no bot has such an id.
pub(super) fn player(n: u8) -> PlayerId {
    PlayerId(0x0190_0000_0000_7000_8000_0000_0000_0000 + u128::from(n))
}

pub(super) fn newcomer(id: PlayerId) -> Newcomer {
    Newcomer { id, name: format!("name {}", id.0 & 0xff).into(), standing: Standing::default() }
}

/// A script's words for actions, so that rows stay short: cards are places in the actor's hand, or on the board.
#[derive(Clone, Copy, Debug)]
pub(super) enum ScriptedAction {
    Join,
    Leave,
    Choose(usize),
    Tell,
    Pick(usize),
    Open,
    /// The n-th card of the board that is not the voter's own.
    Vote(usize),
    Complete,
    Next,
}

/// A table, its store, and who is present.
#[derive(Clone)]
pub(super) struct TableFixture {
    pub(super) table: Table,
    pub(super) base: Vec<u8>,
    pub(super) base_version: u32,
    pub(super) rows: Vec<TableLogRow>,
    pub(super) index: Vec<IndexChange>,
    pub(super) now: UnixMs,
    pub(super) present: BTreeSet<PlayerId>,
    /// Whose views and feeds are checked.
    pub(super) viewers: Vec<Option<PlayerId>>,
    /// Everything that was ever written.
    pub(super) written: Vec<LoggedEntry>,
    oracle: Oracle,
}

impl TableFixture {
    /// A table that `player(0)` opened.
    pub(super) fn open(settings: TableSettings, seed: u64, has_bots: bool) -> Self {
        Self::open_with_bots(settings, seed, BotSettings { are_on: has_bots, ..BotSettings::default() })
    }

    pub(super) fn open_with_bots(settings: TableSettings, seed: u64, bots: BotSettings) -> Self {
        let now = UnixMs(1_800_000_000_000);
        let opener = newcomer(player(0));
        let (table, change) = Table::open(TableId(7), settings, Seed(seed), bots, &opener, now).expect("good settings");
        let mut fixture = Self {
            table,
            base: Vec::new(),
            base_version: 0,
            rows: Vec::new(),
            index: Vec::new(),
            now,
            present: (0..10).map(player).collect(),
            viewers: (0..10).map(|n| Some(player(n))).chain([None, Some(BOTS[0].0)]).collect(),
            written: Vec::new(),
            oracle: Oracle::default(),
        };
        fixture.commit(&change);
        fixture
    }

    pub(super) fn with_defaults() -> Self {
        Self::open(TableSettings::default(), 42, false)
    }

    /// Commits a change, and checks everything that must hold after any.
    pub(super) fn commit(&mut self, change: &Change) {
        assert_eq!(change.expected_version, self.table.version());
        let before: Vec<u64> = self.viewers.iter().map(|viewer| self.table.seq(*viewer)).collect();
        self.rows.extend(change.rows.clone());
        if let Some(base) = &change.snapshot {
            assert!(base.version >= self.base_version, "a base never moves back");
            self.base = base.bytes.clone();
            self.base_version = base.version;
            self.rows.retain(|row| row.version >= base.version);
        }
        self.index.extend(change.index_changes.clone());
        self.written.extend(change.entries.clone());
        change.entries.iter().for_each(|logged| self.oracle.record(&logged.entry));
        let at_us = change.entries.last().map_or(0, |logged| logged.at.0 * 1_000);
        self.table.apply(change, at_us);
        assert_eq!(change.is_live, self.table.live_game().is_some());
        for (viewer, before) in self.viewers.iter().zip(before) {
            self.check_feed(*viewer, before, change);
        }
        self.check_load();
    }

    /// Every entry gives a viewer at most one event, and the viewer's sequence has no gap.
    fn check_feed(&self, viewer: Option<PlayerId>, before: u64, change: &Change) {
        let seq = self.table.seq(viewer);
        assert!(seq >= before && seq - before <= change.rows.len() as u64, "{viewer:?}: {before} -> {seq}");
        if change.rows.is_empty() {
            return;
        }
        let Some(update) = self.table.feed(viewer, before) else { panic!("what has just happened is remembered") };
        assert_eq!(update.seq, seq);
        assert!(update.events.iter().map(|event| event.seq).eq(before + 1..=seq));
        update.events.iter().for_each(|event| self.oracle.check_event(viewer, &event.kind));
        self.oracle.check_view(viewer, &self.table.view(viewer));
    }

    /// A load gives the same table: state, timers, feeds and sequences.
    pub(super) fn check_load(&self) {
        let loaded = Table::restore(&self.base, &self.rows).expect("what was committed is read");
        assert!(loaded == self.table, "a load gives another table than the one that was saved");
        assert_eq!(loaded.next_due(), self.table.next_due());
    }

    /// An action of a player; committed unless it is refused or changes nothing.
    pub(super) fn act(&mut self, actor: PlayerId, action: &Action) -> Result<(), Refusal> {
        let present = self.present.clone();
        let change = self.table.decide(actor, None, action, self.now, &|id| present.contains(&id))?;
        if !change.is_empty() {
            self.commit(&change);
        }
        Ok(())
    }

    /// The same, scripted; a card that cannot be named is card 0, which no player has.
    pub(super) fn play(&mut self, n: u8, scripted: ScriptedAction) -> Result<(), Refusal> {
        let action = self.action(player(n), scripted);
        self.act(player(n), &action)
    }

    /// The same, and it must be allowed.
    #[track_caller]
    pub(super) fn play_allowed(&mut self, n: u8, scripted: ScriptedAction) {
        self.play(n, scripted).unwrap_or_else(|why| panic!("player {n}, {scripted:?}: {why}"));
    }

    pub(super) fn action(&self, actor: PlayerId, scripted: ScriptedAction) -> Action {
        let nth = |index: usize| self.hand(actor).iter().nth(index).unwrap_or(Card(0));
        match scripted {
            ScriptedAction::Join => Action::Join(newcomer(actor)),
            ScriptedAction::Leave => Action::Leave,
            ScriptedAction::Choose(index) => Action::ChooseCard(nth(index)),
            ScriptedAction::Tell => Action::TellStory("a sentence".to_owned()),
            ScriptedAction::Pick(index) => Action::Pick(nth(index)),
            ScriptedAction::Open => Action::OpenVoting,
            ScriptedAction::Vote(index) => {
                Action::Vote(self.others_on_board(actor).get(index).copied().unwrap_or(Card(0)))
            }
            ScriptedAction::Complete => Action::Complete,
            ScriptedAction::Next => Action::NextGame(newcomer(actor)),
        }
    }

    pub(super) fn game(&self, viewer: Option<PlayerId>) -> GameView {
        self.table.view(viewer).game.expect("an open table has a game")
    }

    pub(super) fn hand(&self, actor: PlayerId) -> CardSet {
        self.game(Some(actor)).own.map(|mine| mine.hand).unwrap_or_default()
    }

    pub(super) fn others_on_board(&self, actor: PlayerId) -> Vec<Card> {
        let game = self.game(Some(actor));
        let own = game.own.and_then(|mine| mine.picked);
        game.board.unwrap_or_default().into_iter().filter(|card| Some(*card) != own).collect()
    }

    /// Who was named as the next storyteller, in order.
    pub(super) fn named(&self) -> Vec<Option<PlayerId>> {
        let named = self.written.iter().filter_map(|logged| match &logged.entry {
            Entry::NextStorytellerNamed { next, .. } => Some(*next),
            _ => None,
        });
        named.collect()
    }

    /// Time passes; what is due happens, each thing at its time.
    pub(super) fn advance_time(&mut self, span: Duration) {
        let until = self.now.plus(span);
        while let Some(due) = self.table.next_due().filter(|due| *due <= until) {
            self.now = self.now.max(due);
            assert!(self.tick(), "what is due happens, or it would be due for ever");
        }
        self.now = until;
    }

    /// One thing that is due.
    pub(super) fn tick(&mut self) -> bool {
        let present = self.present.clone();
        let change = self.table.tick(self.now, &|id| present.contains(&id));
        change.inspect(|change| self.commit(change)).is_some()
    }

    /// A game up to the vote: `player(0)` is the storyteller, the next `count` join and pick.
    pub(super) fn up_to_vote(count: u8) -> Self {
        let mut fixture = Self::up_to_invitation();
        for n in 1..=count {
            fixture.play_allowed(n, ScriptedAction::Join);
            fixture.play_allowed(n, ScriptedAction::Pick(0));
        }
        fixture.play_allowed(0, ScriptedAction::Open);
        fixture
    }

    pub(super) fn up_to_invitation() -> Self {
        let mut fixture = Self::with_defaults();
        fixture.play_allowed(0, ScriptedAction::Choose(0));
        fixture.play_allowed(0, ScriptedAction::Tell);
        fixture
    }
}
