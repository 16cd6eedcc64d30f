//! Hunts that are not over, by the address of their creator, and the number of their cells.

use super::{QuotaExceeded, QuotaKind};
use crate::address_key::AddressKey;
use engine::ids::WorldId;
use engine::time::UnixMs;
use std::collections::HashMap;

/// A hunt that counts until it is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveHunt {
    pub id: WorldId,
    /// When it is over, unless it ends early.
    pub ends_at: UnixMs,
    pub cells: u32,
}

/// Bounded: there are at most [`engine::limits::WORLDS_MAX`] hunts that are not over, and addresses without any are removed at the latest
/// when the next one is created.
#[derive(Debug, Default)]
pub(super) struct LiveHunts {
    by_address: HashMap<AddressKey, Vec<LiveHunt>>,
    /// When the earliest of them ends: no earlier check is needed.
    next_end: Option<UnixMs>,
}

impl LiveHunts {
    pub(super) fn add(
        &mut self,
        address: AddressKey,
        hunt: LiveHunt,
        now: UnixMs,
        hunts_max: usize,
        cells_max: usize,
    ) -> Result<(), QuotaExceeded> {
        self.remove_ended(now);
        let live = self.by_address.get(&address).map_or(&[][..], Vec::as_slice);
        if live.len() >= hunts_max {
            return Err(QuotaExceeded::at_once(QuotaKind::Hunts, hunts_max));
        }
        let cells: u64 = live.iter().map(|hunt| u64::from(hunt.cells)).sum();
        if cells + u64::from(hunt.cells) > cells_max as u64 {
            return Err(QuotaExceeded::at_once(QuotaKind::Cells, cells_max));
        }
        self.by_address.entry(address).or_default().push(hunt);
        self.next_end = Some(self.next_end.map_or(hunt.ends_at, |next| next.min(hunt.ends_at)));
        Ok(())
    }

    pub(super) fn ids_of(&self, address: AddressKey) -> Vec<WorldId> {
        self.by_address.get(&address).into_iter().flatten().map(|hunt| hunt.id).collect()
    }

    pub(super) fn remove(&mut self, id: WorldId) {
        self.retain(|hunt| hunt.id != id);
    }

    fn remove_ended(&mut self, now: UnixMs) {
        if self.next_end.is_some_and(|next| next <= now) {
            self.retain(|hunt| hunt.ends_at > now);
        }
    }

    fn retain(&mut self, is_kept: impl Fn(&LiveHunt) -> bool) {
        self.by_address.retain(|_, hunts| {
            hunts.retain(&is_kept);
            !hunts.is_empty()
        });
        self.next_end = self.by_address.values().flatten().map(|hunt| hunt.ends_at).min();
    }

    #[cfg(test)]
    pub(super) fn address_count(&self) -> usize {
        self.by_address.len()
    }
}
