//! The writer's thread: collects waiting commands into one batch, commits it, and completes all its callers. When the
//! database is lost it refuses new commands and reopens it by itself, first after 50 ms, then more rarely.

use super::{DamageReporter, WriterStatus, closed_error, panic_message, unavailable};
use crate::contract::{Backend, Database, Observer, StoreError};
use engine::commands::{Command, Outcome};
use engine::limits::COMMIT_COMMANDS_MAX;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// The pause before a lost database is opened again; it doubles with every failure up to the longest.
const REOPEN_DELAY_MIN: Duration = Duration::from_millis(50);
/// See [`REOPEN_DELAY_MIN`].
const REOPEN_DELAY_MAX: Duration = Duration::from_secs(1);

pub(super) enum WriterMessage {
    Commit(CommitRequest),
    /// A priority request was queued; an earlier commit may have taken it already.
    Priority,
    /// Commit what came before, then stop.
    Close(oneshot::Sender<()>),
}

/// What became of the commands, and when their commit was over.
type ReplySender = oneshot::Sender<Result<(Vec<Outcome>, Instant), StoreError>>;

pub(super) struct CommitRequest {
    pub(super) commands: Vec<Command>,
    pub(super) weight: usize,
    pub(super) queued_at: Instant,
    pub(super) reply: ReplySender,
}

pub(super) struct CommitThread {
    database: Arc<dyn Database>,
    observer: Arc<dyn Observer>,
    damages: Arc<DamageReporter>,
    inbox: Receiver<WriterMessage>,
    status: Arc<WriterStatus>,
    backend: BackendState,
    /// The pause that the next failure costs. Only a successful commit brings it back down: where a disk is full, there may be room for a probe
    /// and for nothing more.
    reopen_delay: Duration,
    /// Taken from the inbox, but too heavy for the batch of its day.
    deferred: Option<CommitRequest>,
    closing: Option<oneshot::Sender<()>>,
}

enum BackendState {
    Open(Box<dyn Backend>),
    Lost { error: StoreError, retry_at: Instant },
}

enum WakeReason {
    /// What is to be committed, or nothing but what was put ahead.
    Batch(Option<CommitRequest>),
    Reopen,
    Stop,
}

impl CommitThread {
    pub(super) fn open(
        database: Arc<dyn Database>,
        observer: Arc<dyn Observer>,
        inbox: Receiver<WriterMessage>,
        status: Arc<WriterStatus>,
        damages: Arc<DamageReporter>,
    ) -> Result<Self, StoreError> {
        let backend = BackendState::Open(database.writer()?);
        Ok(Self {
            database,
            observer,
            damages,
            inbox,
            status,
            backend,
            reopen_delay: REOPEN_DELAY_MIN,
            deferred: None,
            closing: None,
        })
    }

    pub(super) fn run(mut self) {
        loop {
            match self.wait() {
                WakeReason::Batch(first) => {
                    let batch = self.collect_batch(first);
                    if !batch.is_empty() {
                        self.commit_batch(batch);
                    }
                }
                WakeReason::Reopen => self.reopen(),
                WakeReason::Stop => break,
            }
        }
        self.stop();
    }

    fn wait(&mut self) -> WakeReason {
        if let Some(held) = self.deferred.take() {
            return WakeReason::Batch(Some(held));
        }
        if self.closing.is_some() {
            return WakeReason::Stop;
        }
        let message = match &self.backend {
            BackendState::Open(_) => self.inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
            BackendState::Lost { retry_at, .. } => {
                self.inbox.recv_timeout(retry_at.saturating_duration_since(Instant::now()))
            }
        };
        match message {
            Ok(WriterMessage::Commit(request)) => WakeReason::Batch(Some(request)),
            Ok(WriterMessage::Priority) => WakeReason::Batch(None),
            Ok(WriterMessage::Close(done)) => {
                self.closing = Some(done);
                WakeReason::Stop
            }
            Err(RecvTimeoutError::Timeout) => WakeReason::Reopen,
            Err(RecvTimeoutError::Disconnected) => WakeReason::Stop,
        }
    }

    /// What was put ahead, then everything that waits now, up to the weight of one commit. A request is never split; one that is
    /// heavier than a commit alone gets a commit of its own, shared with nothing but what was put ahead.
    fn collect_batch(&mut self, first: Option<CommitRequest>) -> Vec<CommitRequest> {
        let mut weight = first.as_ref().map_or(0, |request| request.weight);
        let mut batch = Vec::from_iter(first);
        while weight < COMMIT_COMMANDS_MAX {
            match self.inbox.try_recv() {
                // It is there already, and taken below.
                Ok(WriterMessage::Priority) => {}
                Ok(WriterMessage::Commit(request)) if weight + request.weight <= COMMIT_COMMANDS_MAX => {
                    weight += request.weight;
                    batch.push(request);
                }
                Ok(WriterMessage::Commit(request)) => {
                    self.deferred = Some(request);
                    break;
                }
                Ok(WriterMessage::Close(done)) => {
                    self.closing = Some(done);
                    break;
                }
                Err(_) => break,
            }
        }
        self.status.release(batch.iter().map(|request| request.commands.len()).sum());
        let mut ahead = self.status.take_priority();
        ahead.append(&mut batch);
        ahead
    }

