//! Keys with a quota of their own, of one shard. Does not know what they have used.

use std::collections::BTreeMap;

use crate::{Override, Quota};

/// The quotas of those keys.
#[derive(Debug, Default)]
#[expect(clippy::box_collection, reason = "there are thousands of shards, and most have none and pay a pointer for it")]
pub(crate) struct KeyQuotas(Option<Box<BTreeMap<Box<[u8]>, KeyQuota>>>);

/// One of them.
#[derive(Debug)]
pub(crate) struct KeyQuota {
    pub(crate) quota: Quota,
    /// Whether it is an override, which stays until it is removed. A supplied quota is dropped with the key's counts,
    /// or replaced by the next hit's.
    pub(crate) is_override: bool,
}

impl KeyQuotas {
    #[inline]
    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    #[cold]
    pub(crate) fn find(&self, key: &[u8]) -> Option<&KeyQuota> {
        self.0.as_ref()?.get(key)
    }

    pub(crate) fn find_mut(&mut self, key: &[u8]) -> Option<&mut KeyQuota> {
        self.0.as_mut()?.get_mut(key)
    }

    pub(crate) fn insert(&mut self, key: &[u8], own: KeyQuota) {
        self.0.get_or_insert_default().insert(key.into(), own);
    }

    pub(crate) fn remove(&mut self, key: &[u8]) -> Option<KeyQuota> {
        let own = self.0.as_mut()?.remove(key);
        self.drop_if_empty();
        own
    }

    /// Drops what hits have brought along for keys that are not `held` any more; returns how many those were.
    pub(crate) fn retain_held(&mut self, held: impl Fn(&[u8]) -> bool) -> usize {
        let Some(owned) = &mut self.0 else { return 0 };
        let before = owned.len();
        owned.retain(|key, own| own.is_override || held(key));
        let gone = before - owned.len();
        self.drop_if_empty();
        gone
    }

    fn drop_if_empty(&mut self) {
        if self.0.as_ref().is_some_and(|owned| owned.is_empty()) {
            self.0 = None;
        }
    }

    /// Every key with an override.
    pub(crate) fn overrides(&self) -> impl Iterator<Item = Override> {
        let owned = self.0.iter().flat_map(|owned| owned.iter()).filter(|(_, own)| own.is_override);
        owned.map(|(key, own)| Override { key: key.clone(), quota: own.quota })
    }
}
