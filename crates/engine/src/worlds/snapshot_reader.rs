//! Reads a snapshot of a world (`snapshot_writer` writes it) and opens the world from it:
//! `snapshot = format:u8=1 head movers:varint mover*` (see `pack`).
//!
//! Positions are those of a moment; durable state is included as far as it is committed, with the length of the log at
//! that point. Rows after that are applied to it. Trees and items follow from the seed and are not saved.

use super::answers::RecentAnswers;
use super::facts::{Claim, Fact, Hunter, HunterScore, WorldLogRow};
use super::input::{Done, MoverId, MoverRef};
use super::registration::Registration;
use super::rounds::RoundPhase;
use super::world::{World, WorldLoadError, WorldParams, span_us};
use crate::ids::PlayerId;
use crate::limits::{MOVER_ANSWERS_KEPT, MOVER_IDS_GAP};
use crate::pack::{ByteReader, DecodeError, Pack, packed, packed_variants};
use crate::time::UnixMs;
use rules::world::{Cell, CellSet, Indicator, Life, PowerUp};
use std::sync::Arc;

pub(super) const FORMAT: u8 = 1;

/// What is saved in addition to the movers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SnapshotHeader {
    pub(super) claims_version: u32,
    pub(super) epoch: u32,
    pub(super) is_last: bool,
    pub(super) ids_next: u32,
    pub(super) batch: u32,
    pub(super) round: Option<SnapshotRound>,
    pub(super) life: Option<Vec<AliveWord>>,
}
packed!(SnapshotHeader { claims_version, epoch, is_last, ids_next, batch, round, life });

/// The round, as far as it is committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SnapshotRound {
    pub(super) number: u32,
    pub(super) phase: RoundPhase,
    pub(super) until: UnixMs,
    pub(super) scores: Vec<HunterScore>,
    pub(super) gone: Vec<u32>,
}
packed!(SnapshotRound { number, phase, until, scores, gone });
packed_variants!(RoundPhase { 0 => Waiting {}, 1 => Running {}, 2 => Over {} });

/// Sixty-four cells of which some are alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AliveWord {
    pub(super) at: u32,
    pub(super) alive: u64,
}
packed!(AliveWord { at, alive });

/// A mover who may come back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SnapshotMover {
    pub(super) id: MoverId,
    pub(super) cell: Cell,
    pub(super) indicator: u8,
    pub(super) next_seq: u32,
    pub(super) player: Option<PlayerId>,
    pub(super) name: Arc<str>,
    pub(super) answers: RecentAnswers,
    pub(super) helped_until: Vec<UnixMs>,
}
packed!(SnapshotMover { id, cell, indicator, next_seq, player, name, answers, helped_until });

impl Pack for RecentAnswers {
    fn put(&self, out: &mut Vec<u8>) {
        self.words().iter().for_each(|word| word.put(out));
    }

    fn get(from: &mut ByteReader<'_>) -> Result<Self, DecodeError> {
        let mut words = [0; MOVER_ANSWERS_KEPT];
        for word in &mut words {
            *word = u64::get(from)?;
        }
        Self::from_words(words).ok_or(DecodeError("an answer that does not exist"))
    }
}

impl World {
    /// Opens a world: as it was laid out, then its snapshot, if there is one, then the rows of the log behind that. Movers who may come
    /// back are there and have their grace to do so.
    ///
    /// # Errors
    /// [`WorldLoadError`] when the settings are none, or the snapshot or a row cannot be read or does not fit.
    pub fn open(
        opening: WorldParams,
        snapshot: Option<&[u8]>,
        rows: &[WorldLogRow],
        now_us: i64,
    ) -> Result<Self, WorldLoadError> {
        let mut world = Self::new(opening)?;
        world.reserve_ids(1, opening.epoch.saturating_sub(1));
        if let Some(bytes) = snapshot {
            world.restore_snapshot(bytes, now_us).map_err(WorldLoadError::Snapshot)?;
        }
        for row in rows {
            let version = row.version;
            if version != world.log.committed() {
                return Err(WorldLoadError::Log { version, why: "it is not the next one" });
            }
            let fact = Fact::from_bytes(&row.bytes).map_err(|why| WorldLoadError::Row { version, why })?;
            world.replay(&fact, now_us).map_err(|why| WorldLoadError::Log { version, why })?;
        }
        world.mark_all_disconnected(now_us);
        world.generation_due_us = opening.settings.life.map(|life| now_us + span_us(life.generation));
        if let Some(hunt) = &mut world.hunt {
            hunt.events.clear();
        }
        Ok(world)
    }

    /// New movers are numbered from here, with a gap for every owner of the world whose last numbers no snapshot has.
    fn reserve_ids(&mut self, first: u32, gaps: u32) {
        self.ids_next = first.wrapping_add(gaps.wrapping_mul(MOVER_IDS_GAP));
        self.ids_end = self.ids_next.wrapping_add(MOVER_IDS_GAP);
    }

