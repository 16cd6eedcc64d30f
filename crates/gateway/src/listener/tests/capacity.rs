//! The cap on connections: which client is refused and how, which connection is evicted, and what one address may have.

use super::parked::{POLL, ParkingServer, STREAM};
use super::*;
use axum::Extension;
use engine::limits::CONNECTION_REFUSALS_MAX;
use quotas::address_limit::AddressLimit;
use settings::Networks;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Weak;
use tokio::net::TcpSocket;

/// Longer than a connection must have been idle to be evicted, in whole seconds of the clock.
const SILENCE: Duration = Duration::from_secs(5);
const GUEST: &str = "GET /guest HTTP/1.1\r\nHost: x\r\n\r\n";
const KNOWN: &str = "GET /known HTTP/1.1\r\nHost: x\r\n\r\n";

fn with_known(router: Router) -> Router {
    let known = async |Extension(connection): Extension<Weak<Connection>>| {
        connection.upgrade().unwrap().raise_rank(Rank::Account);
        "known"
    };
    let guest = async |Extension(connection): Extension<Weak<Connection>>| {
        connection.upgrade().unwrap().raise_rank(Rank::Guest);
        "guest"
    };
    router.route("/known", get(known)).route("/guest", get(guest))
}

async fn open(connections_max: usize, address_limit: Option<AddressLimit>) -> TestServer {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let resources = ListenerResources { address_limit, ..ListenerResources::from(Arc::<Metrics>::default()) };
    let routes = |_| RawCapableRouter(with_known(router(Arc::default(), Arc::default())));
    TestServer::with_resources(resources, address, listener, ListenerConfig { connections_max, ..PATIENT }, routes)
}

impl TestServer {
    /// A connection on which this request got this response.
    async fn send_and_check(&self, request: &str, want: &str) -> TcpStream {
        let mut client = self.send(request).await;
        assert_eq!(response(&mut client).await, ok(want));
        client
    }

    /// A connection from this host of the loopback network, which sends a fast request.
    async fn connect_from(&self, host: u8) -> TcpStream {
        self.send_from(host, FAST).await
    }

    async fn send_from(&self, host: u8, request: &str) -> TcpStream {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind((Ipv4Addr::new(127, 0, 0, host), 0).into()).unwrap();
        let mut client = socket.connect(self.address).await.unwrap();
        client.write_all(request.as_bytes()).await.unwrap();
        client
    }

    async fn until(&self, name: &str, want: &str) {
        while self.sample(name) != want {
            tokio::task::yield_now().await;
        }
    }
}

