//! The origin of this site as the browser sees it: scheme, host and port in its address bar. Behind a proxy only the proxy knows it,
//! and only trusted proxies are believed: headers that they do not set, the client may have written.
//!
//! Also whether a request may have been sent by a page of another site: browsers send the requests of such a page with their cookies for
//! this site and from within their network. Requests that change something are refused then at admission, whatever their route.

use super::credentials::has_bearer;
use super::header_values::is_json;
use super::listener::{Connection, Peer};
use axum::extract::ConnectInfo;
use axum::http::request::Parts;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, Method, header};
use http::{HeaderValue, Request};
use settings::Config;
use std::net::{IpAddr, SocketAddr};
use std::sync::Weak;

const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
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
    /// Parses `http://play.example:8080`. `null`, and everything that is not a site of the web, is `None`.
    fn parse(text: &str) -> Option<Self> {
        let (scheme, authority) = text.split_once("://")?;
        Self::from_parts(scheme, authority)
    }

    fn from_parts(scheme: &str, authority: &str) -> Option<Self> {
        let authority: Authority = authority.parse().ok()?;
        let (is_tls, usual_port) = match scheme.to_ascii_lowercase().as_str() {
            HTTP => (false, 80),
            HTTPS => (true, 443),
            _ => return None,
        };
        let port = authority.port_u16().unwrap_or(usual_port);
        Some(Self { is_tls, host: authority.host().to_ascii_lowercase(), port })
    }

    /// A name that resolves only to this machine, or an address: DNS cannot make another page's name lead there.
    fn is_local(&self) -> bool {
        let host = self.host.strip_suffix('.').unwrap_or(&self.host);
        let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        host == "localhost" || host.ends_with(".localhost") || address.parse::<IpAddr>().is_ok()
    }
}

/// A request's headers, and whether a trusted proxy sent them.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestSource<'a> {
    pub(super) headers: &'a HeaderMap,
    is_from_proxy: bool,
    /// Whether the connection of the request has TLS.
    has_tls: bool,
    /// Whether the server is reachable from this machine only, and the request did not come through a trusted proxy.
    is_local: bool,
}

impl<'a> RequestSource<'a> {
    pub(super) fn of(parts: &'a Parts, config: &Config) -> Self {
        let peer = parts.extensions.get().map(|ConnectInfo(peer): &ConnectInfo<SocketAddr>| peer.ip());
        let connection = parts.extensions.get().and_then(|connection: &Weak<Connection>| connection.upgrade());
        let has_tls = connection.is_some_and(|connection| connection.stream().is_encrypted());
        Self { has_tls, ..Self::from_peer(peer, &parts.headers, config) }
    }

    fn from_peer(peer: Option<IpAddr>, headers: &'a HeaderMap, config: &Config) -> Self {
        let peer = peer.map(|peer| peer.to_canonical());
        let is_by_proxy = peer.is_some_and(|peer| config.http_trusted_proxies.contains(peer));
        // A trusted proxy named the client before the first byte: no other machine reaches loopback.
        let is_behind_proxy = config.proxy_protocol && peer.is_some_and(|peer| !peer.is_loopback());
        Self {
            headers,
            is_from_proxy: is_by_proxy,
            has_tls: false,
            is_local: config.interface.0.is_loopback() && !is_by_proxy && !is_behind_proxy,
        }
    }

    /// Whether the request declares to be sent by a page of another site. Programs send no such headers.
    pub(super) fn is_cross_site(self) -> bool {
        self.is_fetch_cross_site() || self.is_cross_origin()
    }

    /// Fetch Metadata: where browsers send it, it names the relation to the site that made the request.
    pub(super) fn is_fetch_cross_site(self) -> bool {
        let site = self.headers.get(FETCH_SITE).map(HeaderValue::as_bytes);
        matches!(site, Some(b"cross-site" | b"same-site"))
    }

    /// Whether the browser used TLS, to this server or to a proxy in front of it.
    pub(super) fn is_over_tls(self) -> bool {
        self.scheme().eq_ignore_ascii_case(HTTPS)
    }

    /// Whether the request names an origin that is not this site.
    pub(super) fn is_cross_origin(self) -> bool {
        let Some(origin) = self.headers.get(header::ORIGIN) else { return false };
        let origin = origin.to_str().ok().and_then(Origin::parse);
        origin.is_none() || origin != self.own_origin()
    }

