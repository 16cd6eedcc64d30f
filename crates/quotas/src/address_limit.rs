//! How many connections the clients of one address may have. Does not know what they are connected to.

use crate::address_key::AddressKey;
use settings::{Config, Networks};
use std::net::IpAddr;

/// The cap on connections of one client address, and the addresses that it does not apply to.
#[derive(Clone, Debug)]
pub struct AddressLimit {
    pub max: usize,
    /// Whether loopback addresses are limited, too.
    pub includes_loopback: bool,
    /// Peers that forward the requests of other clients.
    pub trusted_proxies: Networks,
}

impl AddressLimit {
    #[must_use]
    pub fn of(config: &Config) -> Self {
        Self {
            max: config.http_connections_per_address_max,
            includes_loopback: config.http_limit_loopback,
            trusted_proxies: config.http_trusted_proxies.clone(),
        }
    }

    /// The key by which connections of this peer are counted; `None` if they are not.
    #[must_use]
    pub fn key(&self, peer: IpAddr) -> Option<AddressKey> {
        let is_limited = self.includes_loopback || !peer.to_canonical().is_loopback();
        (is_limited && !self.trusted_proxies.contains(peer)).then(|| AddressKey::of(peer))
    }
}
