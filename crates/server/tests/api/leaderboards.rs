//! `/api/leaderboards`: made and seen by whom, entered by whom, and what is shown of results that were rated.

use crate::test_server::{ANNS, BOBS_PRIVATE, BOBS_PUBLIC, OTHER_OPERATOR, TestServer};
use engine::commands::{Advance, Command, CompetitionCommand, LadderCommand, Outcome, RateResults};
use engine::competitions::{CompetitionKind, CompetitionResult, MatchOrigin, ResultSummary, SeatSummary};
use engine::ids::{BotId, CompetitionId, MatchId};
use engine::ladders::definition::LadderDefinition;
use engine::ladders::rating::RatingChanges;
use engine::ladders::season::{SeasonEnd, current_season};
use engine::matches::lifecycle::MatchState;
use serde_json::{Value, json};

/// A leaderboard of Ann's; its path and id.
async fn board(server: &TestServer, wanted: &Value) -> (String, CompetitionId) {
    let made = server.call("POST /api/leaderboards").json(wanted).check("201").await.body;
    let id = made["id"].as_str().unwrap();
    (format!("/api/leaderboards/{id}"), id.parse().unwrap())
}

/// A public snake of this caller's.
async fn snake(server: &TestServer, by: &str, name: &str) -> BotId {
    let wanted = json!({"name": name, "url": "http://127.0.0.1:4100/x", "is_public": true});
    let made = server.call("POST /api/snakes").by(by).json(&wanted).check("201").await.body;
    made["id"].as_str().unwrap().parse().unwrap()
}

async fn check_made(wanted: Value, want: &str) {
    TestServer::open().await.call("POST /api/leaderboards").json(&wanted).check(want).await;
}

#[tokio::test]
async fn statuses_of_a_creation() {
    check_made(json!({"name": "mine"}), "201").await;
    check_made(json!({"name": "mine", "players": 2, "board": "7x7", "game_type": "royale", "season_days": 30}), "201")
        .await;
    check_made(json!({"name": ""}), "400 bad_value /name").await;
    check_made(json!({}), "422 bad_shape").await;
    check_made(json!({"name": "mine", "players": 1}), "400 bad_value /players").await;
    check_made(json!({"name": "mine", "players": 17}), "400 bad_value /players").await;
    check_made(json!({"name": "mine", "players": 300}), "400 bad_value /players").await;
    check_made(json!({"name": "mine", "season_days": 0}), "400 bad_value /season_days").await;
    check_made(json!({"name": "mine", "season_days": 367}), "400 bad_value /season_days").await;
    check_made(json!({"name": "mine", "board": "8x"}), "400 bad_value /board").await;
    check_made(json!({"name": "mine", "timeout_ms": 1}), "400 bad_value /timeout_ms").await;
    check_made(json!({"name": "mine", "game_type": "chess"}), "400 bad_value /game_type").await;
}

#[tokio::test]
async fn an_account_has_so_many_leaderboards() {
    let server = TestServer::open().await;
    for _ in 0..5 {
        board(&server, &json!({"name": "same"})).await;
    }
    server.call("POST /api/leaderboards").json(&json!({"name": "sixth"})).check("409 too_many").await;
    server.call("POST /api/leaderboards").by("operator").json(&json!({"name": "sixth"})).check("201").await;
    let listed = server.call("GET /api/leaderboards?limit=4").by("").check("200").await;
    assert_eq!(listed.body.as_array().unwrap().len(), 4);
    let next = listed.headers["link"].to_str().unwrap().split(['<', '>']).nth(1).unwrap().to_owned();
    assert_eq!(server.call(&format!("GET {next}")).by("").check("200").await.body.as_array().unwrap().len(), 2);
    assert_eq!(server.call("GET /api/leaderboards?of=me").by("bob").check("200").await.body, json!([]));
    server.call("GET /api/leaderboards?of=me").by("").check("401 token_missing").await;
    server.call("GET /api/leaderboards?of=you").check("400 bad_value").await;
}

