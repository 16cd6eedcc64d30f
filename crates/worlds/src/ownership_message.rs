//! What the ownership of a process's worlds receives from visitors, writers, the store and its lease.

use super::VisitError;
use super::handle::WorldHandle;
use engine::commands::Outcome;
use engine::ids::{WorkerId, WorldId, WorldName};
use engine::rows::{WorldEntry, WorldRow};
use node::lease::Lease;
use store::StoreError;

/// What the ownership receives.
pub(super) enum OwnershipMessage {
    /// A client visits a world that is not loaded.
    Visit(WorldName),
    /// A world that is over may have a round that is not ended.
    Finish(WorldRow),
    /// A world is loaded, or the stored data cannot be read.
    Ready {
        name: WorldName,
        ready: Result<WorldHandle, VisitError>,
    },
    Ended(EndedWriter),
    /// The stored row of a visited world, and its owner.
    Found {
        name: WorldName,
        found: Result<Option<WorldEntry>, StoreError>,
    },
    Claimed {
        name: WorldName,
        worker: WorkerId,
        claimed: Result<Outcome, StoreError>,
    },
    Released(WorldName),
    LeaseAcquired(WorkerId, Lease),
    LeaseLost(WorkerId),
}

/// The result of a writer.
pub(super) struct EndedWriter {
    pub(super) id: WorldId,
    pub(super) name: WorldName,
    pub(super) epoch: u32,
    /// Whether the world is over and needs no further work.
    pub(super) is_finished: bool,
    /// The version of the claim log in it, and the bytes to save.
    pub(super) snapshot: Option<(u32, Vec<u8>)>,
}
