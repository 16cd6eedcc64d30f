//! A worker's lease as its owner sees it. Where other processes may take over, it is written every second, trusted only until shortly
//! before it ends, and by the monotonic clock. Where nobody else can, it is written once and lasts as long as its owner: a disk
//! that stalls, a machine that sleeps and a clock that is set cost nobody anything.
//!
//! Whoever acts for the worker asks `Lease::is_valid` first. Knows nothing of what the worker owns under it: matches, card tables and
//! worlds are owned by workers with a lease each.

use crate::config::Config;
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

/// Pause before the store is asked again for a first lease; it doubles up to [`LEASE_RENEW_INTERVAL`].
const ACQUIRE_PAUSE_MIN: Duration = Duration::from_millis(50);

/// What a worker touches of the world to have a lease: the clock that all nodes share, dice for its name, and the store.
pub trait LeaseContext: Clone + Send + Sync + 'static {
    /// The time, on the clock that all nodes share.
    fn now(&self) -> UnixMs;
    /// Random bytes for the id of a new worker.
    fn random_bytes(&self) -> [u8; 10];
    /// Where other nodes reach this one: `host:port`.
    fn address(&self) -> String;
    /// Whether no other process can serve from this store while this one lives: then nobody can take anything over, and a lease
    /// needs no end. Whoever says so has ended the leases of the processes before it ([`inherit`]).
    fn has_exclusive_store(&self) -> bool;
    /// Saves one command.
    fn commit(&self, command: Command) -> impl Future<Output = Result<Outcome, StoreError>> + Send;
}

/// Ends the leases of the processes before this one, where it is alone: they are dead, or it would not have got the lock of the
/// database. What they owned is free at once. Owners of a shared database may be alive, and are left alone.
///
/// # Errors
/// The store's. Without this nothing may be served: those leases have no end of their own.
pub async fn end_previous_leases(tenant: &impl LeaseContext) -> Result<(), StoreError> {
    if !tenant.has_exclusive_store() {
        return Ok(());
    }
    match tenant.commit(Command::EndAllLeases).await? {
        Outcome::Done => Ok(()),
        other => {
            tracing::error!(outcome = ?other, "the store answered the end of all leases with something else");
            Err(StoreError::Unavailable { why: "the leases of earlier processes could not be ended".to_owned() })
        }
    }
}

/// The place of one kind of worker in a process. Who had it last is remembered until the store knows that his lease is over: whoever
/// comes next ends it first, so that no earlier life of this process stands in the way of a later one. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct LeaseSlot {
    last_holder: Arc<Mutex<Option<WorkerId>>>,
}

impl LeaseSlot {
    /// Whether this worker has the seat, or had it last.
    pub(crate) fn is_held_by(&self, worker: WorkerId) -> bool {
        *self.lock() == Some(worker)
    }

    /// Gives a worker's lease up: what it still owns is free at once. Should it not be saved, its successor does it again, or it ends
    /// by itself.
    pub(crate) async fn release(&self, tenant: &impl LeaseContext, worker: WorkerId) {
        if tenant.commit(Command::EndLease { worker }).await.is_ok() {
            self.lock().take_if(|last| *last == worker);
        }
    }

    /// Gives up the lease of the last worker, also one that is still being written: of a process that leaves, no successor will end it.
    pub(crate) async fn vacate(&self, tenant: &impl LeaseContext) {
        let last = *self.lock();
        if let Some(worker) = last {
            self.release(tenant, worker).await;
        }
    }

    /// Whoever had it before; `None` if it is free for `worker`.
    fn previous(&self, worker: WorkerId) -> Option<WorkerId> {
        self.lock().filter(|last| *last != worker)
    }

    fn set_holder(&self, worker: WorkerId) {
        *self.lock() = Some(worker);
    }

    /// Every change is one assignment: it is whole even if a holder of the lock panicked.
    fn lock(&self) -> MutexGuard<'_, Option<WorkerId>> {
        self.last_holder.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A view of the lease, cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Lease {
    validity: watch::Receiver<Validity>,
}

/// How far an owner trusts its lease.
#[derive(Clone, Copy, Debug)]
enum Validity {
    Invalid,
    Until(Instant),
    /// Until the store says otherwise.
    Always,
}

/// The side that renews.
pub(crate) struct LeaseRenewer<T> {
    context: T,
    worker: WorkerId,
    slot: LeaseSlot,
    validity: watch::Sender<Validity>,
}

/// What came of one renewal.
enum Renewal {
    Written,
    /// The store says that the lease has ended.
    Refused,
    /// Saved or not: nobody knows.
    Unknown,
}

impl Lease {
    /// Whether the worker may act.
    pub(crate) fn is_valid(&self) -> bool {
        match *self.validity.borrow() {
            Validity::Invalid => false,
            Validity::Until(end) => Instant::now() < end,
            Validity::Always => true,
        }
    }

