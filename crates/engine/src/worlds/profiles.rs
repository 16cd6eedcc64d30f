//! What is known of a mover in addition to its position: only of those that have a name, a score or a view.

use super::facts::Hunter;
use super::input::{MoverId, MoverRef};
use super::viewer::Viewer;
use crate::ids::PlayerId;
use rules::world::PowerUp;
use std::sync::Arc;

/// The rest of a mover.
#[derive(Clone, Debug)]
pub(super) struct Profile {
    pub(super) mover: MoverRef,
    pub(super) player: Option<PlayerId>,
    pub(super) name: Option<Arc<str>>,
    /// Whether it can be resumed, see [`super::Registration::is_resumable`].
    pub(super) is_resumable: bool,
    /// Since when it has no connection.
    pub(super) disconnected_at_us: Option<i64>,
    /// Until when each power-up helps: microseconds.
    pub(super) power_ups_until_us: [i64; PowerUp::ALL.len()],
    pub(super) viewer: Option<Box<Viewer>>,
}

impl Profile {
    /// Whether a power-up is active now.
    pub(super) fn has_power_up(&self, kind: PowerUp, now_us: i64) -> bool {
        now_us < self.power_ups_until_us[usize::from(kind.code())]
    }

    /// The hunter, as the log names it.
    pub(super) fn hunter(&self) -> Hunter {
        Hunter { mover: self.mover.id, player: self.player, name: self.name.clone().unwrap_or_default() }
    }
}

/// The key under which a score is kept: the player's, whichever mover it has; else the mover's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum HunterKey {
    Player(PlayerId),
    Mover(MoverId),
}

impl HunterKey {
    pub(super) fn of(mover: MoverId, player: Option<PlayerId>) -> Self {
        player.map_or(Self::Mover(mover), Self::Player)
    }
}

/// All profiles of a world.
#[derive(Clone, Debug, Default)]
pub(super) struct Profiles {
    profiles: Vec<Option<Profile>>,
    free: Vec<u32>,
}

impl Profiles {
    pub(super) fn add(&mut self, profile: Profile) -> u32 {
        if let Some(at) = self.free.pop() {
            self.profiles[at as usize] = Some(profile);
            at
        } else {
            self.profiles.push(Some(profile));
            (self.profiles.len() - 1) as u32
        }
    }

    pub(super) fn remove(&mut self, at: u32) -> Option<Profile> {
        let gone = self.profiles.get_mut(at as usize)?.take();
        if gone.is_some() {
            self.free.push(at);
        }
        gone
    }

    pub(super) fn get(&self, at: Option<u32>) -> Option<&Profile> {
        self.profiles.get(at? as usize)?.as_ref()
    }

    pub(super) fn get_mut(&mut self, at: Option<u32>) -> Option<&mut Profile> {
        self.profiles.get_mut(at? as usize)?.as_mut()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Profile> {
        self.profiles.iter().flatten()
    }
}
