//! One stock of sockets under the process's limit of open files. Clients, bots and requests on their way to other nodes take
//! from it as they need; each side has a ceiling, so that neither can leave the other without any.
//!
//! Whoever needs a socket takes it here *before* it opens one: a bot that could not be called for want of a file would be
//! recorded as unreachable, and a client would be let in only to be dropped. Knows neither what is said over a socket nor
//! whose it is.

use crate::config::Config;
use std::sync::Arc;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, SemaphorePermit};

/// What one process has.
#[derive(Debug)]
pub struct SocketBudget {
    total: Arc<Semaphore>,
    /// What bots may have of it.
    bots: Arc<Semaphore>,
    /// Rung when somebody finds nothing left.
    shortage: Notify,
}

/// The right to one open socket, until it is dropped.
#[derive(Debug)]
pub(crate) struct SocketPermit {
    _total: OwnedSemaphorePermit,
    /// Of those that bots may have.
    _bots: Option<OwnedSemaphorePermit>,
}

impl SocketBudget {
    /// As many as the configuration leaves room for.
    #[must_use]
    pub fn of(config: &Config) -> Self {
        Self::new(config.sockets_max(), config.bot_sockets_max())
    }

    /// `total` in all, of which bots may have `bots_max`.
    pub(crate) fn new(total: usize, bots_max: usize) -> Self {
        let semaphore = |permits: usize| Arc::new(Semaphore::new(permits.min(Semaphore::MAX_PERMITS)));
        Self { total: semaphore(total), bots: semaphore(bots_max), shortage: Notify::new() }
    }

    /// Takes one for a client. It is given back by [`SocketBudget::release_client`]: what stays of a connection while it is silent is
    /// its seat, and that has no room for more than it needs.
    pub(crate) async fn acquire_for_client(&self) {
        if self.is_exhausted() {
            self.shortage.notify_one();
        }
        // Nobody ever closes the stock.
        if let Ok(permit) = self.total.acquire().await {
            permit.forget();
        }
    }

    /// Takes one for a client if one is left; rings where none is.
    pub(crate) fn try_acquire_for_client(&self) -> bool {
        let taken = self.total.try_acquire().map(SemaphorePermit::forget).is_ok();
        if !taken {
            self.shortage.notify_one();
        }
        taken
    }

    /// Gives one back that a client had.
    pub(crate) fn release_client(&self) {
        self.total.add_permits(1);
    }

    /// One for a bot, as soon as there is one.
    pub(crate) async fn acquire_for_bot(&self) -> SocketPermit {
        if self.is_exhausted_for_bots() {
            self.shortage.notify_one();
        }
        let bots = acquire_owned(&self.bots).await;
        SocketPermit { _total: acquire_owned(&self.total).await, _bots: Some(bots) }
    }

    /// One for a request that goes to another node, if there is one.
    pub(crate) fn try_acquire_for_forward(&self) -> Option<SocketPermit> {
        let stock = self.total.clone().try_acquire_owned().ok()?;
        Some(SocketPermit { _total: stock, _bots: None })
    }

    /// Whether nothing is left.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.total.available_permits() == 0
    }

    /// Whether a bot would have to wait: then nothing may be kept open for later.
    pub(crate) fn is_exhausted_for_bots(&self) -> bool {
        self.is_exhausted() || self.bots.available_permits() == 0
    }

    /// Waits until somebody found nothing left. Whoever keeps idle sockets closes them then.
    pub(crate) async fn wait_for_shortage(&self) {
        self.shortage.notified().await;
    }

    /// How many are left.
    #[cfg(test)]
    pub(crate) fn available(&self) -> usize {
        self.total.available_permits()
    }
}

async fn acquire_owned(semaphore: &Arc<Semaphore>) -> OwnedSemaphorePermit {
    semaphore.clone().acquire_owned().await.expect("nobody ever closes the stock")
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    #[tokio::test]
    async fn bots_leave_clients_their_part_and_clients_who_leave_make_room() {
        let sockets = SocketBudget::new(3, 2);
        let bots = [sockets.acquire_for_bot().await, sockets.acquire_for_bot().await];
        assert!(sockets.is_exhausted_for_bots(), "another bot would have to wait");
        assert!(sockets.acquire_for_bot().now_or_never().is_none(), "bots have all that they may have");
        sockets.acquire_for_client().await;
        assert!(sockets.acquire_for_client().now_or_never().is_none());
        assert!(sockets.try_acquire_for_forward().is_none());
        drop(bots);
        assert_eq!((sockets.available(), sockets.is_exhausted_for_bots()), (2, false));
        let passed_on = sockets.try_acquire_for_forward().unwrap();
        sockets.release_client();
        assert_eq!(sockets.available(), 2);
        drop(passed_on);
        assert_eq!(sockets.available(), 3);
    }

    #[tokio::test]
    async fn whoever_finds_nothing_left_rings() {
        let sockets = SocketBudget::new(1, 1);
        assert!(sockets.wait_for_shortage().now_or_never().is_none());
        let held = sockets.acquire_for_bot().await;
        assert!(sockets.acquire_for_client().now_or_never().is_none());
        sockets.wait_for_shortage().await;
        assert!(sockets.acquire_for_bot().now_or_never().is_none());
        sockets.wait_for_shortage().await;
        drop(held);
        sockets.acquire_for_bot().await;
        assert_eq!(sockets.available(), 1, "a wait that was given up keeps nothing");
    }
}
