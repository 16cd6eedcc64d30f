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
        let mut next = Instant::now() + self.pause();
        loop {
            let until = *self.trusted_until.borrow();
            if next >= until {
                sleep_until(until).await;
                return;
            }
            sleep_until(next).await;
            self.renew(until).await;
            next = Instant::now() + self.pause();
        }
    }

    /// How long until the next renewal, at most [`LEASE_RENEW_EVERY`]. All leases of a process are renewed in the same moments, so that
    /// they share a commit; other processes, at other addresses, have moments of their own.
    fn pause(&self) -> Duration {
        let every_ms = LEASE_RENEW_EVERY.as_millis() as u64;
        let own =
            self.tenant.address().bytes().fold(0, |own: u64, byte| own.wrapping_mul(31).wrapping_add(byte.into()));
        let now_ms = u64::try_from(self.tenant.now().0).unwrap_or(0);
        Duration::from_millis(every_ms - now_ms.wrapping_add(own) % every_ms)
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
    use std::sync::{Arc, Mutex};

    /// A process that remembers when it wrote.
    #[derive(Clone)]
    struct Process {
        began: Instant,
        address: &'static str,
        renewals: Arc<Mutex<Vec<UnixMs>>>,
    }

    impl Tenant for Process {
        fn now(&self) -> UnixMs {
            UnixMs(1_700_000_000_123).after(self.began.elapsed())
        }

        fn random(&self) -> [u8; 10] {
            [0; 10]
        }

        fn address(&self) -> String {
            self.address.to_owned()
        }

        async fn commit(&self, _: Command) -> Result<Outcome, StoreError> {
            self.renewals.lock().unwrap().push(self.now());
            Ok(Outcome::Done)
        }
    }

    /// When leases of a process at this address are renewed that begin so many milliseconds apart.
    async fn renewals(address: &'static str, apart_ms: u64) -> [Vec<UnixMs>; 2] {
        let began = Instant::now();
        let lease = async |begins_ms| {
            let process = Process { began, address, renewals: Arc::default() };
            sleep(Duration::from_millis(begins_ms)).await;
            let (keeper, lease) = Keeper::new(process.clone(), WorkerId(1));
            assert!(keeper.acquire().await);
            let end = sleep_until(began + LEASE_RENEW_EVERY * 10);
            tokio::select! {
                () = keeper.keep() => panic!("the lease is lost"),
                () = end => assert!(lease.holds()),
            }
            // The first is written when it is needed.
            process.renewals.lock().unwrap().split_off(1)
        };
        let (one, other) = tokio::join!(lease(0), lease(apart_ms));
        [one, other]
    }

    #[tokio::test(start_paused = true)]
    async fn leases_of_one_process_are_renewed_together_and_in_time() {
        for apart_ms in [1, 250, 700] {
            let [one, other] = renewals("127.0.0.1:4000", apart_ms).await;
            assert_eq!(one[one.len() - 9..], other[other.len() - 9..], "{apart_ms} ms apart");
            let gaps = one.windows(2).map(|pair| pair[1].since(pair[0]));
            assert!(gaps.clone().all(|gap| gap <= LEASE_RENEW_EVERY), "{:?}", gaps.collect::<Vec<_>>());
        }
        let ([one, _], [other, _]) = (renewals("127.0.0.1:4000", 1).await, renewals("127.0.0.1:4001", 1).await);
        let moment = |renewals: &[UnixMs]| renewals[0].0 % 1_000;
        assert_ne!(moment(&one), moment(&other), "not all nodes in one moment");
    }

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
