//! Small, readable things about worlds and hunts to store.

use crate::fixtures::{StoreFixture, at, lease, worker_id};
use crate::stories::player_id;
use engine::commands::{Aggregate, ClaimedWorld, Command, HuntDelta, HunterDelta, Outcome, WorldAppend, WorldCommand};
use engine::ids::{WorldId, WorldName};
use engine::rows::{Admission, RoundRow, WorldKind, WorldLogRow, WorldRow};
use engine::time::UnixMs;
use rules::chance::Seed;
use std::time::Duration;

pub(crate) fn world_id(n: u128) -> WorldId {
    WorldId(0x2_0000 + n)
}

pub(crate) fn name(text: &str) -> WorldName {
    text.parse().unwrap()
}

/// A hunt of player 1 that any player may join; every column differs from its neighbours.
pub(crate) fn hunt(n: u128, ends_at: Option<UnixMs>) -> WorldRow {
    WorldRow {
        id: world_id(n),
        name: name(&format!("hunt-{n}")),
        kind: WorldKind::Hunt,
        settings: vec![n as u8; 20],
        seed: Seed(u64::MAX - n as u64),
        creator: Some(player_id(1)),
        created_at: at(0),
        ends_at,
        admission: Admission::Joined,
        players_max: 7,
    }
}

/// A built-in world.
pub(crate) fn plaza(n: u128) -> WorldRow {
    let (kind, admission) = (WorldKind::World, Admission::Everybody);
    WorldRow { name: name(&format!("plaza-{n}")), kind, creator: None, admission, players_max: 0, ..hunt(n, None) }
}

pub(crate) fn ensure(row: &WorldRow, members: &[u128]) -> Command {
    let members = members.iter().copied().map(player_id).collect();
    Command::World(WorldCommand::Ensure { row: row.clone(), members })
}

pub(crate) fn world_is(row: &WorldRow) -> Outcome {
    Outcome::World(Box::new(row.clone()))
}

pub(crate) fn claim_world(worker: u128, world: u128, now: UnixMs) -> Command {
    Command::World(WorldCommand::Claim { id: world_id(world), worker: worker_id(worker), now })
}

pub(crate) fn release_world(world: u128, epoch: u32) -> Command {
    Command::World(WorldCommand::Release { id: world_id(world), epoch, is_finished: false })
}

pub(crate) fn finish_world(world: u128, epoch: u32) -> Command {
    Command::World(WorldCommand::Release { id: world_id(world), epoch, is_finished: true })
}

/// Entry `version` of any claim log.
pub(crate) fn claim_row(version: u32) -> WorldLogRow {
    WorldLogRow { version, bytes: vec![version as u8; 1 + version as usize % 40] }
}

pub(crate) fn appended(world: u128, epoch: u32, from: u32, count: u32) -> WorldAppend {
    let rows = (from..from + count).map(claim_row).collect();
    WorldAppend { id: world_id(world), epoch, expected_version: from, rows }
}

pub(crate) fn claims(world: u128, epoch: u32, from: u32, count: u32) -> Command {
    Command::World(WorldCommand::Append(appended(world, epoch, from, count)))
}

pub(crate) fn snapshot(world: u128, epoch: u32, claims_version: u32, size: usize) -> Command {
    let (id, bytes) = (world_id(world), vec![0x5a; size]);
    Command::World(WorldCommand::Snapshot { id, epoch, claims_version, bytes })
}

pub(crate) fn join(world: u128, player: u128, now: UnixMs) -> Command {
    Command::World(WorldCommand::Join { id: world_id(world), player: player_id(player), now })
}

pub(crate) fn leave(world: u128, player: u128) -> Command {
    Command::World(WorldCommand::Leave { id: world_id(world), player: player_id(player) })
}

/// Without signed-in players.
pub(crate) fn aggregate(world: u128, from: u32, to: u32) -> Aggregate {
    let (id, totals) = (world_id(world), HuntDelta::default());
    Aggregate { id, from_version: from, to_version: to, hunters: Vec::new(), totals, rounds: Vec::new() }
}

pub(crate) fn counted(world: u128, from: u32, to: u32) -> Command {
    Command::World(WorldCommand::Aggregate(aggregate(world, from, to)))
}

/// Every column differs from its neighbours.
pub(crate) fn delta(player: u128, name: &str, points: u32, at_ms: i64) -> HunterDelta {
    HunterDelta {
        player: player_id(player),
        name: name.to_owned(),
        points,
        chests: points + 1,
        power_ups: points + 2,
        rounds: points + 4,
        rounds_won: points + 3,
        at: at(at_ms),
    }
}

pub(crate) fn round(number: u32, winner: Option<u128>) -> RoundRow {
    RoundRow {
        number,
        ended_at: at(i64::from(number)),
        winner: winner.map(player_id),
        winner_name: winner.map_or_else(String::new, |winner| format!("hünter-{winner}")),
        points: number * 10,
        hunters: number + 1,
    }
}

pub(crate) fn retire_worlds(now: UnixMs, keep_ms: u64, max: usize) -> Command {
    retire_worlds_but(now, keep_ms, usize::MAX >> 1, max)
}

/// The same, but keeps no more than so many.
pub(crate) fn retire_worlds_but(now: UnixMs, keep_ms: u64, keep_max: usize, max: usize) -> Command {
    Command::World(WorldCommand::Retire { now, keep_for: Duration::from_millis(keep_ms), keep_max, max })
}

pub(crate) fn end_world(n: u128, now: UnixMs) -> Command {
    Command::World(WorldCommand::End { id: world_id(n), now })
}

pub(crate) fn end_unjoined(now: UnixMs, made_before: UnixMs, max: usize) -> Command {
    Command::World(WorldCommand::EndUnjoined { now, made_before, max })
}

impl StoreFixture {
    #[track_caller]
    pub(crate) fn takes_world(&mut self, claim: Command) -> ClaimedWorld {
        match self.commit_one(claim) {
            Outcome::WorldClaimed(claimed) => *claimed,
            other => panic!("not claimed: {other:?}"),
        }
    }

    /// The world is this worker's.
    #[track_caller]
    pub(crate) fn own_world(&mut self, worker: u128, world: u128) {
        self.assert_outcome(lease(worker, at(0)), Outcome::Done);
        self.takes_world(claim_world(worker, world, at(0)));
    }

    /// A page of a log has these entries; the log has so many, and so many are counted.
    #[track_caller]
    pub(crate) fn log_is(&mut self, world: u128, from: u32, limit: usize, want: &[u32], versions: (u32, u32)) {
        let page = self.reader.world_log(world_id(world), from, limit).unwrap().unwrap();
        assert_eq!((page.version, page.aggregated_version), versions);
        assert!(page.rows.iter().cloned().eq(want.iter().copied().map(claim_row)), "{:?}", page.rows);
    }
}
