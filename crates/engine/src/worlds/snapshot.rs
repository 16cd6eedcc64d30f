//! A world as a snapshot has it (`writing` writes them), and how it is opened again:
//! `snapshot = format:u8=1 head movers:varint mover*` (see `tables::pack`).
//!
//! Positions are those of a moment; what is hard stands here as far as it is committed, with the length of the log that it
//! stands for. Rows behind that are folded into it. Trees and items follow from the seed and are not kept.

use super::answers::FirstAnswers;
use super::facts::{Claim, Fact, Hunter, Scored};
use super::input::{Done, MoverId, Seat};
use super::registration::Registration;
use super::rounds::RoundPhase;
use super::world::{Corrupt, Opening, World, span_us};
use crate::ids::PlayerId;
use crate::limits::{MOVER_ANSWERS_KEPT, MOVER_IDS_GAP};
use crate::matches::entry::{BadEntry, ByteReader};
use crate::rows::WorldLogRow;
use crate::tables::pack::{Pack, packed, packed_variants};
use crate::time::UnixMs;
use rules::world::{Bits, Cell, Indicator, Life, PowerUp};
use std::sync::Arc;

pub(super) const FORMAT: u8 = 1;

/// What is kept beside the movers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) claims_version: u32,
    pub(super) epoch: u32,
    pub(super) is_last: bool,
    pub(super) ids_next: u32,
    pub(super) batch: u32,
    pub(super) round: Option<KeptRound>,
    pub(super) life: Option<Vec<LifeWord>>,
}
packed!(Head { claims_version, epoch, is_last, ids_next, batch, round, life });

/// The round, as far as it is committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KeptRound {
    pub(super) number: u32,
    pub(super) phase: RoundPhase,
    pub(super) until: UnixMs,
    pub(super) scores: Vec<Scored>,
    pub(super) gone: Vec<u32>,
}
packed!(KeptRound { number, phase, until, scores, gone });
packed_variants!(RoundPhase { 0 => Waiting {}, 1 => Running {}, 2 => Over {} });

/// Sixty-four cells of which some are alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LifeWord {
    pub(super) at: u32,
    pub(super) alive: u64,
}
packed!(LifeWord { at, alive });

/// A mover who may come back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KeptMover {
    pub(super) id: MoverId,
    pub(super) cell: Cell,
    pub(super) indicator: u8,
    pub(super) next_seq: u32,
    pub(super) player: Option<PlayerId>,
    pub(super) name: Arc<str>,
    pub(super) answers: FirstAnswers,
    pub(super) helped_until: Vec<UnixMs>,
}
packed!(KeptMover { id, cell, indicator, next_seq, player, name, answers, helped_until });

impl Pack for FirstAnswers {
    fn put(&self, out: &mut Vec<u8>) {
        self.words().iter().for_each(|word| word.put(out));
    }

    fn get(from: &mut ByteReader<'_>) -> Result<Self, BadEntry> {
        let mut words = [0; MOVER_ANSWERS_KEPT];
        for word in &mut words {
            *word = u64::get(from)?;
        }
        Self::from_words(words).ok_or(BadEntry("an answer that does not exist"))
    }
}

impl World {
    /// Opens a world: as it was laid out, then its snapshot, if there is one, then the rows of the log behind that. Movers who may come
    /// back are there and have their grace to do so.
    ///
    /// # Errors
    /// [`Corrupt`] when the settings are none, or the snapshot or a row cannot be read or does not fit.
    pub fn open(opening: Opening, snapshot: Option<&[u8]>, rows: &[WorldLogRow], now_us: i64) -> Result<Self, Corrupt> {
        let mut world = Self::new(opening)?;
        world.number_from(1, opening.epoch.saturating_sub(1));
        if let Some(bytes) = snapshot {
            world.resume(bytes, now_us).map_err(Corrupt::Snapshot)?;
        }
        for row in rows {
            let version = row.version;
            if version != world.log.committed() {
                return Err(Corrupt::Log { version, why: "it is not the next one" });
            }
            let fact = Fact::from_bytes(&row.bytes).map_err(|why| Corrupt::Row { version, why })?;
            world.replay(&fact, now_us).map_err(|why| Corrupt::Log { version, why })?;
        }
        world.await_all(now_us);
        world.generation_due_us = opening.settings.life.map(|life| now_us + span_us(life.generation));
        if let Some(hunt) = &mut world.hunt {
            hunt.news.clear();
        }
        Ok(world)
    }

    /// New movers are numbered from here, with a gap for every life of the world of which no snapshot tells how far it got.
    fn number_from(&mut self, first: u32, gaps: u32) {
        self.ids_next = first.wrapping_add(gaps.wrapping_mul(MOVER_IDS_GAP));
        self.ids_end = self.ids_next.wrapping_add(MOVER_IDS_GAP);
    }

