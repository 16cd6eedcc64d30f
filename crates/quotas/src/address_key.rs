//! The client address key: the unit in which clients are counted by address. Connections, rate limits, waits and quotas all use this one
//! function, so that a client is the same client everywhere.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

/// A site gets a network of this length (RFC 6177), and every host in it may take any number of addresses (RFC 8981): they count as one.
const IPV6_PREFIX_BITS: u32 = 64;

/// An IPv4 address, or the /64 network of an IPv6 address. An IPv4-mapped IPv6 address counts as the IPv4 address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AddressKey(IpAddr);

impl AddressKey {
    /// The key of this address. The caller decides which address counts: the peer's, or the one that a trusted proxy reports.
    #[must_use]
    pub fn of(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V6(address) => Ipv6Addr::from(u128::from(address) & (u128::MAX << (128 - IPV6_PREFIX_BITS))).into(),
            IpAddr::V4(address) => address.into(),
        })
    }
}

/// `192.0.2.7`, or `2001:db8:0:1::/64`.
impl fmt::Display for AddressKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            IpAddr::V4(address) => write!(f, "{address}"),
            IpAddr::V6(network) => write!(f, "{network}/{IPV6_PREFIX_BITS}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(address: &str, want: &str) {
        assert_eq!(AddressKey::of(address.parse().unwrap()).to_string(), want, "{address}");
    }

    #[test]
    fn an_ipv6_site_is_one_key_and_a_mapped_ipv4_address_is_its_ipv4_key() {
        check("192.0.2.7", "192.0.2.7");
        check("::ffff:192.0.2.7", "192.0.2.7");
        check("2001:db8:0:1:aaaa:bbbb:cccc:dddd", "2001:db8:0:1::/64");
        check("2001:db8:0:1::", "2001:db8:0:1::/64");
        check("2001:db8:0:2::", "2001:db8:0:2::/64");
        check("::1", "::/64");
        check("127.0.0.1", "127.0.0.1");
    }
}
