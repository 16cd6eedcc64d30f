//! Headers of the PROXY protocol, version 2, with which a load balancer that passes bytes on says for which client it does so
//! (<https://www.haproxy.org/download/3.0/doc/proxy-protocol.txt>, section 2.2).
//!
//! Pure: knows neither sockets nor who may send such a header.

use engine::limits::PROXY_HEADER_BYTES_MAX;
use metrics::ProxyHeaderOutcome as Outcome;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";
/// How a header of version 1 begins.
const SIGNATURE_1: &[u8] = b"PROXY ";
/// The signature, version and command, family and protocol, and the number of bytes that follow.
const FIXED_BYTES: usize = 16;
const LOCAL: u8 = 0x20;
const PROXY: u8 = 0x21;
const TCP4: u8 = 0x11;
const TCP6: u8 = 0x21;
/// The highest family (UNIX) and protocol (datagrams) that are specified.
const FAMILY_MAX: u8 = 3;
const PROTOCOL_MAX: u8 = 2;
/// Addresses of source and destination, then their ports.
const TCP4_BYTES: usize = 2 * 4 + 2 * 2;
const TCP6_BYTES: usize = 2 * 16 + 2 * 2;
const CRC32C_TYPE: u8 = 0x03;
const SSL_TYPE: u8 = 0x20;
/// The client's flags and whether its certificate was verified.
const SSL_BYTES_MIN: usize = 5;
/// The client has TLS to the proxy.
const SSL_FLAG: u8 = 1;

/// What a header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ProxyHeader {
    /// The client's address. `None`: the connection is the proxy's own, such as a check of health, or of a client without an address.
    pub(super) client: Option<SocketAddr>,
    /// Whether the client has TLS to the proxy.
    pub(super) has_tls: bool,
}

/// What the first bytes of a connection are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parsed {
    /// The beginning of a header, of so many bytes at least.
    Incomplete(usize),
    /// A header of so many bytes.
    Complete(ProxyHeader, usize),
}

/// What is wrong with a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HeaderError {
    Missing,
    Version,
    Malformed,
    TooLong,
    Checksum,
}

impl HeaderError {
    pub(super) fn outcome(self) -> Outcome {
        match self {
            Self::Missing => Outcome::Missing,
            Self::Version => Outcome::Version,
            Self::Malformed => Outcome::Malformed,
            Self::TooLong => Outcome::TooLong,
            Self::Checksum => Outcome::Checksum,
        }
    }
}

impl fmt::Display for HeaderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("it does not begin with one: let the proxy send it (send-proxy-v2), or take its address out of http.trusted_proxies"),
            Self::Version => f.write_str("it is not of version 2: let the proxy send that (send-proxy-v2)"),
            Self::Malformed => f.write_str("its command, family or length is none of version 2"),
            Self::TooLong => write!(f, "it is longer than {PROXY_HEADER_BYTES_MAX} bytes: let the proxy send fewer additions"),
            Self::Checksum => f.write_str("its checksum is not that of its bytes"),
        }
    }
}

/// Parses the first bytes of a connection. What is said of some bytes holds for all that begin with them.
///
/// # Errors
/// They are no header.
pub(super) fn parse(bytes: &[u8]) -> Result<Parsed, HeaderError> {
    if !agree(bytes, SIGNATURE) {
        return match agree(bytes, SIGNATURE_1) {
            true if bytes.len() < SIGNATURE_1.len() => Ok(Parsed::Incomplete(SIGNATURE_1.len())),
            true => Err(HeaderError::Version),
            false => Err(HeaderError::Missing),
        };
    }
    let Some((fixed, rest)) = bytes.split_first_chunk::<FIXED_BYTES>() else {
        return Ok(Parsed::Incomplete(FIXED_BYTES));
    };
    let [.., command, family, high, low] = *fixed;
    if command >> 4 != LOCAL >> 4 {
        return Err(HeaderError::Version);
    }
    let is_specified = family >> 4 <= FAMILY_MAX && family & 0xf <= PROTOCOL_MAX;
    // The family of a connection of the proxy's own is ignored, as specified.
    if command != LOCAL && !(command == PROXY && is_specified) {
        return Err(HeaderError::Malformed);
    }
    let length = usize::from(u16::from_be_bytes([high, low]));
    let total = FIXED_BYTES + length;
    if total > PROXY_HEADER_BYTES_MAX {
        return Err(HeaderError::TooLong);
    }
    let Some(block) = rest.get(..length) else { return Ok(Parsed::Incomplete(total)) };
    let header = match (command, family) {
        (PROXY, TCP4) => parse_block::<TCP4_BYTES>(bytes, block, |block| {
            let [a, b, c, d, _, _, _, _, high, low, _, _] = *block;
            (Ipv4Addr::new(a, b, c, d).into(), [high, low])
        })?,
        (PROXY, TCP6) => parse_block::<TCP6_BYTES>(bytes, block, |block| {
            let ip: [u8; 16] = std::array::from_fn(|at| block[at]);
            (Ipv6Addr::from(ip).into(), [block[32], block[33]])
        })?,
        _ => ProxyHeader { client: None, has_tls: false },
    };
    Ok(Parsed::Complete(header, total))
}

