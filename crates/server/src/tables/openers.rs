//! Whose the tables in this process's memory are: so that nobody fills it alone. A place is taken before a table is opened, or when
//! it is loaded, and given back when it leaves memory, in whatever way.

use super::{TableError, Whose};
use engine::ids::PlayerId;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Locks over which players are spread, so that keepers do not wait for each other.
const SHARDS: usize = 16;

/// The tables of each player.
#[derive(Debug)]
pub(super) struct Openers {
    max: usize,
    players: [Mutex<HashMap<PlayerId, u32>>; SHARDS],
}

/// A table of this player's, until it is dropped.
#[derive(Debug)]
pub(super) struct Opener {
    openers: Arc<Openers>,
    player: PlayerId,
}

impl Openers {
    pub(super) fn new(max: usize) -> Self {
        Self { max, players: Default::default() }
    }

    /// Counts a table that is to be opened, if he may have one more.
    pub(super) fn open(self: &Arc<Self>, player: PlayerId) -> Result<Opener, TableError> {
        let mut players = self.shard(player);
        if players.get(&player).is_some_and(|tables| *tables as usize >= self.max) {
            return Err(TableError::TooManyTables { max: self.max, whose: Whose::Player });
        }
        Ok(self.count(&mut players, player))
    }

    /// Counts a table that is there already, be they too many or not.
    pub(super) fn load(self: &Arc<Self>, player: PlayerId) -> Opener {
        self.count(&mut self.shard(player), player)
    }

    fn count(self: &Arc<Self>, players: &mut HashMap<PlayerId, u32>, player: PlayerId) -> Opener {
        *players.entry(player).or_default() += 1;
        Opener { openers: self.clone(), player }
    }

    fn shard(&self, player: PlayerId) -> MutexGuard<'_, HashMap<PlayerId, u32>> {
        // Ids end in random bits. No update leaves the counts broken for another, even if a holder of the lock panicked.
        self.players[player.0 as usize % SHARDS].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Opener {
    fn drop(&mut self) {
        let mut players = self.openers.shard(self.player);
        if let Entry::Occupied(mut tables) = players.entry(self.player) {
            *tables.get_mut() -= 1;
            if *tables.get() == 0 {
                tables.remove();
            }
        }
    }
}
