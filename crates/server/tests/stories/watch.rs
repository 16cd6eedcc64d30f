//! Watches a game in every role: the oracle checks what each viewer gets over each transport, and the headers of every response.

use crate::connections::{self, Socket, Stream};
use crate::oracle::Viewer;
use crate::play::{Person, Stage, Story};
use crate::test_server::Reply;
use serde_json::json;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use tokio::task::JoinHandle;

/// Headers of responses. None of them reveals a card; a new one must be checked before it is added here.
const HEADERS: [&str; 10] = [
    "access-control-allow-origin",
    "access-control-expose-headers",
    "cache-control",
    "content-length",
    "content-type",
    "link",
    "location",
    "vary",
    "www-authenticate",
    "x-request-id",
];

/// All viewers: their token, their id, and whether they may see everything.
pub(crate) fn viewers(story: &Story) -> [(String, String, bool); 6] {
    let of = |person: &Person, is_storyteller| (person.token.clone(), person.id.clone(), is_storyteller);
    [
        of(&story.ann, true),
        of(&story.ben, false),
        of(&story.cam, false),
        of(&story.dan, false),
        of(&story.fay, false),
        (String::new(), String::new(), false),
    ]
}

/// A story under watch: how much was checked, and what leaked.
pub(crate) struct Watched {
    pub(crate) story: Story,
    listener: SocketAddr,
    /// Where each viewer's feed was when the game began, by id.
    since: BTreeMap<String, u64>,
    /// Streams and sockets that are held as long as the game goes on, in the order of the viewers.
    live: Vec<(Stream, Socket)>,
    pub(crate) checked: usize,
    pub(crate) leaks: Vec<String>,
}

impl Watched {
    /// Watches a game from here on.
    pub(crate) async fn begin(story: Story) -> Self {
        let listener = connections::listen(&story.server).await;
        let (since, live) = (BTreeMap::new(), Vec::new());
        let mut watched = Self { story, listener, since, live, checked: 0, leaks: Vec::new() };
        watched.hold_connections().await;
        watched
    }

    pub(crate) fn table(&self) -> String {
        format!("/api/stories/tables/{}", self.story.table)
    }

    /// The position of a viewer's feed.
    async fn seq(&self, token: &str) -> u64 {
        let seen = self.story.server.call(&format!("GET {}", self.table())).by(token).check("200").await;
        seen.body["seq"].as_u64().unwrap()
    }

    fn since(&self, id: &str) -> u64 {
        self.since.get(id).copied().unwrap_or_default()
    }

    async fn hold_connections(&mut self) {
        self.live.clear();
        for (token, id, _) in viewers(&self.story) {
            let (table, since) = (self.table(), self.since(&id));
            let stream = Stream::open(self.listener, &format!("{table}/feed?after={since}"), &token).await;
            let socket = Socket::open(self.listener, &format!("{table}/socket?after={since}"), &token).await;
            self.live.push((stream, socket));
        }
    }

    fn check(&mut self, stage: Stage, id: &str, is_storyteller: bool, source: &str, text: &str) {
        let found = Viewer { id, is_storyteller, stage }.leaks(text);
        self.checked += 1;
        self.leaks.extend(found.into_iter().map(|leak| format!("{source} at {stage:?}: {leak}")));
    }

    pub(crate) fn check_reply(&mut self, stage: Stage, id: &str, is_storyteller: bool, source: &str, reply: &Reply) {
        let unknown = reply.headers.keys().filter(|name| !HEADERS.contains(&name.as_str()));
        self.leaks.extend(unknown.map(|name| format!("{source} at {stage:?}: the header {name}")));
        self.check(stage, id, is_storyteller, source, std::str::from_utf8(&reply.bytes).unwrap());
    }

    /// One step, with a poll, a stream and a socket of every viewer held across it; then all of them read everything, and try what they may
    /// not.
    pub(crate) async fn step(&mut self, to: Stage) {
        let held = self.hold_polls().await;
        let answered = self.story.go_on_to(to).await;
        let answered: Vec<_> = answered.into_iter().map(|(who, reply)| (who.id.clone(), reply)).collect();
        for (id, reply) in answered {
            let is_storyteller = id == self.story.ann.id;
            self.check_reply(to, &id, is_storyteller, "an action", &reply);
        }
        for ((_, id, is_storyteller), poll) in viewers(&self.story).iter().zip(held) {
            let reply = poll.await.unwrap();
            self.check_reply(to, id, *is_storyteller, "a held poll", &reply);
        }
        let mut live = std::mem::take(&mut self.live);
        for ((token, id, is_storyteller), (stream, socket)) in viewers(&self.story).iter().zip(&mut live) {
            let seq = self.seq(token).await;
            let text = stream.until(seq).await;
            assert_ne!(text, "", "every step sends every viewer something");
            self.check(to, id, *is_storyteller, "a held stream", &text);
            let text = socket.until(seq).await;
            self.check(to, id, *is_storyteller, "a held socket", &text);
        }
        self.live = live;
        self.look(to).await;
    }

