//! All that tables touch of the world, as one trait: so that the same keepers run on a real store, and in the simulator on a
//! fake clock and a store that fails.

use crate::lease::LeaseContext;
use engine::commands::{Command, Outcome};
use engine::ids::TableId;
use engine::rows::TableOwner;
use engine::time::UnixMs;
use rules::chance::Seed;
use store::StoreError;

/// What a commit came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Committed {
    /// What became of each command.
    pub outcomes: Vec<Outcome>,
    /// When the commit was over, in microseconds since the Unix epoch, on the clock that all nodes share.
    pub at_us: i64,
}

/// The world of tables, beyond what their lease needs.
pub trait TableEnvironment: LeaseContext {
    /// Saves these commands in one commit.
    fn commit_all(&self, commands: Vec<Command>) -> impl Future<Output = Result<Committed, StoreError>> + Send;
    /// Who answers for a table; `None` for one that nobody knows.
    fn owner(&self, id: TableId) -> impl Future<Output = Result<Option<TableOwner>, StoreError>> + Send;
    /// What decides everything that is left to chance at a new table.
    fn seed(&self) -> Seed;
    /// The time by which everything at a table is counted: its timers, and how long it stays in memory. It begins with the date, and goes
    /// on however clocks are set.
    fn steady_now(&self) -> UnixMs;
    /// The date in microseconds since the Unix epoch, on the clock of [`Committed::at_us`].
    fn now_us(&self) -> i64;
}
