//! Authentication and authorization: bearer tokens (or a browser's cookie that holds one), and the four roles as extractors.
//!
//! A handler that takes [`Player`] is only ever called for a player or more; roles are checked nowhere else. A request is
//! authenticated once, at its admission; the extractors take the identity from there.
//! Secrets are compared as SHA-256 digests and appear in no log, no error and no debug output.

use super::credentials::{self, Bearer, SECRET_BYTES_MAX, parse_bearer};
use super::guests::{self, GuestTokenCheck};
use super::listener::Rank;
use super::origin::{RequestSource, may_be_cross_site};
use super::problem::{ApiError, ApiResult};
use crate::app::App;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use engine::ids::{AccountId, TokenId};
use engine::rows::{Role, Token, TokenPurpose};
use node::clock::random_bytes;
use settings::digest::{digest, is_equal_in_constant_time};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use store::StoreError;

/// How long a cached token is valid without asking the store: a token deleted by another process works at most this much longer.
const TOKEN_CACHE_TTL: Duration = Duration::from_secs(2);
/// Tokens that are cached at the same time.
const TOKEN_CACHE_ENTRIES_MAX: usize = 4_096;
/// The prefix of this server's secrets, so that scanners for leaked secrets find them.
const SECRET_PREFIX: &str = "gnt_";

/// The sender of a valid token of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller {
    pub account: AccountId,
    pub role: Role,
    /// The token; `None` is the bootstrap token, which is in no store.
    pub token: Option<TokenId>,
    pub purpose: TokenPurpose,
}

/// The identity of a request's sender, as far as it can be determined.
#[derive(Clone, Debug)]
pub(super) enum Identity {
    /// No token was sent.
    Anonymous,
    /// No token has the secret that was sent.
    UnknownToken,
    /// A guest's token that has expired.
    ExpiredToken,
    /// The token could not be looked up.
    LookupFailed(StoreError),
    /// A browser with a cookie, and a request that a page of another site may have made it send.
    CrossSite,
    /// A valid token of an account.
    Account(Caller),
    /// A valid token of a guest, who has no account.
    Guest(Arc<guests::Guest>),
}

impl Identity {
    /// The caller with a valid token of an account.
    pub(super) fn as_caller(&self) -> Option<&Caller> {
        match self {
            Self::Account(caller) => Some(caller),
            Self::Anonymous
            | Self::UnknownToken
            | Self::ExpiredToken
            | Self::LookupFailed(_)
            | Self::CrossSite
            | Self::Guest(_) => None,
        }
    }

    /// The rank of a connection with this identity.
    pub(super) fn rank(&self) -> Rank {
        match self {
            Self::Account(_) => Rank::Account,
            Self::Guest(_) => Rank::Guest,
            _ => Rank::Anonymous,
        }
    }

    /// An account's caller or a guest; `None` without a token. A bad token is refused.
    pub(super) fn into_principal(self) -> ApiResult<Option<Principal>> {
        match self {
            Self::Anonymous => Ok(None),
            Self::UnknownToken => Err(ApiError::TokenUnknown),
            Self::ExpiredToken => Err(ApiError::TokenExpired),
            Self::LookupFailed(error) => Err(error.into()),
            Self::CrossSite => Err(ApiError::CrossSite),
            Self::Account(caller) => Ok(Some(Principal::Account(caller))),
            Self::Guest(guest) => Ok(Some(Principal::Guest(guest))),
        }
    }

    /// The caller, for a route that needs an account.
    fn into_caller(self) -> ApiResult<Caller> {
        match self.into_principal()? {
            None => Err(ApiError::TokenMissing),
            Some(Principal::Guest(_)) => Err(ApiError::AccountNeeded),
            Some(Principal::Account(caller)) => Ok(caller),
        }
    }

