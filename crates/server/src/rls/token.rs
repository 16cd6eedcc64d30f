//! The secret that requests must bring, where one is set. Kept as its digest; compared in constant time.

use crate::config::Secret;
use crate::gateway::auth::{digest, is_equal_in_constant_time};
use http::{HeaderMap, header};
use std::fmt;
use tonic::Status;

/// What requests must bring.
#[derive(Clone, Copy)]
pub(super) struct Token([u8; 32]);

impl Token {
    pub(super) fn new(secret: &Secret) -> Self {
        Self(digest(secret.expose()))
    }

    /// # Errors
    /// `UNAUTHENTICATED`, without a hint at what was wrong with a token that was brought.
    pub(super) fn check(&self, headers: &HeaderMap) -> Result<(), Status> {
        let brought = headers.get(header::AUTHORIZATION).and_then(|value| bearer(value.to_str().ok()?));
        match brought {
            Some(secret) if is_equal_in_constant_time(&self.0, &digest(secret)) => Ok(()),
            _ => Err(Status::unauthenticated(
                "this port asks for a token: send the metadata `authorization: Bearer <token>`",
            )),
        }
    }
}

/// The secret behind the scheme, whose case does not matter (RFC 9110, section 11.1).
fn bearer(value: &str) -> Option<&str> {
    let (scheme, secret) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| secret.trim_start_matches(' '))
}

/// Not even the digest of a secret is for reading.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(***)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(authorization: Option<&'static str>, want: bool) {
        let value = authorization.map(|text| (header::AUTHORIZATION, header::HeaderValue::from_static(text)));
        let token = Token::new(&Secret::new("0123456789abcdef"));
        let checked = token.check(&value.into_iter().collect());
        assert_eq!(checked.is_ok(), want, "{authorization:?}");
        assert!(checked.is_ok() || checked.unwrap_err().code() == tonic::Code::Unauthenticated);
    }

    #[test]
    fn only_the_whole_token_opens() {
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
