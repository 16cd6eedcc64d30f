//! Bans: who may not use the server, why, and until when.

use super::Role;
use crate::ids::{AccountId, BanId, PlayerId};
use crate::limits::{BAN_PREFIX_BITS_MIN_IPV4, BAN_PREFIX_BITS_MIN_IPV6};
use crate::time::UnixMs;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// Addresses that begin alike: one address, or a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AddressPrefix {
    /// Its first address: the bits behind the prefix are zero. Never an IPv4 address mapped to IPv6.
    network: IpAddr,
    /// In bits.
    length: u8,
}

/// A text that is neither an address nor a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "not an address: expected one such as 192.0.2.7 or 2001:db8::7, or a network such as 192.0.2.0/24 or 2001:db8::/64"
)]
pub struct ParseAddressPrefixError;

impl AddressPrefix {
    /// The addresses that have their first bits in common with this one; `None` if it has fewer bits. An IPv4 address mapped to IPv6, as a
    /// socket for both shows it, is the IPv4 address.
    #[must_use]
    pub fn new(address: IpAddr, length: u8) -> Option<Self> {
        /// Bits before the IPv4 address in an IPv6 address that maps it.
        const MAPPED_BITS: u8 = 96;
        if length > bits_of(address) {
            return None;
        }
        let (address, length) = match (address, address.to_canonical()) {
            // A shorter prefix is a network of IPv6.
            (IpAddr::V6(_), mapped @ IpAddr::V4(_)) if length >= MAPPED_BITS => (mapped, length - MAPPED_BITS),
            _ => (address, length),
        };
        let network = match address {
            IpAddr::V4(address) => {
                let mask = u32::MAX.checked_shl(u32::BITS - u32::from(length)).unwrap_or(0);
                IpAddr::V4(Ipv4Addr::from_bits(address.to_bits() & mask))
            }
            IpAddr::V6(address) => {
                let mask = u128::MAX.checked_shl(u128::BITS - u32::from(length)).unwrap_or(0);
                IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & mask))
            }
        };
        Some(Self { network, length })
    }

    /// The prefix that is one address.
    #[must_use]
    pub fn single(address: IpAddr) -> Self {
        let network = address.to_canonical();
        Self { network, length: bits_of(network) }
    }

    /// In bits.
    #[must_use]
    pub fn length(self) -> u8 {
        self.length
    }

    #[must_use]
    pub fn is_ipv4(self) -> bool {
        self.network.is_ipv4()
    }

    /// Whether it has so many addresses that it is not to be banned.
    #[must_use]
    pub fn is_too_wide_to_ban(self) -> bool {
        self.length < if self.is_ipv4() { BAN_PREFIX_BITS_MIN_IPV4 } else { BAN_PREFIX_BITS_MIN_IPV6 }
    }

    #[must_use]
    pub fn contains(self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        address.is_ipv4() == self.is_ipv4() && Self::new(address, self.length) == Some(self)
    }
}

fn bits_of(address: IpAddr) -> u8 {
    match address {
        IpAddr::V4(_) => 32,
        IpAddr::V6(_) => 128,
    }
}

impl fmt::Display for AddressPrefix {
    /// A single address without its length.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.length == bits_of(self.network) {
            fmt::Display::fmt(&self.network, f)
        } else {
            write!(f, "{}/{}", self.network, self.length)
        }
    }
}

impl FromStr for AddressPrefix {
    type Err = ParseAddressPrefixError;

    fn from_str(text: &str) -> Result<Self, ParseAddressPrefixError> {
        let (address, length) = text.split_once('/').map_or((text, None), |(address, length)| (address, Some(length)));
        let address: IpAddr = address.parse().map_err(|_| ParseAddressPrefixError)?;
        let Some(length) = length else { return Ok(Self::single(address)) };
        let is_number = !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit());
        let length = if is_number { length.parse().ok() } else { None };
        length.and_then(|length| Self::new(address, length)).ok_or(ParseAddressPrefixError)
    }
}

/// Who is banned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BanTarget {
    Account(AccountId),
    /// A guest, by its id at tables and in worlds.
    Guest(PlayerId),
    Address(AddressPrefix),
    /// An account that an admin disabled: only admins enable it again.
    Disabled(AccountId),
}

impl BanTarget {
    /// The account that is banned or disabled.
    #[must_use]
    pub fn account(self) -> Option<AccountId> {
        match self {
            Self::Account(id) | Self::Disabled(id) => Some(id),
            Self::Guest(_) | Self::Address(_) => None,
        }
    }
}

/// A text that is no [`BanTarget`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not the target of a ban: expected account:ID, guest:ID, address:ADDRESS or disabled:ID")]
pub struct ParseBanTargetError;

impl fmt::Display for BanTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Account(id) => write!(f, "account:{id}"),
            Self::Guest(id) => write!(f, "guest:{id}"),
            Self::Address(prefix) => write!(f, "address:{prefix}"),
            Self::Disabled(id) => write!(f, "disabled:{id}"),
        }
    }
}

impl FromStr for BanTarget {
    type Err = ParseBanTargetError;

