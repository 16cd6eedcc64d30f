//! The nodes that serve from one database, for operators.

use crate::time::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

/// A node, and what it holds by the leases of its workers. `/api/admin/nodes`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct NodeView {
    /// Where other nodes reach it, `host:port`: its name, which no two living nodes share.
    pub address: String,
    /// Whether it is the one that answers.
    pub is_this: bool,
    /// Whether it has a lease that holds.
    pub is_living: bool,
    /// When the oldest of its leases began; null of a node that is gone.
    #[schema(required)]
    pub since: Option<Timestamp>,
    /// When its leases end unless they are renewed, which is done every second; of a node that is gone, when they ended. Null where a lease
    /// has no end, since no other process can take over, and where the end is not known.
    #[schema(required)]
    pub lease_ends_at: Option<Timestamp>,
    /// The ids of the workers whose leases hold, as the inspection of a game names them.
    pub workers: Vec<String>,
    /// Games that it runs; of a node that is gone, this and the next three are what no other node has taken over yet.
    pub games: u64,
    /// Tables of Stories with something to do by themselves.
    pub tables: u64,
    /// Worlds in its memory, without hunts.
    pub worlds: u64,
    /// Hunts in its memory.
    pub hunts: u64,
    /// What it does for all nodes: `matchmaking_queue`, `ladders`, `tournaments`, `duels`, `bot_health`.
    pub jobs: Vec<String>,
}

/// A server that leaves. `/api/admin/drain`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct DrainStarted {
    /// Where other nodes reach it, as the list of nodes has it.
    pub address: String,
    /// The process has ended this long after the drain was asked for, in milliseconds.
    pub ends_within_ms: u64,
}
