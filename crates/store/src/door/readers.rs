//! A bounded pool of readers: threads that each own one, opened when first needed, and take what waits from one queue. A
//! reader that lost its database is dropped and opened anew.
//!
//! Threads of our own and not the runtime's blocking ones: a point read takes 20 µs, waking a thread takes longer on a busy
//! machine, and whoever is awake here goes on to the next read without being woken again.

use super::{panic_text, unavailable};
use crate::contract::{Database, Observer, Reader, StoreError};
use engine::limits::READS_WAITING_MAX;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;
use tokio::sync::oneshot;

type Job = Box<dyn FnOnce(&mut Seat) + Send>;

pub(super) struct Readers {
    queue: Arc<Queue>,
    observer: Arc<dyn Observer>,
}

/// What waits, and who. A thread is woken only if one sleeps.
#[derive(Default)]
struct Queue {
    line: Mutex<Line>,
    job_came: Condvar,
}

#[derive(Default)]
struct Line {
    jobs: VecDeque<Job>,
    sleeping: usize,
    /// The threads end when they have done what waits.
    is_closed: bool,
}

/// How often the database was lost so far, as anybody at the door noticed. A reader opened before the last loss is opened anew
/// before it is asked: its connection is dead, and somebody's read would have to find that out.
pub(super) type Losses = Arc<AtomicU64>;

/// One thread's reader.
struct Seat {
    database: Arc<dyn Database>,
    reader: Option<Box<dyn Reader>>,
    losses: Losses,
    /// [`Losses`] when the reader was opened.
    losses_before: u64,
}

impl Readers {
    /// Starts the threads; they open nothing yet.
    pub(super) fn new(
        database: &Arc<dyn Database>,
        count: usize,
        observer: Arc<dyn Observer>,
        losses: &Losses,
    ) -> Result<Self, StoreError> {
        let queue = Arc::<Queue>::default();
        for _ in 0..count.max(1) {
            let losses = Arc::clone(losses);
            let seat = Seat { database: Arc::clone(database), reader: None, losses, losses_before: 0 };
            let jobs = Arc::clone(&queue);
            let started = thread::Builder::new().name("store-reader".to_owned()).spawn(move || work(seat, &jobs));
            if let Err(error) = started {
                queue.close();
                return Err(unavailable(&format!("no thread for a reader: {error}")));
            }
        }
        Ok(Self { queue, observer })
    }

    /// Asks a reader as soon as one is free. A read whose caller went away before it began is left out.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        query: impl FnOnce(&mut dyn Reader) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        let (asked_at, observer) = (Instant::now(), Arc::clone(&self.observer));
        let job = move |seat: &mut Seat| {
            if reply.is_closed() {
                return;
            }
            let began = Instant::now();
            let answer = seat.ask(query);
            observer.read(began - asked_at, began.elapsed(), answer.is_ok());
            let _ = reply.send(answer);
        };
        self.queue.enter(Box::new(job))?;
        answer.await.unwrap_or_else(|_| Err(unavailable("the read was cut short: the store is closed")))
    }

    /// Lets the threads end once they have done what waits.
    pub(super) fn close(&self) {
        self.queue.close();
    }
}

impl Queue {
    fn enter(&self, job: Job) -> Result<(), StoreError> {
        let mut line = self.line();
        if line.is_closed {
            return Err(unavailable("the store is closed"));
        }
        if line.jobs.len() >= READS_WAITING_MAX {
            return Err(StoreError::Overloaded { waiting_max: READS_WAITING_MAX });
        }
        line.jobs.push_back(job);
        let is_anybody_asleep = line.sleeping > 0;
        drop(line);
        if is_anybody_asleep {
            self.job_came.notify_one();
        }
        Ok(())
    }

    /// The next job, as soon as there is one; `None` when the store is closed and all is done.
    fn next(&self) -> Option<Job> {
        let mut line = self.line();
        loop {
            if let Some(job) = line.jobs.pop_front() {
                return Some(job);
            }
            if line.is_closed {
                return None;
            }
            line.sleeping += 1;
            line = self.job_came.wait(line).unwrap_or_else(PoisonError::into_inner);
            line.sleeping -= 1;
        }
    }

    fn close(&self) {
        self.line().is_closed = true;
        self.job_came.notify_all();
    }

    /// Whole even if a holder of the lock panicked: each update is one step.
    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn work(mut seat: Seat, queue: &Queue) {
    while let Some(job) = queue.next() {
        job(&mut seat);
    }
}

impl Seat {
    fn ask<T>(&mut self, query: impl FnOnce(&mut dyn Reader) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let losses = self.losses.load(Ordering::Acquire);
        let mut reader = match self.reader.take() {
            Some(reader) if self.losses_before == losses => reader,
            Some(_) | None => caught(|| self.database.reader())?,
        };
        self.losses_before = losses;
        let answer = caught(|| query(&mut *reader));
        if matches!(answer, Err(StoreError::Unavailable { .. })) {
            self.losses.fetch_add(1, Ordering::AcqRel);
        } else {
            self.reader = Some(reader);
        }
        answer
    }
}

fn caught<T>(work: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|panic| Err(unavailable(&format!("a read panicked: {}", panic_text(&*panic)))))
}
