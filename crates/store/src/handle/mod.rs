//! The handle to a store for many concurrent callers: commands are committed in groups, reads go through a bounded
//! pool.
//!
//! A caller gets the outcome of its command after the commit that holds it, never before. A store that is lost refuses
//! quickly and is reopened without help. Knows nothing of SQL, and nothing of what the commands mean but their weight.

mod commit_thread;
mod readers;

use crate::checksums::{Damage, KnownDamage};
use crate::contract::{Database, Observer, Reader, StoreError};
use crate::{archives, semantics};
use commit_thread::{CommitRequest, CommitThread, WriterMessage};
use engine::commands::{Command, Outcome};
use engine::limits::COMMANDS_WAITING_MAX;
pub use readers::PendingRead;
use readers::{LossCount, ReaderThreads};
use std::any::Any;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use tokio::sync::oneshot;

/// Archives larger than this are compressed on a blocking thread: below, that takes a few hundred microseconds at most.
const INLINE_COMPRESSION_BYTES_MAX: usize = 64 * 1024;

/// Sizes of queues and pools.
#[derive(Clone, Copy, Debug)]
pub struct StoreConfig {
    /// Readers open at the same time.
    pub readers: usize,
}

/// A handle that any number of tasks may hold. When the last one is dropped, what was handed in is still committed.
#[derive(Clone)]
pub struct Store {
    to_writer: Sender<WriterMessage>,
    status: Arc<WriterStatus>,
    readers: Arc<ReaderThreads>,
    is_shared: bool,
}

/// The writer's state, readable by callers without a request.
#[derive(Default)]
struct WriterStatus {
    waiting: AtomicUsize,
    /// Why commands are refused, while they are.
    refusal: Mutex<Option<StoreError>>,
    losses: LossCount,
    /// Renewals of leases, ahead of everything that waits: under overload a lease must not end in the queue, or all that its owner
    /// has in memory would have to be loaded again on top of the load.
    priority: Mutex<Vec<CommitRequest>>,
}

