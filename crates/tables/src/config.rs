//! Limits of the card tables of one process.

use std::time::Duration;

#[derive(Clone, Copy, Debug)]
pub struct TablesConfig {
    /// Owner tasks among which tables are divided.
    pub owner_tasks: usize,
    /// Tables in memory at once.
    pub tables_max: usize,
    /// Tables that one player opened, at most.
    pub tables_per_player_max: usize,
    /// Tables that clients of one address opened, at most.
    pub tables_per_address_max: usize,
    /// Waits for updates at once.
    pub waiters_max: usize,
    pub waiters_per_player_max: usize,
    pub waiters_per_address_max: usize,
    /// How long a player counts as present after its last wait has ended, and how long a table without a game and without players stays in
    /// memory.
    pub presence_grace: Duration,
    /// How long a game stays in memory that only its storyteller has joined, and whose players are all absent.
    pub unjoined_timeout: Duration,
    /// How often tables without an owner are looked for.
    pub claim_period: Duration,
}
