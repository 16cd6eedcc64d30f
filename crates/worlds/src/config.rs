//! Limits of the worlds of one process.

use std::time::Duration;

#[derive(Clone, Copy, Debug)]
pub struct WorldsConfig {
    /// Worlds in memory at once: a thread each.
    pub loaded_max: usize,
    /// Worlds with an end that clients of one address have loaded.
    pub per_address_max: usize,
    /// Cells of all loaded worlds that players made.
    pub players_cells_max: u64,
    /// Inputs that wait for one world's writer.
    pub mailbox_max: usize,
    /// Threads that encode and send messages to movers.
    pub sender_threads: usize,
    /// How often soft state is saved, if it changed.
    pub snapshot_every: Duration,
    /// After how long without an input a world may be evicted for another one.
    pub silent: Duration,
    /// How long a world stays in memory without movers.
    pub idle_timeout: Duration,
    /// How long an unloading world waits for pending writes to the store.
    pub drain_max: Duration,
    /// Threads that move actors.
    pub actor_threads: usize,
}
