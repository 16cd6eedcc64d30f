//! Bans in force at this node, in memory: every request and every open connection is compared with them, so none costs a query. The store
//! keeps them; nodes read its version every second, and the list when it has changed. While the store cannot be read, the last list holds.
//!
//! Knows whom a ban covers. What the banned read is [`ApiError::Banned`].

use super::auth::Principal;
use super::problem::{ApiError, ApiResult};
use engine::ids::{AccountId, PlayerId};
use engine::rows::{AddressPrefix, Ban, BanList, BanTarget};
use engine::time::UnixMs;
use metrics::Metrics;
use node::clock::Clock;
use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

/// How often the store is asked whether bans have changed: with the time of the reads, a change is in force on all nodes after two seconds.
pub const BANS_CHECK_EVERY: Duration = Duration::from_secs(1);

/// Whom bans are compared with: the sender of a request, or the owner of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BanSubject {
    account: Option<AccountId>,
    guest: Option<PlayerId>,
    /// `None` also for operators and admins: a ban of a network must not keep out those who can lift it.
    address: Option<IpAddr>,
}

impl BanSubject {
    pub(super) fn new(principal: Option<&Principal>, address: Option<IpAddr>) -> Self {
        let address = address.filter(|_| !principal.is_some_and(Principal::is_operator));
        match principal {
            Some(Principal::Account(caller)) => Self { account: Some(caller.account), guest: None, address },
            Some(Principal::Guest(guest)) => Self { account: None, guest: Some(guest.player), address },
            None => Self { account: None, guest: None, address },
        }
    }
}

/// The bans in force.
pub struct Bans {
    clock: Clock,
    metrics: Arc<Metrics>,
    /// Whether there is none: the usual case takes no lock.
    is_empty: AtomicBool,
    index: RwLock<BanIndex>,
}

#[derive(Default)]
struct BanIndex {
    /// `None` before the first list.
    version: Option<u64>,
    by_target: HashMap<BanTarget, Arc<Ban>>,
    /// The lengths of banned prefixes of IPv4, and of IPv6: an address is looked up once for each.
    prefix_lengths: [BTreeSet<u8>; 2],
}

impl BanIndex {
    fn new(list: BanList) -> Self {
        let mut index = Self { version: Some(list.version), ..Self::default() };
        for ban in list.bans {
            if let BanTarget::Address(prefix) = ban.target {
                index.prefix_lengths[usize::from(!prefix.is_ipv4())].insert(prefix.length());
            }
            index.by_target.insert(ban.target, Arc::new(ban));
        }
        index
    }

    fn find(&self, subject: &BanSubject, now: UnixMs) -> Option<Arc<Ban>> {
        let live = |target: BanTarget| self.by_target.get(&target).filter(|ban| ban.is_live(now)).cloned();
        let disabled = || subject.account.map(BanTarget::Disabled).and_then(live);
        let account = || subject.account.map(BanTarget::Account).and_then(live);
        let guest = || subject.guest.map(BanTarget::Guest).and_then(live);
        let address = || {
            let address = subject.address?.to_canonical();
            let lengths = self.prefix_lengths[usize::from(address.is_ipv6())].iter();
            let mut prefixes = lengths.filter_map(|length| AddressPrefix::new(address, *length));
            prefixes.find_map(|prefix| live(BanTarget::Address(prefix)))
        };
        disabled().or_else(account).or_else(guest).or_else(address)
    }
}

impl Bans {
    /// None are in force before the first [`super::grants::refresh_bans`].
    #[must_use]
    pub fn new(clock: Clock, metrics: Arc<Metrics>) -> Self {
        Self { clock, metrics, is_empty: AtomicBool::new(true), index: RwLock::default() }
    }

    /// # Errors
    /// [`ApiError::Banned`].
    pub(super) fn check(&self, principal: Option<&Principal>, address: Option<IpAddr>) -> ApiResult<()> {
        self.check_subject(&BanSubject::new(principal, address))
    }

    /// Of an account that is about to sign in.
    ///
    /// # Errors
    /// [`ApiError::Banned`].
    pub(super) fn check_account(&self, account: AccountId) -> ApiResult<()> {
        self.check_subject(&BanSubject { account: Some(account), ..BanSubject::default() })
    }

    fn check_subject(&self, subject: &BanSubject) -> ApiResult<()> {
        match self.find(subject) {
            None => Ok(()),
            Some(ban) => {
                self.metrics.process.banned_requests.inc();
                Err(ApiError::Banned(ban))
            }
        }
    }

