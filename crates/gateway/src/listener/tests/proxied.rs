//! Connections through a load balancer that sends headers of the PROXY protocol. It is 127.0.0.9 here; the other addresses of the loopback
//! network are clients that connect directly.

use super::parked::{POLL, ParkingServer, wake};
use super::*;
use crate::listener::proxy_header::tests::{encode, header_of};
use axum::Extension;
use axum::extract::ConnectInfo;
use engine::limits::PROXY_HEADERS_AWAITED_MAX;
use quotas::address_limit::AddressLimit;
use settings::Networks;
use std::net::Ipv4Addr;
use std::sync::Weak;
use tokio::net::TcpSocket;

const PROXY_HOST: u8 = 9;
const WHO: &str = "GET /who HTTP/1.1\r\nHost: x\r\n\r\n";
const FRAME: &[u8] = b"\x05frame";
const LOCAL: (u8, u8) = (0x20, 0);

fn trusted() -> Networks {
    Networks::parse("127.0.0.9").unwrap()
}

async fn open(config: ListenerConfig, address_limit: Option<AddressLimit>) -> TestServer {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let resources = ListenerResources { address_limit, ..ListenerResources::from(Arc::<Metrics>::default()) };
    let listener = ProxyListener::new(listener, trusted(), config.header_timeout, resources.metrics.clone());
    let who = async |ConnectInfo(client): ConnectInfo<SocketAddr>, Extension(own): Extension<Weak<Connection>>| {
        let is_encrypted = own.upgrade().unwrap().stream().is_encrypted();
        format!("{}{}", client.ip(), if is_encrypted { " over TLS" } else { "" })
    };
    let routes = |_| RawCapableRouter(router(Arc::default(), Arc::default()).route("/who", get(who)));
    TestServer::with_resources(resources, address, listener, config, routes)
}

impl TestServer {
    async fn connect_as(&self, host: u8) -> TcpStream {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind((Ipv4Addr::new(127, 0, 0, host), 0).into()).unwrap();
        let client = socket.connect(self.address).await.unwrap();
        client.set_nodelay(true).unwrap();
        client
    }

    /// A connection from this host that begins with these bytes.
    async fn begin(&self, host: u8, bytes: &[&[u8]]) -> TcpStream {
        let mut client = self.connect_as(host).await;
        client.write_all(&bytes.concat()).await.unwrap();
        client
    }

    /// How many connections of proxies came to this.
    fn outcomes(&self, outcome: &str) -> String {
        self.sample(&format!("gauntlet_proxy_headers_total{{outcome=\"{outcome}\"}} "))
    }
}

#[tokio::test]
async fn a_connection_is_of_the_client_that_a_trusted_proxy_names() {
    let server = open(PATIENT, None).await;
    for (host, header, want) in [
        (PROXY_HOST, header_of("192.0.2.7:4711", b""), "192.0.2.7"),
        (PROXY_HOST, header_of("[2001:db8::7]:4711", b""), "2001:db8::7"),
        (PROXY_HOST, header_of("192.0.2.7:4711", b"\xea\0\x03abc"), "192.0.2.7"),
        (PROXY_HOST, header_of("192.0.2.7:4711", b"\x20\0\x05\x01\0\0\0\0"), "192.0.2.7 over TLS"),
        (PROXY_HOST, header_of("127.0.0.1:4711", b""), "0.0.0.0"),
        (PROXY_HOST, header_of("[::1]:4711", b""), "::"),
        (PROXY_HOST, encode(LOCAL.0, LOCAL.1, b""), "127.0.0.9"),
        (PROXY_HOST, encode(0x21, 0x31, &[b'/'; 216]), "127.0.0.9"),
        (2, Vec::new(), "127.0.0.2"),
    ] {
        let mut client = server.begin(host, &[&header, WHO.as_bytes()]).await;
        for _ in 0..2 {
            assert_eq!(response(&mut client).await, ok(want), "{header:?}");
            client.write_all(WHO.as_bytes()).await.unwrap();
        }
        let raw = rest(server.begin(host, &[&header, FRAME]).await).await;
        assert_eq!(raw, format!("raw of {}", want.trim_end_matches(" over TLS")), "{header:?}");
    }
    assert_eq!((server.outcomes("client"), server.outcomes("local")), ("12".to_owned(), "4".to_owned()));
}

