//! All side effects of tables as one trait: so that the same owner tasks run on a real store, and in the simulator on a fake clock and a
//! store that fails.

use engine::commands::{Command, Outcome};
use engine::ids::TableId;
use engine::rows::TableOwner;
use engine::time::UnixMs;
use node::Node;
use node::clock::random_bytes;
use node::lease::LeaseContext;
use rules::chance::Seed;
use store::StoreError;

/// The result of a commit.
#[derive(Clone, Debug, PartialEq)]
pub struct Committed {
    /// The outcome of each command.
    pub outcomes: Vec<Outcome>,
    /// When the commit was complete, in microseconds since the Unix epoch, on the clock that all nodes share.
    pub at_us: i64,
}

/// The effects of tables, beyond what their lease needs.
pub trait TableEnvironment: LeaseContext {
    /// Saves these commands in one commit.
    fn commit_all(&self, commands: Vec<Command>) -> impl Future<Output = Result<Committed, StoreError>> + Send;
    /// The owner of a table; `None` when no table has this id.
    fn owner(&self, id: TableId) -> impl Future<Output = Result<Option<TableOwner>, StoreError>> + Send;
    /// The seed of all random choices at a new table.
    fn seed(&self) -> Seed;
    /// The time of everything at a table: its timers, and how long it stays in memory. It begins with the date, and does not jump when
    /// clocks are set.
    fn steady_now(&self) -> UnixMs;
    /// The date in microseconds since the Unix epoch, on the clock of [`Committed::at_us`].
    fn now_us(&self) -> i64;
}

/// The real effects: the store, the clock, and random numbers from the operating system.
impl TableEnvironment for Node {
    async fn commit_all(&self, commands: Vec<Command>) -> Result<Committed, StoreError> {
        let (outcomes, committed_at) = self.store.commit_timed(commands).await?;
        let since_us = i64::try_from(committed_at.elapsed().as_micros()).unwrap_or(i64::MAX);
        Ok(Committed { outcomes, at_us: self.clock.now_us().saturating_sub(since_us) })
    }

    async fn owner(&self, id: TableId) -> Result<Option<TableOwner>, StoreError> {
        let now = self.clock.now();
        self.store.read(move |reader| reader.table_owner(id, now)).await
    }

    fn seed(&self) -> Seed {
        Seed(u64::from_be_bytes(random_bytes()))
    }

    fn steady_now(&self) -> UnixMs {
        self.clock.steady()
    }

    fn now_us(&self) -> i64 {
        self.clock.now_us()
    }
}
