//! Authentication: who sends a request, by a bearer token or a browser's cookie that holds one. A request is authenticated once, at its
//! admission; the extractors take the identity from there.
//!
//! Secrets are compared as SHA-256 digests and appear in no log, no error and no debug output.

use super::credentials::{self, ACCOUNT_PREFIX, Bearer, GUEST_PREFIX, SECRET_BYTES_MAX, parse_bearer};
use super::guests::{self, GuestTokenCheck, GuestTokens};
use super::listener::Rank;
use super::origin::{RequestSource, may_be_cross_site};
use super::problem::{ApiError, ApiResult, SignInRefusal};
use super::token_uses::TokenUses;
use axum::http::request::Parts;
use engine::digest::{digest, is_equal_in_constant_time};
use engine::ids::{AccountId, PlayerId, TokenId};
use engine::rows::{Role, Token, TokenPurpose};
use engine::time::UnixMs;
use node::Node;
use node::clock::{Clock, random_bytes};
use settings::Config;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use store::{Store, StoreError};

/// How long a cached token is valid without asking the store: a token deleted by another process works at most this much longer.
pub const TOKEN_CACHE_TTL: Duration = Duration::from_secs(2);
/// Tokens that are cached at the same time.
const TOKEN_CACHE_ENTRIES_MAX: usize = 4_096;

/// The sender of a valid token of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller {
    pub account: AccountId,
    pub role: Role,
    /// The token; `None` is the bootstrap token, which is in no store.
    pub token: Option<TokenId>,
    pub purpose: TokenPurpose,
    /// When the token ends by itself, if it does.
    pub expires_at: Option<UnixMs>,
    /// Whether it is that of a browser's session.
    pub is_session: bool,
}

impl Caller {
    /// As whom it sees things.
    pub(super) fn viewer(self) -> (AccountId, Role) {
        (self.account, self.role)
    }

    /// Whether the token is valid at `now`: it is deleted a while after its end.
    fn is_valid(&self, now: UnixMs) -> bool {
        self.expires_at.is_none_or(|end| end > now)
    }

    /// For what lasts longer than a token that ends by itself: a client that has such a token for a day must not make one for ever of it.
    /// Sessions are people's.
    ///
    /// # Errors
    /// [`SignInRefusal::TokenEnds`].
    pub(super) fn require_lasting(self) -> ApiResult<()> {
        if self.expires_at.is_some() && !self.is_session { Err(SignInRefusal::TokenEnds.into()) } else { Ok(()) }
    }

    /// The token, if it is that of a browser's session.
    pub(super) fn session(&self) -> Option<TokenId> {
        self.token.filter(|_| self.is_session)
    }
}

/// Why what a request carries identifies no principal.
#[derive(Clone, Debug)]
pub(super) enum AuthError {
    /// No token has the secret that was sent.
    UnknownToken,
    /// A guest's token that has expired.
    ExpiredToken,
    /// The token could not be looked up.
    LookupFailed(StoreError),
    /// A browser with a cookie, and a request that a page of another site may have made it send.
    CrossSite,
}

impl From<AuthError> for ApiError {
    fn from(error: AuthError) -> Self {
        match error {
            AuthError::UnknownToken => Self::TokenUnknown,
            AuthError::ExpiredToken => Self::TokenExpired,
            AuthError::LookupFailed(error) => error.into(),
            AuthError::CrossSite => Self::CrossSite,
        }
    }
}

/// The identity of a request's sender; `None` without a token.
#[derive(Clone, Debug)]
pub(super) struct Identity(pub(super) Result<Option<Principal>, AuthError>);

impl Identity {
    /// The sender, if a valid token was sent.
    pub(super) fn principal(&self) -> Option<&Principal> {
        self.0.as_ref().ok()?.as_ref()
    }

    /// The sender; `None` without a token. A bad token is refused.
    pub(super) fn into_principal(self) -> ApiResult<Option<Principal>> {
        Ok(self.0?)
    }

    /// The caller, for a route that needs an account.
    pub(super) fn into_caller(self) -> ApiResult<Caller> {
        match self.into_principal()? {
            None => Err(ApiError::TokenMissing),
            Some(Principal::Guest(_)) => Err(ApiError::AccountNeeded),
            Some(Principal::Account(caller)) => Ok(caller),
        }
    }
}

/// The sender of a valid token.
#[derive(Clone, Debug)]
pub(super) enum Principal {
    Account(Caller),
    Guest(Arc<guests::Guest>),
}

impl Principal {
    /// Their id at tables and in worlds.
    pub(super) fn player(&self) -> PlayerId {
        match self {
            Self::Account(caller) => PlayerId::from(caller.account),
            Self::Guest(guest) => guest.player,
        }
    }

    /// The caller with an account; `None` of a guest.
    pub(super) fn account(&self) -> Option<Caller> {
        match self {
            Self::Account(caller) => Some(*caller),
            Self::Guest(_) => None,
        }
    }

    pub(super) fn is_operator(&self) -> bool {
        matches!(self, Self::Account(caller) if caller.role >= Role::Operator)
    }