    /// Whether the server is reachable from this machine only, and the client addresses it by a name that anyone may own (DNS rebinding).
    fn is_dns_rebound(self) -> bool {
        self.is_local && self.own_origin().is_none()
    }

    /// This site as its pages name it, such as `https://play.example:8443`; `None` under a name that is not this server's.
    pub(super) fn site(self) -> Option<String> {
        let Origin { is_tls, host, port } = self.own_origin()?;
        Some(format!("{}://{host}:{port}", if is_tls { HTTPS } else { HTTP }))
    }

    /// `None` under a name that is not this server's.
    fn own_origin(self) -> Option<Origin> {
        let named = || self.headers.get(header::HOST)?.to_str().ok();
        let origin = Origin::from_parts(self.scheme(), self.forwarded_header(&FORWARDED_HOST).or_else(named)?)?;
        (!self.is_local || origin.is_local()).then_some(origin)
    }

    /// That of the outermost proxy, or of the connection.
    fn scheme(self) -> &'a str {
        self.forwarded_header(&FORWARDED_PROTO).unwrap_or(if self.has_tls { HTTPS } else { HTTP })
    }

    /// The value set by the outermost proxy.
    fn forwarded_header(self, name: &HeaderName) -> Option<&'a str> {
        let value = self.headers.get(name).filter(|_| self.is_from_proxy)?.to_str().ok()?;
        value.split(',').next().map(str::trim)
    }
}

/// Whether a request changes something and may have been sent by a page of another site, without a token. A page cannot send one in
/// `Authorization` without a preflight (CORS), which names that header: a token was sent on purpose. Whether it is valid is decided at
/// admission, by [`needs_valid_token`].
pub(super) fn is_cross_site_change<'a, B>(request: &Request<B>, client: impl Into<Peer<'a>>, config: &Config) -> bool {
    let client = client.into();
    let headers = request.headers();
    // Hardly any request of a program has these headers.
    let is_from_page = headers.contains_key(header::ORIGIN) || headers.contains_key(FETCH_SITE);
    is_from_page
        && may_change_state(request)
        && is_cross_site(RequestSource {
            has_tls: client.connection.is_some_and(|connection| connection.stream().is_encrypted()),
            ..RequestSource::from_peer(Some(client.address.ip()), headers, config)
        })
}

/// Whether a page of another site may have made a browser send this.
///
/// Sockets are not subject to the same-origin policy (RFC 6455, section 10.2), so they are checked like requests that change something.
/// No browser opens one without an `Origin`.
pub(super) fn may_be_cross_site(method: &Method, source: RequestSource<'_>) -> bool {
    let is_socket = source.headers.contains_key(header::UPGRADE);
    if source.is_fetch_cross_site() {
        return true;
    }
    if method.is_safe() && !is_socket {
        return false;
    }
    source.is_cross_origin() || !is_socket && is_form_like(source.headers)
}

/// Whether a request is accepted for the token that it carries, and for nothing else: a page of another site sent it. On a route that needs
/// no token, an invalid one would otherwise let it pass.
pub(super) fn needs_valid_token(parts: &Parts, config: &Config) -> bool {
    !parts.method.is_safe() && RequestSource::of(parts, config).is_cross_site()
}

fn is_form_like(headers: &HeaderMap) -> bool {
    !is_json(headers) && !headers.contains_key("x-requested-with")
}

/// A page under a rebound name is same-site to its browser, and may send any token that it likes.
fn is_cross_site(source: RequestSource<'_>) -> bool {
    source.is_dns_rebound() || !has_bearer(source.headers) && source.is_cross_site()
}

/// By its method; and every socket, which may carry anything, except those of games, from which nothing is read and which viewers at
/// other sites open.
fn may_change_state<B>(request: &Request<B>) -> bool {
    let path = request.uri().path();
    let is_for_spectators = || path.starts_with("/api/games/") && path.ends_with("/events");
    !request.method().is_safe() || request.headers().contains_key(header::UPGRADE) && !is_for_spectators()
}

#[cfg(test)]
mod tests {
    use super::*;
    use settings::Networks;

