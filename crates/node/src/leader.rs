//! Leads a job that one process does for all nodes: whenever no other process does, and until the drain or until the lease is lost.
//!
//! Leadership saves work; correctness does not rest on it. A leader whose lease ends unnoticed may still be writing: what it writes must
//! be refused by its own fence (a version, a number), as every write of an owner is.

use crate::drain::Drain;
use crate::lease::{Lease, LeaseContext, LeaseRenewer, LeaseSlot};
use engine::commands::{Command, Outcome};
use engine::ids::WorkerId;
use engine::leadership::LeaderJob;
use engine::limits::LEASE_RENEW_INTERVAL;
use engine::rows::WorldOwner;
use store::StoreError;
use tokio::task::JoinSet;
use tokio::time::sleep;

/// What leading needs beyond a lease.
pub trait LeaderContext: LeaseContext {
    /// The process that leads a job now, if one does.
    fn leader(&self, job: LeaderJob) -> impl Future<Output = Result<Option<WorldOwner>, StoreError>> + Send;
}

/// Leads `job` whenever it is free, until the drain: `run` does it, and is dropped when the lease is lost. When it ends by itself, it
/// begins again.
pub async fn lead<C, F>(context: C, job: LeaderJob, drain: Drain, run: impl Fn(Lease) -> F + Send + Sync)
where
    C: LeaderContext,
    F: Future<Output = ()> + Send + 'static,
{
    let slot = LeaseSlot::default();
    while !drain.has_begun() {
        tokio::select! {
            biased;
            () = drain.begun() => break,
            () = wait_until_free(&context, job) => {}
        }
        let worker = WorkerId::new(context.now(), context.random_bytes());
        tokio::select! {
            biased;
            () = drain.begun() => {}
            () = lead_once(&context, job, worker, &slot, &run) => {}
        }
        slot.release(&context, worker).await;
    }
    slot.vacate(&context).await;
}

/// Looks as often as leases are renewed: reading who leads costs no write.
async fn wait_until_free(context: &impl LeaderContext, job: LeaderJob) {
    while !matches!(context.leader(job).await, Ok(None)) {
        sleep(LEASE_RENEW_INTERVAL).await;
    }
}

async fn lead_once<C, F>(
    context: &C,
    job: LeaderJob,
    worker: WorkerId,
    slot: &LeaseSlot,
    run: &(impl Fn(Lease) -> F + Sync),
) where
    C: LeaderContext,
    F: Future<Output = ()> + Send + 'static,
{
    let (renewer, lease) = LeaseRenewer::new(context.clone(), worker, slot.clone());
    if !renewer.acquire().await || !acquire_leadership(context, job, worker).await {
        return;
    }
    tracing::info!(worker.id = %worker, job = job.name(), "this node leads a job");
    // Dropped with this function, it ends what it runs.
    let mut running = JoinSet::new();
    running.spawn(run(lease));
    tokio::select! {
        () = renewer.renew_until_lost() => {
            tracing::warn!(worker.id = %worker, job = job.name(), "the lease of a job is lost; another node may lead it");
        }
        ended = running.join_next() => {
            if let Some(Err(error)) = ended && error.is_panic() {
                tracing::error!(job = job.name(), "a job panicked; it begins again");
            }
            sleep(LEASE_RENEW_INTERVAL).await;
        }
    }
}

async fn acquire_leadership(context: &impl LeaseContext, job: LeaderJob, worker: WorkerId) -> bool {
    match context.commit(Command::AcquireLeadership { job, worker, now: context.now() }).await {
        Ok(Outcome::LedBy(leader)) => leader.worker == worker,
        Ok(Outcome::LeaseLost) | Err(_) => false,
        Ok(other) => {
            tracing::error!(outcome = ?other, "the store answered an acquisition of leadership with something else");
            false
        }
    }
}
