//! Secrecy: whole games in which every role reads everything after every step, and every byte that leaves is checked by the oracle:
//! replies, refusals, polls, streams and sockets that were held, metrics and log lines.

use crate::play::{Stage, Story};
use crate::test_server::TestServer;
use crate::watch::{Watched, viewers};
use serde_json::{Value, json};
use std::io;
use std::sync::{Arc, Mutex, OnceLock};
use tracing_subscriber::fmt::MakeWriter;

/// Texts that players write.
const SENTENCE: &str = "So far away";
const CHAT: &str = "Quetzalcoatlus";
/// Names of players.
const NAMES: [&str; 6] = ["Ann", "Ben", "Cam", "Dan", "Eve", "Fay"];

/// All log lines of this process, at the finest level.
fn log() -> &'static Arc<Mutex<Vec<u8>>> {
    static LOG: OnceLock<Arc<Mutex<Vec<u8>>>> = OnceLock::new();
    LOG.get_or_init(|| {
        let log = Arc::new(Mutex::default());
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(tracing::Level::TRACE)
            .with_ansi(false)
            .with_writer(Log(Arc::clone(&log)))
            .finish();
        tracing::subscriber::set_global_default(subscriber).expect("this process has no other subscriber");
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

/// Checks that nothing that a player wrote, holds or is known by is in a text for operators.
#[track_caller]
fn check_operators(what: &str, text: &str, story: &Story) {
    let people = [&story.ann, &story.ben, &story.cam, &story.dan, &story.fay];
    let tokens = people.iter().map(|person| person.token.as_str());
    for secret in tokens.chain([SENTENCE, CHAT, "gst_", "Card(", "hand:", "picked:", "vote:", "card="]) {
        let line = text.lines().find(|line| line.contains(secret));
        assert_eq!(line, None, "{what} contains {secret}");
    }
    let says_a_name =
        |line: &&str| line.split(|letter: char| !letter.is_alphanumeric()).any(|word| NAMES.contains(&word));
    assert_eq!(text.lines().find(says_a_name), None, "{what} names a player");
}

/// Plays the game through these stages; then checks what operators can read.
async fn go_through(watched: &mut Watched, stages: &[Stage]) {
    for stage in stages {
        watched.step(*stage).await;
    }
    let logged = String::from_utf8(log().lock().unwrap().clone()).unwrap();
    assert!(logged.contains("request done"), "the log is captured");
    check_operators("the log", &logged, &watched.story);
    let metrics = watched.story.server.call("GET /metrics").by("").check("200").await;
    check_operators("/metrics", std::str::from_utf8(&metrics.bytes).unwrap(), &watched.story);
}

/// A game through these stages.
async fn play(stages: &[Stage]) -> Watched {
    let _ = log();
    let mut watched = Watched::begin(Story::open(TestServer::open().await, &json!({})).await).await;
    let chat = format!("POST {}/chat", watched.table());
    let reply = watched.story.server.call(&chat).by(&watched.story.ben.token).json(&json!({ "text": CHAT }));
    let (reply, ben) = (reply.check("200").await, watched.story.ben.id.clone());
    watched.check_reply(Stage::Opened, &ben, false, "chat", &reply);
    watched.look(Stage::Opened).await;
    go_through(&mut watched, stages).await;
    watched
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_whole_game_reveals_no_secret() {
    use Stage::{Chosen, Complete, Picked, Told, Voted, Voting};
    let watched = play(&[Chosen, Told, Picked, Voting, Voted, Complete]).await;
    assert_eq!(watched.leaks, [""; 0]);
    assert!(watched.checked > 500, "only {} texts were checked", watched.checked);
}

/// The last storyteller saw everything then, and plays like the others now.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_the_next_game_the_last_storyteller_sees_no_more_than_others() {
    use Stage::{Chosen, Complete, Picked, Told, Voted, Voting};
    let stages = [Chosen, Told, Picked, Voting, Voted, Complete];
    let watched = play(&stages).await;
    let (first, checked) = (watched.story.ann.id.clone(), watched.checked);
    let mut watched = watched.next_game().await;
    assert_ne!(watched.story.ann.id, first, "another player tells");
    go_through(&mut watched, &stages).await;
    assert_eq!(watched.leaks, [""; 0]);
    assert!(watched.checked > 2 * checked - 50, "{} texts were checked", watched.checked);
}

/// A game that ends without a result reveals nothing more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_canceled_game_reveals_nothing() {
    use Stage::{Chosen, Picked, Told};
    let mut watched = play(&[Chosen, Told, Picked]).await;
    watched.story.post(&watched.story.ann, "leave", None).check("200").await;
    let people = viewers(&watched.story);
    for (token, id, _) in people {
        for line in ["games/{game}", "games/{game}/history", "tables/{table}", "tables/{table}/feed?after=0&wait=0s"] {
            let line = line.replace("{game}", &watched.story.game).replace("{table}", &watched.story.table);
            let reply = watched.story.server.call(&format!("GET /api/stories/{line}")).by(&token).send().await;
            // Ann has left: she may know her own cards, and those that she saw as the storyteller.
            if id != watched.story.ann.id {
                watched.check_reply(Picked, &id, false, &line, &reply);
            }
        }
    }
    assert_eq!(watched.leaks, [""; 0]);
}

/// Visible data is shown: a server that shows nothing would keep every secret.
#[tokio::test]
async fn visible_data_is_shown() {
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
        assert_eq!(board, laid, "every viewer sees the board");
        assert_eq!(state["game"]["own"].is_object(), token == story.ben.token);
    }
    story.go_on_to(Stage::Complete).await;
    let visitor = story.state("").await;
    assert_eq!(visitor["game"]["winner_card"], picks[0]);
    let seen: Vec<_> = visitor["game"]["players"].as_array().unwrap().iter().map(|seat| seat["vote"].clone()).collect();
    assert_eq!(seen, votes);
}
