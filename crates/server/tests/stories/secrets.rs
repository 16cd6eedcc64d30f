//! Who sees what: whole games with every role looking at everything after every step, and every byte that leaves judged by the
//! oracle: answers, refusals, polls that were held, streams, figures and log lines.

use crate::house::House;
use crate::lines;
use crate::oracle::Viewer;
use crate::play::{Person, Stage, Story};
use serde_json::{Value, json};
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, OnceLock};
use tokio::task::JoinHandle;
use tracing_subscriber::fmt::MakeWriter;

/// Words that stand in no log line: texts that players wrote, and names.
const SENTENCE: &str = "So far away";
const CHAT: &str = "Quetzalcoatlus";

/// Everybody who looks: their token, their id, and whether they may see everything.
fn viewers(story: &Story) -> [(String, String, bool); 6] {
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

/// A story under watch: what was judged, what leaked.
struct Watched {
    story: Story,
    door: SocketAddr,
    judged: usize,
    leaks: Vec<String>,
}

impl Watched {
    fn judge(&mut self, stage: Stage, id: &str, is_storyteller: bool, whence: &str, text: &str) {
        let found = Viewer { id, is_storyteller, stage }.leaks(text);
        self.judged += 1;
        self.leaks.extend(found.into_iter().map(|leak| format!("{whence} at {stage:?}: {leak}")));
    }

    /// One step, with a poll of everybody's held across it; then everybody looks at everything, and tries what they may not.
    async fn step(&mut self, to: Stage) {
        let held = self.hold_polls().await;
        self.story.go_on_to(to).await;
        for ((_, id, is_storyteller), poll) in viewers(&self.story).iter().zip(held) {
            let text = poll.await.unwrap();
            self.judge(to, id, *is_storyteller, "a held poll", &text);
        }
        self.look(to).await;
    }

    async fn hold_polls(&self) -> Vec<JoinHandle<String>> {
        let mut held = Vec::new();
        for (token, _, _) in viewers(&self.story) {
            let table = format!("/api/stories/tables/{}", self.story.table);
            let seq = self.story.house.call(&format!("GET {table}")).by(&token).check("200").await.body["seq"].clone();
            let poll = self.story.house.call(&format!("GET {table}/feed?after={seq}&wait=30s")).by(&token);
            held.push(tokio::spawn(async move {
                let reply = poll.check("200").await;
                assert_ne!(reply.body["events"], json!([]), "every step tells everybody something");
                String::from_utf8(reply.bytes.to_vec()).unwrap()
            }));
        }
        held
    }

    async fn look(&mut self, stage: Stage) {
        let (game, table) = (self.story.game.clone(), self.story.table.clone());
        let mut lines = vec![
            format!("GET /api/stories/games/{game}"),
            format!("GET /api/stories/games/{game}/history"),
            format!("GET /api/stories/tables/{table}"),
            format!("GET /api/stories/tables/{table}/feed"),
            format!("GET /api/stories/tables/{table}/feed?after=0&wait=0s"),
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
                // Only refusals are wanted of actions: they would bring the game further.
                if line.starts_with("POST") && (is_storyteller || line.ends_with("join") && id != self.story.ben.id) {
                    continue;
                }
                let reply = self.story.house.call(line).by(&token).send().await;
                let text = String::from_utf8(reply.bytes.to_vec()).unwrap();
                self.judge(stage, &id, is_storyteller, line, &text);
            }
            let table = format!("/api/stories/tables/{table}");
            let seq = self.story.house.call(&format!("GET {table}")).by(&token).check("200").await.body["seq"].as_u64();
            for cursor in ["?after=0", ""] {
                let text = lines::stream(self.door, &format!("{table}/feed{cursor}"), &token, seq.unwrap()).await;
                self.judge(stage, &id, is_storyteller, "a stream", &text);
                let text = lines::socket(self.door, &format!("{table}/socket{cursor}"), &token, seq.unwrap()).await;
                self.judge(stage, &id, is_storyteller, "a socket", &text);
            }
        }
    }
}

/// What every log line of this process says, at the finest level.
fn log() -> &'static Arc<Mutex<Vec<u8>>> {
    static LOG: OnceLock<Arc<Mutex<Vec<u8>>>> = OnceLock::new();
    LOG.get_or_init(|| {
        let log = Arc::new(Mutex::default());
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(tracing::Level::TRACE)
            .with_ansi(false)
            .with_writer(Log(Arc::clone(&log)))
            .finish();
        tracing::subscriber::set_global_default(subscriber).expect("nobody else listens in this process");
        log
    })
}

