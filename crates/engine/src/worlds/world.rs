//! A world in memory: its parts, how it is opened, and what happens as time passes.

use super::batch_order::BatchOrder;
use super::claim_log::ClaimLog;
use super::crowd::Crowd;
use super::hunt::Hunt;
use super::input::{MoverId, MoverRef};
use super::profiles::Profiles;
use super::rounds::{HuntEvent, RoundPhase, RoundStatus};
use super::viewer::ViewScratch;
use crate::ids::{PlayerId, WorldId};
use crate::limits::MOVER_GRACE;
use crate::pack::DecodeError;
use crate::time::UnixMs;
use rules::ValidationError;
use rules::chance::Seed;
use rules::world::{Cell, CellSet, Life, WorldSettings, initial_bacteria, place_trees};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// What a world is opened with: how its row has it, and the epoch of the claim under which this process has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorldParams {
    pub id: WorldId,
    /// How it is laid out.
    pub settings: WorldSettings,
    /// What chance did.
    pub seed: Seed,
    /// Rises with every claim.
    pub epoch: u32,
    /// When it is over, by the clock that the world is given.
    pub ends_at: Option<UnixMs>,
}

/// A world that cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorldLoadError {
    /// A world cannot have these settings.
    #[error("a world cannot be laid out by its settings: {0:?}")]
    Settings(Vec<ValidationError>),
    /// The snapshot cannot be read.
    #[error("the world's snapshot cannot be read: {0}")]
    Snapshot(DecodeError),
    /// A row of the log cannot be read.
    #[error("row {version} of the world's log cannot be read: {why}")]
    Row {
        /// Its place in the log.
        version: u32,
        why: DecodeError,
    },
    /// A row of the log does not follow on what was before.
    #[error("row {version} of the world's log does not follow: {why}")]
    Log {
        /// Its place in the log.
        version: u32,
        why: &'static str,
    },
}

/// What a world counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorldStats {
    /// How often the world has ticked since it was opened.
    pub tick: u32,
    /// Movers that are here.
    pub movers: usize,
    /// Of those, movers that may come back.
    pub lasting: usize,
    /// Of those, movers whose client is gone and whose grace is not over.
    pub lost: usize,
    /// Movers that are shown what is around them.
    pub viewers: usize,
    /// Batches since the world was opened.
    pub batches: u64,
    /// Inputs since then, accepted or not.
    pub inputs: u64,
    /// Inputs since then that were refused; those that were answered again do not count.
    pub refused: u64,
    /// Rows of the log.
    pub claims_version: u32,
    /// Facts that are decided and not committed.
    pub claims_pending: usize,
    pub bacteria: u32,
}

/// One world.
///
/// Its `Debug` prints only which it is: the seed alone would reveal where all items will lie.
#[derive(Clone)]
pub struct World {
    pub(super) id: WorldId,
    pub(super) settings: WorldSettings,
    pub(super) seed: Seed,
    pub(super) epoch: u32,
    pub(super) trees: Arc<CellSet>,
    pub(super) trees_count: u32,
    pub(super) life: Option<Life>,
    pub(super) hunt: Option<Hunt>,
    pub(super) crowd: Crowd,
    pub(super) profiles: Profiles,
    /// Where those are who may come back.
    pub(super) resumable: BTreeMap<MoverId, u32>,
    /// In a hunt, the one mover of each player: more of them would see more and dig more into one score.
    pub(super) players: BTreeMap<PlayerId, MoverRef>,
    /// Whose client is gone, and since when; in the order of time. Who has come back meanwhile stands here still.
    pub(super) disconnected: VecDeque<(i64, MoverRef)>,
    pub(super) log: ClaimLog,
    pub(super) ids_next: u32,
    /// The number from which on no mover may be registered before another snapshot is saved.
    pub(super) ids_end: u32,
    pub(super) generation_due_us: Option<i64>,
    ends_us: Option<i64>,
    is_over: bool,
    pub(super) batch: u32,
    pub(super) tick: u32,
    pub(super) has_changed: bool,
    pub(super) stats: WorldStats,
    pub(super) order: BatchOrder,
    pub(super) scratch: ViewScratch,
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World").field("id", &self.id).field("movers", &self.crowd.len()).finish_non_exhaustive()
    }
}

impl World {
    /// A world as it is laid out, without movers.
    pub(super) fn new(opening: WorldParams) -> Result<Self, WorldLoadError> {
        let WorldParams { id, settings, seed, epoch, ends_at } = opening;
        let mistakes = settings.validation_errors();
        if !mistakes.is_empty() {
            return Err(WorldLoadError::Settings(mistakes));
        }
        let trees = Arc::new(place_trees(seed, settings.size, settings.tree_permille));
        Ok(Self {
            id,
            settings,
            seed,
            epoch,
            trees_count: trees.count(),
            life: settings.life.map(|life| Life::new(initial_bacteria(seed, &trees, life.start_permille))),
            hunt: settings.hunt.map(|hunt| Hunt::new(hunt, seed, Arc::clone(&trees), ends_at)),
            trees,
            crowd: Crowd::new(settings.size),
            profiles: Profiles::default(),
            resumable: BTreeMap::new(),
            players: BTreeMap::new(),
            disconnected: VecDeque::new(),
            log: ClaimLog::new(0),
            ids_next: 1,
            ids_end: 1,
            generation_due_us: None,
            ends_us: ends_at.map(|at| at.0.saturating_mul(1_000)),
            is_over: false,
            batch: 0,
            tick: 0,
            has_changed: false,
            stats: WorldStats::default(),
            order: BatchOrder::default(),
            scratch: ViewScratch::default(),
        })
    }