#[tokio::test]
async fn a_header_may_come_in_pieces() {
    let server = open(PATIENT, None).await;
    let header = header_of("192.0.2.7:4711", b"\x04\0\x01x");
    let in_bytes: Vec<usize> = (1..=header.len()).collect();
    for cuts in [&[1][..], &[12], &[15, 16, 17], &[16, 28], &in_bytes] {
        for (behind, want) in [(WHO.as_bytes(), "192.0.2.7"), (FRAME, "raw of 192.0.2.7")] {
            let stream = [&header, behind].concat();
            let (mut client, mut sent) = (server.connect_as(PROXY_HOST).await, 0);
            for cut in cuts.iter().copied().chain([stream.len()]) {
                client.write_all(&stream[sent..cut]).await.unwrap();
                sent = cut;
                for _ in 0..8 {
                    tokio::task::yield_now().await;
                }
            }
            if behind == FRAME {
                assert_eq!(rest(client).await, want, "{cuts:?}");
            } else {
                assert_eq!(response(&mut client).await, ok(want), "{cuts:?}");
            }
        }
    }
}

/// An address that is not trusted gets what any bytes get that are no request; and so does a client that sends a header of its own behind
/// the proxy's.
#[tokio::test]
async fn a_forged_header_is_refused_like_any_other_bytes() {
    let server = open(PATIENT, None).await;
    let forged = header_of("192.0.2.7:4711", b"");
    let real = header_of("192.0.2.8:4711", b"");
    for (host, before) in [(2, &b""[..]), (PROXY_HOST, &real)] {
        for header in [&forged, &encode(LOCAL.0, LOCAL.1, b""), &b"PROXY TCP4 192.0.2.7 10.0.0.1 1 2\r\n".to_vec()] {
            let refused = rest(server.begin(host, &[before, header, WHO.as_bytes()]).await).await;
            assert!(refused.starts_with("HTTP/1.1 400") && refused.contains("\"code\":\"bad_head\""), "{refused}");
            assert!(!refused.contains("192.0.2.7"), "{refused}");
        }
    }
    assert_eq!((server.outcomes("client"), server.outcomes("local")), ("3".to_owned(), "0".to_owned()));
}

#[tokio::test]
async fn a_trusted_proxy_must_send_a_header() {
    let server = open(PATIENT, None).await;
    let header = header_of("192.0.2.7:4711", b"");
    let wrong_sum = header_of("192.0.2.7:4711", &[3, 0, 4, 1, 2, 3, 4]);
    let rows: [(&str, &[u8]); 8] = [
        ("missing", WHO.as_bytes()),
        ("missing", FRAME),
        ("version", b"PROXY TCP4 192.0.2.7 10.0.0.1 1 2\r\n"),
        ("version", &encode(0x31, 0x11, &[0; 12])),
        ("malformed", &encode(0x2f, 0x11, &[0; 12])),
        ("too_long", &encode(0x21, 0x11, &[0; 5_000])),
        ("checksum", &wrong_sum),
        ("incomplete", &header[..20]),
    ];
    for (outcome, bytes) in rows {
        let before: u32 = server.outcomes(outcome).parse().unwrap();
        let mut client = server.begin(PROXY_HOST, &[bytes, if outcome == "incomplete" { b"" } else { b"\0\0" }]).await;
        client.shutdown().await.unwrap();
        assert_eq!(rest(client).await, "", "{outcome}");
        assert_eq!(server.outcomes(outcome), (before + 1).to_string());
    }
    assert_eq!(server.sample("gauntlet_http_connections_accepted_total "), "0");
}