    /// The rank of a connection of this principal.
    pub(super) fn rank(&self) -> Rank {
        match self {
            Self::Account(_) => Rank::Account,
            Self::Guest(_) => Rank::Guest,
        }
    }
}

/// Finds out who sends requests.
pub struct Authenticator {
    store: Store,
    clock: Clock,
    config: Arc<Config>,
    guests: GuestTokens,
    /// The admin token that is valid as long as this process lives, if one was configured.
    bootstrap: Option<BootstrapToken>,
    cache: TokenCache,
    /// When tokens were used last, as far as that is not written yet.
    pub uses: TokenUses,
}

impl Authenticator {
    #[must_use]
    pub fn new(node: &Node, config: Arc<Config>, guests: GuestTokens, bootstrap: Option<BootstrapToken>) -> Self {
        let (store, clock) = (node.store.clone(), node.clock.clone());
        Self { store, clock, config, guests, bootstrap, cache: TokenCache::default(), uses: TokenUses::default() }
    }

    /// The identity of a request's sender, from its admission if it has passed it.
    pub(super) async fn resolve(&self, parts: &Parts) -> Identity {
        match parts.extensions.get::<Identity>() {
            Some(identity) => identity.clone(),
            None => self.identify(parts).await.0,
        }
    }

    /// Identifies the sender of a request, and returns the secret that was checked: the one in the header `Authorization`; without that
    /// header, the first valid one of the cookies, since another site of the same domain may have set an invalid one.
    pub(super) async fn identify<'a>(&self, parts: &'a Parts) -> (Identity, Option<&'a str>) {
        match parse_bearer(&parts.headers) {
            Bearer::Secret(secret) => return (self.identify_secret(secret).await, Some(secret)),
            Bearer::Malformed => return (Identity(Err(AuthError::UnknownToken)), None),
            Bearer::None => {}
        }
        let mut first = None;
        for secret in credentials::cookies(&parts.headers) {
            if may_be_cross_site(&parts.method, RequestSource::of(parts, &self.config)) {
                return (Identity(Err(AuthError::CrossSite)), None);
            }
            let identity = self.identify_secret(secret).await;
            if !matches!(identity.0, Err(AuthError::UnknownToken | AuthError::ExpiredToken)) {
                return (identity, Some(secret));
            }
            first = first.or(Some((identity, Some(secret))));
        }
        first.unwrap_or((Identity(Ok(None)), None))
    }

    /// The browser's sessions whose tokens a request carries, valid or not otherwise.
    ///
    /// # Errors
    /// The store's, when a token cannot be looked up.
    pub(super) async fn sessions_of(&self, parts: &Parts) -> ApiResult<Vec<TokenId>> {
        let secrets = match parse_bearer(&parts.headers) {
            Bearer::Secret(secret) => vec![secret],
            Bearer::Malformed => Vec::new(),
            Bearer::None => credentials::cookies(&parts.headers).collect(),
        };
        let mut sessions = Vec::new();
        for secret in secrets {
            match self.identify_secret(secret).await.0 {
                Ok(principal) => {
                    let caller = principal.and_then(|principal| principal.account());
                    sessions.extend(caller.and_then(|caller| caller.session()));
                }
                Err(AuthError::LookupFailed(error)) => return Err(error.into()),
                Err(AuthError::UnknownToken | AuthError::ExpiredToken | AuthError::CrossSite) => {}
            }
        }
        Ok(sessions)
    }

    /// What the bootstrap token may do, where it is this account's.
    pub(super) fn bootstrap_role(&self, account: AccountId) -> Option<Role> {
        self.bootstrap.as_ref().filter(|bootstrap| bootstrap.account == account).map(|_| Role::Admin)
    }

    /// Identifies the owner of a secret.
    pub(super) async fn identify_secret(&self, secret: &str) -> Identity {
        let principal = if secret.len() > SECRET_BYTES_MAX {
            Err(AuthError::UnknownToken)
        } else if secret.starts_with(GUEST_PREFIX) {
            self.find_guest(secret).await.map(Principal::Guest)
        } else {
            self.find_caller(digest(secret)).await.map(Principal::Account)
        };
        Identity(principal.map(Some))
    }

    async fn find_guest(&self, token: &str) -> Result<Arc<guests::Guest>, AuthError> {
        match self.guests.verify(token, self.clock.now()).await.map_err(AuthError::LookupFailed)? {
            GuestTokenCheck::Valid(guest) => Ok(Arc::new(guest)),
            GuestTokenCheck::Expired => Err(AuthError::ExpiredToken),
            GuestTokenCheck::Forged => Err(AuthError::UnknownToken),
        }
    }

    async fn find_caller(&self, digest: [u8; 32]) -> Result<Caller, AuthError> {
        if let Some(bootstrap) = &self.bootstrap
            && is_equal_in_constant_time(&bootstrap.digest, &digest)
        {
            let account = bootstrap.account;
            return Ok(Caller {
                account,
                role: Role::Admin,
                token: None,
                purpose: TokenPurpose::Use,
                expires_at: None,
                is_session: false,
            });
        }
        // Read before the wait, so that a deletion during it is not outlived by more than the stated time.
        let looked_up_at = Instant::now();
        let now = self.clock.now();
        if let Some(caller) = self.cache.get(&digest, looked_up_at) {
            return if caller.is_valid(now) { Ok(caller) } else { Err(AuthError::UnknownToken) };
        }
        let found = self.store.read(move |reader| reader.token(&digest)).await.map_err(AuthError::LookupFailed)?;
        let token = found.ok_or(AuthError::UnknownToken)?;
        let Token { id, account, role, purpose, expires_at, is_session, .. } = token;
        let caller = Caller { account, role, token: Some(id), purpose, expires_at, is_session };
        if !caller.is_valid(now) {
            return Err(AuthError::UnknownToken);
        }
        self.uses.note(&token, now);
        self.cache.insert(digest, id, caller, looked_up_at);
        Ok(caller)
    }

    /// Forgets a deleted token: in this process it ends at once.
    pub(super) fn forget(&self, token: TokenId) {
        self.cache.remove(token);
    }
}

