//! Rights: every action in every stage of a game by every role, against a table written by hand. A refused action changes nothing.

use crate::documented;
use crate::play::{Role, Stage, Story};
use crate::test_server::Call;
use serde_json::{Value, json};

/// One row a stage, one column a role: storyteller, player, invited, stranger, neighbour, visitor.
struct Rights {
    action: &'static str,
    rows: [&'static str; 8],
}

/// The meaning of the letters.
fn meaning(letter: char) -> (u16, &'static str) {
    match letter {
        '.' => (200, ""),
        '+' => (201, ""),
        '?' => (401, "token_missing"),
        'm' => (403, "not_a_member"),
        'p' => (403, "not_a_player"),
        's' => (403, "not_storyteller"),
        'k' => (403, "storyteller_may_not_pick"),
        'v' => (403, "storyteller_may_not_vote"),
        'w' => (409, "wrong_phase"),
        'j' => (409, "already_joined"),
        'c' => (409, "card_not_set"),
        'f' => (409, "too_few_picks"),
        'F' => (409, "too_few_votes"),
        'g' => (409, "game_live"),
        other => panic!("{other}"),
    }
}

/// The storyteller of the canceled game has left it.
const RIGHTS: [Rights; 13] = [
    //                              opened    chosen    told      picked    voting    voted     complete  canceled
    Rights { action: "join", rows: ["jj...?", "jj...?", "jj...?", "jj...?", "wwwww?", "wwwww?", "wwwww?", "wwwww?"] },
    Rights { action: "leave", rows: ["..mmm?", "..mmm?", "..mmm?", "..mmm?", "..mmm?", "..mmm?", "..mmm?", "m.mmm?"] },
    Rights { action: "card", rows: [".ssss?", ".ssss?", "wssss?", "wssss?", "wssss?", "wssss?", "wssss?", "wssss?"] },
    Rights {
        action: "sentence",
        rows: ["cssss?", ".ssss?", "wssss?", "wssss?", "wssss?", "wssss?", "wssss?", "wssss?"],
    },
    Rights { action: "invite", rows: [".ssss?", ".ssss?", ".ssss?", ".ssss?", "wssss?", "wssss?", "wssss?", "wssss?"] },
    Rights { action: "pick", rows: ["kwppp?", "kwppp?", "k.ppp?", "k.ppp?", "kwppp?", "kwppp?", "kwppp?", "kwppp?"] },
    Rights { action: "voting", rows: ["wssss?", "wssss?", "fssss?", ".ssss?", "wssss?", "wssss?", "wssss?", "wssss?"] },
    Rights { action: "vote", rows: ["vwppp?", "vwppp?", "vwppp?", "vwppp?", "v.ppp?", "v.ppp?", "vwppp?", "vwppp?"] },
    Rights {
        action: "complete",
        rows: ["wssss?", "wssss?", "wssss?", "wssss?", "Fssss?", ".ssss?", "wssss?", "wssss?"],
    },
    Rights {
        action: "countdown",
        rows: ["wssss?", "wssss?", ".ssss?", ".ssss?", ".ssss?", ".ssss?", "wssss?", "wssss?"],
    },
    Rights { action: "bots", rows: [".ssss?", ".ssss?", ".ssss?", ".ssss?", ".ssss?", ".ssss?", "wssss?", "wssss?"] },
    Rights { action: "chat", rows: ["..mmm?", "..mmm?", "..mmm?", "..mmm?", "..mmm?", "..mmm?", "..mmm?", "m.mmm?"] },
    Rights {
        action: "next game",
        rows: ["ggggg?", "ggggg?", "ggggg?", "ggggg?", "ggggg?", "ggggg?", "+++++?", "+++++?"],
    },
];

/// The cards in the requests: one of Ann's hand, one of Ben's, one of the board that is not Ben's.
struct Cards {
    anns: Value,
    bens: Value,
    on_board: Value,
}

impl Cards {
    async fn of(story: &Story) -> Self {
        let (ann, ben) = (story.state(&story.ann.token).await, story.state(&story.ben.token).await);
        let own = &ben["game"]["own"];
        let board = ann["game"]["board"].as_array().cloned().unwrap_or_default();
        let on_board = board.into_iter().find(|card| *card != own["picked"]).unwrap_or(json!(1));
        let anns = ann["game"]["own"]["hand"].get(0).cloned().unwrap_or(json!(1));
        Self { anns, bens: own["hand"][1].clone(), on_board }
    }
}

/// The request, and its line.
fn request(story: &Story, action: &str, role: Role, cards: &Cards) -> (String, Call) {
    let (game, table) = (&story.game, &story.table);
    let body = match action {
        "card" => json!({ "card": cards.anns }),
        "sentence" => json!({ "sentence": "Further still" }),
        "invite" => json!({ "players": [story.eve.id] }),
        "pick" => json!({ "card": cards.bens }),
        "vote" => json!({ "card": cards.on_board }),
        "countdown" => json!({ "countdown_ms": 30_000 }),
        "bots" => json!({ "are_on": true }),
        "chat" => json!({ "text": "Hello" }),
        "next game" => json!({ "table": table }),
        _ => json!({}),
    };
    let line = match action {
        "chat" => format!("POST /api/stories/tables/{table}/chat"),
        "next game" => "POST /api/stories/games".to_owned(),
        action => format!("POST /api/stories/games/{game}/{action}"),
    };
    let call = story.server.call(&line).by(story.token(role)).json(&body);
    (line, call)
}

/// Everything about the game that its players can see, without their presence.
async fn seen(story: &Story) -> Vec<Value> {
    let mut views = Vec::new();
    for person in [&story.ann, &story.ben, &story.dan] {
        let mut view = story.state(&person.token).await;
        view.as_object_mut().unwrap().remove("presence");
        views.push(view);
    }
    views
}

/// The refusals of one stage share a game, since they must not change it; each successful action has its own game.
async fn check(stage: Stage) {
    let at = Stage::ALL.iter().position(|known| *known == stage).unwrap();
    let story = Story::at(stage).await;
    let (cards, before) = (Cards::of(&story).await, seen(&story).await);
    for rights in &RIGHTS {
        assert_eq!(rights.rows[at].len(), Role::ALL.len(), "{} {stage:?}", rights.action);
        for (role, letter) in Role::ALL.into_iter().zip(rights.rows[at].chars()) {
            let (status, code) = meaning(letter);
            let want = format!("{status} {code}");
            let what = format!("{} by {role:?} at {stage:?}", rights.action);
            if status < 300 {
                let fresh = Story::at(stage).await;
                let cards = Cards::of(&fresh).await;
                println!("{what}");
                request(&fresh, rights.action, role, &cards).1.check(want.trim()).await;
            } else {
                println!("{what}");
                let (line, call) = request(&story, rights.action, role, &cards);
                let refused = call.check(&want).await;
                // The codes for a missing token are documented for all routes together.
                if role != Role::Visitor {
                    documented::check(&line, &refused);
                }
                assert_eq!(seen(&story).await, before, "{what} has changed something");
            }
        }
    }
}

#[tokio::test]
async fn rights_while_a_game_is_opened() {
    check(Stage::Opened).await;
    check(Stage::Chosen).await;
}

#[tokio::test]
async fn rights_while_cards_are_picked() {
    check(Stage::Told).await;
    check(Stage::Picked).await;
}

#[tokio::test]
async fn rights_while_votes_are_cast() {
    check(Stage::Voting).await;
    check(Stage::Voted).await;
}

#[tokio::test]
async fn rights_when_a_game_is_over() {
    check(Stage::Complete).await;
    check(Stage::Canceled).await;
}

/// Refusals about cards: right player, right phase, wrong card.
#[tokio::test]
async fn players_play_only_their_own_cards_and_vote_for_others() {
    let story = Story::at(Stage::Chosen).await;
    let play =
        |who: &crate::play::Person, action: &str, card: u64| story.post(who, action, Some(json!({ "card": card })));
    let (anns, bens) = (story.hand(&story.ann).await, story.hand(&story.ben).await);
    play(&story.ann, "card", bens[0]).check("409 not_in_hand").await;
    story.go_on_to(Stage::Told).await;
    play(&story.ben, "pick", anns[0]).check("409 not_in_hand").await;
    story.go_on_to(Stage::Picked).await;
    story.go_on_to(Stage::Voting).await;
    play(&story.ben, "vote", story.card_of(&story.ben).await).check("409 own_card").await;
    play(&story.ben, "vote", bens[5]).check("409 not_on_board").await;
    // A previous game of the table, and a future one.
    story.go_on_to(Stage::Voted).await;
    story.go_on_to(Stage::Complete).await;
    let next = story.server.call("POST /api/stories/games").by(&story.ben.token);
    next.json(&json!({ "table": story.table })).check("201").await;
    story.post(&story.ben, "leave", None).check("409 game_not_live").await;
    let future = format!("POST /api/stories/games/{}-9/join", story.table);
    story.server.call(&future).by(&story.eve.token).check("409 game_not_live").await;
}

#[tokio::test]
async fn a_player_who_chats_too_fast_gets_a_retry_time() {
    let story = Story::at(Stage::Told).await;
    let line = format!("POST /api/stories/tables/{}/chat", story.table);
    let say = || story.server.call(&line).by(&story.ben.token).json(&json!({ "text": "again" }));
    for _ in 0..engine::limits::CHAT_BURST {
        say().check("200").await;
    }
    let refused = say().check("429 chat_too_fast").await;
    assert!(refused.headers.contains_key("retry-after"));
}
