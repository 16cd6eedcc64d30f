//! A bounded pool of readers: threads that each own one, opened when first needed, and take what waits from one queue. A
//! reader that lost its database is dropped and opened anew.
//!
//! Threads of our own and not the runtime's blocking ones: a point read takes 20 µs, waking a thread takes longer on a busy
//! machine, and whoever is awake here goes on to the next read without being woken again.

use super::{panic_text, unavailable};
use crate::contract::{Database, Observer, Reader, StoreError};
use engine::limits::READS_WAITING_MAX;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;
use tokio::sync::oneshot;

type Job = Box<dyn FnOnce(&mut Seat) + Send>;

pub(super) struct Readers {
    /// Gone once the store is closed: the threads end when they have done what waits.
    queue: Mutex<Option<Sender<Job>>>,
    waiting: Arc<AtomicUsize>,
    observer: Arc<dyn Observer>,
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
        let (sender, receiver) = mpsc::channel();
        let receiver = Arc::new(Mutex::new(receiver));
        for _ in 0..count.max(1) {
            let losses = Arc::clone(losses);
            let seat = Seat { database: Arc::clone(database), reader: None, losses, losses_before: 0 };
            let receiver = Arc::clone(&receiver);
            let started = thread::Builder::new().name("store-reader".to_owned()).spawn(move || work(seat, &receiver));
            started.map_err(|error| unavailable(&format!("no thread for a reader: {error}")))?;
        }
        Ok(Self { queue: Mutex::new(Some(sender)), waiting: Arc::default(), observer })
    }

    /// Asks a reader as soon as one is free. A read whose caller went away before it began is left out.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        query: impl FnOnce(&mut dyn Reader) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        let (asked_at, observer, waiting) = (Instant::now(), Arc::clone(&self.observer), Arc::clone(&self.waiting));
        let job = move |seat: &mut Seat| {
            waiting.fetch_sub(1, Ordering::Relaxed);
            if reply.is_closed() {
                return;
            }
            let began = Instant::now();
            let answer = seat.ask(query);
            observer.read(began - asked_at, began.elapsed(), answer.is_ok());
            let _ = reply.send(answer);
        };
        self.enter(Box::new(job))?;
        answer.await.unwrap_or_else(|_| Err(unavailable("the read was cut short: the store is closed")))
    }

    /// Lets the threads end once they have done what waits.
    pub(super) fn close(&self) {
        *self.queue() = None;
    }

    fn enter(&self, job: Job) -> Result<(), StoreError> {
        if self.waiting.fetch_add(1, Ordering::Relaxed) >= READS_WAITING_MAX {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            return Err(StoreError::Overloaded { waiting_max: READS_WAITING_MAX });
        }
        let queue = self.queue();
        let sent = queue.as_ref().is_some_and(|queue| queue.send(job).is_ok());
        if sent {
            return Ok(());
        }
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        Err(unavailable("the store is closed"))
    }

    fn queue(&self) -> MutexGuard<'_, Option<Sender<Job>>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn work(mut seat: Seat, receiver: &Mutex<Receiver<Job>>) {
    loop {
        // The lock is held while waiting: the others wait for the lock instead, which is the same.
        let job = receiver.lock().unwrap_or_else(PoisonError::into_inner).recv();
        match job {
            Ok(job) => job(&mut seat),
            Err(_) => return,
        }
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