    /// The parts of a request with these headers, from this address.
    fn parts(peer: &str, lines: &[(&'static str, &str)]) -> Parts {
        let (mut parts, ()) = Request::new(()).into_parts();
        for (name, value) in lines {
            parts.headers.append(*name, HeaderValue::from_str(value).unwrap());
        }
        parts.extensions.insert(ConnectInfo(SocketAddr::new(peer.parse().unwrap(), 4_711)));
        parts
    }

    /// A server that is reachable from outside, and that trusts these proxies.
    fn public(trusted: &str) -> Config {
        let mut config = Config::default();
        config.set_address(([0, 0, 0, 0], 4000).into());
        config.http_trusted_proxies = Networks::parse(trusted).unwrap();
        config
    }

    #[track_caller]
    fn check(peer: &str, origin: &str, host: &str, forwarded: &[(&'static str, &str)], is_other: bool) {
        let lines = [&[("origin", origin), ("host", host)], forwarded].concat();
        let parts = parts(peer, &lines);
        let source = RequestSource::of(&parts, &public("10.0.0.0/8"));
        assert_eq!(source.is_cross_origin(), is_other, "{peer} {lines:?}");
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
    fn only_a_trusted_proxy_names_the_site() {
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

    #[track_caller]
    fn check_local(peer: &str, host: &str, is_other: bool) {
        check_local_behind(false, peer, host, is_other);
    }

    #[track_caller]
    fn check_local_behind(proxy_protocol: bool, peer: &str, host: &str, is_other: bool) {
        let origin = format!("http://{host}");
        let parts = parts(peer, &[("origin", &origin), ("host", host)]);
        let mut config = public("127.0.0.9/32");
        config.set_address(([127, 0, 0, 1], 4000).into());
        config.proxy_protocol = proxy_protocol;
        assert_eq!(RequestSource::of(&parts, &config).is_cross_origin(), is_other, "{peer} {host}");
    }

    #[test]
    fn a_server_reachable_from_this_machine_only_accepts_local_names_only() {
        for host in
            ["localhost:4000", "LocalHost.:4000", "game.localhost", "127.0.0.1:4000", "[::1]:4000", "0.0.0.0:4000"]
        {
            check_local("127.0.0.1", host, false);
        }
        for host in ["evil.example:4000", "localhost.evil.example", "127.0.0.1.evil.example", "xlocalhost"] {
            check_local("127.0.0.1", host, true);
            check_local("127.0.0.9", host, false);
            // A client of another machine comes through a load balancer.
            check_local_behind(true, "192.0.2.7", host, false);
            check_local_behind(true, "127.0.0.1", host, true);
            check_local_behind(false, "192.0.2.7", host, true);
        }
    }

    #[track_caller]
    fn check_cross_site(method: &str, lines: &[(&'static str, &str)], want: bool) {
        let parts = parts("192.0.2.1", lines);
        let source = RequestSource::of(&parts, &public("10.0.0.0/8"));
        assert_eq!(may_be_cross_site(&method.parse().unwrap(), source), want, "{method} {lines:?}");
    }

    #[test]
    fn requests_that_a_form_can_send_are_cross_site() {
        check_cross_site("GET", &[], false);
        check_cross_site("POST", &[], true);
        check_cross_site("DELETE", &[], true);
        check_cross_site("POST", &[("content-type", "text/plain")], true);
        check_cross_site("POST", &[("content-type", "application/x-www-form-urlencoded")], true);
        check_cross_site("POST", &[("content-type", "application/json")], false);
        check_cross_site("POST", &[("x-requested-with", "fetch")], false);
    }

    #[test]
    fn fetch_metadata_is_believed() {
        check_cross_site("GET", &[("sec-fetch-site", "cross-site")], true);
        check_cross_site("GET", &[("sec-fetch-site", "same-site")], true);
        check_cross_site("GET", &[("sec-fetch-site", "same-origin")], false);
        check_cross_site("GET", &[("sec-fetch-site", "none")], false);
        check_cross_site("POST", &[("sec-fetch-site", "cross-site"), ("content-type", "application/json")], true);
    }

    #[test]
    fn changes_and_sockets_are_accepted_from_own_pages_only() {
        let json = ("content-type", "application/json");
        for (method, kind) in
            [("POST", json), ("DELETE", ("x-requested-with", "fetch")), ("GET", ("upgrade", "websocket"))]
        {
            let from =
                |origin, want| check_cross_site(method, &[kind, ("origin", origin), ("host", "localhost:4000")], want);
            from("http://localhost:4000", false);
            from("http://localhost:9999", true);
            from("https://localhost:4000", true);
            from("http://evil.example", true);
            from("null", true);
            check_cross_site(method, &[kind, ("host", "localhost:4000")], false);
        }
        check_cross_site("GET", &[("origin", "http://evil.example"), ("host", "localhost:4000")], false);
    }
}
