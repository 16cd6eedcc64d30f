//! A bounded pool of readers: threads that each own one and take jobs from one queue. A reader that lost its database
//! is dropped and reopened. Readers of a file are opened when first needed. Those of a shared database are all opened
//! at the start, because its connections are counted and a node that gets one only now and then would fail at random;
//! one that is lost is reopened within a second, also without requests, and until then the pool reports it as missing.
//!
//! Its own threads and not the runtime's blocking ones: a point read takes 20 µs, waking a thread takes longer on a
//! busy machine, and a thread that is awake continues with the next read without being woken again.

use super::{DamageReporter, panic_message, unavailable};
use crate::contract::{Database, Observer, Reader, StoreError};
use engine::limits::READS_WAITING_MAX;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::task::{Context, Poll};
use std::thread;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// How often an idle thread checks whether its reader of a shared database is still good.
const READER_CHECK_INTERVAL: Duration = Duration::from_secs(1);

type Job = Box<dyn FnOnce(&mut ReaderSlot) + Send>;

/// A read that waits for a reader, or for its end: a future of its result.
///
/// A type of its own, where `async fn` would do: hundreds of handlers read, and for each the compiler would make a future that contains the query,
/// and prove of every part of it that it may be sent between threads.
#[must_use = "a read that nothing waits for is skipped"]
pub struct PendingRead<T> {
    /// Why it does not wait at all.
    refusal: Option<StoreError>,
    answer: oneshot::Receiver<Result<T, StoreError>>,
}

impl<T> Future for PendingRead<T> {
    type Output = Result<T, StoreError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(refusal) = self.refusal.take() {
            return Poll::Ready(Err(refusal));
        }
        let lost = || Err(unavailable("the read was cut short: the store is closed"));
        Pin::new(&mut self.answer).poll(context).map(|answer| answer.unwrap_or_else(|_| lost()))
    }
}

/// Readers with their threads and one queue.
pub struct ReaderThreads {
    database: Arc<dyn Database>,
    losses: LossCount,
    queue: Arc<JobQueue>,
    observer: Arc<dyn Observer>,
    damages: Arc<DamageReporter>,
    count: usize,
    /// Counts those of [`ReaderThreads::dedicated`], too.
    missing: Arc<MissingReaders>,
    /// Those of [`ReaderThreads::dedicated`]: they are closed with these.
    dedicated: Mutex<Vec<Apart>>,
}

/// What is known here of readers apart.
#[derive(Clone)]
struct Apart {
    queue: Arc<JobQueue>,
    count: usize,
}

/// The readers that could not be opened when that was last tried.
#[derive(Default)]
struct MissingReaders {
    count: AtomicUsize,
    /// The last error from the database.
    why: Mutex<Option<StoreError>>,
}

/// What a thread does next.
enum NextWork {
    Run(Job),
    /// Nothing came for a while.
    CheckReader,
}

/// What waits, and who. A thread is woken only if one sleeps.
#[derive(Default)]
struct JobQueue {
    state: Mutex<JobQueueState>,
    job_ready: Condvar,
}

#[derive(Default)]
struct JobQueueState {
    jobs: VecDeque<Job>,
    idle_threads: usize,
    /// The threads end when they have done what waits.
    is_closed: bool,
}

/// How often the database was lost so far, as noticed by any thread. A reader opened before the last loss is reopened
/// before its next use: its connection is dead, and a caller's read would fail on it.
pub(super) type LossCount = Arc<AtomicU64>;

/// One thread's reader.
struct ReaderSlot {
    database: Arc<dyn Database>,
    reader: Option<Box<dyn Reader>>,
    losses: LossCount,
    /// [`LossCount`] when the reader was opened.
    losses_before: u64,
    missing: Arc<MissingReaders>,
    /// Whether this one is counted there.
    is_missing: bool,
    damages: Arc<DamageReporter>,
}

impl ReaderThreads {
    /// Starts the threads; they open nothing yet.
    pub(super) fn new(
        database: &Arc<dyn Database>,
        count: usize,
        observer: Arc<dyn Observer>,
        losses: &LossCount,
        damages: &Arc<DamageReporter>,
    ) -> Result<Self, StoreError> {
        Self::start(database, count, observer, losses, Arc::default(), damages)
    }