    fn resume(&mut self, bytes: &[u8], now_us: i64) -> Result<(), BadEntry> {
        let mut from = ByteReader::new(bytes);
        if u8::get(&mut from)? != FORMAT {
            return Err(BadEntry("written in another format: by a newer version?"));
        }
        let head = Head::get(&mut from)?;
        let claims = self.epoch.saturating_sub(head.epoch);
        self.number_from(head.ids_next, claims.saturating_sub(u32::from(head.is_last)));
        self.batch = head.batch;
        self.log = super::log::Log::new(head.claims_version);
        if let (Some(life), Some(words)) = (&mut self.life, &head.life) {
            *life = Life::new(alive(words, self.trees.as_ref())?);
        }
        if let (Some(hunt), Some(kept)) = (&mut self.hunt, head.round) {
            hunt.resume((kept.number, kept.phase, kept.until), kept.scores, &kept.gone).map_err(BadEntry)?;
        }
        for _ in 0..u32::get(&mut from)? {
            let kept = KeptMover::get(&mut from)?;
            self.bring_back(kept, now_us)?;
        }
        from.finish()
    }

    fn bring_back(&mut self, kept: KeptMover, now_us: i64) -> Result<(), BadEntry> {
        let hunter = Hunter { mover: kept.id, player: kept.player, name: kept.name };
        let indicator = Indicator::of_mover(kept.indicator).ok_or(BadEntry("a mover that looks like a thing"))?;
        if kept.id == MoverId(0) || self.lasting.contains_key(&kept.id) {
            return Err(BadEntry("a mover without a number of his own"));
        }
        let seat =
            self.revive(&hunter, kept.cell, indicator, now_us).ok_or(BadEntry("a mover for whom there is no room"))?;
        if let Some(mover) = self.crowd.get_mut(seat) {
            mover.next_seq = kept.next_seq;
            mover.answers = kept.answers;
        }
        for (kind, until) in PowerUp::ALL.into_iter().zip(kept.helped_until) {
            if until.0.saturating_mul(1_000) > now_us {
                self.help(seat, kind, until, now_us);
            }
        }
        Ok(())
    }

    /// A mover of before, at the free cell next to where he stood.
    fn revive(&mut self, hunter: &Hunter, cell: Cell, indicator: Indicator, now_us: i64) -> Option<Seat> {
        let cell = self.first_cell(Some(cell))?;
        let name = (!hunter.name.is_empty()).then(|| hunter.name.clone());
        let Hunter { mover, player, .. } = *hunter;
        let registration =
            Registration { indicator, at: None, view: None, player, name, is_lasting: true, resume: None };
        Some(self.settle(mover, cell, &registration, now_us))
    }

    /// Takes a row of the log in. Whoever made the claim is as far as if he had been answered, also when he came after the snapshot.
    fn replay(&mut self, fact: &Fact, now_us: i64) -> Result<(), &'static str> {
        self.hunt.as_mut().ok_or("a world without a hunt has rounds")?.fold(fact)?;
        self.log.count_read();
        self.has_changed = true;
        match fact {
            Fact::Dug { claim, points, score, .. } => {
                let points = u16::try_from(*points).map_err(|_| "a chest is worth more than any")?;
                self.count_claim(claim, Done::Dug { points, score: *score }, now_us);
            }
            Fact::Grabbed { claim, kind, until, .. } => {
                let seat = self.count_claim(claim, Done::Grabbed { item: *kind, until: *until }, now_us);
                if let Some(seat) = seat.filter(|_| until.0.saturating_mul(1_000) > now_us) {
                    self.help(seat, *kind, *until, now_us);
                }
            }
            Fact::RoundBegan { .. } | Fact::RoundEnded { .. } => {}
        }
        Ok(())
    }

    fn count_claim(&mut self, claim: &Claim, done: Done, now_us: i64) -> Option<Seat> {
        let id = claim.hunter.mover;
        let known = self.lasting.get(&id).map(|slot| Seat { slot: *slot, id });
        let seat = known.or_else(|| self.revive(&claim.hunter, claim.cell, Indicator::PLAYER, now_us))?;
        let mover = self.crowd.get_mut(seat)?;
        // What the snapshot counted already is not counted back.
        let is_ahead = claim.seq.wrapping_sub(mover.next_seq) < u32::MAX / 2;
        if known.is_none() || is_ahead {
            mover.next_seq = claim.seq.wrapping_add(1);
        }
        if (mover.next_seq.wrapping_sub(claim.seq) as usize) <= MOVER_ANSWERS_KEPT {
            mover.answers.keep(claim.seq, super::answers::First::Said(Ok(done)));
        }
        Some(seat)
    }

    /// Nobody speaks for anybody yet.
    fn await_all(&mut self, now_us: i64) {
        let seats: Vec<Seat> = self.profiles.iter().map(|profile| profile.seat).collect();
        seats.into_iter().for_each(|seat| self.lost(seat, now_us));
    }
}

/// The bacteria of a snapshot, as far as they stand on free ground.
fn alive(words: &[LifeWord], trees: &Bits) -> Result<Bits, BadEntry> {
    let mut alive = Bits::new(trees.size());
    let row_words = alive.row_words();
    for word in words {
        let (y, first) = (word.at as usize / row_words, word.at as usize % row_words * 64);
        if y >= usize::from(trees.size().height) || word.alive & !alive.on_grid(word.at as usize) != 0 {
            return Err(BadEntry("life beyond the world"));
        }
        let cells = (0..64).filter(|bit| word.alive >> bit & 1 == 1);
        cells.for_each(|bit| alive.set(Cell { x: (first + bit) as u16, y: y as u16 }));
    }
    Ok(alive)
}