#[tokio::test]
async fn a_leaderboard_is_seen_and_ended() {
    let server = TestServer::open().await;
    let (path, _) = board(&server, &json!({"name": "mine"})).await;
    let seen = server.call(&format!("GET {path}")).by("").check("200").await.body;
    let want = json!(["mine", true, 4, "11x11", 10, 1, 0, "no snake has entered; a game needs 4"]);
    let keys = ["name", "active", "players", "board", "min_games", "season", "entries_active", "note"];
    assert_eq!(Value::from(keys.map(|key| seen[key].clone()).to_vec()), want);
    server.call(&format!("DELETE {path}")).by("bob").check("403 not_owner").await;
    server.call(&format!("DELETE {path}")).by("").check("401 token_missing").await;
    server.call(&format!("DELETE {path}")).by(OTHER_OPERATOR).check("204").await;
    server.call(&format!("DELETE {path}")).check("204").await;
    let seen = server.call(&format!("GET {path}")).by("").check("200").await.body;
    assert_eq!((&seen["active"], &seen["note"]), (&json!(false), &json!("this leaderboard has ended")));
    let id = snake(&server, "player", "late").await;
    let entry = json!({"battlesnake_id": id.to_string()});
    server.call(&format!("POST {path}/entries")).json(&entry).check("409 leaderboard_ended").await;
    let seasons = server.call(&format!("GET {path}/seasons")).by("").check("200").await.body;
    assert_eq!((&seasons[0]["season"], &seasons[0]["last_game"]), (&json!(1), &json!(0)));
    server.call("GET /api/leaderboards/0190b5a4-7c1e-7000-8000-000000000001").check("404 no_such_leaderboard").await;
    server.call("GET /api/leaderboards/x").check("400 bad_id").await;
}

#[tokio::test]
async fn a_snake_enters_and_leaves() {
    let server = TestServer::open().await;
    let (path, _) = board(&server, &json!({"name": "mine"})).await;
    let id = snake(&server, "player", "public").await.to_string();
    let enter = |id: &str| server.call(&format!("POST {path}/entries")).json(&json!({"battlesnake_id": id}));
    let entry = enter(&id).check("201").await.body;
    let keys: Vec<&String> = entry.as_object().unwrap().keys().collect();
    let want = [
        "active",
        "battlesnake_id",
        "display_score",
        "first_place_finishes",
        "games_played",
        "leaderboard_entry_id",
        "non_first_finishes",
    ];
    assert_eq!(keys, want);
    assert_eq!(enter(&id).check("201").await.body, entry);
    enter(&ANNS.to_string()).check("400 private_snake /battlesnake_id").await;
    enter(&BOBS_PUBLIC.to_string()).check("403 not_snake_owner").await;
    enter(&BOBS_PRIVATE.to_string()).check("403 not_snake_owner").await;
    enter("0190b5a4-7c1e-7000-8000-000000000001").check("404 no_such_snake").await;
    enter("x").check("400 bad_value /battlesnake_id").await;
    enter(&id).by("").check("401 token_missing").await;
    // Another leaderboard than there is: nothing is entered anywhere.
    for (ladder, want) in [("0190b5a4-7c1e-7000-8000-000000000001", "404 no_such_leaderboard"), ("x", "400 bad_id")] {
        let elsewhere = format!("/api/leaderboards/{ladder}/entries");
        server.call(&format!("POST {elsewhere}")).json(&json!({"battlesnake_id": id})).check(want).await;
        server.call(&format!("DELETE {elsewhere}/{id}")).check(want).await;
        server.call(&format!("GET {elsewhere}/{id}/opponents?opponent={id}")).check(want).await;
    }
    server.call(&format!("POST {path}/entries")).json(&json!({})).check("422 bad_shape").await;
    let of_entry = format!("{path}/entries/{id}");
    let own = async |by: &str| server.call(&format!("GET {path}/entries")).by(by).check("200").await.body;
    assert_eq!([own("player").await, own("bob").await], [json!([entry]), json!([])]);
    let listed = server.call("GET /api/leaderboards?limit=1").by("").check("200").await.body;
    assert_eq!((&listed[0]["name"], &listed[0]["entries_active"]), (&json!("mine"), &json!(1)));
    server.call(&format!("DELETE {of_entry}")).by("bob").check("403 not_snake_owner").await;
    server.call(&format!("DELETE {of_entry}")).by(OTHER_OPERATOR).check("204").await;
    server.call(&format!("DELETE {of_entry}")).check("204").await;
    server.call(&format!("DELETE {path}/entries/{ANNS}")).check("404 no_such_entry").await;
    assert_eq!(server.call(&format!("GET {of_entry}")).by("").check("200").await.body["active"], json!(false));
    assert_eq!(enter(&id).check("201").await.body, entry);
    // A snake that becomes private, or is deleted, is out.
    let private = json!({"is_public": false});
    server.call(&format!("PUT /api/snakes/{id}")).json(&private).check("200").await;
    assert_eq!(server.call(&format!("GET {of_entry}")).by("").check("200").await.body["active"], json!(false));
    server.call(&format!("PUT /api/snakes/{id}")).json(&json!({"is_public": true})).check("200").await;
    enter(&id).check("201").await;
    server.call(&format!("DELETE /api/snakes/{id}")).check("204").await;
    let gone = server.call(&format!("GET {of_entry}")).by("").check("200").await.body;
    assert_eq!((&gone["active"], &gone["snake_name"]), (&json!(false), &json!("public")));
}

