//! The metrics of the process, recorded without locks, and published in Prometheus' text format and in the operators' statistics. Waits are
//! measured separately, so that a report can say "the pool was starved" and not "it was slow".
//!
//! Knows no store, no HTTP and no clock but the monotonic one that is passed in.

mod allocator;
mod decisions;
mod gateway;
mod hunts;
mod instruments;
mod labelled;
mod macros;
mod process_usage;
mod recent;
mod responses;
mod shed;
mod store;
mod text;
mod world_connections;
mod worlds;

pub use allocator::{AllocatorStats, set_allocator_stats_source};
pub use decisions::OWN_CLASS_PREFIX;
pub use decisions::{DecisionCounters, DecisionOutcome, Decisions};
pub use instruments::{Counter, FineHistogram, Gauge, Histogram, HistogramSnapshot, SizeHistogram};
pub use labelled::{ByStatus, QuotaKind};
pub use process_usage::ProcessUsage;
pub use recent::{RATE_WINDOW, TIMING_WINDOW};
pub use responses::BudgetFigures;
pub use responses::{BodyFigures, ResponseMetrics};
pub use shed::Overload;
pub use text::{CONTENT_TYPE, Page};
pub use world_connections::{FrameKind, WorldConnections, WorldTransport};
pub use worlds::WorldMetrics;

use engine::matches::entry::AnswerClass;
use labelled::{ByClass, ByKind, ByRoute};
use macros::metrics;
use recent::Recent;
use shed::ByOverload;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use text::Exposed;

