//! Open connections by credential: feeds, sockets, movers' connections. The credential may end before the connection does: a token is
//! deleted, here or on another node; a guest's token expires. Everything that it opened is revoked then. So is what a banned client has open,
//! with a credential or without.
//!
//! One registry and one task for the process, so that an open connection costs an entry here and no timer, channel or query of its own.
//! Knows ids and times; how a client learns of a revocation is up to the holder.

use super::bans::{BanSubject, Bans};
use engine::ids::{PlayerId, TokenId};
use engine::limits::GRANTS_PER_READ_MAX;
use engine::rows::Ban;
use engine::time::UnixMs;
use futures_util::task::AtomicWaker;
use metrics::Metrics;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::Duration;
use store::{Store, StoreError};

/// How often the tokens of open connections are checked: with the time of the read, a revocation takes at most two seconds.
pub const REVOCATION_CHECK_EVERY: Duration = Duration::from_secs(1);

/// A credential, without its secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CredentialId {
    /// A token of an account. The store tells whether it still exists.
    Token(TokenId),
    /// A guest's token, which is stored nowhere and expires by itself.
    Guest {
        /// First, so that the order is that of expiry.
        expires_at: UnixMs,
        player: PlayerId,
    },
    /// No credential that ends before the process does: only a ban ends such a connection.
    None,
}

/// Why a credential is no longer valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RevocationReason {
    /// The token was deleted.
    Deleted,
    /// The guest's token has expired.
    Expired,
    /// The client was banned.
    Banned(Arc<Ban>),
}

/// An open connection that can be revoked.
pub trait Revocable: Send + Sync {
    /// Ends it. Called once, outside of all locks of the registry.
    fn revoke(&self, reason: RevocationReason);
}

type GrantKey = (CredentialId, u64);

#[derive(Default)]
struct GrantTable {
    holders: BTreeMap<GrantKey, GrantEntry>,
    last_number: u64,
}

struct GrantEntry {
    holder: Weak<dyn Revocable>,
    subject: BanSubject,
}

/// Everything in this process that a credential has opened.
pub struct Grants {
    open: Mutex<GrantTable>,
    bans: Arc<Bans>,
    metrics: Arc<Metrics>,
}

impl Grants {
    #[must_use]
    pub fn new(bans: Arc<Bans>, metrics: Arc<Metrics>) -> Self {
        Self { open: Mutex::default(), bans, metrics }
    }

    /// Registers an open connection until the grant is dropped. Whether the credential still exists is checked at the next interval: it may
    /// have ended after it was verified. One whose subject was banned meanwhile is revoked at once.
    #[must_use]
    pub fn register(
        self: &Arc<Self>,
        credential: CredentialId,
        subject: BanSubject,
        holder: Weak<dyn Revocable>,
    ) -> Grant {
        let key = {
            let mut open = self.lock();
            open.last_number += 1;
            let key = (credential, open.last_number);
            open.holders.insert(key, GrantEntry { holder, subject });
            key
        };
        // After the insertion: a ban comes into force either before this look or before that of `revoke_banned`.
        if let Some(ban) = self.bans.find(&subject) {
            self.revoke_range(key..=key, &RevocationReason::Banned(ban));
        }
        Grant(Box::new((self.clone(), key)))
    }

    /// Ends everything that this credential has opened.
    pub fn revoke(&self, credential: CredentialId, reason: &RevocationReason) {
        self.revoke_range((credential, 0)..=(credential, u64::MAX), reason);
    }

    /// Ends everything that clients have open who are banned now.
    pub fn revoke_banned(&self) {
        let banned: Vec<(GrantKey, Arc<Ban>)> = {
            let open = self.lock();
            let entries = open.holders.iter();
            entries.filter_map(|(key, entry)| Some((*key, self.bans.find(&entry.subject)?))).collect()
        };
        for (key, ban) in banned {
            self.revoke_range(key..=key, &RevocationReason::Banned(ban));
        }
    }

