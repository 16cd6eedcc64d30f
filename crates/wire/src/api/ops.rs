//! Metrics, health and configuration, for operators and for programs that watch a server.

use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What a server has done and is doing. `/api/admin/stats`
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct AdminStats {
    /// The queue that games wait in.
    pub job_queue: JobQueue,
    /// What the queue holds, by kind.
    pub jobs_by_name: Vec<JobCount>,
    /// Games by status.
    pub game_counts: GameCounts,
    /// Running games whose worker is gone: they wait to be taken over.
    pub orphaned: u64,
    /// Games that were created.
    pub games_created: RecentCounts,
    /// Games that finished.
    pub games_finished: RecentCounts,
    /// Mean time from the first /start to the end of games that finished in the last 24 hours, in seconds.
    pub avg_game_duration_secs: Option<f64>,
    /// The commonest failures of the last 24 hours.
    pub recent_errors: Vec<RecentError>,
    /// Turns per second that this process played over the last 10 seconds.
    pub turns_per_s: f64,
    /// Moves that came late or never, since this process began.
    pub late_moves: u64,
    /// Commands that wait for the store's writer now.
    pub commands_waiting: u64,
    /// What this process takes of the machine.
    pub process: ProcessStats,
    /// Connections of clients.
    pub connections: ConnectionStats,
    /// Times over the last minute, apart.
    pub timing: TimingStats,
    /// Card tables of this process.
    pub tables: TableFigures,
    /// Worlds of this process.
    pub worlds: WorldFigures,
    /// Hunts, as far as this process leads their jobs.
    pub hunts: HuntFigures,
    /// Ladders, tournaments and duels, as far as this process leads their jobs.
    pub competitions: CompetitionFigures,
    /// Decisions of this process's rate limiter.
    pub limiter: LimiterFigures,
}

/// Card tables in the memory of a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct TableFigures {
    /// Tables now.
    pub loaded: u64,
    /// Players who are present now, counted once a table.
    pub players: u64,
    /// Polls, streams and sockets that wait for an update now.
    pub waiters: u64,
    /// Changes that were saved, since this process began.
    pub changes: u64,
}

/// Worlds in the memory of a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct WorldFigures {
    /// Worlds now.
    pub loaded: u64,
    /// Movers in them now, actors included.
    pub movers: u64,
    /// Movers with a connection now.
    pub connected: u64,
    /// Inputs that were applied, since this process began.
    pub inputs: u64,
    /// Inputs that were refused because too many waited, since this process began.
    pub inputs_refused: u64,
    /// Claims and other durable facts that were saved, since this process began.
    pub claims: u64,
}

/// Around hunts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct HuntFigures {
    /// Tickets of parties that wait now.
    pub tickets_waiting: u64,
    /// Tickets that ended with a hunt, since this process began.
    pub tickets_matched: u64,
    /// Tickets that timed out, since this process began.
    pub tickets_timed_out: u64,
    /// Claims that the aggregator has not counted yet.
    pub claims_uncounted: u64,
}

/// Ladders, tournaments and duels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct CompetitionFigures {
    /// Results of ladders that wait to be rated.
    pub results_waiting: u64,
    /// Results of ladders that were rated, since this process began.
    pub results_rated: u64,
    /// Matches of ladders that are under way.
    pub ladder_matches: u64,
    /// Results that were applied to tournaments, since this process began.
    pub tournament_results: u64,
    /// Pairs of games that were counted in duels, since this process began.
    pub duel_pairs: u64,
    /// Competitions that could not be moved on when that was last tried.
    pub failing: u64,
}

/// What a rate limiter decided since its process began, all policies together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct LimiterFigures {
    /// Requests that a policy let pass.
    pub allowed: u64,
    /// Requests that a policy refused.
    pub refused: u64,
    /// Requests that a policy in shadow mode would have refused.
    pub shadow: u64,
}

/// A series of the history. `/api/admin/history/series`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct HistorySeriesInfo {
    /// Its name, to ask for.
    pub name: String,
    /// Of what a value is: empty for a count of things.
    pub unit: String,
    /// `level`: a value that goes up and down. `rate`: the increase of a count per second.
    pub kind: String,
    /// What it says.
    pub what: String,
}

/// Points of the past, in equal steps. `/api/admin/history`
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct HistoryView {
    /// When the first point begins; each further one begins `step_s` later.
    pub from: Timestamp,
    /// Seconds from point to point.
    pub step_s: u64,
    /// The series that were asked for, in this order.
    pub series: Vec<HistorySeries>,
}

