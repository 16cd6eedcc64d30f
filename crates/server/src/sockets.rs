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
pub struct Sockets {
    stock: Arc<Semaphore>,
    /// What bots may have of it.
    bots: Arc<Semaphore>,
    /// Rung when somebody finds nothing left.
    wanted: Notify,
}

/// The right to one open socket, until it is dropped.
#[derive(Debug)]
pub(crate) struct Socket {
    _stock: OwnedSemaphorePermit,
    /// Of those that bots may have.
    _bots: Option<OwnedSemaphorePermit>,
}

impl Sockets {
    /// As many as the configuration leaves room for.
    #[must_use]
    pub fn of(config: &Config) -> Self {
        Self::new(config.sockets_max(), config.bot_sockets_max())
    }

    /// `total` in all, of which bots may have `bots_max`.
    pub(crate) fn new(total: usize, bots_max: usize) -> Self {
        let semaphore = |permits: usize| Arc::new(Semaphore::new(permits.min(Semaphore::MAX_PERMITS)));
        Self { stock: semaphore(total), bots: semaphore(bots_max), wanted: Notify::new() }
    }

    /// Takes one for a client. It is given back by [`Sockets::client_left`]: what stays of a connection while it is silent is
    /// its seat, and that has no room for more than it needs.
    pub(crate) async fn client_comes(&self) {
        if self.is_empty() {
            self.wanted.notify_one();
        }
        // Nobody ever closes the stock.
        if let Ok(permit) = self.stock.acquire().await {
            permit.forget();
        }
    }

    /// Takes one for a client if one is left; rings where none is.
    pub(crate) fn client_may_come(&self) -> bool {
        let taken = self.stock.try_acquire().map(SemaphorePermit::forget).is_ok();
        if !taken {
            self.wanted.notify_one();
        }
        taken
    }

    /// Gives one back that a client had.
    pub(crate) fn client_left(&self) {
        self.stock.add_permits(1);
    }

    /// One for a bot, as soon as there is one.
    pub(crate) async fn bot(&self) -> Socket {
        if self.is_short() {
            self.wanted.notify_one();
        }
        let bots = owned(&self.bots).await;
        Socket { _stock: owned(&self.stock).await, _bots: Some(bots) }
    }

    /// One for a request that goes to another node, if there is one.
    pub(crate) fn forward(&self) -> Option<Socket> {
        let stock = self.stock.clone().try_acquire_owned().ok()?;
        Some(Socket { _stock: stock, _bots: None })
    }

    /// Whether nothing is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.stock.available_permits() == 0
    }

    /// Whether a bot would have to wait: then nothing may be kept open for later.
    pub(crate) fn is_short(&self) -> bool {
        self.is_empty() || self.bots.available_permits() == 0
    }

    /// Waits until somebody found nothing left. Whoever keeps idle sockets closes them then.
    pub(crate) async fn wanted(&self) {
        self.wanted.notified().await;
    }

    /// How many are left.
    #[cfg(test)]
    pub(crate) fn left(&self) -> usize {
        self.stock.available_permits()
    }
}

async fn owned(semaphore: &Arc<Semaphore>) -> OwnedSemaphorePermit {
    semaphore.clone().acquire_owned().await.expect("nobody ever closes the stock")
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    #[tokio::test]
    async fn bots_leave_clients_their_part_and_clients_who_leave_make_room() {
        let sockets = Sockets::new(3, 2);
        let bots = [sockets.bot().await, sockets.bot().await];
        assert!(sockets.is_short(), "another bot would have to wait");
        assert!(sockets.bot().now_or_never().is_none(), "bots have all that they may have");
        sockets.client_comes().await;
        assert!(sockets.client_comes().now_or_never().is_none());
        assert!(sockets.forward().is_none());
        drop(bots);
        assert_eq!((sockets.left(), sockets.is_short()), (2, false));
        let passed_on = sockets.forward().unwrap();
        sockets.client_left();
        assert_eq!(sockets.left(), 2);
        drop(passed_on);
        assert_eq!(sockets.left(), 3);
    }

    #[tokio::test]
    async fn whoever_finds_nothing_left_rings() {
        let sockets = Sockets::new(1, 1);
        assert!(sockets.wanted().now_or_never().is_none());
        let held = sockets.bot().await;
        assert!(sockets.client_comes().now_or_never().is_none());
        sockets.wanted().await;
        assert!(sockets.bot().now_or_never().is_none());
        sockets.wanted().await;
        drop(held);
        sockets.bot().await;
        assert_eq!(sockets.left(), 1, "a wait that was given up keeps nothing");
    }
}
