//! All side effects of worlds as one trait: so that the same writers run on a real store and on one that a test holds back.

use engine::ids::WorldName;
use engine::rows::WorldEntry;
use node::Node;
use node::lease::LeaseContext;
use store::StoreError;

/// The effects of worlds, beyond what their lease needs.
pub trait WorldEnvironment: LeaseContext {
    /// The world of this name, and its owner.
    fn find(&self, name: WorldName) -> impl Future<Output = Result<Option<WorldEntry>, StoreError>> + Send;
    /// Now, in microseconds since the Unix epoch. Nodes agree on it as far as their clocks did when they started; it is not adjusted while
    /// a process lives.
    fn now_us(&self) -> i64;
}

/// The real effects: the store and the clock.
impl WorldEnvironment for Node {
    async fn find(&self, name: WorldName) -> Result<Option<WorldEntry>, StoreError> {
        let now = self.clock.now();
        self.store.read(move |reader| reader.world_named(&name, now)).await
    }

    fn now_us(&self) -> i64 {
        self.clock.steady_us()
    }
}