    /// The identity of a request, from its admission if it has passed it.
    pub(super) async fn resolve(parts: &Parts, app: &App) -> Self {
        match parts.extensions.get::<Self>() {
            Some(identity) => identity.clone(),
            None => identify(parts, app).await,
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
    /// The rank of a connection of this principal.
    pub(super) fn rank(&self) -> Rank {
        match self {
            Self::Account(_) => Rank::Account,
            Self::Guest(_) => Rank::Guest,
        }
    }
}

/// Identifies the sender of a request.
pub(super) async fn identify(parts: &Parts, app: &App) -> Identity {
    identify_by(parts, app).await.0
}

/// The same, and the secret that was checked: the one in the header `Authorization`; without that header, the first valid one of
/// the cookies, since another site of the same domain may have set an invalid one.
pub(super) async fn identify_by<'a>(parts: &'a Parts, app: &App) -> (Identity, Option<&'a str>) {
    match parse_bearer(&parts.headers) {
        Bearer::Secret(secret) => return (identify_one(secret, parts.extensions.get(), app).await, Some(secret)),
        Bearer::Malformed => return (Identity::UnknownToken, None),
        Bearer::None => {}
    }
    let mut first = None;
    for secret in credentials::cookies(&parts.headers) {
        if may_be_cross_site(&parts.method, RequestSource::of(parts, &app.config)) {
            return (Identity::CrossSite, None);
        }
        let identity = identify_one(secret, parts.extensions.get(), app).await;
        if !matches!(identity, Identity::UnknownToken | Identity::ExpiredToken) {
            return (identity, Some(secret));
        }
        first = first.or(Some((identity, Some(secret))));
    }
    first.unwrap_or((Identity::Anonymous, None))
}

/// Identifies the owner of a secret that did not come in a request's head.
pub(super) async fn identify_secret(secret: &str, app: &App) -> Identity {
    identify_one(secret, None, app).await
}

async fn identify_one(secret: &str, cache: Option<&TokenCache>, app: &App) -> Identity {
    if secret.len() > SECRET_BYTES_MAX {
        return Identity::UnknownToken;
    }
    if secret.starts_with(guests::TOKEN_PREFIX) {
        return authenticate_guest(secret, app).await;
    }
    authenticate(digest(secret), cache, app).await
}

async fn authenticate_guest(token: &str, app: &App) -> Identity {
    match app.guests.verify(&app.store, token, app.clock.now()).await {
        Ok(GuestTokenCheck::Valid(guest)) => Identity::Guest(Arc::new(guest)),
        Ok(GuestTokenCheck::Expired) => Identity::ExpiredToken,
        Ok(GuestTokenCheck::Forged) => Identity::UnknownToken,
        Err(error) => Identity::LookupFailed(error),
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
    let hex: String = random_bytes::<32>().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{SECRET_PREFIX}{hex}")
}

/// Recently checked tokens, so that a busy client costs one read in two seconds instead of one per request. Unknown tokens are not
/// cached: random junk never repeats, and would only evict valid ones.
#[derive(Clone, Default)]
pub(super) struct TokenCache(Arc<Mutex<HashMap<[u8; 32], CachedToken>>>);

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

    /// Removes a deleted token: in this process it ends at once.
    pub(super) fn remove(&self, token: TokenId) {
        self.lock().retain(|_, cached| cached.token != token);
    }

    /// Consistent even if a holder of the lock panicked: no update spans two entries.
    fn lock(&self) -> MutexGuard<'_, HashMap<[u8; 32], CachedToken>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn authenticate(digest: [u8; 32], cache: Option<&TokenCache>, app: &App) -> Identity {
    if let Some(bootstrap) = &app.bootstrap
        && is_equal_in_constant_time(&bootstrap.digest, &digest)
    {
        let account = bootstrap.account;
        return Identity::Account(Caller { account, role: Role::Admin, token: None, purpose: TokenPurpose::Use });
    }
    if let Some(caller) = cache.and_then(|cache| cache.get(&digest, Instant::now())) {
        return Identity::Account(caller);
    }
    // Read before the wait, so that a deletion during it is not outlived by more than the stated time.
    let looked_up_at = Instant::now();
    let token = match app.store.read(move |reader| reader.token(&digest)).await {
        Ok(Some(token)) => token,
        Ok(None) => return Identity::UnknownToken,
        Err(error) => return Identity::LookupFailed(error),
    };
    let Token { id, account, role, purpose, .. } = token;
    let caller = Caller { account, role, token: Some(id), purpose };
    if let Some(cache) = cache {
        cache.insert(digest, id, caller, looked_up_at);
    }
    Identity::Account(caller)
}

macro_rules! role {
    ($(#[$doc:meta])* $name:ident => $role:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name(pub Caller);

        impl FromRequestParts<App> for $name {
            type Rejection = ApiError;
            async fn from_request_parts(parts: &mut Parts, app: &App) -> ApiResult<Self> {
                let caller = Identity::resolve(parts, app).await.into_caller()?;
                if caller.role < $role {
                    return Err(ApiError::RoleTooWeak { need: $role, have: caller.role });
                }
                Ok(Self(caller))
            }
        }
    };
}

role! {
    /// A caller with a token of an account, whatever its role.
    AnyAccount => Role::Guest
}
role! {
    /// A caller who may own bots and create matches.
    Player => Role::Player
}
role! {
    /// A caller who may see the metrics and act on all accounts' matches.
    Operator => Role::Operator
}
role! {
    /// A caller who may do everything.
    Admin => Role::Admin
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller() -> Caller {
        Caller { account: AccountId(1), role: Role::Player, token: Some(TokenId(2)), purpose: TokenPurpose::Use }
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
        assert_eq!(secret.len(), SECRET_PREFIX.len() + 64);
        assert_ne!(secret, new_secret());
        assert_eq!(
            format!("{:?}", BootstrapToken::new("hush", AccountId(0))),
            "BootstrapToken { account: 00000000-0000-0000-0000-000000000000, .. }"
        );
    }
}
