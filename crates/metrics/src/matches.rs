//! Metrics of matches and of the calls of their bots.

use super::instruments::{Counter, Gauge, Histogram};
use super::labelled::ByClass;
use super::macros::metrics;
use super::text::{Exposed, Page};
use engine::matches::entry::AnswerClass;
use std::time::Duration;

metrics! {
    pub MatchMetrics;
    turns: Counter = "gauntlet_turns_total", "Turns that were played and saved.";
    late_moves: Counter = "gauntlet_late_moves_total", "Moves that arrived after their deadline or never.";
    broken_moves: ByClass = "gauntlet_broken_moves_total", "Responses to /move that arrived in time but held no valid move, by class.";
    bot_calls: Counter = "gauntlet_bot_calls_total", "Calls of /move that ended, with any outcome.";
    bot_calls_uncounted: Counter = "gauntlet_bot_calls_uncounted_total",
        "Calls of /move that are missing in the statistics of their bots: too many bots at once, or the store could not be written.";
    server_faults: Counter = "gauntlet_bot_calls_server_fault_total", "Calls of bots that this server could not make, or was too slow for.";
    bot_probes_passed: Counter = "gauntlet_bot_probes_passed_total", "Regular probes of bots that were answered as they should be.";
    bot_probes_failed: Counter = "gauntlet_bot_probes_failed_total", "Regular probes of bots that failed.";
    bots_paused: Counter = "gauntlet_bots_paused_total", "Bots that were paused because they failed.";
    bots_resumed: Counter = "gauntlet_bots_resumed_total", "Bots that were resumed after they were paused.";
    bot_call: Histogram = "gauntlet_bot_call_seconds", "Time from sending a /move to the end of its response, in seconds.";
    bot_permit_wait: Histogram = "gauntlet_bot_permit_wait_seconds",
        "Time that a call waited for a connection under its host's limits, or until it might be made, in seconds.";
    bot_calls_throttled: Counter = "gauntlet_bot_calls_throttled_total",
        "Calls of bots that were not made: too many calls to the address had gone without a valid move.";
    bot_connections: Gauge = "gauntlet_bot_connections", "Connections to bots that are open.";
    bot_connections_opened: Counter = "gauntlet_bot_connections_opened_total", "Connections to bots that were opened.";
    name_lookups: Counter = "gauntlet_bot_name_lookups_total", "Lookups of bots' names that were begun.";
    name_cache_hits: Counter = "gauntlet_bot_name_cache_hits_total", "Names of bots that were answered from the cache.";
    name_lookups_failed: Counter = "gauntlet_bot_name_lookups_failed_total",
        "Lookups of bots' names that led to no address: the name does not exist, or its servers did not answer.";
    name_lookups_not_made: Counter = "gauntlet_bot_name_lookups_not_made_total",
        "Lookups of bots' names that this server could not make: no resolver was reachable, or too many waited.";
    name_lookups_under_way: Gauge = "gauntlet_bot_name_lookups_under_way", "Lookups of bots' names that are under way.";
    name_lookup: Histogram = "gauntlet_bot_name_lookup_seconds", "Time of a lookup of a bot's name, without its wait for its turn, in seconds.";
    name_turn_wait: Histogram = "gauntlet_bot_name_turn_wait_seconds", "Time that a lookup of a bot's name waited for its turn, in seconds.";
    running: Gauge = "gauntlet_matches_running", "Matches that this process owns.";
    accounts_at_threshold: Gauge = "gauntlet_accounts_at_slot_threshold",
        "Accounts that could take no further slot of this process at its last claim, because their matches take their share.";
    claimed: Counter = "gauntlet_matches_claimed_total", "Matches that this process claimed, resumed ones included.";
    resumed: Counter = "gauntlet_matches_resumed_total", "Matches that this process resumed from their log.";
    finished: Counter = "gauntlet_matches_finished_total", "Matches that ended with a result in this process.";
    failed: Counter = "gauntlet_matches_failed_total", "Matches that ended without a result in this process.";
    queue_wait: Histogram = "gauntlet_queue_wait_seconds", "Time from the creation of a match to its first /start, in seconds.";
    run_time: Histogram = "gauntlet_run_time_seconds", "Time from the first /start of a match to its end, in seconds.";
}

impl MatchMetrics {
    /// This process took over a match.
    pub fn record_claim(&self, is_resumed: bool) {
        self.claimed.inc();
        self.resumed.add(u64::from(is_resumed));
        self.running.inc();
    }

    /// A turn was saved, with this many late moves.
    pub fn record_turn(&self, late: u32) {
        self.turns.inc();
        self.late_moves.add(u64::from(late));
    }

    /// A regular probe of a bot ended.
    pub fn record_bot_probe(&self, is_passed: bool) {
        if is_passed { self.bot_probes_passed.inc() } else { self.bot_probes_failed.inc() }
    }

    pub fn record_answer(&self, class: AnswerClass, latency_ms: u16) {
        self.bot_calls.inc();
        self.bot_call.observe(Duration::from_millis(u64::from(latency_ms)));
        self.broken_moves.inc(class);
        self.server_faults.add(u64::from(class == AnswerClass::ServerFault));
    }
}
