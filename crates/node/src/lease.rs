//! A worker's lease as its owner sees it. Where other processes may take over, it is written every second, and trusted only until shortly
//! before it ends, by the monotonic clock. Where no other process can, it is written once and lasts as long as its owner: a stalled disk, a
//! machine that sleeps and a clock that is set do no harm.
//!
//! Code that acts for the worker calls `Lease::is_valid` first. Knows nothing of what the worker owns under it: matches, card tables and
//! worlds are owned by workers with a lease each.

use engine::commands::{Command, Outcome};
use engine::ids::WorkerId;
use engine::limits::{LEASE_DURATION, LEASE_MARGIN, LEASE_RENEW_INTERVAL};
use engine::time::UnixMs;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use store::StoreError;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

/// Pause before the first renewal is tried again; it doubles up to [`LEASE_RENEW_INTERVAL`].
const ACQUIRE_PAUSE_MIN: Duration = Duration::from_millis(50);

/// What a lease needs: the clock that all nodes share, random bytes for the worker's id, and the store.
pub trait LeaseContext: Clone + Send + Sync + 'static {
    fn now(&self) -> UnixMs;
    fn random_bytes(&self) -> [u8; 10];
    /// Where other nodes reach this one: `host:port`.
    fn address(&self) -> String;
    /// Whether no other process can serve from this store while this one lives: then no process can take over, and a lease needs no end. A
    /// process that returns true has ended the leases of earlier processes ([`end_previous_leases`]).
    fn has_exclusive_store(&self) -> bool;
    fn commit(&self, command: Command) -> impl Future<Output = Result<Outcome, StoreError>> + Send;
}

/// Ends the leases of earlier processes, where this one has the store for itself: they are dead, or it would not have got the lock of the
/// database. What they owned is free at once. Owners of a shared database may be alive, and keep their leases.
///
/// # Errors
/// The store's. Without this nothing may be served: those leases do not expire.
pub async fn end_previous_leases(context: &impl LeaseContext) -> Result<(), StoreError> {
    if !context.has_exclusive_store() {
        return Ok(());
    }
    match context.commit(Command::EndAllLeases).await? {
        Outcome::Done => Ok(()),
        other => {
            tracing::error!(outcome = ?other, "the store answered the end of all leases with something else");
            Err(StoreError::Unavailable { why: "the leases of earlier processes could not be ended".to_owned() })
        }
    }
}

/// The slot of one kind of worker in a process. The last worker is remembered until the store knows that its lease is over: the next worker
/// ends it first, so that an earlier worker of this process does not delay a later one. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct LeaseSlot {
    last_holder: Arc<Mutex<Option<WorkerId>>>,
}

impl LeaseSlot {
    /// Whether this worker has the slot, or had it last.
    pub fn is_held_by(&self, worker: WorkerId) -> bool {
        *self.lock() == Some(worker)
    }

    /// Ends a worker's lease: what it still owns is free at once. If that is not saved, the next worker does it again, or the lease
    /// expires.
    pub async fn release(&self, context: &impl LeaseContext, worker: WorkerId) {
        if context.commit(Command::EndLease { worker }).await.is_ok() {
            self.lock().take_if(|last| *last == worker);
        }
    }

    /// Ends the lease of the last worker, also one that is still being written: for a process that drains, after which no next worker ends
    /// it.
    pub async fn vacate(&self, context: &impl LeaseContext) {
        let last = *self.lock();
        if let Some(worker) = last {
            self.release(context, worker).await;
        }
    }

    /// The worker that had the slot before; `None` if it is free for `worker`.
    fn previous(&self, worker: WorkerId) -> Option<WorkerId> {
        self.lock().filter(|last| *last != worker)
    }

    fn set_holder(&self, worker: WorkerId) {
        *self.lock() = Some(worker);
    }

