//! How a snapshot of a world is written: durable state and numbers at one moment, the movers after it, some at a time,
//! so that no move waits while many are written.
//!
//! Movers may be written as they are later than that moment, because opening a world allows for it already: a claim
//! that was decided before a snapshot and committed after it counts as applied, and the row of the log after the
//! snapshot answers it. The other way round would be wrong: a mover from before the moment could claim again what the
//! log has.

use super::facts::Hunter;
use super::input::{MoverId, MoverRef};
use super::snapshot_reader::{AliveWord, FORMAT, SnapshotHeader, SnapshotMover, SnapshotRound};
use super::world::World;
use crate::limits::MOVER_IDS_GAP;
use crate::pack::{Pack, put_varint};
use crate::time::UnixMs;
use rules::world::Life;
use std::ops::Bound;

/// A snapshot in the making, see [`World::begin_snapshot`].
#[derive(Debug)]
pub struct Snapshot {
    /// Rows of the log that it stands for.
    pub claims_version: u32,
    /// The argument of [`World::snapshot_saved`] once it is saved.
    pub id_watermark: IdWatermark,
    head: Vec<u8>,
    /// Movers, some in each: one list that grows would be copied each time it does.
    portions: Vec<Vec<u8>>,
    movers: u64,
    /// The last mover that was looked at.
    last_id: Option<MoverId>,
}

/// How far the numbers of movers had got when a snapshot was begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdWatermark(u32);

impl Snapshot {
    /// What is to be kept.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        let mut bytes = self.head;
        put_varint(&mut bytes, self.movers);
        bytes.reserve_exact(self.portions.iter().map(Vec::len).sum());
        self.portions.iter().for_each(|portion| bytes.extend_from_slice(portion));
        bytes
    }
}

impl World {
    /// Whether there is anything that the last snapshot does not have. Movers who may not come back do not count.
    #[must_use]
    pub fn has_changed(&self) -> bool {
        self.has_changed
    }

    /// A whole snapshot. With `is_last`, no mover is registered after it.
    pub fn snapshot(&mut self, is_last: bool) -> Snapshot {
        let mut snapshot = self.begin_snapshot(is_last);
        self.write_movers(&mut snapshot, usize::MAX);
        snapshot
    }

    /// Begins a snapshot of this moment: all but the movers. With `is_last`, no mover is registered after it.
    pub fn begin_snapshot(&mut self, is_last: bool) -> Snapshot {
        let mut head = vec![FORMAT];
        self.snapshot_header(is_last).put(&mut head);
        self.has_changed = false;
        Snapshot {
            claims_version: self.log.committed(),
            id_watermark: IdWatermark(self.ids_next),
            head,
            portions: Vec::new(),
            movers: 0,
            last_id: None,
        }
    }

    /// Writes so many movers more, as they are now. Whether the snapshot is whole.
    pub fn write_movers(&self, snapshot: &mut Snapshot, max: usize) -> bool {
        let behind = snapshot.last_id.map_or(Bound::Unbounded, Bound::Excluded);
        let mut left = self.resumable.range((behind, Bound::Unbounded));
        let mut portion = Vec::new();
        for (id, slot) in left.by_ref().take(max) {
            snapshot.last_id = Some(*id);
            if let Some(kept) = self.snapshot_mover(MoverRef { slot: *slot, id: *id }) {
                kept.put(&mut portion);
                snapshot.movers += 1;
            }
        }
        snapshot.portions.push(portion);
        left.next().is_none()
    }

    /// A snapshot is kept: as many may come in after it as numbers are left out after a crash.
    pub fn snapshot_saved(&mut self, IdWatermark(ids_next): IdWatermark) {
        self.ids_end = ids_next.wrapping_add(MOVER_IDS_GAP);
    }

    fn snapshot_header(&self, is_last: bool) -> SnapshotHeader {
        let round = self.hunt.as_ref().map(|hunt| {
            let (scores, gone) = hunt.snapshot_parts();
            SnapshotRound { number: hunt.number, phase: hunt.phase, until: hunt.until, scores, gone }
        });
        let words = |life: &Life| {
            let words = (0_u32..).zip(life.alive().words()).filter(|(_, alive)| **alive != 0);
            words.map(|(at, alive)| AliveWord { at, alive: *alive }).collect()
        };
        SnapshotHeader {
            claims_version: self.log.committed(),
            epoch: self.epoch,
            is_last,
            ids_next: self.ids_next,
            batch: self.batch,
            round,
            life: self.life.as_ref().map(words),
        }
    }

    fn snapshot_mover(&self, mover_ref: MoverRef) -> Option<SnapshotMover> {
        let mover = self.crowd.get(mover_ref)?;
        let profile = self.profiles.get(mover.profile())?;
        let Hunter { mover: id, player, name } = profile.hunter();
        Some(SnapshotMover {
            id,
            cell: mover.cell(),
            indicator: mover.indicator().code(),
            next_seq: mover.next_seq,
            player,
            name,
            answers: mover.answers,
            helped_until: profile.power_ups_until_us.iter().map(|until| UnixMs(until.div_euclid(1_000))).collect(),
        })
    }
}
