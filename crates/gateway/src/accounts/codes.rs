//! One-time codes: how they are made, looked up and redeemed. A code is stored as its digest, stands in the fragment of a link, which no
//! browser sends to a server, and appears in no log.
//!
//! An answer may be lost after the code was used up. A client that sent an Idempotency-Key sends the same request again: the secret of the
//! session is derived from code and key, so the answer is the same, and nothing is stored for it. Who has only the used link has nothing.

use crate::app::App;
use crate::audit_entry;
use crate::auth::{self, AuthError, Caller, Principal, hex, new_secret};
use crate::credentials::{INVITE_PREFIX, SIGN_IN_PREFIX};
use crate::idempotency::key_of;
use crate::problem::{ApiError, ApiResult, Resource, SignInRefusal};
use crate::quota::QuotaSubject;
use crate::session::{account_view, cookie_headers};
use axum::http::HeaderMap;
use axum::http::request::Parts;
use engine::commands::{CodeCommand, Command, NewSession, Outcome, RedeemCode, SignedIn};
use engine::digest::digest;
use engine::ids::{CodeId, TokenId};
use engine::limits::{ONE_TIME_CODE_LIFETIME_MIN, REDEMPTION_KEY_BYTES_MIN, REDEMPTION_REPEAT_MAX, SESSION_LIFETIME};
use engine::rows::{Account, CodeUse, OneTimeCode, Role};
use engine::time::UnixMs;
use node::clock::random_bytes;
use sha2::{Digest, Sha256};
use std::time::Duration;
use wire::api::SessionView;

/// Random bytes of a code: 160 bits.
const CODE_BYTES: usize = 20;
/// The domain separation of sessions' secrets.
const SESSION_CONTEXT: &[u8] = b"gauntlet session\0";
/// The name of a session's token.
const SESSION_NAME: &str = "browser";
const _: () = assert!(REDEMPTION_KEY_BYTES_MIN == 16, "the refusal names the limit");

/// What a code is for.
pub(super) struct CodeSpec {
    pub(super) used_for: CodeUse,
    pub(super) role: Role,
    pub(super) expires_at: UnixMs,
}

/// Makes a code, which is returned for the only time.
pub(super) async fn create(
    app: &App,
    caller: Caller,
    now: UnixMs,
    spec: CodeSpec,
    too_many: SignInRefusal,
) -> ApiResult<(OneTimeCode, String)> {
    let (text, digest) = new_code(&spec.used_for);
    let CodeSpec { used_for, role, expires_at } = spec;
    let id = CodeId::new(now, random_bytes());
    let code = OneTimeCode { id, used_for, role, digest, made_by: Some(caller.account), created_at: now, expires_at };
    match &code.used_for {
        CodeUse::Invite { .. } => audit_entry::set_target(format_args!("invite:{id}")),
        CodeUse::SignIn { .. } => audit_entry::add_detail(format_args!("sign_in_link:{id}")),
    }
    audit_entry::add_detail(format_args!("role:{}", role.name()));
    match audit_entry::commit(&app.node.store, Command::Code(CodeCommand::Create(code.clone()))).await? {
        Outcome::Done => Ok((code, text)),
        Outcome::LimitReached => Err(too_many.into()),
        refusal => Err(ApiError::from_outcome(&refusal, Resource::Account)),
    }
}

/// A new code and its digest.
#[must_use]
pub fn new_code(used_for: &CodeUse) -> (String, [u8; 32]) {
    let prefix = match used_for {
        CodeUse::Invite { .. } => INVITE_PREFIX,
        CodeUse::SignIn { .. } => SIGN_IN_PREFIX,
    };
    let code = format!("{prefix}{}", hex(&random_bytes::<CODE_BYTES>()));
    let digest = digest(&code);
    (code, digest)
}

/// The path of a sign-in link, with its code in the fragment.
#[must_use]
pub fn sign_in_path(code: &str) -> String {
    format!("/sign-in#{code}")
}

/// When a code ends that is to be valid for so many seconds.
pub(super) fn expiry(now: UnixMs, seconds: Option<u64>, usual: Duration, max: Duration) -> ApiResult<UnixMs> {
    let lifetime = seconds.map_or(usual, Duration::from_secs);
    if (ONE_TIME_CODE_LIFETIME_MIN..=max).contains(&lifetime) {
        return Ok(now.plus(lifetime));
    }
    let (min, max) = (ONE_TIME_CODE_LIFETIME_MIN.as_secs(), max.as_secs());
    Err(ApiError::bad_value("/expires_in_s", format!("expires_in_s is a number of seconds from {min} to {max}")))
}

/// The code, if it can be redeemed. One that cannot is counted as an attempt: a client that guesses does not keep others behind the same
/// address from signing in.
pub(super) async fn find(app: &App, quota: QuotaSubject, code: &str) -> ApiResult<Option<OneTimeCode>> {
    let (digest, now) = (digest(code), app.node.clock.now());
    let found = app.node.store.read(move |reader| reader.one_time_code(&digest, now)).await?;
    if found.is_none() {
        app.quotas.charge_sign_in(quota.address, app.limits.now())?;
    }
    Ok(found)
}

