//! Decides which worlds have room in memory, and which are evicted when there is none. Players' worlds leave room for the rest: worlds that
//! do not end (built-in ones, and operators') always find room; other worlds of operators and the matchmaker's up to the limit of worlds in
//! memory; those of players up to less than that, and by their cells.
//!
//! A limit that is reached is shared by address, max-min: the address that holds most loses the world that was inactive for longest. An
//! inactive world makes room for an address that holds less, and for another world of its own address; an active one only when its address
//! still holds more than the newcomer's afterwards. So no address loses its only active world.

use super::{VisitError, WorldsConfig};
use engine::ids::WorldName;
use engine::limits::WORLDS_LOADED_RESERVED_SHARE;
use engine::rows::WorldRow;
use engine::worlds::settings_from_bytes;
use quotas::address_key::AddressKey;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// Which limits a world counts against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CapacityClass {
    /// Built in, or an operator's that does not end.
    Permanent,
    /// The matchmaker's, or an operator's that ends.
    Server,
    /// A player's, with this number of cells.
    Player { cells: u64 },
}

/// A world that is claimed, loading, loaded or unloading.
#[derive(Clone, Debug)]
pub(super) struct Loaded {
    /// The fencing token of its claim; 0 before there is one.
    pub(super) epoch: u32,
    pub(super) class: CapacityClass,
    /// The address that brought it in, if it is counted.
    pub(super) holder: Option<AddressKey>,
    /// When a mover last did something in it.
    pub(super) active_at_us: Arc<AtomicI64>,
    pub(super) state: CapacityState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CapacityState {
    /// Its room is reserved; it waits until the evicted worlds are gone.
    Waiting,
    Opening,
    Here,
    /// It was evicted.
    Unloading,
}

pub(super) type LoadedWorlds = BTreeMap<WorldName, Loaded>;

impl CapacityClass {
    pub(super) fn of(row: &WorldRow) -> Self {
        match (row.ends_at, row.creator) {
            (None, _) => Self::Permanent,
            (Some(_), None) => Self::Server,
            (Some(_), Some(_)) => {
                // Settings that cannot be read have no cells; the world is refused later.
                let cells = settings_from_bytes(&row.settings).map_or(0, |settings| settings.size.cells());
                Self::Player { cells: cells.into() }
            }
        }
    }

    /// Whether it counts against the limit of worlds per address.
    pub(super) fn is_limited(self) -> bool {
        self != Self::Permanent
    }

    fn cells_of_player(self) -> Option<u64> {
        if let Self::Player { cells } = self { Some(cells) } else { None }
    }
}

impl Loaded {
    pub(super) fn new(class: CapacityClass, holder: Option<AddressKey>, now_us: i64) -> Self {
        Self { epoch: 0, class, holder, active_at_us: Arc::new(AtomicI64::new(now_us)), state: CapacityState::Opening }
    }
}

/// What a limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Measure {
    /// Worlds, since each has a thread.
    Worlds,
    /// Worlds of players.
    PlayersWorlds,
    /// Cells of worlds of players, since each takes memory.
    PlayersCells,
}

impl Measure {
    /// What a world costs in this measure; `None` when it is not counted.
    fn cost(self, class: CapacityClass) -> Option<u64> {
        match self {
            Self::Worlds => class.is_limited().then_some(1),
            Self::PlayersWorlds => class.cells_of_player().map(|_| 1),
            Self::PlayersCells => class.cells_of_player(),
        }
    }

    fn max(self, settings: &WorldsConfig) -> u64 {
        let worlds = settings.loaded_max;
        match self {
            Self::Worlds => worlds as u64,
            Self::PlayersWorlds => (worlds - worlds / WORLDS_LOADED_RESERVED_SHARE) as u64,
            Self::PlayersCells => settings.players_cells_max,
        }
    }

    /// How much is missing for a new world, given what is taken. A world alone always fits, whatever its size.
    fn lacking(self, new: CapacityClass, taken: u64, settings: &WorldsConfig) -> u64 {
        let cost = self.cost(new).unwrap_or(0);
        if cost == 0 || taken == 0 { 0 } else { (taken + cost).saturating_sub(self.max(settings)) }
    }
}

/// Whether a world fits in addition to the counted ones of `loaded`.
pub(super) fn fits(
    new: CapacityClass,
    loaded: &LoadedWorlds,
    settings: &WorldsConfig,
    is_counted: impl Fn(&Loaded) -> bool,
) -> bool {
    let measures = [Measure::Worlds, Measure::PlayersWorlds, Measure::PlayersCells];
    measures.into_iter().all(|measure| {
        let counted = loaded.values().filter(|other| is_counted(other));
        let taken = counted.filter_map(|other| measure.cost(other.class)).sum();
        measure.lacking(new, taken, settings) == 0
    })
}

/// The worlds to evict for a new one: none when there is room.
///
/// # Errors
/// [`VisitError::YourShare`] when the newcomer's address holds as much as any other, [`VisitError::WorldsFull`] otherwise.
pub(super) fn giving_way(
    new: &Loaded,
    loaded: &LoadedWorlds,
    settings: &WorldsConfig,
    now_us: i64,
) -> Result<Vec<WorldName>, VisitError> {
    let mut staying: Vec<(&WorldName, &Loaded)> =
        loaded.iter().filter(|(_, other)| other.state != CapacityState::Unloading).collect();
    let mut evicted = Vec::new();
    for measure in [Measure::PlayersCells, Measure::PlayersWorlds, Measure::Worlds] {
        loop {
            let taken = staying.iter().filter_map(|(_, other)| measure.cost(other.class)).sum();
            if measure.lacking(new.class, taken, settings) == 0 {
                break;
            }
            let at = first_to_go(measure, new, &staying, settings, now_us)?;
            evicted.push(staying.swap_remove(at).0.clone());
        }
    }
    Ok(evicted)
}

/// The world to evict first.
fn first_to_go(
    measure: Measure,
    new: &Loaded,
    staying: &[(&WorldName, &Loaded)],
    settings: &WorldsConfig,
    now_us: i64,
) -> Result<usize, VisitError> {
    let mut held: BTreeMap<Option<AddressKey>, u64> = BTreeMap::new();
    for (_, other) in staying {
        *held.entry(other.holder).or_default() += measure.cost(other.class).unwrap_or(0);
    }
    let holds = |holder| held.get(&holder).copied().unwrap_or(0);
    let own = holds(new.holder);
    let own_then = own + measure.cost(new.class).unwrap_or(0);
    let silent_us = i64::try_from(settings.silent.as_micros()).unwrap_or(i64::MAX);
    let candidates = staying.iter().enumerate().filter_map(|(at, (_, other))| {
        let cost = measure.cost(other.class).filter(|_| other.state == CapacityState::Here)?;
        let active_at = other.active_at_us.load(Ordering::Relaxed);
        let is_silent = now_us.saturating_sub(active_at) >= silent_us;
        let held_by_other = holds(other.holder);
        let is_evicted = if is_silent {
            held_by_other > own || other.holder == new.holder
        } else {
            held_by_other - cost >= own_then
        };
        is_evicted.then_some(((is_silent, held_by_other, std::cmp::Reverse(active_at)), at))
    });
    if let Some((_, at)) = candidates.max_by_key(|(rank, _)| *rank) {
        return Ok(at);
    }
    let most = held.values().copied().max().unwrap_or(0);
    Err(if own > 0 && own >= most { VisitError::YourShare } else { VisitError::WorldsFull })
}

#[cfg(test)]
mod tests;
