//! This node as the owner of matches, tables and worlds: the store that it saves to, the clock that it reads, the address under which
//! other nodes reach it. Knows nothing of what is owned.

use crate::clock::{Clock, random_bytes};
use crate::config::Config;
use crate::lease::{LeaseContext, advertised};
use engine::commands::{Command, Outcome};
use engine::time::UnixMs;
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
    #[must_use]
    pub fn new(store: Store, clock: Clock, config: &Config) -> Self {
        Self { store, clock, address: advertised(config).into() }
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