    fn commit_batch(&mut self, batch: Vec<CommitRequest>) {
        if let BackendState::Lost { error, .. } = &self.backend {
            return refuse_all(batch, error);
        }
        let commands: Vec<usize> = batch.iter().map(|request| request.commands.len()).collect();
        let (all, callers) = flatten(batch);
        let queue_wait_max = callers.iter().map(|(queued_at, _)| queued_at.elapsed()).max().unwrap_or_default();
        match self.commit(&all, queue_wait_max) {
            Ok(outcomes) => reply_all(outcomes, &commands, callers),
            // One of them cannot be written at all: the others must not fail with it.
            Err(StoreError::Corrupt { .. } | StoreError::Damaged(_)) if callers.len() > 1 => {
                self.commit_one_by_one(all, &commands, callers);
            }
            Err(error) => callers.into_iter().for_each(|(_, reply)| drop(reply.send(Err(error.clone())))),
        }
    }

    fn commit_one_by_one(&mut self, all: Vec<Command>, commands: &[usize], callers: Vec<Caller>) {
        let mut all = all.into_iter();
        for (&count, (queued_at, reply)) in commands.iter().zip(callers) {
            let own: Vec<Command> = all.by_ref().take(count).collect();
            let outcomes = match &self.backend {
                BackendState::Open(_) => self.commit(&own, queued_at.elapsed()),
                BackendState::Lost { error, .. } => Err(error.clone()),
            };
            let _ = reply.send(outcomes.map(|outcomes| (outcomes, Instant::now())));
        }
    }

    fn commit(&mut self, commands: &[Command], queue_wait_max: Duration) -> Result<Vec<Outcome>, StoreError> {
        let began = Instant::now();
        let outcomes = match &mut self.backend {
            BackendState::Open(backend) => catch_panic(|| backend.commit(commands)),
            BackendState::Lost { error, .. } => Err(error.clone()),
        };
        if let BackendState::Open(backend) = &mut self.backend {
            self.damages.report(&outcomes, backend.take_damages());
        }
        let outcomes = outcomes.and_then(|outcomes| check_outcome_count(outcomes, commands.len()));
        self.observer.committed(commands.len(), queue_wait_max, began.elapsed(), outcomes.is_ok());
        match &outcomes {
            Ok(_) => self.reopen_delay = REOPEN_DELAY_MIN,
            Err(StoreError::Corrupt { .. } | StoreError::Damaged(_) | StoreError::Overloaded { .. }) => {}
            Err(error @ (StoreError::Unavailable { .. } | StoreError::WrongSchema { .. })) => {
                self.mark_lost(error.clone());
            }
        }
        outcomes
    }

    /// From here on callers are refused at once, until [`CommitThread::reopen`] succeeds.
    fn mark_lost(&mut self, error: StoreError) {
        self.status.set_refusal(Some(error.clone()));
        self.backend = BackendState::Lost { error, retry_at: Instant::now() + self.reopen_delay };
        self.reopen_delay = (self.reopen_delay * 2).min(REOPEN_DELAY_MAX);
    }

    /// What opens must also take a commit: callers are let in again only then.
    fn reopen(&mut self) {
        let opened = catch_panic(|| {
            let mut backend = self.database.writer()?;
            backend.probe()?;
            Ok(backend)
        });
        match opened {
            Ok(backend) => {
                self.backend = BackendState::Open(backend);
                self.status.set_refusal(None);
            }
            Err(error) => self.mark_lost(error),
        }
    }

    fn stop(self) {
        self.status.set_refusal(Some(closed_error()));
        let Self { backend, closing, .. } = self;
        drop(backend);
        if let Some(done) = closing {
            let _ = done.send(());
        }
    }
}

type Caller = (Instant, ReplySender);

fn flatten(batch: Vec<CommitRequest>) -> (Vec<Command>, Vec<Caller>) {
    let mut all = Vec::new();
    let mut callers = Vec::with_capacity(batch.len());
    for request in batch {
        all.extend(request.commands);
        callers.push((request.queued_at, request.reply));
    }
    (all, callers)
}

/// A caller that went away does not want its answer any more; that is no error.
fn reply_all(outcomes: Vec<Outcome>, commands: &[usize], callers: Vec<Caller>) {
    let committed_at = Instant::now();
    let mut outcomes = outcomes.into_iter();
    for (&count, (_, reply)) in commands.iter().zip(callers) {
        let _ = reply.send(Ok((outcomes.by_ref().take(count).collect(), committed_at)));
    }
}

fn refuse_all(batch: Vec<CommitRequest>, error: &StoreError) {
    for request in batch {
        let _ = request.reply.send(Err(error.clone()));
    }
}

fn catch_panic<T>(work: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|panic| Err(unavailable(&format!("the store panicked: {}", panic_message(&*panic)))))
}

fn check_outcome_count(outcomes: Vec<Outcome>, commands: usize) -> Result<Vec<Outcome>, StoreError> {
    if outcomes.len() == commands {
        return Ok(outcomes);
    }
    Err(unavailable(&format!("the store gave {} answers to {commands} commands", outcomes.len())))
}
