//! A worker: one lease, many rooms. It claims matches while it has space. On a drain it releases what it holds; when its lease is lost it
//! drops everything, and the runner begins again as another worker.

use super::environment::MatchEnvironment;
use super::room;
use engine::commands::{ClaimedMatch, Command, Outcome};
use engine::ids::{AccountId, MatchId, WorkerId};
use engine::limits::{CLAIM_INTERVAL_MIN, CLAIM_MAX};
use engine::matches::slots::SlotUsage;
use node::drain::Drain;
use node::lease::{Lease, LeaseContext, LeaseRenewer, LeaseSlot};
use std::collections::BTreeMap;
use std::time::Duration;
use store::StoreError;
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::{Instant, sleep, sleep_until};

/// Pause before a release is tried again that was not saved.
const RELEASE_PAUSE: Duration = Duration::from_millis(500);

/// Limits of a runner.
#[derive(Clone, Copy, Debug)]
pub struct RunnerConfig {
    /// Matches that run at the same time.
    pub matches_at_once: usize,
    /// Matches taken by one claim, at most [`CLAIM_MAX`].
    pub claim_size: usize,
    /// How often to look at the queue without a notification: for orphans, and for other nodes' matches.
    pub claim_period: Duration,
    /// Claims without progress after which a match is failed.
    pub attempts_max: u32,
}

/// Runs worker after worker until the drain. The slot is that of all runners of this process.
pub async fn run<O: MatchEnvironment>(environment: O, settings: RunnerConfig, slot: LeaseSlot, drain: Drain) {
    while !drain.has_begun() {
        let worker = WorkerId::new(environment.node().now(), environment.node().random_bytes());
        let (renewer, lease) = LeaseRenewer::new(environment.node().clone(), worker, slot.clone());
        tokio::select! {
            biased;
            () = drain.begun() => break,
            holds = renewer.acquire() => if !holds { continue },
        }
        tracing::info!(worker.id = %worker, "this worker starts");
        let mut runner = Worker {
            environment: environment.clone(),
            config: settings,
            worker,
            lease,
            rooms: JoinSet::new(),
            held: BTreeMap::new(),
            slots: SlotUsage::new(settings.matches_at_once),
            claim_number: 1,
            resumed: 0,
        };
        tokio::select! {
            biased;
            () = renewer.renew_until_lost() => runner.abandon_all().await,
            end = runner.run(&drain) => match end {
                WorkerEnd::Drained => return runner.release_all(&slot).await,
                WorkerEnd::LeaseLost => runner.abandon_all().await,
            }
        }
    }
    slot.vacate(environment.node()).await;
}

/// A match that this worker owns.
#[derive(Clone, Copy)]
struct HeldMatch {
    id: MatchId,
    account: AccountId,
    epoch: u32,
    /// Whether its room panicked, and it is being released.
    is_broken: bool,
}

struct Worker<O> {
    environment: O,
    config: RunnerConfig,
    worker: WorkerId,
    lease: Lease,
    rooms: JoinSet<()>,
    held: BTreeMap<Id, HeldMatch>,
    /// The slots that they take.
    slots: SlotUsage,
    /// The number of the next claim; one whose response was lost is repeated under its number.
    claim_number: u64,
    /// Matches that this worker resumed and has not logged yet.
    resumed: usize,
}

impl<O: MatchEnvironment> Worker<O> {
    /// Claims and plays until the drain, or until the store says that the lease is lost. A claim in flight is awaited: what it took must be
    /// released.
    async fn run(&mut self, drain: &Drain) -> WorkerEnd {
        let mut look_at = Instant::now();
        let mut last_claim = look_at;
        // Whether the last claim may have passed over matches: a slot that becomes free may be theirs.
        let mut is_passing_over = false;
        loop {
            let space = self.slots.free();
            tokio::select! {
                biased;
                () = drain.begun() => return WorkerEnd::Drained,
                Some(ended) = self.rooms.join_next_with_id() => {
                    self.room_ended(ended);
                    if std::mem::take(&mut is_passing_over) {
                        look_at = look_at.min(last_claim + CLAIM_INTERVAL_MIN);
                    }
                }
                () = sleep_until(look_at), if space > 0 => {
                    last_claim = Instant::now();
                    match self.claim(space.min(self.config.claim_size).min(CLAIM_MAX)).await {
                        Ok(is_more) if is_more => look_at = last_claim + CLAIM_INTERVAL_MIN,
                        Ok(_) => look_at = Instant::now() + self.config.claim_period,
                        Err(LeaseLostError) => return WorkerEnd::LeaseLost,
                    }
                    let at_threshold = self.slots.accounts_at_threshold().count();
                    self.environment.metrics().matches.accounts_at_threshold.set(at_threshold as u64);
                    is_passing_over = at_threshold > 0;
                }
                () = self.environment.queue_notified(), if space > 0 => look_at = look_at.min(last_claim + CLAIM_INTERVAL_MIN),
            }
        }
    }

