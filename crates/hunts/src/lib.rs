//! What runs around hunts, outside the engine: counting claims, and matchmaking.
//!
//! None of it stands between a player and a world. A world's writer notifies the aggregator of saved claims, in a notice that may be
//! dropped; counting reads the log of claims from its own cursor, and may stop for hours: it costs players nothing, and catches up.

mod aggregator;
mod barred_players;
mod matches;
mod matchmaker;
mod new_hunt;
mod queue_lease;

pub use aggregator::AggregatorHandle;
pub use aggregator::entries as entries_behind;
pub use matchmaker::{Matchmaker, TicketError, TicketReceiver, TicketState, TicketStatus};
pub use new_hunt::{NewHunt, hunt_row, matched_hunt_settings};
pub use queue_lease::{QueueLease, TicketLocation, join_ticket, locate_ticket, submit_ticket};

use engine::ids::{PlayerId, WorldId};
use engine::rows::{Admission, WorldRow};
use metrics::Metrics;
use node::Node;
use node::drain::Drain;
use std::sync::Arc;
use store::StoreError;

pub struct Hunts {
    node: Node,
    drain: Drain,
    metrics: Arc<Metrics>,
    /// Counts claims.
    pub aggregator: AggregatorHandle,
    pub matchmaker: Matchmaker,
    /// The owner of the matchmaking queue.
    pub queue_lease: QueueLease,
}

impl Hunts {
    /// Handles of a new process; nothing is counted or matched before [`run`]. Clients of one address have at most
    /// `tickets_per_address_max` tickets.
    #[must_use]
    pub fn new(tickets_per_address_max: usize, node: Node, drain: Drain, metrics: Arc<Metrics>) -> Self {
        Self {
            node,
            drain,
            aggregator: AggregatorHandle::new(Arc::clone(&metrics)),
            matchmaker: Matchmaker::new(tickets_per_address_max, metrics.clone()),
            queue_lease: QueueLease::default(),
            metrics,
        }
    }

    /// Notifies the aggregator that a world's log has grown. Never waits; dropped notices are made up for by reading the logs.
    pub fn notify_claims(&self, world: WorldId) {
        self.aggregator.notify(world);
    }

    /// Whether a player may enter a world: any player may, or only those who joined or were matched.
    ///
    /// # Errors
    /// The store's.
    pub async fn can_enter(&self, world: &WorldRow, player: Option<PlayerId>) -> Result<bool, StoreError> {
        match (world.admission, player) {
            (Admission::Everybody, _) => Ok(true),
            (Admission::Joined | Admission::Matched, None) => Ok(false),
            (Admission::Joined | Admission::Matched, Some(player)) => {
                let id = world.id;
                self.node.store.read(move |reader| reader.has_joined(id, player)).await
            }
        }
    }
}

/// Counts and matches until the drain. To be run once in a process. `has_room` tells whether a world could be loaded into a process's
/// memory, as far as this node knows; `is_banned`, whether a player is kept from the server.
pub async fn run(hunts: Arc<Hunts>, has_room: impl Fn(&WorldRow) -> bool, is_banned: impl Fn(PlayerId) -> bool) {
    tokio::join!(
        aggregator::run(&hunts),
        matchmaker::run(&hunts, has_room),
        queue_lease::run(&hunts),
        barred_players::run(&hunts, is_banned),
    );
}
