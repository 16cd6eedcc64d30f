//! A node: a worker with a lease that may have a world in its memory, and does not notice by itself when it has lost
//! it.

use engine::commands::{Command, Outcome, WorldAppend, WorldCommand};
use engine::ids::{WorkerId, WorldId};
use engine::worlds::{Answer, World};
use store::contract::Backend;

/// How a commit goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CommitFate {
    /// At once.
    Saved,
    /// It is not saved, and the node does not know.
    Lost,
    /// It is saved, and the node does not know.
    SavedUnreported,
    /// It arrives when the node commits next.
    Late,
}

/// What became of the world in a node's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SaveResult {
    Saved,
    /// It left memory: it is unknown whether it was saved.
    Unknown,
    /// It left memory: another node owns it.
    Fenced,
}

/// A world in memory.
pub(super) struct LoadedWorld {
    pub(super) world: World,
    pub(super) epoch: u32,
    delayed: Option<WorldAppend>,
}

pub(super) struct Node {
    pub(super) worker: WorkerId,
    pub(super) held: Option<LoadedWorld>,
    /// Steps for which it does not renew its lease.
    pub(super) asleep: u32,
}

impl Node {
    pub(super) fn hold(&mut self, world: World, epoch: u32) {
        self.held = Some(LoadedWorld { world, epoch, delayed: None });
    }

    /// Commits what is decided.
    pub(super) fn save(
        &mut self,
        store: &mut dyn Backend,
        fate: CommitFate,
        now_us: i64,
        out: &mut Vec<Answer>,
    ) -> SaveResult {
        let Some(held) = &mut self.held else { return SaveResult::Saved };
        let Some(append) = held.delayed.take().or_else(|| held.world.take_claims()) else { return SaveResult::Saved };
        let version = append.version();
        let kept = match fate {
            CommitFate::Late => {
                held.delayed = Some(append);
                return SaveResult::Saved;
            }
            CommitFate::Lost => SaveResult::Unknown,
            CommitFate::SavedUnreported => {
                let _ = commit_world(store, WorldCommand::Append(append));
                SaveResult::Unknown
            }
            CommitFate::Saved => match commit_world(store, WorldCommand::Append(append)) {
                Outcome::Done => {
                    held.world.committed(version, now_us, out).expect("what a world decided follows on what it had");
                    return SaveResult::Saved;
                }
                Outcome::Fenced | Outcome::VersionConflict(_) => SaveResult::Fenced,
                other => unreachable!("an append is answered {other:?}"),
            },
        };
        self.held = None;
        kept
    }

    /// Keeps what is soft.
    pub(super) fn snapshot(&mut self, store: &mut dyn Backend, id: WorldId) -> SaveResult {
        let Some(held) = &mut self.held else { return SaveResult::Saved };
        let snapshot = held.world.snapshot(false);
        let (claims_version, watermark, bytes) =
            (snapshot.claims_version, snapshot.id_watermark, snapshot.into_bytes());
        match commit_world(store, WorldCommand::Snapshot { id, epoch: held.epoch, claims_version, bytes }) {
            Outcome::Done => {
                held.world.snapshot_saved(watermark);
                SaveResult::Saved
            }
            _ => {
                self.held = None;
                SaveResult::Fenced
            }
        }
    }
}

/// One command, and what became of it.
pub(super) fn commit_world(store: &mut dyn Backend, command: WorldCommand) -> Outcome {
    commit_one(store, Command::World(command))
}

/// One command, and what became of it.
pub(super) fn commit_one(store: &mut dyn Backend, command: Command) -> Outcome {
    let outcomes = store.commit(&[command]).expect("a store in memory is always there");
    outcomes.into_iter().next().expect("a command has an outcome")
}
