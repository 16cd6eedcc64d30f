//! Coming and going: who registers, who comes back, who leaves, and whose client is gone.

use super::input::{MoverId, MoverRef};
use super::profiles::{HunterKey, Profile};
use super::refusal::Refusal;
use super::registration::{Registered, Registration, ViewOptions};
use super::viewer::Viewer;
use super::world::World;
use crate::limits::MOVERS_MAX;
use rules::chance::{Chance, Dice, Purpose, Seed};
use rules::world::{Cell, PowerUp, Sharing, nearest_free, spawn_cell};

/// The key with which a mover comes back: it follows from the world's seed, so that nothing needs to be kept for it.
pub(super) fn resume_key(seed: Seed, id: MoverId) -> u64 {
    let mut dice = Chance::new(seed, id.0, Purpose::WorldKey);
    let key = (0..4).fold(0, |key, _| key << 16 | u64::from(dice.below(1 << 16)));
    key.max(1)
}

impl World {
    /// Somebody comes in, or comes back: with the right key a mover who is still here is taken over where he stands. One who is gone
    /// is gone: who comes back for him is somebody new, because a number with a second count of inputs would make two claims look
    /// like one. What lasts longer than a mover is kept under the player.
    ///
    /// # Errors
    /// [`Refusal::WorldFull`], [`Refusal::ViewTooLarge`].
    pub fn register(&mut self, registration: &Registration, now_us: i64) -> Result<Registered, Refusal> {
        let view = registration.view.map(ViewOptions::validated).transpose()?;
        let claimed =
            registration.resume.filter(|(id, key)| registration.is_resumable && *key == resume_key(self.seed, *id));
        let known = claimed.map(|(id, _)| id);
        let here = known.and_then(|id| Some(MoverRef { slot: *self.resumable.get(&id)?, id }));
        if let Some(seat) = here.filter(|seat| self.may_take_over(*seat, registration)) {
            return Ok(self.take_over(seat, registration, view));
        }
        let cell = self.spawn_cell(registration.at).ok_or(Refusal::WorldFull)?;
        let id = self.next_id()?;
        let seat = self.spawn_mover(id, cell, registration, now_us);
        self.set_view(seat, view);
        Ok(self.registered(seat, false))
    }

    /// A player's mover is the player's: whoever has only the key, as one whose token was revoked, is somebody new.
    fn may_take_over(&self, seat: MoverRef, registration: &Registration) -> bool {
        let profile = self.profiles.get(self.crowd.get(seat).and_then(super::crowd::Mover::profile));
        profile.and_then(|profile| profile.player).is_none_or(|player| registration.player == Some(player))
    }

    fn take_over(&mut self, seat: MoverRef, registration: &Registration, view: Option<ViewOptions>) -> Registered {
        if let Some(profile) = self.profile_mut(seat)
            && profile.disconnected_at_us.take().is_some()
        {
            self.stats.lost -= 1;
        }
        if let Some(profile) = self.profile_mut(seat) {
            profile.player = profile.player.or(registration.player);
            profile.name = registration.name.clone().or(profile.name.take());
        }
        self.set_view(seat, view);
        self.registered(seat, true)
    }

    fn registered(&self, seat: MoverRef, is_resumed: bool) -> Registered {
        let mover = self.crowd.get(seat);
        let profile = self.profiles.get(mover.and_then(super::crowd::Mover::profile));
        let is_lasting = profile.is_some_and(|profile| profile.is_resumable);
        let key = HunterKey::of(seat.id, profile.and_then(|profile| profile.player));
        Registered {
            mover: seat,
            key: if is_lasting { resume_key(self.seed, seat.id) } else { 0 },
            cell: mover.map_or(Cell::default(), super::crowd::Mover::cell),
            next_seq: mover.map_or(1, |mover| mover.next_seq),
            is_resumed,
            score: self.hunt.as_ref().map_or(0, |hunt| hunt.score(key)),
        }
    }

    /// Numbers are taken in order; one that somebody still has is passed over.
    fn next_id(&mut self) -> Result<MoverId, Refusal> {
        while self.ids_next != self.ids_end {
            let id = MoverId(self.ids_next);
            self.ids_next = self.ids_next.wrapping_add(1);
            if id != MoverId(0) && !self.resumable.contains_key(&id) {
                return Ok(id);
            }
        }
        Err(Refusal::WorldFull)
    }