    fn restore_snapshot(&mut self, bytes: &[u8], now_us: i64) -> Result<(), DecodeError> {
        let mut from = ByteReader::of_format(FORMAT, bytes)?;
        let head = SnapshotHeader::get(&mut from)?;
        let claims = self.epoch.saturating_sub(head.epoch);
        self.reserve_ids(head.ids_next, claims.saturating_sub(u32::from(head.is_last)));
        self.batch = head.batch;
        self.log = super::claim_log::ClaimLog::new(head.claims_version);
        if let (Some(life), Some(words)) = (&mut self.life, &head.life) {
            *life = Life::new(restore_bacteria(words, self.trees.as_ref())?);
        }
        if let (Some(hunt), Some(kept)) = (&mut self.hunt, head.round) {
            hunt.restore((kept.number, kept.phase, kept.until), kept.scores, &kept.gone).map_err(DecodeError)?;
        }
        for _ in 0..u32::get(&mut from)? {
            let kept = SnapshotMover::get(&mut from)?;
            self.restore_mover(kept, now_us)?;
        }
        from.finish()
    }

    fn restore_mover(&mut self, kept: SnapshotMover, now_us: i64) -> Result<(), DecodeError> {
        let hunter = Hunter { mover: kept.id, player: kept.player, name: kept.name };
        let indicator = Indicator::of_mover(kept.indicator).ok_or(DecodeError("a mover that looks like a thing"))?;
        if kept.id == MoverId(0) || self.resumable.contains_key(&kept.id) {
            return Err(DecodeError("a mover without a number of its own"));
        }
        let mover_ref = self
            .respawn(&hunter, kept.cell, indicator, now_us)
            .ok_or(DecodeError("a mover for whom there is no room"))?;
        if let Some(mover) = self.crowd.get_mut(mover_ref) {
            mover.next_seq = kept.next_seq;
            mover.answers = kept.answers;
        }
        for (kind, until) in PowerUp::ALL.into_iter().zip(kept.helped_until) {
            if until.0.saturating_mul(1_000) > now_us {
                self.activate_power_up(mover_ref, kind, until, now_us);
            }
        }
        Ok(())
    }

    /// A mover from the snapshot, at the free cell next to its old one.
    fn respawn(&mut self, hunter: &Hunter, cell: Cell, indicator: Indicator, now_us: i64) -> Option<MoverRef> {
        let cell = self.spawn_cell(Some(cell))?;
        let name = (!hunter.name.is_empty()).then(|| hunter.name.clone());
        let Hunter { mover, player, .. } = *hunter;
        let registration = Registration { indicator, player, name, is_resumable: true, ..Registration::default() };
        Some(self.spawn_mover(mover, cell, &registration, now_us))
    }

    /// Applies a row of the log. The mover of the claim continues as if it had been answered, also when it was
    /// registered after the snapshot.
    fn replay(&mut self, fact: &Fact, now_us: i64) -> Result<(), &'static str> {
        self.hunt.as_mut().ok_or("a world without a hunt has rounds")?.apply(fact)?;
        self.log.count_replayed();
        self.has_changed = true;
        match fact {
            Fact::Dug { claim, points, score, .. } => {
                let points = u16::try_from(*points).map_err(|_| "a chest is worth more than any")?;
                self.replay_claim(claim, Done::Dug { points, score: *score }, now_us);
            }
            Fact::Grabbed { claim, kind, until, .. } => {
                let mover_ref = self.replay_claim(claim, Done::Grabbed { item: *kind, until: *until }, now_us);
                if let Some(mover_ref) = mover_ref.filter(|_| until.0.saturating_mul(1_000) > now_us) {
                    self.activate_power_up(mover_ref, *kind, *until, now_us);
                }
            }
            Fact::RoundBegan { .. } | Fact::RoundEnded { .. } => {}
        }
        Ok(())
    }

    fn replay_claim(&mut self, claim: &Claim, done: Done, now_us: i64) -> Option<MoverRef> {
        let id = claim.hunter.mover;
        let known = self.resumable.get(&id).map(|slot| MoverRef { slot: *slot, id });
        let mover_ref = known.or_else(|| self.respawn(&claim.hunter, claim.cell, Indicator::PLAYER, now_us))?;
        let mover = self.crowd.get_mut(mover_ref)?;
        // What the snapshot counted already is not counted back.
        let is_ahead = claim.seq.wrapping_sub(mover.next_seq) < u32::MAX / 2;
        if known.is_none() || is_ahead {
            mover.answers.forget(mover.next_seq, claim.seq);
            mover.next_seq = claim.seq.wrapping_add(1);
        }
        if (mover.next_seq.wrapping_sub(claim.seq) as usize) <= MOVER_ANSWERS_KEPT {
            mover.answers.record(claim.seq, super::answers::RecordedAnswer::Final(Ok(done)));
        }
        Some(mover_ref)
    }

    /// No mover has a connection yet.
    fn mark_all_disconnected(&mut self, now_us: i64) {
        let mover_refs: Vec<MoverRef> = self.profiles.iter().map(|profile| profile.mover).collect();
        mover_refs.into_iter().for_each(|mover_ref| self.connection_lost(mover_ref, now_us));
    }
}

/// The bacteria of a snapshot, as far as they stand on free ground.
fn restore_bacteria(words: &[AliveWord], trees: &CellSet) -> Result<CellSet, DecodeError> {
    let mut alive = CellSet::new(trees.size());
    let row_words = alive.words_per_row();
    for word in words {
        let (y, first) = (word.at as usize / row_words, word.at as usize % row_words * 64);
        if y >= usize::from(trees.size().height) || word.alive & !alive.on_grid(word.at as usize) != 0 {
            return Err(DecodeError("life beyond the world"));
        }
        let cells = (0..64).filter(|bit| word.alive >> bit & 1 == 1);
        cells.for_each(|bit| alive.insert(Cell { x: (first + bit) as u16, y: y as u16 }));
    }
    Ok(alive)
}
