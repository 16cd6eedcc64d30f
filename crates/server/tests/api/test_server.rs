//! A whole server without a socket: the front desk, a memory store, two accounts and a token for every role. Nothing here asks the
//! store by itself, so that tests may count what a request asks.

use axum::body::{Body, Bytes};
use axum::http::request::Builder;
use axum::http::{HeaderMap, Method, Request, Response, StatusCode, header};
use engine::commands::{ClaimedMatch, Command, Outcome};
use engine::digest::digest;
use engine::ids::{AccountId, BotId, MatchId, TableId, TokenId, WorkerId};
use engine::matches::slots::SlotUsage;
use engine::rows::{Account, Bot, Role, Token, TokenPurpose};
use engine::time::UnixMs;
use gateway::app::{App, AppState};
use gateway::auth::BootstrapToken;
use gateway::trials::TrialsHandle;
use gateway::{Gateway, ResponseBody};
use http_body_util::BodyExt;
use metrics::Metrics;
use rate_limit::rules::{RuleOwner, RuleSources};
use serde_json::Value;
use server::assembly::assemble;
use settings::Config;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use store::testing::MemoryDatabase;
use store::testing::TempDir;
use store::{Database, Store, StoreConfig};
use tables::TableError;
use telemetry::{CollectorConfig, ResourceAttributes, Sampler, SpanExporter, Tracer};

/// The account that most requests speak for.
pub(crate) const ANN: AccountId = AccountId(0xa);
/// Another account.
pub(crate) const BOB: AccountId = AccountId(0xb);
/// The account of the bootstrap token.
pub(crate) const HOUSE: AccountId = AccountId(0xc);
/// The secret of the bootstrap token.
pub(crate) const BOOTSTRAP: &str = "bootstrap-secret";
/// The secret of a player's token of Ann's that is for load tests.
pub(crate) const LOAD_TEST: &str = "load-test";
/// The secret of an operator's token of another account than Ann's: what it may do, it may do for others.
pub(crate) const OTHER_OPERATOR: &str = "other-operator";
/// A bot of Ann's that no other account may use.
pub(crate) const ANNS: BotId = BotId(0x1a);
/// A public bot of Bob's.
pub(crate) const BOBS_PUBLIC: BotId = BotId(0x1b);
/// A private bot of Bob's.
pub(crate) const BOBS_PRIVATE: BotId = BotId(0x2b);
/// The file of policies in a server's folder.
const POLICIES: &str = "policies.toml";
/// Where requests come from.
const CLIENT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 40_000);
/// Who claims matches in these tests.
pub(crate) const WORKER: WorkerId = WorkerId(0xf);

/// The tracer of this configuration. What it records is sent to no collector.
fn tracer(config: &Config, metrics: &Arc<Metrics>) -> Tracer {
    let Some(endpoint) = &config.telemetry_otlp_endpoint else { return Tracer::OFF };
    let sampler = config.telemetry_sampler;
    let sampler = Sampler::new(sampler.ratio(config.telemetry_sampler_ratio), sampler.follows_callers());
    let collector = CollectorConfig {
        is_tls: endpoint.is_tls,
        authority: endpoint.authority.clone(),
        path: endpoint.path.clone(),
        headers: HeaderMap::new(),
        timeout: config.telemetry_otlp_timeout,
    };
    SpanExporter::new(sampler, collector, ResourceAttributes::default(), metrics.clone()).0
}

/// A server.
pub(crate) struct TestServer {
    pub(crate) app: App,
    front: Gateway,
    folder: TempDir,
    /// Claims of [`WORKER`] so far.
    claims: AtomicU64,
}

impl TestServer {
    /// A server that allows private bots.
    pub(crate) async fn open() -> Self {
        Self::open_with(Arc::new(MemoryDatabase::new()), |config| config.allow_private_bots = true).await
    }

    /// A server that shows these trials.
    pub(crate) async fn open_with_trials(trials: TrialsHandle) -> Self {
        Self::open_all(Arc::new(MemoryDatabase::new()), |_| {}, trials).await
    }

    /// A server on this database, with this configuration.
    pub(crate) async fn open_with(database: Arc<dyn Database>, configure: impl FnOnce(&mut Config)) -> Self {
        Self::open_all(database, configure, TrialsHandle::new(None)).await
    }

