//! The host of a request: one of HTTP/1.1 names its host, and once (RFC 9112, section 3.2). A proxy in front that reads the first of
//! two names, where this server reads the second, would route for another site.
//!
//! Checked where connections come in, and refused by the router: requests within the process need no host. Knows no sites.

use super::problem::{ApiError, ApiResult};
use http::{Extensions, Version, header};

/// In the extensions of a request without exactly one host.
#[derive(Clone, Copy, Debug)]
struct BadHostMarker;

/// Marks a request that is to be refused. Returns whether it was marked.
pub(super) fn mark_bad_host<B>(request: &mut http::Request<B>) -> bool {
    let mut hosts = request.headers().get_all(header::HOST).iter();
    let (is_named, is_named_again) = (hosts.next().is_some(), hosts.next().is_some());
    let is_unnamed = is_named_again || !is_named && request.version() >= Version::HTTP_11;
    if is_unnamed {
        request.extensions_mut().insert(BadHostMarker);
    }
    is_unnamed
}

/// # Errors
/// [`ApiError::BadHost`] for a marked request.
pub(super) fn refuse_bad_host(extensions: &Extensions) -> ApiResult<()> {
    match extensions.get() {
        Some(BadHostMarker) => Err(ApiError::BadHost),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(version: Version, hosts: &[&str], want: bool) {
        let mut request = http::Request::builder().version(version);
        for host in hosts {
            request = request.header(header::HOST, *host);
        }
        assert_eq!(!mark_bad_host(&mut request.body(()).unwrap()), want, "{version:?} {hosts:?}");
    }

    #[test]
    fn requires_one_host_header() {
        check(Version::HTTP_11, &["play.example:4000"], true);
        check(Version::HTTP_11, &[""], true);
        check(Version::HTTP_11, &[], false);
        check(Version::HTTP_11, &["a", "b"], false);
        check(Version::HTTP_11, &["a", "a"], false);
        check(Version::HTTP_10, &[], true);
        check(Version::HTTP_10, &["a"], true);
        check(Version::HTTP_10, &["a", "b"], false);
    }
}
