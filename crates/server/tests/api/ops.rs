//! What operators and monitoring get over the routes.

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Request as HttpRequest, StatusCode, header};
use axum::middleware::from_fn_with_state;
use engine::commands::{Command, Outcome};
use engine::ids::AccountId;
use engine::rows::{MatchCounts, MatchStats};
use gateway::app::App;
use gateway::auth::BootstrapToken;
use gateway::ops::{measure, routes};
use metrics::Metrics;
use serde_json::Value;
use server::assembly::assemble;
use settings::{Config, ServeMode};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use store::{Backend, Database, MatchFilter, Reader, Store, StoreConfig, StoreError};
use tower::ServiceExt;
use wire::api::Readiness;

const SECRET: &str = "an-admin-for-the-test";

/// The memory store, whose probe fails on request and is counted.
struct FlakyDatabase {
    inner: store::testing::MemoryDatabase,
    is_lost: Arc<AtomicBool>,
    probes: Arc<AtomicUsize>,
}

struct FlakyReader {
    inner: Box<dyn Reader>,
    is_lost: Arc<AtomicBool>,
    probes: Arc<AtomicUsize>,
}

impl Database for FlakyDatabase {
    fn writer(&self) -> Result<Box<dyn Backend>, StoreError> {
        self.inner.writer()
    }
    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        let (is_lost, probes) = (self.is_lost.clone(), self.probes.clone());
        Ok(Box::new(FlakyReader { inner: self.inner.reader()?, is_lost, probes }))
    }
    fn is_shared(&self) -> bool {
        false
    }
    fn kind(&self) -> &'static str {
        "shaky"
    }
}

/// Passes a question on to the store behind.
macro_rules! pass {
    ($($name:ident($($arg:ident: $type:ty),*) -> $answer:ty;)*) => {
        $(fn $name(&mut self, $($arg: $type),*) -> Result<$answer, StoreError> {
            self.inner.$name($($arg),*)
        })*
    };
}

impl Reader for FlakyReader {
    fn ladders(&mut self) -> &mut dyn store::LadderReader {
        self.inner.ladders()
    }

    fn audit(&mut self) -> &mut dyn store::AuditReader {
        self.inner.audit()
    }
    fn bans(&mut self) -> &mut dyn store::BanReader {
        self.inner.bans()
    }
    fn deletions(&mut self) -> &mut dyn store::DeletionReader {
        self.inner.deletions()
    }