/// The points of one series.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct HistorySeries {
    /// Its name.
    pub name: String,
    /// Of what a value is: empty for a count of things.
    pub unit: String,
    /// The mean of what was read in each step; `null` where nothing was.
    pub values: Vec<Option<f32>>,
}

/// Connections of clients, since this process began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct ConnectionStats {
    /// Open now, those to the port for operators included.
    pub open: u64,
    /// How many may be open to the port of the API.
    pub max: u64,
    /// Refused because there was no room for any client.
    pub refused_full: u64,
    /// Refused because their client address had as many as it may have.
    pub refused_address: u64,
    /// Closed to make room: of unknown clients first, then of guests.
    pub evicted: u64,
}

/// The queue that games wait in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct JobQueue {
    /// Games that could start now.
    pub ready: u64,
    /// Games that run.
    pub running: u64,
    /// Competitions that want to be advanced at a later time (a start, a deadline, the next pairing), and health checks of bots that are
    /// to come.
    pub scheduled: u64,
    /// All of these.
    pub total: u64,
}

/// How much of one kind the queue holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct JobCount {
    /// The kind of work.
    pub name: String,
    /// How many wait or run.
    pub count: u64,
}

/// Games by status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct GameCounts {
    /// In the queue.
    pub waiting: u64,
    /// Being played.
    pub running: u64,
    /// Ended with a result.
    pub finished: u64,
    /// Ended without one.
    pub failed: u64,
    /// Called off.
    pub cancelled: u64,
    /// All that are known.
    pub total: u64,
}

/// How many in recent windows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct RecentCounts {
    /// In the last hour.
    pub last_hour: u64,
    /// In the last 24 hours.
    pub last_24h: u64,
    /// In the last 7 days.
    pub last_7d: u64,
}

/// A failure that an operator should look at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct RecentError {
    /// The kind of work that failed.
    pub name: String,
    /// How often, in the last 24 hours.
    pub error_count: u64,
    /// Why.
    pub last_error_message: String,
    /// When it last happened.
    pub last_failed_at: Timestamp,
}

/// What a process takes of its machine; `null` where the system does not say.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ProcessStats {
    /// Memory in use, in bytes.
    pub rss_bytes: Option<u64>,
    /// Processor time since the process began, in seconds.
    pub cpu_s: Option<f64>,
    /// Threads.
    pub threads: Option<u64>,
    /// Open files and sockets.
    pub open_files: Option<u64>,
    /// Time since the process began, in seconds.
    pub uptime_s: f64,
}

/// Times over the last minute in milliseconds, kept apart so that a bottleneck can be found.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct TimingStats {
    /// Of a read, for a free reader of the store.
    pub pool_wait_ms: QuantileStats,
    /// Of a read, in the database.
    pub query_ms: QuantileStats,
    /// Of commands, for the store's writer.
    pub commit_wait_ms: QuantileStats,
    /// Of a batch of commands, in the database.
    pub commit_ms: QuantileStats,
    /// Of a game, from its creation to its first /start.
    pub queue_wait_ms: QuantileStats,
    /// Of a game, from its first /start to its end.
    pub run_time_ms: QuantileStats,
    /// Of tasks that wanted to run.
    pub scheduler_delay_ms: QuantileStats,
    /// Of bots, from a /move to the end of its answer.
    pub bot_call_ms: QuantileStats,
    /// Of games of ladders, from the end to the commit of the ratings; on the node that rates.
    pub rating_lag_ms: QuantileStats,
}

/// The middle and the tail of a time; `null` when nothing happened.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct QuantileStats {
    /// Half took no longer.
    pub p50: Option<f64>,
    /// 99 of 100 took no longer.
    pub p99: Option<f64>,
}

/// The configuration in force. `/api/admin/config`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct ConfigView {
    /// Every setting; secrets are masked.
    pub entries: Vec<ConfigEntry>,
}

/// One setting that is in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct ConfigEntry {
    /// Its name, `section.key`.
    pub key: String,
    /// Its value.
    pub value: String,
    /// Where it came from: default, file, environment or flag.
    pub source: String,
}

/// Whether a server can take work now. `/readyz`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Readiness {
    /// Whether every check passed.
    pub ready: bool,
    /// Each check.
    pub checks: Vec<ReadinessCheck>,
}

/// One thing that must be so for a server to take work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReadinessCheck {
    /// What was looked at.
    pub name: String,
    /// Whether it is as it must be.
    pub ok: bool,
    /// What is wrong, where something is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}
