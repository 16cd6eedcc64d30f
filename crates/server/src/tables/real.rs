//! The real world of tables: the store, the clock, and dice from the operating system.

use super::outside::{Committed, Outside};
use crate::app::App;
use crate::clock::random_bytes;
use crate::lease::{Tenant, reachable};
use engine::commands::{Command, Outcome};
use engine::ids::TableId;
use engine::rows::TableWhere;
use engine::time::UnixMs;
use rules::chance::Seed;
use std::sync::Arc;
use store::StoreError;

#[derive(Clone)]
pub(super) struct Real {
    app: App,
    address: Arc<str>,
}

impl Real {
    pub(super) fn new(app: &App) -> Self {
        Self { app: app.clone(), address: reachable(app.config.address).into() }
    }
}

impl Tenant for Real {
    fn now(&self) -> UnixMs {
        self.app.clock.now()
    }

    fn random(&self) -> [u8; 10] {
        random_bytes()
    }

    fn address(&self) -> String {
        self.address.to_string()
    }

    async fn commit(&self, command: Command) -> Result<Outcome, StoreError> {
        self.app.store.commit(command).await
    }
}

impl Outside for Real {
    async fn commit_all(&self, commands: Vec<Command>) -> Result<Committed, StoreError> {
        let (outcomes, committed_at) = self.app.store.commit_timed(commands).await?;
        let since_us = i64::try_from(committed_at.elapsed().as_micros()).unwrap_or(i64::MAX);
        Ok(Committed { outcomes, at_us: self.now_us().saturating_sub(since_us) })
    }

    async fn owner(&self, id: TableId) -> Result<Option<TableWhere>, StoreError> {
        let now = self.app.clock.now();
        self.app.store.read(move |reader| reader.table_owner(id, now)).await
    }

    fn seed(&self) -> Seed {
        Seed(u64::from_be_bytes(random_bytes()))
    }

    fn now_us(&self) -> i64 {
        self.app.clock.now_us()
    }
}
