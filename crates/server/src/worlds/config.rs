//! How much the worlds of one process take on.

use crate::config::Config;
use engine::limits::WORLD_DRAIN_MAX;
use std::time::Duration;

/// The settings of a process's worlds.
#[derive(Clone, Copy, Debug)]
pub struct WorldsConfig {
    /// Worlds in memory at once: a thread each.
    pub loaded_max: usize,
    /// Of those that end, worlds that the clients of one address brought in.
    pub per_address_max: usize,
    /// Cells of worlds that players made.
    pub players_cells_max: u64,
    /// Inputs that wait for one world's writer.
    pub mailbox_max: usize,
    /// Threads that encode what movers are told, and send it.
    pub sender_threads: usize,
    /// How often soft state is kept, if it changed.
    pub snapshot_every: Duration,
    /// After how long without an input a world gives way to another one that needs the room.
    pub silent: Duration,
    /// How long a world stays in memory when nobody is in it.
    pub idle_timeout: Duration,
    /// How long a world that leaves waits for what is on its way to the store.
    pub drain_max: Duration,
    /// Threads that let actors move.
    pub actor_threads: usize,
}

impl WorldsConfig {
    /// The settings in force.
    #[must_use]
    pub fn of(config: &Config) -> Self {
        Self {
            loaded_max: config.worlds_loaded_max,
            per_address_max: config.quotas_worlds_per_address_max,
            players_cells_max: config.worlds_players_cells_max as u64,
            mailbox_max: config.worlds_mailbox_max,
            sender_threads: config.worlds_sender_threads,
            snapshot_every: config.worlds_snapshot_every,
            silent: config.worlds_silent,
            idle_timeout: config.worlds_idle_timeout,
            drain_max: WORLD_DRAIN_MAX,
            actor_threads: config.worlds_actor_threads,
        }
    }
}
