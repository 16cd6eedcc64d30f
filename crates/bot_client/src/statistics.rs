//! How the bots of this process's matches answered: latencies and classes by bot and hour, and matches in which a bot did not play at all.
//!
//! An hour's counts stay here until the hour is over and written: what is written replaces what was, so a repeated write does no harm.
//! Soft state: what was not written when a process dies is lost. Memory is bounded; beyond it calls are not counted, and the metrics say
//! how many.

use engine::health::BotCalls;
use engine::ids::BotId;
use engine::limits::BOT_CALLS_BOTS_MAX;
use engine::matches::entry::{AnswerClass, Face};
use engine::rows::BotCallsRow;
use engine::time::UnixMs;
use metrics::Metrics;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Locks, so that rooms on different threads seldom wait for each other.
const SHARDS: usize = 32;
const HOUR: Duration = Duration::from_secs(3_600);

/// Matches of one bot since they were taken out last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BotMatches {
    /// In which it gave at least one valid move.
    pub played: u32,
    /// In which it gave none.
    pub silent: u32,
    /// Whether any was a competition's.
    pub is_competing: bool,
}

/// Calls of one bot in one hour.
#[derive(Debug, Default)]
struct HourlyCalls {
    calls: BotCalls,
    /// Whether any was counted since the last write.
    is_dirty: bool,
}

/// What a match says about whether a bot is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It gave a valid move.
    Played,
    /// It gave none in all of the match.
    Silent,
    /// It gave none, and the match was another's, who may have given it no time.
    Unknown,
}

#[derive(Debug, Default)]
struct Shard {
    calls: HashMap<(BotId, u32), HourlyCalls>,
    matches: HashMap<BotId, BotMatches>,
    faces: HashMap<BotId, Face>,
}

#[derive(Clone, Debug)]
pub struct BotStatistics {
    shards: Arc<[Mutex<Shard>; SHARDS]>,
    metrics: Arc<Metrics>,
}

impl BotStatistics {
    #[must_use]
    pub fn new(metrics: Arc<Metrics>) -> Self {
        Self { shards: Arc::new(std::array::from_fn(|_| Mutex::default())), metrics }
    }

    /// A call for a move ended.
    pub fn record_call(&self, bot: BotId, at: UnixMs, class: AnswerClass, latency_ms: u16) {
        let mut shard = self.shard(bot);
        match bounded_entry(&mut shard.calls, (bot, hour_of(at))) {
            Some(entry) => {
                entry.calls.record(class, latency_ms);
                entry.is_dirty = true;
            }
            None => self.metrics.matches.bot_calls_uncounted.inc(),
        }
    }

    /// A match ended in which the bot had a seat.
    pub fn record_match(&self, bot: BotId, presence: Presence, is_competing: bool) {
        let mut shard = self.shard(bot);
        let Some(matches) = bounded_entry(&mut shard.matches, bot) else { return };
        match presence {
            Presence::Played => matches.played = matches.played.saturating_add(1),
            Presence::Silent => matches.silent = matches.silent.saturating_add(1),
            Presence::Unknown => {}
        }
        matches.is_competing |= is_competing;
    }

    /// How a bot looks in a match that begins. One that did not say keeps the looks that are known.
    pub fn record_face(&self, bot: BotId, face: &Face) {
        if *face == Face::default() {
            return;
        }
        let mut shard = self.shard(bot);
        if let Some(known) = bounded_entry(&mut shard.faces, bot) {
            known.clone_from(face);
        }
    }

    /// Takes out all looks, in the order in which rows are written everywhere.
    #[must_use]
    pub fn take_faces(&self) -> Vec<(BotId, Face)> {
        let mut faces: Vec<_> = self.shards.iter().flat_map(|shard| std::mem::take(&mut lock(shard).faces)).collect();
        faces.sort_unstable_by_key(|(bot, _)| *bot);
        faces
    }

    /// The hours of bots in which calls were counted since this was called last, in the order in which rows are written everywhere. Hours
    /// that are over and written are forgotten.
    #[must_use]
    pub fn changed_calls(&self, now: UnixMs) -> Vec<BotCallsRow> {
        let this_hour = hour_of(now);
        let mut rows = Vec::new();
        for shard in self.shards.iter() {
            lock(shard).calls.retain(|&(bot, hour), entry| {
                if !std::mem::take(&mut entry.is_dirty) {
                    return hour >= this_hour;
                }
                rows.push(BotCallsRow { bot, hour, calls: entry.calls.clone() });
                true
            });
        }
        rows.sort_unstable_by_key(|row| (row.bot, row.hour));
        rows
    }

    /// These could not be written: they are changed still.
    pub fn keep_changed(&self, rows: &[BotCallsRow]) {
        for row in rows {
            if let Some(entry) = self.shard(row.bot).calls.get_mut(&(row.bot, row.hour)) {
                entry.is_dirty = true;
            }
        }
    }

    /// Takes out all matches.
    #[must_use]
    pub fn take_matches(&self) -> Vec<(BotId, BotMatches)> {
        self.shards.iter().flat_map(|shard| std::mem::take(&mut lock(shard).matches)).collect()
    }

