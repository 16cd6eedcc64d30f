//! The budget of sockets under the process's limit of open files. Clients, bots and requests that are forwarded to other nodes share it;
//! each side has a limit, so that neither can leave the other without any.
//!
//! A permit is acquired *before* a socket is opened: otherwise a bot that could not be called for lack of a file would be recorded as
//! unreachable, and a client would be accepted only to be dropped. Knows neither protocols nor peers.

use settings::Config;
use std::sync::Arc;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, SemaphorePermit};

/// The sockets of one process.
#[derive(Debug)]
pub struct SocketBudget {
    total: Arc<Semaphore>,
    /// The part that bots may have.
    bots: Arc<Semaphore>,
    /// Notified when a caller finds none left.
    shortage: Notify,
}

/// The right to one open socket, until it is dropped.
#[derive(Debug)]
pub struct SocketPermit {
    _total: OwnedSemaphorePermit,
    /// From the bots' part.
    _bots: Option<OwnedSemaphorePermit>,
}

impl SocketBudget {
    /// The number that the configuration allows.
    #[must_use]
    pub fn of(config: &Config) -> Self {
        Self::new(config.sockets_max(), config.bot_sockets_max())
    }

    /// `total` in all, of which bots may have `bots_max`.
    pub fn new(total: usize, bots_max: usize) -> Self {
        let semaphore = |permits: usize| Arc::new(Semaphore::new(permits.min(Semaphore::MAX_PERMITS)));
        Self { total: semaphore(total), bots: semaphore(bots_max), shortage: Notify::new() }
    }

    /// Acquires one for a client. It is released by [`SocketBudget::release_client`] and not by a guard, since what is kept of a silent
    /// connection has no room for more than it needs.
    pub async fn acquire_for_client(&self) {
        if self.is_exhausted() {
            self.shortage.notify_one();
        }
        // The semaphore is never closed.
        if let Ok(permit) = self.total.acquire().await {
            permit.forget();
        }
    }

    /// Acquires one for a client if one is left; notifies the shortage otherwise.
    pub fn try_acquire_for_client(&self) -> bool {
        let taken = self.total.try_acquire().map(SemaphorePermit::forget).is_ok();
        if !taken {
            self.shortage.notify_one();
        }
        taken
    }

    /// Releases a client's.
    pub fn release_client(&self) {
        self.total.add_permits(1);
    }

    /// Acquires one for a bot, when one is free.
    pub async fn acquire_for_bot(&self) -> SocketPermit {
        if self.is_exhausted_for_bots() {
            self.shortage.notify_one();
        }
        let bots = acquire_owned(&self.bots).await;
        SocketPermit { _total: acquire_owned(&self.total).await, _bots: Some(bots) }
    }

    /// Acquires one for a forwarded request, if one is free.
    pub fn try_acquire_for_forward(&self) -> Option<SocketPermit> {
        let stock = self.total.clone().try_acquire_owned().ok()?;
        Some(SocketPermit { _total: stock, _bots: None })
    }

    pub fn is_exhausted(&self) -> bool {
        self.total.available_permits() == 0
    }

    /// Whether a bot would have to wait: then no idle connection may be kept.
    pub fn is_exhausted_for_bots(&self) -> bool {
        self.is_exhausted() || self.bots.available_permits() == 0
    }

    /// Waits until a caller found none left. Holders of idle sockets then close them.
    pub async fn wait_for_shortage(&self) {
        self.shortage.notified().await;
    }

    /// Sockets that are free.
    #[must_use]
    pub fn available(&self) -> usize {
        self.total.available_permits()
    }
}

async fn acquire_owned(semaphore: &Arc<Semaphore>) -> OwnedSemaphorePermit {
    semaphore.clone().acquire_owned().await.expect("the semaphore is never closed")
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    #[tokio::test]
    async fn bots_leave_clients_their_part_and_departing_clients_make_room() {
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
    async fn a_caller_without_a_socket_notifies_the_shortage() {
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
