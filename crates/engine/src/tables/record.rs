//! The record of a game that has ended: what a store keeps, and what views and the game's history are cut from later.

use super::feed::{TableEvent, history_for};
use super::game::Game;
use super::people::People;
use super::settings::TableSettings;
use super::state::TableState;
use super::view::{GameView, game_view};
use crate::ids::{GameId, PlayerId, TableId};
use crate::pack::{DecodeError, decode_versioned, encode_versioned, packed};
use std::fmt;

const FORMAT: u8 = 2;

/// A game that has ended, whole. It knows everything; what leaves it is cut for its viewer, and its `Debug` only names it.
#[derive(Clone, PartialEq, Eq)]
pub struct GameRecord {
    table: TableId,
    settings: TableSettings,
    game: Game,
    people: People,
}
packed!(GameRecord { table, settings, game, people });

impl fmt::Debug for GameRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("GameRecord").field(&self.id()).finish()
    }
}

impl GameRecord {
    /// The record of the table's game.
    pub(super) fn of(state: &TableState) -> Option<Self> {
        let game = state.game.as_deref()?.clone();
        let people = state.people.subset(game.players.iter().map(|player| player.id));
        Some(Self { table: state.id, settings: state.settings, game, people })
    }

    /// As it is kept.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        encode_versioned(FORMAT, self)
    }

    /// The record of these bytes.
    ///
    /// # Errors
    /// [`DecodeError`] when they are not one.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        decode_versioned(FORMAT, bytes)
    }

    #[must_use]
    pub fn id(&self) -> GameId {
        GameId { table: self.table, number: self.game.number }
    }

    /// The game as this viewer may know it.
    #[must_use]
    pub fn view(&self, viewer: Option<PlayerId>) -> GameView {
        game_view(self.id(), &self.settings, &self.game, &self.people, viewer)
    }

    /// What happened, step by step, as this viewer may know it: the events of the viewer's feed during the game,
    /// counted from 1.
    ///
    /// # Errors
    /// [`DecodeError`] when the record was not written by a table.
    pub fn history(&self, viewer: Option<PlayerId>) -> Result<Vec<TableEvent>, DecodeError> {
        let entries = super::history::read(&self.game.history)?;
        // A player who left, and was a visitor at the end, gets what a visitor would.
        let viewer = viewer.filter(|viewer| self.game.player(*viewer).is_some());
        Ok(history_for(&entries, self.game.number, self.game.storyteller(), viewer))
    }
}
