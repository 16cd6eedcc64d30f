//! Counting outside the engine: a stopped aggregator costs the players nothing, and catches up to the last claim, counted once.

use crate::test_server::{ANN, BOB, TestServer, WORKER};
use crate::{column, open};
use engine::commands::{Command, Outcome, WorldAppend, WorldCommand};
use engine::ids::{PlayerId, WorldId};
use engine::limits::{AGGREGATE_ROWS_MAX, HUNT_NOTICES_MAX};
use engine::rows::{WorldKind, WorldLogRow, WorldRow};
use engine::time::UnixMs;
use engine::worlds::{Claim, Fact, Hunter, HunterScore, MoverId};
use gateway::app::App;
use rules::chance::Seed;
use rules::world::Cell;
use serde_json::{Value, json};
use server::assembly::assemble;
use std::time::Duration;

/// A world's writer, as the aggregator sees it: it commits claims, then notifies.
struct Writer<'a> {
    server: &'a TestServer,
    id: WorldId,
    epoch: u32,
    version: u32,
}

impl<'a> Writer<'a> {
    async fn of(server: &'a TestServer, number: u128) -> Self {
        let (now, id) = (server.app.node.clock.now(), WorldId(number));
        let name = format!("hunt-{number}").parse().unwrap();
        let row = WorldRow {
            id,
            name,
            kind: WorldKind::Hunt,
            settings: engine::worlds::settings_to_bytes(&hunts::matched_hunt_settings(4)),
            seed: Seed(1),
            creator: None,
            created_at: now,
            ends_at: None,
            admission: engine::rows::Admission::Everybody,
            players_max: 0,
        };
        server.commit(Command::World(WorldCommand::Ensure { row, members: Vec::new() })).await;
        let (worker, until, address) = (WORKER, now.plus(Duration::from_secs(600)), "127.0.0.1:4000".to_owned());
        server.commit(Command::RenewLease { worker, address, now, until }).await;
        let Outcome::WorldClaimed(claimed) =
            server.commit(Command::World(WorldCommand::Claim { id, worker, now })).await
        else {
            panic!("it is free")
        };
        Self { server, id, epoch: claimed.epoch, version: 0 }
    }

    /// One commit of these claims, and the notice.
    async fn save(&mut self, facts: &[Fact]) {
        let rows: Vec<_> = (self.version..)
            .zip(facts)
            .map(|(version, fact)| WorldLogRow { version, bytes: fact.to_bytes() })
            .collect();
        let append = WorldAppend { id: self.id, epoch: self.epoch, expected_version: self.version, rows };
        assert_eq!(self.server.commit(Command::World(WorldCommand::Append(append))).await, Outcome::Done);
        self.version += facts.len() as u32;
        self.server.app.hunts.notify_claims(self.id);
    }
}

fn hunter(player: PlayerId) -> Hunter {
    Hunter { mover: MoverId(1), player: Some(player), name: format!("player {:x}", player.0).into() }
}

fn dug(player: PlayerId, points: u32) -> Fact {
    let claim = Claim { hunter: hunter(player), seq: 1, round: 1, item: 1, cell: Cell { x: 1, y: 1 } };
    Fact::Dug { at: UnixMs(1), claim, points, score: points }
}

/// Waits until this process has counted this many claims.
async fn counted(server: &TestServer, claims: u64) {
    let mut counted = server.app.hunts.aggregator.subscribe_counted();
    let wait = counted.wait_for(|counted| *counted >= claims);
    let have = *tokio::time::timeout(Duration::from_secs(60), wait).await.unwrap().unwrap();
    assert_eq!(have, claims, "each claim is counted once");
}

async fn leaders(server: &TestServer) -> Vec<(String, Value)> {
    let board = server.call("GET /api/hunters").by("").check("200").await.body;
    let names = column(&board, "name").into_iter().map(str::to_owned);
    names.zip(board.as_array().unwrap().iter().map(|row| row["points"].clone())).collect()
}

