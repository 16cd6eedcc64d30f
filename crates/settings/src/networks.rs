//! Networks: a set of addresses in a setting, as single addresses or prefixes.

use super::value::{Bounds, OFF, Value};
use ipnet::IpNet;
use std::fmt;
use std::net::IpAddr;

/// A set of addresses; empty by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Networks(Vec<IpNet>);

impl Networks {
    /// The networks of a text such as `10.0.0.0/8, 2001:db8::/32, 192.0.2.7`; `None` for anything else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        text.split(',').map(|part| network(part.trim())).collect::<Option<Vec<_>>>().map(Self)
    }

    /// Whether this address is in one of them. An IPv4 address that came over an IPv6 socket counts as the IPv4 address.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|network| network.contains(&address))
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Value for Networks {
    fn parse(text: &str, _: &Bounds) -> Option<Self> {
        if text == OFF { Some(Self::default()) } else { Self::parse(text) }
    }

    fn expects(_: &Bounds) -> String {
        "networks and addresses separated by commas, such as 10.0.0.0/8, 192.0.2.7, or off".into()
    }

    fn render(&self, _: &Bounds) -> String {
        if self.is_empty() { OFF.to_owned() } else { self.to_string() }
    }
}

fn network(text: &str) -> Option<IpNet> {
    let address = || text.parse::<IpAddr>().ok().map(|address| IpNet::from(address.to_canonical()));
    text.parse::<IpNet>().ok().map(|network| network.trunc()).or_else(address)
}

impl fmt::Display for Networks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, network) in self.0.iter().enumerate() {
            write!(f, "{}{network}", if at == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, want: Option<&str>) {
        assert_eq!(Networks::parse(text).map(|networks| networks.to_string()).as_deref(), want, "{text:?}");
    }

    #[test]
    fn networks_are_read_strictly() {
        check("10.0.0.0/8", Some("10.0.0.0/8"));
        check("10.1.2.3/8", Some("10.0.0.0/8"));
        check(" 192.0.2.7 ,2001:db8::/32", Some("192.0.2.7/32, 2001:db8::/32"));
        check("::1", Some("::1/128"));
        check("::ffff:192.0.2.7", Some("192.0.2.7/32"));
        check("", None);
        check("10.0.0.0/8,", None);
        check("10.0.0.0/33", None);
        check("10.0.0/8", None);
        check("proxy.example", None);
    }

    #[track_caller]
    fn check_member(networks: &str, address: &str, want: bool) {
        let networks = Networks::parse(networks).unwrap();
        assert_eq!(networks.contains(address.parse().unwrap()), want, "{address} in {networks}");
    }

    #[test]
    fn an_address_is_in_its_network() {
        check_member("10.0.0.0/8, ::1", "10.255.0.1", true);
        check_member("10.0.0.0/8, ::1", "11.0.0.1", false);
        check_member("10.0.0.0/8, ::1", "::1", true);
        check_member("10.0.0.0/8", "::ffff:10.0.0.1", true);
        check_member("2001:db8::/32", "2001:db9::1", false);
        assert!(!Networks::default().contains("127.0.0.1".parse().unwrap()));
    }
}
