//! How much the tables of one process take on.

use crate::config::Config;
use std::time::Duration;

/// The settings of a process's tables.
#[derive(Clone, Copy, Debug)]
pub struct TablesConfig {
    /// Keepers among which tables are divided.
    pub owner_tasks: usize,
    /// Tables in memory at once.
    pub tables_max: usize,
    /// Of those, tables that one player opened.
    pub tables_per_player_max: usize,
    /// Of those, tables that the clients of one address opened.
    pub tables_per_address_max: usize,
    /// Waits for news at once.
    pub waiters_max: usize,
    /// Waits of one player at once.
    pub waiters_per_player_max: usize,
    /// Waits from one address at once.
    pub waiters_per_address_max: usize,
    /// How long somebody counts as present once his last wait has ended, and how long a table without a game stays in memory
    /// when nobody is there.
    pub presence_grace: Duration,
    /// How long a game stays in which nobody but its storyteller sits, and nobody is there.
    pub unjoined_timeout: Duration,
    /// How often tables are looked for that nobody owns.
    pub claim_period: Duration,
}

impl TablesConfig {
    /// The settings in force.
    #[must_use]
    pub fn of(config: &Config) -> Self {
        Self {
            owner_tasks: config.stories_owner_tasks,
            tables_max: config.stories_tables_max,
            tables_per_player_max: config.stories_tables_per_player_max,
            tables_per_address_max: config.quotas_tables_per_address_max,
            waiters_max: config.stories_waiters_max,
            waiters_per_player_max: config.stories_waiters_per_player_max,
            waiters_per_address_max: config.stories_waiters_per_address_max,
            presence_grace: config.stories_presence_grace,
            unjoined_timeout: config.quotas_unjoined_timeout,
            claim_period: config.stories_claim_period,
        }
    }
}
