//! Around the hunt: what is counted beside the engine, and how parties find each other.
//!
//! Nothing of it stands between a player and a world. The writer of a world tells that it saved claims, in a word that may be lost;
//! counting reads the log of claims by a cursor of its own, and may stop for hours: it costs players nothing, and catches up.

mod aggregator;
mod matches;
mod matchmaker;
mod new_hunt;
mod queue_lease;

pub use aggregator::AggregatorHandle;
pub(crate) use aggregator::entries as entries_behind;
pub use matchmaker::{Matchmaker, TicketError, TicketReceiver, TicketState, TicketStatus};
pub use new_hunt::{NewHunt, hunt_row, matched_hunt_settings};
pub use queue_lease::{QueueLease, TicketLocation, join_ticket, locate_ticket, submit_ticket};

use crate::app::App;
use crate::config::Config;
use crate::metrics::Metrics;
use engine::ids::{PlayerId, WorldId};
use engine::rows::{Admission, WorldRow};
use std::sync::Arc;
use store::{Store, StoreError};

/// The handles.
pub struct Hunts {
    /// What is counted, and whether it is.
    pub aggregator: AggregatorHandle,
    /// Parties that wait.
    pub matchmaker: Matchmaker,
    /// Who keeps the desk on which their tickets lie.
    pub queue_lease: QueueLease,
}

impl Hunts {
    /// Handles of a process that begins now; nothing is counted and nobody matched before [`run`].
    #[must_use]
    pub fn new(config: &Config, metrics: Arc<Metrics>) -> Self {
        Self {
            aggregator: AggregatorHandle::new(Arc::clone(&metrics)),
            matchmaker: Matchmaker::new(config.quotas_tickets_per_address_max, metrics),
            queue_lease: QueueLease::default(),
        }
    }

    /// Says that a world's log has become longer. Never waits; what is lost is found by the log itself.
    pub fn notify_claims(&self, world: WorldId) {
        self.aggregator.notify(world);
    }

    /// Whether somebody may come into a world: everybody may, or those who joined or were matched.
    ///
    /// # Errors
    /// The store's.
    pub async fn can_enter(
        &self,
        store: &Store,
        world: &WorldRow,
        player: Option<PlayerId>,
    ) -> Result<bool, StoreError> {
        match (world.admission, player) {
            (Admission::Everybody, _) => Ok(true),
            (Admission::Joined | Admission::Matched, None) => Ok(false),
            (Admission::Joined | Admission::Matched, Some(player)) => {
                let id = world.id;
                store.read(move |reader| reader.has_joined(id, player)).await
            }
        }
    }
}

/// Counts and matches until the drain. To be run once in a process.
pub async fn run(app: App) {
    tokio::join!(aggregator::run(&app), matchmaker::run(&app), queue_lease::run(&app));
}
