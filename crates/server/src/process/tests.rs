//! A whole process, from start to drain, on its own data file.

mod proxied;
mod telemetry;
mod tls;

use super::*;
use std::path::PathBuf;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;

/// A folder that is removed on drop.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("gauntlet-{name}-{}", std::process::id())))
    }

    fn config(&self) -> Config {
        let mut config = Config::default();
        config.data = self.0.join("games.db");
        config
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn listener() -> TcpListener {
    bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap()
}

/// A channel without reloads of the policies.
fn never() -> mpsc::Receiver<()> {
    mpsc::channel(1).1
}

fn no_trials() -> TrialsHandle {
    TrialsHandle::new(None)
}

/// The whole response as text.
async fn get(address: SocketAddr, path: &str, token: &str) -> String {
    call(address, &format!("GET {path}"), token).await
}

/// The same of any method: `line` is the method and the path.
async fn call(address: SocketAddr, line: &str, token: &str) -> String {
    let mut client = TcpStream::connect(address).await.unwrap();
    let request = format!("{line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n\r\n");
    client.write_all(request.as_bytes()).await.unwrap();
    let mut response = String::new();
    client.read_to_string(&mut response).await.unwrap();
    response
}

#[tokio::test]
async fn a_process_serves_refuses_a_rival_and_drains() {
    let folder = Folder::new("process");
    let (listener, token) = (listener(), "0123456789abcdef");
    let address = listener.local_addr().unwrap();
    let mut config = folder.config();
    config.bootstrap_token = Some(Secret::new(token));
    let (leave, left) = oneshot::channel::<()>();
    let served = tokio::spawn(serve(config, no_trials(), listener, never(), || (), async {
        let _ = left.await;
    }));

    while !get(address, "/readyz", "").await.starts_with("HTTP/1.1 200") {}
    let shown = get(address, "/api/admin/config", token).await;
    let port = format!(r#"{{"key":"server.port","value":"{}""#, address.port());
    assert!(shown.contains(&port), "the port that was got is the one that is shown: {shown}");

    let rival = serve(folder.config(), no_trials(), self::listener(), never(), || (), std::future::pending())
        .await
        .unwrap_err();
    assert!(matches!(rival, ServeError::StoreLocation(StoreLocationError::InUse { .. })), "{rival}");

    leave.send(()).unwrap();
    served.await.unwrap().unwrap();
    TcpStream::connect(address).await.unwrap_err();
    serve(folder.config(), no_trials(), self::listener(), never(), || (), async {}).await.unwrap();
}

#[tokio::test]
async fn a_process_drains_when_an_admin_asks_for_it() {
    let folder = Folder::new("asked");
    let (listener, token) = (listener(), "0123456789abcdef");
    let address = listener.local_addr().unwrap();
    let mut config = folder.config();
    config.bootstrap_token = Some(Secret::new(token));
    let served = tokio::spawn(serve(config, no_trials(), listener, never(), || (), std::future::pending()));
    while !get(address, "/readyz", "").await.starts_with("HTTP/1.1 200") {}

    assert!(call(address, "POST /api/admin/drain", "").await.starts_with("HTTP/1.1 401"));
    assert!(get(address, "/readyz", "").await.starts_with("HTTP/1.1 200"), "a stranger ends nothing");
    // A connection that waits, as browsers keep it, does not hold up the end.
    let _idle = known(address, token).await;
    let drains = call(address, "POST /api/admin/drain", token).await;
    assert!(drains.starts_with("HTTP/1.1 202") && drains.contains(r#""ends_within_ms":5000"#), "{drains}");
    served.await.unwrap().unwrap();
    TcpStream::connect(address).await.unwrap_err();
    serve(folder.config(), no_trials(), self::listener(), never(), || (), async {}).await.unwrap();
}

#[tokio::test]
async fn actors_outside_of_the_plaza_are_refused_with_what_to_do() {
    let folder = Folder::new("spawn");
    let mut config = folder.config();
    (config.worlds_actors, config.worlds_actor_spawn) = (1, Some(rules::world::Cell { x: 1_000, y: 7 }));
    let refused = serve(config, no_trials(), listener(), never(), || (), async {}).await.unwrap_err().to_string();
    let want = "actors cannot begin at 1000,7: the world plaza has 1000 x 1000 cells; choose x from 0 to 999 and y from 0 to 999, \
                with --actor-spawn; or off: each begins anywhere";
    assert_eq!(refused, want);
}

#[tokio::test]
async fn proxies_are_served_until_the_drain() {
    use envoy_types::pb::envoy::extensions::common::ratelimit::v3::{
        RateLimitDescriptor, rate_limit_descriptor::Entry,
    };
    use envoy_types::pb::envoy::service::ratelimit::v3::RateLimitRequest;
    use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_service_client::RateLimitServiceClient;

    let folder = Folder::new("proxies");
    let (listener, token) = (listener(), "0123456789abcdef");
    let address = listener.local_addr().unwrap();
    let mut config = folder.config();
    (config.serve_mode, config.limiter_service, config.limiter_grpc_port) = (ServeMode::Limiter, true, Some(0));
    config.bootstrap_token = Some(Secret::new(token));
    let (leave, left) = oneshot::channel::<()>();
    let served = tokio::spawn(serve(config, no_trials(), listener, never(), || (), async {
        let _ = left.await;
    }));

    let shown = get(address, "/api/admin/config", token).await;
    let port = shown.split_once(r#""limiter.grpc_port","value":""#).unwrap().1.split('"').next().unwrap().to_owned();
    let mut client = RateLimitServiceClient::connect(format!("http://127.0.0.1:{port}")).await.unwrap();
    let descriptor = RateLimitDescriptor {
        entries: vec![Entry { key: "user".to_owned(), value: "1".to_owned() }],
        ..RateLimitDescriptor::default()
    };
    let request = RateLimitRequest { domain: "shop".to_owned(), descriptors: vec![descriptor], hits_addend: 0 };
    let response = client.should_rate_limit(request).await.unwrap().into_inner();
    assert_eq!((response.overall_code, response.statuses.len()), (1, 1));

    leave.send(()).unwrap();
    served.await.unwrap().unwrap();
    TcpStream::connect(format!("127.0.0.1:{port}")).await.unwrap_err();
}

#[tokio::test]
async fn a_busy_port_is_named_with_what_to_do() {
    let taken = listener();
    let refused = bind(taken.local_addr().unwrap()).unwrap_err().to_string();
    let want = format!("cannot listen on {}: another program listens there; ", taken.local_addr().unwrap());
    assert!(refused.starts_with(&want), "{refused}");
}

/// A connection that stays open after a successful request with this token.
async fn known(address: SocketAddr, token: &str) -> TcpStream {
    let mut client = TcpStream::connect(address).await.unwrap();
    let request = format!("GET /api/admin/config HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n");
    client.write_all(request.as_bytes()).await.unwrap();
    let mut status = [0; 12];
    client.read_exact(&mut status).await.unwrap();
    assert_eq!(&status, b"HTTP/1.1 200");
    client
}

/// Fills the API's connections, and checks that operators are still served.
async fn check_full(serves: ServeMode) {
    let folder = Folder::new(&format!("full-{serves:?}"));
    let (listener, token) = (listener(), "0123456789abcdef");
    let address = listener.local_addr().unwrap();
    let mut config = folder.config();
    (config.serve_mode, config.limiter_service) = (serves, serves == ServeMode::Limiter);
    (config.http_connections_max, config.ops_port) = (2, Some(0));
    config.bootstrap_token = Some(Secret::new(token));
    let (leave, left) = oneshot::channel::<()>();
    let served = tokio::spawn(serve(config, no_trials(), listener, never(), || (), async {
        let _ = left.await;
    }));
    while !get(address, "/readyz", "").await.starts_with("HTTP/1.1 200") {}
    let shown = get(address, "/api/admin/config", token).await;
    let port = shown.split_once(r#""server.ops_port","value":""#).unwrap().1.split('"').next().unwrap();
    let ops = SocketAddr::from(([127, 0, 0, 1], port.parse().unwrap()));
    // A closed connection may still be counted for a moment.
    while !get(ops, "/metrics", "").await.contains("\ngauntlet_http_connections 1\n") {}
    let _held = [known(address, token).await, known(address, token).await];

    let refused = get(address, "/healthz", "").await;
    assert!(refused.starts_with("HTTP/1.1 503 ") && refused.contains(r#""code":"connections_full""#), "{refused}");
    for path in ["/healthz", "/readyz", "/metrics", "/api/admin/stats", "/api/admin/config"] {
        let response = get(ops, path, token).await;
        assert!(response.starts_with("HTTP/1.1 200 "), "{path}: {response}");
    }
    let stats = get(ops, "/api/admin/stats", token).await;
    assert!(stats.contains(r#","max":2,"refused_full":1,"refused_address":0,"evicted":"#), "{stats}");
    assert!(get(ops, "/api/admin/stats", "").await.starts_with("HTTP/1.1 401 "), "only operators may read it");
    assert!(get(ops, "/api/games", token).await.starts_with("HTTP/1.1 404 "), "games are elsewhere");

    leave.send(()).unwrap();
    served.await.unwrap().unwrap();
    TcpStream::connect(ops).await.unwrap_err();
}

#[tokio::test]
async fn operators_are_served_while_the_api_is_full() {
    check_full(ServeMode::All).await;
    check_full(ServeMode::Limiter).await;
}
