//! Puts the owners of matches, tables, worlds and hunts together from the handles of a process. None of them knows another one, or the
//! gateway.

use crate::gateway::app::App;
use crate::runner::{self, RunnerConfig};
use crate::{hunts, tables, worlds};
use engine::rows::WorldRow;

/// The owners of the process, each to be run once in it. They end with the drain.
impl App {
    /// Claims and plays matches.
    pub async fn play_matches(self) {
        let environment = runner::ProductionEnvironment::new(
            self.node.clone(),
            self.notifier.clone(),
            &self.config,
            self.socket_budget.clone(),
            self.metrics.clone(),
            self.drain.clone(),
        );
        let (config, slot) = (RunnerConfig::of(&self.config), self.runner_lease.clone());
        runner::run(environment, config, slot, self.drain.clone()).await;
    }

    /// Owns card tables.
    pub async fn own_tables(self) {
        tables::run(self.node.clone(), self.tables.clone(), self.drain.clone()).await;
    }

    /// Owns worlds, and moves the configured actors in one of them.
    pub async fn own_worlds(self) {
        worlds::start_built_in_actors(&self.worlds, &self.config);
        let hunts = self.hunts.clone();
        let environment =
            worlds::ProductionEnvironment::new(self.node.clone(), move |world| hunts.notify_claims(world));
        worlds::run(environment, self.worlds.clone(), self.drain.clone()).await;
    }

    /// Counts claims, and matches parties for hunts.
    pub async fn run_hunts(self) {
        let (worlds, clock) = (self.worlds.clone(), self.clock.clone());
        let has_room = move |world: &WorldRow| worlds.check_room(world, None, clock.steady_us()).is_ok();
        hunts::run(self.hunts.clone(), has_room).await;
    }
}
