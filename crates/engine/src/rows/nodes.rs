//! The nodes of a store, as the leases of their workers show them.

use crate::ids::WorkerId;
use crate::leadership::LeaderJob;
use crate::time::UnixMs;

/// The workers that have, or had last, their leases at one address: those of one process, or of several one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeRow {
    /// Where other nodes reach it: `host:port`.
    pub address: String,
    /// Workers whose leases hold, in the order of their ids; none of a node that is gone.
    pub workers: Vec<WorkerId>,
    /// The last end of these workers' leases; of a node that is gone, of all that it had. [`UnixMs::MAX`] of one without an end.
    pub lease_until: UnixMs,
    /// What these workers hold; of a node that is gone, what no other node has taken over.
    pub holdings: NodeHoldings,
    /// Jobs that these workers lead.
    pub jobs: Vec<LeaderJob>,
}

/// How much workers hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeHoldings {
    /// Matches that run.
    pub matches: u64,
    /// Tables of Stories with something to do by themselves.
    pub tables: u64,
    /// Worlds that are not over and not a hunt.
    pub worlds: u64,
    /// Hunts that are not over.
    pub hunts: u64,
}

impl NodeHoldings {
    pub fn add(&mut self, other: Self) {
        self.matches += other.matches;
        self.tables += other.tables;
        self.worlds += other.worlds;
        self.hunts += other.hunts;
    }
}
