//! Hidden events leave no trace in a viewer's data: before and after an invitation, or a line of chat, a viewer who must not know of it
//! gets the same bytes.

use crate::play::{Person, Role, Stage, Story};
use bytes::Bytes;
use serde_json::json;

/// Everything that a client can read around a table.
async fn looks(story: &Story, token: &str) -> Vec<(String, Bytes)> {
    let (table, game) = (&story.table, &story.game);
    let paths = [
        format!("tables/{table}"),
        format!("tables/{table}/feed"),
        format!("tables/{table}/feed?after=1"),
        format!("games/{game}"),
        format!("games/{game}/history"),
        "lobby".to_owned(),
        "history".to_owned(),
    ];
    let mut seen = Vec::new();
    for path in paths {
        let reply = story.server.call(&format!("GET /api/stories/{path}")).by(token).send().await;
        seen.push((path, reply.bytes));
    }
    seen
}

/// Performs the request of one person, and checks the roles from which it is hidden.
async fn check(stage: Stage, what: &str, by: impl Fn(&Story) -> &Person, hidden_from: &[Role]) {
    let story = Story::at(stage).await;
    let stranger = Person::come(&story.server, "Gil").await;
    let tokens: Vec<_> = hidden_from.iter().map(|role| (*role, story.token(*role))).collect();
    let mut before = Vec::new();
    for (_, token) in &tokens {
        // A member who reads the feed is present from then on.
        looks(&story, token).await;
    }
    for (_, token) in &tokens {
        before.push(looks(&story, token).await);
    }
    let body = if what.ends_with("chat") { json!({ "text": "psst" }) } else { json!({ "players": [stranger.id] }) };
    let path = what.replace("TABLE", &story.table).replace("GAME", &story.game);
    let done = story.server.call(&format!("POST /api/stories/{path}")).by(&by(&story).token).json(&body).send().await;
    assert_eq!(done.status, 200, "{stage:?} {path}: {}", done.body);
    for ((role, token), before) in tokens.iter().zip(before) {
        assert_eq!(looks(&story, token).await, before, "{stage:?}, {path}, as {role:?}");
    }
}

#[tokio::test]
async fn an_invitation_is_visible_to_the_storyteller_alone() {
    use Role::{Invited, Neighbour, Player, Stranger, Visitor};
    for stage in [Stage::Opened, Stage::Chosen, Stage::Told, Stage::Picked] {
        let others = [Player, Invited, Stranger, Neighbour, Visitor];
        check(stage, "games/GAME/invite", |story| &story.ann, &others).await;
    }
}

#[tokio::test]
async fn chat_is_visible_to_members_alone() {
    use Role::{Invited, Neighbour, Stranger, Visitor};
    for stage in
        [Stage::Opened, Stage::Chosen, Stage::Told, Stage::Picked, Stage::Voting, Stage::Voted, Stage::Complete]
    {
        let others = [Invited, Stranger, Neighbour, Visitor];
        check(stage, "tables/TABLE/chat", |story| &story.ben, &others).await;
    }
}