    /// How it is laid out.
    #[must_use]
    pub fn settings(&self) -> &WorldSettings {
        &self.settings
    }

    /// The fencing token of the claim under which it was opened.
    #[must_use]
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Whether any mover is here, connected or within its grace.
    #[must_use]
    pub fn has_movers(&self) -> bool {
        self.crowd.len() > 0
    }

    /// Whether this reference names a mover.
    #[must_use]
    pub fn contains(&self, mover_ref: MoverRef) -> bool {
        self.crowd.contains(mover_ref)
    }

    /// A mover's cell.
    #[must_use]
    pub fn cell_of(&self, mover_ref: MoverRef) -> Option<Cell> {
        self.crowd.get(mover_ref).map(super::crowd::Mover::cell)
    }

    /// The public state of the round; `None` in a world without a hunt.
    #[must_use]
    pub fn round(&self) -> Option<RoundStatus> {
        self.hunt.as_ref().map(Hunt::round)
    }

    /// What the world counts.
    #[must_use]
    pub fn stats(&self) -> WorldStats {
        WorldStats {
            tick: self.tick,
            movers: self.crowd.len(),
            claims_version: self.log.committed(),
            claims_pending: self.log.pending(),
            bacteria: self.life.as_ref().map_or(0, |life| life.alive().count()),
            lasting: self.resumable.len(),
            ..self.stats
        }
    }

    /// Puts bacteria on free cells; gives how many there are that were put.
    pub fn sow(&mut self, cells: &[Cell]) -> usize {
        let Some(life) = &mut self.life else { return 0 };
        let (trees, crowd, size) = (&self.trees, &self.crowd, self.settings.size);
        let free =
            cells.iter().filter(|cell| size.contains(**cell) && !trees.contains(**cell) && crowd.count(**cell) == 0);
        self.has_changed = true;
        free.map(|cell| life.sow(*cell)).count()
    }

    /// What time brings, but for [`World::advance_generation`]: movers whose grace is over go (and are named in `gone`), rounds begin and end, and
    /// so does the world.
    pub fn tick(&mut self, now_us: i64, gone: &mut Vec<MoverRef>) {
        self.tick = self.tick.wrapping_add(1);
        self.expire_graces(now_us, gone);
        self.advance_round(now_us);
        self.is_over |= self.is_rounds_over() && self.ends_us.is_some_and(|ends_us| ends_us <= now_us);
    }

    /// Whether its end has come, and the end of its last round is committed: nothing more can happen in it.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    fn is_rounds_over(&self) -> bool {
        self.hunt.as_ref().is_none_or(|hunt| hunt.phase == RoundPhase::Over)
    }

    /// When [`World::tick`] has something to do in addition to counting, or [`World::advance_generation`]:
    /// microseconds, perhaps in the past.
    #[must_use]
    pub fn next_due(&self) -> Option<i64> {
        let grace = self.disconnected.front().map(|(since, _)| since + span_us(MOVER_GRACE));
        let life = self.life.as_ref().and(self.generation_due_us);
        let round =
            self.hunt.as_ref().and_then(|hunt| hunt.next_due(self.has_movers())).map(|at| at.0.saturating_mul(1_000));
        let end = self.ends_us.filter(|_| !self.is_over && self.is_rounds_over());
        [grace, life, round, end].into_iter().flatten().min()
    }

    fn expire_graces(&mut self, now_us: i64, gone: &mut Vec<MoverRef>) {
        while let Some((since, mover_ref)) = self.disconnected.front().copied() {
            if now_us - since < span_us(MOVER_GRACE) {
                break;
            }
            self.disconnected.pop_front();
            if self.profile(mover_ref).is_some_and(|profile| profile.disconnected_at_us == Some(since)) {
                self.leave(mover_ref);
                gone.push(mover_ref);
            }
        }
    }

    /// Bacteria grow and die: one generation, if it is due; one that comes late is not made up for. Gives whether there was one.
    pub fn advance_generation(&mut self, now_us: i64) -> bool {
        let (Some(life), Some(settings)) = (&mut self.life, self.settings.life) else { return false };
        let Some(due) = self.generation_due_us.filter(|due| *due <= now_us) else { return false };
        let (trees, occupied) = (self.trees.words(), self.crowd.occupied().words());
        life.next_generation(|word| trees[word] | occupied[word]);
        self.generation_due_us = Some((due + span_us(settings.generation)).max(now_us + 1));
        self.has_changed = true;
        true
    }

    /// Decides that the round begins or ends, if it is time. It is shown when it is committed.
    fn advance_round(&mut self, now_us: i64) {
        let is_anybody_here = self.has_movers();
        let Some(hunt) = &mut self.hunt else { return };
        let now = UnixMs(now_us.div_euclid(1_000));
        hunt.close(now);
        if let Some(fact) = hunt.due_fact(now, is_anybody_here) {
            hunt.round_change_group = Some(self.log.next_group());
            self.log.push(fact, None);
        }
    }

    /// The public events of the hunt since the last call.
    pub fn take_events(&mut self, out: &mut Vec<HuntEvent>) {
        if let Some(hunt) = &mut self.hunt {
            out.append(&mut hunt.events);
        }
    }
}

/// A span of time in microseconds.
pub(super) fn span_us(span: Duration) -> i64 {
    i64::try_from(span.as_micros()).unwrap_or(i64::MAX / 4)
}