    /// Claims once. Returns whether there may be more to claim at once.
    async fn claim(&mut self, max: usize) -> Result<bool, LeaseLostError> {
        let claim = Command::ClaimMatches {
            worker: self.worker,
            number: self.claim_number,
            now: self.environment.node().now(),
            max,
            slots: self.slots.clone(),
            attempts_max: self.config.attempts_max,
        };
        match self.environment.node().commit(claim).await {
            Ok(Outcome::MatchesClaimed(claims)) => {
                self.claim_number += 1;
                let is_more = claims.len() == max;
                self.resumed += claims.iter().filter(|claimed| claimed.version > 0).count();
                if !is_more && self.resumed > 0 {
                    let matches = std::mem::take(&mut self.resumed);
                    tracing::info!(worker.id = %self.worker, matches, "took over matches that another worker had started");
                }
                claims.into_iter().for_each(|claimed| self.open_room(claimed));
                Ok(is_more)
            }
            Ok(Outcome::LeaseLost) => Err(LeaseLostError),
            Ok(other) => {
                tracing::error!(outcome = ?other, "the store answered a claim with something else");
                Ok(false)
            }
            // The store handle has logged it. The claim may have been saved: it is repeated after the usual period.
            Err(StoreError::Unavailable { .. } | StoreError::Overloaded { .. }) => Ok(false),
            Err(why @ (StoreError::WrongSchema { .. } | StoreError::Corrupt { .. } | StoreError::Damaged(_))) => {
                tracing::error!(error = %why, "nothing can be claimed");
                Ok(false)
            }
        }
    }

    fn open_room(&mut self, claimed: ClaimedMatch) {
        let held = HeldMatch { id: claimed.spec.id, account: claimed.account, epoch: claimed.epoch, is_broken: false };
        self.slots.take(held.account);
        self.environment.metrics().matches.record_claim(claimed.version > 0);
        let room = room::play(self.environment.clone(), self.lease.clone(), claimed);
        let handle = self.rooms.spawn(async move { _ = room.await });
        self.held.insert(handle.id(), held);
    }

    /// A room has ended: forget it. What it could not end itself stays with this worker until it is saved that it is released: as long as the
    /// worker lives, no other one would take it over.
    fn room_ended(&mut self, ended: Result<(Id, ()), JoinError>) {
        let (task, is_broken) = match ended {
            Ok((task, ())) => (task, false),
            Err(error) => (error.id(), true),
        };
        let Some(held) = self.held.remove(&task) else { return };
        if is_broken {
            tracing::error!(match.id = %held.id, "a room panicked; its match is released and charged one attempt");
            let held = HeldMatch { is_broken, ..held };
            let release = release_until_saved(self.environment.clone(), self.lease.clone(), held);
            let handle = self.rooms.spawn(release);
            self.held.insert(handle.id(), held);
            return;
        }
        self.slots.release(held.account);
        self.environment.metrics().matches.running.dec();
    }

    /// The drain: abandon turns that are not saved, release every match without charging an attempt, end the lease.
    async fn release_all(mut self, slot: &LeaseSlot) {
        self.rooms.shutdown().await;
        let held: Vec<HeldMatch> = std::mem::take(&mut self.held).into_values().collect();
        let releases = held.iter().map(|&held| self.release(held));
        futures_util::future::join_all(releases).await;
        slot.release(self.environment.node(), self.worker).await;
        tracing::info!(worker.id = %self.worker, released = held.len(), "this worker stops: drained");
    }

    /// The lease is lost: others may own everything already, so nothing is written. The next worker releases what they do not own.
    async fn abandon_all(&mut self) {
        let dropped = self.held.len();
        self.rooms.shutdown().await;
        self.held.clear();
        let metrics = self.environment.metrics();
        metrics.process.leases_lost.inc();
        metrics.matches.running.sub(dropped);
        tracing::warn!(worker.id = %self.worker, dropped, "this worker stops: its lease is lost");
    }

    async fn release(&self, held: HeldMatch) {
        let release = release_command(held);
        for pause_ms in [20, 100, 500] {
            if self.environment.node().commit(release.clone()).await.is_ok() {
                return;
            }
            sleep(Duration::from_millis(pause_ms)).await;
        }
        // Left to the end of the lease: another worker takes it over then.
    }
}

/// What a drain takes away is not charged as an attempt.
fn release_command(held: HeldMatch) -> Command {
    Command::ReleaseMatch { id: held.id, epoch: held.epoch, is_refunded: !held.is_broken }
}

/// Releases a match whose room panicked. Once the lease has ended, others find it by themselves.
async fn release_until_saved<O: MatchEnvironment>(environment: O, lease: Lease, held: HeldMatch) {
    let release = release_command(held);
    while lease.is_valid() && environment.node().commit(release.clone()).await.is_err() {
        sleep(RELEASE_PAUSE).await;
    }
}

/// Why a worker ends.
enum WorkerEnd {
    Drained,
    LeaseLost,
}

/// The store says that this worker's lease has ended.
struct LeaseLostError;