    fn start(
        database: &Arc<dyn Database>,
        count: usize,
        observer: Arc<dyn Observer>,
        losses: &LossCount,
        missing: Arc<MissingReaders>,
        damages: &Arc<DamageReporter>,
    ) -> Result<Self, StoreError> {
        let (queue, count) = (Arc::<JobQueue>::default(), count.max(1));
        for _ in 0..count {
            let slot = ReaderSlot {
                database: Arc::clone(database),
                reader: None,
                losses: Arc::clone(losses),
                losses_before: 0,
                missing: Arc::clone(&missing),
                is_missing: false,
                damages: Arc::clone(damages),
            };
            let jobs = Arc::clone(&queue);
            let started = thread::Builder::new().name("store-reader".to_owned()).spawn(move || run_reader(slot, &jobs));
            if let Err(error) = started {
                queue.close();
                return Err(unavailable(&format!("no thread for a reader: {error}")));
            }
        }
        let (database, losses, damages) = (Arc::clone(database), Arc::clone(losses), Arc::clone(damages));
        Ok(Self { database, losses, queue, observer, damages, count, missing, dedicated: Mutex::default() })
    }

    /// Readers of the same database with threads and a queue of their own.
    pub(super) fn dedicated(&self, count: usize, observer: Arc<dyn Observer>) -> Result<Self, StoreError> {
        let missing = Arc::clone(&self.missing);
        let readers = Self::start(&self.database, count, observer, &self.losses, missing, &self.damages)?;
        self.pools_apart().push(Apart { queue: Arc::clone(&readers.queue), count: readers.count });
        Ok(readers)
    }

    /// Opens these readers, now, without those apart. Blocks until each has been tried.
    pub(super) fn open_all(&self) -> Result<(), StoreError> {
        let refused = open(&self.queue, self.count)?;
        all_given(refused, 1 + self.count, &format!("one to write and {} to read", self.count))
    }

    /// Opens all readers apart, now. Blocks until each has been tried.
    pub(super) fn open_all_apart(&self) -> Result<(), StoreError> {
        let pools = self.pools_apart().clone();
        let mut refused = Vec::new();
        for pool in &pools {
            refused.extend(open(&pool.queue, pool.count)?);
        }
        let apart = pools.iter().map(|pool| pool.count).sum::<usize>();
        let what = format!("one to write, {} to read and {apart} to read apart from those", self.count);
        all_given(refused, 1 + self.count + apart, &what)
    }

    /// How many readers could not be opened when that was last tried, and why the last of them could not.
    pub(super) fn missing(&self) -> Option<(usize, StoreError)> {
        let why = self.missing.why.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
        Some((self.missing.count.load(Ordering::Acquire), why)).filter(|(count, _)| *count > 0)
    }

    /// Runs a read as soon as a reader is free, on its thread. A read whose caller was dropped before it began is skipped.
    ///
    /// # Errors
    /// As for [`super::Store::read`].
    pub fn read<T: Send + 'static>(
        &self,
        query: impl FnOnce(&mut dyn Reader) -> Result<T, StoreError> + Send + 'static,
    ) -> PendingRead<T> {
        let (reply, answer) = oneshot::channel();
        let (asked_at, observer) = (Instant::now(), Arc::clone(&self.observer));
        let job = move |slot: &mut ReaderSlot| {
            if reply.is_closed() {
                return;
            }
            let began = Instant::now();
            let result = slot.run_query(query);
            observer.read(began - asked_at, began.elapsed(), result.is_ok());
            let _ = reply.send(result);
        };
        PendingRead { refusal: self.queue.push(Box::new(job)).err(), answer }
    }

    /// Lets the threads end once they have done what waits, and those of the readers apart.
    pub(super) fn close(&self) {
        self.queue.close();
        self.pools_apart().iter().for_each(|pool| pool.queue.close());
    }

    /// Whole even if a holder of the lock panicked: each update is one step.
    fn pools_apart(&self) -> MutexGuard<'_, Vec<Apart>> {
        self.dedicated.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Threads that nothing can reach any more would keep their connections, and open those that they lost.
impl Drop for ReaderThreads {
    fn drop(&mut self) {
        self.close();
    }
}

/// Opens the readers of all `count` threads of a queue; returns the errors of those that failed.
fn open(queue: &JobQueue, count: usize) -> Result<Vec<StoreError>, StoreError> {
    // A thread that has one of these waits for all others to have one: each gets exactly one.
    let (all, (tried, answers)) = (Arc::new(Barrier::new(count)), mpsc::channel());
    for _ in 0..count {
        let (all, tried) = (Arc::clone(&all), tried.clone());
        queue.push(Box::new(move |slot| {
            all.wait();
            let _ = tried.send(slot.ensure_open());
        }))?;
    }
    drop(tried);
    Ok(answers.iter().filter_map(Result::err).collect())
}