    pass! {
        created_with() -> i64;
        token(digest: &[u8; 32]) -> Option<engine::rows::Token>;
        tokens(account: AccountId) -> Vec<engine::rows::Token>;
        existing_tokens(ids: &[engine::ids::TokenId]) -> Vec<engine::ids::TokenId>;
        account_named(name: &str) -> Option<engine::rows::Account>;
        accounts(filter: &store::AccountFilter) -> Vec<engine::rows::CountedAccount>;
        bots_by_id(ids: &[engine::ids::BotId]) -> Vec<engine::rows::Bot>;
        bots_with_owners(ids: &[engine::ids::BotId]) -> Vec<engine::rows::OwnedBot>;
        bots(filter: &store::BotFilter) -> Vec<engine::rows::Bot>;
        bot_health(bots: &[engine::ids::BotId]) -> Vec<engine::rows::BotHealthRow>;
        paused_bots(limit: usize) -> Vec<engine::ids::BotId>;
        bots_to_probe(now: engine::time::UnixMs, besides: &[AccountId], limit: usize) -> Vec<store::BotToProbe>;
        bot_calls(bot: engine::ids::BotId, from_hour: u32) -> Vec<engine::rows::BotCallsRow>;
        signing(bot: engine::ids::BotId) -> Option<engine::rows::SigningRow>;
        matches_of_deleted_bots(kind: engine::competitions::CompetitionKind, limit: usize) -> Vec<engine::ids::MatchId>;
        match_by_id(id: engine::ids::MatchId) -> Option<engine::rows::MatchRow>;
        matches(filter: &MatchFilter) -> Vec<engine::rows::MatchRow>;
        public_bots(before: Option<engine::ids::BotId>, limit: usize) -> Vec<engine::rows::OwnedBot>;
        bot_faces(bots: &[engine::ids::BotId]) -> Vec<(engine::ids::BotId, engine::matches::entry::Face)>;
        running_public_matches(map: Option<rules::snake::Map>, before: Option<engine::ids::MatchId>, limit: usize) -> Vec<engine::rows::MatchRow>;
        ended_public_matches(map: Option<rules::snake::Map>, before: Option<engine::rows::EndedMatchCursor>, limit: usize) -> Vec<engine::rows::MatchRow>;
        statuses(ids: &[engine::ids::MatchId]) -> Vec<engine::rows::MatchStatus>;
        match_log(id: engine::ids::MatchId, from: u32, limit: usize) -> Option<engine::rows::MatchLogPage>;
        idempotent_response(account: AccountId, key: &str) -> Option<([u8; 32], Vec<u8>)>;
        lease_address(worker: engine::ids::WorkerId, now: engine::time::UnixMs) -> Option<String>;
        leases_at(address: &str, now: engine::time::UnixMs) -> Vec<(engine::ids::WorkerId, engine::time::UnixMs)>;
        nodes(now: engine::time::UnixMs, limit: usize) -> Vec<engine::rows::NodeRow>;
        match_counts() -> MatchCounts;
        match_stats(now: engine::time::UnixMs) -> MatchStats;
        public_activity(now: engine::time::UnixMs) -> engine::rows::PublicActivity;
        limit_rules() -> engine::rows::LimitRules;
        limit_rules_version() -> u64;
        account(id: AccountId) -> Option<engine::rows::Account>;
        account_counts(id: AccountId) -> engine::rows::AccountCounts;
        one_time_code(digest: &[u8; 32], now: engine::time::UnixMs) -> Option<engine::rows::OneTimeCode>;
        invites(before: Option<engine::ids::CodeId>, limit: usize, now: engine::time::UnixMs) -> Vec<engine::rows::SignedCode>;
        secret(name: &str) -> Option<Vec<u8>>;
        table_owner(id: engine::ids::TableId, now: engine::time::UnixMs) -> Option<engine::rows::TableOwner>;
        story_game(id: engine::ids::GameId) -> Option<(engine::rows::GameRow, Option<Vec<u8>>)>;
        story_games_of(filter: &store::PlayerGamesFilter) -> Vec<engine::rows::SeatedGame>;
        story_lobby(before: Option<engine::rows::GameCursor>, limit: usize) -> Vec<engine::rows::GameRow>;
        story_history(before: Option<engine::rows::GameCursor>, limit: usize) -> Vec<engine::rows::GameRow>;
        standings(players: &[engine::ids::PlayerId]) -> Vec<(engine::ids::PlayerId, engine::tables::Standing)>;
        story_idempotent_response(player: engine::ids::PlayerId, key: &str) -> Option<store::RememberedResponse>;
        worlds(after: Option<engine::ids::WorldId>, limit: usize, viewer: Option<engine::ids::PlayerId>, now: engine::time::UnixMs) -> Vec<engine::rows::WorldEntry>;
        world(id: engine::ids::WorldId, now: engine::time::UnixMs) -> Option<engine::rows::WorldEntry>;
        world_named(name: &engine::ids::WorldName, now: engine::time::UnixMs) -> Option<engine::rows::WorldEntry>;
        world_log(id: engine::ids::WorldId, from: u32, limit: usize) -> Option<engine::rows::WorldLogPage>;
        aggregation_lags(limit: usize) -> Vec<engine::rows::AggregationLag>;
        has_joined(id: engine::ids::WorldId, player: engine::ids::PlayerId) -> bool;
        members(id: engine::ids::WorldId, limit: usize) -> Vec<engine::ids::PlayerId>;
        hunt_lobby(before: Option<engine::rows::HuntCursor>, limit: usize, with_matched: bool, now: engine::time::UnixMs)
            -> Vec<engine::rows::WorldEntry>;
        unfinished_hunts(after: Option<engine::rows::HuntCursor>, limit: usize, now: engine::time::UnixMs)
            -> Vec<engine::rows::WorldRow>;
        hunt_of_ticket(ticket: engine::ids::TicketId, player: engine::ids::PlayerId) -> Option<engine::rows::WorldRow>;
        hunt_of_player(player: engine::ids::PlayerId, now: engine::time::UnixMs) -> Option<engine::rows::WorldRow>;
        hunt_leaderboard(before: Option<engine::rows::HunterCursor>, limit: usize) -> Vec<engine::rows::HunterRow>;
        hunter(player: engine::ids::PlayerId) -> Option<engine::rows::HunterRow>;
        hunt_rounds(id: engine::ids::WorldId, before: Option<u32>, limit: usize) -> Vec<engine::rows::RoundRow>;
        hunt_totals() -> engine::rows::HuntTotals;
        oldest_kept(now: engine::time::UnixMs) -> engine::rows::OldestKept;
        leader(job: engine::leadership::LeaderJob, now: engine::time::UnixMs) -> Option<engine::rows::WorldOwner>;
        competition(id: engine::ids::CompetitionId) -> Option<engine::competitions::CompetitionRow>;
        competitions_by_id(ids: &[engine::ids::CompetitionId]) -> Vec<engine::competitions::CompetitionRow>;
        competitions(filter: &store::CompetitionFilter) -> Vec<engine::competitions::CompetitionRow>;
        competitions_unapplied(kind: engine::competitions::CompetitionKind, after: Option<engine::ids::CompetitionId>, limit: usize)
            -> Vec<engine::competitions::CompetitionRow>;
        competitions_due(kind: engine::competitions::CompetitionKind, now: engine::time::UnixMs,
            after: Option<(engine::time::UnixMs, engine::ids::CompetitionId)>, limit: usize)
            -> Vec<engine::competitions::CompetitionRow>;
        competition_log(id: engine::ids::CompetitionId, from: u32, limit: usize) -> Vec<Vec<u8>>;
        competition_matches(id: engine::ids::CompetitionId, is_live: bool, before: Option<engine::ids::MatchId>, limit: usize) -> Vec<engine::rows::MatchRow>;
        competition_results(id: engine::ids::CompetitionId, after: u64, limit: usize) -> Vec<engine::competitions::CompetitionResult>;
        competitions_running(kind: engine::competitions::CompetitionKind, after: Option<engine::ids::CompetitionId>, limit: usize) -> Vec<engine::competitions::CompetitionRow>;
        database_time() -> Option<engine::time::UnixMs>;
    }

