//! This process as a node: the store that it saves to, the clock that it reads, the address under which other nodes reach it, the lease
//! under which it owns, and the drain in which it releases what it owns.
//!
//! Knows nothing of what is owned.

pub mod clock;
pub mod drain;
pub mod leader;
pub mod lease;

use clock::{Clock, random_bytes};
use engine::commands::{Command, Outcome};
use engine::leadership::LeaderJob;
use engine::rows::WorldOwner;
use engine::time::UnixMs;
use leader::LeaderContext;
use lease::LeaseContext;
use std::sync::Arc;
use store::{Store, StoreError};

/// Cheap to clone.
#[derive(Clone)]
pub struct Node {
    pub store: Store,
    pub clock: Clock,
    address: Arc<str>,
}

impl Node {
    /// `address` is where other nodes reach this one.
    #[must_use]
    pub fn new(store: Store, clock: Clock, address: impl Into<Arc<str>>) -> Self {
        Self { store, clock, address: address.into() }
    }
}

impl LeaseContext for Node {
    fn now(&self) -> UnixMs {
        self.clock.now()
    }

    fn random_bytes(&self) -> [u8; 10] {
        random_bytes()
    }

    fn address(&self) -> String {
        self.address.to_string()
    }

    fn has_exclusive_store(&self) -> bool {
        !self.store.is_shared()
    }

    async fn commit(&self, command: Command) -> Result<Outcome, StoreError> {
        self.store.commit(command).await
    }
}

impl LeaderContext for Node {
    async fn leader(&self, job: LeaderJob) -> Result<Option<WorldOwner>, StoreError> {
        let now = self.clock.now();
        self.store.read(move |reader| reader.leader(job, now)).await
    }
}
