//! The writer's thread: gathers what waits into one batch, commits it, answers everybody. When the database is lost it
//! refuses what comes and opens it again by itself, first after 50 ms, then more rarely.

use super::{Gauge, closed, panic_text, unavailable};
use crate::contract::{Backend, Database, Observer, StoreError};
use engine::commands::{Command, Outcome};
use engine::limits::COMMIT_COMMANDS_MAX;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// The pause before a lost database is opened again; it doubles with every failure up to the longest.
const REOPEN_PAUSE_MIN: Duration = Duration::from_millis(50);
/// See [`REOPEN_PAUSE_MIN`].
const REOPEN_PAUSE_MAX: Duration = Duration::from_secs(1);

pub(super) enum Message {
    Commit(Request),
    /// Something was put ahead; whoever commits next may have taken it already.
    Ahead,
    /// Commit what came before, then stop.
    Close(oneshot::Sender<()>),
}

/// What became of the commands, and when their commit was over.
type Reply = oneshot::Sender<Result<(Vec<Outcome>, Instant), StoreError>>;

pub(super) struct Request {
    pub(super) commands: Vec<Command>,
    pub(super) weight: usize,
    pub(super) queued_at: Instant,
    pub(super) reply: Reply,
}

pub(super) struct Writer {
    database: Arc<dyn Database>,
    observer: Arc<dyn Observer>,
    inbox: Receiver<Message>,
    gauge: Arc<Gauge>,
    link: Link,
    /// The pause that the next failure costs. Only a successful commit brings it back down: a full disk opens well.
    pause: Duration,
    /// Taken from the inbox, but too heavy for the batch of its day.
    held: Option<Request>,
    closing: Option<oneshot::Sender<()>>,
}

enum Link {
    Up(Box<dyn Backend>),
    Down { error: StoreError, retry_at: Instant },
}

enum Wake {
    /// What is to be committed, or nothing but what was put ahead.
    Batch(Option<Request>),
    Reopen,
    Stop,
}

impl Writer {
    pub(super) fn open(
        database: Arc<dyn Database>,
        observer: Arc<dyn Observer>,
        inbox: Receiver<Message>,
        gauge: Arc<Gauge>,
    ) -> Result<Self, StoreError> {
        let link = Link::Up(database.writer()?);
        Ok(Self { database, observer, inbox, gauge, link, pause: REOPEN_PAUSE_MIN, held: None, closing: None })
    }

    pub(super) fn run(mut self) {
        loop {
            match self.wait() {
                Wake::Batch(first) => {
                    let batch = self.gather(first);
                    if !batch.is_empty() {
                        self.serve(batch);
                    }
                }
                Wake::Reopen => self.reopen(),
                Wake::Stop => break,
            }
        }
        self.stop();
    }

    fn wait(&mut self) -> Wake {
        if let Some(held) = self.held.take() {
            return Wake::Batch(Some(held));
        }
        if self.closing.is_some() {
            return Wake::Stop;
        }
        let message = match &self.link {
            Link::Up(_) => self.inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Link::Down { retry_at, .. } => self.inbox.recv_timeout(retry_at.saturating_duration_since(Instant::now())),
        };
        match message {
            Ok(Message::Commit(request)) => Wake::Batch(Some(request)),
            Ok(Message::Ahead) => Wake::Batch(None),
            Ok(Message::Close(done)) => {
                self.closing = Some(done);
                Wake::Stop
            }
            Err(RecvTimeoutError::Timeout) => Wake::Reopen,
            Err(RecvTimeoutError::Disconnected) => Wake::Stop,
        }
    }

    /// What was put ahead, then everything that waits now, up to the weight of one commit. A request is never split; one that is
    /// heavier than a commit alone gets a commit of its own, shared with nothing but what was put ahead.
    fn gather(&mut self, first: Option<Request>) -> Vec<Request> {
        let mut weight = first.as_ref().map_or(0, |request| request.weight);
        let mut batch = Vec::from_iter(first);
        while weight < COMMIT_COMMANDS_MAX {
            match self.inbox.try_recv() {
                // It is there already, and taken below.
                Ok(Message::Ahead) => {}
                Ok(Message::Commit(request)) if weight + request.weight <= COMMIT_COMMANDS_MAX => {
                    weight += request.weight;
                    batch.push(request);
                }
                Ok(Message::Commit(request)) => {
                    self.held = Some(request);
                    break;
                }
                Ok(Message::Close(done)) => {
                    self.closing = Some(done);
                    break;
                }
                Err(_) => break,
            }
        }
        self.gauge.leave(batch.iter().map(|request| request.commands.len()).sum());
        let mut ahead = self.gauge.take_ahead();
        ahead.append(&mut batch);
        ahead
    }