async fn switch(server: &TestServer, running: bool) -> Value {
    let body = json!({ "running": running });
    server.call("POST /api/admin/aggregator").by("operator").json(&body).check("200").await.body
}

#[tokio::test]
async fn claims_are_on_the_leaderboard_a_moment_later() {
    let server = open().await;
    let mut writer = Writer::of(&server, 1).await;
    assert_eq!(leaders(&server).await, []);
    writer.save(&[dug(ANN.into(), 3), dug(BOB.into(), 9), dug(ANN.into(), 4)]).await;
    let score = |player: PlayerId, points| HunterScore { hunter: hunter(player), points };
    let scores = vec![score(BOB.into(), 9), score(ANN.into(), 7)];
    writer.save(&[Fact::RoundEnded { number: 1, at: UnixMs(5), scores, hunters: 2, points: 16 }]).await;
    counted(&server, 4).await;
    assert_eq!(leaders(&server).await, [("player b".to_owned(), json!(9)), ("player a".to_owned(), json!(7))]);
    let bob = server.call(&format!("GET /api/hunters/{BOB}")).by("").check("200").await.body;
    assert_eq!((&bob["chests"], &bob["rounds"], &bob["rounds_won"]), (&json!(1), &json!(1), &json!(1)));
    server.call(&format!("GET /api/hunters/{}", PlayerId(77))).check("404 no_such_hunter").await;
    let rounds = server.call("GET /api/hunts/hunt-1/rounds").by("").check("200").await.body;
    assert_eq!((&rounds[0]["winner"], &rounds[0]["points"]), (&json!(BOB.to_string()), &json!(9)));
    for after in ["-1", "4294967296", "x"] {
        let refused = server.call(&format!("GET /api/hunts/hunt-1/rounds?after={after}")).check("400 bad_value").await;
        assert_eq!(refused.body["detail"], "after is not the number of a round: use one that this list gave");
    }
    assert_eq!(server.call("GET /api/hunts/hunt-1/rounds?after=1").check("200").await.body, json!([]));
    let totals = server.call("GET /api/hunts/statistics").by("").check("200").await.body;
    let want = json!({ "hunters": 2, "points": 16, "chests": 3, "power_ups": 0, "rounds": 1, "claims_behind": 0 });
    assert_eq!(totals, want);
}

/// The outage that this design prevents was a lobby and an aggregator that waited for each other. Here neither waits: the writer sends many
/// times as many notices as the queue holds, every claim is durable at once, and none is missing afterwards.
#[tokio::test]
async fn a_stopped_aggregator_costs_the_players_nothing_and_catches_up() {
    let server = open().await;
    let (mut first, mut second) = (Writer::of(&server, 1).await, Writer::of(&server, 2).await);
    first.save(&[dug(ANN.into(), 1)]).await;
    counted(&server, 1).await;
    assert_eq!(switch(&server, false).await["running"], false);

    let notices = HUNT_NOTICES_MAX * 3;
    for _ in 0..notices {
        first.save(&[dug(ANN.into(), 1)]).await;
        second.save(&[dug(BOB.into(), 2)]).await;
    }
    assert!(server.sample("gauntlet_hunt_notices_lost_total") > 0, "the queue was full, and the writer did not wait");
    let many = vec![dug(ANN.into(), 1); AGGREGATE_ROWS_MAX * 2];
    first.save(&many).await;
    let behind = (2 * notices + many.len()) as u64;
    let stopped = server.call("GET /api/admin/aggregator").by("operator").check("200").await.body;
    assert_eq!((&stopped["claims_behind"], &stopped["hunts_behind"]), (&json!(behind), &json!(2)));
    assert_eq!(stopped["claims_counted"], 1);
    assert_eq!(leaders(&server).await, [("player a".to_owned(), json!(1))]);

    assert_eq!(switch(&server, true).await["running"], true);
    counted(&server, behind + 1).await;
    let (ann, bob) = (1 + notices + many.len(), 2 * notices);
    assert_eq!(leaders(&server).await, [("player a".to_owned(), json!(ann)), ("player b".to_owned(), json!(bob))]);
    let after = server.call("GET /api/admin/aggregator").by("operator").check("200").await.body;
    assert_eq!((&after["claims_behind"], &after["hunts_behind"]), (&json!(0), &json!(0)));
}

