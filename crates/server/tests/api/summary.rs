//! What strangers learn of what goes on: public things, and nothing of the others.

use crate::test_server::{BOBS_PRIVATE, BOBS_PUBLIC, TestServer};
use engine::commands::{Advance, Command, CompetitionCommand, Outcome};
use engine::competitions::{CompetitionKind, MatchOrigin};
use engine::ids::{BotId, CompetitionId, MatchId};
use engine::ladders::definition::LadderDefinition;
use engine::matches::spec::SeatSpec;
use rules::chance::Seed;
use serde_json::{Value, json};

async fn summary(server: &TestServer) -> Value {
    server.call("GET /api/summary").by("").check("200").await.body
}

async fn create(server: &TestServer, by: &str, snakes: &[BotId]) {
    let snakes: Vec<String> = snakes.iter().map(ToString::to_string).collect();
    server.call("POST /api/games").by(by).json(&json!({ "snakes": snakes })).check("201").await;
}

#[tokio::test]
async fn a_quiet_server_has_nothing_to_show() {
    let server = TestServer::open().await;
    let want = json!({
        "health": "ok",
        "games": {"running": 0, "waiting": 0, "ended_last_minute": 0},
        "stories": {"live": 0, "open": 0, "players_waiting": 0, "seats_open": 0},
        "leaderboards": {"active": 0, "rated_last_minute": 0},
        "worlds": [],
        "hunts": {"open": 0, "players": 0},
        "featured": null,
    });
    assert_eq!(summary(&server).await, want);
    server.call("GET /api/summary").by("unknown").check("200").await;
}

#[tokio::test]
async fn private_games_are_in_no_figure() {
    let server = TestServer::open().await;
    create(&server, "bob", &[BOBS_PUBLIC, BOBS_PUBLIC]).await;
    let public = server.claim_one().await.spec.id;
    create(&server, "bob", &[BOBS_PRIVATE, BOBS_PUBLIC, BOBS_PUBLIC]).await;
    server.claim_one().await;
    create(&server, "bob", &[BOBS_PRIVATE]).await;
    create(&server, "bob", &[BOBS_PUBLIC]).await;
    let seen = summary(&server).await;
    assert_eq!(seen["games"], json!({"running": 1, "waiting": 1, "ended_last_minute": 0}));
    let snake = json!({"name": "bot 1b", "rating": null});
    assert_eq!([&seen["featured"]["id"], &seen["featured"]["board"]], [&json!(public.to_string()), &json!("11x11")]);
    assert_eq!([&seen["featured"]["snakes"], &seen["featured"]["leaderboard"]], [&json!([snake, snake]), &Value::Null]);
}

/// A match between these bots for a ladder, public or not; and another one of more snakes, for none. What is featured.
async fn featured(is_public: bool, bots: [BotId; 2]) -> Value {
    let server = TestServer::open().await;
    let wanted = json!({"name": "mine", "players": 2, "is_public": is_public});
    let made = server.call("POST /api/leaderboards").json(&wanted).check("201").await.body;
    let ladder: CompetitionId = made["id"].as_str().unwrap().parse().unwrap();
    if is_public {
        let entry = json!({ "battlesnake_id": BOBS_PUBLIC.to_string() });
        server.call(&format!("POST /api/leaderboards/{ladder}/entries")).by("bob").json(&entry).check("201").await;
    }
    let row = server.app.node.store.read(move |reader| reader.competition(ladder)).await.unwrap().unwrap();
    let settings = LadderDefinition::decode(&row.definition).unwrap().settings;
    let origin = Some(MatchOrigin { kind: CompetitionKind::Ladder, competition: ladder, key: 1 });
    let (url, owner) = ("http://127.0.0.1:4100/x".to_owned(), "bob".to_owned());
    let seat = |bot: BotId| SeatSpec { bot, name: format!("bot {:x}", bot.0), owner: owner.clone(), url: url.clone() };
    let spec = settings.spec(MatchId(7), Seed(1), origin, bots.map(seat).into(), true);
    let advance = Advance { matches: vec![spec], ..Advance::of(&row, server.app.node.clock.now()) };
    let done = server.commit(Command::Competition(CompetitionCommand::Advance(advance))).await;
    assert_eq!(done, Outcome::Done);
    server.claim_one().await;
    create(&server, "bob", &[BOBS_PUBLIC, BOBS_PUBLIC, BOBS_PUBLIC]).await;
    server.claim_one().await;
    summary(&server).await["featured"].clone()
}

#[tokio::test]
async fn a_rated_pair_of_a_public_leaderboard_comes_before_more_snakes() {
    let seen = featured(true, [BOBS_PUBLIC, BOBS_PUBLIC]).await;
    assert_eq!(seen["leaderboard"]["name"], "mine");
    assert!(seen["snakes"].as_array().unwrap().iter().all(|snake| snake["rating"].is_number()), "{seen}");
    let one_is_rated = featured(true, [BOBS_PUBLIC, BOBS_PRIVATE]).await;
    assert_eq!([&one_is_rated["leaderboard"], &one_is_rated["snakes"][2]["rating"]], [&Value::Null, &Value::Null]);
}

#[tokio::test]
async fn nothing_is_said_of_a_private_leaderboard() {
    let seen = featured(false, [BOBS_PUBLIC, BOBS_PUBLIC]).await;
    assert_eq!([&seen["leaderboard"], &json!(seen["snakes"].as_array().unwrap().len())], [&Value::Null, &json!(3)]);
}