#[tokio::test]
async fn a_leaderboard_says_why_nothing_is_played() {
    let server = TestServer::open().await;
    for (is_public, of_one_account) in [(true, "a game needs snakes of 2 accounts"), (false, "")] {
        let wanted = json!({"name": "duels", "players": 2, "is_public": is_public});
        let (path, _) = board(&server, &wanted).await;
        let shown = async || server.call(&format!("GET {path}")).check("200").await.body["note"].clone();
        let enter = async |by: &str, name: String| {
            let entry = json!({"battlesnake_id": snake(&server, by, &name).await.to_string()});
            server.call(&format!("POST {path}/entries")).by(by).json(&entry).check("201").await;
            (shown().await, entry["battlesnake_id"].clone())
        };
        let (first, _) = enter("player", format!("first {is_public}")).await;
        assert!(first.as_str().unwrap().contains("1 more must enter"), "{first}");
        let (second, _) = enter("player", format!("second {is_public}")).await;
        assert!(second.as_str().unwrap_or_default().contains(of_one_account), "{second}");
        assert_eq!(second.is_string(), is_public);
        if is_public {
            // It has the URL of another account's: one program, which would play against itself.
            let (third, id) = enter("bob", "third".to_owned()).await;
            assert!(third.as_str().unwrap().contains("and these are of 2 with 1"), "{third}");
            let other = format!("PUT /api/snakes/{}", id.as_str().unwrap());
            server.call(&other).by("bob").json(&json!({"url": "http://127.0.0.1:4100/y"})).check("200").await;
            assert_eq!(shown().await, Value::Null);
            // Others play, and this one has no opponent: one has its URL, and the other one its account.
            let (fourth, alone) = enter("bob", "fourth".to_owned()).await;
            assert_eq!(fourth, Value::Null);
            let note = async |id: &Value| {
                let of_entry = format!("GET {path}/entries/{}", id.as_str().unwrap());
                server.call(&of_entry).by("").check("200").await.body["note"].clone()
            };
            let why = note(&alone).await;
            assert!(why.as_str().unwrap().contains("too few opponents"), "{why}");
            assert_eq!(note(&id).await, Value::Null);
        }
    }
}