    /// One that holds, for tests that are about something else.
    #[cfg(test)]
    pub(crate) fn always_valid() -> Self {
        Self { validity: watch::channel(Validity::Always).1 }
    }
}

impl<T: LeaseContext> LeaseRenewer<T> {
    /// A keeper whose lease does not hold yet.
    pub(crate) fn new(tenant: T, worker: WorkerId, seat: LeaseSlot) -> (Self, Lease) {
        let (sender, receiver) = watch::channel(Validity::Invalid);
        (Self { context: tenant, worker, slot: seat, validity: sender }, Lease { validity: receiver })
    }

    /// Ends the lease of whoever sat here before and writes this one for the first time, trying until the store answers. Whether it
    /// holds: a first attempt may have been saved unheard, and its lease may have ended before the next one arrived. That
    /// worker's life is over before it began.
    pub(crate) async fn acquire(&self) -> bool {
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

    /// Renews until the lease is lost: refused by the store, or not written in time. One without an end is not renewed: only the
    /// store can say that it is lost, to whoever claims under it.
    pub(crate) async fn renew_until_lost(&self) {
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

    /// How long until the next renewal, at most [`LEASE_RENEW_INTERVAL`]. All leases of a process are renewed in the same moments, so that
    /// they share a commit; other processes, at other addresses, have moments of their own.
    fn until_next_renewal(&self) -> Duration {
        let every_ms = LEASE_RENEW_INTERVAL.as_millis() as u64;
        let own =
            self.context.address().bytes().fold(0, |own: u64, byte| own.wrapping_mul(31).wrapping_add(byte.into()));
        let now_ms = u64::try_from(self.context.now().0).unwrap_or(0);
        Duration::from_millis(every_ms - now_ms.wrapping_add(own) % every_ms)
    }

    /// How long a first lease may be on its way: one with an end is worth nothing after it.
    fn first_deadline(&self) -> Option<Instant> {
        (!self.context.has_exclusive_store()).then(|| Instant::now() + LEASE_DURATION)
    }

    /// One renewal, given up at the deadline, if there is one. The lease is trusted from the moment *before* it was written.
    async fn renew(&self, deadline: Option<Instant>) -> Renewal {
        let asked = Instant::now();
        let now = self.context.now();
        let (until, trust) = match self.context.has_exclusive_store() {
            true => (UnixMs::MAX, Validity::Always),
            false => (now.plus(LEASE_DURATION), Validity::Until(asked + LEASE_DURATION - LEASE_MARGIN)),
        };
        let renewal = Command::RenewLease { worker: self.worker, address: self.context.address(), now, until };
        let commit = self.context.commit(renewal);
        let answer = match deadline {
            Some(deadline) => timeout_at(deadline, commit).await.ok(),
            None => Some(commit.await),
        };
        match answer {
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

/// Where other nodes are told to reach this one.
pub(crate) fn advertised(config: &Config) -> String {
    config.advertise.clone().unwrap_or_else(|| advertised_address(config.address))
}

/// Where others reach a process of this machine that listens on `address`.
fn advertised_address(address: SocketAddr) -> String {
    advertised_address_on(address, &rustix::system::uname().nodename().to_string_lossy())
}

/// "Every interface" is no place to them, and on every node the same: the machine's
/// name stands for it.
fn advertised_address_on(address: SocketAddr, machine: &str) -> String {
    if address.ip().is_unspecified() { format!("{machine}:{}", address.port()) } else { address.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// A process that remembers what it wrote, and when.
    #[derive(Clone)]
    struct Process {
        began: Instant,
        address: &'static str,
        is_alone: bool,
        written: Arc<Mutex<Vec<(UnixMs, Command)>>>,
        /// So many of the next commits fail.
        failing: Arc<AtomicUsize>,
        /// So many of the next commits are written, and their answers never come.
        unanswered: Arc<AtomicUsize>,
    }

    impl Process {
        fn new(address: &'static str, is_alone: bool) -> Self {
            let (written, failing, unanswered) = (Arc::default(), Arc::default(), Arc::default());
            Self { began: Instant::now(), address, is_alone, written, failing, unanswered }
        }

        /// Leases that were written, and those that were ended, by worker.
        fn story(&self) -> Vec<String> {
            let written = self.written.lock().unwrap();
            let tell = |(_, command): &(_, Command)| match command {
                Command::RenewLease { worker, until, .. } if *until == UnixMs::MAX => format!("{} for good", worker.0),
                Command::RenewLease { worker, .. } => format!("{} for a while", worker.0),
                Command::EndLease { worker } => format!("{} no more", worker.0),
                Command::EndAllLeases => "nobody".to_owned(),
                other => format!("{other:?}"),
            };
            written.iter().map(tell).collect()
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
                return Err(StoreError::Unavailable { why: "told to fail".to_owned() });
            }
            self.written.lock().unwrap().push((self.now(), command));
            if is_next(&self.unanswered) {
                return std::future::pending().await;
            }
            Ok(Outcome::Done)
        }
    }

    /// When leases of a process at this address are renewed that begin so many milliseconds apart.
    async fn renewals(address: &'static str, apart_ms: u64) -> [Vec<UnixMs>; 2] {
        let began = Instant::now();
        let lease = async |begins_ms| {
            let process = Process { began, ..Process::new(address, false) };
            sleep(Duration::from_millis(begins_ms)).await;
            let (keeper, lease) = LeaseRenewer::new(process.clone(), WorkerId(1), LeaseSlot::default());
            assert!(keeper.acquire().await);
            let end = sleep_until(began + LEASE_RENEW_INTERVAL * 10);
            tokio::select! {
                () = keeper.renew_until_lost() => panic!("the lease is lost"),
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
        assert_ne!(moment(&one), moment(&other), "not all nodes in one moment");
    }

    #[tokio::test(start_paused = true)]
    async fn a_lease_that_cannot_be_renewed_is_lost_unless_nobody_could_take_over() {
        const LONG: Duration = Duration::from_secs(7 * 24 * 3_600);
        for (is_alone, held_for) in [(false, LEASE_DURATION - LEASE_MARGIN), (true, LONG)] {
            let process = Process::new("127.0.0.1:4000", is_alone);
            let (keeper, lease) = LeaseRenewer::new(process.clone(), WorkerId(1), LeaseSlot::default());
            assert!(!lease.is_valid() && keeper.acquire().await && lease.is_valid());
            process.failing.store(usize::MAX, Ordering::Relaxed);
            let acquired = Instant::now();
            let _ = tokio::time::timeout(LONG, keeper.renew_until_lost()).await;
            assert_eq!((acquired.elapsed(), lease.is_valid()), (held_for, is_alone));
            let written = if is_alone { "1 for good" } else { "1 for a while" };
            assert_eq!(process.story(), [written]);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_comes_next_ends_the_lease_before() {
        for is_alone in [false, true] {
            let (process, seat) = (Process::new("127.0.0.1:4000", is_alone), LeaseSlot::default());
            let next =
                async |worker| LeaseRenewer::new(process.clone(), WorkerId(worker), seat.clone()).0.acquire().await;
            assert!(next(1).await);
            // Nothing goes on before that is saved.
            process.failing.store(3, Ordering::Relaxed);
            assert!(next(2).await);
            seat.release(&process, WorkerId(1)).await;
            assert!(seat.is_held_by(WorkerId(2)), "a late one takes nothing away");
            seat.release(&process, WorkerId(2)).await;
            assert!(next(3).await);
            let span = if is_alone { "for good" } else { "for a while" };
            let want = [&format!("1 {span}"), "1 no more", &format!("2 {span}"), "1 no more", "2 no more"];
            assert_eq!(process.story()[..5], want.map(str::to_owned));
            assert_eq!(process.story()[5..], [format!("3 {span}")], "whoever left in order is not ended again");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_leaves_while_a_lease_is_written_ends_it() {
        for is_alone in [false, true] {
            let (process, seat) = (Process::new("127.0.0.1:4000", is_alone), LeaseSlot::default());
            seat.vacate(&process).await;
            assert_eq!(process.story(), [""; 0], "nothing was written yet");
            process.unanswered.store(1, Ordering::Relaxed);
            let (keeper, lease) = LeaseRenewer::new(process.clone(), WorkerId(1), seat.clone());
            let acquired = tokio::time::timeout(Duration::from_millis(1), keeper.acquire()).await;
            assert!(acquired.is_err() && !lease.is_valid());
            seat.vacate(&process).await;
            seat.vacate(&process).await;
            assert_eq!(process.story()[1..], ["1 no more"]);
        }
    }

    #[tokio::test]
    async fn only_who_is_alone_inherits() {
        for (is_alone, want) in [(false, &[][..]), (true, &["nobody"])] {
            let process = Process::new("127.0.0.1:4000", is_alone);
            end_previous_leases(&process).await.unwrap();
            assert_eq!(process.story(), want);
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
    fn who_listens_everywhere_is_reached_by_the_machines_name() {
        check("127.0.0.1:4000", "127.0.0.1:4000");
        check("10.0.0.7:80", "10.0.0.7:80");
        check("[::1]:4000", "[::1]:4000");
        check("0.0.0.0:4000", "node-a:4000");
        check("[::]:4001", "node-a:4001");
    }
}
