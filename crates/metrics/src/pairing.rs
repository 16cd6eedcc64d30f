//! Metrics of the matchmaker of ladders.

use super::instruments::{Counter, Gauge, Histogram};
use super::macros::metrics;
use super::text::{Exposed, Page};

metrics! {
    pub PairingMetrics;
    matches_created: Counter = "gauntlet_ladder_matches_created_total", "Matches of ladders that this process has created.";
    matches_unapplied: Gauge = "gauntlet_ladder_matches_unapplied",
        "Matches of ladders whose results have not been rated, as the process that pairs last saw.";
    matches_allowed: Gauge = "gauntlet_ladder_matches_allowed", "How many these may be.";
    ladders_unpaired: Gauge = "gauntlet_ladders_unpaired", "Ladders whose bots this process could not pair when it last tried.";
    planning: Histogram = "gauntlet_ladder_planning_seconds", "Time that one plan of line-ups took, in seconds.";
    first_game_wait: Histogram = "gauntlet_ladder_first_game_wait_seconds",
        "Time from an entry to its first rated game, in seconds.";
}