#[tokio::test]
async fn a_private_leaderboard_is_for_those_invited() {
    let server = TestServer::open().await;
    let (path, _) = board(&server, &json!({"name": "secret", "is_public": false})).await;
    let id = snake(&server, "bob", "public").await.to_string();
    let entry = json!({"battlesnake_id": id});
    server.call(&format!("GET {path}")).by("").check("404 no_such_leaderboard").await;
    server.call(&format!("GET {path}/rankings")).by("bob").check("404 no_such_leaderboard").await;
    server.call(&format!("POST {path}/entries")).by("bob").json(&entry).check("404 no_such_leaderboard").await;
    server.call(&format!("GET {path}/invitations")).by("bob").check("404 no_such_leaderboard").await;
    let invite = |name: &str| server.call(&format!("POST {path}/invitations")).json(&json!({"account": name}));
    invite("nobody").check("404 no_such_account /account").await;
    invite("bob").by(OTHER_OPERATOR).check("204").await;
    invite("bob").check("204").await;
    invite("ann").by("bob").check("403 not_owner").await;
    let invited = server.call(&format!("GET {path}/invitations")).check("200").await.body;
    assert_eq!((invited.as_array().unwrap().len(), &invited[0]["account"]), (1, &json!("bob")));
    let listed = server.call("GET /api/leaderboards?of=invited").by("bob").check("200").await.body;
    assert_eq!(listed[0]["name"], json!("secret"));
    server.call(&format!("POST {path}/entries")).by("bob").json(&entry).check("201").await;
    let bob = invited[0]["account_id"].as_str().unwrap();
    server.call(&format!("DELETE {path}/invitations/{bob}")).check("204").await;
    server.call(&format!("DELETE {path}/invitations/{bob}")).check("404 no_such_account").await;
    server.call(&format!("GET {path}")).by("bob").check("404 no_such_leaderboard").await;
    assert_eq!(server.call(&format!("GET {path}")).check("200").await.body["entries_active"], json!(0));
    let (public, _) = board(&server, &json!({"name": "public"})).await;
    let invite = server.call(&format!("POST {public}/invitations")).json(&json!({"account": "bob"}));
    invite.check("409 leaderboard_public").await;
}

/// The twelve next results of two bots: the first always wins.
async fn rate(server: &TestServer, ladder: CompetitionId, bots: [BotId; 2]) {
    let store = &server.app.node.store;
    let row = store.read(move |reader| reader.competition(ladder)).await.unwrap().unwrap();
    let (season, first) = (current_season(&row), row.results_applied + 1);
    let numbers = first..first + 12;
    let now = server.app.node.clock.now();
    let settings = LadderDefinition::decode(&row.definition).unwrap().settings;
    let origin = |key| Some(MatchOrigin { kind: CompetitionKind::Ladder, competition: ladder, key });
    let spec = |n: u64| settings.spec(MatchId(n.into()), rules::chance::Seed(n), origin(n), Vec::new(), true);
    let advance = Advance { matches: numbers.clone().map(spec).collect(), ..Advance::of(&row, now) };
    let done = server.commit(Command::Competition(CompetitionCommand::Advance(advance))).await;
    assert_eq!(done, Outcome::Done);
    for n in numbers.clone() {
        let cancel = Command::CancelMatch { id: MatchId(n.into()), account: None, now };
        assert_eq!(server.commit(cancel).await, Outcome::Done);
    }
    let mut changes = RatingChanges::default();
    for number in numbers {
        let seat = |(bot, place)| SeatSummary { bot, place, cause: None, food_eaten: 2, is_silent: false };
        let seats = bots.into_iter().zip(1..).map(seat).collect();
        let summary = ResultSummary { seats, ..ResultSummary::default() };
        let (match_id, ending) = (MatchId(number.into()), MatchState::Finished);
        changes.apply(&CompetitionResult { number, match_id, key: number, ended_at: now, ending, summary });
    }
    let row = store.read(move |reader| reader.competition(ladder)).await.unwrap().unwrap();
    let advance = Advance { results_applied: first + 11, ..Advance::of(&row, now) };
    let rate = RateResults { advance, season, changes, strangers: Vec::new() };
    assert_eq!(server.commit(Command::Ladder(LadderCommand::Rate(Box::new(rate)))).await, Outcome::Done);
}

/// Games of a leaderboard that wait, with these ids.
async fn queue(server: &TestServer, ladder: CompetitionId, ids: [u128; 3], is_public: bool) {
    let row = server.app.node.store.read(move |reader| reader.competition(ladder)).await.unwrap().unwrap();
    let settings = LadderDefinition::decode(&row.definition).unwrap().settings;
    let origin = |key| Some(MatchOrigin { kind: CompetitionKind::Ladder, competition: ladder, key });
    let spec = |id: u128| settings.spec(MatchId(id), rules::chance::Seed(7), origin(id as u64), Vec::new(), is_public);
    let advance = Advance { matches: ids.map(spec).to_vec(), ..Advance::of(&row, server.app.node.clock.now()) };
    let done = server.commit(Command::Competition(CompetitionCommand::Advance(advance))).await;
    assert_eq!(done, Outcome::Done);
}

