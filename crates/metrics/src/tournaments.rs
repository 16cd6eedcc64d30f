//! Metrics of tournaments.

use super::instruments::{Counter, Gauge};
use super::macros::metrics;
use super::text::{Exposed, Page};

metrics! {
    pub TournamentMetrics;
    created: Counter = "gauntlet_tournaments_created_total", "Tournaments that clients of this process have created.";
    games_created: Counter = "gauntlet_tournament_games_created_total",
        "Games of tournaments that this process has put into the queue.";
    failing: Gauge = "gauntlet_tournaments_failing", "Tournaments that this process could not move on when it last tried.";
    results_applied: Counter = "gauntlet_tournament_results_applied_total",
        "Results of games that this process has applied to tournaments, those that no longer count included.";
}
