//! Puts the owners of matches, tables, worlds and hunts together from the handles of a process. None of them knows another one, or the
//! gateway. Each owner is run once in a process, and ends with the drain.

use crate::subsystem_configs;
use arena::health::HttpProber;
use engine::rows::WorldRow;
use gateway::app::App;
use node::lease::LeaseSlot;

/// Claims and plays matches.
pub async fn play_matches(app: App) {
    let bots = (app.bots.clone(), app.bot_statistics.clone(), app.signing_secrets.clone());
    let (notifier, sockets, drain) = (app.notifier.clone(), app.socket_budget.clone(), app.drain.clone());
    let observed = (app.metrics.clone(), app.tracer.clone());
    let environment = matches::ProductionEnvironment::new(app.node.clone(), notifier, bots, sockets, observed, drain);
    matches::run(environment, subsystem_configs::runner(&app.config), LeaseSlot::default(), app.drain.clone()).await;
}

/// Owns card tables.
pub async fn own_tables(app: App) {
    tables::run(app.node.clone(), app.tables.clone(), app.drain.clone()).await;
}

/// Owns worlds, and moves the configured actors in one of them.
pub async fn own_worlds(app: App) {
    worlds::start_built_in_actors(&app.worlds, subsystem_configs::actor_plan(&app.config));
    let hunts = app.hunts.clone();
    let on_claims_saved = move |world| hunts.notify_claims(world);
    worlds::run(app.node.clone(), app.worlds.clone(), app.drain.clone(), on_claims_saved).await;
}

/// Advances ladders, tournaments and duels, and watches over the health of bots.
pub async fn run_arena(app: App) {
    let config = subsystem_configs::arena(&app.config);
    let competitions =
        arena::run(app.arena.clone(), config, app.duels.clone(), app.tournaments.clone(), app.drain.clone());
    let prober = HttpProber::new(app.bots.clone(), app.signing_secrets.clone(), app.node.store.clone());
    let health = arena::health::run(app.arena.clone(), prober, app.bot_statistics.clone(), app.drain.clone());
    tokio::join!(competitions, health);
}

/// Counts claims, and matches parties for hunts.
pub async fn run_hunts(app: App) {
    let (worlds, clock, bans) = (app.worlds.clone(), app.node.clock.clone(), app.bans.clone());
    let has_room = move |world: &WorldRow| worlds.check_room(world, None, clock.steady_us()).is_ok();
    hunts::run(app.hunts.clone(), has_room, move |player| bans.is_player_banned(player)).await;
}
