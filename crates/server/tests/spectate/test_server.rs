//! A server on a free port of this machine, and its matches.

use super::scribe::Scribe;
use axum::extract::ConnectInfo;
use engine::commands::{Command, CreateMatches, Outcome};
use engine::ids::{AccountId, BotId, MatchId};
use engine::matches::lifecycle::MatchState;
use engine::matches::spec::{MatchSpec, SeatSpec};
use engine::rows::{Account, Bot};
use engine::time::UnixMs;
use gateway::app::App;
use gateway::auth::BootstrapToken;
use gateway::listener::{self, ListenerConfig};
use gateway::router;
use http_body_util::BodyExt;
use metrics::Metrics;
use node::clock::random_bytes;
use rules::chance::Seed;
use rules::snake::{Map, Rules, Ruleset, Settings};
use serde_json::Value;
use server::assembly::assemble;
use settings::Config;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use store::testing::MemoryDatabase;
use store::{Backend, Database, Reader, Store, StoreConfig, StoreError};
use tokio::net::TcpSocket;
use tokio::time::{Instant, sleep};
use tower::ServiceExt;

/// What has not come after this time does not come any more.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
const OWNER: AccountId = AccountId(0xa);
/// An admin's token.
const TOKEN: &str = "an-admin-for-the-test";
/// The kernel's buffer of a connection, in bytes; it rounds up to a few thousand. Far less than the frames of any match here.
pub(crate) const SOCKET_BYTES: u32 = 4_096;

/// The memory store, as if other processes shared it: their commits cause no notifications.
pub(crate) struct Shared(pub(crate) MemoryDatabase);

impl Database for Shared {
    fn writer(&self) -> Result<Box<dyn Backend>, StoreError> {
        self.0.writer()
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        self.0.reader()
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn kind(&self) -> &'static str {
        "shared memory"
    }
}

/// A server that plays no match until [`TestServer::play`].
pub(crate) struct TestServer {
    pub(crate) app: App,
    pub(crate) address: SocketAddr,
}

impl TestServer {
    pub(crate) async fn open() -> Self {
        Self::open_on(Arc::new(MemoryDatabase::new())).await
    }

    pub(crate) async fn open_on(database: Arc<dyn Database>) -> Self {
        Self::open_with(database, |_| {}).await
    }

    pub(crate) async fn open_with(database: Arc<dyn Database>, configure: impl FnOnce(&mut Config)) -> Self {
        let mut config = Config::default();
        config.allow_private_bots = true;
        configure(&mut config);
        let metrics = Arc::new(Metrics::default());
        let store = Store::open(database, StoreConfig { readers: 2 }, metrics.clone()).unwrap();
        let app = App::from(assemble(store, Arc::new(config), metrics, Some(BootstrapToken::new(TOKEN, OWNER))));
        let account = Account { id: OWNER, name: "owner".to_owned(), created_at: UnixMs(0) };
        assert_eq!(app.node.store.commit(Command::EnsureAccount(account)).await, Ok(Outcome::Account(OWNER)));
        let address = let_in(&app);
        Self { app, address }
    }

    /// Starts to play the waiting matches.
    pub(crate) fn play(&self) {
        tokio::spawn(server::owners::play_matches(self.app.clone()));
    }

    /// Registers the bot that sits in every match here.
    pub(crate) async fn register(&self, id: BotId) {
        let (name, url, now) = ("bot".to_owned(), "http://bot.example".to_owned(), UnixMs(0));
        let bot = Bot { id, account: OWNER, name, url, is_public: false, created_at: now, updated_at: now };
        assert_eq!(self.app.node.store.commit(Command::CreateBot(bot)).await, Ok(Outcome::Done));
    }

    /// A match of bots at these URLs, which is not played yet.
    pub(crate) async fn create(&self, urls: &[String], timeout_ms: u16) -> MatchSpec {
        let spec = self.spec(urls, timeout_ms);
        self.put(spec.clone()).await;
        spec
    }

    fn spec(&self, urls: &[String], timeout_ms: u16) -> MatchSpec {
        let now = self.app.node.clock.now();
        let seat = |url: &String| SeatSpec {
            bot: BotId(1),
            name: "bot".to_owned(),
            owner: "ann".to_owned(),
            url: url.clone(),
        };
        MatchSpec {
            id: MatchId::new(now, random_bytes()),
            rules: Rules::for_snakes(Ruleset::Standard, Map::Standard, Settings::default(), urls.len() as u8),
            width: 11,
            height: 11,
            seed: Seed(7),
            timeout_ms,
            turns_max: 5_000,
            is_public: false,
            origin: None,
            seats: urls.iter().map(seat).collect(),
        }
    }

