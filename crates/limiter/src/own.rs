//! Keys with a quota of their own, of one shard. Refuses to know what they have used.

use hashbrown::HashTable;

use crate::key::Key;
use crate::seed::Spread;
use crate::shard::Probe;
use crate::{Override, Quota};

/// The quotas of those keys; most shards have none, and pay a pointer for it.
#[derive(Debug, Default)]
pub(crate) struct Owned(Option<Box<HashTable<Own>>>);

/// One of them.
#[derive(Debug)]
pub(crate) struct Own {
    key: Key,
    pub(crate) quota: Quota,
    /// Whether somebody has to take it back. What a hit has brought along goes with the key's counts, or with the next hit
    /// that brings another.
    pub(crate) stays: bool,
}

impl Owned {
    #[inline]
    pub(crate) fn find(&self, probe: Probe<'_>) -> Option<&Own> {
        self.0.as_ref()?.find(probe.hash, |own| own.key.is(probe.key))
    }

    pub(crate) fn find_mut(&mut self, probe: Probe<'_>) -> Option<&mut Own> {
        self.0.as_mut()?.find_mut(probe.hash, |own| own.key.is(probe.key))
    }

    /// The quota of a key that is held.
    pub(crate) fn quota_of(&self, spread: &Spread, key: &Key) -> Option<Quota> {
        let table = self.0.as_ref()?;
        Some(table.find(spread.hash(key.bytes()), |own| own.key.is(key.bytes()))?.quota)
    }

    /// Adds one; there is none of this key yet.
    pub(crate) fn insert(&mut self, spread: &Spread, probe: Probe<'_>, quota: Quota, stays: bool) {
        let own = Own { key: Key::new(probe.key), quota, stays };
        let table = self.0.get_or_insert_default();
        table.insert_unique(probe.hash, own, |own| spread.hash(own.key.bytes()));
    }

    pub(crate) fn remove(&mut self, probe: Probe<'_>) -> Option<Own> {
        let table = self.0.as_mut()?;
        let (own, _) = table.find_entry(probe.hash, |own| own.key.is(probe.key)).ok()?.remove();
        self.tidy();
        Some(own)
    }

    /// Drops what hits have brought along for keys that are not `held` any more; returns how many those were.
    pub(crate) fn forget(&mut self, held: impl Fn(&[u8]) -> bool) -> usize {
        let Some(table) = &mut self.0 else { return 0 };
        let before = table.len();
        table.retain(|own| own.stays || held(own.key.bytes()));
        let gone = before - table.len();
        self.tidy();
        gone
    }

    fn tidy(&mut self) {
        if self.0.as_ref().is_some_and(|table| table.is_empty()) {
            self.0 = None;
        }
    }

    /// Every key whose quota stays until somebody takes it back.
    pub(crate) fn lasting(&self) -> impl Iterator<Item = Override> {
        let owned = self.0.iter().flat_map(|table| table.iter()).filter(|own| own.stays);
        owned.map(|own| Override { key: own.key.bytes().into(), quota: own.quota })
    }
}
