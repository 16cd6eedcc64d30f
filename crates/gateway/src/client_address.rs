//! The client's address of a request: the peer's, or the one that a trusted proxy reports.
//!
//! Each proxy appends the address of its peer to `X-Forwarded-For`. So the list is read from its end, and only as far as its writers
//! are trusted: entries further left may have been written by the client itself.
//!
//! A client of loopback may do more than others. A client that a proxy names never counts as one, whatever its address.

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::request::Parts;
use quotas::address_key::AddressKey;
use settings::Networks;
use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

const FORWARDED_FOR: &str = "x-forwarded-for";

/// In the extensions of an admitted request: the address of its client, if it has one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClientAddress(pub(crate) Option<IpAddr>);

impl ClientAddress {
    /// The key of the address, for the rate limiter and everything else that counts clients by address.
    pub(crate) fn address_key(self) -> Option<AddressKey> {
        self.0.map(AddressKey::of)
    }
}

/// A request that bypassed admission has no address, like one without a connection.
impl<S: Sync> FromRequestParts<S> for ClientAddress {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(parts.extensions.get().copied().unwrap_or(Self(None)))
    }
}

/// An entry of the header that a trusted proxy wrote, and that is no address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct UnreadableForwardedFor;

/// The right-most address that is not a trusted proxy; the peer's where the header is missing.
///
/// # Errors
/// [`UnreadableForwardedFor`]: who sends the request is not known. It is not the proxy, whose address may be exempt from much.
pub(super) fn client_address(
    peer: IpAddr,
    headers: &HeaderMap,
    trusted: &Networks,
    counts_loopback: bool,
) -> Result<IpAddr, UnreadableForwardedFor> {
    let peer = peer.to_canonical();
    if !trusted.contains(peer) {
        return Ok(peer);
    }
    let mut client = peer;
    for value in headers.get_all(FORWARDED_FOR).iter().rev() {
        for part in value.as_bytes().rsplit(|byte| *byte == b',') {
            let part = std::str::from_utf8(part).map_err(|_| UnreadableForwardedFor)?;
            let named = parse_address(part.trim()).ok_or(UnreadableForwardedFor)?;
            client = forwarded(named, counts_loopback);
            if !trusted.contains(named) {
                return Ok(client);
            }
        }
    }
    Ok(client)
}

/// The address of a client that a proxy names: one of loopback counts as the unspecified address, unless clients on loopback may do no more than
/// others.
pub(super) fn forwarded(named: IpAddr, counts_loopback: bool) -> IpAddr {
    match named.to_canonical() {
        address if counts_loopback => address,
        IpAddr::V4(address) if address.is_loopback() => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(address) if address.is_loopback() => Ipv6Addr::UNSPECIFIED.into(),
        other => other,
    }
}

/// An address, with or without a port and brackets: proxies write all of these.
fn parse_address(text: &str) -> Option<IpAddr> {
    let bare = || text.strip_prefix('[')?.strip_suffix(']')?.parse::<Ipv6Addr>().ok().map(IpAddr::from);
    let with_port = || text.parse::<SocketAddr>().ok().map(|address| address.ip());
    text.parse::<IpAddr>().ok().or_else(with_port).or_else(bare).map(|address| address.to_canonical())
}

