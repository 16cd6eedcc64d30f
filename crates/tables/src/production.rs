//! The real environment of tables: the store, the clock, and random numbers from the operating system.

use super::environment::{Committed, TableEnvironment};
use engine::commands::Command;
use engine::ids::TableId;
use engine::rows::TableOwner;
use engine::time::UnixMs;
use node::Node;
use node::clock::random_bytes;
use rules::chance::Seed;
use store::StoreError;

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
