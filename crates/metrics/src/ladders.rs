//! Metrics of ladders: how far ratings are behind the games.

use super::instruments::{Counter, Gauge, Histogram};
use super::macros::metrics;
use super::text::{Exposed, Page};

metrics! {
    pub LadderMetrics;
    failing: Gauge = "gauntlet_ladders_failing", "Ladders that this process could not move on when it last tried.";
    results_rated: Counter = "gauntlet_ladder_results_rated_total",
        "Results of ladders that this process has rated.";
    results_passed_over: Counter = "gauntlet_ladder_results_passed_over_total",
        "Results of ladders that rate no bot: failed, cancelled, or with a fault of the server in them.";
    results_waiting: Gauge = "gauntlet_ladder_results_waiting",
        "Results of all ladders that wait to be rated, as the process that rates them last saw.";
    rating_lag: Histogram = "gauntlet_ladder_rating_lag_seconds",
        "Time from the end of a match to the commit of its ratings, in seconds.";
    seasons_ended: Counter = "gauntlet_ladder_seasons_ended_total", "Seasons of ladders that this process has ended.";
}
