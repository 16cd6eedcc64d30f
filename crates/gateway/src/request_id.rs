//! The id of a request: the client's own if it is fit for a log, a new one otherwise.
//!
//! New ids are unique, not secret: one random start for the process, then a mixed counter. A system call for each would be the
//! most expensive part of a short request.

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use node::clock::random_bytes;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The header that carries a request's id, in both directions.
pub(super) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Longest id of a client's own that is accepted.
const REQUEST_ID_BYTES_MAX: usize = 64;

static COUNT: LazyLock<AtomicU64> = LazyLock::new(|| AtomicU64::new(u64::from_be_bytes(random_bytes())));

/// The id of the request with these headers.
pub(super) fn request_id(headers: &HeaderMap) -> HeaderValue {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    let is_usable =
        |id: &&HeaderValue| (1..=REQUEST_ID_BYTES_MAX).contains(&id.len()) && id.as_bytes().iter().all(is_plain);
    headers.get(REQUEST_ID).filter(is_usable).cloned().unwrap_or_else(new_id)
}

fn new_id() -> HeaderValue {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut number = mix(COUNT.fetch_add(1, Ordering::Relaxed));
    let id: [u8; 16] = std::array::from_fn(|_| {
        number = number.rotate_left(4);
        DIGITS[(number & 0xf) as usize]
    });
    HeaderValue::from_bytes(&id).expect("hexadecimal digits stand in headers")
}

/// A permutation of all numbers that leaves no likeness between neighbours (the finalizer of SplitMix64: Steele, Lea and Flood,
/// "Fast splittable pseudorandom number generators", 2014).
fn mix(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[track_caller]
    fn check(sent: &'static str, is_accepted: bool) {
        let headers = HeaderMap::from_iter([(REQUEST_ID, HeaderValue::from_static(sent))]);
        assert_eq!(request_id(&headers) == sent, is_accepted, "{sent}");
    }

    #[test]
    fn only_plain_ids_are_accepted() {
        check("a-B_3.x", true);
        check("", false);
        check("a b", false);
        check("a\tb", false);
        check("0123456789012345678901234567890123456789012345678901234567890123", true);
        check("01234567890123456789012345678901234567890123456789012345678901234", false);
        assert_eq!(request_id(&HeaderMap::new()).len(), 16);
    }

    #[test]
    fn new_ids_are_never_the_same() {
        let ids: HashSet<_> = (0..10_000).map(|_| new_id().to_str().unwrap().to_owned()).collect();
        assert_eq!(ids.len(), 10_000);
    }
}