#[track_caller]
fn check_refused(received: &str, status: &str, code: &str) {
    assert!(received.starts_with(&format!("HTTP/1.1 {status}")), "{received}");
    for part in
        ["retry-after: 1\r\n", "connection: close\r\n", "application/problem+json", &format!(r#""code":"{code}""#)]
    {
        assert!(received.contains(part), "{part} is not in {received}");
    }
}

#[tokio::test]
async fn a_client_beyond_the_cap_is_refused_at_once_and_accepted_when_another_leaves() {
    let server = open(1, None).await;
    let mut first = server.send_and_check(KNOWN, "known").await;
    check_refused(&rest(server.send(FAST).await).await, "503", "connections_full");
    // A silent client is refused all the same.
    check_refused(&rest(server.connect().await).await, "503", "connections_full");
    first.write_all(FAST.as_bytes()).await.unwrap();
    assert_eq!(response(&mut first).await, ok("fast"));
    assert_eq!(server.sample("gauntlet_http_connections_refused_full_total "), "2");
    assert_eq!(server.sample("gauntlet_http_connections_accepted_total "), "1");
    drop(first);
    server.until("gauntlet_http_connections ", "0").await;
    server.send_and_check(FAST, "fast").await;
}

#[tokio::test]
async fn a_client_that_speaks_frames_is_refused_in_frames() {
    let server = open(1, None).await;
    let _first = server.send_and_check(KNOWN, "known").await;
    assert_eq!(rest(server.send("\x05frame").await).await, "frame: connections_full");
}

#[tokio::test]
async fn many_are_refused_at_a_time_without_waiting() {
    let server = open(1, None).await;
    let _first = server.send_and_check(KNOWN, "known").await;
    let mut refused = Vec::new();
    for _ in 0..2 * CONNECTION_REFUSALS_MAX {
        refused.push(server.send(FAST).await);
    }
    for client in &mut refused {
        let mut status = [0; 12];
        client.read_exact(&mut status).await.unwrap();
        assert_eq!(&status, b"HTTP/1.1 503");
    }
}

#[tokio::test(start_paused = true)]
async fn the_idlest_anonymous_connection_is_evicted_first() {
    let server = open(4, None).await;
    let known = server.send_and_check(KNOWN, "known").await;
    sleep(SILENCE).await;
    let mut busy = server.send_and_check(FAST, "fast").await;
    sleep(SILENCE).await;
    let idlest = server.send_and_check(FAST, "fast").await;
    sleep(SILENCE).await;
    let silent = server.connect().await;
    server.until("gauntlet_http_connections ", "4").await;
    busy.write_all(FAST.as_bytes()).await.unwrap();
    assert_eq!(response(&mut busy).await, ok("fast"));
    sleep(SILENCE).await;
    let newcomer = server.send_and_check(FAST, "fast").await;
    assert_eq!(rest(idlest).await, "");
    let another = server.send_and_check(FAST, "fast").await;
    assert_eq!(rest(silent).await, "", "a client that never sent anything is idle since it connected");
    assert_eq!(server.sample("gauntlet_http_connections_evicted_total "), "2");
    assert_eq!(server.sample("gauntlet_http_connections_refused_full_total "), "0");
    for mut client in [known, busy, newcomer, another] {
        client.write_all(FAST.as_bytes()).await.unwrap();
        assert_eq!(response(&mut client).await, ok("fast"));
    }
}

/// Ten minutes: both while no other client connects, and when one does.
#[tokio::test(start_paused = true)]
async fn idle_connections_of_accounts_are_not_evicted() {
    let forever = Duration::from_secs(3_600);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let limits = ListenerConfig { connections_max: 8, idle_timeout: forever, header_timeout: forever, ..PATIENT };
    let server = TestServer::with(address, listener, limits, |_| with_known(router(Arc::default(), Arc::default())));
    let mut viewers = Vec::new();
    for _ in 0..8 {
        viewers.push(server.send_and_check(KNOWN, "known").await);
    }
    sleep(Duration::from_secs(600)).await;
    check_refused(&rest(server.send(FAST).await).await, "503", "connections_full");
    for mut viewer in viewers {
        viewer.write_all(FAST.as_bytes()).await.unwrap();
        assert_eq!(response(&mut viewer).await, ok("fast"));
    }
    assert_eq!(server.sample("gauntlet_http_connections_evicted_total "), "0");
}

/// An address with most connections, of guests or anonymous, cannot keep others out, however busy those connections are.
#[tokio::test]
async fn the_address_with_most_connections_loses_one_to_a_newcomer_from_another() {
    for (request, body) in [(FAST, "fast"), (GUEST, "guest")] {
        let limit = AddressLimit { max: 4, includes_loopback: true, trusted_proxies: Networks::default() };
        let server = open(5, Some(limit)).await;
        let mut clients = Vec::new();
        for (host, request, body) in
            [(2, request, body), (2, request, body), (2, request, body), (3, request, body), (4, KNOWN, "known")]
        {
            let mut client = server.send_from(host, request).await;
            assert_eq!(response(&mut client).await, ok(body), "127.0.0.{host}");
            clients.push(client);
        }
        assert_eq!(response(&mut server.connect_from(5).await).await, ok("fast"), "{body}");
        assert_eq!(rest(clients.remove(0)).await, "", "the idlest of the address that has most");
        assert_eq!(server.sample("gauntlet_http_connections_evicted_total "), "1");
        for mut client in clients {
            client.write_all(FAST.as_bytes()).await.unwrap();
            assert_eq!(response(&mut client).await, ok("fast"), "the others stay");
        }
    }
}

/// Anonymous streams and parked polls.
#[tokio::test(start_paused = true)]
async fn anonymous_waiting_connections_are_evicted() {
    for request in [STREAM, POLL] {
        let mut parking = ParkingServer::new(ListenerConfig { connections_max: 1, ..PATIENT }).await;
        let _waiting = parking.server.send(request).await;
        let _wakes = parking.parked(1).await;
        sleep(SILENCE).await;
        let newcomer = parking.server.send("GET /none HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await;
        assert!(rest(newcomer).await.starts_with("HTTP/1.1 404"));
        assert_eq!(parking.server.sample("gauntlet_http_connections_evicted_total "), "1", "{request}");
    }
}

fn two_each(trusted: &str) -> Option<AddressLimit> {
    let trusted_proxies = if trusted.is_empty() { Networks::default() } else { Networks::parse(trusted).unwrap() };
    Some(AddressLimit { max: 2, includes_loopback: true, trusted_proxies })
}

#[tokio::test]
async fn an_address_is_refused_beyond_its_cap() {
    let server = open(8, two_each("127.0.0.9")).await;
    let mut clients = Vec::new();
    for host in [2, 2, 3, 3, 9, 9, 9] {
        let mut client = server.connect_from(host).await;
        assert_eq!(response(&mut client).await, ok("fast"), "127.0.0.{host}");
        clients.push(client);
    }
    for host in [2, 3] {
        check_refused(&rest(server.connect_from(host).await).await, "429", "too_many_connections");
    }
    assert_eq!(server.sample("gauntlet_http_connections_refused_address_total "), "2");
    drop(clients.swap_remove(0));
    server.until("gauntlet_http_connections ", "6").await;
    assert_eq!(response(&mut server.connect_from(2).await).await, ok("fast"));
}

#[test]
fn loopback_is_limited_only_where_configured() {
    let check = |includes_loopback, peer: &str, want: Option<&str>| {
        let limit = AddressLimit { max: 1, includes_loopback, trusted_proxies: Networks::parse("10.0.0.0/8").unwrap() };
        assert_eq!(limit.key(peer.parse().unwrap()).map(|key| key.to_string()).as_deref(), want, "{peer}");
    };
    check(false, "127.0.0.1", None);
    check(false, "::1", None);
    check(false, "::ffff:127.0.0.1", None);
    check(true, "127.0.0.2", Some("127.0.0.2"));
    check(false, "192.0.2.7", Some("192.0.2.7"));
    check(false, "2001:db8::7", Some("2001:db8::/64"));
    check(true, "10.1.2.3", None);
}

/// A request behind a proxy counts for its client as long as it lives.
#[tokio::test]
async fn requests_through_a_proxy_count_for_their_clients() {
    let permits = ConnectionPermits::new(8, None, two_each("127.0.0.9"), Arc::default());
    let (client, proxy) = (IpAddr::from([192, 0, 2, 1]), IpAddr::from([127, 0, 0, 9]));
    let (first, second) = (permits.acquire_proxied(client).unwrap(), permits.acquire_proxied(client).unwrap());
    assert!(permits.acquire_proxied(client).is_err());
    assert!(permits.acquire_proxied([192, 0, 2, 2].into()).is_ok());
    drop(first);
    // An upgraded request counts until its connection ends.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let connect = async |peer| {
        let permit = permits.acquire(peer, &mut None).await.ok()?;
        Some(Connection::new(TcpStream::connect(listener.local_addr().unwrap()).await.unwrap(), permit))
    };
    let connection = connect(proxy).await.unwrap();
    connection.adopt_permit(&second.unwrap());
    let third = permits.acquire_proxied(client).unwrap();
    assert!(permits.acquire_proxied(client).is_err());
    drop((third, connection));
    assert!([permits.acquire_proxied(client), permits.acquire_proxied(client)].iter().all(Result::is_ok));
    // A node that proves to be one is not counted at all.
    let nodes = [connect(client).await.unwrap(), connect(client).await.unwrap()];
    assert!(connect(client).await.is_none());
    nodes.iter().for_each(Connection::mark_as_node);
    assert!(connect(client).await.is_some());
}