/// The admin token that lives as long as the process: set by its operator, never stored.
#[derive(Clone)]
pub struct BootstrapToken {
    digest: [u8; 32],
    account: AccountId,
}

impl BootstrapToken {
    /// `secret` authenticates `account` as an admin.
    #[must_use]
    pub fn new(secret: &str, account: AccountId) -> Self {
        Self { digest: digest(secret), account }
    }
}

impl fmt::Debug for BootstrapToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BootstrapToken").field("account", &self.account).finish_non_exhaustive()
    }
}

/// A new secret, to be shown once.
#[must_use]
pub fn new_secret() -> String {
    secret_of(&random_bytes())
}

/// The secret of these bytes.
pub(super) fn secret_of(bytes: &[u8; 32]) -> String {
    format!("{ACCOUNT_PREFIX}{}", hex(bytes))
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Recently checked tokens, so that a busy client costs one read in two seconds instead of one per request. Unknown tokens are not
/// cached: random junk never repeats, and would only evict valid ones.
#[derive(Default)]
struct TokenCache(Mutex<HashMap<[u8; 32], CachedToken>>);

struct CachedToken {
    caller: Caller,
    token: TokenId,
    expires_at: Instant,
}

impl TokenCache {
    fn get(&self, digest: &[u8; 32], now: Instant) -> Option<Caller> {
        let tokens = self.lock();
        tokens.get(digest).filter(|cached| cached.expires_at > now).map(|cached| cached.caller)
    }

    fn insert(&self, digest: [u8; 32], token: TokenId, caller: Caller, now: Instant) {
        let mut tokens = self.lock();
        if tokens.len() >= TOKEN_CACHE_ENTRIES_MAX {
            tokens.retain(|_, cached| cached.expires_at > now);
        }
        if tokens.len() < TOKEN_CACHE_ENTRIES_MAX {
            tokens.insert(digest, CachedToken { caller, token, expires_at: now + TOKEN_CACHE_TTL });
        }
    }

    fn remove(&self, token: TokenId) {
        self.lock().retain(|_, cached| cached.token != token);
    }

    /// Consistent even if a holder of the lock panicked: no update spans two entries.
    fn lock(&self) -> MutexGuard<'_, HashMap<[u8; 32], CachedToken>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller() -> Caller {
        Caller {
            account: AccountId(1),
            role: Role::Player,
            token: Some(TokenId(2)),
            purpose: TokenPurpose::Use,
            expires_at: None,
            is_session: false,
        }
    }

    #[test]
    fn a_token_is_cached_for_a_while_and_removed_at_once() {
        let (cache, now) = (TokenCache::default(), Instant::now());
        cache.insert([7; 32], TokenId(2), caller(), now);
        assert_eq!(cache.get(&[7; 32], now), Some(caller()));
        assert_eq!(cache.get(&[8; 32], now), None);
        assert_eq!(cache.get(&[7; 32], now + TOKEN_CACHE_TTL), None);
        cache.remove(TokenId(2));
        assert_eq!(cache.get(&[7; 32], now), None);
    }

    #[test]
    fn the_cache_never_grows_beyond_its_bound_and_recovers() {
        let (cache, now) = (TokenCache::default(), Instant::now());
        for number in 0..TOKEN_CACHE_ENTRIES_MAX as u128 + 10 {
            cache.insert(digest(&number.to_string()), TokenId(number), caller(), now);
        }
        assert_eq!(cache.lock().len(), TOKEN_CACHE_ENTRIES_MAX);
        cache.insert([9; 32], TokenId(0), caller(), now + TOKEN_CACHE_TTL);
        assert_eq!(cache.lock().len(), 1);
    }

    #[test]
    fn secrets_are_long_and_stay_out_of_debug_output() {
        let secret = new_secret();
        assert_eq!(secret.len(), ACCOUNT_PREFIX.len() + 64);
        assert_ne!(secret, new_secret());
        assert_eq!(
            format!("{:?}", BootstrapToken::new("hush", AccountId(0))),
            "BootstrapToken { account: 00000000-0000-0000-0000-000000000000, .. }"
        );
    }
}