/// A code that a client wants to redeem.
pub(super) struct Redemption<'a> {
    pub(super) code: &'a str,
    /// The account to be made by an invitation; `None` for a sign-in link.
    pub(super) new_account: Option<Account>,
    /// What is answered where there is no such code.
    pub(super) gone: SignInRefusal,
}

/// Redeems a code: the session, and the cookie that keeps it.
pub(super) async fn redeem(
    app: &App,
    parts: &Parts,
    quota: QuotaSubject,
    redemption: Redemption<'_>,
) -> ApiResult<(HeaderMap, SessionView)> {
    let Redemption { code, new_account, gone } = redemption;
    let key = redemption_key(&parts.headers)?;
    // What is not there may have been redeemed by this client already, if it has a key.
    let found = find(app, quota, code).await?;
    if let Some(OneTimeCode { used_for: CodeUse::SignIn { account }, .. }) = found {
        // The link stays as it is, for when the ban is lifted.
        app.bans.check_account(account)?;
    }
    if found.is_none() && key.is_none() {
        return Err(gone.into());
    }
    let secret = key.as_deref().map_or_else(new_secret, |key| derive_secret(code, key));
    let now = app.node.clock.now();
    let session = NewSession {
        token: TokenId::new(now, random_bytes()),
        name: SESSION_NAME.to_owned(),
        digest: digest(&secret),
        expires_at: now.plus(SESSION_LIFETIME),
    };
    let token = session.token;
    let redeem = RedeemCode { digest: digest(code), new_account, session, now };
    match app.node.store.commit(Command::Code(CodeCommand::Redeem(redeem))).await? {
        Outcome::SignedIn(SignedIn { account, code }) => {
            tracing::info!(code = %code, account = %account, token = %token, "a one-time code was redeemed");
        }
        // The answer to a first request may have been lost.
        Outcome::NotFound if key.is_some() => {}
        Outcome::NotFound => return Err(gone.into()),
        Outcome::LimitReached => return Err(SignInRefusal::TooManyTokens.into()),
        refusal => return Err(ApiError::from_outcome(&refusal, Resource::Account)),
    }
    let caller = match app.auth.identify_secret(&secret).await.0 {
        Ok(Some(Principal::Account(caller))) if is_recent(caller, now) => caller,
        Err(error @ AuthError::LookupFailed(_)) => return Err(error.into()),
        Ok(_) | Err(_) => return Err(gone.into()),
    };
    let headers = cookie_headers(app, parts, &secret, caller.expires_at)?;
    Ok((headers, account_view(app, caller).await?))
}

fn is_recent(caller: Caller, now: UnixMs) -> bool {
    caller.session().is_some_and(|token| now.since(token.created_at()) <= REDEMPTION_REPEAT_MAX)
}

/// The Idempotency-Key, if one was sent.
fn redemption_key(headers: &HeaderMap) -> ApiResult<Option<String>> {
    match key_of(headers)? {
        Some(key) if key.len() < REDEMPTION_KEY_BYTES_MIN => {
            Err(ApiError::BadIdempotencyKey("too short for this route: send at least 16 random characters"))
        }
        key => Ok(key),
    }
}

/// The secret of the session that this code opens for a client with this key. Neither alone tells anything of it.
fn derive_secret(code: &str, key: &str) -> String {
    let mut hash = Sha256::new();
    for part in [SESSION_CONTEXT, &digest(code), key.as_bytes()] {
        hash.update(part);
    }
    auth::secret_of(&hash.finalize().into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::ids::AccountId;
    use engine::limits::{INVITE_LIFETIME_DEFAULT, INVITE_LIFETIME_MAX};

    #[test]
    fn codes_are_long_and_their_secrets_depend_on_both_parts() {
        let (invite, digest_of_invite) = new_code(&CodeUse::Invite { name: None });
        assert_eq!((invite.len(), digest_of_invite), (4 + 2 * CODE_BYTES, digest(&invite)));
        assert!(invite.starts_with("gni_"));
        let (link, _) = new_code(&CodeUse::SignIn { account: AccountId(1) });
        assert!(link.starts_with("gns_") && link != new_code(&CodeUse::SignIn { account: AccountId(1) }).0);
        let secret = derive_secret("code", "key");
        assert_eq!((secret.len(), &secret), (new_secret().len(), &derive_secret("code", "key")));
        assert_ne!(secret, derive_secret("code", "other"));
        assert_ne!(secret, derive_secret("codek", "ey"));
    }

    #[track_caller]
    fn check(seconds: Option<u64>, want_s: Option<i64>) {
        let expires_at = expiry(UnixMs(5), seconds, INVITE_LIFETIME_DEFAULT, INVITE_LIFETIME_MAX);
        assert_eq!(expires_at.ok(), want_s.map(|s| UnixMs(5 + 1_000 * s)), "{seconds:?}");
    }

    #[test]
    fn lifetimes_have_bounds() {
        check(None, Some(7 * 24 * 3_600));
        check(Some(60), Some(60));
        check(Some(30 * 24 * 3_600), Some(30 * 24 * 3_600));
        check(Some(59), None);
        check(Some(30 * 24 * 3_600 + 1), None);
        check(Some(u64::MAX), None);
    }
}