/// A proxy that looks whether the port is open sends nothing.
#[tokio::test]
async fn a_connection_without_a_byte_is_no_refusal() {
    let server = open(PATIENT, None).await;
    drop(server.connect_as(PROXY_HOST).await);
    let mut client = server.begin(PROXY_HOST, &[&header_of("192.0.2.7:1", b""), WHO.as_bytes()]).await;
    assert_eq!(response(&mut client).await, ok("192.0.2.7"));
    let text = server.metrics.page().into_text();
    let refused = text.lines().filter(|line| line.starts_with("gauntlet_proxy_headers_total") && !line.ends_with(" 0"));
    assert_eq!(refused.collect::<Vec<_>>(), ["gauntlet_proxy_headers_total{outcome=\"client\"} 1"]);
}

#[tokio::test]
async fn a_header_that_does_not_come_in_time_is_not_awaited() {
    let header = header_of("192.0.2.7:4711", b"");
    for begin in [&b""[..], &header[..20]] {
        let server = open(ListenerConfig { header_timeout: SOON, ..PATIENT }, None).await;
        let client = server.begin(PROXY_HOST, &[begin]).await;
        assert_eq!(rest(client).await, "");
        assert_eq!(server.outcomes("timed_out"), "1", "{begin:?}");
    }
    // Each byte is progress; the time is for the whole header, which is of 4,096 bytes here.
    let server = open(ListenerConfig { header_timeout: SOON, ..PATIENT }, None).await;
    let mut client = server.begin(PROXY_HOST, &[&encode(LOCAL.0, LOCAL.1, &[0; 4_080])[..16]]).await;
    while client.write_all(b"x").await.is_ok() {
        sleep(SOON / 10).await;
    }
    assert_eq!(server.outcomes("timed_out"), "1");
}

#[track_caller]
fn check_refused(received: &str, code: &str) {
    assert!(received.starts_with("HTTP/1.1 429") && received.contains(&format!("\"code\":\"{code}\"")), "{received}");
}

/// Each client behind the proxy has what it would have without one, and is refused in its own protocol.
#[tokio::test]
async fn connections_count_for_the_address_that_the_proxy_names() {
    let limit = AddressLimit { max: 2, includes_loopback: true, trusted_proxies: trusted() };
    let server = open(PATIENT, Some(limit)).await;
    let of = |client: &str| header_of(client, b"");
    let mut open = Vec::new();
    for client in ["192.0.2.7:1", "192.0.2.7:2", "192.0.2.8:1", "[2001:db8::7]:1", "[2001:db8::8]:1"] {
        let mut connection = server.begin(PROXY_HOST, &[&of(client), FAST.as_bytes()]).await;
        assert_eq!(response(&mut connection).await, ok("fast"), "{client}");
        open.push(connection);
    }
    for full in ["192.0.2.7:3", "[2001:db8::9]:1"] {
        check_refused(
            &rest(server.begin(PROXY_HOST, &[&of(full), FAST.as_bytes()]).await).await,
            "too_many_connections",
        );
        let frame = rest(server.begin(PROXY_HOST, &[&of(full), FRAME]).await).await;
        assert_eq!(frame, "frame: too_many_connections");
    }
    let mut other = server.begin(PROXY_HOST, &[&of("192.0.2.8:2"), FAST.as_bytes()]).await;
    assert_eq!(response(&mut other).await, ok("fast"));
    // The same address without the proxy is the same client; the proxy's own connections are not counted.
    drop(open.remove(0));
    server.until_open("5").await;
    let local = encode(LOCAL.0, LOCAL.1, b"");
    for _ in 0..3 {
        let mut own = server.begin(PROXY_HOST, &[&local, FAST.as_bytes()]).await;
        assert_eq!(response(&mut own).await, ok("fast"));
    }
    let mut again = server.begin(PROXY_HOST, &[&of("192.0.2.7:4"), FAST.as_bytes()]).await;
    assert_eq!(response(&mut again).await, ok("fast"));
}

