//! Whom a request is for: one of HTTP/1.1 names its host, and once (RFC 9112, section 3.2). A proxy before us that reads the first of
//! two names, where we read the second, would not be at the site where we think we are.
//!
//! Looked at where connections come in, and refused by the router: what is asked inside the process needs no name. Knows no sites.

use super::problem::{ApiError, ApiResult};
use http::{Extensions, Version, header};

/// In the extensions of a request that does not say whom it is for.
#[derive(Clone, Copy, Debug)]
struct BadHostMarker;

/// Marks a request that is to be refused. Whether it was.
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
/// [`ApiError::BadHost`] of a request that was marked.
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
    fn a_request_names_its_host_and_once() {
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