    fn serve(&mut self, batch: Vec<Request>) {
        if let Link::Down { error, .. } = &self.link {
            return refuse(batch, error);
        }
        let commands: Vec<usize> = batch.iter().map(|request| request.commands.len()).collect();
        let (all, callers) = flatten(batch);
        let queue_wait_max = callers.iter().map(|(queued_at, _)| queued_at.elapsed()).max().unwrap_or_default();
        match self.commit(&all, queue_wait_max) {
            Ok(outcomes) => answer(outcomes, &commands, callers),
            // One of them cannot be written at all: nobody else shall suffer for it.
            Err(StoreError::Corrupt { .. }) if callers.len() > 1 => self.serve_one_by_one(all, &commands, callers),
            Err(error) => callers.into_iter().for_each(|(_, reply)| drop(reply.send(Err(error.clone())))),
        }
    }

    fn serve_one_by_one(&mut self, all: Vec<Command>, commands: &[usize], callers: Vec<Caller>) {
        let mut all = all.into_iter();
        for (&count, (queued_at, reply)) in commands.iter().zip(callers) {
            let own: Vec<Command> = all.by_ref().take(count).collect();
            let outcomes = match &self.link {
                Link::Up(_) => self.commit(&own, queued_at.elapsed()),
                Link::Down { error, .. } => Err(error.clone()),
            };
            let _ = reply.send(outcomes.map(|outcomes| (outcomes, Instant::now())));
        }
    }

    fn commit(&mut self, commands: &[Command], queue_wait_max: Duration) -> Result<Vec<Outcome>, StoreError> {
        let began = Instant::now();
        let outcomes = match &mut self.link {
            Link::Up(backend) => caught(|| backend.commit(commands)),
            Link::Down { error, .. } => Err(error.clone()),
        };
        let outcomes = outcomes.and_then(|outcomes| one_each(outcomes, commands.len()));
        self.observer.committed(commands.len(), queue_wait_max, began.elapsed(), outcomes.is_ok());
        match &outcomes {
            Ok(_) => self.pause = REOPEN_PAUSE_MIN,
            Err(StoreError::Corrupt { .. } | StoreError::Overloaded { .. }) => {}
            Err(error @ (StoreError::Unavailable { .. } | StoreError::WrongSchema { .. })) => self.lose(error.clone()),
        }
        outcomes
    }

    /// From here on callers are refused at the door, until [`Writer::reopen`] succeeds.
    fn lose(&mut self, error: StoreError) {
        self.gauge.refuse(Some(error.clone()));
        self.link = Link::Down { error, retry_at: Instant::now() + self.pause };
        self.pause = (self.pause * 2).min(REOPEN_PAUSE_MAX);
    }

    fn reopen(&mut self) {
        match caught(|| self.database.writer()) {
            Ok(backend) => {
                self.link = Link::Up(backend);
                self.gauge.refuse(None);
            }
            Err(error) => self.lose(error),
        }
    }

    fn stop(self) {
        self.gauge.refuse(Some(closed()));
        let Self { link, closing, .. } = self;
        drop(link);
        if let Some(done) = closing {
            let _ = done.send(());
        }
    }
}

type Caller = (Instant, Reply);

fn flatten(batch: Vec<Request>) -> (Vec<Command>, Vec<Caller>) {
    let mut all = Vec::new();
    let mut callers = Vec::with_capacity(batch.len());
    for request in batch {
        all.extend(request.commands);
        callers.push((request.queued_at, request.reply));
    }
    (all, callers)
}

/// A caller that went away does not want its answer any more; that is no error.
fn answer(outcomes: Vec<Outcome>, commands: &[usize], callers: Vec<Caller>) {
    let committed_at = Instant::now();
    let mut outcomes = outcomes.into_iter();
    for (&count, (_, reply)) in commands.iter().zip(callers) {
        let _ = reply.send(Ok((outcomes.by_ref().take(count).collect(), committed_at)));
    }
}

fn refuse(batch: Vec<Request>, error: &StoreError) {
    for request in batch {
        let _ = request.reply.send(Err(error.clone()));
    }
}

fn caught<T>(work: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|panic| Err(unavailable(&format!("the store panicked: {}", panic_text(&*panic)))))
}

fn one_each(outcomes: Vec<Outcome>, commands: usize) -> Result<Vec<Outcome>, StoreError> {
    if outcomes.len() == commands {
        return Ok(outcomes);
    }
    Err(unavailable(&format!("the store gave {} answers to {commands} commands", outcomes.len())))
}