    fn probe(&mut self) -> Result<(), StoreError> {
        self.probes.fetch_add(1, SeqCst);
        if self.is_lost.load(SeqCst) {
            return Err(StoreError::Unavailable { why: "connection to db.internal refused".to_owned() });
        }
        self.inner.probe()
    }
}

struct TestServer {
    app: App,
    router: Router,
    is_lost: Arc<AtomicBool>,
    probes: Arc<AtomicUsize>,
}

async fn test_server() -> TestServer {
    let (is_lost, probes) = (Arc::<AtomicBool>::default(), Arc::<AtomicUsize>::default());
    let inner = store::testing::MemoryDatabase::new();
    let database = Arc::new(FlakyDatabase { inner, is_lost: is_lost.clone(), probes: probes.clone() });
    let metrics = Arc::new(Metrics::default());
    let store = Store::open(database, StoreConfig { readers: 2 }, metrics.clone()).unwrap();
    let account =
        engine::rows::Account { id: AccountId(7), name: "ann".to_owned(), created_at: engine::time::UnixMs(0) };
    assert_eq!(store.commit(Command::EnsureAccount(account)).await, Ok(Outcome::Account(AccountId(7))));
    let mut config = Config::default();
    config.bootstrap_token = Some(settings::Secret::new(SECRET));
    let app =
        App::from(assemble(store, Arc::new(config), metrics.clone(), Some(BootstrapToken::new(SECRET, AccountId(7)))));
    let router = routes().layer(from_fn_with_state(metrics, measure)).with_state(app.clone());
    TestServer { app, router, is_lost, probes }
}

impl TestServer {
    /// Holds a lease on tables from here on.
    async fn serve_tables(&self) {
        let (node, tables, drain) = (self.app.node.clone(), self.app.tables.clone(), self.app.drain.clone());
        tokio::spawn(tables::run(node, tables, drain));
        while !self.app.tables.is_serving() {
            tokio::task::yield_now().await;
        }
    }