    /// The ban of this subject, if there is one.
    pub(super) fn find(&self, subject: &BanSubject) -> Option<Arc<Ban>> {
        if self.is_empty.load(Ordering::Acquire) {
            return None;
        }
        // Consistent even if a holder of the lock panicked: the index is replaced as a whole.
        self.index.read().unwrap_or_else(PoisonError::into_inner).find(subject, self.clock.now())
    }

    /// Whether a player at a table or in a world is banned, or has an account that is banned or disabled.
    #[must_use]
    pub fn is_player_banned(&self, player: PlayerId) -> bool {
        // A player with an account has its id.
        let (account, guest) = (Some(AccountId(player.0)), Some(player));
        self.find(&BanSubject { account, guest, address: None }).is_some()
    }

    /// The ban of exactly this target, if there is one.
    pub(super) fn of_target(&self, target: BanTarget) -> Option<Arc<Ban>> {
        let index = self.index.read().unwrap_or_else(PoisonError::into_inner);
        index.by_target.get(&target).filter(|ban| ban.is_live(self.clock.now())).cloned()
    }

    /// `None` before the first list.
    pub(super) fn version(&self) -> Option<u64> {
        self.index.read().unwrap_or_else(PoisonError::into_inner).version
    }

    /// Puts this list into force, unless a newer one is; returns whether it did.
    pub(super) fn install(&self, list: BanList) -> bool {
        let new = BanIndex::new(list);
        let mut index = self.index.write().unwrap_or_else(PoisonError::into_inner);
        if index.version >= new.version {
            return false;
        }
        self.metrics.process.bans.set(new.by_target.len() as u64);
        self.is_empty.store(new.by_target.is_empty(), Ordering::Release);
        *index = new;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::ids::BanId;

    fn bans(version: u64, targets: &[(&str, Option<i64>)]) -> BanList {
        let ban = |(target, end): &(&str, Option<i64>)| Ban {
            id: BanId(1),
            target: target.parse().unwrap(),
            reason: "spam".to_owned(),
            made_by: None,
            made_by_role: None,
            created_at: UnixMs(0),
            expires_at: end.map(UnixMs),
        };
        BanList { version, bans: targets.iter().map(ban).collect() }
    }

    #[track_caller]
    fn check(targets: &[(&str, Option<i64>)], address: &str, want: Option<&str>) {
        let index = BanIndex::new(bans(1, targets));
        let subject = BanSubject { address: Some(address.parse().unwrap()), ..BanSubject::default() };
        let found = index.find(&subject, UnixMs(100)).map(|ban| ban.target.to_string());
        assert_eq!(found.as_deref(), want, "{address}");
    }

    #[test]
    fn an_address_is_found_in_every_network_of_its_kind() {
        let networks = [
            ("address:192.0.2.7", None),
            ("address:198.51.100.0/24", Some(101)),
            ("address:203.0.113.0/24", Some(100)),
            ("address:2001:db8::/32", None),
            ("address:::1", None),
        ];
        check(&networks, "192.0.2.7", Some("address:192.0.2.7"));
        check(&networks, "::ffff:192.0.2.7", Some("address:192.0.2.7"));
        check(&networks, "192.0.2.8", None);
        check(&networks, "198.51.100.200", Some("address:198.51.100.0/24"));
        check(&networks, "203.0.113.5", None);
        check(&networks, "2001:db8:5::5", Some("address:2001:db8::/32"));
        check(&networks, "::1", Some("address:::1"));
        check(&networks, "::2", None);
        check(&[("address:0.0.0.0/0", None)], "::1", None);
        check(&[("address:::/0", None)], "192.0.2.7", None);
    }

    #[test]
    fn an_older_list_replaces_no_newer_one() {
        let held = Bans::new(Clock::default(), Arc::default());
        let subject = BanSubject { address: Some([192, 0, 2, 7].into()), ..BanSubject::default() };
        assert!(held.install(bans(0, &[])) && held.find(&subject).is_none());
        assert!(held.install(bans(2, &[("address:192.0.2.7", None)])) && held.find(&subject).is_some());
        assert!(!held.install(bans(1, &[])) && held.find(&subject).is_some());
        assert!(held.install(bans(3, &[])) && held.find(&subject).is_none());
    }
}
