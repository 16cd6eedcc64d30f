//! The token that requests to the rate limiter's service must carry, over HTTP or gRPC, if one is set. Stored as its digest; compared
//! in constant time.

use engine::digest::{digest, is_equal_in_constant_time};
use http::{HeaderMap, header};
use std::fmt;

/// A token that requests must carry.
#[derive(Clone, Copy)]
pub struct ServiceToken([u8; 32]);

impl ServiceToken {
    #[must_use]
    pub fn new(secret: &str) -> Self {
        Self(digest(secret))
    }

    /// Whether a request carries it.
    pub fn is_presented_in(&self, headers: &HeaderMap) -> bool {
        let presented = headers.get(header::AUTHORIZATION).and_then(|value| bearer(value.to_str().ok()?));
        presented.is_some_and(|secret| is_equal_in_constant_time(&self.0, &digest(secret)))
    }
}

/// The secret behind the scheme, whose case does not matter (RFC 9110, section 11.1).
fn bearer(value: &str) -> Option<&str> {
    let (scheme, secret) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| secret.trim_start_matches(' '))
}

/// Not even the digest of a secret is for reading.
impl fmt::Debug for ServiceToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ServiceToken(***)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(authorization: Option<&'static str>, want: bool) {
        let value = authorization.map(|text| (header::AUTHORIZATION, header::HeaderValue::from_static(text)));
        let token = ServiceToken::new("0123456789abcdef");
        assert_eq!(token.is_presented_in(&value.into_iter().collect()), want, "{authorization:?}");
    }

    #[test]
    fn only_the_exact_token_is_accepted() {
        check(Some("Bearer 0123456789abcdef"), true);
        check(Some("bearer  0123456789abcdef"), true);
        check(None, false);
        check(Some(""), false);
        check(Some("Bearer"), false);
        check(Some("Bearer "), false);
        check(Some("Bearer 0123456789abcde"), false);
        check(Some("Bearer 0123456789abcdef0"), false);
        check(Some("Basic 0123456789abcdef"), false);
        check(Some("0123456789abcdef"), false);
    }
}
