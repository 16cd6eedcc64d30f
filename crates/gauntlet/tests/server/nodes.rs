//! Two servers on one PostgreSQL: each may be killed, the database may fail and come back; the matches continue, each
//! once.

use crate::support::bots::Bots;
use crate::support::games::ObservedGames;
use crate::support::viewer::Viewer;
use crate::support::{Folder, Server, as_url, until};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use store::testing::PostgresCluster;

const THINK: Duration = Duration::from_millis(20);
/// The normal end of a socket.
const NORMAL: u16 = 1000;

/// Two servers on one database, and bots. Everything ends in the order in which it stands here.
struct Nodes {
    a: Server,
    b: Server,
    bots: Bots,
    snakes: Vec<String>,
    cluster: PostgresCluster,
    _folder: Folder,
}

/// Servers that each have room for half of twelve games: of seven slots one account may take six.
fn two_nodes() -> Nodes {
    let (cluster, bots, folder) = (PostgresCluster::start(), Bots::start(THINK), Folder::new());
    let url = as_url(&cluster.new_empty_database_url());
    folder.write("gauntlet.toml", &format!("[store]\nurl = \"{url}\"\n[matches]\nat_once = 7\nclaim_size = 6\n"));
    let (a, b) = (folder.serve_games(""), folder.serve_games(""));
    let snakes = a.register(&bots, &["circle", "stuck"]);
    Nodes { a, b, bots, snakes, cluster, _folder: folder }
}

impl Nodes {
    /// Twelve games, made at the first server, which stand still after ten turns; both servers play some.
    fn games(&self) -> Vec<String> {
        self.bots.hold_moves_from(10);
        let games = self.a.create(&self.snakes, 1..=12);
        self.b.wait_for_turns(&games, 10);
        let workers: BTreeSet<String> = games.iter().map(|id| worker(&self.a, id).to_string()).collect();
        assert_eq!(workers.len(), 2, "both servers play: {workers:?}");
        let nodes: BTreeSet<String> = self.a.statuses(&games).iter().map(|game| game["node"].to_string()).collect();
        assert_eq!(nodes, workers, "and every node reports where");
        games
    }
}

fn worker(server: &Server, id: &str) -> Value {
    server.inspect(id)["worker"]["address"].clone()
}

fn check_ready(server: &Server, want: u16) {
    until(&format!("/readyz says {want}"), || {
        (server.request("GET /readyz", &Value::Null).status == want).then_some(())
    });
}

#[test]
fn a_node_that_dies_leaves_its_matches_to_the_other() {
    let nodes = two_nodes();
    let games = nodes.games();
    // Viewers at the server that stays, of games of both.
    let viewers: Vec<Viewer> = games.iter().map(|id| Viewer::watch(&nodes.b, id)).collect();
    let past = ObservedGames::record(&nodes.b, &nodes.bots, &games);
    nodes.bots.release();
    nodes.a.kill();
    nodes.b.wait_for_the_end(&games);
    let end = ObservedGames::record(&nodes.b, &nodes.bots, &games);
    past.check_kept(&end);
    for (id, viewer) in games.iter().zip(viewers) {
        let received = viewer.receive_all();
        assert!(received.has_ended && received.code == Some(NORMAL), "{:?}", received.code);
        assert_eq!(received.frames, end.game(id).frames, "the viewer of {id} saw everything once");
        assert_eq!((end.calls_by_seat(id, "start"), end.calls_by_seat(id, "end")), (vec![1, 1], vec![1, 1]));
    }
    let stats = nodes.b.request_ok("GET /api/admin/stats", &Value::Null);
    assert_eq!((&stats["game_counts"]["finished"], &stats["games_finished"]["last_hour"]), (&json!(12), &json!(12)));
}

