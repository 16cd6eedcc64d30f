//! A whole process behind a load balancer that names each client in a header of the PROXY protocol: 127.0.0.9. Other addresses of the
//! loopback network connect directly.

use super::tls::{TOKEN, TlsServer, exchange, handshake};
use super::*;
use rustls::version;
use settings::Networks;
use std::net::Ipv4Addr;
use tokio::net::TcpSocket;

const BALANCER: u8 = 9;
const DIRECT: u8 = 1;
/// A proxy of layer 7 between the balancer and the server.
const LAYER_7: [u8; 4] = [10, 0, 0, 5];
const GOOD: [u8; 4] = [192, 0, 2, 8];
const BAD: [u8; 4] = [192, 0, 2, 7];
const READ: &str = "GET /api/worlds";
const NO_REQUEST: &[u8] = b"\x05frame";

fn behind_balancer(config: &mut Config) {
    config.proxy_protocol = true;
    config.http_trusted_proxies = Networks::parse("127.0.0.9, 10.0.0.5").unwrap();
}

fn header_of(client: [u8; 4]) -> Vec<u8> {
    [b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c", &client[..], &[10, 0, 0, 1, 0x12, 0x67, 1, 0xbb]].concat()
}

async fn connect_as(host: u8, address: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((Ipv4Addr::new(127, 0, 0, host), 0).into()).unwrap();
    socket.connect(address).await.unwrap()
}

/// Everything that comes back to these bytes from this host, until the connection ends.
async fn answer(host: u8, address: SocketAddr, bytes: &[&[u8]]) -> String {
    let mut client = connect_as(host, address).await;
    client.write_all(&bytes.concat()).await.unwrap();
    let mut received = Vec::new();
    // A refused connection may end in a reset.
    let _ = client.read_to_end(&mut received).await;
    String::from_utf8_lossy(&received).into_owned()
}

/// A request with further lines in its head.
fn request(line: &str, lines: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "{line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n{lines}\r\n{body}"
    )
    .into_bytes()
}

#[tokio::test]
async fn what_counts_by_address_has_the_clients_behind_the_balancer() {
    let folder = Folder::new("proxied");
    let listener = listener();
    let address = listener.local_addr().unwrap();
    let mut config = folder.config();
    behind_balancer(&mut config);
    config.bootstrap_token = Some(Secret::new(TOKEN));
    (config.ops_port, config.quotas_guests_per_hour) = (Some(0), 1);
    let (leave, left) = oneshot::channel::<()>();
    let (ready, is_ready) = oneshot::channel();
    let served = tokio::spawn(serve(config, no_trials(), listener, never(), || ready.send(()).unwrap(), async {
        let _ = left.await;
    }));
    is_ready.await.unwrap();
    let read = request(READ, "", "");
    let admin = format!("Authorization: Bearer {TOKEN}\r\n");

    // An operator behind the balancer bans another client behind it.
    let ban = request("POST /api/admin/bans", &admin, r#"{"address":"192.0.2.7","reason":"floods"}"#);
    let made = answer(BALANCER, address, &[&header_of(GOOD), &ban]).await;
    assert!(made.starts_with("HTTP/1.1 201"), "{made}");
    let audit = answer(DIRECT, address, &[&request("GET /api/admin/audit", &admin, "")]).await;
    assert!(audit.contains(r#""address":"192.0.2.8""#), "{audit}");

    let forwarded = |client: &str| request(READ, &format!("X-Forwarded-For: {client}\r\n"), "");
    for (host, header, sent, want) in [
        (BALANCER, header_of(GOOD), read.clone(), "200"),
        (BALANCER, header_of(BAD), read.clone(), "403"),
        // A proxy of layer 7 behind the balancer is believed; a client is not.
        (BALANCER, header_of(LAYER_7), forwarded("192.0.2.7"), "403"),
        (BALANCER, header_of(LAYER_7), forwarded("192.0.2.8"), "200"),
        (BALANCER, header_of(GOOD), forwarded("192.0.2.7"), "200"),
        (BALANCER, header_of(BAD), forwarded("192.0.2.8"), "403"),
        // Another address cannot claim to be a client.
        (2, header_of(GOOD), read.clone(), "400"),
        (2, Vec::new(), read.clone(), "200"),
    ] {
        let received = answer(host, address, &[&header, &sent]).await;
        assert!(received.starts_with(&format!("HTTP/1.1 {want}")), "127.0.0.{host} {header:?}: {received}");
    }
    assert_eq!(answer(BALANCER, address, &[&read]).await, "", "the balancer must send a header");
    for (client, is_banned) in [(GOOD, false), (BAD, true)] {
        let frames = answer(BALANCER, address, &[&header_of(client), NO_REQUEST]).await;
        assert_eq!(frames.contains("banned"), is_banned, "{client:?}: {frames:?}");
    }

    let guest = request("POST /api/stories/guests", "", r#"{"name":"Gus"}"#);
    for (client, want) in [(GOOD, "201"), (GOOD, "429"), ([192, 0, 2, 9], "201")] {
        let received = answer(BALANCER, address, &[&header_of(client), &guest]).await;
        assert!(received.starts_with(&format!("HTTP/1.1 {want}")), "{client:?}: {received}");
    }

    // The port for operators takes no header, from no address.
    let shown = answer(DIRECT, address, &[&request("GET /api/admin/config", &admin, "")]).await;
    let port: u16 =
        shown.split_once(r#""server.ops_port","value":""#).unwrap().1.split('"').next().unwrap().parse().unwrap();
    let ops = SocketAddr::from(([127, 0, 0, 1], port));
    let health = request("GET /healthz", "", "");
    assert!(answer(BALANCER, ops, &[&health]).await.starts_with("HTTP/1.1 200"));
    assert!(answer(BALANCER, ops, &[&header_of(GOOD), &health]).await.starts_with("HTTP/1.1 400"));

    leave.send(()).unwrap();
    served.await.unwrap().unwrap();
}

#[tokio::test]
async fn the_header_comes_before_the_handshake() {
    let server = TlsServer::start_with("proxied-tls", behind_balancer).await;
    for (version, cut) in [(&version::TLS12, 28), (&version::TLS13, 3)] {
        let mut tcp = connect_as(BALANCER, server.address).await;
        let header = header_of(GOOD);
        tcp.write_all(&header[..cut]).await.unwrap();
        tcp.write_all(&header[cut..]).await.unwrap();
        let mut client = handshake(tcp, &server.certificate, version).await.unwrap();
        assert_eq!(exchange(&mut client).await, "HTTP/1.1 200 OK");
        assert_eq!(exchange(&mut client).await, "HTTP/1.1 200 OK", "again on the same connection");
    }
    let direct = handshake(connect_as(2, server.address).await, &server.certificate, &version::TLS13).await;
    assert_eq!(exchange(&mut direct.unwrap()).await, "HTTP/1.1 200 OK");
    for (host, is_header_sent) in [(BALANCER, false), (2, true)] {
        let mut tcp = connect_as(host, server.address).await;
        if is_header_sent {
            tcp.write_all(&header_of(GOOD)).await.unwrap();
        }
        assert!(handshake(tcp, &server.certificate, &version::TLS13).await.is_err(), "127.0.0.{host}");
    }
    server.stop().await;
}