metrics! {
    CoreMetrics;
    turns: Counter = "gauntlet_turns_total", "Turns that were played and saved.";
    late_moves: Counter = "gauntlet_late_moves_total", "Moves that arrived after their deadline or never.";
    broken_moves: ByClass = "gauntlet_broken_moves_total", "Responses to /move that arrived in time but held no valid move, by class.";
    bot_calls: Counter = "gauntlet_bot_calls_total", "Calls of /move that ended, with any outcome.";
    bot_call: Histogram = "gauntlet_bot_call_seconds", "Time from sending a /move to the end of its response, in seconds.";
    bot_permit_wait: Histogram = "gauntlet_bot_permit_wait_seconds",
        "Time that a call waited for a connection under its host's limit, in seconds.";
    bot_connections: Gauge = "gauntlet_bot_connections", "Connections to bots that are open.";
    bot_connections_opened: Counter = "gauntlet_bot_connections_opened_total", "Connections to bots that were opened.";
    matches_running: Gauge = "gauntlet_matches_running", "Matches that this process owns.";
    matches_claimed: Counter = "gauntlet_matches_claimed_total", "Matches that this process claimed, resumed ones included.";
    matches_resumed: Counter = "gauntlet_matches_resumed_total", "Matches that this process resumed from their log.";
    matches_finished: Counter = "gauntlet_matches_finished_total", "Matches that ended with a result in this process.";
    matches_failed: Counter = "gauntlet_matches_failed_total", "Matches that ended without a result in this process.";
    leases_lost: Counter = "gauntlet_leases_lost_total", "Leases of this process that ended before it released them.";
    queue_wait: Histogram = "gauntlet_queue_wait_seconds",
        "Time from the creation of a match to its first /start, in seconds.";
    run_time: Histogram = "gauntlet_run_time_seconds", "Time from the first /start of a match to its end, in seconds.";
    spectators: Gauge = "gauntlet_spectators", "Spectators that are connected.";
    store_batches: Counter = "gauntlet_store_batches_total", "Batches of commands that the store executed.";
    store_batches_failed: Counter = "gauntlet_store_batches_failed_total", "Batches of commands that were not saved.";
    store_commands: Counter = "gauntlet_store_commands_total", "Commands that were saved.";
    commit_wait: Histogram = "gauntlet_store_commit_wait_seconds",
        "Longest time that a command of a batch waited for the batch to begin, in seconds.";
    commit: Histogram = "gauntlet_store_commit_seconds", "Time that a batch took in the database, in seconds.";
    pool_wait: Histogram = "gauntlet_store_pool_wait_seconds", "Time that a read waited for a free reader, in seconds.";
    query: Histogram = "gauntlet_store_query_seconds", "Time that a read took in the database, in seconds.";
    queries_failed: Counter = "gauntlet_store_queries_failed_total", "Reads that failed.";
    scheduler_delay: Histogram = "gauntlet_scheduler_delay_seconds",
        "Delay of a task's wake-up after its timer fired, in seconds.";
    http_requests: ByRoute = "gauntlet_http_requests_total", "Requests that got a response, by route and class of status.";
    http_request: Histogram = "gauntlet_http_request_seconds",
        "Time from the head of a request to the head of its response, in seconds.";
    http_held: Histogram = "gauntlet_http_held_seconds",
        "Time for which long polls were held, which no other histogram counts, in seconds.";
    http_parked: Gauge = "gauntlet_http_parked", "Connections whose request waits without a task: it costs only its socket.";
    http_parked_left: Counter = "gauntlet_http_parked_left_total", "Clients that disconnected while their request waited.";
    grants_revoked: Counter = "gauntlet_grants_revoked_total", "Feeds and connections that were ended because their token was revoked or expired.";
    forwards: Counter = "gauntlet_forwards_total", "Requests that were forwarded to the node that owns their table, and got a response there.";
    forwards_failed: Counter = "gauntlet_forwards_failed_total", "Forwarded requests to which the node that owns their table did not respond.";
    http_connections: Gauge = "gauntlet_http_connections", "Connections of clients that are open.";
    http_connections_accepted: Counter = "gauntlet_http_connections_accepted_total", "Connections of clients that were accepted.";
    http_refused_full: Counter = "gauntlet_http_connections_refused_full_total",
        "Connections that were refused because the server was full.";
    http_refused_address: Counter = "gauntlet_http_connections_refused_address_total",
        "Connections, and requests through proxies, that were refused because their client address was at its limit.";
    http_evicted: Counter = "gauntlet_http_connections_evicted_total",
        "Connections that were evicted for new ones: first of unknown clients, then of guests.";
    http_timeouts: Counter = "gauntlet_http_timeouts_total", "Connections that were closed because their client was too slow.";
    accept_errors: Counter = "gauntlet_http_accept_errors_total",
        "Connections that could not be accepted for lack of files or memory.";
    shed: ByOverload = "gauntlet_shed_total",
        "Creations of games that the load shedder refused, by kind of overload.";
    limiter_decisions: Decisions = "gauntlet_limiter_decisions_total",
        "Decisions of the rate limiter, by policy, class and outcome.";
    limiter_decision: FineHistogram = "gauntlet_limiter_decision_seconds",
        "Time that the rate limiter took for a decision over all its policies, in seconds.";
    tables: Gauge = "gauntlet_tables", "Card tables in memory of this process.";
    table_players: Gauge = "gauntlet_table_players", "Players that are present at card tables of this process, counted once per table.";
    table_waiters: Gauge = "gauntlet_table_waiters", "Polls, streams and sockets that wait for updates of card tables.";
    table_messages: Gauge = "gauntlet_table_mailbox_messages", "Messages in the mailboxes of the owner tasks of card tables.";
    table_changes: Counter = "gauntlet_table_changes_total", "Changes of card tables that were saved.";
    table_waiters_notified: Counter = "gauntlet_table_waiters_notified_total", "Waits for updates of card tables that ended with an update.";
    table_wake: Histogram = "gauntlet_table_wake_seconds",
        "Time from the commit of a change until all its waiters were woken, in seconds.";
    table_loads: Counter = "gauntlet_table_loads_total", "Claims of card tables for a request, or to read the table again.";
    tables_taken_over: Counter = "gauntlet_tables_taken_over_total", "Card tables that this process took over because they had no owner.";
    tables_retired: Counter = "gauntlet_tables_retired_total", "Card tables that were unloaded because no player was present.";
    quota_exceeded: ByKind = "gauntlet_quota_exceeded_total",
        "Requests that were refused because their client address was at its quota, by kind.";
    world_connections: WorldConnections = "gauntlet_world_connections", "Connections to worlds that are open, by kind.";
    hunt_claims_counted: Counter = "gauntlet_hunt_claims_counted_total", "Entries of claim logs that this process has counted.";
    hunt_claims_uncounted: Gauge = "gauntlet_hunt_claims_uncounted",
        "Entries of claim logs that no process has counted yet, as of the last check (every ten seconds).";
    hunt_notices_lost: Counter = "gauntlet_hunt_notices_lost_total",
        "Notices to the aggregator that were dropped because its queue was full; it finds their claims in the logs.";
    hunt_tickets_waiting: Gauge = "gauntlet_hunt_tickets_waiting", "Tickets of parties that wait to be matched.";
    hunt_tickets_matched: Counter = "gauntlet_hunt_tickets_matched_total", "Tickets that ended with a hunt.";
    hunt_tickets_timed_out: Counter = "gauntlet_hunt_tickets_timed_out_total", "Tickets that timed out.";
    hunt_tickets_cancelled: Counter = "gauntlet_hunt_tickets_cancelled_total", "Tickets that were cancelled.";
    jobs_failed: Counter = "gauntlet_background_jobs_failed_total", "Background jobs that failed and will be retried.";
}