#[tokio::test]
async fn games_are_listed_and_say_what_they_are_played_for() {
    let server = TestServer::open().await;
    let (path, ladder) = board(&server, &json!({"name": "mine", "players": 2})).await;
    let (private, secret) = board(&server, &json!({"name": "secret", "players": 2, "is_public": false})).await;
    queue(&server, ladder, [1, 2, 3], true).await;
    queue(&server, secret, [4, 5, 6], false).await;
    let cancel = Command::CancelMatch { id: MatchId(3), account: None, now: server.app.node.clock.now() };
    assert_eq!(server.commit(cancel).await, Outcome::Done);
    let numbers = |body: &Value| -> Vec<u128> {
        let id = |game: &Value| game["id"].as_str().unwrap().parse::<MatchId>().unwrap().0;
        body.as_array().unwrap().iter().map(id).collect()
    };
    let list = async |path: &str, by: &str| server.call(&format!("GET {path}")).by(by).check("200").await;
    let all = list(&format!("{path}/games"), "").await.body;
    assert_eq!((numbers(&all), &all[0]["status"]), (vec![3, 2, 1], &json!("cancelled")));
    let competition = json!({"kind": "ladder", "id": ladder.to_string(), "name": "mine"});
    assert_eq!(all[2]["competition"], competition);
    let live = list(&format!("{path}/games?live=true&limit=1"), "").await;
    assert_eq!(numbers(&live.body), [2]);
    let next = live.headers["link"].to_str().unwrap().split(['<', '>']).nth(1).unwrap().to_owned();
    assert_eq!(numbers(&list(&next, "").await.body), [1]);
    server.call(&format!("GET {path}/games?live=yes")).by("").check("400 bad_value").await;
    // Of a private one, to those who may see it.
    server.call(&format!("GET {private}/games")).by("bob").check("404 no_such_leaderboard").await;
    assert_eq!(numbers(&list(&format!("{private}/games"), "player").await.body), [6, 5, 4]);
    let summary = async |id: u128, by: &str| {
        let path = format!("/api/games/{}/summary", MatchId(id));
        list(&path, by).await.body["competition"]["name"].clone()
    };
    let seen =
        [summary(1, "").await, summary(4, "bob").await, summary(4, "player").await, summary(4, "operator").await];
    assert_eq!(seen, [json!("mine"), Value::Null, json!("secret"), json!("secret")]);
    let details = format!("/api/games/{}/details", MatchId(1));
    assert_eq!(list(&details, "bob").await.body["competition"], competition);
}

