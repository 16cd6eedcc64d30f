//! A worker: one lease, many rooms. It claims while it has space, and ends its life when it must: on a drain it gives back
//! what it holds; when its lease is lost it drops everything and begins again as another worker.

use super::outside::Outside;
use super::room::{self, Ending};
use crate::app::Drain;
use crate::config::Config;
use crate::lease::{Keeper, Lease, Seat};
use engine::commands::{ClaimedMatch, Command, Outcome};
use engine::ids::{MatchId, WorkerId};
use engine::limits::{CLAIM_INTERVAL_MIN, CLAIM_MAX};
use std::collections::BTreeMap;
use std::time::Duration;
use store::StoreError;
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::{Instant, sleep, sleep_until};

/// How much a runner takes on.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Matches that run at the same time.
    pub matches_at_once: usize,
    /// Matches taken by one claim.
    pub claim_size: usize,
    /// How often to look at the queue when no bell rings: for orphans, and for other nodes' matches.
    pub claim_period: Duration,
    /// Claims without progress after which a match is failed.
    pub attempts_max: u32,
}

impl Settings {
    /// The settings in force.
    #[must_use]
    pub fn of(config: &Config) -> Self {
        Self {
            matches_at_once: config.matches_at_once,
            claim_size: config.claim_size.min(CLAIM_MAX),
            claim_period: config.claim_period,
            attempts_max: config.attempts_max,
        }
    }
}

/// Runs one life after another until the drain. The seat is that of all runners of this process.
pub async fn run<O: Outside>(outside: O, settings: Settings, seat: Seat, drain: Drain) {
    while !drain.has_begun() {
        let worker = WorkerId::new(outside.now(), outside.random());
        let (keeper, lease) = Keeper::new(outside.clone(), worker, seat.clone());
        tokio::select! {
            biased;
            () = drain.begun() => break,
            holds = keeper.acquire() => if !holds { continue },
        }
        tracing::info!(worker.id = %worker, "this worker's life begins");
        let mut life = Life {
            outside: outside.clone(),
            settings,
            worker,
            lease,
            rooms: JoinSet::new(),
            held: BTreeMap::new(),
            claim_number: 1,
            resumed: 0,
        };
        tokio::select! {
            biased;
            () = keeper.keep() => life.drop_everything().await,
            end = life.live(&drain) => match end {
                End::Drained => return life.give_up(&seat).await,
                End::LeaseLost => life.drop_everything().await,
            }
        }
    }
    seat.vacate(&outside).await;
}

/// A match in the worker's hands.
#[derive(Clone, Copy)]
struct Held {
    id: MatchId,
    epoch: u32,
}

struct Life<O> {
    outside: O,
    settings: Settings,
    worker: WorkerId,
    lease: Lease,
    rooms: JoinSet<Ending>,
    held: BTreeMap<Id, Held>,
    /// The number of the next claim; one whose answer was lost is repeated under its number.
    claim_number: u64,
    /// Matches that this worker resumed and has not said so of.
    resumed: usize,
}

impl<O: Outside> Life<O> {
    /// Claims and plays until the drain, or until the store says that the lease is lost. A claim that was begun is heard out:
    /// what it took must be given back.
    async fn live(&mut self, drain: &Drain) -> End {
        let mut look_at = Instant::now();
        let mut last_claim = look_at;
        loop {
            let space = self.settings.matches_at_once.saturating_sub(self.held.len());
            tokio::select! {
                biased;
                () = drain.begun() => return End::Drained,
                Some(ended) = self.rooms.join_next_with_id() => self.ended(ended).await,
                () = sleep_until(look_at), if space > 0 => {
                    last_claim = Instant::now();
                    match self.claim(space.min(self.settings.claim_size)).await {
                        Ok(is_more) if is_more => look_at = last_claim + CLAIM_INTERVAL_MIN,
                        Ok(_) => look_at = Instant::now() + self.settings.claim_period,
                        Err(LeaseIsLost) => return End::LeaseLost,
                    }
                }
                () = self.outside.queue_rung(), if space > 0 => look_at = look_at.min(last_claim + CLAIM_INTERVAL_MIN),
            }
        }
    }