    /// Puts a mover into the world.
    pub(super) fn spawn_mover(
        &mut self,
        id: MoverId,
        cell: Cell,
        registration: &Registration,
        now_us: i64,
    ) -> MoverRef {
        let Registration { player, ref name, is_resumable: is_lasting, indicator, .. } = *registration;
        let has_profile =
            is_lasting || player.is_some() || name.is_some() || self.hunt.is_some() || registration.view.is_some();
        let profile = has_profile.then(|| {
            let seat = MoverRef { slot: 0, id };
            let helped_until_us = [i64::MIN; PowerUp::ALL.len()];
            let name = name.clone();
            self.profiles.add(Profile {
                mover: seat,
                player,
                name,
                is_resumable: is_lasting,
                disconnected_at_us: None,
                power_ups_until_us: helped_until_us,
                viewer: None,
            })
        });
        let seat = self.crowd.add(id, cell, indicator, profile, now_us);
        if let Some(profile) = self.profiles.get_mut(profile) {
            profile.mover = seat;
        }
        if is_lasting {
            self.resumable.insert(id, seat.slot);
            self.has_changed = true;
        }
        if let Some(life) = &mut self.life {
            life.trample(cell);
        }
        seat
    }

    /// Where somebody may appear: the nearest free cell to where he wants to be, or any.
    pub(super) fn spawn_cell(&self, wish: Option<Cell>) -> Option<Cell> {
        let free = self.settings.size.cells() - self.trees_count;
        let is_full = match self.settings.sharing {
            Sharing::Many => free == 0,
            Sharing::One => self.crowd.len() as u32 >= free,
        };
        if is_full || self.crowd.len() >= MOVERS_MAX {
            return None;
        }
        match wish {
            Some(wish) => self.nearest_free(wish),
            None => {
                let mut dice = Chance::new(self.seed, self.ids_next, Purpose::WorldSpawn);
                spawn_cell(&mut dice, self.settings.size, |cell| self.is_free(cell))
            }
        }
    }

    fn is_free(&self, cell: Cell) -> bool {
        !self.trees.contains(cell) && (self.settings.sharing == Sharing::Many || self.crowd.count(cell) == 0)
    }

    /// The nearest free cell to the wish, which is brought onto the grid first.
    fn nearest_free(&self, wish: Cell) -> Option<Cell> {
        let size = self.settings.size;
        let wish = Cell { x: wish.x.min(size.width - 1), y: wish.y.min(size.height - 1) };
        let trees = self.trees.words();
        let taken = (self.settings.sharing == Sharing::One).then(|| self.crowd.occupied().words());
        let free = |word: usize| !(trees[word] | taken.map_or(0, |taken| taken[word])) & self.trees.on_grid(word);
        nearest_free(size, wish, free)
    }

    fn profile_mut(&mut self, seat: MoverRef) -> Option<&mut Profile> {
        let profile = self.crowd.get(seat)?.profile();
        self.profiles.get_mut(profile)
    }

    /// Changes what somebody is shown; his next view is a full one. Also for who missed something.
    ///
    /// # Errors
    /// [`Refusal::ViewTooLarge`]; [`Refusal::UnknownMover`] also when somebody wants to look who came in without a view, a name or the right to come
    /// back: there is no room to keep what he knows.
    pub fn watch(&mut self, seat: MoverRef, view: Option<ViewOptions>) -> Result<(), Refusal> {
        let view = view.map(ViewOptions::validated).transpose()?;
        if self.profile_mut(seat).is_none() {
            return if view.is_none() && self.contains(seat) { Ok(()) } else { Err(Refusal::UnknownMover) };
        }
        self.set_view(seat, view);
        Ok(())
    }

    fn set_view(&mut self, seat: MoverRef, view: Option<ViewOptions>) {
        let Some(profile) = self.profile_mut(seat) else { return };
        let had = profile.viewer.is_some();
        profile.viewer = view.map(|options| Box::new(Viewer::new(options)));
        self.stats.viewers = self.stats.viewers + usize::from(view.is_some()) - usize::from(had);
    }

    /// Somebody goes for good.
    pub fn leave(&mut self, seat: MoverRef) {
        let Some(mover) = self.crowd.get(seat) else { return };
        if let Some(profile) = mover.profile().and_then(|profile| self.profiles.remove(profile)) {
            self.stats.viewers -= usize::from(profile.viewer.is_some());
            self.stats.lost -= usize::from(profile.disconnected_at_us.is_some());
            if profile.is_resumable {
                self.resumable.remove(&seat.id);
                self.has_changed = true;
            }
        }
        self.crowd.remove(seat);
    }

    /// Somebody's client is gone: he stays until his grace is over, unless he comes back. Who may not come back goes at once.
    pub fn connection_lost(&mut self, seat: MoverRef, now_us: i64) {
        self.set_view(seat, None);
        match self.profile_mut(seat) {
            Some(profile) if profile.is_resumable => {
                if profile.disconnected_at_us.replace(now_us).is_none() {
                    self.stats.lost += 1;
                }
                self.disconnected.push_back((now_us, seat));
            }
            _ => self.leave(seat),
        }
    }
}
