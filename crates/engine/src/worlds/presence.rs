//! Entering and leaving: registration, resumption, leaving, and lost connections.

use super::input::{MoverId, MoverRef};
use super::profiles::{HunterKey, Profile};
use super::refusal::Refusal;
use super::registration::{Registered, Registration, ViewOptions};
use super::viewer::Viewer;
use super::world::World;
use crate::ids::PlayerId;
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
    /// Adds a mover, or resumes one: with the right key a mover that is still here is taken over where it stands. One
    /// that has left cannot be resumed; its client gets a new mover, because a number with a second count of inputs
    /// would make two claims look alike. What lasts longer than a mover is saved under the player.
    ///
    /// # Errors
    /// [`Refusal::WorldFull`], [`Refusal::ViewTooLarge`].
    pub fn register(&mut self, registration: &Registration, now_us: i64) -> Result<Registered, Refusal> {
        let view = registration.view.map(ViewOptions::validated).transpose()?;
        let claimed =
            registration.resume.filter(|(id, key)| registration.is_resumable && *key == resume_key(self.seed, *id));
        let known = claimed.map(|(id, _)| id);
        let here = known.and_then(|id| Some(MoverRef { slot: *self.resumable.get(&id)?, id }));
        let resumed = here.filter(|mover_ref| self.may_take_over(*mover_ref, registration));
        // In a hunt a player has one mover, whichever key the client has, or none.
        let own = registration.player.and_then(|player| self.players.get(&player).copied());
        if let Some(mover_ref) = own.or(resumed) {
            return Ok(self.take_over(mover_ref, registration, view));
        }
        let cell = self.spawn_cell(registration.at).ok_or(Refusal::WorldFull)?;
        let id = self.next_id()?;
        let mover_ref = self.spawn_mover(id, cell, registration, now_us);
        self.set_view(mover_ref, view);
        Ok(self.registered(mover_ref, false))
    }

    /// A player's mover belongs to the player: a client that has only the key, as after its token was revoked, gets a
    /// new mover.
    fn may_take_over(&self, mover_ref: MoverRef, registration: &Registration) -> bool {
        let player = self.profile(mover_ref).and_then(|profile| profile.player);
        player.is_none_or(|player| registration.player == Some(player))
    }

    fn take_over(&mut self, mover_ref: MoverRef, registration: &Registration, view: Option<ViewOptions>) -> Registered {
        if let Some(profile) = self.profile_mut(mover_ref)
            && profile.disconnected_at_us.take().is_some()
        {
            self.stats.lost -= 1;
        }
        if let Some(profile) = self.profile_mut(mover_ref) {
            profile.player = profile.player.or(registration.player);
            profile.name = registration.name.clone().or(profile.name.take());
        }
        self.index_player(mover_ref);
        self.set_view(mover_ref, view);
        self.registered(mover_ref, true)
    }

    fn index_player(&mut self, mover_ref: MoverRef) {
        let player = self.profile(mover_ref).and_then(|profile| profile.player);
        if let Some(player) = player.filter(|_| self.hunt.is_some()) {
            self.players.insert(player, mover_ref);
        }
    }

    /// The mover of a player; `None` in a world without a hunt.
    #[must_use]
    pub fn mover_of(&self, player: PlayerId) -> Option<MoverRef> {
        self.players.get(&player).copied()
    }

    fn registered(&self, mover_ref: MoverRef, is_resumed: bool) -> Registered {
        let (mover, profile) = (self.crowd.get(mover_ref), self.profile(mover_ref));
        let is_resumable = profile.is_some_and(|profile| profile.is_resumable);
        let key = HunterKey::of(mover_ref.id, profile.and_then(|profile| profile.player));
        Registered {
            mover: mover_ref,
            key: if is_resumable { resume_key(self.seed, mover_ref.id) } else { 0 },
            cell: mover.map_or(Cell::default(), super::crowd::Mover::cell),
            next_seq: mover.map_or(1, |mover| mover.next_seq),
            is_resumed,
            score: self.hunt.as_ref().map_or(0, |hunt| hunt.score(key)),
        }
    }

    /// Numbers are taken in order; one that is still in use is skipped.
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
        let Registration { player, ref name, is_resumable, indicator, .. } = *registration;
        let has_profile =
            is_resumable || player.is_some() || name.is_some() || self.hunt.is_some() || registration.view.is_some();
        let profile = has_profile.then(|| {
            self.profiles.add(Profile {
                mover: MoverRef { slot: 0, id },
                player,
                name: name.clone(),
                is_resumable,
                disconnected_at_us: None,
                power_ups_until_us: [i64::MIN; PowerUp::ALL.len()],
                viewer: None,
            })
        });
        let mover_ref = self.crowd.add(id, cell, indicator, profile, now_us);
        if let Some(profile) = self.profiles.get_mut(profile) {
            profile.mover = mover_ref;
        }
        self.index_player(mover_ref);
        if is_resumable {
            self.resumable.insert(id, mover_ref.slot);
            self.has_changed = true;
        }
        if let Some(life) = &mut self.life {
            life.trample(cell);
        }
        mover_ref
    }

    /// The spawn cell: the nearest free cell to the wanted one, or any.
    pub(super) fn spawn_cell(&self, wanted: Option<Cell>) -> Option<Cell> {
        let free = self.settings.size.cells() - self.trees_count;
        let is_full = match self.settings.sharing {
            Sharing::Many => free == 0,
            Sharing::One => self.crowd.len() as u32 >= free,
        };
        if is_full || self.crowd.len() >= MOVERS_MAX {
            return None;
        }
        match wanted {
            Some(wanted) => self.nearest_free(wanted),
            None => {
                let mut dice = Chance::new(self.seed, self.ids_next, Purpose::WorldSpawn);
                spawn_cell(&mut dice, self.settings.size, |cell| self.is_free(cell))
            }
        }
    }

    fn is_free(&self, cell: Cell) -> bool {
        !self.trees.contains(cell) && (self.settings.sharing == Sharing::Many || self.crowd.count(cell) == 0)
    }

    /// The nearest free cell to the wanted one, which is clamped to the grid first.
    fn nearest_free(&self, wanted: Cell) -> Option<Cell> {
        let size = self.settings.size;
        let wanted = Cell { x: wanted.x.min(size.width - 1), y: wanted.y.min(size.height - 1) };
        let trees = self.trees.words();
        let taken = (self.settings.sharing == Sharing::One).then(|| self.crowd.occupied().words());
        let free = |word: usize| !(trees[word] | taken.map_or(0, |taken| taken[word])) & self.trees.on_grid(word);
        nearest_free(size, wanted, free)
    }

    pub(super) fn profile(&self, mover_ref: MoverRef) -> Option<&Profile> {
        self.profiles.get(self.crowd.get(mover_ref)?.profile())
    }

    pub(super) fn profile_mut(&mut self, mover_ref: MoverRef) -> Option<&mut Profile> {
        let profile = self.crowd.get(mover_ref)?.profile();
        self.profiles.get_mut(profile)
    }

    /// Changes a mover's view; the next view is a full one. Also for a client that missed a view.
    ///
    /// # Errors
    /// [`Refusal::ViewTooLarge`]; [`Refusal::UnknownMover`] also for a mover that was registered without a view, a name
    /// or the right to resume: it has no profile to keep a view in.
    pub fn watch(&mut self, mover_ref: MoverRef, view: Option<ViewOptions>) -> Result<(), Refusal> {
        let view = view.map(ViewOptions::validated).transpose()?;
        if self.profile_mut(mover_ref).is_none() {
            return if view.is_none() && self.contains(mover_ref) { Ok(()) } else { Err(Refusal::UnknownMover) };
        }
        self.set_view(mover_ref, view);
        Ok(())
    }

    fn set_view(&mut self, mover_ref: MoverRef, view: Option<ViewOptions>) {
        let Some(profile) = self.profile_mut(mover_ref) else { return };
        let had = profile.viewer.is_some();
        profile.viewer = view.map(|options| Box::new(Viewer::new(options)));
        self.stats.viewers = self.stats.viewers + usize::from(view.is_some()) - usize::from(had);
    }

    /// Removes a mover for good.
    pub fn leave(&mut self, mover_ref: MoverRef) {
        let Some(mover) = self.crowd.get(mover_ref) else { return };
        if let Some(profile) = mover.profile().and_then(|profile| self.profiles.remove(profile)) {
            self.stats.viewers -= usize::from(profile.viewer.is_some());
            self.stats.lost -= usize::from(profile.disconnected_at_us.is_some());
            if let Some(player) = profile.player.filter(|player| self.players.get(player) == Some(&mover_ref)) {
                self.players.remove(&player);
            }
            if profile.is_resumable {
                self.resumable.remove(&mover_ref.id);
                self.has_changed = true;
            }
        }
        self.crowd.remove(mover_ref);
    }

    /// A mover's connection is lost: the mover stays until its grace is over, unless it is resumed. One that cannot be
    /// resumed leaves at once.
    pub fn connection_lost(&mut self, mover_ref: MoverRef, now_us: i64) {
        self.set_view(mover_ref, None);
        match self.profile_mut(mover_ref) {
            Some(profile) if profile.is_resumable => {
                if profile.disconnected_at_us.replace(now_us).is_none() {
                    self.stats.lost += 1;
                }
                self.disconnected.push_back((now_us, mover_ref));
            }
            _ => self.leave(mover_ref),
        }
    }
}
