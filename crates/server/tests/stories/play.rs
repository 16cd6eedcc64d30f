//! A table with people in every role around it, brought to any stage of a game.

use crate::test_server::{Call, Reply, TestServer};
use serde_json::{Value, json};

/// A person with a guest's token.
#[derive(Clone, Debug)]
pub(crate) struct Person {
    pub(crate) id: String,
    pub(crate) token: String,
}

impl Person {
    /// A new guest.
    pub(crate) async fn come(server: &TestServer, name: &str) -> Self {
        let reply = server.call("POST /api/stories/guests").by("").json(&json!({ "name": name })).check("201").await;
        let text = |key: &str| reply.body[key].as_str().unwrap().to_owned();
        Self { id: text("player"), token: text("token") }
    }
}

/// How far a game is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// `create`, no card chosen.
    Opened,
    /// `create`, a card chosen.
    Chosen,
    /// `invitation`: two players have joined and have picked nothing.
    Told,
    /// `invitation`, enough picks.
    Picked,
    /// `vote`, no votes.
    Voting,
    /// `vote`, enough votes.
    Voted,
    /// `complete`.
    Complete,
    /// `canceled`: the storyteller left in `invitation`.
    Canceled,
}

impl Stage {
    pub(crate) const ALL: [Self; 8] = [
        Self::Opened,
        Self::Chosen,
        Self::Told,
        Self::Picked,
        Self::Voting,
        Self::Voted,
        Self::Complete,
        Self::Canceled,
    ];
}

/// A person's relation to a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Storyteller,
    Player,
    Invited,
    Stranger,
    /// A player at another table.
    Neighbour,
    Visitor,
}

impl Role {
    pub(crate) const ALL: [Self; 6] =
        [Self::Storyteller, Self::Player, Self::Invited, Self::Stranger, Self::Neighbour, Self::Visitor];
}

/// A game and the people around it: Ann tells, Ben and Cam play, Dan is invited, Eve is a stranger, Fay is at another table.
pub(crate) struct Story {
    pub(crate) server: TestServer,
    pub(crate) ann: Person,
    pub(crate) ben: Person,
    pub(crate) cam: Person,
    pub(crate) dan: Person,
    pub(crate) eve: Person,
    pub(crate) fay: Person,
    pub(crate) game: String,
    pub(crate) table: String,
}

impl Story {
    /// A game at this stage, which stays there however slow the machine is.
    pub(crate) async fn at(stage: Stage) -> Self {
        let a_day = json!({ "settings": { "countdown_ms": 86_400_000 } });
        let story = Self::open(TestServer::open().await, &a_day).await;
        for (reached, step) in Stage::ALL.into_iter().enumerate().skip(1) {
            if reached > Stage::ALL.iter().position(|known| *known == stage).unwrap() {
                break;
            }
            match step {
                Stage::Canceled => {}
                step => {
                    story.go_on_to(step).await;
                }
            }
            if stage == Stage::Canceled && step == Stage::Told {
                story.post(&story.ann, "leave", None).check("200").await;
                break;
            }
        }
        story
    }

    /// A game that has just been opened, with the people around it.
    pub(crate) async fn open(server: TestServer, wanted: &Value) -> Self {
        let come = |name| Person::come(&server, name);
        let (ann, ben, cam) = (come("Ann").await, come("Ben").await, come("Cam").await);
        let (dan, eve, fay) = (come("Dan").await, come("Eve").await, come("Fay").await);
        let opened = server.call("POST /api/stories/games").by(&ann.token).json(wanted).check("201").await;
        server.call("POST /api/stories/games").by(&fay.token).json(&json!({})).check("201").await;
        let game = opened.body["game"]["id"].as_str().unwrap().to_owned();
        let table = opened.body["table"].as_str().unwrap().to_owned();
        let story = Self { server, ann, ben, cam, dan, eve, fay, game, table };
        for player in [&story.ben, &story.cam] {
            story.post(player, "join", None).check("200").await;
        }
        let invited = json!({ "players": [story.dan.id] });
        story.post(&story.ann, "invite", Some(invited)).check("200").await;
        story
    }

    /// The step that leads to this stage: who got which reply.
    pub(crate) async fn go_on_to(&self, stage: Stage) -> Vec<(&Person, Reply)> {
        let (ann, ben, cam) = (&self.ann, &self.ben, &self.cam);
        let cards = match stage {
            Stage::Opened | Stage::Canceled => return Vec::new(),
            Stage::Told => {
                let reply = self.post(ann, "sentence", Some(json!({ "sentence": "So far away" })));
                return vec![(ann, reply.check("200").await)];
            }
            Stage::Voting => return vec![(ann, self.post(ann, "voting", None).check("200").await)],
            Stage::Complete => return vec![(ann, self.post(ann, "complete", None).check("200").await)],
            Stage::Chosen => vec![(ann, "card", self.hand(ann).await[0])],
            Stage::Picked => vec![(ben, "pick", self.hand(ben).await[1]), (cam, "pick", self.hand(cam).await[1])],
            Stage::Voted => vec![(ben, "vote", self.card_of(ann).await), (cam, "vote", self.card_of(ben).await)],
        };
        let mut answered = Vec::new();
        for (who, action, card) in cards {
            let shown = self.post(who, action, Some(json!({ "card": card })));
            answered.push((who, shown.check("200").await));
        }
        answered
    }

    /// A request for an action in the game.
    pub(crate) fn post(&self, who: &Person, action: &str, body: Option<Value>) -> Call {
        let call = self.server.call(&format!("POST /api/stories/games/{}/{action}", self.game)).by(&who.token);
        match body {
            Some(body) => call.json(&body),
            None => call,
        }
    }

    /// The game as this person sees it; a visitor with an empty token.
    pub(crate) async fn state(&self, token: &str) -> Value {
        self.server.call(&format!("GET /api/stories/games/{}", self.game)).by(token).check("200").await.body
    }

    /// The cards in a person's hand.
    pub(crate) async fn hand(&self, who: &Person) -> Vec<u64> {
        let state = self.state(&who.token).await;
        state["game"]["own"]["hand"].as_array().unwrap().iter().map(|card| card.as_u64().unwrap()).collect()
    }

    /// The card that a person has laid down.
    pub(crate) async fn card_of(&self, who: &Person) -> u64 {
        self.state(&who.token).await["game"]["own"]["picked"].as_u64().unwrap()
    }

    /// The token of a person in this role; of the players, Ben's.
    pub(crate) fn token(&self, role: Role) -> &str {
        match role {
            Role::Storyteller => &self.ann.token,
            Role::Player => &self.ben.token,
            Role::Invited => &self.dan.token,
            Role::Stranger => &self.eve.token,
            Role::Neighbour => &self.fay.token,
            Role::Visitor => "",
        }
    }
}
