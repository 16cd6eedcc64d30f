//! Whose the tables in this process's memory are: so that nobody fills it alone. A place is taken before a table is opened, or when
//! it is loaded, and given back when it leaves memory, in whatever way.

use super::{TableError, Whose};
use crate::shares::Shares;
use engine::ids::PlayerId;
use std::sync::Arc;

/// The tables of each player.
#[derive(Debug)]
pub(super) struct Openers {
    max: usize,
    players: Shares<PlayerId>,
}

/// A table of this player's, until it is dropped.
#[derive(Debug)]
pub(super) struct Opener {
    openers: Arc<Openers>,
    player: PlayerId,
}

impl Openers {
    pub(super) fn new(max: usize) -> Self {
        Self { max, players: Shares::default() }
    }

    /// Counts a table that is to be opened, if he may have one more.
    pub(super) fn open(self: &Arc<Self>, player: PlayerId) -> Result<Opener, TableError> {
        if !self.players.take(player, self.max) {
            return Err(TableError::TooManyTables { max: self.max, whose: Whose::Player });
        }
        Ok(Opener { openers: self.clone(), player })
    }

    /// Counts a table that is there already, be they too many or not.
    pub(super) fn load(self: &Arc<Self>, player: PlayerId) -> Opener {
        self.players.count(player);
        Opener { openers: self.clone(), player }
    }
}

impl Drop for Opener {
    fn drop(&mut self) {
        self.openers.players.give_back(self.player);
    }
}
