//! Finished games as files, against what bots received and against the format of the official command line program.

use super::bots::Bots;
use super::test_server::TestServer;
use engine::ids::MatchId;
use engine::matches::lifecycle::MatchState;
use http_body_util::BodyExt;
use serde_json::{Value, json};

const ANN: [u8; 4] = [192, 0, 2, 1];

/// The lines of a game's file.
async fn lines(server: &TestServer, id: MatchId) -> Vec<String> {
    let response = server.ask(&format!("/api/games/{id}/jsonl"), ANN).await;
    assert_eq!(
        (response.status().as_u16(), &response.headers()["content-type"]),
        (200, &"application/x-ndjson".parse().unwrap())
    );
    let name = format!("attachment; filename=\"game-{id}.jsonl\"");
    assert_eq!(response.headers()["content-disposition"], name.as_str());
    let text = String::from_utf8(response.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap();
    assert!(text.ends_with('\n') && !text.contains("\n\n"), "lines, and each is ended");
    text.lines().map(str::to_owned).collect()
}

fn members(value: &Value) -> String {
    value.as_object().unwrap().keys().map(String::as_str).collect::<Vec<_>>().join(" ")
}

/// Plays a game of these bots to its end: its id, and the lines of its file.
async fn file(server: &TestServer, bots: &Bots, names: &[&str]) -> (MatchId, Vec<String>) {
    let id = server.create(&bots.urls(names), 10_000).await.id;
    server.wait_for(id, MatchState::Finished).await;
    (id, lines(server, id).await)
}

/// The bot in the first seat received every board of the file but the last, on which no bot was asked any more for a move.
#[tokio::test]
async fn a_file_has_what_the_first_bot_received() {
    let (server, bots) = (TestServer::open().await, Bots::open().await);
    server.play();
    let (id, lines) = file(&server, &bots, &["circle", "up"]).await;
    let [game, turns @ .., result] = &lines[..] else { panic!("{lines:?}") };
    let received = bots.raw_requests();
    let sent = received.iter().filter(|(bot, call, _)| bot == "circle" && call != "start");
    let sent: Vec<&str> = sent.map(|(.., body)| str::from_utf8(body).unwrap()).collect();
    assert_eq!(turns, sent, "each request for a move, and that of the end");
    for (turn, line) in turns.iter().enumerate() {
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!((&line["turn"], &line["game"]), (&turn.into(), &serde_json::from_str(game).unwrap()));
    }
    let frames = server.pages(id, 100).await;
    assert_eq!(turns.len(), frames.len(), "up to the turn that decided the game");
    let winner = frames[0]["Snakes"][0].clone();
    let want = json!({ "winnerId": winner["ID"], "winnerName": winner["Name"], "isDraw": false });
    assert_eq!(serde_json::from_str::<Value>(result).unwrap(), want);
}

/// The members that the official program writes, no more and no fewer.
#[tokio::test]
async fn the_members_are_those_of_the_official_program() {
    let (server, bots) = (TestServer::open().await, Bots::open().await);
    server.play();
    let (_, lines) = file(&server, &bots, &["circle", "up"]).await;
    let parsed: Vec<Value> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (game, turn, result) = (&parsed[0], &parsed[1], &parsed[parsed.len() - 1]);
    assert_eq!(members(game), "id map ruleset source timeout");
    assert_eq!(members(&game["ruleset"]), "name settings version");
    assert_eq!(
        members(&game["ruleset"]["settings"]),
        "foodSpawnChance hazardDamagePerTurn hazardMap hazardMapAuthor minimumFood royale squad"
    );
    assert_eq!(members(turn), "board game turn you");
    assert_eq!(members(&turn["board"]), "food hazards height snakes width");
    assert_eq!(members(&turn["you"]), "body customizations head health id latency length name shout squad");
    assert_eq!(members(result), "isDraw winnerId winnerName");
}

#[tokio::test]
async fn draws_and_games_of_one_have_no_winner() {
    let (server, bots) = (TestServer::open().await, Bots::open().await);
    server.play();
    // A snake that plays alone ends the game without a draw.
    for (names, is_draw) in [(vec!["up"], false), (vec!["up", "up"], true)] {
        let (id, lines) = file(&server, &bots, &names).await;
        let details = server.get(&format!("/api/games/{id}/details")).await;
        assert!(details["winner"].is_null(), "{names:?}: both die at the same wall: {}", details["snakes"]);
        let want = json!({ "winnerId": "", "winnerName": "", "isDraw": is_draw });
        assert_eq!(serde_json::from_str::<Value>(lines.last().unwrap()).unwrap(), want, "{names:?}");
    }
}

/// A long game is replayed and sent in slices; nothing is missing where they meet.
#[tokio::test]
async fn a_long_game_is_whole() {
    let server = TestServer::open().await;
    let id = server.long_match(1_000).await;
    let lines = lines(&server, id).await;
    assert_eq!(lines.len(), 1 + 1_001 + 1);
    for (turn, line) in lines[1..=1_001].iter().enumerate() {
        assert_eq!(serde_json::from_str::<Value>(line).unwrap()["turn"], turn);
    }
}
