//! A browser's session: the same token as in `Authorization`, in a cookie that no script can read and no other site's page can send. So
//! streams and sockets, which browsers open without custom headers, need no token in a URL, where it would appear in logs.
//!
//! A browser sends a cookie with every request, whatever page causes it. `SameSite=Strict` excludes other sites' pages; beyond that a
//! request that changes something must carry what a plain form or link cannot (OWASP, cross-site request forgery, custom headers),
//! and a request that declares to come from another site is refused. The check is the same for requests and for sockets.

use super::auth::{Caller, Principal};
use super::credentials::SESSION_COOKIE;
use super::extract::MaybePrincipal;
use super::origin::RequestSource;
use super::problem::{ApiError, ApiResult};
use crate::app::App;
use crate::grants::{CredentialId, RevocationReason};
use axum::Json;
use axum::extract::State;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use engine::commands::{CodeCommand, Command};
use engine::limits::SESSION_LIFETIME;
use engine::rows::Role;
use engine::time::UnixMs;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use wire::api::{AccountSummary, SessionView};
use wire::time::Timestamp;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(get_session, begin_session, end_session))
}

/// The current session
///
/// By the token in `Authorization`, or by the browser's cookie. Having neither is not an error: a page asks this way whether it has a
/// session.
#[utoipa::path(get, path = "/api/session", tag = "tokens", security((), ("bearer" = []), ("cookie" = [])), responses(
    (status = 200, description = "The account or guest of the token.", body = SessionView),
    (status = 204, description = "Neither a token nor a cookie was sent."),
))]
async fn get_session(State(app): State<App>, MaybePrincipal(principal): MaybePrincipal) -> ApiResult<Response> {
    match principal {
        Some(principal) => Ok(Json(view(&app, &principal).await?).into_response()),
        None => Ok(StatusCode::NO_CONTENT.into_response()),
    }
}

/// Keep the token in the browser
///
/// Puts the token of `Authorization` into a cookie that scripts cannot read and other sites cannot send (`HttpOnly`,
/// `SameSite=Strict`, under `/api` only). Where no `Authorization` is sent, the cookie counts.
#[utoipa::path(post, path = "/api/session", tag = "tokens", security(("bearer" = []), ("cookie" = [])), responses(
    (status = 200, description = "The cookie is set. It lasts as long as the token, but at most 30 days.", body = SessionView, headers(("Set-Cookie" = String, description = "`gauntlet_session`"))),
))]
async fn begin_session(State(app): State<App>, parts: Parts) -> ApiResult<(HeaderMap, Json<SessionView>)> {
    let (identity, secret) = app.auth.identify(&parts).await;
    let principal = identity.into_principal()?.ok_or(ApiError::TokenMissing)?;
    let secret = secret.ok_or(ApiError::TokenMissing)?;
    let expires_at = match &principal {
        Principal::Account(caller) => caller.expires_at,
        Principal::Guest(guest) => Some(guest.expires_at),
    };
    Ok((cookie_headers(&app, &parts, secret, expires_at)?, Json(view(&app, &principal).await?)))
}

/// Sign out
///
/// Removes the token from the browser. The token of a session that an invitation or a sign-in link opened is deleted: no request with it is
/// accepted any more, and its connections end, on other nodes after two seconds at most. Any other token stays valid: delete it, or let it expire.
#[utoipa::path(delete, path = "/api/session", tag = "tokens", responses((status = 204, description = "The cookie is removed.")))]
async fn end_session(State(app): State<App>, parts: Parts) -> ApiResult<(StatusCode, HeaderMap)> {
    for token in app.auth.sessions_of(&parts).await? {
        app.node.store.commit(Command::Code(CodeCommand::EndSession { token })).await?;
        app.auth.forget(token);
        app.grants.revoke(CredentialId::Token(token), &RevocationReason::Deleted);
        tracing::info!(token = %token, "a session was signed out");
    }
    Ok((StatusCode::NO_CONTENT, removed_cookie(&app, &parts)?))
}