/// The aggregator may end because of a defect: it is restarted, and the claims are still there.
#[tokio::test]
async fn an_aggregator_that_panicked_continues_where_it_was() {
    let server = TestServer::open().await;
    let mut writer = Writer::of(&server, 1).await;
    let aggregator = tokio::spawn(server::owners::run_hunts(server.app.clone()));
    writer.save(&[dug(ANN.into(), 1)]).await;
    counted(&server, 1).await;
    aggregator.abort();
    assert!(aggregator.await.unwrap_err().is_cancelled());
    writer.save(&[dug(ANN.into(), 2), dug(BOB.into(), 9)]).await;
    tokio::spawn(server::owners::run_hunts(server.app.clone()));
    counted(&server, 3).await;
    assert_eq!(leaders(&server).await, [("player b".to_owned(), json!(9)), ("player a".to_owned(), json!(3))]);
}

/// Two processes count one log: because of the cursor, each claim is counted by one of them.
#[tokio::test]
async fn two_aggregators_count_no_claim_twice() {
    let server = open().await;
    let mut writer = Writer::of(&server, 1).await;
    let rival = assemble(server.app.node.store.clone(), server.app.config.clone(), server.app.metrics.clone(), None);
    let rival = App::from(rival);
    tokio::spawn(server::owners::run_hunts(rival.clone()));
    let rounds = 200;
    for _ in 0..rounds {
        writer.save(&[dug(ANN.into(), 1)]).await;
        rival.hunts.notify_claims(writer.id);
    }
    let (mut here, mut there) =
        (server.app.hunts.aggregator.subscribe_counted(), rival.hunts.aggregator.subscribe_counted());
    tokio::time::timeout(Duration::from_secs(60), async {
        while *here.borrow_and_update() + *there.borrow_and_update() < rounds {
            tokio::select! {
                changed = here.changed() => changed.unwrap(),
                changed = there.changed() => changed.unwrap(),
            }
        }
    })
    .await
    .unwrap();
    assert_eq!(leaders(&server).await, [("player a".to_owned(), json!(rounds))]);
}

#[tokio::test]
async fn an_unreadable_log_delays_no_other() {
    let server = open().await;
    let (mut broken, mut whole) = (Writer::of(&server, 1).await, Writer::of(&server, 2).await);
    let rows = vec![WorldLogRow { version: 0, bytes: vec![0xff; 7] }];
    let append = WorldAppend { id: broken.id, epoch: broken.epoch, expected_version: 0, rows };
    assert_eq!(server.commit(Command::World(WorldCommand::Append(append))).await, Outcome::Done);
    broken.version = 1;
    broken.save(&[dug(BOB.into(), 5)]).await;
    whole.save(&[dug(ANN.into(), 1)]).await;
    counted(&server, 1).await;
    assert_eq!(leaders(&server).await, [("player a".to_owned(), json!(1))]);
    let totals = server.call("GET /api/hunts/statistics").by("").check("200").await.body;
    assert_eq!(totals["claims_behind"], 2, "kept for study");
}

#[tokio::test]
async fn the_aggregator_is_for_operators() {
    let server = open().await;
    let stop = json!({ "running": false });
    server.call("POST /api/admin/aggregator").by("player").json(&stop).check("403 role_too_weak").await;
    server.call("GET /api/admin/aggregator").by("").check("401 token_missing").await;
    server.call("POST /api/admin/aggregator").by("operator").json(&json!({})).check("422 bad_shape").await;
    assert!(server.app.hunts.aggregator.is_enabled());
}
