//! The metrics of the process, recorded without locks, and published in Prometheus' text format and in the operators' statistics. Waits are
//! measured separately, so that a report can say "the pool was starved" and not "it was slow".
//!
//! Knows no store, no HTTP and no clock but the monotonic one that is passed in.

mod allocator;
mod control_group;
mod decisions;
mod duels;
mod gateway;
mod history;
mod hunts;
mod instruments;
mod labelled;
mod ladders;
mod macros;
mod matches;
mod pairing;
mod process_usage;
mod recent;
mod responses;
mod shed;
mod stalls;
mod store;
mod tables;
mod telemetry;
mod text;
mod tournaments;
mod views;
mod world_connections;
mod worlds;

pub use allocator::{AllocatorStats, set_allocator_stats_source};
pub use control_group::{ControlGroup, MemoryUse};
pub use decisions::OWN_CLASS_PREFIX;
pub use decisions::{DecisionCounters, DecisionOutcome, Decisions};
pub use duels::DuelMetrics;
pub use history::{History, Points, RESOLUTIONS, SeriesKind};
pub use hunts::HuntMetrics;
pub use instruments::{Counter, FineHistogram, Gauge, Histogram, HistogramSnapshot, SizeHistogram};
pub use labelled::{
    ByKind, ByOutcome, ByRoute, ByStatus, Handshake, ProxyHeaderOutcome, ProxyHeaders, QuotaKind, RetentionLag,
    RetiredByKind, RetiredKind,
};
pub use ladders::LadderMetrics;
pub use matches::MatchMetrics;
pub use pairing::PairingMetrics;
pub use process_usage::ProcessUsage;
pub use recent::{RATE_WINDOW, TIMING_WINDOW};
pub use responses::BudgetFigures;
pub use responses::{BodyFigures, ResponseMetrics};
pub use shed::{ByOverload, Overload};
pub use stalls::{ExpectedWake, StallLog, StalledTime};
pub use store::StoreMetrics;
pub use tables::TableMetrics;
pub use telemetry::TelemetryMetrics;
pub use text::{Buckets, CONTENT_TYPE, Family, FamilyKind, Number, Page, Sample, SampleValue};
pub use tournaments::TournamentMetrics;
pub use views::ViewMetrics;
pub use world_connections::{FrameKind, WorldConnections, WorldTransport};
pub use worlds::WorldMetrics;

use macros::metrics;
use recent::Recent;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use text::Exposed;

metrics! {
    pub ProcessMetrics;
    leases_lost: Counter = "gauntlet_leases_lost_total", "Leases of this process that ended before it released them.";
    spectators: Gauge = "gauntlet_spectators", "Spectators that are connected.";
    scheduler_delay: Histogram = "gauntlet_scheduler_delay_seconds", "Delay of a task's wake-up after its timer fired, in seconds.";
    scheduler_stalled_ms: Counter = "gauntlet_scheduler_stalled_ms_total",
        "Delays of at least 20 ms of that kind, together, in milliseconds: this process did not get the processor.";
    http_requests: ByRoute = "gauntlet_http_requests_total", "Requests that got a response, by route and class of status.";
    http_request: Histogram = "gauntlet_http_request_seconds", "Time from the head of a request to the head of its response, in seconds.";
    http_held: Histogram = "gauntlet_http_held_seconds",
        "Time for which long polls were held, which no other histogram counts, in seconds.";
    http_parked: Gauge = "gauntlet_http_parked", "Connections whose request waits without a task: it costs only its socket.";
    http_parked_left: Counter = "gauntlet_http_parked_left_total", "Clients that disconnected while their request waited.";
    grants_revoked: Counter = "gauntlet_grants_revoked_total",
        "Feeds and connections that were ended because their token was revoked or expired, or their client was banned.";
    audit_lost: Counter = "gauntlet_audit_lost_total", "Entries of the audit log that could not be saved: they are in the log.";
    bans: Gauge = "gauntlet_bans", "Bans that this process has in memory.";
    banned_requests: Counter = "gauntlet_banned_requests_total", "Requests and connections that were refused because of a ban.";
    forwards: Counter = "gauntlet_forwards_total",
        "Requests that were forwarded to the node that owns their table, and got a response there.";
    forwards_failed: Counter = "gauntlet_forwards_failed_total",
        "Forwarded requests to which the node that owns their table did not respond.";
    http_connections: Gauge = "gauntlet_http_connections", "Connections of clients that are open.";
    http_connections_accepted: Counter = "gauntlet_http_connections_accepted_total", "Connections of clients that were accepted.";
    http_refused_full: Counter = "gauntlet_http_connections_refused_full_total",
        "Connections that were refused because the server was full.";
    http_refused_address: Counter = "gauntlet_http_connections_refused_address_total",
        "Connections, and requests through proxies, that were refused because their client address was at its limit.";
    http_evicted: Counter = "gauntlet_http_connections_evicted_total",
        "Connections that were evicted for new ones: first of unknown clients, then of guests.";
    http_timeouts: Counter = "gauntlet_http_timeouts_total", "Connections that were closed because their client was too slow.";
    proxy_headers: ProxyHeaders = "gauntlet_proxy_headers_total",
        "Connections of trusted proxies that must begin with a header of the PROXY protocol, by what became of it.";
    tls_handshakes: ByOutcome = "gauntlet_tls_handshakes_total", "TLS handshakes of clients, by how they ended.";
    accept_errors: Counter = "gauntlet_http_accept_errors_total", "Connections that could not be accepted for lack of files or memory.";
    shed: ByOverload = "gauntlet_shed_total", "Requests that the load shedder refused, by kind of overload: creations of games, and while memory is short also what keeps a connection open.";
    limiter_decisions: Decisions = "gauntlet_limiter_decisions_total", "Decisions of the rate limiter, by policy, class and outcome.";
    limiter_decision: FineHistogram = "gauntlet_limiter_decision_seconds",
        "Time that the rate limiter took for a decision over all its policies, in seconds.";
    quota_exceeded: ByKind = "gauntlet_quota_exceeded_total",
        "Requests that were refused because their client address was at its quota, by kind.";
    world_connections: WorldConnections = "gauntlet_world_connections", "Connections to worlds that are open, by kind.";
    retired: RetiredByKind = "gauntlet_retired_total", "What was deleted because it was old, by kind.";
    retention_lag: RetentionLag = "gauntlet_retention_lag_seconds",
        "By how many seconds the oldest of a kind is older than its period allows, at the node that deletes; 0 without a period.";
    jobs_failed: Counter = "gauntlet_background_jobs_failed_total", "Background jobs that failed and will be retried.";
}