    /// Every change is one assignment: consistent even if a holder of the lock panicked.
    fn lock(&self) -> MutexGuard<'_, Option<WorkerId>> {
        self.last_holder.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A view of the lease, cheap to clone.
#[derive(Clone, Debug)]
pub struct Lease {
    validity: watch::Receiver<Validity>,
}

/// How long an owner trusts its lease.
#[derive(Clone, Copy, Debug)]
enum Validity {
    Invalid,
    Until(Instant),
    /// Until the store refuses it.
    Always,
}

/// The side that renews.
pub struct LeaseRenewer<T> {
    context: T,
    worker: WorkerId,
    slot: LeaseSlot,
    validity: watch::Sender<Validity>,
}

/// The result of one renewal.
enum Renewal {
    Written,
    /// The store says that the lease has ended.
    Refused,
    /// Saved or not: unknown.
    Unknown,
}

impl Lease {
    pub fn is_valid(&self) -> bool {
        match *self.validity.borrow() {
            Validity::Invalid => false,
            Validity::Until(end) => Instant::now() < end,
            Validity::Always => true,
        }
    }

    /// A valid lease, for tests about something else.
    #[cfg(any(test, feature = "testing"))]
    #[must_use]
    pub fn always_valid() -> Self {
        Self { validity: watch::channel(Validity::Always).1 }
    }
}

impl<T: LeaseContext> LeaseRenewer<T> {
    /// A renewer whose lease is not valid yet.
    pub fn new(context: T, worker: WorkerId, slot: LeaseSlot) -> (Self, Lease) {
        let (sender, receiver) = watch::channel(Validity::Invalid);
        (Self { context, worker, slot, validity: sender }, Lease { validity: receiver })
    }

    /// Ends the lease of the slot's previous worker and writes this one for the first time, trying until the store answers. Returns whether
    /// it is valid: a first attempt may have been saved without a response, and its lease may have ended before the next one arrived. Then
    /// this worker is over before it began.
    pub async fn acquire(&self) -> bool {
        let mut pause = ACQUIRE_PAUSE_MIN;
        loop {
            if let Some(before) = self.slot.previous(self.worker) {
                self.slot.release(&self.context, before).await;
            }
            if self.slot.previous(self.worker).is_none() {
                self.slot.set_holder(self.worker);
                match self.renew(self.first_deadline()).await {
                    Renewal::Written => return true,
                    Renewal::Refused => return false,
                    Renewal::Unknown => {}
                }
            }
            sleep(pause).await;
            pause = (pause * 2).min(LEASE_RENEW_INTERVAL);
        }
    }

    /// Renews until the lease is lost: refused by the store, or not written in time. One without an end is not renewed: that it is lost
    /// only the store can say, to a claim under it.
    pub async fn renew_until_lost(&self) {
        let mut next = Instant::now() + self.until_next_renewal();
        loop {
            let trust = *self.validity.borrow();
            let until = match trust {
                Validity::Invalid => return,
                Validity::Until(until) => until,
                Validity::Always => return std::future::pending().await,
            };
            if next >= until {
                sleep_until(until).await;
                return;
            }
            sleep_until(next).await;
            self.renew(Some(until)).await;
            next = Instant::now() + self.until_next_renewal();
        }
    }

    /// How long until the next renewal, at most [`LEASE_RENEW_INTERVAL`]. All leases of a process are renewed at the same moments, so that
    /// they share a commit; other processes, at other addresses, have other moments.
    fn until_next_renewal(&self) -> Duration {
        let every_ms = LEASE_RENEW_INTERVAL.as_millis() as u64;
        let own =
            self.context.address().bytes().fold(0, |own: u64, byte| own.wrapping_mul(31).wrapping_add(byte.into()));
        let now_ms = u64::try_from(self.context.now().0).unwrap_or(0);
        Duration::from_millis(every_ms - now_ms.wrapping_add(own) % every_ms)
    }

    /// How long the first write of a lease may take: one with an end is worthless afterwards.
    fn first_deadline(&self) -> Option<Instant> {
        (!self.context.has_exclusive_store()).then(|| Instant::now() + LEASE_DURATION)
    }

