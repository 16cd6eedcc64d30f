//! A worker's lease as its owner sees it: written to the store every second, trusted only until shortly before it ends, and
//! by the monotonic clock. Whoever acts for the worker asks [`Lease::holds`] first.

use super::outside::Outside;
use engine::commands::{Command, Outcome};
use engine::ids::WorkerId;
use engine::limits::{LEASE, LEASE_MARGIN, LEASE_RENEW_EVERY};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

/// A view of the lease, cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Lease {
    trusted_until: watch::Receiver<Instant>,
}

/// The side that renews.
pub(super) struct Keeper<O> {
    outside: O,
    worker: WorkerId,
    trusted_until: watch::Sender<Instant>,
}

/// What came of one renewal.
enum Renewal {
    Written,
    /// The store says that the lease has ended.
    Refused,
    /// Saved or not: nobody knows.
    Unheard,
}

impl Lease {
    /// Whether the worker may act.
    pub(super) fn holds(&self) -> bool {
        Instant::now() < *self.trusted_until.borrow()
    }
}

impl<O: Outside> Keeper<O> {
    /// A keeper whose lease does not hold yet.
    pub(super) fn new(outside: O, worker: WorkerId) -> (Self, Lease) {
        let (sender, receiver) = watch::channel(Instant::now());
        (Self { outside, worker, trusted_until: sender }, Lease { trusted_until: receiver })
    }

    /// Writes the lease for the first time, trying until the store answers. Whether it holds: a first attempt may have been
    /// saved unheard, and its lease may have ended before the next one arrived. That worker's life is over before it began.
    pub(super) async fn acquire(&self) -> bool {
        let mut pause = Duration::from_millis(50);
        loop {
            match self.renew(Instant::now() + LEASE).await {
                Renewal::Written => return true,
                Renewal::Refused => return false,
                Renewal::Unheard => sleep(pause).await,
            }
            pause = (pause * 2).min(LEASE_RENEW_EVERY);
        }
    }

    /// Renews until the lease is lost: refused by the store, or not written in time.
    pub(super) async fn keep(&self) {
        let mut next = Instant::now() + LEASE_RENEW_EVERY;
        loop {
            let until = *self.trusted_until.borrow();
            if next >= until {
                sleep_until(until).await;
                return;
            }
            sleep_until(next).await;
            let asked = Instant::now();
            self.renew(until).await;
            next = (asked + LEASE_RENEW_EVERY).max(Instant::now());
        }
    }

    /// One renewal, given up at `deadline`. The lease is trusted from the moment *before* it was written.
    async fn renew(&self, deadline: Instant) -> Renewal {
        let asked = Instant::now();
        let now = self.outside.now();
        let renewal =
            Command::RenewLease { worker: self.worker, address: self.outside.address(), now, until: now.after(LEASE) };
        match timeout_at(deadline, self.outside.commit(renewal)).await {
            Ok(Ok(Outcome::Done)) => {
                self.trusted_until.send_replace(asked + LEASE - LEASE_MARGIN);
                Renewal::Written
            }
            Ok(Ok(_)) => {
                self.trusted_until.send_replace(asked);
                Renewal::Refused
            }
            Ok(Err(_)) | Err(_) => Renewal::Unheard,
        }
    }
}