impl WriterStatus {
    fn refusal(&self) -> Option<StoreError> {
        self.refusal.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_refusal(&self, error: Option<StoreError>) {
        self.losses.fetch_add(u64::from(error.is_some()), Ordering::AcqRel);
        *self.refusal.lock().unwrap_or_else(PoisonError::into_inner) = error;
    }

    fn try_reserve(&self, commands: usize) -> Result<(), StoreError> {
        let before = self.waiting.fetch_add(commands, Ordering::Relaxed);
        if before + commands <= COMMANDS_WAITING_MAX {
            return Ok(());
        }
        self.release(commands);
        Err(StoreError::Overloaded { waiting_max: COMMANDS_WAITING_MAX })
    }

    fn release(&self, commands: usize) {
        self.waiting.fetch_sub(commands, Ordering::Relaxed);
    }

    fn push_priority(&self, request: CommitRequest) {
        self.priority.lock().unwrap_or_else(PoisonError::into_inner).push(request);
    }

    fn take_priority(&self) -> Vec<CommitRequest> {
        std::mem::take(&mut *self.priority.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Tells of damage once, of everything else always.
struct DamageReporter {
    observer: Arc<dyn Observer>,
    known: KnownDamage,
}

impl DamageReporter {
    /// Of an answer, and of what was passed over on the way to it.
    fn report<T>(&self, answer: &Result<T, StoreError>, passed_over: Vec<Damage>) {
        let refused = answer.as_ref().err().and_then(|error| match error {
            StoreError::Damaged(damage) => Some(Damage::clone(damage)),
            _ => None,
        });
        for damage in passed_over.into_iter().chain(refused) {
            if self.known.is_new(&damage) {
                self.observer.damaged(&damage);
            }
        }
    }
}

impl Store {
    /// Opens the database and starts the writer's thread. Blocks until the database is open and migrated.
    ///
    /// # Errors
    /// Those of [`Database::writer`]: if a store cannot be opened at all, an operator must act.
    pub fn open(
        database: Arc<dyn Database>,
        config: StoreConfig,
        observer: Arc<dyn Observer>,
    ) -> Result<Self, StoreError> {
        let status = Arc::new(WriterStatus::default());
        let damages = DamageReporter { observer: Arc::clone(&observer), known: KnownDamage::default() };
        let damages = Arc::new(damages);
        let is_shared = database.is_shared();
        let readers =
            Arc::new(ReaderThreads::new(&database, config.readers, Arc::clone(&observer), &status.losses, &damages)?);
        let (to_writer, inbox) = mpsc::channel();
        let (opened, is_open) = mpsc::sync_channel(1);
        let writer_status = Arc::clone(&status);
        // The first opening happens on the writer's thread too: a PostgreSQL connection must not be made on an async thread.
        let run = move || match CommitThread::open(database, observer, inbox, writer_status, damages) {
            Ok(writer) => {
                let _ = opened.send(Ok(()));
                writer.run();
            }
            Err(error) => {
                let _ = opened.send(Err(error));
            }
        };
        let spawned = std::thread::Builder::new().name("store-writer".to_owned()).spawn(run);
        spawned.map_err(|error| unavailable(&format!("the writer's thread cannot be started: {error}")))?;
        is_open.recv().unwrap_or_else(|_| Err(unavailable("opening the database panicked")))?;
        // Only now is there a schema to read.
        if is_shared {
            readers.open_all()?;
        }
        Ok(Self { to_writer, status, readers, is_shared })
    }

    /// Saves one command; returns when it is durable.
    ///
    /// # Errors
    /// [`StoreError::Overloaded`]: nothing was tried. [`StoreError::Unavailable`]: nothing was saved, or the outcome is
    /// unknown.
    pub async fn commit(&self, command: Command) -> Result<Outcome, StoreError> {
        let outcomes = self.commit_all(vec![command]).await?;
        outcomes.into_iter().next().ok_or_else(|| unavailable("the store gave no answer"))
    }

    /// Saves these commands in one commit, in this order; returns when they are durable. Others' commands may share the
    /// commit, before or after them.
    ///
    /// # Errors
    /// As for [`Store::commit`]; an error is about all of them.
    pub async fn commit_all(&self, commands: Vec<Command>) -> Result<Vec<Outcome>, StoreError> {
        self.commit_timed(commands).await.map(|(outcomes, _)| outcomes)
    }

    /// The same, with the moment at which the commit was over: what follows, its caller's waking included, is not the
    /// database's time any more.
    ///
    /// # Errors
    /// As for [`Store::commit`]; an error is about all of them.
    pub async fn commit_timed(&self, commands: Vec<Command>) -> Result<(Vec<Outcome>, Instant), StoreError> {
        if commands.is_empty() {
            return Ok((Vec::new(), Instant::now()));
        }
        if let Some(refusal) = self.status.refusal() {
            return Err(refusal);
        }
        let commands = prepare_commands(commands).await?;
        let goes_ahead = commands.iter().all(semantics::has_priority);
        // A renewal is let in also where everything is full: there are never more of them than workers.
        if !goes_ahead {
            self.status.try_reserve(commands.len())?;
        }
        let (reply, outcomes) = oneshot::channel();
        let weight = commands.iter().map(semantics::commit_weight).sum();
        let request = CommitRequest { commands, weight, queued_at: Instant::now(), reply };
        let message = if goes_ahead {
            self.status.push_priority(request);
            WriterMessage::Priority
        } else {
            WriterMessage::Commit(request)
        };
        self.to_writer.send(message).map_err(|_| closed_error())?;
        outcomes.await.map_err(|_| closed_error())?
    }

    /// Reads with a pooled reader, on its thread.
    ///
    /// # Errors
    /// The query's, or [`StoreError::Unavailable`] when no reader can be opened.
    pub fn read<T: Send + 'static>(
        &self,
        query: impl FnOnce(&mut dyn Reader) -> Result<T, StoreError> + Send + 'static,
    ) -> PendingRead<T> {
        self.readers.read(query)
    }

    /// `count` readers with threads and a queue of their own, for reads that take long, or that must not wait behind others'.
    /// They open their connections when they are first needed or by [`Store::open_readers_apart`], count among
    /// [`Store::missing_readers`], and are closed with the store.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when there is no thread for them.
    pub fn dedicated_readers(&self, count: usize, observer: Arc<dyn Observer>) -> Result<ReaderPool, StoreError> {
        self.readers.dedicated(count, observer).map(Arc::new)
    }

    /// Opens all readers apart of a database whose connections are counted, one that processes share: a node that could serve only a
    /// part of what it is asked for must not start. Blocks until each has been tried.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] with how many are missing.
    pub fn open_readers_apart(&self) -> Result<(), StoreError> {
        if self.is_shared { self.readers.open_all_apart() } else { Ok(()) }
    }

    /// Whether other processes share the database (watchers must poll then).
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// Commands that wait for the writer now.
    #[must_use]
    pub fn commands_waiting(&self) -> usize {
        self.status.waiting.load(Ordering::Relaxed)
    }

    /// Why commands are refused now: the database was lost and has not come back yet. For `/readyz`.
    #[must_use]
    pub fn refusal(&self) -> Option<StoreError> {
        self.status.refusal()
    }

    /// How many readers cannot be opened now, and why: the database gives this process fewer connections than it needs. For
    /// `/readyz`.
    #[must_use]
    pub fn missing_readers(&self) -> Option<(usize, StoreError)> {
        self.readers.missing()
    }

    /// Waits until everything that was handed in is committed, then stops the writer and the readers. What comes later is
    /// refused.
    pub async fn close(&self) {
        let (done, is_done) = oneshot::channel();
        if self.to_writer.send(WriterMessage::Close(done)).is_ok() {
            let _ = is_done.await;
        }
        self.readers.close();
    }
}

/// Readers apart from those of [`Store::read`].
pub type ReaderPool = Arc<ReaderThreads>;

async fn prepare_commands(mut commands: Vec<Command>) -> Result<Vec<Command>, StoreError> {
    let bytes: usize = commands.iter().map(archives::bytes_to_compress).sum();
    let prepare = move || {
        commands.iter_mut().try_for_each(archives::compress_archive)?;
        Ok(commands)
    };
    if bytes <= INLINE_COMPRESSION_BYTES_MAX {
        return prepare();
    }
    let prepared = tokio::task::spawn_blocking(prepare).await;
    prepared.unwrap_or_else(|_| Err(unavailable("compressing an archive panicked")))
}

fn unavailable(why: &str) -> StoreError {
    StoreError::Unavailable { why: why.to_owned() }
}

fn closed_error() -> StoreError {
    unavailable("the store is closed: this process is stopping")
}

/// The words of a panic, for the error that its callers get.
fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}
