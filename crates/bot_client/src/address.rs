//! Which addresses a bot may have. A bot's URL is untrusted text that makes this server open connections: unless private bots are allowed,
//! only addresses of the public Internet are called, checked after resolution, at every connect.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A public address that leads to the host of a virtual machine, and to what it tells its guest, secrets included.
const AZURE_HOST: Ipv4Addr = Ipv4Addr::new(168, 63, 129, 16);

/// Whether the address is one of the public Internet: none of the special-purpose blocks of RFC 6890 and its registries, in any IPv6 form.
#[must_use]
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => is_public_v4(v4),
        IpAddr::V6(v6) => embedded_v4(v6).map_or_else(|| is_public_v6(v6), is_public_v4),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_special = match a {
        0 | 10 | 127 => true,
        100 => b & 0xc0 == 64,
        168 => address == AZURE_HOST,
        169 => b == 254,
        172 => b & 0xf0 == 16,
        192 => b == 168 || (b, c) == (0, 0) || (b, c) == (0, 2) || (b, c) == (88, 99),
        198 => b & 0xfe == 18 || (b, c) == (51, 100),
        203 => (b, c) == (0, 113),
        224.. => true,
        _ => false,
    };
    !is_special
}

/// Only global unicast, 2000::/3, without its special blocks: 2001::/23 (protocol assignments, Teredo among them), 2001:db8::/32 and
/// 3fff::/20 (documentation).
fn is_public_v6(address: Ipv6Addr) -> bool {
    let [a, b, ..] = address.segments();
    let is_global = a & 0xe000 == 0x2000;
    let is_special = matches!((a, b), (0x2001, ..0x200 | 0xdb8) | (0x3fff, ..0x1000));
    is_global && !is_special
}

/// The IPv4 address embedded in an IPv6 address: mapped, compatible, NAT64 (64:ff9b::/96) or 6to4.
fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let (high, low) = match (a, b, c, d, e, f) {
        (0, 0, 0, 0, 0, 0 | 0xffff) | (0x64, 0xff9b, 0, 0, 0, 0) => (g, h),
        (0x2002, high, low, ..) => (high, low),
        _ => return None,
    };
    let [o1, o2] = high.to_be_bytes();
    let [o3, o4] = low.to_be_bytes();
    Some(Ipv4Addr::new(o1, o2, o3, o4))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(address: &str, want: bool) {
        assert_eq!(is_public(address.parse().unwrap()), want, "{address}");
    }

    #[test]
    fn only_the_public_internet() {
        for public in [
            "1.1.1.1",
            "8.8.8.8",
            "168.63.129.17",
            "100.63.255.255",
            "100.128.0.0",
            "172.15.0.1",
            "172.32.0.1",
            "192.0.1.1",
            "192.169.0.1",
            "198.17.0.1",
            "198.20.0.1",
            "223.255.255.255",
            "2606:4700::1111",
            "2001:4860:4860::8888",
            "2a00::1",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
            "2002:808:808::1",
        ] {
            check(public, true);
        }
        for special in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.9.9.9",
            "168.63.129.16",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.0.1",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "fe80::1",
            "fc00::1",
            "fd12::1",
            "ff02::1",
            "2001::1",
            "2001:db8::1",
            "3fff::1",
            "100::1",
        ] {
            check(special, false);
        }
    }
}
