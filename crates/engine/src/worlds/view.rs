//! Views: the difference between what a viewer knows and what is there, cut at one moment.
//!
//! Only committed state is used: items lie where they are shown, scores and rounds are those of the log.

use super::area::Area;
use super::crowd::Crowd;
use super::delta::{EnteredMover, ViewDelta};
use super::input::MoverRef;
use super::profiles::{HunterKey, Profile, Profiles};
use super::rounds::RoundStatus;
use super::viewer::{KnownMover, ViewScratch, Viewer};
use super::visibility::select_visible;
use super::world::World;
use crate::limits::{VIEW_MARGIN_CELLS, VIEW_RADIUS_MAX};
use rules::world::{Cell, FARSIGHT_CELLS, Indicator, PowerUp};

impl World {
    /// Cuts what this viewer does not know yet, and counts it as known: what is cut must reach the client, or it needs
    /// a full view ([`World::watch`]). False, and nothing in `out` that would have to be sent, when there is nothing
    /// new, or the mover has no view. A move of the viewer's own mover is new even when nothing else is: the client
    /// keeps the ground near the middle of its last view only, and what lies beyond is not sent.
    pub fn view(&mut self, mover_ref: MoverRef, now_us: i64, out: &mut ViewDelta) -> bool {
        out.clear();
        let Some(mover) = self.crowd.get(mover_ref) else { return false };
        let (profile, cell) = (mover.profile(), mover.cell());
        let viewer = self.profiles.get_mut(profile).and_then(|profile| profile.viewer.take());
        let Some(mut viewer) = viewer else { return false };
        let mut scratch = std::mem::take(&mut self.scratch);
        let stood = viewer.area.map(|area| area.centre);
        if let Some(profile) = self.profiles.get(profile) {
            let area = view_area(profile, &viewer, cell, now_us);
            (out.tick, out.centre, out.radius_x, out.radius_y) = (self.tick, cell, area.columns, area.rows);
            if viewer.area.is_none_or(|before| (before.columns, before.rows) != (area.columns, area.rows)) {
                // From here on the viewer knows nothing.
                *viewer = Viewer::new(viewer.options);
                out.is_full = true;
            }
            self.cut_movers(&mut viewer, &mut scratch, mover_ref, area, now_us, out);
            self.cut_ground(&mut viewer, area, out);
            self.cut_hunt(&mut viewer, profile, area, out);
            viewer.area = Some(area);
        }
        self.scratch = scratch;
        let is_news = !out.is_empty() || viewer.crowd != out.crowd || stood.is_some_and(|stood| stood != cell);
        viewer.crowd = out.crowd;
        if let Some(profile) = self.profiles.get_mut(profile) {
            profile.viewer = Some(viewer);
        }
        is_news
    }

    fn cut_movers(
        &self,
        viewer: &mut Viewer,
        scratch: &mut ViewScratch,
        mover_ref: MoverRef,
        area: Area,
        now_us: i64,
        out: &mut ViewDelta,
    ) {
        let ViewScratch { seen, movers } = scratch;
        out.crowd = select_visible(&self.crowd, area, &viewer.movers, seen);
        seen.retain(|slot| *slot != mover_ref.slot);
        let diff = MoverDiff { crowd: &self.crowd, profiles: &self.profiles, before: viewer.area, now_us };
        diff.compare(&viewer.movers, seen, movers, out);
        std::mem::swap(&mut viewer.movers, movers);
    }

    /// Trees and bacteria.
    fn cut_ground(&self, viewer: &mut Viewer, area: Area, out: &mut ViewDelta) {
        let ground = area.grown_by(VIEW_MARGIN_CELLS);
        // Trees never change: a viewer that did not move knows them.
        let rows = ground.rows().take_while(|_| viewer.area != Some(area));
        for y in rows {
            let known = viewer.area.map_or(0, |before| ground.shared_with(before.grown_by(VIEW_MARGIN_CELLS), y));
            out.trees.extend(ground.cells(y, ground.row_of(&self.trees, y) & !known));
        }
        if let Some(life) = &self.life {
            let ViewDelta { life_on, life_off, .. } = out;
            viewer.life.update(ground, life.alive(), |cell| life_on.push(cell), |cell| life_off.push(cell));
        }
    }