    async fn put(&self, spec: MatchSpec) {
        let now = self.app.node.clock.now();
        let create = CreateMatches { account: OWNER, idempotency: None, matches: vec![spec], now };
        assert_eq!(self.app.node.store.commit(Command::CreateMatches(create)).await, Ok(Outcome::Done));
        self.app.notifier.notify_queue();
    }

    /// A finished match of so many turns: one snake walks the board's cells in a circle and eats the food on its way.
    pub(crate) async fn long_match(&self, turns: u32) -> MatchId {
        let mut spec = self.spec(&["http://nowhere.example".to_owned()], 500);
        // One piece of food at a time: it grows slowly, and a round is shorter than its health.
        let settings = Settings { food_spawn_chance: 0, ..Settings::default() };
        spec.rules = Rules::for_snakes(Ruleset::Solo, Map::Standard, settings, 1);
        (spec.width, spec.height, spec.turns_max) = (10, 8, turns);
        let id = spec.id;
        self.put(spec).await;
        let mut scribe = Scribe::take(self).await;
        scribe.play_round(turns).await;
        scribe.finish().await;
        id
    }

    /// Waits until a match is in this state.
    pub(crate) async fn wait_for(&self, id: MatchId, state: MatchState) {
        self.until(&format!("match {id} is {}", state.name()), async || {
            let found = self.app.node.store.read(move |reader| reader.match_by_id(id)).await.unwrap();
            found.unwrap().status.state == state
        })
        .await;
    }

    /// Waits until this many matches are watched.
    pub(crate) async fn wait_for_watched(&self, count: usize) {
        self.until("viewers are registered", async || self.app.notifier.subscribed_matches() == count).await;
    }

    async fn until(&self, what: &str, is_so: impl AsyncFn() -> bool) {
        let end = Instant::now() + PATIENCE;
        while !is_so().await {
            assert!(Instant::now() < end, "waited in vain: {what}");
            sleep(Duration::from_millis(5)).await;
        }
    }

    /// All frames of a match, as the pages return them.
    pub(crate) async fn pages(&self, id: MatchId, limit: usize) -> Vec<Value> {
        let mut frames = Vec::new();
        loop {
            let page = self.get(&format!("/api/games/{id}/frames?offset={}&limit={limit}", frames.len())).await;
            let new = page["frames"].as_array().unwrap();
            assert!(new.len() <= limit);
            if new.is_empty() {
                assert_eq!(page["count"], frames.len(), "the count is that of all frames");
                return frames;
            }
            frames.extend(new.iter().cloned());
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        let response = self.ask(path, [127, 0, 0, 1]).await;
        assert_eq!(response.status(), 200, "{path}");
        serde_json::from_slice(&response.into_body().collect().await.unwrap().to_bytes()).unwrap()
    }

    /// The response to a client at this address; its body is produced as it is read.
    pub(crate) async fn ask(&self, path: &str, address: [u8; 4]) -> http::Response<axum::body::Body> {
        let mut request = http::Request::get(path).header("authorization", format!("Bearer {TOKEN}"));
        request.extensions_mut().unwrap().insert(ConnectInfo(SocketAddr::from((address, 4_711))));
        router(self.app.clone()).oneshot(request.body(axum::body::Body::empty()).unwrap()).await.unwrap()
    }

    /// The value of this sample on the metrics page; 0 where it is missing.
    pub(crate) fn sample(&self, name: &str) -> u64 {
        let page = self.app.metrics.page().into_text();
        let value = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.map_or(0, |value| value.parse().unwrap())
    }
}

/// Starts the listener. Connections have small buffers, so that writes to a client that does not read block soon.
fn let_in(app: &App) -> SocketAddr {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_send_buffer_size(SOCKET_BYTES).unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(64).unwrap();
    let address = listener.local_addr().unwrap();
    let limits = ListenerConfig::of(&app.config, Duration::from_secs(1));
    let (router, metrics, drain) = (router(app.clone()), app.metrics.clone(), app.drain.clone());
    tokio::spawn(async move {
        listener::serve(listener, router, limits, metrics, async move { drain.begun().await }).await;
    });
    address
}
