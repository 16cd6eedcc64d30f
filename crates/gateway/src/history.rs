//! The series of the history: what is read of this process once a second, and kept for a day ([`metrics::History`]).

use crate::app::App;
use engine::rows::MatchCounts;
use metrics::{
    AllocatorStats, Counter, DecisionOutcome, Gauge, History, Metrics, ProcessUsage, Quantiles, SeriesKind, Timing,
};
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// A reading does not wait longer for the store; what it would have said is a gap.
const STORE_WAIT: Duration = Duration::from_millis(500);

/// What is read at one moment.
pub(crate) struct Reading<'a> {
    metrics: &'a Metrics,
    process: ProcessUsage,
    allocator: Option<AllocatorStats>,
    timing: Timing,
    counts: Option<MatchCounts>,
    commands_waiting: u64,
}

/// One series.
pub(crate) struct Series {
    pub(crate) name: &'static str,
    /// Of what a value is: empty for a count of things.
    pub(crate) unit: &'static str,
    pub(crate) kind: SeriesKind,
    pub(crate) what: &'static str,
    read: ReadSeries,
}

/// `None` where it is unknown.
type ReadSeries = fn(&Reading<'_>) -> Option<f64>;

const fn level(name: &'static str, unit: &'static str, what: &'static str, read: ReadSeries) -> Series {
    Series { name, unit, kind: SeriesKind::Level, what, read }
}

/// `unit` is that of the count's increase in a second.
const fn rate(name: &'static str, unit: &'static str, what: &'static str, read: ReadSeries) -> Series {
    Series { name, unit, kind: SeriesKind::Rate, what, read }
}

fn now(gauge: &Gauge) -> Option<f64> {
    Some(gauge.get() as f64)
}

fn so_far(counter: &Counter) -> Option<f64> {
    Some(counter.get() as f64)
}

fn sum<const N: usize>(counters: [&Counter; N]) -> Option<f64> {
    Some(counters.into_iter().map(Counter::get).sum::<u64>() as f64)
}

fn number(value: u64) -> Option<f64> {
    Some(value as f64)
}

/// All series, by system.
#[rustfmt::skip] // one row for each
pub(crate) static SERIES: &[Series] = &[
    rate("requests_ok", "1/s", "Requests that were answered with 2xx.", |at| number(at.metrics.process.http_requests.total(2))),
    rate("requests_refused", "1/s", "Requests that were answered with 4xx.", |at| number(at.metrics.process.http_requests.total(4))),
    rate("requests_failed", "1/s", "Requests that were answered with 5xx.", |at| number(at.metrics.process.http_requests.total(5))),
    level("connections", "", "Connections of clients.", |at| now(&at.metrics.process.http_connections)),
    rate("connections_refused", "1/s", "Connections that were refused: the server was full, or their address had its share.",
        |at| sum([&at.metrics.process.http_refused_full, &at.metrics.process.http_refused_address])),
    level("parked_requests", "", "Long polls that wait.", |at| now(&at.metrics.process.http_parked)),
    rate("quota_refusals", "1/s", "Requests beyond the quota of their address.", |at| number(at.metrics.process.quota_exceeded.total())),
    rate("shed", "1/s", "Requests that were refused under overload.", |at| number(at.metrics.process.shed.total())),
    rate("limiter_allowed", "1/s", "Decisions of policies that let a request pass.",
        |at| number(at.metrics.process.limiter_decisions.total(&[DecisionOutcome::Allowed]))),
    rate("limiter_refused", "1/s", "Decisions of policies that refused a request.", |at| number(at.metrics.process.limiter_decisions.total(DecisionOutcome::REFUSED))),

    level("matches_waiting", "", "Matches in the queue, of all nodes.", |at| number(at.counts.as_ref()?.waiting)),
    level("matches_running", "", "Matches that this process plays.", |at| now(&at.metrics.matches.running)),
    rate("matches_finished", "1/s", "Matches that ended with a result.", |at| so_far(&at.metrics.matches.finished)),
    rate("matches_failed", "1/s", "Matches that ended without a result.", |at| so_far(&at.metrics.matches.failed)),
    rate("turns", "1/s", "Turns that were played and saved.", |at| so_far(&at.metrics.matches.turns)),
    rate("late_moves", "1/s", "Moves that came late or never.", |at| so_far(&at.metrics.matches.late_moves)),
    rate("bot_calls", "1/s", "Calls of /move that ended.", |at| so_far(&at.metrics.matches.bot_calls)),
    rate("bot_calls_throttled", "1/s", "Calls of bots that were not made: their address had not answered.", |at| so_far(&at.metrics.matches.bot_calls_throttled)),
    level("bot_connections", "", "Connections to bots.", |at| now(&at.metrics.matches.bot_connections)),
    level("spectators", "", "Spectators of matches and of the home page.", |at| now(&at.metrics.process.spectators)),

    level("tables", "", "Card tables in memory.", |at| now(&at.metrics.tables.loaded)),
    level("table_players", "", "Players who are present at tables.", |at| now(&at.metrics.tables.players)),
    level("table_waiters", "", "Polls, streams and sockets that wait at tables.", |at| now(&at.metrics.tables.waiters)),
    rate("table_changes", "1/s", "Changes of tables that were saved.", |at| so_far(&at.metrics.tables.changes)),

    level("worlds", "", "Worlds in memory.", |at| now(&at.metrics.worlds.loaded)),
    level("world_movers", "", "Movers in worlds, actors included.", |at| now(&at.metrics.worlds.movers)),
    level("world_people", "", "Movers with a connection.", |at| now(&at.metrics.worlds.sinks)),
    rate("world_inputs", "1/s", "Inputs of movers that were applied.", |at| so_far(&at.metrics.worlds.inputs)),
    rate("world_inputs_refused", "1/s", "Inputs that were refused because too many waited.", |at| so_far(&at.metrics.worlds.inputs_refused)),
    rate("world_claims", "1/s", "Claims that were saved.", |at| so_far(&at.metrics.worlds.claims)),
    rate("world_sent_bytes", "bytes/s", "Bytes that were sent to movers.", |at| so_far(&at.metrics.worlds.sent_bytes)),

    level("tickets_waiting", "", "Tickets of parties that wait for a hunt, on the node that matches them.", |at| now(&at.metrics.hunts.tickets_waiting)),
    rate("tickets_matched", "1/s", "Tickets that ended with a hunt.", |at| so_far(&at.metrics.hunts.tickets_matched)),
    level("claims_uncounted", "", "Claims of hunts that nobody has counted yet.", |at| now(&at.metrics.hunts.claims_uncounted)),

    level("ladder_matches", "", "Matches of ladders under way, on the node that pairs.", |at| now(&at.metrics.pairing.matches_unapplied)),
    level("results_waiting", "", "Results of ladders that wait to be rated, on the node that rates.", |at| now(&at.metrics.ladders.results_waiting)),
    rate("results_rated", "1/s", "Results of ladders that were rated.", |at| so_far(&at.metrics.ladders.results_rated)),
    rate("tournament_results", "1/s", "Results that were applied to tournaments.", |at| so_far(&at.metrics.tournaments.results_applied)),
    rate("duel_pairs", "1/s", "Pairs of games that were counted in duels.", |at| so_far(&at.metrics.duels.pairs_counted)),

    rate("commands", "1/s", "Commands that the store saved.", |at| so_far(&at.metrics.store.commands)),
    level("commands_waiting", "", "Commands that wait for the store's writer.", |at| number(at.commands_waiting)),
    rate("batches_failed", "1/s", "Batches of commands that were not saved.", |at| so_far(&at.metrics.store.batches_failed)),
    rate("reads_failed", "1/s", "Reads of the store that failed.", |at| so_far(&at.metrics.store.queries_failed)),

    level("memory_bytes", "bytes", "Memory of the process.", |at| number(at.process.rss_bytes?)),
    level("allocated_bytes", "bytes", "Memory that the program holds.", |at| number(at.allocator?.allocated_bytes)),
    rate("processor", "cores", "Processor time: 1 is one core.", |at| at.process.cpu_s),
    level("open_files", "", "Open files and sockets.", |at| number(at.process.open_files?)),
    level("threads", "", "Threads.", |at| number(at.process.threads?)),

    level("queue_wait_p99_ms", "ms", "A match, from its creation to its first /start: 99 of 100 of the last minute took no longer.", |at| p99(at.timing.queue_wait_ms)),
    level("bot_call_p50_ms", "ms", "A bot's answer: half of the last minute took no longer.", |at| at.timing.bot_call_ms.p50),
    level("bot_call_p99_ms", "ms", "A bot's answer: 99 of 100 of the last minute took no longer.", |at| p99(at.timing.bot_call_ms)),
    level("commit_wait_p99_ms", "ms", "A command's wait for the writer, likewise.", |at| p99(at.timing.commit_wait_ms)),
    level("commit_p99_ms", "ms", "A batch in the database, likewise.", |at| p99(at.timing.commit_ms)),
    level("pool_wait_p99_ms", "ms", "A read's wait for a reader, likewise.", |at| p99(at.timing.pool_wait_ms)),
    level("query_p99_ms", "ms", "A read in the database, likewise.", |at| p99(at.timing.query_ms)),
    level("scheduler_delay_p99_ms", "ms", "A task's wait for a processor, likewise.", |at| p99(at.timing.scheduler_delay_ms)),
    level("rating_lag_p99_ms", "ms", "A match of a ladder, from its end to its ratings, likewise.", |at| p99(at.timing.rating_lag_ms)),
];

fn p99(quantiles: Quantiles) -> Option<f64> {
    quantiles.p99
}

/// An empty history of all series.
#[must_use]
pub fn new() -> History {
    History::new(SERIES.iter().map(|series| series.kind).collect())
}

/// Reads everything once. To be called once a second.
pub async fn record(app: &App, at: Instant) {
    let counts = timeout(STORE_WAIT, app.node.store.read(|reader| reader.match_counts())).await;
    let reading = Reading {
        metrics: &app.metrics,
        process: ProcessUsage::read(),
        allocator: AllocatorStats::read(),
        timing: app.metrics.timing(),
        counts: counts.ok().and_then(Result::ok),
        commands_waiting: app.node.store.commands_waiting() as u64,
    };
    app.history.record(app.metrics.uptime(at), SERIES.iter().map(|series| (series.read)(&reading)).collect());
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_can_stand_in_a_query() {
        let names: BTreeSet<_> = SERIES.iter().map(|series| series.name).collect();
        assert_eq!(names.len(), SERIES.len());
        assert!(names.iter().all(|name| name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'))));
    }
}
