//! Which site this is to the browser that asks: the scheme, host and port in its address bar. Behind a proxy only the proxy knows,
//! and only those that are trusted are believed: what they do not set, the client may have written.

use crate::config::Networks;
use axum::extract::ConnectInfo;
use axum::http::request::Parts;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, header};
use std::net::SocketAddr;

const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const HTTP: &str = "http";
const HTTPS: &str = "https";

/// An origin (RFC 6454, section 4).
#[derive(Debug, PartialEq, Eq)]
struct Origin {
    is_tls: bool,
    /// In lower case.
    host: String,
    port: u16,
}

impl Origin {
    /// `http://play.example:8080`. `null`, and whatever is no site of the web, is none.
    fn read(text: &str) -> Option<Self> {
        let (scheme, authority) = text.split_once("://")?;
        Self::of(scheme, authority)
    }

    fn of(scheme: &str, authority: &str) -> Option<Self> {
        let authority: Authority = authority.parse().ok()?;
        let (is_tls, usual_port) = match scheme.to_ascii_lowercase().as_str() {
            HTTP => (false, 80),
            HTTPS => (true, 443),
            _ => return None,
        };
        let port = authority.port_u16().unwrap_or(usual_port);
        Some(Self { is_tls, host: authority.host().to_ascii_lowercase(), port })
    }
}

/// A request's headers, and whether a trusted proxy sent them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent<'a> {
    pub(super) headers: &'a HeaderMap,
    is_by_proxy: bool,
}

impl<'a> Sent<'a> {
    pub(super) fn of(parts: &'a Parts, trusted: &Networks) -> Self {
        let peer = parts.extensions.get().map(|ConnectInfo(peer): &ConnectInfo<SocketAddr>| peer.ip().to_canonical());
        Self { headers: &parts.headers, is_by_proxy: peer.is_some_and(|peer| trusted.contains(peer)) }
    }

    /// Whether the browser spoke TLS to whatever stands before this server.
    pub(super) fn is_over_tls(self) -> bool {
        self.scheme().eq_ignore_ascii_case(HTTPS)
    }

    /// Whether the request names an origin, and that is not this site.
    pub(super) fn is_of_another_origin(self) -> bool {
        let Some(origin) = self.headers.get(header::ORIGIN) else { return false };
        let origin = origin.to_str().ok().and_then(Origin::read);
        origin.is_none() || origin != self.own_origin()
    }

    fn own_origin(self) -> Option<Origin> {
        let named = || self.headers.get(header::HOST)?.to_str().ok();
        Origin::of(self.scheme(), self.forwarded(&FORWARDED_HOST).or_else(named)?)
    }

    /// The server itself has no TLS.
    fn scheme(self) -> &'a str {
        self.forwarded(&FORWARDED_PROTO).unwrap_or(HTTP)
    }

    /// What the outermost of the proxies says.
    fn forwarded(self, name: &HeaderName) -> Option<&'a str> {
        let value = self.headers.get(name).filter(|_| self.is_by_proxy)?.to_str().ok()?;
        value.split(',').next().map(str::trim)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use axum::http::{HeaderValue, Request};

    /// The parts of a request with these headers, from this address.
    pub(in crate::gateway) fn parts(peer: &str, lines: &[(&'static str, &str)]) -> Parts {
        let (mut parts, ()) = Request::new(()).into_parts();
        for (name, value) in lines {
            parts.headers.append(*name, HeaderValue::from_str(value).unwrap());
        }
        parts.extensions.insert(ConnectInfo(SocketAddr::new(peer.parse().unwrap(), 4_711)));
        parts
    }

    #[track_caller]
    fn check(peer: &str, origin: &str, host: &str, forwarded: &[(&'static str, &str)], is_other: bool) {
        let lines = [&[("origin", origin), ("host", host)], forwarded].concat();
        let parts = parts(peer, &lines);
        let sent = Sent::of(&parts, &Networks::read("10.0.0.0/8").unwrap());
        assert_eq!(sent.is_of_another_origin(), is_other, "{peer} {lines:?}");
    }

    #[test]
    fn scheme_host_and_port_are_one_site() {
        let direct = |origin, host, is_other| check("192.0.2.1", origin, host, &[], is_other);
        direct("http://localhost:4000", "localhost:4000", false);
        direct("http://Play.example", "play.example", false);
        direct("http://play.example", "play.example:80", false);
        direct("http://[::1]:4000", "[::1]:4000", false);
        direct("http://localhost:9999", "localhost:4000", true);
        direct("http://localhost:4000", "localhost", true);
        direct("https://play.example", "play.example", true);
        direct("http://evil.example", "play.example", true);
        direct("http://play.example.evil.example", "play.example", true);
        direct("ftp://play.example", "play.example", true);
        direct("null", "play.example", true);
        direct("", "play.example", true);
        direct("null", "", true);
    }

    #[test]
    fn only_a_trusted_proxy_says_what_the_browser_sees() {
        let tls = [("x-forwarded-proto", "https")];
        check("10.0.0.1", "https://play.example", "play.example", &tls, false);
        check("10.0.0.1", "https://play.example:443", "play.example", &tls, false);
        check("10.0.0.1", "http://play.example", "play.example", &tls, true);
        check("192.0.2.1", "https://play.example", "play.example", &tls, true);
        check(
            "::ffff:10.0.0.1",
            "https://play.example",
            "play.example",
            &[("x-forwarded-proto", "HTTPS, http")],
            false,
        );
        let named = [("x-forwarded-host", "play.example:8080")];
        check("10.0.0.1", "http://play.example:8080", "127.0.0.1:4000", &named, false);
        check("192.0.2.1", "http://play.example:8080", "127.0.0.1:4000", &named, true);
        check("10.0.0.1", "http://127.0.0.1:4000", "127.0.0.1:4000", &named, true);
    }
}
