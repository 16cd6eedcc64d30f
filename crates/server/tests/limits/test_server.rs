//! A server with its rate limiter open, and clients that speak HTTP as they like.

use engine::commands::{Command, Outcome};
use engine::ids::AccountId;
use engine::rows::Account;
use engine::time::UnixMs;
use gateway::Gateway;
use gateway::app::{App, AppState};
use gateway::auth::BootstrapToken;
use gateway::listener;
use http::HeaderMap;
use metrics::Metrics;
use rate_limit::rules::{RuleOwner, RuleSources};
use rate_limit::{LimitClock, RateLimiter};
use serde_json::Value;
use server::assembly::assemble;
use settings::Config;
use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use store::testing::MemoryDatabase;
use store::{Database, Store, StoreConfig};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

/// The secret of a token that may do everything.
pub(crate) const TOKEN: &str = "0123456789abcdef";
/// What has not come after this time does not come any more.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server.
pub(crate) struct TestServer {
    pub(crate) app: App,
    pub(crate) clock: LimitClock,
    pub(crate) address: SocketAddr,
}

impl TestServer {
    /// A server with these policies in its file.
    pub(crate) async fn open(policies: &str) -> Self {
        Self::open_with(policies, Arc::new(MemoryDatabase::new()), |_| {}).await
    }

    pub(crate) async fn open_with(
        policies: &str,
        database: Arc<dyn Database>,
        configure: impl FnOnce(&mut Config),
    ) -> Self {
        let mut config = Config::default();
        config.limiter_service = true;
        config.http_connections_max = 2_000;
        config.open_files_max = 4_000;
        configure(&mut config);
        let metrics = Arc::new(Metrics::default());
        let store = Store::open(database, StoreConfig { readers: 2 }, metrics.clone()).unwrap();
        let account = Account { id: AccountId(1), name: "server".to_owned(), created_at: UnixMs(0) };
        assert_eq!(store.commit(Command::EnsureAccount(account)).await.unwrap(), Outcome::Account(AccountId(1)));
        let clock = LimitClock::manual();
        let limits = Arc::new(RateLimiter::with_clock(
            server::subsystem_configs::rate_limit(&config),
            metrics.clone(),
            clock.clone(),
        ));
        let bootstrap = Some(BootstrapToken::new(TOKEN, AccountId(1)));
        let app = App::from(AppState { limits, ..assemble(store, Arc::new(config), metrics, bootstrap) });
        let file = PolicyFile::new(policies);
        let inbox = app.limits.take_inbox().unwrap();
        let sources = RuleSources { path: Some(file.0.clone()), has_built_in: app.config.limiter_defaults };
        let keeper = RuleOwner::start(app.limits.clone(), app.node.store.clone(), sources, inbox).await.unwrap();
        tokio::spawn(async move {
            keeper.run().await;
            drop(file);
        });
        let door = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = door.local_addr().unwrap();
        let limits = listener::ListenerConfig::of(&app.config, Duration::from_secs(1));
        let (front, metrics) = (Gateway::new(app.clone()), app.metrics.clone());
        tokio::spawn(listener::serve(door, front, limits, metrics, std::future::pending()));
        Self { app, clock, address }
    }

    pub(crate) async fn connect(&self) -> Client {
        Client { stream: TcpStream::connect(self.address).await.unwrap(), unread: Vec::new() }
    }

    /// One request on a connection of its own.
    pub(crate) async fn send(&self, request: &Request) -> Reply {
        self.connect().await.send(request).await
    }

    /// The value of a sample of `/metrics`; `None` where it is not on the page.
    pub(crate) async fn sample(&self, name: &str) -> Option<String> {
        let page = self.send(&Request::new("GET /metrics")).await;
        page.text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')).map(str::to_owned)
    }
}

/// A file of policies that goes with its owner.
struct PolicyFile(PathBuf);

impl PolicyFile {
    fn new(text: &str) -> Self {
        let name: [u8; 8] = node::clock::random_bytes();
        let path = std::env::temp_dir().join(format!("gauntlet-policies-{}.toml", u64::from_ne_bytes(name)));
        std::fs::write(&path, text).unwrap();
        Self(path)
    }
}

impl Drop for PolicyFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A request in the making.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    line: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    /// What follows the head as it is.
    framed: Vec<u8>,
}

impl Request {
    /// `line` is the method and the path with its query.
    pub(crate) fn new(line: &str) -> Self {
        Self { line: line.to_owned(), headers: Vec::new(), body: Vec::new(), framed: Vec::new() }
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// By an admin, who may do everything.
    pub(crate) fn by_admin(self) -> Self {
        self.header("authorization", &format!("Bearer {TOKEN}"))
    }

    pub(crate) fn body(mut self, media_type: &str, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        if media_type.is_empty() { self } else { self.header("content-type", media_type) }
    }

    /// A body whose framing the headers tell.
    pub(crate) fn without_length(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.framed = body.into();
        self
    }

    pub(crate) fn json(self, body: &Value) -> Self {
        self.body("application/json", body.to_string())
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        write!(bytes, "{} HTTP/1.1\r\nhost: x\r\n", self.line).unwrap();
        for (name, value) in &self.headers {
            write!(bytes, "{name}: {value}\r\n").unwrap();
        }
        if !self.body.is_empty() {
            write!(bytes, "content-length: {}\r\n", self.body.len()).unwrap();
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(&self.body);
        bytes.extend_from_slice(&self.framed);
        bytes
    }
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
    /// The body as JSON; null when it is none.
    pub(crate) body: Value,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

/// A connection that is kept.
pub(crate) struct Client {
    stream: TcpStream,
    unread: Vec<u8>,
}

impl Client {
    pub(crate) async fn send(&mut self, request: &Request) -> Reply {
        // A server may answer before it has read all, and close: what it says counts.
        let _ = self.stream.write_all(&request.bytes()).await;
        timeout(PATIENCE, self.reply(request.line.starts_with("HEAD"))).await.expect("an answer comes")
    }

    async fn reply(&mut self, is_head: bool) -> Reply {
        let end = loop {
            if let Some(at) = self.unread.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
                break at + 4;
            }
            self.read_more().await;
        };
        let head = String::from_utf8(self.unread.drain(..end).collect()).unwrap();
        let mut lines = head.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let headers = lines.filter_map(|line| line.split_once(": "));
        let headers: HeaderMap =
            headers.map(|(name, value)| (name.parse::<http::HeaderName>().unwrap(), value.parse().unwrap())).collect();
        let length = headers.get("content-length").map_or(0, |value| value.to_str().unwrap().parse().unwrap());
        let length = if is_head { 0 } else { length };
        while self.unread.len() < length {
            self.read_more().await;
        }
        let text = String::from_utf8(self.unread.drain(..length).collect()).unwrap();
        let body = serde_json::from_str(&text).unwrap_or_default();
        Reply { status, headers, text, body }
    }

    async fn read_more(&mut self) {
        let mut bytes = [0; 16_384];
        let read = self.stream.read(&mut bytes).await.unwrap();
        assert!(read > 0, "the connection was closed without an answer: {:?}", String::from_utf8_lossy(&self.unread));
        self.unread.extend_from_slice(&bytes[..read]);
    }
}