    fn from_str(text: &str) -> Result<Self, ParseBanTargetError> {
        // Only the first colon: an IPv6 address has more.
        let (kind, value) = text.split_once(':').ok_or(ParseBanTargetError)?;
        let target = match kind {
            "account" => value.parse().ok().map(Self::Account),
            "guest" => value.parse().ok().map(Self::Guest),
            "address" => value.parse().ok().map(Self::Address),
            "disabled" => value.parse().ok().map(Self::Disabled),
            _ => None,
        };
        target.ok_or(ParseBanTargetError)
    }
}

/// That its target may not use the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ban {
    pub id: BanId,
    pub target: BanTarget,
    /// What the banned reads.
    pub reason: String,
    /// Who made it; `None` for one that was made on the command line.
    pub made_by: Option<AccountId>,
    /// The strongest role that they had, whatever they have now; `None` where that was not noted, or it was made on the command line.
    pub made_by_role: Option<Role>,
    pub created_at: UnixMs,
    /// When it ends by itself; `None` where it lasts until it is lifted.
    pub expires_at: Option<UnixMs>,
}

impl Ban {
    #[must_use]
    pub fn is_live(&self, now: UnixMs) -> bool {
        self.expires_at.is_none_or(|end| end > now)
    }
}

/// All bans, as of one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BanList {
    /// Rises with every ban that is made or lifted, so a reader that has this version is up to date. 0 before the first one.
    pub version: u64,
    /// Those that had not expired, newest first.
    pub bans: Vec<Ban>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, want: Option<&str>) {
        let prefix = text.parse::<AddressPrefix>().ok();
        assert_eq!(prefix.map(|prefix| prefix.to_string()).as_deref(), want, "{text:?}");
        let target = format!("address:{text}").parse::<BanTarget>().ok();
        assert_eq!(target.map(|target| target.to_string()), want.map(|want| format!("address:{want}")), "{text:?}");
        if let Some(target) = target {
            assert_eq!(target.to_string().parse(), Ok(target), "{text:?} is read back");
        }
    }

    #[test]
    fn every_form_of_an_address_is_read_and_read_back() {
        check("192.0.2.7", Some("192.0.2.7"));
        check("192.0.2.7/32", Some("192.0.2.7"));
        check("192.0.2.7/24", Some("192.0.2.0/24"));
        check("192.0.2.7/0", Some("0.0.0.0/0"));
        check("2001:db8::7", Some("2001:db8::7"));
        check("2001:DB8:0::7/128", Some("2001:db8::7"));
        check("2001:db8::7/64", Some("2001:db8::/64"));
        check("::1/0", Some("::/0"));
        check("::ffff:192.0.2.7", Some("192.0.2.7"));
        check("::ffff:c000:207", Some("192.0.2.7"));
        check("::ffff:192.0.2.7/128", Some("192.0.2.7"));
        check("::ffff:192.0.2.7/120", Some("192.0.2.0/24"));
        check("::ffff:192.0.2.7/96", Some("0.0.0.0/0"));
        check("::ffff:192.0.2.7/64", Some("::/64"));
        for text in
            ["", "192.0.2", "192.0.2.7/33", "192.0.2.7/", "192.0.2.7/+8", "192.0.2.7/8/8", "::1/129", "host", "[::1]"]
        {
            check(text, None);
        }
    }

    #[test]
    fn networks_that_hold_nearly_everyone_are_too_wide() {
        for (prefix, is_too_wide) in [
            ("0.0.0.0/0", true),
            ("10.0.0.0/7", true),
            ("10.0.0.0/8", false),
            ("::ffff:0.0.0.0/96", true),
            ("::ffff:10.0.0.0/104", false),
            ("::/0", true),
            ("2000::/3", true),
            ("2001::/15", true),
            ("2001::/16", false),
            ("192.0.2.7", false),
        ] {
            assert_eq!(prefix.parse::<AddressPrefix>().unwrap().is_too_wide_to_ban(), is_too_wide, "{prefix}");
        }
    }

    #[track_caller]
    fn check_member(prefix: &str, address: &str, want: bool) {
        let prefix: AddressPrefix = prefix.parse().unwrap();
        assert_eq!(prefix.contains(address.parse().unwrap()), want, "{address} in {prefix}");
    }

    #[test]
    fn an_address_is_in_its_network() {
        check_member("192.0.2.7", "192.0.2.7", true);
        check_member("192.0.2.7", "::ffff:192.0.2.7", true);
        check_member("192.0.2.7", "192.0.2.8", false);
        check_member("192.0.2.0/24", "192.0.2.255", true);
        check_member("192.0.2.0/24", "192.0.3.0", false);
        check_member("0.0.0.0/0", "::1", false);
        check_member("::/0", "192.0.2.7", false);
        check_member("2001:db8::/32", "2001:db8:ffff::1", true);
        check_member("2001:db8::/32", "2001:db9::1", false);
    }

    #[test]
    fn every_target_is_read_back_and_nothing_else_is() {
        let prefix = "2001:db8::/32".parse().unwrap();
        for target in [
            BanTarget::Account(AccountId(7)),
            BanTarget::Guest(PlayerId(8)),
            BanTarget::Address(prefix),
            BanTarget::Disabled(AccountId(9)),
        ] {
            assert_eq!(target.to_string().parse(), Ok(target));
        }
        for text in ["", "account", "account:", "account:7", "player:7", "address:", "ACCOUNT:x"] {
            assert_eq!(text.parse::<BanTarget>(), Err(ParseBanTargetError), "{text:?}");
        }
    }
}
