//! A memory database behind a gate: while it is shut, no hunt is saved, and whoever wants one saved waits.

use engine::commands::{Command, Outcome, WorldCommand};
use std::sync::Arc;
use store::memory::MemoryDatabase;
use store::{Backend, Database, Reader, StoreError};
use tokio::sync::watch;

/// Cheap to clone: every clone is the same database.
#[derive(Clone)]
pub(crate) struct Gated {
    inner: MemoryDatabase,
    is_shared: bool,
    is_shut: watch::Sender<bool>,
    /// Commits of hunts that stood before the gate so far.
    stood: watch::Sender<u32>,
}

struct Writer {
    inner: Box<dyn Backend>,
    gate: Gated,
}

impl Gated {
    pub(crate) fn new(is_shared: bool) -> Arc<Self> {
        let (is_shut, stood) = (watch::Sender::new(false), watch::Sender::new(0));
        Arc::new(Self { inner: MemoryDatabase::new(), is_shared, is_shut, stood })
    }

    pub(crate) fn shut(&self) {
        self.is_shut.send_replace(true);
    }

    pub(crate) fn open(&self) {
        self.is_shut.send_replace(false);
    }

    /// Waits until a hunt stands before the gate.
    pub(crate) async fn knocked(&self) {
        self.stood.subscribe().wait_for(|stood| *stood > 0).await.unwrap();
    }
}

impl Backend for Writer {
    fn commit(&mut self, commands: &[Command]) -> Result<Vec<Outcome>, StoreError> {
        let is_hunt = |command: &Command| matches!(command, Command::World(WorldCommand::Ensure { .. }));
        if *self.gate.is_shut.borrow() && commands.iter().any(is_hunt) {
            self.gate.stood.send_modify(|stood| *stood += 1);
            // The store's own thread: it may stand.
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(self.gate.is_shut.subscribe().wait_for(|is_shut| !is_shut)).unwrap();
        }
        self.inner.commit(commands)
    }
}

impl Database for Gated {
    fn writer(&self) -> Result<Box<dyn Backend>, StoreError> {
        Ok(Box::new(Writer { inner: self.inner.writer()?, gate: self.clone() }))
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
