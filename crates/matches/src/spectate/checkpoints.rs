//! Checkpoints: states of matches in memory, one every so many turns, so that a late turn is not replayed from the first. They are never
//! stored: each follows from its match's log, and a log only grows.

use engine::ids::MatchId;
use engine::limits::REPLAY_CHECKPOINT_TURNS;
use engine::matches::machine::MatchMachine;
use engine::matches::spec::SeatSpec;
use lru::LruCache;
use metrics::ResponseMetrics;
use std::collections::BTreeMap;
use std::mem::size_of;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The states of many matches, within a number of bytes: the least recently used match is evicted first.
pub(super) struct Checkpoints {
    bytes_max: usize,
    cache: Mutex<Cache>,
    metrics: Arc<ResponseMetrics>,
}

struct Cache {
    matches: LruCache<MatchId, MatchCheckpoints>,
    bytes: usize,
}

#[derive(Default)]
struct MatchCheckpoints {
    /// By number of turns.
    by_turn: BTreeMap<u32, Arc<MatchMachine>>,
    bytes: usize,
}

impl Checkpoints {
    pub(super) fn new(bytes_max: usize, metrics: Arc<ResponseMetrics>) -> Self {
        Self { bytes_max, cache: Mutex::new(Cache::new()), metrics }
    }

    /// The last state of a match before this turn.
    pub(super) fn latest_before(&self, id: MatchId, turn: u32) -> Option<Arc<MatchMachine>> {
        let mut cache = self.lock();
        let (_, machine) = cache.matches.get(&id)?.by_turn.range(..turn).next_back()?;
        Some(machine.clone())
    }

    /// Keeps the state after a turn, if it is at a checkpoint: the state just before every page.
    pub(super) fn offer(&self, machine: &MatchMachine) {
        let (id, turn) = (machine.spec().id, machine.turns());
        if !(turn + 1).is_multiple_of(REPLAY_CHECKPOINT_TURNS) || self.has(id, turn) {
            return;
        }
        let (machine, bytes) = (Arc::new(machine.clone()), size_bytes(machine));
        let mut cache = self.lock();
        cache.put(id, turn, machine, bytes);
        while cache.bytes > self.bytes_max && cache.evict() {
            self.metrics.replay_cache_evictions.inc();
        }
        self.metrics.replay_cache_bytes.set(cache.bytes as u64);
    }

    fn has(&self, id: MatchId, turn: u32) -> bool {
        self.lock().matches.peek(&id).is_some_and(|states| states.by_turn.contains_key(&turn))
    }

    /// Consistent even if a holder of the lock panicked: nothing between two updates can panic.
    fn lock(&self) -> MutexGuard<'_, Cache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Cache {
    fn new() -> Self {
        Self { matches: LruCache::unbounded(), bytes: 0 }
    }

    fn put(&mut self, id: MatchId, turn: u32, machine: Arc<MatchMachine>, bytes: usize) {
        let states = self.matches.get_or_insert_mut(id, MatchCheckpoints::default);
        if states.by_turn.insert(turn, machine).is_none() {
            states.bytes += bytes;
            self.bytes += bytes;
        }
    }

    /// Evicts the states of the least recently used match; returns whether there was one.
    fn evict(&mut self) -> bool {
        let evicted = self.matches.pop_lru();
        self.bytes -= evicted.as_ref().map_or(0, |(_, states)| states.bytes);
        evicted.is_some()
    }
}

/// The approximate size of a state, in bytes.
fn size_bytes(machine: &MatchMachine) -> usize {
    let (spec, board) = (machine.spec(), machine.board());
    let seat = |seat: &SeatSpec| size_of::<SeatSpec>() + seat.name.len() + seat.url.len();
    let seats: usize = spec.seats.iter().map(seat).sum();
    let points: usize = board.snakes.iter().map(|snake| snake.body.capacity()).sum();
    let points = points + board.food.capacity() + board.hazards.capacity();
    let faces: usize = machine.faces().iter().map(|face| face.color.len() + face.head.len() + face.tail.len()).sum();
    let last: usize = (0..spec.seats.len()).filter_map(|at| machine.last_move(at)).map(|last| last.shout.len()).sum();
    // Each seat has a snake, a face and a last move; the rest is bookkeeping.
    const OF_SEAT: usize = 256;
    size_of::<MatchMachine>() + seats + spec.seats.len() * OF_SEAT + 2 * points + faces + last + OF_SEAT
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::ids::BotId;
    use engine::matches::entry::{AnswerClass, Notice};
    use engine::matches::spec::MatchSpec;
    use rules::chance::Seed;
    use rules::snake::{Map, Rules, Ruleset, Settings};

    /// A match at this turn.
    fn at(id: u128, turn: u32) -> MatchMachine {
        let mut machine = MatchMachine::new(MatchSpec {
            id: MatchId(id),
            rules: Rules::for_snakes(Ruleset::Solo, Map::Standard, Settings::default(), 1),
            width: 25,
            height: 25,
            seed: Seed(7),
            timeout_ms: 500,
            turns_max: 5_000,
            origin: None,
            is_public: false,
            seats: vec![SeatSpec {
                bot: BotId(1),
                name: "bot".to_owned(),
                owner: "ann".to_owned(),
                url: "http://nowhere.example".to_owned(),
            }],
        })
        .unwrap();
        machine.accept(machine.record_opened(Vec::new()));
        machine.accept(machine.record_delivery(Notice::Start, 0, AnswerClass::Valid, 1));
        while machine.turns() < turn {
            machine.accept(machine.play_turn(Vec::new()).unwrap());
        }
        machine
    }

    fn found(checkpoints: &Checkpoints, id: u128, turn: u32) -> Option<u32> {
        checkpoints.latest_before(MatchId(id), turn).map(|machine| machine.turns())
    }

    #[test]
    fn only_states_just_before_a_page_are_kept() {
        let metrics = Arc::<ResponseMetrics>::default();
        let checkpoints = Checkpoints::new(1 << 20, metrics.clone());
        for turn in [0, 1, 5] {
            checkpoints.offer(&at(1, turn));
        }
        assert_eq!((found(&checkpoints, 1, u32::MAX), metrics.replay_cache_bytes.get()), (None, 0));
    }

    #[test]
    fn the_least_recently_used_match_is_evicted_first() {
        let metrics = Arc::<ResponseMetrics>::default();
        let machine = Arc::new(at(1, 3));
        let bytes = size_bytes(&machine);
        let mut cache = Cache::new();
        for (id, turn) in [(1, 99), (1, 199), (2, 99), (3, 99)] {
            cache.put(MatchId(id), turn, machine.clone(), bytes);
        }
        cache.put(MatchId(1), 99, machine, bytes);
        assert_eq!(cache.bytes, 4 * bytes, "what is there already is not counted twice");
        cache.matches.promote(&MatchId(2));
        let checkpoints = Checkpoints { bytes_max: 2 * bytes, cache: Mutex::new(cache), metrics };
        assert!(checkpoints.lock().evict());
        assert_eq!(checkpoints.lock().bytes, 3 * bytes, "the third left");
        assert!(checkpoints.lock().evict());
        let left: Vec<u128> = checkpoints.lock().matches.iter().map(|(id, _)| id.0).collect();
        assert_eq!((left, checkpoints.lock().bytes), (vec![2], bytes));
        assert!(checkpoints.lock().evict() && !checkpoints.lock().evict());
        assert_eq!(checkpoints.lock().bytes, 0);
    }
}