    fn revoke_range(&self, keys: RangeInclusive<GrantKey>, reason: &RevocationReason) {
        let holders: Vec<_> = {
            let mut open = self.lock();
            let keys: Vec<GrantKey> = open.holders.range(keys).map(|(key, _)| *key).collect();
            keys.iter().filter_map(|key| open.holders.remove(key)).collect()
        };
        for holder in holders.iter().filter_map(|entry| entry.holder.upgrade()) {
            self.metrics.process.grants_revoked.inc();
            holder.revoke(reason.clone());
        }
    }

    fn expire(&self, now: UnixMs) {
        let guest = |expires_at, player| CredentialId::Guest { expires_at, player: PlayerId(player) };
        self.revoke_range(
            (guest(UnixMs(i64::MIN), 0), 0)..=(guest(now, u128::MAX), u64::MAX),
            &RevocationReason::Expired,
        );
    }

    /// The tokens with open connections, each once.
    fn tokens(&self) -> Vec<TokenId> {
        let open = self.lock();
        let (mut tokens, mut from) = (Vec::new(), (CredentialId::Token(TokenId(0)), 0));
        // From token to token, not from entry to entry: one token may hold thousands open.
        while let Some(((CredentialId::Token(token), _), _)) = open.holders.range(from..).next() {
            tokens.push(*token);
            from = (CredentialId::Token(*token), u64::MAX);
        }
        tokens
    }

    /// Consistent even if a holder of the lock panicked: no update spans two entries.
    fn lock(&self) -> MutexGuard<'_, GrantTable> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The entry of an open connection, removed on drop.
pub struct Grant(Box<(Arc<Grants>, GrantKey)>);

impl Drop for Grant {
    fn drop(&mut self) {
        let (grants, key) = &*self.0;
        grants.lock().holders.remove(key);
    }
}

/// Revokes what has ended since the last check: one short read for every few thousand tokens with open connections, and none without. While
/// the store cannot be read, connections stay open.
///
/// # Errors
/// The store's.
pub async fn revoke_ended(grants: &Grants, store: &Store, now: UnixMs) -> Result<(), StoreError> {
    grants.expire(now);
    for tokens in grants.tokens().chunks(GRANTS_PER_READ_MAX) {
        let batch = tokens.to_vec();
        let existing: BTreeSet<TokenId> =
            store.read(move |reader| reader.existing_tokens(&batch)).await?.into_iter().collect();
        for deleted in tokens.iter().filter(|token| !existing.contains(token)) {
            grants.revoke(CredentialId::Token(*deleted), &RevocationReason::Deleted);
        }
    }
    Ok(())
}

/// Reads the bans if they have changed, and ends what the banned have open. While the store cannot be read, the last ones hold.
///
/// # Errors
/// The store's.
pub async fn refresh_bans(grants: &Grants, store: &Store, now: UnixMs) -> Result<(), StoreError> {
    let version = store.read(|reader| reader.bans().ban_list_version()).await?;
    if grants.bans.version() >= Some(version) {
        return Ok(());
    }
    let list = store.read(move |reader| reader.bans().ban_list(now)).await?;
    if grants.bans.install(list) {
        grants.revoke_banned();
    }
    Ok(())
}

/// The revocation signal of a future.
#[derive(Default)]
struct RevocationSignal {
    reason: OnceLock<RevocationReason>,
    waker: AtomicWaker,
}

impl Revocable for RevocationSignal {
    fn revoke(&self, reason: RevocationReason) {
        // Called once.
        let _ = self.reason.set(reason);
        self.waker.wake();
    }
}

/// Something open that is driven by a future, which polls for the revocation here.
pub struct RevocationWatch {
    signal: Arc<RevocationSignal>,
    _grant: Grant,
}

impl RevocationWatch {
    /// Registers something that this credential has opened.
    #[must_use]
    pub fn new(grants: &Arc<Grants>, credential: CredentialId, subject: BanSubject) -> Self {
        let signal = Arc::new(RevocationSignal::default());
        let holder: Weak<RevocationSignal> = Arc::downgrade(&signal);
        Self { signal, _grant: grants.register(credential, subject, holder) }
    }

