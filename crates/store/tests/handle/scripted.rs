//! A database that does what a test scripts: it can be held at a commit or an opening, it can fail, and it records its
//! batches.

use engine::commands::{Command, Outcome};
use engine::ids::WorkerId;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;
use store::testing::MemoryDatabase;
use store::{Backend, Database, Observer, Reader, Store, StoreConfig, StoreError};

#[derive(Default)]
struct Script {
    batches: Vec<Vec<Command>>,
    commits: usize,
    opened: usize,
    readers_opened: usize,
    /// Whether commits and openings wait.
    is_held: bool,
    /// How many wait now.
    waiting: usize,
    fail_commit: Option<(usize, Failure)>,
    openings_that_fail: usize,
    probes_that_fail: usize,
}

/// What goes wrong with a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// Nothing is saved.
    Lost,
    /// It is saved, and the response is lost.
    LostResponse,
    Panic,
}

#[derive(Clone, Default)]
pub(crate) struct ScriptedDatabase {
    script: Arc<(Mutex<Script>, Condvar)>,
}

impl ScriptedDatabase {
    fn lock(&self) -> MutexGuard<'_, Script> {
        self.script.0.lock().unwrap()
    }

    pub(crate) fn hold(&self) {
        self.lock().is_held = true;
    }

    pub(crate) fn release(&self) {
        self.lock().is_held = false;
        self.script.1.notify_all();
    }

    /// Waits until a commit or an opening is held.
    pub(crate) fn wait_until_held(&self) {
        drop(self.script.1.wait_while(self.lock(), |script| script.waiting == 0).unwrap());
    }

    /// Commit number `n`, from 1, goes wrong.
    pub(crate) fn fail_at(&self, n: usize, failure: Failure) {
        self.lock().fail_commit = Some((n, failure));
    }

    pub(crate) fn fail_openings(&self, count: usize) {
        self.lock().openings_that_fail = count;
    }

    /// It opens then, and saves nothing.
    pub(crate) fn fail_probes(&self, count: usize) {
        self.lock().probes_that_fail = count;
    }

    /// The workers named in each batch that was saved.
    pub(crate) fn saved(&self) -> Vec<Vec<u128>> {
        let worker = |command: &Command| if let Command::EndLease { worker } = command { worker.0 } else { 0 };
        self.lock().batches.iter().map(|batch| batch.iter().map(worker).collect()).collect()
    }

    pub(crate) fn saved_commands(&self) -> Vec<Command> {
        self.lock().batches.concat()
    }

    pub(crate) fn opened(&self) -> usize {
        self.lock().opened
    }

    pub(crate) fn readers_opened(&self) -> usize {
        self.lock().readers_opened
    }

    fn wait_while_held(&self) -> MutexGuard<'_, Script> {
        let mut script = self.lock();
        script.waiting += 1;
        self.script.1.notify_all();
        let mut script = self.script.1.wait_while(script, |script| script.is_held).unwrap();
        script.waiting -= 1;
        script
    }
}

pub(crate) fn lost() -> StoreError {
    StoreError::Unavailable { why: "the disk went away".to_owned() }
}

/// A command that no batch can be written with.
pub(crate) const POISON: u128 = u128::MAX;

impl Backend for ScriptedDatabase {
    fn commit(&mut self, commands: &[Command]) -> Result<Vec<Outcome>, StoreError> {
        let mut script = self.wait_while_held();
        script.commits += 1;
        if commands.contains(&command(POISON)) {
            return Err(StoreError::Corrupt { why: "poison".to_owned() });
        }
        let failure = script.fail_commit.filter(|(n, _)| *n == script.commits).map(|(_, failure)| failure);
        if failure == Some(Failure::Panic) {
            drop(script);
            panic!("by script");
        }
        if failure != Some(Failure::Lost) {
            script.batches.push(commands.to_vec());
        }
        if failure.is_some() { Err(lost()) } else { Ok(vec![Outcome::Done; commands.len()]) }
    }

    fn probe(&mut self) -> Result<(), StoreError> {
        let mut script = self.lock();
        let fails = script.probes_that_fail > 0;
        script.probes_that_fail -= usize::from(fails);
        if fails { Err(lost()) } else { Ok(()) }
    }
}

impl Database for ScriptedDatabase {
    fn writer(&self) -> Result<Box<dyn Backend>, StoreError> {
        let mut script = self.wait_while_held();
        script.opened += 1;
        if script.opened > 1 && script.openings_that_fail > 0 {
            script.openings_that_fail -= 1;
            return Err(lost());
        }
        Ok(Box::new(self.clone()))
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        self.lock().readers_opened += 1;
        MemoryDatabase::new().reader()
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn kind(&self) -> &'static str {
        "scripted"
    }
}

/// The outcomes that an observer received.
#[derive(Clone, Default)]
pub(crate) struct Seen {
    pub(crate) commits: Arc<Mutex<Vec<(usize, bool)>>>,
    pub(crate) reads: Arc<Mutex<Vec<bool>>>,
}

impl Observer for Seen {
    fn committed(&self, commands: usize, _: Duration, _: Duration, is_ok: bool) {
        self.commits.lock().unwrap().push((commands, is_ok));
    }

    fn read(&self, _: Duration, _: Duration, is_ok: bool) {
        self.reads.lock().unwrap().push(is_ok);
    }
}

pub(crate) fn open(database: &ScriptedDatabase) -> (Store, Seen) {
    open_with_readers(database, 2)
}

pub(crate) fn open_with_readers(database: &ScriptedDatabase, readers: usize) -> (Store, Seen) {
    let seen = Seen::default();
    let store = Store::open(Arc::new(database.clone()), StoreConfig { readers }, Arc::new(seen.clone()));
    (store.unwrap(), seen)
}

/// A small command that carries its number.
pub(crate) fn command(n: u128) -> Command {
    Command::EndLease { worker: WorkerId(n) }
}