/// Whether one of them begins with the other.
fn agree(bytes: &[u8], signature: &[u8]) -> bool {
    bytes.iter().zip(signature).all(|(byte, want)| byte == want)
}

/// Parses addresses of so many bytes, and what is added to them.
fn parse_block<const ADDRESSES: usize>(
    bytes: &[u8],
    block: &[u8],
    source: impl FnOnce(&[u8; ADDRESSES]) -> (IpAddr, [u8; 2]),
) -> Result<ProxyHeader, HeaderError> {
    let (addresses, additions) = block.split_first_chunk().ok_or(HeaderError::Malformed)?;
    let (ip, port) = source(addresses);
    let client = SocketAddr::new(ip.to_canonical(), u16::from_be_bytes(port));
    let at = FIXED_BYTES + ADDRESSES;
    let has_tls = read_additions(&bytes[..at + additions.len()], at)?;
    Ok(ProxyHeader { client: Some(client), has_tls })
}

/// Reads what is added to the addresses of a whole header, from this byte on: a type, a length of two bytes, and a value each. Returns
/// whether one says that the client has TLS.
fn read_additions(header: &[u8], mut at: usize) -> Result<bool, HeaderError> {
    let (mut has_tls, mut checksum_at) = (false, None);
    while let Some((head, rest)) = header[at..].split_first_chunk::<3>() {
        let [kind, high, low] = *head;
        let value = rest.get(..usize::from(u16::from_be_bytes([high, low]))).ok_or(HeaderError::Malformed)?;
        match kind {
            SSL_TYPE if value.len() < SSL_BYTES_MIN => return Err(HeaderError::Malformed),
            SSL_TYPE => has_tls |= value[0] & SSL_FLAG != 0,
            CRC32C_TYPE if value.len() != 4 || checksum_at.is_some() => return Err(HeaderError::Malformed),
            CRC32C_TYPE => checksum_at = Some(at + head.len()),
            _ => {}
        }
        at += head.len() + value.len();
    }
    if at != header.len() {
        return Err(HeaderError::Malformed);
    }
    let Some(checksum_at) = checksum_at else { return Ok(has_tls) };
    let (before, rest) = header.split_at(checksum_at);
    let (checksum, after) = rest.split_at(4);
    // Computed as if its own bytes were zero.
    let computed = crc32c(before.iter().chain(&[0; 4]).chain(after));
    if checksum == computed.to_be_bytes() { Ok(has_tls) } else { Err(HeaderError::Checksum) }
}

