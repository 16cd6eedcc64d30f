//! Lists: which games are in which list, page by page.

use crate::play::{Person, Stage, Story};
use crate::test_server::TestServer;
use serde_json::{Value, json};

async fn ids(server: &TestServer, token: &str, line: &str) -> Vec<String> {
    let reply = server.call(line).by(token).check("200").await;
    reply.body.as_array().unwrap().iter().map(|game| game["id"].as_str().unwrap().to_owned()).collect()
}

/// Which lists contain a game at this stage: `x` where it is. Ann's live, Dan's (who is invited) live, the lobby; Ann's ended, Ben's ended,
/// the history.
async fn check(stage: Stage, want: &str) {
    let story = Story::at(stage).await;
    let (ann, ben, dan) = (&story.ann.token, &story.ben.token, &story.dan.token);
    let lists = [
        (ann, "GET /api/stories/my-games"),
        (dan, "GET /api/stories/my-games?state=live"),
        (dan, "GET /api/stories/lobby"),
        (ann, "GET /api/stories/my-games?state=ended"),
        (ben, "GET /api/stories/my-games?state=ended"),
        (dan, "GET /api/stories/history"),
    ];
    let mut have = String::new();
    for (token, line) in lists {
        let is_there = ids(&story.server, token, line).await.contains(&story.game);
        have.push(if is_there { 'x' } else { '.' });
    }
    assert_eq!(have, want, "{stage:?}");
}

#[tokio::test]
async fn a_game_is_in_the_right_lists() {
    check(Stage::Opened, "xxx...").await;
    check(Stage::Picked, "xxx...").await;
    check(Stage::Voting, "x.....").await;
    check(Stage::Complete, "...xxx").await;
    check(Stage::Canceled, "...xxx").await;
}

#[tokio::test]
async fn my_games_show_the_role_and_the_result() {
    let story = Story::at(Stage::Complete).await;
    let mine = async |person: &Person| {
        let line = "GET /api/stories/my-games?state=ended";
        let body = story.server.call(line).by(&person.token).check("200").await.body;
        (body[0]["role"].clone(), body[0]["has_won"].clone(), body[0]["sentence"].clone())
    };
    // Ben found Ann's card, Cam did not.
    let sentence = json!("So far away");
    assert_eq!(mine(&story.ann).await, (json!("storyteller"), json!(true), sentence.clone()));
    assert_eq!(mine(&story.ben).await, (json!("player"), json!(true), sentence.clone()));
    assert_eq!(mine(&story.cam).await, (json!("player"), json!(false), sentence));
}

#[tokio::test]
async fn pages_follow_each_other() {
    let server = TestServer::open().await;
    let ann = Person::come(&server, "Ann").await;
    let mut opened = Vec::new();
    for _ in 0..5 {
        let reply = server.call("POST /api/stories/games").by(&ann.token).json(&json!({})).check("201").await;
        opened.push(reply.body["game"]["id"].as_str().unwrap().to_owned());
    }
    opened.sort();
    for list in ["my-games", "lobby"] {
        let mut line = format!("/api/stories/{list}?limit=2");
        let mut pages: Vec<Vec<String>> = Vec::new();
        loop {
            let reply = server.call(&format!("GET {line}")).by(&ann.token).check("200").await;
            let page = reply.body.as_array().unwrap().clone();
            pages.push(page.iter().map(|game| game["id"].as_str().unwrap().to_owned()).collect());
            let Some(link) = reply.headers.get("link") else { break };
            line = link.to_str().unwrap().split(['<', '>']).nth(1).unwrap().to_owned();
        }
        assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2, 1], "{list}");
        let mut listed = pages.concat();
        listed.sort();
        assert_eq!(listed, opened, "{list}");
    }
}

#[tokio::test]
async fn a_game_that_is_over_is_read_from_its_record() {
    let story = Story::at(Stage::Complete).await;
    let next = story.server.call("POST /api/stories/games").by(&story.ben.token);
    next.json(&json!({ "table": story.table })).check("201").await;
    let past = story.state("").await;
    assert_eq!(past["game"]["phase"], "complete");
    assert_eq!(past["seq"], Value::Null, "the table has moved on");
    assert!(past["game"]["winner_card"].is_u64());
    let line = format!("GET /api/stories/games/{}/history", story.game);
    let sentence = story.server.call(&line).by(&story.cam.token).check("200").await.body;
    let kinds: Vec<_> =
        sentence["events"].as_array().unwrap().iter().map(|event| event["type"].as_str().unwrap()).collect();
    let want = [
        "started",
        "joined",
        "joined",
        "card_chosen",
        "story_told",
        "picked",
        "picked",
        "voting_opened",
        "voted",
        "voted",
        "completed",
    ];
    assert_eq!(kinds, want);
}

#[tokio::test]
async fn a_players_points_are_visible_to_that_player_alone() {
    let story = Story::at(Stage::Complete).await;
    let line = format!("GET /api/stories/players/{}", story.ann.id);
    let own = story.server.call(&line).by(&story.ann.token).check("200").await.body;
    // One found the card and one did not: ten points for that, two for the one who did not.
    assert_eq!((&own["standing"]["score"], &own["level"]), (&json!(12), &json!(2)));
    assert_eq!(own["standing"]["earned_cards"].as_array().unwrap().len(), 1);
    let others = story.server.call(&line).by(&story.ben.token).check("200").await.body;
    assert_eq!((&others["standing"], &others["level"]), (&Value::Null, &json!(2)));
    // A guest's name is in the token and at its seat, and nowhere else.
    assert_eq!((&own["name"], &others["name"]), (&json!("Ann"), &Value::Null));
}

#[tokio::test]
async fn lists_show_the_storyteller() {
    let story = Story::at(Stage::Told).await;
    let opened = story.server.call("POST /api/stories/games").by("player").json(&json!({})).check("201").await;
    let names = async |line: &str, by: &str| -> Vec<Value> {
        let games = story.server.call(line).by(by).check("200").await.body;
        let mut names: Vec<_> = games.as_array().unwrap().iter().map(|game| game["storyteller_name"].clone()).collect();
        // Tables of the same millisecond are in any order.
        names.sort_by_key(ToString::to_string);
        names
    };
    // An account tells under its own name; Fay is at another table.
    assert_eq!(names("GET /api/stories/lobby", "").await, ["Ann", "Fay", "ann"]);
    assert_eq!(names("GET /api/stories/my-games", &story.ben.token).await, ["Ann"]);
    let player = opened.body["game"]["storyteller"].as_str().unwrap();
    let seen = story.server.call(&format!("GET /api/stories/players/{player}")).by("").check("200").await;
    assert_eq!(seen.body["name"], "ann");
    // A player who leaves keeps the name in other lists.
    story.post(&story.ann, "leave", None).check("200").await;
    assert_eq!(names("GET /api/stories/history", "").await, ["Ann"]);
}