/// An error that says how many connections are missing, if some were refused.
fn all_given(refused: Vec<StoreError>, needed: usize, what: &str) -> Result<(), StoreError> {
    let got = needed - refused.len();
    match refused.into_iter().next() {
        None => Ok(()),
        Some(StoreError::Unavailable { why }) => Err(unavailable(&format!(
            "it gave {got} of the {needed} connections that this server needs, {what}: {why}"
        ))),
        Some(other) => Err(other),
    }
}

impl JobQueue {
    fn push(&self, job: Job) -> Result<(), StoreError> {
        let mut state = self.lock();
        if state.is_closed {
            return Err(unavailable("the store is closed"));
        }
        if state.jobs.len() >= READS_WAITING_MAX {
            return Err(StoreError::Overloaded { waiting_max: READS_WAITING_MAX });
        }
        state.jobs.push_back(job);
        let has_idle_threads = state.idle_threads > 0;
        drop(state);
        if has_idle_threads {
            self.job_ready.notify_one();
        }
        Ok(())
    }

    /// The next job, as soon as there is one, or nothing to do for so long; `None` when the store is closed and all is done.
    fn next(&self, patience: Option<Duration>) -> Option<NextWork> {
        let mut state = self.lock();
        let mut is_over = false;
        loop {
            if let Some(job) = state.jobs.pop_front() {
                return Some(NextWork::Run(job));
            }
            if state.is_closed {
                return None;
            }
            if is_over {
                return Some(NextWork::CheckReader);
            }
            state.idle_threads += 1;
            state = match patience {
                None => self.job_ready.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(patience) => {
                    let waited = self.job_ready.wait_timeout(state, patience).unwrap_or_else(PoisonError::into_inner);
                    is_over = waited.1.timed_out();
                    waited.0
                }
            };
            state.idle_threads -= 1;
        }
    }

    fn close(&self) {
        self.lock().is_closed = true;
        self.job_ready.notify_all();
    }

    /// Whole even if a holder of the lock panicked: each update is one step.
    fn lock(&self) -> MutexGuard<'_, JobQueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn run_reader(mut slot: ReaderSlot, queue: &JobQueue) {
    let patience = slot.database.is_shared().then_some(READER_CHECK_INTERVAL);
    while let Some(next) = queue.next(patience) {
        match next {
            NextWork::Run(job) => job(&mut slot),
            // Callers that ask how many are missing must see the result of this attempt.
            NextWork::CheckReader => drop(slot.ensure_open()),
        }
    }
}

impl ReaderSlot {
    fn run_query<T>(&mut self, query: impl FnOnce(&mut dyn Reader) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let mut reader = self.take_reader()?;
        let answer = catch_panic(|| query(&mut *reader));
        self.damages.report(&answer, reader.take_damages());
        if matches!(answer, Err(StoreError::Unavailable { .. })) {
            self.losses.fetch_add(1, Ordering::AcqRel);
        } else {
            self.reader = Some(reader);
        }
        answer
    }

    /// Sees to it that there is a good reader.
    fn ensure_open(&mut self) -> Result<(), StoreError> {
        self.reader = Some(self.take_reader()?);
        Ok(())
    }

    /// The reader, opened anew where there is none or the database was lost since.
    fn take_reader(&mut self) -> Result<Box<dyn Reader>, StoreError> {
        let losses = self.losses.load(Ordering::Acquire);
        let taken = match self.reader.take() {
            Some(reader) if self.losses_before == losses => Ok(reader),
            Some(_) | None => catch_panic(|| self.database.reader()),
        };
        self.losses_before = losses;
        self.is_missing = self.missing.record(self.is_missing, taken.as_ref().err());
        taken
    }
}

impl MissingReaders {
    /// Counts a reader that was missing or not and now is or is not; whether it is.
    fn record(&self, was_missing: bool, error: Option<&StoreError>) -> bool {
        if let Some(error) = error {
            *self.why.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.clone());
        }
        match (was_missing, error.is_some()) {
            (false, true) => {
                self.count.fetch_add(1, Ordering::AcqRel);
            }
            (true, false) => {
                self.count.fetch_sub(1, Ordering::AcqRel);
            }
            (false, false) | (true, true) => {}
        }
        error.is_some()
    }
}

fn catch_panic<T>(work: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|panic| Err(unavailable(&format!("a read panicked: {}", panic_message(&*panic)))))
}