    async fn open_all(database: Arc<dyn Database>, configure: impl FnOnce(&mut Config), trials: TrialsHandle) -> Self {
        let mut config = Config::default();
        config.limiter_service = true;
        configure(&mut config);
        let metrics = Arc::new(Metrics::default());
        let store = Store::open(database, StoreConfig { readers: 2 }, metrics.clone()).unwrap();
        let bootstrap = Some(BootstrapToken::new(BOOTSTRAP, HOUSE));
        let tracer = tracer(&config, &metrics);
        let app = App::from(AppState { trials, tracer, ..assemble(store, Arc::new(config), metrics, bootstrap) });
        let folder = TempDir::new();
        let file = folder.path().join(POLICIES);
        std::fs::write(&file, "").unwrap();
        let inbox = app.limits.take_inbox().unwrap();
        let sources = RuleSources { path: Some(file), has_built_in: app.config.limiter_defaults };
        tokio::spawn(RuleOwner::start(app.limits.clone(), app.node.store.clone(), sources, inbox).await.unwrap().run());
        tokio::spawn(server::owners::own_tables(app.clone()));
        let server = Self { front: Gateway::new(app.clone()), app, folder, claims: AtomicU64::new(0) };
        server.furnish().await;
        server
    }

    /// Tables are there once their keepers have a lease.
    async fn wait_for_tables(&self) {
        while matches!(self.app.tables.view(TableId(0), None).await, Err(TableError::NotServing)) {
            tokio::task::yield_now().await;
        }
    }

    async fn furnish(&self) {
        self.wait_for_tables().await;
        for (id, name) in [(ANN, "ann"), (BOB, "bob"), (HOUSE, "server")] {
            let account = Account { id, name: name.to_owned(), created_at: UnixMs(0) };
            assert_eq!(self.commit(Command::EnsureAccount(account)).await, Outcome::Account(id));
        }
        for (number, role) in Role::ALL.into_iter().enumerate() {
            self.add_token(TokenId(number as u128), ANN, role, TokenPurpose::Use, role.name()).await;
        }
        self.add_token(TokenId(8), ANN, Role::Player, TokenPurpose::LoadTest, LOAD_TEST).await;
        self.add_token(TokenId(9), BOB, Role::Player, TokenPurpose::Use, "bob").await;
        self.add_token(TokenId(10), HOUSE, Role::Operator, TokenPurpose::Use, OTHER_OPERATOR).await;
        for (id, account, is_public) in [(ANNS, ANN, false), (BOBS_PUBLIC, BOB, true), (BOBS_PRIVATE, BOB, false)] {
            let (name, url) = (format!("bot {:x}", id.0), "http://127.0.0.1:4100/hungry".to_owned());
            let bot = Bot { id, account, name, url, is_public, created_at: UnixMs(0), updated_at: UnixMs(0) };
            self.put(Command::CreateBot(bot)).await;
        }
    }

    pub(crate) async fn add_token(
        &self,
        id: TokenId,
        account: AccountId,
        role: Role,
        purpose: TokenPurpose,
        secret: &str,
    ) {
        let (name, digest) = (secret.to_owned(), digest(secret));
        let token = Token {
            id,
            account,
            name,
            role,
            purpose,
            digest,
            created_at: UnixMs(0),
            last_used_at: None,
            expires_at: None,
            is_session: false,
        };
        self.put(Command::CreateToken(token)).await;
    }

    /// Adds something that another server on the same database may have added.
    async fn put(&self, command: Command) {
        let outcome = self.commit(command).await;
        assert!(matches!(outcome, Outcome::Done | Outcome::Duplicate), "{outcome:?}");
    }

    /// Puts the policies of this file into force.
    pub(crate) async fn limit(&self, policies: &str) {
        std::fs::write(self.folder.path().join(POLICIES), policies).unwrap();
        self.app.limits.reload().await.unwrap();
    }

    /// The value of this sample on the page of figures; 0 where it is not there.
    pub(crate) fn sample(&self, name: &str) -> u64 {
        let page = self.app.metrics.page().into_text();
        let value = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.map_or(0, |value| value.parse().unwrap())
    }

    /// The gateway that answers requests, for a door.
    pub(crate) fn front(&self) -> Gateway {
        self.front.clone()
    }

    /// Answers a request that was made by hand.
    pub(crate) async fn answer(&self, request: Request<Body>) -> Response<ResponseBody> {
        self.front.call(CLIENT, request).await
    }

    /// Does something behind the API's back.
    pub(crate) async fn commit(&self, command: Command) -> Outcome {
        self.app.node.store.commit(command).await.unwrap()
    }