    /// One claim. Whether there may be more to claim at once.
    async fn claim(&mut self, max: usize) -> Result<bool, LeaseIsLost> {
        let claim = Command::ClaimMatches {
            worker: self.worker,
            number: self.claim_number,
            now: self.outside.now(),
            max,
            attempts_max: self.settings.attempts_max,
        };
        match self.outside.commit(claim).await {
            Ok(Outcome::MatchesClaimed(claims)) => {
                self.claim_number += 1;
                let is_more = claims.len() == max;
                self.resumed += claims.iter().filter(|claimed| claimed.version > 0).count();
                if !is_more && self.resumed > 0 {
                    let matches = std::mem::take(&mut self.resumed);
                    tracing::info!(worker.id = %self.worker, matches, "took over matches that another worker had begun");
                }
                claims.into_iter().for_each(|claimed| self.open_room(claimed));
                Ok(is_more)
            }
            Ok(Outcome::LeaseLost) => Err(LeaseIsLost),
            Ok(other) => {
                tracing::error!(outcome = ?other, "the store answered a claim with something else");
                Ok(false)
            }
            // The door has logged it. The claim may have been saved all the same: it is repeated after the usual period.
            Err(StoreError::Unavailable { .. } | StoreError::Overloaded { .. }) => Ok(false),
            Err(why @ (StoreError::WrongSchema { .. } | StoreError::Corrupt { .. })) => {
                tracing::error!(error = %why, "nothing can be claimed");
                Ok(false)
            }
        }
    }

    fn open_room(&mut self, claimed: ClaimedMatch) {
        let held = Held { id: claimed.spec.id, epoch: claimed.epoch };
        self.outside.metrics().match_claimed(claimed.version > 0);
        let room = room::play(self.outside.clone(), self.lease.clone(), claimed);
        let handle = self.rooms.spawn(room);
        self.held.insert(handle.id(), held);
    }

    /// A room has ended: forget it, and give up what it could not end itself.
    async fn ended(&mut self, ended: Result<(Id, Ending), JoinError>) {
        let (task, ending) = match ended {
            Ok((task, ending)) => (task, Some(ending)),
            Err(error) => (error.id(), None),
        };
        let Some(held) = self.held.remove(&task) else { return };
        self.outside.metrics().match_left();
        match ending {
            Some(Ending::Finished | Ending::Failed | Ending::Fenced) => {}
            Some(Ending::LeaseLost) => {}
            None => {
                tracing::error!(match.id = %held.id, "a room panicked; its match is given up and charged one attempt");
                self.release(held, false).await;
            }
        }
    }

    /// The drain: abandon turns that are not saved, give every match back uncharged, end the lease.
    async fn give_up(mut self, seat: &Seat) {
        self.rooms.shutdown().await;
        let held: Vec<Held> = std::mem::take(&mut self.held).into_values().collect();
        let releases = held.iter().map(|&held| self.release(held, true));
        futures_util::future::join_all(releases).await;
        seat.give_up(&self.outside, self.worker).await;
        tracing::info!(worker.id = %self.worker, released = held.len(), "this worker's life ends: drained");
    }

    /// The lease is lost: others may own everything already, so nothing is written. The next life frees what they do not.
    async fn drop_everything(&mut self) {
        let dropped = self.held.len();
        self.rooms.shutdown().await;
        self.held.clear();
        self.outside.metrics().lease_lost(dropped);
        tracing::warn!(worker.id = %self.worker, dropped, "this worker's life ends: its lease is lost");
    }

    async fn release(&self, held: Held, is_refunded: bool) {
        let release = Command::ReleaseMatch { id: held.id, epoch: held.epoch, is_refunded };
        for pause_ms in [20, 100, 500] {
            if self.outside.commit(release.clone()).await.is_ok() {
                return;
            }
            sleep(Duration::from_millis(pause_ms)).await;
        }
        // Left to the end of the lease: another worker takes it over then.
    }
}

/// Why a life ends.
enum End {
    Drained,
    LeaseLost,
}

/// The store says that this worker's lease has ended.
struct LeaseIsLost;