    /// Items, the round and the viewer's own score.
    fn cut_hunt(&self, viewer: &mut Viewer, profile: &Profile, area: Area, out: &mut ViewDelta) {
        let Some(hunt) = &self.hunt else { return };
        let ground = area.grown_by(VIEW_MARGIN_CELLS);
        let ViewDelta { items_in, items_gone, .. } = out;
        let shown = hunt.round();
        if viewer.round.is_some_and(|round| round.number != shown.number) {
            viewer.items.clear_area(ground, |cell| items_gone.push(cell));
        }
        let indicator = |cell| hunt.item_at(cell).map_or(Indicator::CHEST, |(_, item)| item.into());
        let on = |cell: Cell| items_in.push((cell, indicator(cell)));
        viewer.items.update(ground, hunt.visible_items(), on, |cell| items_gone.push(cell));
        if viewer.round.is_none_or(|round| has_round_changed(round, shown)) {
            out.round = Some(shown);
            viewer.round = Some(shown);
        }
        let score = hunt.score(HunterKey::of(profile.mover.id, profile.player));
        if score != viewer.score || out.is_full {
            out.score = Some(score);
            viewer.score = score;
        }
    }
}

/// Whether more of the round changed than the number of chests left: that alone is not sent.
fn has_round_changed(known: RoundStatus, shown: RoundStatus) -> bool {
    RoundStatus { chests_left: shown.chests_left, ..known } != shown
}

/// What a viewer sees now: with farsight, more.
fn view_area(profile: &Profile, viewer: &Viewer, centre: Cell, now_us: i64) -> Area {
    let more = if profile.has_power_up(PowerUp::Farsight, now_us) { FARSIGHT_CELLS } else { 0 };
    let radius = |radius: u8| radius.saturating_add(more).min(VIEW_RADIUS_MAX);
    Area { centre, columns: radius(viewer.options.radius_x), rows: radius(viewer.options.radius_y) }
}

/// What the movers of a view are compared in.
struct MoverDiff<'a> {
    crowd: &'a Crowd,
    profiles: &'a Profiles,
    before: Option<Area>,
    now_us: i64,
}

impl MoverDiff<'_> {
    /// Goes through those who are known and those who are in sight, both by slot, and writes down who is known after it.
    fn compare(&self, known: &[KnownMover], seen: &[u32], after: &mut Vec<KnownMover>, out: &mut ViewDelta) {
        after.clear();
        let mut known = known.iter().peekable();
        for slot in seen.iter().copied() {
            while let Some(gone) = known.next_if(|known| known.slot < slot) {
                out.left.push(gone.id);
            }
            let now = self.now(slot);
            match known.next_if(|known| known.slot == slot) {
                Some(same) if same.id == now.id => self.mover_stays(*same, now, out),
                Some(other) => {
                    out.left.push(other.id);
                    self.mover_enters(now, out);
                }
                None => self.mover_enters(now, out),
            }
            after.push(now);
        }
        out.left.extend(known.map(|gone| gone.id));
    }

    fn now(&self, slot: u32) -> KnownMover {
        let mover = self.crowd.at(slot);
        KnownMover { slot, id: mover.id(), cell: mover.cell() }
    }

    fn mover_stays(&self, before: KnownMover, now: KnownMover, out: &mut ViewDelta) {
        if before.cell != now.cell {
            out.moved.push((now.id, now.cell));
            self.note_change_time(now.slot, out);
        }
    }

    fn mover_enters(&self, now: KnownMover, out: &mut ViewDelta) {
        let mover = self.crowd.at(now.slot);
        let name = self.profiles.get(mover.profile()).and_then(|profile| profile.name.clone());
        out.entered.push(EnteredMover { id: now.id, cell: now.cell, indicator: mover.indicator(), name });
        // On ground that was in sight before, it was the mover who came, and not the viewer.
        if self.before.is_some_and(|before| before.has(now.cell)) {
            self.note_change_time(now.slot, out);
        }
    }

    fn note_change_time(&self, slot: u32, out: &mut ViewDelta) {
        let at_us = self.crowd.at(slot).changed_at(self.now_us);
        out.oldest_change_us = Some(out.oldest_change_us.map_or(at_us, |oldest| oldest.min(at_us)));
    }
}