    async fn get(&self, path: &str, token: Option<&str>) -> (StatusCode, String) {
        let mut request = HttpRequest::get(path);
        if let Some(token) = token {
            request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        let response = self.router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        let status = response.status();
        let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    async fn json(&self, path: &str) -> Value {
        let (status, body) = self.get(path, Some(SECRET)).await;
        assert_eq!(status, StatusCode::OK, "{body}");
        serde_json::from_str(&body).unwrap()
    }
}

#[tokio::test]
async fn who_may_ask_what() {
    let server = test_server().await;
    server.serve_tables().await;
    for (path, token, want) in [
        ("/healthz", None, 200),
        ("/readyz", None, 200),
        ("/metrics", None, 200),
        ("/api/admin/stats", None, 401),
        ("/api/admin/config", None, 401),
        ("/api/admin/stats", Some("nobody-has-this"), 401),
        ("/api/admin/stats", Some(SECRET), 200),
        ("/api/admin/config", Some(SECRET), 200),
    ] {
        assert_eq!(server.get(path, token).await.0, want, "{path} with {token:?}");
    }
}

#[tokio::test]
async fn statistics_have_the_shape_that_programs_know() {
    let server = test_server().await;
    server.app.metrics.matches.record_turn(1);
    let stats = server.json("/api/admin/stats").await;
    assert_eq!(stats["job_queue"], serde_json::json!({"ready": 0, "running": 0, "scheduled": 0, "total": 0}));
    assert_eq!(
        stats["jobs_by_name"],
        serde_json::json!([{"name": "run_game", "count": 0}, {"name": "advance_competition", "count": 0},
            {"name": "probe_bot", "count": 0}])
    );
    let counts =
        serde_json::json!({"waiting": 0, "running": 0, "finished": 0, "failed": 0, "cancelled": 0, "total": 0});
    assert_eq!(stats["game_counts"], counts);
    let recent = serde_json::json!({"last_hour": 0, "last_24h": 0, "last_7d": 0});
    assert_eq!((&stats["games_created"], &stats["games_finished"]), (&recent, &recent));
    assert_eq!((&stats["avg_game_duration_secs"], &stats["recent_errors"]), (&Value::Null, &serde_json::json!([])));
    assert_eq!(stats["late_moves"], 1);
    assert!(stats["turns_per_s"].as_f64() > Some(0.0));
    assert!(stats["process"]["rss_bytes"].as_u64() > Some(0) && stats["process"]["cpu_s"].as_f64() > Some(0.0));
    assert!(stats["timing"]["pool_wait_ms"]["p99"].is_f64(), "the store's reads are observed: {}", stats["timing"]);
    for time in ["bot_call_ms", "rating_lag_ms"] {
        assert_eq!(stats["timing"][time], serde_json::json!({"p50": null, "p99": null}));
    }
}

#[tokio::test]
async fn the_configuration_is_shown_without_secrets() {
    let server = test_server().await;
    let shown = server.json("/api/admin/config").await;
    let port = serde_json::json!({"key": "server.port", "value": "4000", "source": "default"});
    assert!(shown["entries"].as_array().unwrap().contains(&port));
    assert!(!shown.to_string().contains(SECRET) && shown.to_string().contains("auth.bootstrap_token"));
}

#[tokio::test]
async fn figures_are_on_one_page() {
    let server = test_server().await;
    server.get("/healthz", None).await;
    let (_, page) = server.get("/metrics", None).await;
    for want in [
        r#"gauntlet_http_requests_total{route="/healthz",status="2xx"} 1"#,
        r#"gauntlet_matches{state="waiting"} 0"#,
        "gauntlet_store_commands_total 1",
        "gauntlet_store_commands_waiting 0",
        "# TYPE process_cpu_seconds_total counter",
        "# TYPE process_resident_memory_bytes gauge",
    ] {
        assert!(page.lines().any(|line| line == want), "{want} is not on the page:\n{page}");
    }
}

/// `/readyz` must answer so: the status, and what its failed checks say.
#[track_caller]
fn ready(server: &TestServer, status: u16, failed: &[&str]) -> impl Future<Output = ()> {
    let want = (status, failed.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>());
    async move {
        let (status, body) = server.get("/readyz", None).await;
        let readiness: Readiness = serde_json::from_str(&body).unwrap();
        assert_eq!(readiness.ready, status == StatusCode::OK);
        let failed = readiness.checks.into_iter().filter(|check| !check.ok);
        let failed = failed.map(|check| format!("{}: {}", check.name, check.detail.unwrap_or_default()));
        assert_eq!((status.as_u16(), failed.collect()), want);
    }
}

#[tokio::test]
async fn a_server_without_its_store_is_not_ready_and_says_no_more_than_that() {
    let server = test_server().await;
    server.serve_tables().await;
    server.is_lost.store(true, SeqCst);
    ready(&server, 503, &["store: the store cannot be reached or written"]).await;
}

#[tokio::test]
async fn a_server_that_leaves_is_not_ready() {
    let server = test_server().await;
    server.serve_tables().await;
    ready(&server, 200, &[]).await;
    server.app.drain.announce();
    ready(&server, 503, &["serving: this server is leaving"]).await;
    server.app.drain.begin();
    ready(&server, 503, &["serving: this server is leaving"]).await;
}

#[tokio::test]
async fn a_server_that_holds_no_lease_on_tables_is_not_ready_unless_it_serves_none() {
    async fn check(serves: ServeMode, status: u16, failed: &[&str]) {
        let metrics = Arc::new(Metrics::default());
        let database = Arc::new(store::testing::MemoryDatabase::new());
        let store = Store::open(database, StoreConfig { readers: 1 }, metrics.clone()).unwrap();
        let mut config = Config::default();
        config.serve_mode = serves;
        let app = App::from(assemble(store, Arc::new(config), metrics.clone(), None));
        let router = routes().layer(from_fn_with_state(metrics, measure)).with_state(app.clone());
        ready(&TestServer { app, router, is_lost: Arc::default(), probes: Arc::default() }, status, failed).await;
    }
    check(ServeMode::All, 503, &["tables: this server holds no lease on tables at the moment"]).await;
    check(ServeMode::Limiter, 200, &[]).await;
}

/// What strangers can fill must not tell a balancer that nothing can be saved.
#[tokio::test]
async fn a_server_whose_readers_are_all_taken_is_ready() {
    let server = test_server().await;
    server.serve_tables().await;
    let (let_go, gate) = std::sync::mpsc::channel::<()>();
    let gate = Arc::new(std::sync::Mutex::new(gate));
    let reads = (0..8).map(|_| {
        let (app, gate) = (server.app.clone(), gate.clone());
        tokio::spawn(async move { app.node.store.read(move |_| Ok(gate.lock().unwrap().recv().is_err())).await })
    });
    let reads: Vec<_> = reads.collect();
    tokio::task::yield_now().await;
    ready(&server, 200, &[]).await;
    assert!(reads.iter().all(|read| !read.is_finished()));
    drop(let_go);
    for read in reads {
        assert_eq!(read.await.unwrap(), Ok(true));
    }
}

#[tokio::test]
async fn a_flood_of_questions_is_one_question_to_the_store() {
    let server = test_server().await;
    let asked = (0..200).map(|_| server.get("/readyz", None));
    futures_util::future::join_all(asked).await;
    let probes = server.probes.load(SeqCst);
    assert!(probes < 20, "200 questions at once became {probes} writes");
}

/// What the alerts and the dashboard ask for, and the settings that an alert tells to change, exist.
#[tokio::test]
async fn monitoring_asks_for_metrics_and_settings_that_exist() {
    /// These are on the page of a supervisor of shards.
    const OF_SUPERVISORS: [&str; 2] = ["gauntlet_shard_up", "gauntlet_shard_restarts_total"];
    let (_, page) = test_server().await.get("/metrics", None).await;
    let types: BTreeMap<&str, &str> =
        page.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' ')).collect();
    let is_metric = |word: &&str| match word.strip_suffix("_bucket") {
        Some(histogram) => types.get(histogram) == Some(&"histogram"),
        None => types.get(word).is_some_and(|kind| *kind != "histogram") || OF_SUPERVISORS.contains(word),
    };
    let settings: BTreeSet<&str> = settings::SETTINGS.iter().map(|setting| setting.key).collect();
    let is_setting = |word: &&str| {
        let is_part =
            |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        word.split_once('.')
            .is_some_and(|(section, key)| is_part(section) && is_part(key) && !["md", "conf"].contains(&key))
    };
    for name in ["alerts.yml", "grafana.json"] {
        let path = format!("{}/../../monitoring/{name}", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '.');
        let words: BTreeSet<&str> = words.map(|word| word.trim_matches('.')).collect();
        let is_name = |word: &&&str| word.starts_with("gauntlet_") || word.starts_with("process_");
        let names: Vec<&str> = words.iter().filter(is_name).copied().collect();
        assert!(names.len() > 10, "{name}: {names:?}");
        let unknown: Vec<_> = names.iter().filter(|word| !is_metric(word)).collect();
        assert!(unknown.is_empty(), "{name} asks for metrics that are not there: {unknown:?}");
        let unknown: Vec<_> = words.iter().filter(|word| is_setting(word) && !settings.contains(*word)).collect();
        assert!(unknown.is_empty(), "{name} names settings that are not there: {unknown:?}");
    }
}