    /// These were taken out and could not be written: they are added to what was counted since.
    pub fn put_back_matches(&self, matches: impl IntoIterator<Item = (BotId, BotMatches)>) {
        for (bot, taken) in matches {
            let mut shard = self.shard(bot);
            let Some(matches) = bounded_entry(&mut shard.matches, bot) else { continue };
            matches.played = matches.played.saturating_add(taken.played);
            matches.silent = matches.silent.saturating_add(taken.silent);
            matches.is_competing |= taken.is_competing;
        }
    }

    /// Bots' ids end in random bits.
    fn shard(&self, bot: BotId) -> MutexGuard<'_, Shard> {
        lock(&self.shards[bot.0 as usize % SHARDS])
    }
}

/// The hour of a time, counted from 1970.
#[must_use]
pub fn hour_of(at: UnixMs) -> u32 {
    u32::try_from(at.since(UnixMs(0)).as_secs() / HOUR.as_secs()).unwrap_or(u32::MAX)
}

/// The value of a key, unless there are as many as one shard may have.
fn bounded_entry<K: Eq + std::hash::Hash, V: Default>(map: &mut HashMap<K, V>, key: K) -> Option<&mut V> {
    let is_full = map.len() >= BOT_CALLS_BOTS_MAX / SHARDS;
    match map.entry(key) {
        Entry::Occupied(entry) => Some(entry.into_mut()),
        Entry::Vacant(_) if is_full => None,
        Entry::Vacant(entry) => Some(entry.insert(V::default())),
    }
}

fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: UnixMs = UnixMs(12 * 3_600_000);

    #[test]
    fn calls_are_counted_by_bot_and_hour_until_they_are_taken() {
        let statistics = BotStatistics::new(Arc::default());
        for (bot, at, latency_ms) in
            [(1, NOON, 10), (1, UnixMs(NOON.0 + 3_599_999), 20), (1, UnixMs(NOON.0 + 3_600_000), 30), (2, NOON, 40)]
        {
            statistics.record_call(BotId(bot), at, AnswerClass::Valid, latency_ms);
        }
        let rows = statistics.changed_calls(NOON);
        let shown: Vec<_> =
            rows.iter().map(|row| (row.bot.0, row.hour, row.calls.total(), row.calls.latency.max_ms())).collect();
        assert_eq!(shown, [(1, 12, 2, 20), (1, 13, 1, 30), (2, 12, 1, 40)]);
        assert_eq!(statistics.changed_calls(NOON), []);
        statistics.record_call(BotId(1), NOON, AnswerClass::Valid, 50);
        let changed = statistics.changed_calls(NOON);
        assert_eq!(
            changed.iter().map(|row| (row.hour, row.calls.total())).collect::<Vec<_>>(),
            [(12, 3)],
            "all of the hour again"
        );
        statistics.keep_changed(&changed);
        assert_eq!(statistics.changed_calls(NOON), changed, "a write that failed is repeated");
        // An hour that is over is forgotten once it is written, and not before.
        statistics.keep_changed(&changed);
        let later = UnixMs(NOON.0 + 2 * 3_600_000);
        assert_eq!(statistics.changed_calls(later), changed);
        assert_eq!(statistics.changed_calls(later), []);
        statistics.keep_changed(&changed);
        assert_eq!(statistics.changed_calls(later), [], "it is gone");
    }

    #[test]
    fn matches_are_counted_by_bot() {
        let statistics = BotStatistics::new(Arc::default());
        statistics.record_match(BotId(1), Presence::Silent, false);
        statistics.record_match(BotId(1), Presence::Played, true);
        statistics.record_match(BotId(1), Presence::Silent, false);
        statistics.record_match(BotId(1), Presence::Unknown, false);
        let want = BotMatches { played: 1, silent: 2, is_competing: true };
        assert_eq!(statistics.take_matches(), [(BotId(1), want)]);
    }

    #[test]
    fn the_last_looks_that_a_bot_named_are_kept_until_they_are_taken() {
        let statistics = BotStatistics::new(Arc::default());
        let face = |color: &str| Face { color: color.to_owned(), ..Face::default() };
        for (bot, color) in [(2, "#111111"), (1, "#222222"), (2, "#333333"), (2, "#888888"), (3, "#888888")] {
            statistics.record_face(BotId(bot), &face(color));
        }
        assert_eq!(statistics.take_faces(), [(BotId(1), face("#222222")), (BotId(2), face("#333333"))]);
        assert_eq!(statistics.take_faces(), []);
    }

    #[test]
    fn memory_is_bounded_and_what_is_not_counted_is() {
        let metrics: Arc<Metrics> = Arc::default();
        let statistics = BotStatistics::new(metrics.clone());
        let bots = 2 * BOT_CALLS_BOTS_MAX as u128;
        (0..bots).for_each(|bot| statistics.record_call(BotId(bot), NOON, AnswerClass::Late, 500));
        let counted = statistics.changed_calls(NOON).len();
        assert!(counted <= BOT_CALLS_BOTS_MAX, "{counted}");
        assert_eq!(metrics.matches.bot_calls_uncounted.get(), bots as u64 - counted as u64);
    }
}