    /// One renewal, abandoned at the deadline, if there is one. The lease is trusted from the moment *before* it was written.
    async fn renew(&self, deadline: Option<Instant>) -> Renewal {
        let started_at = Instant::now();
        let now = self.context.now();
        let (until, trust) = match self.context.has_exclusive_store() {
            true => (UnixMs::MAX, Validity::Always),
            false => (now.plus(LEASE_DURATION), Validity::Until(started_at + LEASE_DURATION - LEASE_MARGIN)),
        };
        let renewal = Command::RenewLease { worker: self.worker, address: self.context.address(), now, until };
        let commit = self.context.commit(renewal);
        let response = match deadline {
            Some(deadline) => timeout_at(deadline, commit).await.ok(),
            None => Some(commit.await),
        };
        match response {
            Some(Ok(Outcome::Done)) => {
                self.validity.send_replace(trust);
                Renewal::Written
            }
            Some(Ok(_)) => {
                self.validity.send_replace(Validity::Invalid);
                Renewal::Refused
            }
            Some(Err(_)) | None => Renewal::Unknown,
        }
    }
}

/// The address at which others reach a process of this machine that listens on `address`.
#[must_use]
pub fn advertised_address(address: SocketAddr) -> String {
    advertised_address_on(address, &rustix::system::uname().nodename().to_string_lossy())
}

/// "Every interface" is no address for others, and the same on every node: the machine's name stands for it.
fn advertised_address_on(address: SocketAddr, machine: &str) -> String {
    if address.ip().is_unspecified() { format!("{machine}:{}", address.port()) } else { address.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// A process that records what it wrote, and when.
    #[derive(Clone)]
    struct Process {
        began: Instant,
        address: &'static str,
        is_alone: bool,
        written: Arc<Mutex<Vec<(UnixMs, Command)>>>,
        /// The number of next commits that fail.
        failing: Arc<AtomicUsize>,
        /// The number of next commits that are written without a response.
        unanswered: Arc<AtomicUsize>,
    }

    impl Process {
        fn new(address: &'static str, is_alone: bool) -> Self {
            let (written, failing, unanswered) = (Arc::default(), Arc::default(), Arc::default());
            Self { began: Instant::now(), address, is_alone, written, failing, unanswered }
        }

        /// The leases that were written or ended, by worker.
        fn history(&self) -> Vec<String> {
            let written = self.written.lock().unwrap();
            let describe = |(_, command): &(_, Command)| match command {
                Command::RenewLease { worker, until, .. } if *until == UnixMs::MAX => format!("{} for good", worker.0),
                Command::RenewLease { worker, .. } => format!("{} for a while", worker.0),
                Command::EndLease { worker } => format!("{} no more", worker.0),
                Command::EndAllLeases => "all ended".to_owned(),
                other => format!("{other:?}"),
            };
            written.iter().map(describe).collect()
        }
    }

    impl LeaseContext for Process {
        fn now(&self) -> UnixMs {
            UnixMs(1_700_000_000_123).plus(self.began.elapsed())
        }

        fn random_bytes(&self) -> [u8; 10] {
            [0; 10]
        }

        fn address(&self) -> String {
            self.address.to_owned()
        }

        fn has_exclusive_store(&self) -> bool {
            self.is_alone
        }

        async fn commit(&self, command: Command) -> Result<Outcome, StoreError> {
            let is_next = |left: &AtomicUsize| {
                left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
            };
            if is_next(&self.failing) {
                return Err(StoreError::Unavailable { why: "made to fail".to_owned() });
            }
            self.written.lock().unwrap().push((self.now(), command));
            if is_next(&self.unanswered) {
                return std::future::pending().await;
            }
            Ok(Outcome::Done)
        }
    }

    /// The moments of renewal of two leases of a process at this address that start this far apart.
    async fn renewals(address: &'static str, apart_ms: u64) -> [Vec<UnixMs>; 2] {
        let began = Instant::now();
        let lease = async |begins_ms| {
            let process = Process { began, ..Process::new(address, false) };
            sleep(Duration::from_millis(begins_ms)).await;
            let (renewer, lease) = LeaseRenewer::new(process.clone(), WorkerId(1), LeaseSlot::default());
            assert!(renewer.acquire().await);
            let end = sleep_until(began + LEASE_RENEW_INTERVAL * 10);
            tokio::select! {
                () = renewer.renew_until_lost() => panic!("the lease is lost"),
                () = end => assert!(lease.is_valid()),
            }
            // The first is written when it is needed.
            process.written.lock().unwrap().iter().skip(1).map(|(at, _)| *at).collect()
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
            assert!(gaps.clone().all(|gap| gap <= LEASE_RENEW_INTERVAL), "{:?}", gaps.collect::<Vec<_>>());
        }
        let ([one, _], [other, _]) = (renewals("127.0.0.1:4000", 1).await, renewals("127.0.0.1:4001", 1).await);
        let moment = |renewals: &[UnixMs]| renewals[0].0 % 1_000;
        assert_ne!(moment(&one), moment(&other), "not all nodes at one moment");
    }

    #[tokio::test(start_paused = true)]
    async fn a_lease_that_cannot_be_renewed_is_lost_unless_no_process_could_take_over() {
        const LONG: Duration = Duration::from_secs(7 * 24 * 3_600);
        for (is_alone, held_for) in [(false, LEASE_DURATION - LEASE_MARGIN), (true, LONG)] {
            let process = Process::new("127.0.0.1:4000", is_alone);
            let (renewer, lease) = LeaseRenewer::new(process.clone(), WorkerId(1), LeaseSlot::default());
            assert!(!lease.is_valid() && renewer.acquire().await && lease.is_valid());
            process.failing.store(usize::MAX, Ordering::Relaxed);
            let acquired = Instant::now();
            let _ = tokio::time::timeout(LONG, renewer.renew_until_lost()).await;
            assert_eq!((acquired.elapsed(), lease.is_valid()), (held_for, is_alone));
            let written = if is_alone { "1 for good" } else { "1 for a while" };
            assert_eq!(process.history(), [written]);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_next_worker_ends_the_previous_lease() {
        for is_alone in [false, true] {
            let (process, slot) = (Process::new("127.0.0.1:4000", is_alone), LeaseSlot::default());
            let next =
                async |worker| LeaseRenewer::new(process.clone(), WorkerId(worker), slot.clone()).0.acquire().await;
            assert!(next(1).await);
            // It does not go on before that is saved.
            process.failing.store(3, Ordering::Relaxed);
            assert!(next(2).await);
            slot.release(&process, WorkerId(1)).await;
            assert!(slot.is_held_by(WorkerId(2)), "a late release changes nothing");
            slot.release(&process, WorkerId(2)).await;
            assert!(next(3).await);
            let duration = if is_alone { "for good" } else { "for a while" };
            let want = [&format!("1 {duration}"), "1 no more", &format!("2 {duration}"), "1 no more", "2 no more"];
            assert_eq!(process.history()[..5], want.map(str::to_owned));
            assert_eq!(
                process.history()[5..],
                [format!("3 {duration}")],
                "a lease that was released is not ended again"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_drain_while_a_lease_is_written_ends_it() {
        for is_alone in [false, true] {
            let (process, slot) = (Process::new("127.0.0.1:4000", is_alone), LeaseSlot::default());
            slot.vacate(&process).await;
            assert_eq!(process.history(), [""; 0], "nothing was written yet");
            process.unanswered.store(1, Ordering::Relaxed);
            let (renewer, lease) = LeaseRenewer::new(process.clone(), WorkerId(1), slot.clone());
            let acquired = tokio::time::timeout(Duration::from_millis(1), renewer.acquire()).await;
            assert!(acquired.is_err() && !lease.is_valid());
            slot.vacate(&process).await;
            slot.vacate(&process).await;
            assert_eq!(process.history()[1..], ["1 no more"]);
        }
    }

    #[tokio::test]
    async fn only_the_single_process_of_a_store_ends_previous_leases() {
        for (is_alone, want) in [(false, &[][..]), (true, &["all ended"])] {
            let process = Process::new("127.0.0.1:4000", is_alone);
            end_previous_leases(&process).await.unwrap();
            assert_eq!(process.history(), want);
        }
        let process = Process::new("127.0.0.1:4000", true);
        process.failing.store(1, Ordering::Relaxed);
        assert!(end_previous_leases(&process).await.is_err(), "nothing may be served without it");
    }

    #[track_caller]
    fn check(address: &str, want: &str) {
        assert_eq!(advertised_address_on(address.parse().unwrap(), "node-a"), want, "{address}");
    }

    #[test]
    fn a_server_on_every_interface_is_reached_by_the_machines_name() {
        check("127.0.0.1:4000", "127.0.0.1:4000");
        check("10.0.0.7:80", "10.0.0.7:80");
        check("[::1]:4000", "[::1]:4000");
        check("0.0.0.0:4000", "node-a:4000");
        check("[::]:4001", "node-a:4001");
    }
}
