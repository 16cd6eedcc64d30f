//! Where a request carries a secret: in the header `Authorization`, or in the cookies of a browser's session. Knows no tokens.

use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, COOKIE};

/// How secrets of this server begin, so that scanners for leaked secrets find them: those of accounts' tokens …
pub(super) const ACCOUNT_PREFIX: &str = "gnt_";
/// … of guests' tokens …
pub(super) const GUEST_PREFIX: &str = "gst_";
/// … of invitations …
pub(super) const INVITE_PREFIX: &str = "gni_";
/// … and of sign-in links.
pub(super) const SIGN_IN_PREFIX: &str = "gns_";
pub(super) const SECRET_PREFIXES: [&str; 4] = [ACCOUNT_PREFIX, GUEST_PREFIX, INVITE_PREFIX, SIGN_IN_PREFIX];
/// Longest secret that is checked: those of accounts have 68 characters, an operator's own at most 128, a guest's holds a name.
pub(super) const SECRET_BYTES_MAX: usize = 256;
/// The name of the cookie that holds a session's secret.
pub(super) const SESSION_COOKIE: &str = "gauntlet_session";
/// Session cookies that are looked at: another site of the same domain may have set one besides this server's.
const COOKIES_MAX: usize = 4;

/// The secrets in the session cookies.
pub(super) fn cookies(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let lines = headers.get_all(COOKIE).into_iter().filter_map(|line| line.to_str().ok());
    let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.filter(|(name, value)| *name == SESSION_COOKIE && !value.is_empty()).map(|(_, value)| value).take(COOKIES_MAX)
}

/// The header `Authorization`, parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bearer<'a> {
    None,
    /// Not a token of this server.
    Malformed,
    /// A possible secret.
    Secret(&'a str),
}

/// Whether a token is sent, valid or not.
pub(super) fn has_bearer(headers: &HeaderMap) -> bool {
    parse_bearer(headers) != Bearer::None
}

pub(super) fn parse_bearer(headers: &HeaderMap) -> Bearer<'_> {
    let Some(header) = headers.get(AUTHORIZATION) else { return Bearer::None };
    let Ok(text) = header.to_str() else { return Bearer::Malformed };
    match text.split_once(' ').map(|(scheme, secret)| (scheme, secret.trim_matches(' '))) {
        Some((scheme, secret)) if scheme.eq_ignore_ascii_case("bearer") && !secret.is_empty() => {
            if secret.len() > SECRET_BYTES_MAX { Bearer::Malformed } else { Bearer::Secret(secret) }
        }
        Some(_) | None => Bearer::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::{HeaderValue, Request};

    #[track_caller]
    fn check(header: Option<&str>, want: Bearer<'_>) {
        let mut request = Request::builder();
        if let Some(header) = header {
            request = request.header(AUTHORIZATION, header);
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        assert_eq!(parse_bearer(&parts.headers), want, "{header:?}");
    }

    #[test]
    fn parses_bearer_headers() {
        check(None, Bearer::None);
        check(Some("Bearer abc"), Bearer::Secret("abc"));
        check(Some("bearer  abc "), Bearer::Secret("abc"));
        check(Some("Bearer"), Bearer::None);
        check(Some("Bearer  "), Bearer::None);
        check(Some("Basic abc"), Bearer::None);
        check(Some("Bearer é"), Bearer::Malformed);
        check(Some(&format!("Bearer {}", "x".repeat(SECRET_BYTES_MAX + 1))), Bearer::Malformed);
    }

    fn headers(lines: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    #[track_caller]
    fn check_cookie(lines: &[&str], want: &[&str]) {
        let lines: Vec<_> = lines.iter().map(|line| ("cookie", *line)).collect();
        assert_eq!(cookies(&headers(&lines)).collect::<Vec<_>>(), want, "{lines:?}");
    }

    #[test]
    fn finds_the_cookie_among_others() {
        check_cookie(&[], &[]);
        check_cookie(&["gauntlet_session=abc"], &["abc"]);
        check_cookie(&["a=b; gauntlet_session=abc; c=d"], &["abc"]);
        check_cookie(&["a=b", "gauntlet_session=abc"], &["abc"]);
        check_cookie(&["gauntlet_session="], &[]);
        check_cookie(&["xgauntlet_session=abc; gauntlet_sessionx=d"], &[]);
        check_cookie(&["gauntlet_session"], &[]);
        check_cookie(&["gauntlet_session=a; gauntlet_session=b", "gauntlet_session=c"], &["a", "b", "c"]);
        check_cookie(&["gauntlet_session=a; ".repeat(9).as_str()], &["a"; 4]);
    }
}
