//! All that worlds touch of the world outside, as one trait: so that the same writers run on a real store and on one that a test
//! holds back.

use crate::lease::LeaseContext;
use engine::ids::{WorldId, WorldName};
use engine::rows::WorldEntry;
use store::StoreError;

/// The outside of worlds, beyond what their lease needs.
pub trait WorldEnvironment: LeaseContext {
    /// The world of this name, and who answers for it.
    fn find(&self, name: WorldName) -> impl Future<Output = Result<Option<WorldEntry>, StoreError>> + Send;
    /// Now, in microseconds since the Unix epoch. Nodes agree on it as far as their clocks did when they started; while one lives, nobody
    /// can set it.
    fn now_us(&self) -> i64;
    /// The claim log of a world has become longer, and is saved: whoever counts may look. Never waits.
    fn notify_claims_saved(&self, id: WorldId);
}