    /// Ready once it is revoked.
    pub fn poll_revoked(&self, context: &mut Context<'_>) -> Poll<RevocationReason> {
        // Registered before the check: a revocation in between wakes.
        self.signal.waker.register(context.waker());
        self.signal.reason.get().map_or(Poll::Pending, |reason| Poll::Ready(reason.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use node::clock::Clock;
    use proptest::prelude::*;
    use std::future::poll_fn;

    fn grants() -> Arc<Grants> {
        let metrics = Arc::new(Metrics::default());
        Arc::new(Grants::new(Arc::new(Bans::new(Clock::default(), metrics.clone())), metrics))
    }

    fn guest(expires_at: i64, player: u128) -> CredentialId {
        CredentialId::Guest { expires_at: UnixMs(expires_at), player: PlayerId(player) }
    }

    fn revoked(watch: &RevocationWatch) -> Option<RevocationReason> {
        poll_fn(|context| watch.poll_revoked(context)).now_or_never()
    }

    #[test]
    fn a_guests_connection_ends_with_its_token_and_no_sooner() {
        let grants = grants();
        let [first, second, token] = [guest(10, u128::MAX), guest(11, 0), CredentialId::Token(TokenId(1))]
            .map(|id| RevocationWatch::new(&grants, id, BanSubject::default()));
        grants.expire(UnixMs(9));
        assert_eq!(revoked(&first), None);
        grants.expire(UnixMs(10));
        assert_eq!([&first, &second, &token].map(revoked), [Some(RevocationReason::Expired), None, None]);
    }

    #[tokio::test]
    async fn a_waiting_future_is_woken() {
        let grants = grants();
        let watch = RevocationWatch::new(&grants, CredentialId::Token(TokenId(1)), BanSubject::default());
        let waiting = tokio::spawn(async move { poll_fn(|context| watch.poll_revoked(context)).await });
        tokio::task::yield_now().await;
        grants.revoke(CredentialId::Token(TokenId(1)), &RevocationReason::Deleted);
        assert_eq!(waiting.await.unwrap(), RevocationReason::Deleted);
    }

    proptest! {
        /// For any sequence of opening, dropping and revoking: exactly the connections of revoked credentials end, tokens are listed once,
        /// and no entry outlives its grant.
        #[test]
        fn exactly_the_connections_of_revoked_credentials_end(steps in prop::collection::vec((0..3_u8, 0..6_u128), 1..60)) {
            let grants = grants();
            let mut open: Vec<(CredentialId, RevocationWatch, bool)> = Vec::new();
            for (what, which) in steps {
                let id = if which < 4 { CredentialId::Token(TokenId(which)) } else { guest(5, which) };
                match what {
                    0 => open.push((id, RevocationWatch::new(&grants, id, BanSubject::default()), false)),
                    1 => if let Some(at) = open.iter().position(|(other, ..)| *other == id) { drop(open.remove(at)) },
                    _ => {
                        grants.revoke(id, &RevocationReason::Deleted);
                        open.iter_mut().filter(|(other, ..)| *other == id).for_each(|(.., is_revoked)| *is_revoked = true);
                    }
                }
                for (id, watch, is_revoked) in &open {
                    prop_assert_eq!(revoked(watch).is_some(), *is_revoked, "{:?}", id);
                }
                let live = || open.iter().filter(|(.., is_revoked)| !is_revoked);
                prop_assert_eq!(grants.lock().holders.len(), live().count());
                let tokens: BTreeSet<_> = live().filter_map(|(id, ..)| if let CredentialId::Token(id) = id { Some(*id) } else { None }).collect();
                prop_assert_eq!(grants.tokens(), tokens.into_iter().collect::<Vec<_>>());
            }
        }
    }
}