#[tokio::test]
async fn ratings_are_shown() {
    let server = TestServer::open().await;
    let (path, ladder) = board(&server, &json!({"name": "mine", "players": 2})).await;
    let mut snakes = Vec::new();
    for name in ["strong", "weak", "new"] {
        let id = snake(&server, "player", name).await;
        let entry = json!({"battlesnake_id": id.to_string()});
        server.call(&format!("POST {path}/entries")).json(&entry).check("201").await;
        snakes.push(id);
    }
    rate(&server, ladder, [snakes[0], snakes[1]]).await;
    let rankings = server.call(&format!("GET {path}/rankings")).by("").check("200").await;
    assert!(!rankings.headers.contains_key("link"));
    let body = rankings.body;
    let keys: Vec<&String> = body.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["leaderboard_id", "leaderboard_name", "min_games", "placement", "ranked", "season"]);
    let named = |list: &Value| -> Vec<(u64, String)> {
        let list = list.as_array().unwrap().iter();
        list.map(|entry| (entry["rank"].as_u64().unwrap(), entry["snake_name"].as_str().unwrap().to_owned())).collect()
    };
    assert_eq!(named(&body["ranked"]), [(1, "strong".to_owned()), (2, "weak".to_owned())]);
    assert_eq!(named(&body["placement"]), [(0, "new".to_owned())]);
    let first = &body["ranked"][0];
    let figures = ["owner", "games_played", "first_place_finishes", "non_first_finishes", "first_place_rate"];
    assert_eq!(Value::from(figures.map(|key| first[key].clone()).to_vec()), json!(["ann", 12, 12, 0, 1.0]));
    assert_eq!((&first["scores"]["food_eaten"], &first["scores"]["rating"]), (&json!(24), &first["display_score"]));

    // Page by page: the same entries in the same order.
    let mut next = format!("{path}/rankings?sort=food_eaten&limit=1");
    let mut seen = Vec::new();
    loop {
        let page = server.call(&format!("GET {next}")).by("").check("200").await;
        seen.extend(named(&page.body["ranked"]));
        seen.extend(named(&page.body["placement"]));
        let Some(link) = page.headers.get("link") else { break };
        next = link.to_str().unwrap().split(['<', '>']).nth(1).unwrap().to_owned();
    }
    assert_eq!(seen.iter().map(|(rank, _)| *rank).collect::<Vec<_>>(), [1, 2, 0]);
    server.call(&format!("GET {path}/rankings?sort=name")).check("400 bad_value").await;
    for limit in [0, -1] {
        let empty = server.call(&format!("GET {path}/rankings?limit={limit}")).by("").check("200").await.body;
        assert_eq!((&empty["ranked"], &empty["placement"]), (&json!([]), &json!([])));
    }
    server.call(&format!("GET {path}/rankings?offset=1")).check("400 bad_value").await;
    server.call(&format!("GET {path}/rankings?after=x")).check("400 bad_value").await;
    server.call(&format!("GET {path}/rankings?season=2")).check("404 no_such_season").await;
    server.call(&format!("GET {path}/rankings?season=x")).check("400 bad_value").await;

    let weak = format!("{path}/entries/{}", snakes[1]);
    let details = server.call(&format!("GET {weak}")).by("").check("200").await.body;
    assert_eq!((&details["rank"], &details["seats"], &details["owner"]), (&json!(2), &json!([0, 12]), &json!("ann")));
    let games = server.call(&format!("GET {weak}/games?limit=5")).by("").check("200").await;
    assert_eq!((games.body.as_array().unwrap().len(), &games.body[0]["number"]), (5, &json!(12)));
    assert_eq!(games.body[0]["before"], games.body[1]["after"]);
    let next = games.headers["link"].to_str().unwrap().split(['<', '>']).nth(1).unwrap().to_owned();
    assert_eq!(server.call(&format!("GET {next}")).by("").check("200").await.body[0]["number"], json!(7));
    let opponents = server.call(&format!("GET {weak}/opponents")).by("").check("200").await.body;
    let figures = ["snake_name", "wins", "losses", "ties"].map(|key| opponents[0][key].clone());
    assert_eq!(Value::from(figures.to_vec()), json!(["strong", 0, 12, 0]));
    assert!(opponents[0].get("last_games").is_none());

    let pair = server.call(&format!("GET {weak}/opponents?opponent={}", snakes[0])).by("").check("200").await.body;
    let figures = ["snake_name", "wins", "losses", "ties"].map(|key| pair[0][key].clone());
    assert_eq!((pair.as_array().unwrap().len(), Value::from(figures.to_vec())), (1, json!(["strong", 0, 12, 0])));
    let last = &pair[0]["last_games"];
    let figures = ["number", "place", "opponent_place"].map(|key| last[0][key].clone());
    assert_eq!((last.as_array().unwrap().len(), Value::from(figures.to_vec())), (12, json!([12, 2, 1])), "{last}");
    let strangers = server.call(&format!("GET {weak}/opponents?opponent={}", snakes[2])).by("").check("200").await;
    assert_eq!(strangers.body, json!([]), "they have not met");
    server.call(&format!("GET {weak}/opponents?opponent=strong")).by("").check("400 bad_value").await;
    let new = format!("{path}/entries/{}", snakes[2]);
    for list in ["games", "opponents"] {
        let of_new = server.call(&format!("GET {new}/{list}")).by("").check("200").await;
        assert_eq!(of_new.body, json!([]), "it has not played");
        server.call(&format!("GET {path}/entries/{BOBS_PUBLIC}/{list}")).by("").check("404 no_such_entry").await;
    }
    let seats = server.call(&format!("GET {path}/seats")).by("").check("200").await.body;
    assert_eq!((&seats[0]["place_mean"], &seats[1]["first_place_finishes"]), (&json!(1.0), &json!(0)));
}