impl TestServer {
    async fn until_open(&self, connections: &str) {
        while self.sample("gauntlet_http_connections ") != connections {
            tokio::task::yield_now().await;
        }
    }
}

/// A client with many connections through the proxy gives way to others behind it.
#[tokio::test]
async fn the_client_with_most_connections_loses_one_when_the_server_is_full() {
    let limit = AddressLimit { max: 4, includes_loopback: true, trusted_proxies: trusted() };
    let server = open(ListenerConfig { connections_max: 4, ..PATIENT }, Some(limit)).await;
    let mut open = Vec::new();
    for client in ["192.0.2.7:1", "192.0.2.7:2", "192.0.2.7:3", "192.0.2.8:1", "192.0.2.9:1"] {
        let mut connection = server.begin(PROXY_HOST, &[&header_of(client, b""), FAST.as_bytes()]).await;
        assert_eq!(response(&mut connection).await, ok("fast"), "{client}");
        open.push(connection);
    }
    assert_eq!(rest(open.remove(0)).await, "", "the idlest of the client that has most");
    for mut connection in open {
        connection.write_all(FAST.as_bytes()).await.unwrap();
        assert_eq!(response(&mut connection).await, ok("fast"), "the others stay");
    }
    assert_eq!(server.sample("gauntlet_http_connections_evicted_total "), "1");
}

/// Clients that hold up their headers keep no other out.
#[tokio::test]
async fn the_oldest_without_a_header_gives_way_to_newcomers() {
    let server = open(PATIENT, None).await;
    let mut silent = Vec::new();
    for _ in 0..PROXY_HEADERS_AWAITED_MAX {
        silent.push(server.connect_as(PROXY_HOST).await);
    }
    let mut client = server.begin(PROXY_HOST, &[&header_of("192.0.2.7:1", b""), WHO.as_bytes()]).await;
    assert_eq!(response(&mut client).await, ok("192.0.2.7"));
    assert_eq!(rest(silent.remove(0)).await, "");
    assert_eq!((server.outcomes("displaced"), server.outcomes("client")), ("1".to_owned(), "1".to_owned()));
    // The others may still come.
    for (mut late, header) in silent.into_iter().zip([header_of("192.0.2.8:1", b"")]) {
        late.write_all(&[&header, WHO.as_bytes()].concat()).await.unwrap();
        assert_eq!(response(&mut late).await, ok("192.0.2.8"));
    }
    let mut direct = server.begin(2, &[WHO.as_bytes()]).await;
    assert_eq!(response(&mut direct).await, ok("127.0.0.2"));
}

#[tokio::test]
async fn a_connection_without_a_header_does_not_delay_a_drain() {
    let mut server = open(PATIENT, None).await;
    let silent = server.connect_as(PROXY_HOST).await;
    let mut client = server.begin(PROXY_HOST, &[&header_of("192.0.2.7:1", b""), WHO.as_bytes()]).await;
    assert_eq!(response(&mut client).await, ok("192.0.2.7"));
    server.drain();
    assert_eq!((rest(silent).await, rest(client).await), (String::new(), String::new()));
    timeout(NEVER, server.served).await.expect("the server has drained").unwrap();
}

/// A poll behind a header waits, is answered, and ends with its client.
#[tokio::test]
async fn a_poll_through_the_proxy_is_parked() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let listener = ProxyListener::new(listener, trusted(), NEVER, Arc::default());
    let mut parking = ParkingServer::at(address, listener, PATIENT);
    let header = header_of("192.0.2.7:1", b"");
    let mut client = parking.server.begin(PROXY_HOST, &[&header, POLL.as_bytes()]).await;
    let wakes = parking.parked(1).await;
    wake(&wakes, "now");
    assert_eq!(response(&mut client).await, ok("now"));
    client.write_all(POLL.as_bytes()).await.unwrap();
    let _wakes = parking.parked(1).await;
    drop(client);
    parking.is("gauntlet_http_parked_left_total ", "1").await;
}