/// The checksum of RFC 4960, appendix B, bit by bit: headers are short, and few have one.
fn crc32c<'a>(bytes: impl Iterator<Item = &'a u8>) -> u32 {
    const POLYNOMIAL: u32 = 0x82f6_3b78;
    !bytes.fold(!0, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ if crc & 1 == 1 { POLYNOMIAL } else { 0 })
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A header with this command and family before these bytes.
    pub(crate) fn encode(command: u8, family: u8, block: &[u8]) -> Vec<u8> {
        let length = u16::try_from(block.len()).unwrap().to_be_bytes();
        [SIGNATURE, &[command, family], &length, block].concat()
    }

    /// Addresses and ports of a client and of the proxy, with the family that they have.
    fn addresses(client: SocketAddr) -> (u8, Vec<u8>) {
        let ports = [client.port().to_be_bytes(), 443_u16.to_be_bytes()].concat();
        match client.ip() {
            IpAddr::V4(ip) => (TCP4, [&ip.octets(), &[10, 0, 0, 1][..], &ports].concat()),
            IpAddr::V6(ip) => (TCP6, [&ip.octets(), &Ipv6Addr::LOCALHOST.octets()[..], &ports].concat()),
        }
    }

    /// The header of a connection for this client, with these additions.
    pub(crate) fn header_of(client: &str, additions: &[u8]) -> Vec<u8> {
        let (family, block) = addresses(client.parse().unwrap());
        encode(PROXY, family, &[&block, additions].concat())
    }

    fn addition(kind: u8, value: &[u8]) -> Vec<u8> {
        [&[kind], &u16::try_from(value.len()).unwrap().to_be_bytes()[..], value].concat()
    }

    /// The header with its checksum, with these additions before and after it.
    fn with_checksum(client: &str, before: &[u8], after: &[u8]) -> Vec<u8> {
        let mut header = header_of(client, &[before, &addition(CRC32C_TYPE, &[0; 4]), after].concat());
        let at = header.len() - after.len() - 4;
        let checksum = crc32c(header.iter()).to_be_bytes();
        header[at..at + 4].copy_from_slice(&checksum);
        header
    }

    /// The header in words: `client` and `tls`, `local`, or what is wrong. Every beginning of it is incomplete, or wrong in the same way.
    fn parsed(header: &[u8]) -> String {
        let whole = parse(header);
        for cut in 0..header.len() {
            match parse(&header[..cut]) {
                Ok(Parsed::Incomplete(least)) => assert!(least > cut, "{cut} of {header:?}"),
                early => assert_eq!(early, whole, "{cut} of {header:?}"),
            }
        }
        match whole {
            Ok(Parsed::Incomplete(least)) => format!("incomplete {least}"),
            Ok(Parsed::Complete(ProxyHeader { client: None, has_tls: false }, _)) => "local".to_owned(),
            Ok(Parsed::Complete(ProxyHeader { client, has_tls }, _)) => {
                format!("{}{}", client.unwrap(), if has_tls { " tls" } else { "" })
            }
            Err(error) => format!("{error:?}"),
        }
    }

    #[track_caller]
    fn check(header: &[u8], want: &str) {
        assert_eq!(parsed(header), want, "{header:?}");
    }

    #[test]
    fn a_header_names_the_client() {
        check(&header_of("192.0.2.7:4711", b""), "192.0.2.7:4711");
        check(&header_of("[2001:db8::7]:4711", b""), "[2001:db8::7]:4711");
        // One address has one form.
        check(&header_of("[::ffff:192.0.2.7]:4711", b""), "192.0.2.7:4711");
    }

    #[test]
    fn a_connection_without_an_address_is_the_proxys_own() {
        check(&encode(LOCAL, 0, b""), "local");
        check(&encode(LOCAL, TCP4, &[1; 12]), "local");
        check(&encode(LOCAL, 0xff, &[1; 300]), "local");
        check(&encode(PROXY, 0, b""), "local");
        check(&encode(PROXY, 0, &[1; 5]), "local");
        // TCP without a family, IPv4 without a protocol, UDP and UNIX sockets.
        for family in [0x01, 0x10, 0x12, 0x22, 0x31, 0x32] {
            check(&encode(PROXY, family, &[1; 216]), "local");
        }
    }

    #[test]
    fn what_is_no_header_is_refused() {
        check(b"GET / HTTP/1.1\r\n\r\n", "Missing");
        check(b"POST / HTTP/1.1\r\n\r\n", "Missing");
        check(b"\r\n\r\nGET / HTTP/1.1", "Missing");
        check(b"\x16\x03\x01\x02\x00", "Missing");
        check(b"PROXY TCP4 192.0.2.7 10.0.0.1 4711 443\r\n", "Version");
        check(b"PROXY UNKNOWN\r\n", "Version");
        check(&encode(0x11, TCP4, &[1; 12]), "Version");
        check(&encode(0x31, TCP4, &[1; 12]), "Version");
        check(&encode(0x22, TCP4, &[1; 12]), "Malformed");
        check(&encode(0x2f, TCP4, &[1; 12]), "Malformed");
        check(&encode(PROXY, 0x41, &[1; 12]), "Malformed");
        check(&encode(PROXY, 0x13, &[1; 12]), "Malformed");
        check(&encode(PROXY, TCP4, &[1; 11]), "Malformed");
        check(&encode(PROXY, TCP6, &[1; 35]), "Malformed");
        check(&encode(PROXY, TCP6, &[1; 12]), "Malformed");
    }

    #[test]
    fn a_header_has_a_longest_length() {
        let room = PROXY_HEADER_BYTES_MAX - FIXED_BYTES;
        let padded = |bytes: usize| addition(0x04, &vec![0; bytes - TCP4_BYTES - 3]);
        check(&header_of("192.0.2.7:4711", &padded(room)), "192.0.2.7:4711");
        check(&header_of("192.0.2.7:4711", &padded(room + 1)), "TooLong");
        check(&encode(LOCAL, 0, &vec![0; room + 1]), "TooLong");
        check(&[SIGNATURE, &[PROXY, TCP4, 0xff, 0xff]].concat(), "TooLong");
        check(&[SIGNATURE, &[PROXY, TCP4, 0, 12]].concat(), "incomplete 28");
        check(b"", "incomplete 16");
    }

    #[test]
    fn additions_are_skipped_unless_they_matter() {
        let check = |additions: &[u8], want: &str| check(&header_of("192.0.2.7:4711", additions), want);
        check(&addition(0xea, b"\x01vpce-08d2bf15fac5001c9"), "192.0.2.7:4711");
        check(
            &[addition(0x01, b"h2"), addition(0x02, b"play.example"), addition(0x04, b"")].concat(),
            "192.0.2.7:4711",
        );
        check(&addition(SSL_TYPE, &[1, 0, 0, 0, 0]), "192.0.2.7:4711 tls");
        check(&addition(SSL_TYPE, &[&[7, 0, 0, 0, 0], &addition(0x21, b"TLSv1.3")[..]].concat()), "192.0.2.7:4711 tls");
        check(&addition(SSL_TYPE, &[0, 0, 0, 0, 0]), "192.0.2.7:4711");
        check(&addition(SSL_TYPE, &[1, 0, 0, 0]), "Malformed");
        check(b"\x04", "Malformed");
        check(b"\x04\0", "Malformed");
        check(b"\x04\0\x01", "Malformed");
        check(b"\x04\xff\xff", "Malformed");
    }

    #[test]
    fn a_checksum_is_verified() {
        assert_eq!(crc32c(b"123456789".iter()), 0xe306_9283, "the check value of the polynomial");
        let (noop, tls) = (addition(0x04, b"x"), addition(SSL_TYPE, &[1, 0, 0, 0, 0]));
        check(&with_checksum("192.0.2.7:4711", b"", b""), "192.0.2.7:4711");
        check(&with_checksum("[2001:db8::7]:4711", &noop, &tls), "[2001:db8::7]:4711 tls");
        let mut flipped = with_checksum("192.0.2.7:4711", &noop, b"");
        flipped[FIXED_BYTES] ^= 1;
        check(&flipped, "Checksum");
        check(&header_of("192.0.2.7:4711", &addition(CRC32C_TYPE, &[0; 4])), "Checksum");
        check(&header_of("192.0.2.7:4711", &addition(CRC32C_TYPE, &[0; 3])), "Malformed");
        check(&with_checksum("192.0.2.7:4711", b"", &addition(CRC32C_TYPE, &[0; 4])), "Malformed");
    }

    proptest! {
        /// Whatever is added, and whatever the client sends behind it: the header names the client that the proxy saw, and no byte more is taken.
        #[test]
        fn the_header_alone_decides(
            ip in any::<IpAddr>(),
            port in any::<u16>(),
            additions in prop::collection::vec((any::<u8>(), prop::collection::vec(any::<u8>(), 0..40)), 0..6),
            behind in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            let free = |kind: &u8| ![CRC32C_TYPE, SSL_TYPE].contains(kind);
            let additions = additions.iter().filter(|(kind, _)| free(kind)).map(|(kind, value)| addition(*kind, value));
            let client = SocketAddr::new(ip, port);
            let header = header_of(&client.to_string(), &additions.collect::<Vec<_>>().concat());
            let want = ProxyHeader { client: Some(SocketAddr::new(ip.to_canonical(), port)), has_tls: false };
            let bytes = [&header[..], &behind].concat();
            prop_assert_eq!(parse(&bytes), Ok(Parsed::Complete(want, header.len())));
            parsed(&header);
        }

        /// Any bytes behind a signature: what is said of their beginning is never taken back.
        #[test]
        fn nothing_is_taken_back(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            parsed(&bytes);
            let mut signed = [SIGNATURE, &bytes].concat();
            let whole = parse(&signed);
            for cut in 0..signed.len() {
                match parse(&signed[..cut]) {
                    Ok(Parsed::Incomplete(_)) => {}
                    early => prop_assert_eq!(early, whole),
                }
            }
            signed.truncate(FIXED_BYTES - 1);
            prop_assert_eq!(parse(&signed), Ok(Parsed::Incomplete(FIXED_BYTES)));
        }
    }
}
