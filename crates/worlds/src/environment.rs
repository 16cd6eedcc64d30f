//! All side effects of worlds as one trait: so that the same writers run on a real store and on one that a test holds back.

use engine::ids::{WorldId, WorldName};
use engine::rows::WorldEntry;
use node::lease::LeaseContext;
use store::StoreError;

/// The effects of worlds, beyond what their lease needs.
pub trait WorldEnvironment: LeaseContext {
    /// The world of this name, and its owner.
    fn find(&self, name: WorldName) -> impl Future<Output = Result<Option<WorldEntry>, StoreError>> + Send;
    /// Now, in microseconds since the Unix epoch. Nodes agree on it as far as their clocks did when they started; it is not adjusted while
    /// a process lives.
    fn now_us(&self) -> i64;
    /// The claim log of a world has grown, and is saved: notifies the aggregator. Never waits.
    fn notify_claims_saved(&self, id: WorldId);
}