/// All metrics of one process. Shared by reference; all methods may be called from anywhere, at any rate.
#[derive(Debug)]
pub struct Metrics {
    begun: Instant,
    /// Of the gateway, and of the process as a whole.
    pub process: ProcessMetrics,
    pub stalls: StallLog,
    pub matches: MatchMetrics,
    pub tables: TableMetrics,
    pub worlds: WorldMetrics,
    pub hunts: HuntMetrics,
    pub duels: DuelMetrics,
    pub ladders: LadderMetrics,
    pub tournaments: TournamentMetrics,
    pub views: ViewMetrics,
    pub pairing: PairingMetrics,
    pub store: StoreMetrics,
    pub telemetry: TelemetryMetrics,
    pub responses: Arc<ResponseMetrics>,
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
    pub rating_lag_ms: Quantiles,
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
            process: ProcessMetrics::default(),
            stalls: StallLog::default(),
            matches: MatchMetrics::default(),
            tables: TableMetrics::default(),
            worlds: WorldMetrics::default(),
            hunts: HuntMetrics::default(),
            duels: DuelMetrics::default(),
            ladders: LadderMetrics::default(),
            tournaments: TournamentMetrics::default(),
            views: ViewMetrics::default(),
            pairing: PairingMetrics::default(),
            store: StoreMetrics::default(),
            telemetry: TelemetryMetrics::default(),
            responses: Arc::default(),
            bodies: BodyFigures::default(),
            recent: Mutex::new(Recent::new(begun)),
        }
    }
}

impl Metrics {
    /// The probing task woke from its sleep at `at`.
    pub fn record_wake(&self, wake: ExpectedWake<'_>, at: Instant) {
        let (delay, is_stall) = wake.woke(at);
        self.process.scheduler_delay.observe(delay);
        if is_stall {
            self.process.scheduler_stalled_ms.add(delay.as_millis() as u64);
        }
    }
}

/// Reading the metrics.
impl Metrics {
    /// Records the recent past; to be called about once a second.
    pub fn tick(&self, now: Instant) {
        self.recent().tick(now, self.matches.turns.get(), || self.timed_histograms().map(Histogram::snapshot).to_vec());
    }

    #[must_use]
    pub fn uptime(&self, now: Instant) -> Duration {
        now.duration_since(self.begun)
    }

    /// Turns per second over the last [`RATE_WINDOW`].
    #[must_use]
    pub fn turns_per_s(&self, now: Instant) -> f64 {
        self.recent().turns_per_s(now, self.matches.turns.get())
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
            rating_lag_ms: quantiles(8),
        }
    }

    /// The waits for the store and of tasks so far, for callers that compare them repeatedly.
    #[must_use]
    pub fn waits(&self) -> WaitSnapshots {
        WaitSnapshots {
            commit: self.store.commit_wait.snapshot(),
            scheduler: self.process.scheduler_delay.snapshot(),
            batches: self.store.batches.get(),
        }
    }

    /// All metrics, for Prometheus. The caller adds those from elsewhere (the store's counters, `/proc`).
    #[must_use]
    pub fn page(&self) -> Page {
        let mut page = Page::default();
        self.process.expose(&mut page);
        self.matches.expose(&mut page);
        self.tables.expose(&mut page);
        self.worlds.expose(&mut page);
        self.hunts.expose(&mut page);
        self.duels.expose(&mut page);
        self.ladders.expose(&mut page);
        self.tournaments.expose(&mut page);
        self.views.expose(&mut page);
        self.pairing.expose(&mut page);
        self.store.expose(&mut page);
        self.telemetry.expose(&mut page);
        self.responses.expose(&mut page);
        self.bodies.expose(&mut page);
        page
    }

    /// The histograms of [`Timing`], in the order of its fields.
    fn timed_histograms(&self) -> [&Histogram; 9] {
        [
            &self.store.pool_wait,
            &self.store.query,
            &self.store.commit_wait,
            &self.store.commit,
            &self.matches.queue_wait,
            &self.matches.run_time,
            &self.process.scheduler_delay,
            &self.matches.bot_call,
            &self.ladders.rating_lag,
        ]
    }

    /// Consistent even if a holder of the lock panicked: each tick pushes one value.
    fn recent(&self) -> MutexGuard<'_, Recent> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
