//! The nodes of a database and what they hold, for operators: from the leases of their workers, and from the rows that name these workers.
//! Each query reads a small table, or walks an index of what is under way.

use super::{Dialect, IdBytes, Session, values};
use crate::checksums::StoredKind;
use crate::columns::{Columns, row_of_id};
use crate::contract::StoreError;
use engine::ids::WorkerId;
use engine::leadership::LeaderJob;
use engine::limits::{NODE_LEASES_READ_MAX, WORLDS_MAX};
use engine::rows::{NodeHoldings, NodeRow, WorldKind};
use engine::time::UnixMs;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// At most ?1 leases; leases of the last day are kept.
pub(crate) const LEASES: &str = "
    SELECT id, address, lease_until, is_given_up FROM workers ORDER BY is_given_up, lease_until DESC, id LIMIT ?1";
/// As many rows of the index as matches that these workers, whose ids follow, run.
pub(crate) const MATCHES: &str = "SELECT worker, count(*) FROM matches WHERE state = 'running' AND worker";
/// Of the worlds that are not over at ?1, at most ?2: no index knows which have a worker.
pub(crate) const WORLDS: &str = "
    SELECT worker, kind, count(*) FROM (
        SELECT worker, kind FROM worlds WHERE ends_at > ?1 ORDER BY ends_at LIMIT ?2) AS live
    WHERE worker IS NOT NULL GROUP BY worker, kind";
pub(crate) const LEADERS: &str = "SELECT worker, job FROM leaders WHERE worker IS NOT NULL ORDER BY job";

/// The same of live tables.
pub(crate) fn tables<S: Dialect>() -> String {
    format!("SELECT worker, count(*) FROM story_tables WHERE {} AND worker", S::is_set("is_live"))
}

/// One lease of a node.
struct WorkerLease {
    worker: WorkerId,
    until: UnixMs,
    holds: bool,
}

/// What is held, and which jobs are led, by worker.
#[derive(Default)]
struct WorkerHoldings {
    holdings: BTreeMap<WorkerId, NodeHoldings>,
    jobs: BTreeMap<WorkerId, Vec<LeaderJob>>,
}

/// In a snapshot.
pub(super) fn nodes<S: Dialect>(session: &mut S, now: UnixMs, limit: usize) -> Result<Vec<NodeRow>, StoreError> {
    let mut leases = BTreeMap::<String, Vec<WorkerLease>>::new();
    let found = session.list(LEASES, values![NODE_LEASES_READ_MAX], |row, _| {
        row_of_id(row, StoredKind::Lease, |row, worker| {
            let (address, until) = (row.text()?, row.time()?);
            Ok((address, WorkerLease { worker: WorkerId(worker), until, holds: !row.flag()? && until > now }))
        })
    })?;
    let workers: Vec<IdBytes> = found.iter().map(|(_, lease)| lease.worker.to_bytes()).collect();
    for (address, lease) in found {
        leases.entry(address).or_default().push(lease);
    }
    let held = held(session, &workers, now)?;
    let mut nodes: Vec<NodeRow> = leases.into_iter().map(|(address, leases)| node(address, leases, &held)).collect();
    // The order among those that live is that of their addresses: sorting keeps it.
    nodes.sort_by_key(|node| node.workers.is_empty().then_some(Reverse(node.lease_until)));
    nodes.truncate(limit);
    Ok(nodes)
}

fn node(address: String, mut leases: Vec<WorkerLease>, held: &WorkerHoldings) -> NodeRow {
    leases.sort_unstable_by_key(|lease| lease.worker);
    if leases.iter().any(|lease| lease.holds) {
        leases.retain(|lease| lease.holds);
    }
    let mut holdings = NodeHoldings::default();
    leases.iter().filter_map(|lease| held.holdings.get(&lease.worker)).for_each(|more| holdings.add(*more));
    let lease_until = leases.iter().map(|lease| lease.until).max().unwrap_or(UnixMs(0));
    let workers: Vec<WorkerId> = leases.iter().filter(|lease| lease.holds).map(|lease| lease.worker).collect();
    let jobs = workers.iter().filter_map(|worker| held.jobs.get(worker)).flatten().copied().collect();
    NodeRow { address, workers, lease_until, holdings, jobs }
}

fn held<S: Dialect>(session: &mut S, workers: &[IdBytes], now: UnixMs) -> Result<WorkerHoldings, StoreError> {
    let mut held = WorkerHoldings::default();
    for (worker, matches) in counts(session, MATCHES, workers)? {
        held.holdings.entry(worker).or_default().matches = matches;
    }
    for (worker, tables) in counts(session, &tables::<S>(), workers)? {
        held.holdings.entry(worker).or_default().tables = tables;
    }
    let worlds = session.list(WORLDS, values![now, WORLDS_MAX], |row, _| {
        row_of_id(row, StoredKind::Lease, |row, worker| {
            Ok((WorkerId(worker), row.named("kind of world", WorldKind::from_name)?, row.number()?))
        })
    })?;
    for (worker, kind, count) in worlds {
        let holdings = held.holdings.entry(worker).or_default();
        match kind {
            WorldKind::World => holdings.worlds = count,
            WorldKind::Hunt => holdings.hunts = count,
        }
    }
    let leaders = session.list(LEADERS, &[], |row, _| {
        row_of_id(row, StoredKind::Lease, |row, worker| Ok((WorkerId(worker), LeaderJob::from_name(&row.text()?))))
    })?;
    for (worker, job) in leaders {
        // A job that a newer program leads has a name that this one does not know.
        held.jobs.entry(worker).or_default().extend(job);
    }
    Ok(held)
}

fn counts(session: &mut impl Session, sql: &str, workers: &[IdBytes]) -> Result<Vec<(WorkerId, u64)>, StoreError> {
    session.all_each(sql, "GROUP BY worker", workers, |row| Ok((WorkerId(row.id()?), row.number()?)))
}
