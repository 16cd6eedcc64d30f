//! Positions: movers, and for every cell the list of those who stand on it.
//!
//! All that a move needs of a mover is one cache line, and the lists run through the movers themselves: a move
//! allocates nothing and costs the same in a crowd as alone. Why a mover moves is not known here.

use super::answers::RecentAnswers;
use super::input::{MoverId, MoverRef};
use super::move_limiter::MoveLimiter;
use rules::world::{Cell, CellSet, Indicator, Size, Step};

/// No slot: the end of a list.
const NO_SLOT: u32 = u32::MAX;
/// No profile, see [`MoverAppearance`].
const NO_PROFILE: u32 = (1 << 24) - 1;
/// Bits of a cell's count; the others are the appearance of the mover on top.
const COUNT_BITS: u32 = 24;
const COUNT_MASK: u32 = (1 << COUNT_BITS) - 1;

/// A mover's appearance, and the index of its profile: 8 and 24 bits.
#[derive(Clone, Copy, Debug)]
struct MoverAppearance(u32);

impl MoverAppearance {
    fn new(indicator: Indicator, profile: Option<u32>) -> Self {
        Self(profile.unwrap_or(NO_PROFILE) << 8 | u32::from(indicator.code()))
    }

    fn profile(self) -> Option<u32> {
        Some(self.0 >> 8).filter(|profile| *profile != NO_PROFILE)
    }

    fn code(self) -> u8 {
        self.0 as u8
    }
}

/// A mover: one cache line.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct Mover {
    /// 0: the slot is free.
    id: MoverId,
    cell: Cell,
    next: u32,
    prev: u32,
    appearance: MoverAppearance,
    /// Time of the last change, see [`Mover::changed_at`].
    changed_us: u32,
    pub(super) next_seq: u32,
    pub(super) move_limiter: MoveLimiter,
    pub(super) answers: RecentAnswers,
}

impl Mover {
    pub(super) fn id(&self) -> MoverId {
        self.id
    }

    pub(super) fn cell(&self) -> Cell {
        self.cell
    }

    pub(super) fn indicator(&self) -> Indicator {
        Indicator::from_code(self.appearance.code()).unwrap_or(Indicator::PLAYER)
    }

    pub(super) fn profile(&self) -> Option<u32> {
        self.appearance.profile()
    }

    /// Time of the last change. Kept in 32 bits of microseconds, which is exact for the last 71 minutes.
    pub(super) fn changed_at(&self, now_us: i64) -> i64 {
        now_us - i64::from((now_us as u32).wrapping_sub(self.changed_us))
    }
}

/// The movers of a cell: the first of a list, and how many there are.
#[derive(Clone, Copy, Debug)]
struct CellMovers {
    head: u32,
    count_and_top: u32,
}

impl CellMovers {
    const EMPTY: Self = Self { head: NO_SLOT, count_and_top: 0 };

    fn count(self) -> u32 {
        self.count_and_top & COUNT_MASK
    }
}

/// What a cell looks like from far away: how many stand there, and what the one on top looks like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CellSummary(u32);

impl CellSummary {
    /// How many stand there.
    #[must_use]
    pub fn count(self) -> u32 {
        self.0 & COUNT_MASK
    }

    /// The appearance of the mover on top, if there is one.
    #[must_use]
    pub fn top(self) -> Option<Indicator> {
        Indicator::from_code((self.0 >> COUNT_BITS) as u8).filter(|_| self.count() > 0)
    }
}

/// All movers of a world.
#[derive(Clone, Debug)]
pub(super) struct Crowd {
    size: Size,
    movers: Vec<Mover>,
    free: Vec<u32>,
    cells: Vec<CellMovers>,
    occupied: CellSet,
}

impl Crowd {
    pub(super) fn new(size: Size) -> Self {
        let cells = vec![CellMovers::EMPTY; size.cells() as usize];
        Self { size, movers: Vec::new(), free: Vec::new(), cells, occupied: CellSet::new(size) }
    }

    /// How many movers there are.
    pub(super) fn len(&self) -> usize {
        self.movers.len() - self.free.len()
    }

    /// Cells on which movers stand.
    pub(super) fn occupied(&self) -> &CellSet {
        &self.occupied
    }

    /// How many stand on a cell of the grid.
    pub(super) fn count(&self, cell: Cell) -> u32 {
        self.cells[self.size.index(cell)].count()
    }

    /// All cells, from far away.
    pub(super) fn cell_summaries(&self, out: &mut Vec<CellSummary>) {
        out.clear();
        out.extend(self.cells.iter().map(|cell_movers| CellSummary(cell_movers.count_and_top)));
    }