#[tokio::test]
async fn the_last_games_of_a_pair_are_of_the_season() {
    let server = TestServer::open().await;
    let (path, ladder) = board(&server, &json!({"name": "mine", "players": 2, "season_days": 1})).await;
    let mut snakes = Vec::new();
    for name in ["strong", "weak"] {
        let id = snake(&server, "player", name).await;
        let entry = json!({"battlesnake_id": id.to_string()});
        server.call(&format!("POST {path}/entries")).json(&entry).check("201").await;
        snakes.push(id);
    }
    rate(&server, ladder, [snakes[0], snakes[1]]).await;
    let row = server.app.node.store.read(move |reader| reader.competition(ladder)).await.unwrap().unwrap();
    let now = server.app.node.clock.now();
    let end = SeasonEnd { season: 1, last_result: 12, ended_at: now, is_last: false };
    let advance = Advance { entries: vec![end.encode()], ..Advance::of(&row, now) };
    assert_eq!(server.commit(Command::Ladder(LadderCommand::EndSeason(advance))).await, Outcome::Done);
    rate(&server, ladder, [snakes[0], snakes[1]]).await;
    let check = async |season: &str, want: [u64; 3]| {
        let call = format!("GET {path}/entries/{}/opponents?opponent={}{season}", snakes[1], snakes[0]);
        let pair = server.call(&call).check("200").await.body[0].clone();
        let games = pair["last_games"].as_array().unwrap();
        let numbers = [&pair["losses"], &games[0]["number"], &games[games.len() - 1]["number"]];
        assert_eq!((numbers.map(|number| number.as_u64().unwrap()), games.len()), (want, 12), "{season}");
    };
    check("&season=1", [12, 12, 1]).await;
    check("&season=2", [12, 24, 13]).await;
    check("", [12, 24, 13]).await;
}

/// What is stored without a result is found, put right on request, and equal from then on.
#[tokio::test]
async fn an_operator_recomputes_ratings() {
    let server = TestServer::open().await;
    let (path, ladder) = board(&server, &json!({"name": "mine", "players": 2})).await;
    let mut snakes = Vec::new();
    for name in ["strong", "weak"] {
        let id = snake(&server, "player", name).await;
        server
            .call(&format!("POST {path}/entries"))
            .json(&json!({"battlesnake_id": id.to_string()}))
            .check("201")
            .await;
        snakes.push(id);
    }
    // Its twelve games were cancelled, so that they rate no snake; ratings that rest on nothing are stored.
    rate(&server, ladder, [snakes[0], snakes[1]]).await;
    let recompute =
        |query: &str| server.call(&format!("POST /api/admin/leaderboards/{ladder}/recompute{query}")).by("operator");
    let found = recompute("").check("200").await.body;
    let wrong = found["wrong"].as_u64().unwrap();
    assert!(wrong >= 2 * 12, "each game of each snake: {found}");
    assert_eq!((&found["season"], &found["results"], &found["rated"]), (&json!(1), &json!(12), &json!(0)));
    assert_eq!(found["is_written"], json!(false));
    let ranked = async || server.call(&format!("GET {path}/rankings")).by("").check("200").await.body["ranked"].clone();
    assert_eq!(ranked().await.as_array().unwrap().len(), 2, "nothing was changed");
    let written = recompute("?season=1&write=true").check("200").await.body;
    assert_eq!((&written["wrong"], &written["is_written"]), (&json!(wrong), &json!(true)));
    assert_eq!(ranked().await, json!([]));
    let equal = recompute("?write=true").check("200").await.body;
    assert_eq!((&equal["wrong"], &equal["is_written"]), (&json!(0), &json!(false)));
    recompute("?season=2").check("404 no_such_season").await;
    recompute("?season=0").check("404 no_such_season").await;
    recompute("?season=x").check("400 bad_value").await;
    recompute("").by("player").check("403 role_too_weak").await;
    let unknown = server.call(&format!("POST /api/admin/leaderboards/{ANNS}/recompute")).by("operator");
    unknown.check("404 no_such_leaderboard").await;
    // One at a time.
    let permit = server.app.recomputations.clone().try_acquire_owned().unwrap();
    recompute("").check("503 recompute_running").await;
    drop(permit);
    recompute("").check("200").await;
}
