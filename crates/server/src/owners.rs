//! Puts the owners of matches, tables, worlds and hunts together from the handles of a process. None of them knows another one, or the
//! gateway. Each owner is run once in a process, and ends with the drain.

use engine::rows::WorldRow;
use gateway::app::App;
use matches::RunnerConfig;
use node::lease::LeaseSlot;

/// Claims and plays matches.
pub async fn play_matches(app: App) {
    let environment = matches::ProductionEnvironment::new(
        app.node.clone(),
        app.notifier.clone(),
        &app.config,
        app.socket_budget.clone(),
        app.metrics.clone(),
        app.drain.clone(),
    );
    matches::run(environment, RunnerConfig::of(&app.config), LeaseSlot::default(), app.drain.clone()).await;
}

/// Owns card tables.
pub async fn own_tables(app: App) {
    tables::run(app.node.clone(), app.tables.clone(), app.drain.clone()).await;
}

/// Owns worlds, and moves the configured actors in one of them.
pub async fn own_worlds(app: App) {
    worlds::start_built_in_actors(&app.worlds, &app.config);
    let hunts = app.hunts.clone();
    let on_claims_saved = move |world| hunts.notify_claims(world);
    worlds::run(app.node.clone(), app.worlds.clone(), app.drain.clone(), on_claims_saved).await;
}

/// Counts claims, and matches parties for hunts.
pub async fn run_hunts(app: App) {
    let (worlds, clock) = (app.worlds.clone(), app.node.clock.clone());
    let has_room = move |world: &WorldRow| worlds.check_room(world, None, clock.steady_us()).is_ok();
    hunts::run(app.hunts.clone(), has_room).await;
}
