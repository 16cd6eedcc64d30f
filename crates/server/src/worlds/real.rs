//! The real outside of worlds: the store, the clock, and dice from the operating system.

use super::outside::Outside;
use crate::app::App;
use crate::clock::random_bytes;
use crate::lease::{Tenant, reachable};
use engine::commands::{Command, Outcome};
use engine::ids::{WorldId, WorldName};
use engine::rows::WorldEntry;
use engine::time::UnixMs;
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
    async fn find(&self, name: WorldName) -> Result<Option<WorldEntry>, StoreError> {
        let now = self.app.clock.now();
        self.app.store.read(move |reader| reader.world_named(&name, now)).await
    }

    fn now_us(&self) -> i64 {
        self.app.clock.now_us()
    }

    fn claimed(&self, id: WorldId) {
        self.app.hunts.notice(id);
    }
}