#[test]
fn a_viewer_sees_live_what_another_node_plays() {
    let nodes = two_nodes();
    let games = nodes.games();
    let own = Value::String(nodes.b.address().to_string());
    let elsewhere = games.iter().find(|id| worker(&nodes.b, id) != own).unwrap();
    let mut viewer = Viewer::watch(&nodes.b, elsewhere);
    viewer.wait_for_turn(10);
    nodes.bots.hold_moves_from(20);
    // Shown while the game stands still at the other server.
    viewer.wait_for_turn(20);
    nodes.bots.release();
    let received = viewer.receive_all();
    assert!(received.has_ended && received.code == Some(NORMAL), "{:?}", received.code);
    assert_eq!(received.frames, nodes.a.frames(elsewhere));
}

/// A change that one node answered is in force at the other within this time: most of it is the pause between two looks.
const IN_FORCE: Duration = Duration::from_secs(1);

#[test]
fn a_policy_that_one_node_sets_is_in_force_at_the_other_within_a_second() {
    let (cluster, folder) = (PostgresCluster::start(), Folder::new());
    let url = as_url(&cluster.new_empty_database_url());
    folder.write("gauntlet.toml", &format!("[store]\nurl = \"{url}\"\n"));
    let (a, b) = (folder.serve_games("--only limiter"), folder.serve_games("--only limiter"));
    let may = |server: &Server| server.request("POST /api/limits/check", &json!({"key": "k", "class": "app"})).status;
    assert_eq!((may(&a), may(&b)), (200, 200));
    let mut turns = 0..;
    // One unit: allowed once, and then not for a day. Each node counts for itself.
    let mut takes = |here: &Server, there: &Server| {
        let path = format!("/api/limits/policies/turn-{}", turns.next().unwrap());
        let policy = json!({"class": "app", "limit": 1, "window_ms": 86_400_000});
        here.request_ok(&format!("PUT {path}"), &policy);
        let answered = Instant::now();
        assert_eq!((may(here), may(here)), (200, 429), "in force here when it is answered");
        until("it denies at the other node", || (may(there) == 429).then_some(()));
        let took = answered.elapsed();
        here.request(&format!("DELETE {path}"), &Value::Null);
        until("it is gone from the other node", || (may(there) == 200).then_some(()));
        took
    };
    let mut round = || {
        let mut took = [(&a, &b), (&b, &a), (&a, &b), (&b, &a), (&a, &b)].map(|(here, there)| takes(here, there));
        took.sort_unstable();
        took
    };
    // The median of one of three rounds: a machine that does other things meanwhile may spoil a turn, or a round.
    let mut rounds = Vec::new();
    while rounds.len() < 3 && rounds.last().is_none_or(|took: &[Duration; 5]| took[2] >= IN_FORCE) {
        rounds.push(round());
    }
    assert!(rounds.iter().any(|took| took[2] < IN_FORCE), "{rounds:?}");
    let shown = b.request_ok("GET /api/limits/policies", &Value::Null);
    assert_eq!((&shown["scope"], &shown["policies"]), (&json!("process"), &json!([])));
}

#[test]
fn the_database_may_go_away_and_come_back() {
    let mut nodes = two_nodes();
    let games = nodes.games();
    let viewer = Viewer::watch(&nodes.a, &games[0]);
    let past = ObservedGames::record(&nodes.a, &nodes.bots, &games);
    nodes.bots.release();
    nodes.cluster.stop();
    check_ready(&nodes.a, 503);
    check_ready(&nodes.b, 503);
    let refused = nodes.a.request("POST /api/games", &json!({ "snakes": nodes.snakes }));
    assert_eq!((refused.status, &refused.body["code"]), (503, &json!("store_unavailable")), "{refused:?}");
    nodes.cluster.resume();
    check_ready(&nodes.a, 200);
    check_ready(&nodes.b, 200);
    nodes.b.wait_for_the_end(&games);
    nodes.a.assert_alive();
    nodes.b.assert_alive();
    let end = ObservedGames::record(&nodes.b, &nodes.bots, &games);
    past.check_kept(&end);
    assert_eq!(nodes.a.counts()["finished"], 12);
    let received = viewer.receive_all();
    assert!(
        received.has_ended && received.frames == end.game(&games[0]).frames,
        "the viewer was kept, and missed nothing"
    );
}