/// All metrics of one process. Shared by reference; all methods may be called from anywhere, at any rate.
#[derive(Debug)]
pub struct Metrics {
    begun: Instant,
    core: CoreMetrics,
    worlds: WorldMetrics,
    responses: Arc<ResponseMetrics>,
    bodies: BodyFigures,
    recent: Mutex<Recent>,
}

/// The median and the tail of a duration over the recent past, in milliseconds; `None` without observations.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Quantiles {
    pub p50: Option<f64>,
    pub p99: Option<f64>,
}

/// The durations that an operator compares to find a server's bottleneck.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Timing {
    /// Wait for a free reader of the store.
    pub pool_wait_ms: Quantiles,
    /// Time of a read in the database.
    pub query_ms: Quantiles,
    /// Wait for the store's writer.
    pub commit_wait_ms: Quantiles,
    /// Time of a batch of commands in the database.
    pub commit_ms: Quantiles,
    /// From the creation of a match to its first /start.
    pub queue_wait_ms: Quantiles,
    /// From the first /start of a match to its end.
    pub run_time_ms: Quantiles,
    /// Wait of tasks that are ready to run.
    pub scheduler_delay_ms: Quantiles,
    /// Calls of bots, from sending a /move to the end of its answer.
    pub bot_call_ms: Quantiles,
}

/// The values that the load shedder compares from second to second.
#[derive(Clone, Debug)]
pub struct WaitSnapshots {
    /// Wait for the store's writer, one for each batch.
    pub commit: HistogramSnapshot,
    /// Wait of tasks that are ready to run.
    pub scheduler: HistogramSnapshot,
    /// Batches that were sent to the store.
    pub batches: u64,
}

impl Default for Metrics {
    fn default() -> Self {
        let begun = Instant::now();
        Self {
            begun,
            core: CoreMetrics::default(),
            worlds: WorldMetrics::default(),
            responses: Arc::default(),
            bodies: BodyFigures::default(),
            recent: Mutex::new(Recent::new(begun)),
        }
    }
}

/// Metrics of the runner.
impl Metrics {
    #[must_use]
    pub fn world_connections(&self) -> &WorldConnections {
        &self.core.world_connections
    }

    /// This process took over a match.
    pub fn match_claimed(&self, is_resumed: bool) {
        self.core.matches_claimed.inc();
        self.core.matches_resumed.add(u64::from(is_resumed));
        self.core.matches_running.inc();
    }

    /// This process gave up a match, for any reason but a lost lease.
    pub fn match_released(&self) {
        self.core.matches_running.dec();
    }

    /// A lease was lost, and with it this many matches.
    pub fn lease_lost(&self, matches: usize) {
        self.core.leases_lost.inc();
        self.core.matches_running.sub(matches);
    }

    /// A match is about to send its first /start, this long after its creation.
    pub fn match_started(&self, queue_wait: Duration) {
        self.core.queue_wait.observe(queue_wait);
    }

    pub fn match_finished(&self) {
        self.core.matches_finished.inc();
    }

    /// The time from a finished match's first /start to its end.
    pub fn match_ran(&self, run_time: Duration) {
        self.core.run_time.observe(run_time);
    }

    /// A match ended without a result.
    pub fn match_failed(&self) {
        self.core.matches_failed.inc();
    }

    /// A turn was saved, with this many late moves.
    pub fn turn_saved(&self, late: u32) {
        self.core.turns.inc();
        self.core.late_moves.add(u64::from(late));
    }

    pub fn bot_answered(&self, class: AnswerClass, latency_ms: u16) {
        self.core.bot_calls.inc();
        self.core.bot_call.observe(Duration::from_millis(u64::from(latency_ms)));
        self.core.broken_moves.inc(class);
    }

    /// The wait of a call for a connection under its host's limit.
    pub fn bot_permit_waited(&self, waited: Duration) {
        self.core.bot_permit_wait.observe(waited);
    }

    pub fn bot_connection_opened(&self) {
        self.core.bot_connections_opened.inc();
        self.core.bot_connections.inc();
    }

    pub fn bot_connections_closed(&self, count: usize) {
        self.core.bot_connections.sub(count);
    }
}

/// Metrics of the worlds.
impl Metrics {
    /// The metrics of all worlds of this process together.
    #[must_use]
    pub fn worlds(&self) -> &WorldMetrics {
        &self.worlds
    }
}

/// Metrics of the card tables.
impl Metrics {
    /// A table is in memory, or being loaded.
    pub fn table_entered(&self) {
        self.core.tables.inc();
    }

