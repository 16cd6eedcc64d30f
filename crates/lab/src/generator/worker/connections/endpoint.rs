//! Where connections lead to and come from: the endpoints of a scenario with their addresses, and which address is tried
//! next. Does not know connections that are open.

use std::io;
use std::net::{IpAddr, SocketAddr};

use crate::generator::Failure;
use crate::generator::config::RunInputs;
use crate::generator::framing::{Codec, UpgradeRequest, WebSocketDecoder, upgrade_request};
use crate::generator::http1::Http1Decoder;
use crate::generator::tls::{Tls, Trust};
use crate::measurement::ErrorKind;
use crate::scenario::{MessageFraming, Scope, Target};

/// The target's HTTP address, or a message endpoint.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(super) addresses: Vec<SocketAddr>,
    /// The address that accepted a connection last.
    pub(super) preferred_index: usize,
    pub(super) tls: Option<Tls>,
    protocol: EndpointProtocol,
}

#[derive(Debug)]
pub(super) enum EndpointProtocol {
    Http1,
    /// Length-delimited frames.
    LengthDelimited,
    /// WebSocket frames, after this upgrade request.
    WebSocket(UpgradeRequest),
}

/// The target's own address first, then the message endpoints.
///
/// # Errors
/// A name has no certificate, or the path or a header of an upgrade request is not valid.
pub(crate) fn resolve_endpoints(target: &Target, inputs: &RunInputs) -> Result<Vec<Endpoint>, String> {
    let trust = &Trust::for_target(target);
    let http = Endpoint::new(&inputs.addresses, Tls::for_host(&target.url, trust)?, EndpointProtocol::Http1);
    let mut endpoints = vec![http];
    let message_endpoints = target.socket.iter().flat_map(|socket| &socket.endpoints);
    for (message, addresses) in message_endpoints.zip(&inputs.message_endpoints) {
        let protocol = match &message.framing {
            MessageFraming::LengthDelimited => EndpointProtocol::LengthDelimited,
            MessageFraming::WebSocket(path) => {
                let path = path.render(&Scope::for_run(&inputs.globals))?;
                EndpointProtocol::WebSocket(upgrade_request(&message.base.authority, &path, &inputs.headers)?)
            }
        };
        endpoints.push(Endpoint::new(addresses, Tls::for_host(&message.base, trust)?, protocol));
    }
    Ok(endpoints)
}

impl Endpoint {
    pub(super) fn new(addresses: &[SocketAddr], tls: Option<Tls>, protocol: EndpointProtocol) -> Self {
        Self { addresses: addresses.to_vec(), preferred_index: 0, tls, protocol }
    }

    pub(super) fn new_codec(&self) -> Codec {
        match self.protocol {
            EndpointProtocol::Http1 => Codec::Http1(Http1Decoder::default()),
            EndpointProtocol::LengthDelimited => Codec::LengthDelimited,
            EndpointProtocol::WebSocket(_) => Codec::WebSocket(WebSocketDecoder::default()),
        }
    }

    pub(super) fn upgrade(&self) -> Option<&UpgradeRequest> {
        match &self.protocol {
            EndpointProtocol::WebSocket(upgrade) => Some(upgrade),
            EndpointProtocol::Http1 | EndpointProtocol::LengthDelimited => None,
        }
    }

    pub(super) fn connect_failure(&self, address_index: usize, error: &io::Error) -> Failure {
        Failure::new(ErrorKind::Connect, format!("{}: {error}", self.addresses[address_index]))
    }
}

/// The next source that can reach an address.
pub(super) fn next_source(sources: &[IpAddr], next: &mut usize, to: SocketAddr) -> Option<IpAddr> {
    let start = *next;
    let mut turns = (0..sources.len()).map(|turn| (start + turn) % sources.len());
    let found = turns.find(|index| sources[*index].is_ipv4() == to.is_ipv4())?;
    *next = (found + 1) % sources.len();
    Some(sources[found])
}
