//! Refusals that need more of a history than a stage and a role (`rights`): each over HTTP, with the documented code, and without any
//! change.

use crate::documented;
use crate::play::{Person, Stage, Story};
use crate::test_server::{Reply, TestServer};
use engine::limits::{STORY_CHANGES_MAX, STORY_INVITED_MAX, STORY_LEAVES_FREE};
use serde_json::{Value, json};
use settings::Config;
use std::sync::Arc;
use std::time::Duration;
use store::testing::MemoryDatabase;
use tokio::time::timeout;

/// What has not come after this time does not come any more.
const PATIENCE: Duration = Duration::from_secs(60);

/// The game as its members see it, without their presence.
async fn seen(story: &Story) -> Vec<Value> {
    let mut views = Vec::new();
    for person in [&story.ann, &story.ben, &story.cam, &story.eve] {
        let mut view = story.state(&person.token).await;
        view.as_object_mut().unwrap().remove("presence");
        views.push(view);
    }
    views
}

/// Checks that this action is refused with this code, as documented, and that nothing has changed.
async fn check(story: &Story, who: &Person, action: &str, body: Option<Value>, want: &str) -> Reply {
    let before = seen(story).await;
    let reply = story.post(who, action, body).check(want).await;
    documented::check(&format!("POST /api/stories/games/{}/{action}", story.game), &reply);
    assert_eq!(seen(story).await, before, "{action}: {want}");
    reply
}

/// Alternates between two actions as often as allowed; then changes are refused, and a repetition of the present choice is not.
async fn exhaust(story: &Story, who: &Person, action: &str, bodies: [Value; 2], want: usize) {
    let mut done = 0;
    while done <= want && story.post(who, action, Some(bodies[done % 2].clone())).send().await.status == 200 {
        done += 1;
    }
    assert_eq!(done, want, "{action}");
    check(story, who, action, Some(bodies[done % 2].clone()), "409 too_many_changes").await;
    story.post(who, action, Some(bodies[(done + 1) % 2].clone())).check("200").await;
}

#[tokio::test]
async fn changes_of_mind_are_limited() {
    let changes = usize::from(STORY_CHANGES_MAX);
    // The first card is no change; Dan's invitation is one.
    for (stage, action, want) in [(Stage::Opened, "card", changes), (Stage::Told, "pick", changes + 1)] {
        let story = Story::at(stage).await;
        let who = if action == "card" { &story.ann } else { &story.ben };
        let hand = story.hand(who).await;
        exhaust(&story, who, action, [0, 1].map(|index| json!({ "card": hand[index] })), want).await;
    }
    let story = Story::at(Stage::Voting).await;
    let others = [story.card_of(&story.ann).await, story.card_of(&story.cam).await];
    exhaust(&story, &story.ben, "vote", others.map(|card| json!({ "card": card })), changes + 1).await;
    // All settings of a storyteller count together.
    let story = Story::at(Stage::Told).await;
    let countdowns = [40_000, 50_000].map(|ms| json!({ "countdown_ms": ms }));
    exhaust(&story, &story.ann, "countdown", countdowns, changes - 1).await;
    for (action, body) in [("bots", json!({ "are_on": true })), ("invite", json!({ "players": [story.eve.id] }))] {
        check(&story, &story.ann, action, Some(body), "409 too_many_changes").await;
    }
}

#[tokio::test]
async fn invitations_are_limited() {
    let story = Story::at(Stage::Told).await;
    let stranger = |number: usize| format!("0190b5a4-7c1e-7000-8000-{number:012x}");
    // Dan is the first.
    let others: Vec<_> = (1..STORY_INVITED_MAX).map(stranger).collect();
    story.post(&story.ann, "invite", Some(json!({ "players": others }))).check("200").await;
    let one_more = json!({ "players": [stranger(STORY_INVITED_MAX)] });
    check(&story, &story.ann, "invite", Some(one_more), "409 too_many_invited").await;
}

#[tokio::test]
async fn a_new_player_at_a_restless_table_stays_for_a_moment() {
    let story = Story::at(Stage::Told).await;
    for _ in 0..STORY_LEAVES_FREE {
        story.post(&story.eve, "join", None).check("200").await;
        story.post(&story.eve, "leave", None).check("200").await;
    }
    story.post(&story.eve, "join", None).check("200").await;
    let refused = check(&story, &story.eve, "leave", None, "429 leave_too_soon").await;
    assert!(refused.headers.contains_key("retry-after"));
}

#[tokio::test]
async fn the_named_player_tells_the_next_story() {
    let story = Story::at(Stage::Voted).await;
    // Cam is the only one who is present when the game ends.
    let feed = format!("GET /api/stories/tables/{}/feed?after=0", story.table);
    story.server.call(&feed).by(&story.cam.token).check("200").await;
    story.go_on_to(Stage::Complete).await;
    let before = seen(&story).await;
    assert_eq!(before[0]["next_storyteller"]["player"], json!(story.cam.id));
    let line = "POST /api/stories/games";
    let next = |who: &Person| story.server.call(line).by(&who.token).json(&json!({ "table": story.table }));
    documented::check(line, &next(&story.ben).check("409 not_your_turn").await);
    assert_eq!(seen(&story).await, before);
    next(&story.cam).check("201").await;
}

/// An opening beyond a limit: its code, and nothing is opened.
async fn check_no_room(configure: fn(&mut Config), is_by_another: bool, want: &str) {
    let server = TestServer::open_with(Arc::new(MemoryDatabase::new()), configure).await;
    let (ann, ben) = (Person::come(&server, "Ann").await, Person::come(&server, "Ben").await);
    let line = "POST /api/stories/games";
    let open = |who: &Person| server.call(line).by(&who.token).json(&json!({}));
    open(&ann).check("201").await;
    let refused = open(if is_by_another { &ben } else { &ann }).check(want).await;
    assert!(refused.headers.contains_key("retry-after"));
    documented::check(line, &refused);
    let lobby = server.call("GET /api/stories/lobby").by("").check("200").await.body;
    assert_eq!(lobby.as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn tables_are_limited() {
    check_no_room(|config| config.stories_tables_per_player_max = 1, false, "429 too_many_tables").await;
    check_no_room(|config| config.stories_tables_max = 1, true, "503 too_many_tables").await;
}

/// Sends this until it is refused because the node drains.
async fn check_leaving(story: &Story, line: &str, body: Option<Value>) {
    let refused = async {
        loop {
            let call = story.server.call(line).by(&story.ann.token);
            let reply = match &body {
                Some(body) => call.json(body).send().await,
                None => call.send().await,
            };
            if reply.status == 503 {
                return reply;
            }
            tokio::task::yield_now().await;
        }
    };
    let refused = timeout(PATIENCE, refused).await.unwrap_or_else(|_| panic!("{line} is never refused"));
    assert!(refused.headers.contains_key("retry-after"), "{line}");
    documented::check(line, &refused);
}

#[tokio::test]
async fn a_draining_node_refuses_with_its_code() {
    let story = Story::at(Stage::Told).await;
    story.server.app.drain.begin();
    let (game, table) = (&story.game, &story.table);
    for (line, body) in [
        ("POST /api/stories/games".to_owned(), Some(json!({}))),
        (format!("POST /api/stories/games/{game}/join"), None),
        (format!("GET /api/stories/games/{game}"), None),
        (format!("GET /api/stories/tables/{table}"), None),
        (format!("GET /api/stories/tables/{table}/feed?after=0"), None),
        (format!("GET /api/stories/tables/{table}/feed?after=99&wait=10m"), None),
    ] {
        check_leaving(&story, &line, body).await;
    }
}
