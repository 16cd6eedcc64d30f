//! The runner: claims matches, plays each in a room of its own, and gives them up in time.
//!
//! `worker` holds the lease and the rooms, `room` plays one match, `outside` is all that they touch of the world: the real
//! one stands in `real` (store, bells, HTTP to bots), the simulated one in the crate `sim`.

pub mod address;
pub mod bots;
mod environment;
mod production;
mod room;
pub mod view;
mod worker;

pub use environment::{BotAnswer, BotCall, MatchEnvironment, Webhook};
pub use worker::{RunnerConfig, run as run_with};

use crate::app::App;

/// Runs matches until the process drains, then gives up what it holds and returns.
pub async fn run(app: App) {
    let settings = RunnerConfig::of(&app.config);
    let (seat, drain) = (app.runner_lease.clone(), app.drain.clone());
    run_with(production::ProductionEnvironment::new(app), settings, seat, drain).await;
}
