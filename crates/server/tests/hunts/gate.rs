//! A memory database behind a gate: while it is closed, commits of hunts wait.

use engine::commands::{Command, Outcome, WorldCommand};
use std::sync::Arc;
use store::testing::MemoryDatabase;
use store::{Backend, Database, Reader, StoreError};
use tokio::sync::watch;

/// Cheap to clone: every clone is the same database.
#[derive(Clone)]
pub(crate) struct Gated {
    inner: MemoryDatabase,
    is_shared: bool,
    gate: watch::Sender<Gate>,
    /// Commits of hunts that reached the gate so far.
    stood: watch::Sender<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gate {
    Open,
    Shut,
    /// Commits are refused.
    Barred,
    /// Commits are saved and reported as failed.
    Deaf,
}

struct Writer {
    inner: Box<dyn Backend>,
    database: Gated,
}

impl Gated {
    pub(crate) fn new(is_shared: bool) -> Arc<Self> {
        let (gate, stood) = (watch::Sender::new(Gate::Open), watch::Sender::new(0));
        Arc::new(Self { inner: MemoryDatabase::new(), is_shared, gate, stood })
    }

    pub(crate) fn shut(&self) {
        self.gate.send_replace(Gate::Shut);
    }

    pub(crate) fn open(&self) {
        self.gate.send_replace(Gate::Open);
    }

    /// Waiting and new commits of hunts fail, until the gate is opened.
    pub(crate) fn bar(&self) {
        self.gate.send_replace(Gate::Barred);
    }

    /// Waiting and new commits of hunts are saved and reported as failed, until the gate is opened.
    pub(crate) fn deafen(&self) {
        self.gate.send_replace(Gate::Deaf);
    }

    /// Waits until a commit of a hunt reaches the gate.
    pub(crate) async fn knocked(&self) {
        self.stood.subscribe().wait_for(|stood| *stood > 0).await.unwrap();
    }
}

impl Backend for Writer {
    fn commit(&mut self, commands: &[Command]) -> Result<Vec<Outcome>, StoreError> {
        let is_hunt = |command: &Command| {
            matches!(command, Command::World(WorldCommand::Ensure { .. } | WorldCommand::CreateMatchedHunt { .. }))
        };
        if commands.iter().any(is_hunt) {
            self.database.stood.send_modify(|stood| *stood += u32::from(*self.database.gate.borrow() == Gate::Shut));
            // The store's own thread: it may block.
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let mut gate = self.database.gate.subscribe();
            let gate = *runtime.block_on(gate.wait_for(|gate| *gate != Gate::Shut)).unwrap();
            if gate == Gate::Barred {
                return Err(StoreError::Unavailable { why: "the gate is barred".to_owned() });
            }
            if gate == Gate::Deaf {
                self.inner.commit(commands)?;
                return Err(StoreError::Unavailable { why: "the response was lost".to_owned() });
            }
        }
        self.inner.commit(commands)
    }

    fn probe(&mut self) -> Result<(), StoreError> {
        self.inner.probe()
    }
}

impl Database for Gated {
    fn writer(&self) -> Result<Box<dyn Backend>, StoreError> {
        Ok(Box::new(Writer { inner: self.inner.writer()?, database: self.clone() }))
    }
    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        self.inner.reader()
    }
    fn is_shared(&self) -> bool {
        self.is_shared
    }
    fn kind(&self) -> &'static str {
        "gated memory"
    }
}