/// The rate limiter's key of an address: `address:192.0.2.7`, or `address:2001:db8:0:1::/64`.
pub(super) fn limiter_key(address: IpAddr) -> String {
    format!("address:{}", AddressKey::of(address))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;
    use proptest::prelude::*;

    const UNREADABLE: &str = "unreadable";
    const TRUSTED: &str = "10.0.0.0/8, 2001:db8:f::/48";

    fn client_of(peer: &str, forwarded: &[&[u8]]) -> String {
        let trusted = Networks::parse(TRUSTED).unwrap();
        let mut headers = HeaderMap::new();
        for value in forwarded {
            headers.append(FORWARDED_FOR, HeaderValue::from_bytes(value).unwrap());
        }
        match client_address(peer.parse().unwrap(), &headers, &trusted, false) {
            Ok(address) => address.to_string(),
            Err(UnreadableForwardedFor) => UNREADABLE.to_owned(),
        }
    }

    #[track_caller]
    fn check(peer: &str, forwarded: &[&str], want: &str) {
        let bytes: Vec<_> = forwarded.iter().map(|value| value.as_bytes()).collect();
        assert_eq!(client_of(peer, &bytes), want, "{peer} {forwarded:?}");
    }

    #[test]
    fn only_a_trusted_proxy_is_believed() {
        check("192.0.2.1", &[], "192.0.2.1");
        check("192.0.2.1", &["198.51.100.9"], "192.0.2.1");
        check("10.0.0.1", &[], "10.0.0.1");
        check("10.0.0.1", &["198.51.100.9"], "198.51.100.9");
        check("::ffff:10.0.0.1", &["198.51.100.9"], "198.51.100.9");
        check("2001:db8:f::1", &["2001:db8::9"], "2001:db8::9");
    }

    #[test]
    fn the_list_is_read_from_its_end() {
        check("10.0.0.1", &["203.0.113.5, 198.51.100.9"], "198.51.100.9");
        check("10.0.0.1", &["203.0.113.5,198.51.100.9 , 10.9.9.9"], "198.51.100.9");
        check("10.0.0.1", &["203.0.113.5", "198.51.100.9", "10.9.9.9, 10.8.8.8"], "198.51.100.9");
        // All entries are trusted proxies: the outermost one.
        check("10.0.0.1", &["10.3.3.3, 10.2.2.2"], "10.3.3.3");
    }

    #[test]
    fn an_entry_that_a_proxy_wrote_and_that_is_no_address_is_refused() {
        check("10.0.0.1", &[""], UNREADABLE);
        check("10.0.0.1", &["unknown"], UNREADABLE);
        check("10.0.0.1", &["198.51.100.9, junk"], UNREADABLE);
        check("10.0.0.1", &["198.51.100.9,"], UNREADABLE);
        check("10.0.0.1", &["198.51.100.9, junk, 10.2.2.2"], UNREADABLE);
        assert_eq!(client_of("10.0.0.1", &[b"198.51.100.9, \xff"]), UNREADABLE);
        // Entries written by the client are not read, and neither is the header of one that is no proxy.
        check("10.0.0.1", &["junk, 198.51.100.9"], "198.51.100.9");
        check("192.0.2.1", &["junk"], "192.0.2.1");
        assert_eq!(client_of("10.0.0.1", &[b"\xff", b"198.51.100.9"]), "198.51.100.9");
        assert_eq!(client_of("10.0.0.1", &[b"\xff, 198.51.100.9"]), "198.51.100.9");
    }

    #[test]
    fn no_client_is_forwarded_from_loopback() {
        check("10.0.0.1", &["127.0.0.1"], "0.0.0.0");
        check("10.0.0.1", &["203.0.113.5, 127.9.9.9:4711"], "0.0.0.0");
        check("10.0.0.1", &["::ffff:127.0.0.1"], "0.0.0.0");
        check("10.0.0.1", &["[::1]:4711"], "::");
        check("127.0.0.1", &["127.0.0.1"], "127.0.0.1");
        // A proxy on this machine is trusted, and so is what it says.
        let (trusted, mut headers) = (Networks::parse("127.0.0.0/8").unwrap(), HeaderMap::new());
        let local: IpAddr = "127.0.0.1".parse().unwrap();
        assert_eq!(client_address(local, &headers, &trusted, false), Ok(local));
        headers.insert(FORWARDED_FOR, HeaderValue::from_static("127.0.0.2"));
        assert_eq!(client_address(local, &headers, &trusted, false), Ok("0.0.0.0".parse().unwrap()));
        // Where loopback may do no more than others, it is an address like all others.
        assert_eq!(client_address(local, &headers, &trusted, true), Ok("127.0.0.2".parse().unwrap()));
    }

    #[test]
    fn proxies_write_ports_and_brackets() {
        check("10.0.0.1", &["198.51.100.9:4711"], "198.51.100.9");
        check("10.0.0.1", &["[2001:db8::9]:4711"], "2001:db8::9");
        check("10.0.0.1", &["[2001:db8::9]"], "2001:db8::9");
        check("10.0.0.1", &["::ffff:198.51.100.9"], "198.51.100.9");
        check("10.0.0.1", &["198.51.100.9:junk"], UNREADABLE);
    }

    #[track_caller]
    fn check_key(address: &str, want: &str) {
        assert_eq!(limiter_key(address.parse().unwrap()), want);
    }

    #[test]
    fn a_site_of_ipv6_is_one_key() {
        check_key("192.0.2.7", "address:192.0.2.7");
        check_key("::ffff:192.0.2.7", "address:192.0.2.7");
        check_key("2001:db8:0:1:aaaa:bbbb:cccc:dddd", "address:2001:db8:0:1::/64");
        check_key("2001:db8:0:1::", "address:2001:db8:0:1::/64");
        check_key("::1", "address:::/64");
    }

    proptest! {
        /// Whatever a client writes in front of the proxy's entry, it is counted by the address that the proxy saw.
        #[test]
        fn the_clients_own_entries_do_not_change_its_address(
            before in prop::collection::vec("[ -~]{0,40}", 0..4),
            last in any::<[u8; 4]>().prop_filter("neither a proxy nor loopback", |octets| ![10, 127].contains(&octets[0])),
        ) {
            let seen = IpAddr::from(last).to_string();
            let appended = format!("{}, {seen}", before.join(","));
            prop_assert_eq!(client_of("10.0.0.1", &[appended.as_bytes()]), seen.clone());
            let mut lines: Vec<&[u8]> = before.iter().map(String::as_bytes).collect();
            lines.push(seen.as_bytes());
            prop_assert_eq!(client_of("10.0.0.1", &lines), seen);
        }
    }
}