/// The headers that remove the cookie from the browser.
pub(super) fn removed_cookie(app: &App, parts: &Parts) -> ApiResult<HeaderMap> {
    let cookie = set_cookie("", 0, is_over_tls(app, parts))?;
    Ok(HeaderMap::from_iter([(header::SET_COOKIE, cookie)]))
}

/// The headers that put a secret into the browser's cookie, for as long as its token lasts.
pub(super) fn cookie_headers(
    app: &App,
    parts: &Parts,
    secret: &str,
    expires_at: Option<UnixMs>,
) -> ApiResult<HeaderMap> {
    let lifetime = expires_at.map_or(SESSION_LIFETIME, |end| end.since(app.node.clock.now()));
    let cookie = set_cookie(secret, lifetime.as_secs(), is_over_tls(app, parts))?;
    Ok(HeaderMap::from_iter([(header::SET_COOKIE, cookie)]))
}

/// Whether the browser used TLS, to this server or to a proxy in front of it.
fn is_over_tls(app: &App, parts: &Parts) -> bool {
    RequestSource::of(parts, &app.config).is_over_tls()
}

async fn view(app: &App, principal: &Principal) -> ApiResult<SessionView> {
    match principal {
        Principal::Account(caller) => account_view(app, *caller).await,
        Principal::Guest(guest) => Ok(SessionView {
            player: guest.player.to_string(),
            role: Role::Guest.name().to_owned(),
            name: Some(guest.name.clone()),
            is_guest: true,
            expires_at: Some(Timestamp(guest.expires_at.0)),
            token: None,
            account: None,
            has_trials: false,
        }),
    }
}

pub(super) async fn account_view(app: &App, caller: Caller) -> ApiResult<SessionView> {
    let id = caller.account;
    let found = app.node.store.read(move |reader| {
        let Some(account) = reader.account(id)? else { return Ok(None) };
        Ok(Some((account, reader.account_counts(id)?)))
    });
    let (name, account) = match found.await? {
        Some((account, counts)) => {
            let created_at = Timestamp(account.created_at.0);
            (Some(account.name), Some(AccountSummary { created_at, snakes: counts.bots, tokens: counts.tokens }))
        }
        None => (None, None),
    };
    Ok(SessionView {
        player: engine::ids::PlayerId::from(caller.account).to_string(),
        role: caller.role.name().to_owned(),
        name,
        is_guest: false,
        expires_at: caller.expires_at.map(|end| Timestamp(end.0)),
        token: caller.token.map(|token| token.to_string()),
        account,
        has_trials: caller.role >= Role::Operator && app.trials.is_on(),
    })
}

fn set_cookie(secret: &str, max_age_s: u64, is_secure: bool) -> ApiResult<HeaderValue> {
    if !secret.bytes().all(is_cookie_octet) {
        return Err(ApiError::bad_value("Authorization", "this token holds characters that no cookie may hold"));
    }
    let secure = if is_secure { "; Secure" } else { "" };
    let text = format!("{SESSION_COOKIE}={secret}; Path=/api; Max-Age={max_age_s}; HttpOnly; SameSite=Strict{secure}");
    HeaderValue::try_from(text).map_err(|error| ApiError::Internal(format!("a cookie is not a valid header: {error}")))
}

/// RFC 6265, section 4.1.1.
fn is_cookie_octet(byte: u8) -> bool {
    matches!(byte, 0x21 | 0x23..=0x2b | 0x2d..=0x3a | 0x3c..=0x5b | 0x5d..=0x7e)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_restricted_to_its_use() {
        let cookie = |is_secure| set_cookie("gst_a-b", 60, is_secure).unwrap().to_str().unwrap().to_owned();
        let plain = "gauntlet_session=gst_a-b; Path=/api; Max-Age=60; HttpOnly; SameSite=Strict";
        assert_eq!(cookie(false), plain);
        assert_eq!(cookie(true), format!("{plain}; Secure"));
        for secret in ["a;b", "a b", "a\"b", "a,b", "a\\b", "é"] {
            assert!(set_cookie(secret, 60, true).is_err(), "{secret}");
        }
    }
}