    pub fn table_left(&self) {
        self.core.tables.dec();
    }

    pub fn players_joined(&self, count: u64) {
        self.core.table_players.add(count);
    }

    pub fn players_left(&self, count: usize) {
        self.core.table_players.sub(count);
    }

    pub fn table_waiter_added(&self) {
        self.core.table_waiters.inc();
    }

    pub fn table_waiter_removed(&self) {
        self.core.table_waiters.dec();
    }

    /// A message was put into an owner task's mailbox.
    pub fn table_message_enqueued(&self) {
        self.core.table_messages.inc();
    }

    /// Messages were taken out of an owner task's mailbox.
    pub fn table_messages_dequeued(&self, count: usize) {
        self.core.table_messages.sub(count);
    }

    pub fn table_changed(&self) {
        self.core.table_changes.inc();
    }

    /// This many waiters were woken, the last of them this long after the commit.
    pub fn table_waiters_notified(&self, count: usize, late: Duration) {
        self.core.table_waiters_notified.add(count as u64);
        self.core.table_wake.observe(late);
    }

    /// A table is claimed, to be loaded from the store.
    pub fn table_loading(&self) {
        self.core.table_loads.inc();
    }

    /// Tables without an owner were taken over.
    pub fn tables_taken_over(&self, count: usize) {
        self.core.tables_taken_over.add(count as u64);
    }

    /// A table left memory because no player was present.
    pub fn table_retired(&self) {
        self.core.tables_retired.inc();
    }
}

/// Reading the metrics.
impl Metrics {
    /// Records the recent past; to be called about once a second.
    pub fn tick(&self, now: Instant) {
        self.recent().tick(now, self.core.turns.get(), || self.timed_histograms().map(Histogram::snapshot).to_vec());
    }

    #[must_use]
    pub fn uptime(&self, now: Instant) -> Duration {
        now.duration_since(self.begun)
    }

    /// Turns per second over the last [`RATE_WINDOW`].
    #[must_use]
    pub fn turns_per_s(&self, now: Instant) -> f64 {
        self.recent().turns_per_s(now, self.core.turns.get())
    }

    #[must_use]
    pub fn late_moves(&self) -> u64 {
        self.core.late_moves.get()
    }

    #[must_use]
    pub fn matches_running(&self) -> i64 {
        self.core.matches_running.get()
    }

    /// The durations over the last [`TIMING_WINDOW`].
    #[must_use]
    pub fn timing(&self) -> Timing {
        let now = self.timed_histograms().map(Histogram::snapshot);
        let recent = self.recent();
        let quantiles = |at: usize| {
            let before = recent.timings_before().and_then(|before| before.get(at));
            let between = before.map_or_else(|| now[at].clone(), |before| now[at].since(before));
            Quantiles { p50: between.quantile_ms(0.5), p99: between.quantile_ms(0.99) }
        };
        Timing {
            pool_wait_ms: quantiles(0),
            query_ms: quantiles(1),
            commit_wait_ms: quantiles(2),
            commit_ms: quantiles(3),
            queue_wait_ms: quantiles(4),
            run_time_ms: quantiles(5),
            scheduler_delay_ms: quantiles(6),
            bot_call_ms: quantiles(7),
        }
    }

    /// The waits for the store and of tasks so far, for callers that compare them repeatedly.
    #[must_use]
    pub fn waits(&self) -> WaitSnapshots {
        let metrics = &self.core;
        WaitSnapshots {
            commit: metrics.commit_wait.snapshot(),
            scheduler: metrics.scheduler_delay.snapshot(),
            batches: metrics.store_batches.get(),
        }
    }

    /// All metrics, for Prometheus. The caller adds those from elsewhere (the store's counters, `/proc`).
    #[must_use]
    pub fn page(&self) -> Page {
        let mut page = Page::default();
        self.core.expose(&mut page);
        self.worlds.expose(&mut page);
        self.responses.expose(&mut page);
        self.bodies.expose(&mut page);
        page
    }

    /// The histograms of [`Timing`], in the order of its fields.
    fn timed_histograms(&self) -> [&Histogram; 8] {
        let metrics = &self.core;
        [
            &metrics.pool_wait,
            &metrics.query,
            &metrics.commit_wait,
            &metrics.commit,
            &metrics.queue_wait,
            &metrics.run_time,
            &metrics.scheduler_delay,
            &metrics.bot_call,
        ]
    }

    /// Consistent even if a holder of the lock panicked: each tick pushes one value.
    fn recent(&self) -> MutexGuard<'_, Recent> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
