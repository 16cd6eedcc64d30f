//! What was answered about names: bounded in entries, and so in bytes, since names and numbers of addresses are.

use super::Addresses;
use super::resolver::Answer;
use engine::health::CallFault;
use engine::limits::{
    NAME_ADDRESSES_MAX, NAME_CACHE_ENTRIES_MAX, NAME_FAILED_FOR, NAME_FRESH_MAX, NAME_FRESH_MIN, NAME_MISSING_MAX,
    NAME_STALE_MAX,
};
use lru::LruCache;
use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use tokio::time::Instant;

pub(super) struct NameCache(LruCache<Arc<str>, Entry>);

struct Entry {
    /// `None`: the name leads nowhere.
    addresses: Option<Arc<[IpAddr]>>,
    fresh_until: Instant,
    stale_until: Instant,
}

pub(super) enum Recalled {
    Fresh(Addresses),
    /// Known, but no longer for sure.
    Stale(Arc<[IpAddr]>),
    Unknown,
}

impl Default for NameCache {
    fn default() -> Self {
        Self(LruCache::new(const { NonZeroUsize::new(NAME_CACHE_ENTRIES_MAX).expect("not zero") }))
    }
}

impl NameCache {
    pub(super) fn get(&mut self, name: &str, now: Instant) -> Recalled {
        let Some(entry) = self.0.get(name) else { return Recalled::Unknown };
        match &entry.addresses {
            _ if now < entry.fresh_until => Recalled::Fresh(entry.addresses.clone().ok_or(CallFault::NoPublicAddress)),
            Some(addresses) if now < entry.stale_until => Recalled::Stale(addresses.clone()),
            Some(_) | None => Recalled::Unknown,
        }
    }

    /// Keeps an answer; returns what callers get. Where there is none, addresses that are not too old still serve.
    pub(super) fn put(&mut self, name: Arc<str>, answer: Answer, now: Instant) -> Addresses {
        let (addresses, fresh_for) = match answer {
            Answer::Found { addresses, ttl } => {
                let addresses: Arc<[IpAddr]> = addresses.into_iter().take(NAME_ADDRESSES_MAX).collect();
                (Ok(addresses), ttl.clamp(NAME_FRESH_MIN, NAME_FRESH_MAX))
            }
            Answer::Missing { ttl } => (Err(CallFault::NoPublicAddress), ttl.clamp(NAME_FRESH_MIN, NAME_MISSING_MAX)),
            Answer::Failed | Answer::NotMade => return self.without_answer(name, &answer, now),
        };
        let fresh_until = now + fresh_for;
        let entry = Entry { addresses: addresses.clone().ok(), fresh_until, stale_until: fresh_until + NAME_STALE_MAX };
        self.0.put(name, entry);
        addresses
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    fn without_answer(&mut self, name: Arc<str>, answer: &Answer, now: Instant) -> Addresses {
        let known = self.0.get_mut(&name).filter(|entry| entry.addresses.is_some() && now < entry.stale_until);
        if let Some(entry) = known {
            entry.fresh_until = (now + NAME_FRESH_MIN).min(entry.stale_until);
            return entry.addresses.clone().ok_or(CallFault::NoPublicAddress);
        }
        if matches!(answer, Answer::NotMade) {
            return Err(CallFault::ServerFault);
        }
        let until = now + NAME_FAILED_FOR;
        self.0.put(name, Entry { addresses: None, fresh_until: until, stale_until: until });
        Err(CallFault::NoPublicAddress)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn found(last: u8, ttl_s: u64) -> Answer {
        Answer::Found { addresses: vec![[192, 0, 2, last].into()], ttl: Duration::from_secs(ttl_s) }
    }

    /// What is recalled after each time since the beginning, in seconds: `f` fresh, `m` fresh and without address, `s` stale, `-` nothing.
    #[track_caller]
    fn check(answers: Vec<(u64, Answer)>, asked: &[(u64, char)]) {
        let (mut cache, begun) = (NameCache::default(), Instant::now());
        for (at_s, answer) in answers {
            let _ = cache.put("a.example".into(), answer, begun + Duration::from_secs(at_s));
        }
        for &(at_s, want) in asked {
            let got = match cache.get("a.example", begun + Duration::from_secs(at_s)) {
                Recalled::Fresh(Ok(_)) => 'f',
                Recalled::Fresh(Err(_)) => 'm',
                Recalled::Stale(_) => 's',
                Recalled::Unknown => '-',
            };
            assert_eq!(got, want, "after {at_s} s");
        }
    }

    #[test]
    fn answers_are_fresh_within_bounds_and_addresses_serve_longer_than_that() {
        check(vec![], &[(0, '-')]);
        check(vec![(0, found(1, 60))], &[(59, 'f'), (60, 's'), (659, 's'), (660, '-')]);
        check(vec![(0, found(1, 0))], &[(4, 'f'), (5, 's')]);
        check(vec![(0, found(1, 1_000_000))], &[(599, 'f'), (600, 's')]);
        let missing = |ttl_s| Answer::Missing { ttl: Duration::from_secs(ttl_s) };
        check(vec![(0, missing(0))], &[(4, 'm'), (5, '-')]);
        check(vec![(0, missing(100_000))], &[(59, 'm'), (60, '-')]);
        check(vec![(0, Answer::Failed)], &[(29, 'm'), (30, '-')]);
        check(vec![(0, Answer::NotMade)], &[(0, '-')]);
        check(vec![(0, found(1, 60)), (61, Answer::Failed)], &[(61, 'f'), (66, 's'), (660, '-')]);
        check(vec![(0, found(1, 60)), (61, missing(60))], &[(61, 'm'), (121, '-')]);
        check(vec![(0, found(1, 60)), (700, Answer::Failed)], &[(700, 'm'), (730, '-')]);
    }

    #[test]
    fn the_least_used_name_makes_room() {
        let (mut cache, now) = (NameCache::default(), Instant::now());
        for name in 0..=NAME_CACHE_ENTRIES_MAX {
            let _ = cache.put(name.to_string().into(), found(1, 60), now);
        }
        assert!(matches!(cache.get("0", now), Recalled::Unknown));
        assert!(matches!(cache.get("1", now), Recalled::Fresh(Ok(_))));
    }
}
