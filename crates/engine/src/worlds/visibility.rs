//! Which movers a viewer sees: all within the radius, those that were visible and are not far beyond it, and of a crowd
//! the nearest.
//!
//! A mover enters within the radius and leaves beyond the margin, so that one that walks along the edge does not
//! flicker. When more are within the radius than a view may have, whole rings around the viewer count, nearest first,
//! and in the last ring those that are known already: so a crowd that mills about on one cell is not sent anew with
//! every view.

use super::area::Area;
use super::crowd::{Crowd, Mover};
use super::viewer::KnownMover;
use crate::limits::{VIEW_MARGIN_CELLS, VIEW_MOVERS_MAX, VIEW_RADIUS_MAX};
use rules::world::Cell;

/// Fills `seen` with the slots of those in sight, by slot, and gives how many more are within the radius.
pub(super) fn select_visible(crowd: &Crowd, area: Area, known: &[KnownMover], seen: &mut Vec<u32>) -> u32 {
    seen.clear();
    let left_out = if collect_within_radius(crowd, area, seen) {
        collect_in_margin(crowd, area, known, seen);
        0
    } else {
        seen.clear();
        collect_nearest(crowd, area, known, seen)
    };
    seen.sort_unstable();
    left_out
}

/// The cells of the area on which movers stand.
fn occupied(crowd: &Crowd, area: Area) -> impl Iterator<Item = Cell> + '_ {
    area.rows().flat_map(move |y| area.cells(y, area.row_of(crowd.occupied(), y)))
}

/// Takes all within the radius; false when they are too many.
fn collect_within_radius(crowd: &Crowd, area: Area, seen: &mut Vec<u32>) -> bool {
    for cell in occupied(crowd, area) {
        if seen.len() + crowd.count(cell) as usize > VIEW_MOVERS_MAX {
            return false;
        }
        seen.extend(crowd.movers_on(cell));
    }
    true
}

/// Takes those whom the viewer knows and who are beyond the radius, but not beyond the margin.
fn collect_in_margin(crowd: &Crowd, area: Area, known: &[KnownMover], seen: &mut Vec<u32>) {
    let wider = area.grown_by(VIEW_MARGIN_CELLS);
    let room = VIEW_MOVERS_MAX - seen.len();
    let beyond = still_present(crowd, known).filter(|(_, mover)| !area.has(mover.cell()) && wider.has(mover.cell()));
    seen.extend(beyond.map(|(slot, _)| slot).take(room));
}

/// Those of the known who have not left the world.
fn still_present<'a>(crowd: &'a Crowd, known: &'a [KnownMover]) -> impl Iterator<Item = (u32, &'a Mover)> {
    known
        .iter()
        .map(|known| (known, crowd.at(known.slot)))
        .filter(|(known, mover)| mover.id() == known.id)
        .map(|(known, mover)| (known.slot, mover))
}

/// Takes the nearest rings, as many as are allowed, and gives how many are left out.
fn collect_nearest(crowd: &Crowd, area: Area, known: &[KnownMover], seen: &mut Vec<u32>) -> u32 {
    let mut rings = [0_u32; VIEW_RADIUS_MAX as usize + 1];
    let ring_of = |cell: Cell| usize::from(cell.distance(area.centre)).min(usize::from(VIEW_RADIUS_MAX));
    let all = occupied(crowd, area).fold(0, |all, cell| all + crowd.count(cell));
    for cell in occupied(crowd, area) {
        rings[ring_of(cell)] += crowd.count(cell);
    }
    let mut whole = 0;
    let last = rings.iter().position(|count| {
        let is_last = whole + count > VIEW_MOVERS_MAX as u32;
        whole += if is_last { 0 } else { *count };
        is_last
    });
    let last = last.unwrap_or(rings.len());
    let is_known = |slot: u32| {
        let at = known.binary_search_by_key(&slot, |known| known.slot);
        at.is_ok_and(|at| known[at].id == crowd.at(slot).id())
    };
    for cell in occupied(crowd, area).filter(|cell| ring_of(*cell) < last) {
        seen.extend(crowd.movers_on(cell));
    }
    let in_last = |cell: Cell| area.has(cell) && ring_of(cell) == last;
    let familiar = still_present(crowd, known).filter(|(_, mover)| in_last(mover.cell())).map(|(slot, _)| slot);
    seen.extend(familiar.take(VIEW_MOVERS_MAX - whole as usize));
    for cell in occupied(crowd, area).filter(|cell| ring_of(*cell) == last) {
        let room = VIEW_MOVERS_MAX - seen.len();
        seen.extend(crowd.movers_on(cell).filter(|slot| !is_known(*slot)).take(room));
    }
    all - seen.len() as u32
}
