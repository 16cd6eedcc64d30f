//! Who may wait: how many wait at all tables of this process, and how many times each player does. A place is taken before the
//! table is asked, and given back when the wait ends, in whatever way.

use super::{TableError, Whose};
use engine::ids::PlayerId;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Locks over which players are spread, so that keepers do not wait for each other.
const SHARDS: usize = 16;

/// The places of one process.
#[derive(Debug)]
pub(super) struct Tally {
    max: usize,
    per_player_max: usize,
    taken: AtomicUsize,
    players: [Mutex<HashMap<PlayerId, u32>>; SHARDS],
}

/// A place that is taken until this is dropped, or kept by somebody who gives it back himself.
#[derive(Debug)]
pub(super) struct Place {
    tally: Arc<Tally>,
    player: Option<PlayerId>,
    is_kept: bool,
}

impl Tally {
    pub(super) fn new(max: usize, per_player_max: usize) -> Self {
        Self { max, per_player_max, taken: AtomicUsize::new(0), players: Default::default() }
    }

    /// Takes a place. Those who do not say who they are share the places of all.
    pub(super) fn take(self: &Arc<Self>, player: Option<PlayerId>) -> Result<Place, TableError> {
        if self.taken.fetch_add(1, Ordering::Relaxed) >= self.max {
            self.taken.fetch_sub(1, Ordering::Relaxed);
            return Err(TableError::TooManyWaiters { max: self.max, whose: Whose::All });
        }
        if player.is_some_and(|player| !self.take_of(player)) {
            self.taken.fetch_sub(1, Ordering::Relaxed);
            return Err(TableError::TooManyWaiters { max: self.per_player_max, whose: Whose::Player });
        }
        Ok(Place { tally: self.clone(), player, is_kept: false })
    }

    fn take_of(&self, player: PlayerId) -> bool {
        let mut players = self.shard(player);
        let taken = players.entry(player).or_default();
        if *taken as usize >= self.per_player_max {
            return false;
        }
        *taken += 1;
        true
    }

    /// Gives a place back that was [kept](Place::keep).
    pub(super) fn give_back(&self, player: Option<PlayerId>) {
        self.taken.fetch_sub(1, Ordering::Relaxed);
        let Some(player) = player else { return };
        if let Entry::Occupied(mut taken) = self.shard(player).entry(player) {
            *taken.get_mut() -= 1;
            if *taken.get() == 0 {
                taken.remove();
            }
        }
    }

    /// Places that are taken now.
    pub(super) fn taken(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }

    /// The map is whole even if a holder of the lock panicked: no update spans two entries.
    fn shard(&self, player: PlayerId) -> MutexGuard<'_, HashMap<PlayerId, u32>> {
        self.players[player.0 as usize % SHARDS].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// Leaves it to the caller to give the place back.
    pub(super) fn keep(mut self) {
        self.is_kept = true;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if !self.is_kept {
            self.tally.give_back(self.player);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_player_and_all_together_have_their_caps() {
        let tally = Arc::new(Tally::new(4, 2));
        let ann = Some(PlayerId(1));
        let first = tally.take(ann).unwrap();
        let second = tally.take(ann).unwrap();
        let whose = |taken: Result<Place, TableError>| match taken {
            Err(TableError::TooManyWaiters { max, whose }) => (max, whose),
            other => panic!("{other:?}"),
        };
        assert_eq!(whose(tally.take(ann)), (2, Whose::Player));
        let others = [tally.take(None).unwrap(), tally.take(Some(PlayerId(17))).unwrap()];
        assert_eq!(whose(tally.take(None)), (4, Whose::All));
        assert_eq!(tally.taken(), 4, "a refusal takes nothing");
        drop(first);
        second.keep();
        assert_eq!(tally.taken(), 3);
        drop(tally.take(ann).unwrap());
        tally.give_back(ann);
        drop(others);
        assert_eq!(tally.taken(), 0);
        assert!(tally.players.iter().all(|players| players.lock().unwrap().is_empty()), "nobody is remembered");
    }
}
