//! A worker's lease as its owner sees it: written to the store every second, trusted only until shortly before it ends, and
//! by the monotonic clock. Whoever acts for the worker asks `Lease::holds` first.
//!
//! Knows nothing of what the worker owns under it: matches and card tables are owned by workers with a lease each.

use engine::commands::{Command, Outcome};
use engine::ids::WorkerId;
use engine::limits::{LEASE, LEASE_MARGIN, LEASE_RENEW_EVERY};
use engine::time::UnixMs;
use std::net::SocketAddr;
use std::time::Duration;
use store::StoreError;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

/// What a worker touches of the world to have a lease: the clock that all nodes share, dice for its name, and the store.
pub trait Tenant: Clone + Send + Sync + 'static {
    /// The time, on the clock that all nodes share.
    fn now(&self) -> UnixMs;
    /// Random bytes for the id of a new worker.
    fn random(&self) -> [u8; 10];
    /// Where other nodes reach this one: `host:port`.
    fn address(&self) -> String;
    /// Saves one command.
    fn commit(&self, command: Command) -> impl Future<Output = Result<Outcome, StoreError>> + Send;
}

/// A view of the lease, cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Lease {
    trusted_until: watch::Receiver<Instant>,
}

/// The side that renews.
pub(crate) struct Keeper<T> {
    tenant: T,
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
    pub(crate) fn holds(&self) -> bool {
        Instant::now() < *self.trusted_until.borrow()
    }
}

impl<T: Tenant> Keeper<T> {
    /// A keeper whose lease does not hold yet.
    pub(crate) fn new(tenant: T, worker: WorkerId) -> (Self, Lease) {
        let (sender, receiver) = watch::channel(Instant::now());
        (Self { tenant, worker, trusted_until: sender }, Lease { trusted_until: receiver })
    }

    /// Writes the lease for the first time, trying until the store answers. Whether it holds: a first attempt may have been
    /// saved unheard, and its lease may have ended before the next one arrived. That worker's life is over before it began.
    pub(crate) async fn acquire(&self) -> bool {
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
    pub(crate) async fn keep(&self) {
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
        let now = self.tenant.now();
        let renewal =
            Command::RenewLease { worker: self.worker, address: self.tenant.address(), now, until: now.after(LEASE) };
        match timeout_at(deadline, self.tenant.commit(renewal)).await {
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

/// Where others reach a process of this machine that listens on `address`.
pub(crate) fn reachable(address: SocketAddr) -> String {
    reachable_on(address, &rustix::system::uname().nodename().to_string_lossy())
}

/// "Every interface" is no place to them, and on every node the same: the machine's
/// name stands for it.
fn reachable_on(address: SocketAddr, machine: &str) -> String {
    if address.ip().is_unspecified() { format!("{machine}:{}", address.port()) } else { address.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(address: &str, want: &str) {
        assert_eq!(reachable_on(address.parse().unwrap(), "node-a"), want, "{address}");
    }

    #[test]
    fn who_listens_everywhere_is_reached_by_the_machines_name() {
        check("127.0.0.1:4000", "127.0.0.1:4000");
        check("10.0.0.7:80", "10.0.0.7:80");
        check("[::1]:4000", "[::1]:4000");
        check("0.0.0.0:4000", "node-a:4000");
        check("[::]:4001", "node-a:4001");
    }
}