    async fn hold_polls(&self) -> Vec<JoinHandle<Reply>> {
        let mut held = Vec::new();
        for (token, _, _) in viewers(&self.story) {
            let seq = self.seq(&token).await;
            let poll = self.story.server.call(&format!("GET {}/feed?after={seq}&wait=30s", self.table())).by(&token);
            held.push(tokio::spawn(async move {
                let reply = poll.check("200").await;
                assert_ne!(reply.body["events"], json!([]), "every step sends every viewer something");
                reply
            }));
        }
        held
    }

    /// The next game at the table, told by the named player; Ann plays in it.
    pub(crate) async fn next_game(mut self) -> Self {
        for (token, id, _) in viewers(&self.story) {
            let seq = self.seq(&token).await;
            self.since.insert(id, seq);
        }
        let Story { server, ann, ben, cam, dan, eve, fay, table, game } = self.story;
        let ended = server.call(&format!("GET /api/stories/games/{game}")).by("").check("200").await.body;
        let is_ben = ended["next_storyteller"]["player"] == json!(ben.id);
        let (storyteller, player) = if is_ben { (ben, cam) } else { (cam, ben) };
        let call = server.call("POST /api/stories/games").by(&storyteller.token).json(&json!({ "table": table }));
        let opened = call.check("201").await;
        let game = opened.body["game"]["id"].as_str().unwrap().to_owned();
        self.story = Story { server, ann: storyteller, ben: ann, cam: player, dan, eve, fay, table, game };
        let storyteller = self.story.ann.id.clone();
        self.check_reply(Stage::Opened, &storyteller, true, "an opening", &opened);
        for person in [self.story.ben.clone(), self.story.cam.clone()] {
            let reply = self.story.post(&person, "join", None).check("200").await;
            self.check_reply(Stage::Opened, &person.id, false, "joining", &reply);
        }
        self.hold_connections().await;
        self.look(Stage::Opened).await;
        self
    }

    pub(crate) async fn look(&mut self, stage: Stage) {
        let (game, table) = (self.story.game.clone(), self.story.table.clone());
        let mut lines = vec![
            format!("GET /api/stories/games/{game}"),
            format!("GET /api/stories/games/{game}/history"),
            format!("GET /api/stories/tables/{table}"),
            format!("GET /api/stories/tables/{table}/feed"),
            format!("GET /api/stories/tables/{table}/feed?after=<since>&wait=0s"),
            format!("GET /api/stories/tables/{table}/feed?after=999&wait=0s"),
            "GET /api/stories/my-games".to_owned(),
            "GET /api/stories/my-games?state=ended".to_owned(),
            "GET /api/stories/lobby".to_owned(),
            "GET /api/stories/history".to_owned(),
            format!("POST /api/stories/games/{game}/join"),
            format!("POST /api/stories/games/{game}/voting"),
            format!("POST /api/stories/games/{game}/complete"),
        ];
        for person in [&self.story.ann, &self.story.ben, &self.story.cam] {
            lines.push(format!("GET /api/stories/players/{}", person.id));
        }
        for (token, id, is_storyteller) in viewers(&self.story) {
            for line in &lines {
                // Only refused actions are wanted: others would change the game.
                if line.starts_with("POST") && (is_storyteller || line.ends_with("join") && id != self.story.ben.id) {
                    continue;
                }
                let line = line.replace("<since>", &self.since(&id).to_string());
                let reply = self.story.server.call(&line).by(&token).send().await;
                self.check_reply(stage, &id, is_storyteller, &line, &reply);
            }
            let (table, seq) = (self.table(), self.seq(&token).await);
            for cursor in [format!("?after={}", self.since(&id)), String::new()] {
                let text = Stream::open(self.listener, &format!("{table}/feed{cursor}"), &token).await.until(seq).await;
                self.check(stage, &id, is_storyteller, "a stream", &text);
                let text =
                    Socket::open(self.listener, &format!("{table}/socket{cursor}"), &token).await.until(seq).await;
                self.check(stage, &id, is_storyteller, "a socket", &text);
            }
        }
    }
}
