//! The real environment of worlds: the store, the clock, and the aggregator of claims.

use super::environment::WorldEnvironment;
use crate::app::App;
use engine::ids::{WorldId, WorldName};
use engine::rows::WorldEntry;
use store::StoreError;

impl WorldEnvironment for App {
    async fn find(&self, name: WorldName) -> Result<Option<WorldEntry>, StoreError> {
        let now = self.clock.now();
        self.store.read(move |reader| reader.world_named(&name, now)).await
    }

    fn now_us(&self) -> i64 {
        self.clock.steady_us()
    }

    fn notify_claims_saved(&self, id: WorldId) {
        self.hunts.notify_claims(id);
    }
}