    /// Whether this reference still names the mover that it was made for.
    pub(super) fn contains(&self, mover_ref: MoverRef) -> bool {
        self.movers
            .get(mover_ref.slot as usize)
            .is_some_and(|mover| mover.id == mover_ref.id && mover_ref.id != MoverId(0))
    }

    pub(super) fn get(&self, mover_ref: MoverRef) -> Option<&Mover> {
        self.contains(mover_ref).then(|| self.at(mover_ref.slot))
    }

    pub(super) fn get_mut(&mut self, mover_ref: MoverRef) -> Option<&mut Mover> {
        if self.contains(mover_ref) { self.movers.get_mut(mover_ref.slot as usize) } else { None }
    }

    /// The mover of a slot that is known to be in use.
    pub(super) fn at(&self, slot: u32) -> &Mover {
        &self.movers[slot as usize]
    }

    /// The mover of a slot that is known to be in use.
    pub(super) fn at_mut(&mut self, slot: u32) -> &mut Mover {
        &mut self.movers[slot as usize]
    }

    /// The slots of those who stand on a cell of the grid.
    pub(super) fn movers_on(&self, cell: Cell) -> impl Iterator<Item = u32> + '_ {
        let slot = |slot: u32| (slot != NO_SLOT).then_some(slot);
        let first = slot(self.cells[self.size.index(cell)].head);
        std::iter::successors(first, move |at| slot(self.movers[*at as usize].next))
    }

    /// Reads ahead what moves of these slots are going to need: first the movers, then their cells and those whom they
    /// leave and join.
    ///
    /// Each read waits for memory on its own, but reads that do not depend on one another wait together: a batch that
    /// is served in random order over a million movers would otherwise wait for each in turn. `bench/world` measures
    /// it.
    pub(super) fn prefetch(&self, moves: impl Iterator<Item = (u32, Step)> + Clone) {
        let mover = |slot: u32| self.movers.get(slot as usize);
        let id = |slot: u32| mover(slot).map_or(0, |mover| mover.id.0);
        let movers = moves.clone().fold(0, |sum, (slot, _)| sum ^ id(slot));
        let around = moves.fold(movers, |sum, (slot, step)| {
            let Some(Mover { cell, next, prev, .. }) = mover(slot) else { return sum };
            let to = self.size.neighbour(*cell, step).unwrap_or(*cell);
            let head =
                |cell: Cell| self.cells.get(self.size.index(cell)).map_or(NO_SLOT, |cell_movers| cell_movers.head);
            sum ^ id(*next) ^ id(*prev) ^ head(*cell) ^ id(head(to))
        });
        std::hint::black_box(around);
    }

    /// Adds a mover on a cell of the grid.
    pub(super) fn add(
        &mut self,
        id: MoverId,
        cell: Cell,
        indicator: Indicator,
        profile: Option<u32>,
        now_us: i64,
    ) -> MoverRef {
        let mover = Mover {
            id,
            cell,
            next: NO_SLOT,
            prev: NO_SLOT,
            appearance: MoverAppearance::new(indicator, profile),
            changed_us: now_us as u32,
            next_seq: 1,
            move_limiter: MoveLimiter::new(now_us),
            answers: RecentAnswers::default(),
        };
        let slot = if let Some(slot) = self.free.pop() {
            self.movers[slot as usize] = mover;
            slot
        } else {
            self.movers.push(mover);
            (self.movers.len() - 1) as u32
        };
        self.link(slot, cell);
        MoverRef { slot, id }
    }

    /// Removes a mover; its slot may be used again.
    pub(super) fn remove(&mut self, mover_ref: MoverRef) {
        if self.contains(mover_ref) {
            self.unlink(mover_ref.slot);
            self.movers[mover_ref.slot as usize].id = MoverId(0);
            self.free.push(mover_ref.slot);
        }
    }

    /// Moves a mover to a cell of the grid.
    pub(super) fn move_to(&mut self, slot: u32, to: Cell, at_us: i64) {
        if self.movers[slot as usize].cell != to {
            self.unlink(slot);
            self.link(slot, to);
            self.movers[slot as usize].changed_us = at_us as u32;
        }
    }

    fn link(&mut self, slot: u32, cell: Cell) {
        let cell_movers = &mut self.cells[self.size.index(cell)];
        let (below, count) = (cell_movers.head, cell_movers.count());
        cell_movers.head = slot;
        let mover = &mut self.movers[slot as usize];
        (mover.cell, mover.next, mover.prev) = (cell, below, NO_SLOT);
        cell_movers.count_and_top = u32::from(mover.appearance.code()) << COUNT_BITS | (count + 1);
        if below == NO_SLOT {
            self.occupied.insert(cell);
        } else {
            self.movers[below as usize].prev = slot;
        }
    }

    fn unlink(&mut self, slot: u32) {
        let Mover { cell, next, prev, .. } = self.movers[slot as usize];
        if next != NO_SLOT {
            self.movers[next as usize].prev = prev;
        }
        let cell_movers = &mut self.cells[self.size.index(cell)];
        cell_movers.count_and_top -= 1;
        if prev != NO_SLOT {
            self.movers[prev as usize].next = next;
        } else if next != NO_SLOT {
            cell_movers.head = next;
            cell_movers.count_and_top =
                u32::from(self.movers[next as usize].appearance.code()) << COUNT_BITS | cell_movers.count();
        } else {
            *cell_movers = CellMovers::EMPTY;
            self.occupied.remove(cell);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SIZE: Size = Size { width: 9, height: 8 };

    #[test]
    fn a_mover_is_one_cache_line() {
        assert_eq!(size_of::<Mover>(), 64);
    }

    /// Compares a crowd with a slow, simple model.
    fn check(crowd: &Crowd, oracle: &[(MoverRef, Cell, u8)]) {
        assert_eq!(crowd.len(), oracle.len());
        for cell in (0..SIZE.cells()).map(|index| SIZE.cell(index)) {
            let mut have: Vec<MoverRef> =
                crowd.movers_on(cell).map(|slot| MoverRef { slot, id: crowd.at(slot).id() }).collect();
            have.sort_unstable();
            let mut want: Vec<MoverRef> =
                oracle.iter().filter(|(_, at, _)| *at == cell).map(|(mover_ref, ..)| *mover_ref).collect();
            want.sort_unstable();
            assert_eq!(have, want);
            assert_eq!(crowd.count(cell) as usize, want.len());
            assert_eq!(crowd.occupied().contains(cell), !want.is_empty());
        }
        let mut heaps = Vec::new();
        crowd.cell_summaries(&mut heaps);
        for (index, heap) in (0..).zip(&heaps) {
            let top = crowd.movers_on(SIZE.cell(index)).next().map(|slot| crowd.at(slot).indicator());
            assert_eq!((heap.top(), heap.count()), (top, crowd.count(SIZE.cell(index))));
        }
    }

    proptest! {
        #[test]
        fn lists_hold_exactly_those_who_stand_there(
            steps in proptest::collection::vec((0_u8..4, any::<prop::sample::Index>(), 0_u32..SIZE.cells(), 8_u8..20), 0..80),
        ) {
            let mut crowd = Crowd::new(SIZE);
            let mut oracle: Vec<(MoverRef, Cell, u8)> = Vec::new();
            for (number, (kind, which, index, face)) in (1..).zip(steps) {
                let cell = SIZE.cell(index);
                if kind == 0 || oracle.is_empty() {
                    let indicator = Indicator::from_code(face).unwrap();
                    oracle.push((crowd.add(MoverId(number), cell, indicator, None, 0), cell, face));
                } else if kind == 1 {
                    let (mover_ref, ..) = oracle.swap_remove(which.index(oracle.len()));
                    crowd.remove(mover_ref);
                    prop_assert!(!crowd.contains(mover_ref));
                } else {
                    let at = which.index(oracle.len());
                    crowd.move_to(oracle[at].0.slot, cell, 0);
                    oracle[at].1 = cell;
                }
                check(&crowd, &oracle);
            }
        }
    }

    #[test]
    fn a_stale_reference_finds_no_mover() {
        let mut crowd = Crowd::new(SIZE);
        let cell = Cell { x: 1, y: 1 };
        let first = crowd.add(MoverId(1), cell, Indicator::PLAYER, None, 0);
        crowd.remove(first);
        let second = crowd.add(MoverId(2), cell, Indicator::PLAYER, None, 0);
        assert_eq!(second.slot, first.slot);
        assert!(crowd.get(first).is_none() && crowd.get(second).is_some());
        assert!(crowd.get(MoverRef { slot: 7, id: MoverId(1) }).is_none());
        assert!(crowd.get(MoverRef { slot: first.slot, id: MoverId(0) }).is_none());
    }

    #[test]
    fn a_change_is_dated_back_over_the_turn_of_its_clock() {
        let mut crowd = Crowd::new(SIZE);
        let at = (1_i64 << 32) * 400_000 - 5;
        let mover_ref = crowd.add(MoverId(1), Cell { x: 1, y: 1 }, Indicator::PLAYER, Some(3), at);
        let mover = crowd.get(mover_ref).unwrap();
        assert_eq!((mover.changed_at(at + 20), mover.profile()), (at, Some(3)));
    }
}
