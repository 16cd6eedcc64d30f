//! Metrics of duels.

use super::instruments::{Counter, Gauge};
use super::macros::metrics;
use super::text::{Exposed, Page};

metrics! {
    pub DuelMetrics;
    failing: Gauge = "gauntlet_duels_failing", "Duels that this process could not move on when it last tried.";
    games_started: Counter = "gauntlet_duel_games_started_total", "Games of duels that this process put into the queue.";
    games_repeated: Counter = "gauntlet_duel_games_repeated_total",
        "Of these, games that were started again because the attempt before said nothing about the bots.";
    pairs_counted: Counter = "gauntlet_duel_pairs_counted_total", "Pairs of games that this process counted in duels.";
    ended: Counter = "gauntlet_duels_ended_total", "Duels that this process brought to their end.";
}
