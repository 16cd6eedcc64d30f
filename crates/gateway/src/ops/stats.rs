//! The operators' statistics: what the store counted and what this process measured, in the shape that programs know.

use crate::app::App;
use engine::rows::{MatchCounts, MatchStats, RecentFailure, WindowCounts};
use metrics::{
    DecisionOutcome, Decisions, Gauge, HuntMetrics, Metrics, ProcessUsage, Quantiles, TableMetrics, Timing,
    WorldMetrics,
};
use std::time::Instant;
use wire::api::{
    AdminStats, CompetitionFigures, ConnectionStats, GameCounts, HuntFigures, JobCount, JobQueue, LimiterFigures,
    ProcessStats, QuantileStats, RecentCounts, RecentError, TableFigures, TimingStats, WorldFigures,
};
use wire::time::Timestamp;

/// What is to be done, as programs for this API name kinds of work: games that wait or run, and competitions that are due later, and health checks of bots.
const JOB_NAME: &str = "run_game";
const SCHEDULED_JOB_NAME: &str = "advance_competition";
const PROBE_JOB_NAME: &str = "probe_bot";

pub(super) fn view(stats: &MatchStats, app: &App, own: ProcessUsage, now: Instant) -> AdminStats {
    let counts = &stats.counts;
    AdminStats {
        job_queue: queue(counts, stats.scheduled + stats.probes),
        jobs_by_name: vec![
            JobCount { name: JOB_NAME.to_owned(), count: counts.waiting + counts.running },
            JobCount { name: SCHEDULED_JOB_NAME.to_owned(), count: stats.scheduled },
            JobCount { name: PROBE_JOB_NAME.to_owned(), count: stats.probes },
        ],
        game_counts: games(counts),
        orphaned: stats.orphaned,
        games_created: recent(&stats.created),
        games_finished: recent(&stats.finished),
        avg_game_duration_secs: stats.duration_ms_avg.map(|ms| rounded(ms / 1_000.0)),
        recent_errors: stats.failures.iter().map(error).collect(),
        turns_per_s: rounded(app.metrics.turns_per_s(now)),
        late_moves: app.metrics.matches.late_moves.get(),
        commands_waiting: app.node.store.commands_waiting() as u64,
        process: process(own, app.metrics.uptime(now).as_secs_f64()),
        connections: connections(app),
        timing: timing(&app.metrics.timing()),
        tables: tables(&app.metrics.tables),
        worlds: worlds(&app.metrics.worlds),
        hunts: hunts(&app.metrics.hunts),
        competitions: competitions(&app.metrics),
        limiter: limiter(&app.metrics.process.limiter_decisions),
    }
}

fn queue(counts: &MatchCounts, scheduled: u64) -> JobQueue {
    let (ready, running) = (counts.waiting, counts.running);
    JobQueue { ready, running, scheduled, total: ready + running + scheduled }
}

fn games(counts: &MatchCounts) -> GameCounts {
    GameCounts {
        waiting: counts.waiting,
        running: counts.running,
        finished: counts.finished,
        failed: counts.failed,
        cancelled: counts.cancelled,
        total: counts.total(),
    }
}

fn recent(recent: &WindowCounts) -> RecentCounts {
    RecentCounts { last_hour: recent.last_hour, last_24h: recent.last_24h, last_7d: recent.last_7d }
}

fn error(failure: &RecentFailure) -> RecentError {
    RecentError {
        name: JOB_NAME.to_owned(),
        error_count: failure.count,
        last_error_message: failure.message.clone(),
        last_failed_at: Timestamp(failure.last_at.0),
    }
}

fn process(own: ProcessUsage, uptime_s: f64) -> ProcessStats {
    ProcessStats {
        rss_bytes: own.rss_bytes,
        cpu_s: own.cpu_s.map(rounded),
        threads: own.threads,
        open_files: own.open_files,
        uptime_s: rounded(uptime_s),
    }
}

fn connections(app: &App) -> ConnectionStats {
    let [open, refused_full, refused_address, evicted] = app.metrics.http_connections();
    let max = app.config.client_sockets_max() as u64;
    ConnectionStats { open, max, refused_full, refused_address, evicted }
}

fn timing(timing: &Timing) -> TimingStats {
    TimingStats {
        pool_wait_ms: quantiles(timing.pool_wait_ms),
        query_ms: quantiles(timing.query_ms),
        commit_wait_ms: quantiles(timing.commit_wait_ms),
        commit_ms: quantiles(timing.commit_ms),
        queue_wait_ms: quantiles(timing.queue_wait_ms),
        run_time_ms: quantiles(timing.run_time_ms),
        scheduler_delay_ms: quantiles(timing.scheduler_delay_ms),
        bot_call_ms: quantiles(timing.bot_call_ms),
        rating_lag_ms: quantiles(timing.rating_lag_ms),
    }
}

fn tables(metrics: &TableMetrics) -> TableFigures {
    TableFigures {
        loaded: level(&metrics.loaded),
        players: level(&metrics.players),
        waiters: level(&metrics.waiters),
        changes: metrics.changes.get(),
    }
}

fn worlds(metrics: &WorldMetrics) -> WorldFigures {
    WorldFigures {
        loaded: level(&metrics.loaded),
        movers: level(&metrics.movers),
        connected: level(&metrics.sinks),
        inputs: metrics.inputs.get(),
        inputs_refused: metrics.inputs_refused.get(),
        claims: metrics.claims.get(),
    }
}

fn hunts(metrics: &HuntMetrics) -> HuntFigures {
    HuntFigures {
        tickets_waiting: level(&metrics.tickets_waiting),
        tickets_matched: metrics.tickets_matched.get(),
        tickets_timed_out: metrics.tickets_timed_out.get(),
        claims_uncounted: level(&metrics.claims_uncounted),
    }
}

fn competitions(metrics: &Metrics) -> CompetitionFigures {
    let Metrics { ladders, tournaments, duels, pairing, .. } = metrics;
    CompetitionFigures {
        results_waiting: level(&ladders.results_waiting),
        results_rated: ladders.results_rated.get(),
        ladder_matches: level(&pairing.matches_unapplied),
        tournament_results: tournaments.results_applied.get(),
        duel_pairs: duels.pairs_counted.get(),
        failing: level(&ladders.failing) + level(&tournaments.failing) + level(&duels.failing),
    }
}

fn limiter(decisions: &Decisions) -> LimiterFigures {
    LimiterFigures {
        allowed: decisions.total(&[DecisionOutcome::Allowed]),
        refused: decisions.total(DecisionOutcome::REFUSED),
        shadow: decisions.total(&[DecisionOutcome::Shadow]),
    }
}

/// A gauge is below zero for a moment at most, between two threads.
fn level(gauge: &Gauge) -> u64 {
    gauge.get().try_into().unwrap_or_default()
}

fn quantiles(quantiles: Quantiles) -> QuantileStats {
    QuantileStats { p50: quantiles.p50.map(rounded), p99: quantiles.p99.map(rounded) }
}

/// To three decimals: more would only pretend to be known.
fn rounded(value: f64) -> f64 {
    (value * 1_000.0).round() / 1_000.0
}
