//! Limits of the list of nodes.

/// Nodes of one list, those that live first.
pub const NODES_LISTED_MAX: usize = 200;
/// Leases that are read for one list of nodes, those that hold first: a living node has about ten, and those of a day are kept.
pub const NODE_LEASES_READ_MAX: usize = 4_000;

const _: () =
    assert!(NODES_LISTED_MAX * 10 < NODE_LEASES_READ_MAX, "the nodes that are listed are known with all their leases");
