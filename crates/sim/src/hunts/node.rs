//! A node: a worker with a lease that may have a world in its memory, and does not notice by itself when it has lost
//! it.

use engine::commands::{Command, Outcome, WorldAppend, WorldCommand};
use engine::ids::{WorkerId, WorldId};
use engine::time::UnixMs;
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
    /// Steps for which it cannot reach the store.
    pub(super) cut_off: u32,
    /// How far its dates are before the store's.
    pub(super) skew_us: i64,
    /// The same when it started: how far the time is before the store's by which it moves its world.
    pub(super) steady_skew_us: i64,
}

impl Node {
    /// The date that it gives to the store.
    pub(super) fn date(&self, now_us: i64) -> UnixMs {
        UnixMs((now_us + self.skew_us) / 1_000)
    }

    /// The time of its world.
    pub(super) fn steady_us(&self, now_us: i64) -> i64 {
        now_us + self.steady_skew_us
    }

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

    /// A snapshot of which the node does not learn whether it was saved.
    pub(super) fn lose_snapshot(&mut self, store: &mut dyn Backend, id: WorldId, is_saved: bool) {
        let Some(held) = &mut self.held else { return };
        let snapshot = held.world.snapshot(false);
        if is_saved {
            let (claims_version, bytes) = (snapshot.claims_version, snapshot.into_bytes());
            let _ = commit_world(store, WorldCommand::Snapshot { id, epoch: held.epoch, claims_version, bytes });
        }
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