#[derive(Clone)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

/// Nothing that a player wrote, holds or is known by stands in a text for operators.
#[track_caller]
fn check_operators(what: &str, text: &str, story: &Story) {
    let people = [&story.ann, &story.ben, &story.cam, &story.dan, &story.fay];
    let tokens = people.iter().map(|person| person.token.as_str());
    for secret in tokens.chain([SENTENCE, CHAT, "gst_", "Card(", "hand:", "picked:", "vote:", "card="]) {
        let line = text.lines().find(|line| line.contains(secret));
        assert_eq!(line, None, "{what} says {secret}");
    }
}

async fn play(stages: &[Stage]) -> Watched {
    let log = log();
    let story = Story::open(House::open().await, &json!({})).await;
    let door = lines::listen(&story.house).await;
    let mut watched = Watched { story, door, judged: 0, leaks: Vec::new() };
    let chat = format!("POST /api/stories/tables/{}/chat", watched.story.table);
    let said = watched.story.house.call(&chat).by(&watched.story.ben.token).json(&json!({ "text": CHAT }));
    said.check("200").await;
    watched.look(Stage::Opened).await;
    for stage in stages {
        watched.step(*stage).await;
    }
    let logged = String::from_utf8(log.lock().unwrap().clone()).unwrap();
    assert!(logged.contains("request done"), "the log is heard");
    check_operators("the log", &logged, &watched.story);
    let figures = watched.story.house.call("GET /metrics").by("").check("200").await;
    check_operators("/metrics", std::str::from_utf8(&figures.bytes).unwrap(), &watched.story);
    watched
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_whole_game_tells_nobody_what_they_must_not_know() {
    use Stage::{Chosen, Complete, Picked, Told, Voted, Voting};
    let watched = play(&[Chosen, Told, Picked, Voting, Voted, Complete]).await;
    assert_eq!(watched.leaks, [""; 0]);
    assert!(watched.judged > 500, "only {} texts were judged", watched.judged);
}

/// A game that ends without a result tells nobody more than they knew.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_canceled_game_tells_nobody_anything() {
    use Stage::{Chosen, Picked, Told};
    let mut watched = play(&[Chosen, Told, Picked]).await;
    watched.story.post(&watched.story.ann, "leave", None).check("200").await;
    let people = viewers(&watched.story);
    for (token, id, _) in people {
        for line in ["games/{game}", "games/{game}/history", "tables/{table}", "tables/{table}/feed?after=0&wait=0s"] {
            let line = line.replace("{game}", &watched.story.game).replace("{table}", &watched.story.table);
            let reply = watched.story.house.call(&format!("GET /api/stories/{line}")).by(&token).send().await;
            let text = String::from_utf8(reply.bytes.to_vec()).unwrap();
            // Ann has left: she may know her own cards, and those whom she saw while she told.
            if id != watched.story.ann.id {
                watched.judge(Picked, &id, false, &line, &text);
            }
        }
    }
    assert_eq!(watched.leaks, [""; 0]);
}

/// What may be seen is seen: a server that shows nothing would keep every secret.
#[tokio::test]
async fn what_may_be_seen_is_seen() {
    let story = Story::at(Stage::Voted).await;
    let ann = story.state(&story.ann.token).await;
    let (picks, votes): (Vec<Value>, Vec<Value>) = (ann["game"]["players"].as_array().unwrap().iter())
        .map(|seat| (seat["picked"].clone(), seat["vote"].clone()))
        .unzip();
    assert!(picks.iter().all(Value::is_u64), "the storyteller sees every pick: {picks:?}");
    assert_eq!(votes.iter().filter(|vote| vote.is_u64()).count(), 2, "and every vote: {votes:?}");
    assert_eq!(ann["game"]["invited"], json!([]), "invitations end with the vote");
    for token in [&story.ben.token, &story.fay.token, ""] {
        let state = story.state(token).await;
        let mut board: Vec<_> = state["game"]["board"].as_array().unwrap().clone();
        let mut laid = picks.clone();
        for cards in [&mut board, &mut laid] {
            cards.sort_by_key(Value::as_u64);
        }
        assert_eq!(board, laid, "everybody sees the board");
        assert_eq!(state["game"]["own"].is_object(), token == story.ben.token);
    }
    story.go_on_to(Stage::Complete).await;
    let visitor = story.state("").await;
    assert_eq!(visitor["game"]["winner_card"], picks[0]);
    let seen: Vec<_> = visitor["game"]["players"].as_array().unwrap().iter().map(|seat| seat["vote"].clone()).collect();
    assert_eq!(seen, votes);
}
