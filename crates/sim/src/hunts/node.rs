//! A node: a worker with a lease that may have a world in its memory, and does not notice by itself when it has lost it.

use engine::commands::{Command, Outcome, WorldAppend, WorldCommand};
use engine::ids::{WorkerId, WorldId};
use engine::worlds::{Answer, World};
use store::contract::Backend;

/// How a commit goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// At once.
    Saved,
    /// It is not saved, and the node does not know.
    Lost,
    /// It is saved, and the node does not know.
    Unknown,
    /// It arrives when the node commits next.
    Late,
}

/// What became of the world in a node's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    Still,
    /// It left memory: nobody knows whether it was saved.
    Doubtful,
    /// It left memory: somebody else has it.
    Fenced,
}

/// A world in memory.
pub(super) struct Held {
    pub(super) world: World,
    pub(super) epoch: u32,
    late: Option<WorldAppend>,
}

pub(super) struct Node {
    pub(super) worker: WorkerId,
    pub(super) held: Option<Held>,
    /// Steps for which it does not renew its lease.
    pub(super) asleep: u32,
}

impl Node {
    pub(super) fn hold(&mut self, world: World, epoch: u32) {
        self.held = Some(Held { world, epoch, late: None });
    }

    /// Commits what is decided.
    pub(super) fn save(
        &mut self,
        store: &mut dyn Backend,
        id: WorldId,
        fate: Fate,
        now_us: i64,
        out: &mut Vec<Answer>,
    ) -> Kept {
        let Some(held) = &mut self.held else { return Kept::Still };
        let append = held.late.take().or_else(|| {
            let pending = held.world.take_claims()?;
            Some(WorldAppend { id, epoch: held.epoch, expected_version: pending.expected_version, rows: pending.rows })
        });
        let Some(append) = append else { return Kept::Still };
        let version = append.expected_version + append.rows.len() as u32;
        let kept = match fate {
            Fate::Late => {
                held.late = Some(append);
                return Kept::Still;
            }
            Fate::Lost => Kept::Doubtful,
            Fate::Unknown => {
                let _ = commit(store, WorldCommand::Append(append));
                Kept::Doubtful
            }
            Fate::Saved => match commit(store, WorldCommand::Append(append)) {
                Outcome::Done => {
                    held.world.committed(version, now_us, out).expect("what a world decided follows on what it had");
                    return Kept::Still;
                }
                Outcome::Fenced | Outcome::VersionIs(_) => Kept::Fenced,
                other => unreachable!("an append is answered {other:?}"),
            },
        };
        self.held = None;
        kept
    }

    /// Keeps what is soft.
    pub(super) fn snapshot(&mut self, store: &mut dyn Backend, id: WorldId) -> Kept {
        let Some(held) = &mut self.held else { return Kept::Still };
        let snapshot = held.world.snapshot(false);
        let (claims_version, mark, bytes) = (snapshot.claims_version, snapshot.mark, snapshot.into_bytes());
        match commit(store, WorldCommand::Snapshot { id, epoch: held.epoch, claims_version, bytes }) {
            Outcome::Done => {
                held.world.kept(mark);
                Kept::Still
            }
            _ => {
                self.held = None;
                Kept::Fenced
            }
        }
    }
}

/// One command, and what became of it.
pub(super) fn commit(store: &mut dyn Backend, command: WorldCommand) -> Outcome {
    one(store, Command::World(command))
}

/// One command, and what became of it.
pub(super) fn one(store: &mut dyn Backend, command: Command) -> Outcome {
    let outcomes = store.commit(&[command]).expect("a store in memory is always there");
    outcomes.into_iter().next().expect("a command has an outcome")
}