    /// Takes everything that waits for [`WORKER`].
    pub(crate) async fn claim(&self) -> Vec<MatchId> {
        self.claim_all().await.into_iter().map(|claimed| claimed.spec.id).collect()
    }

    /// Takes the only match that waits.
    pub(crate) async fn claim_one(&self) -> ClaimedMatch {
        let mut claimed = self.claim_all().await;
        assert_eq!(claimed.len(), 1, "matches wait");
        claimed.remove(0)
    }

    async fn claim_all(&self) -> Vec<ClaimedMatch> {
        let now = self.app.node.clock.now();
        let number = self.claims.fetch_add(1, Ordering::Relaxed) + 1;
        let (worker, until, address) = (WORKER, now.plus(Duration::from_secs(60)), "127.0.0.1:4000".to_owned());
        assert_eq!(self.commit(Command::RenewLease { worker, address, now, until }).await, Outcome::Done);
        match self
            .commit(Command::ClaimMatches {
                worker,
                number,
                now,
                max: 1_000,
                slots: SlotUsage::new(9_999),
                attempts_max: 5,
            })
            .await
        {
            Outcome::MatchesClaimed(claimed) => claimed,
            other => panic!("a claim came to {other:?}"),
        }
    }

    /// A request in the making, by a player of Ann's: `line` is the method and the path with its query.
    pub(crate) fn call(&self, line: &str) -> Call {
        let (method, uri) = line.split_once(' ').unwrap();
        let request = Request::builder().method(method.parse::<Method>().unwrap()).uri(uri);
        let call =
            Call { front: self.front.clone(), client: CLIENT, line: line.to_owned(), request, body: Body::empty() };
        call.by("player")
    }

    /// A game of one bot of Ann's.
    pub(crate) async fn game(&self) -> String {
        let wanted = serde_json::json!({ "snakes": [ANNS.to_string()] });
        let reply = self.call("POST /api/games").json(&wanted).check("201").await;
        reply.body["id"].as_str().unwrap().to_owned()
    }
}

/// A request in the making.
pub(crate) struct Call {
    front: Gateway,
    client: SocketAddr,
    line: String,
    request: Builder,
    body: Body,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) bytes: Bytes,
    /// The body as JSON; null when it is none.
    pub(crate) body: Value,
}

impl Call {
    /// With this token; with none when it is empty.
    pub(crate) fn by(mut self, secret: &str) -> Self {
        let headers = self.request.headers_mut().unwrap();
        headers.remove(header::AUTHORIZATION);
        if !secret.is_empty() {
            headers.insert(header::AUTHORIZATION, format!("Bearer {secret}").parse().unwrap());
        }
        self
    }

    /// From this address.
    pub(crate) fn from(mut self, peer: &str) -> Self {
        self.client.set_ip(peer.parse().unwrap());
        self
    }

    /// With this header.
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.request = self.request.header(name, value);
        self
    }

    /// With this JSON body.
    pub(crate) fn json(self, body: &Value) -> Self {
        self.header("content-type", "application/json").raw(body.to_string())
    }

    /// With these bytes as its body.
    pub(crate) fn raw(mut self, body: impl Into<Body>) -> Self {
        self.body = body.into();
        self
    }

    /// Sends it.
    pub(crate) async fn send(self) -> Reply {
        let request = self.request.body(self.body).unwrap();
        let response = self.front.call(self.client, request).await;
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        let body = serde_json::from_slice(&bytes).unwrap_or_default();
        Reply { status: parts.status, headers: parts.headers, bytes, body }
    }

    /// Sends it and compares: `201`, or `400 bad_value`, or `400 bad_value /board`.
    pub(crate) async fn check(self, want: &str) -> Reply {
        let line = self.line.clone();
        let reply = self.send().await;
        // The code of an invitation is not that of a problem.
        let code = reply.body["code"].as_str().filter(|_| !reply.status.is_success()).unwrap_or_default();
        let field = reply.body["field"].as_str().unwrap_or_default();
        let have = format!("{} {code} {field}", reply.status.as_u16());
        let have = if want.contains('/') { have.as_str() } else { have.strip_suffix(field).unwrap() };
        assert_eq!(have.trim(), want, "{line}: {}", reply.body);
        if reply.status.is_client_error() || reply.status.is_server_error() {
            assert_eq!(reply.headers[header::CONTENT_TYPE], "application/problem+json", "{line}");
        }
        reply
    }
}
