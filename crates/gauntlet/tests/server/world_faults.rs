//! Hunts while something under their server fails: a disk without room, a disk that stalls while the server must stop,
//! a database that fails and comes back, a clock that is set. What was answered is true, once; every client gets a
//! clear answer; and no fault has lasting effects.

use crate::support::faults::Faults;
use crate::support::hunter::{Hunter, TakenItem, at, looking};
use crate::support::{Folder, Server, as_url, until};
use rustix::process::{Pid, Resource, Rlimit, Signal, prlimit};
use serde_json::{Value, json};
use store::testing::PostgresCluster;
use wire::world::{ClientMessage, Dig, Error, ItemKind, Register, ServerMessage, Step};

const RICH: &str = "rich";
const CHESTS: usize = 80;
const HOUR_S: i64 = 3_600;
/// Becomes a server whose writes beyond a limit fail instead of ending it.
const WITHOUT_SIGXFSZ: &[&str] = &["sh", "-c", r#"trap "" XFSZ; exec "$@""#, "sh"];

struct Hunt {
    chests: Vec<(u32, u32)>,
    /// Has been answered a chest.
    ann: Hunter,
    first: TakenItem,
    /// Stands on another one.
    ben: Hunter,
    /// Walks about in the plaza.
    cem: Hunter,
}

impl Hunt {
    fn begin(server: &Server) -> Self {
        let hunt = json!({"name": RICH, "admission": "everybody", "width": 20, "height": 20, "tree_permille": 0,
            "chests": CHESTS, "power_ups": 0, "rounds": 1, "round_ms": HOUR_S / 2 * 1_000});
        server.request_ok("POST /api/hunts", &hunt);
        let mut scout = Hunter::enter(server.address(), looking(at(RICH, (10, 10))));
        let chests: Vec<_> = scout.see_items(CHESTS).iter().map(|item| (item.x, item.y)).collect();
        scout.leave();
        let enter = |cell| Hunter::enter(server.address(), at(RICH, cell));
        let (mut ann, ben) = (enter(chests[0]), enter(chests[1]));
        let first = ann.take(ItemKind::Chest.into());
        let cem = Hunter::enter(server.address(), Register { world: "plaza".to_owned(), ..Register::default() });
        Self { chests, ann, first, ben, cem }
    }

    /// Ben digs and receives no answer.
    fn dig(&mut self) {
        let request = self.ben.taking(ItemKind::Chest.into());
        self.ben.send(&request);
    }

    /// All continue where they were: ann gets the same answer again, ben has his chest once.
    fn check_goes_on(self, server: &Server) {
        let chest = self.chests[1];
        let mut ben = come_back(server, chest);
        let seq = ben.seq;
        match ben.request(&ClientMessage::Dig(Dig { seq })) {
            ServerMessage::Dug(_) => {}
            // It was saved, and the answer was lost.
            ServerMessage::Refused(refused) => assert_eq!(refused.code, "taken"),
            other => panic!("{other:?}"),
        }
        let mut thief = come_back(server, self.first.cell);
        let seq = thief.seq;
        assert!(
            matches!(thief.request(&ClientMessage::Dig(Dig { seq })), ServerMessage::Refused(refused) if refused.code == "taken")
        );
        let counted = until("every claim is counted", || {
            let counted = server.request_ok("GET /api/hunts/statistics", &Value::Null);
            (counted["claims_behind"] == 0).then_some(counted)
        });
        assert_eq!(counted["chests"], 2, "each of them once");
    }
}

/// Enters as soon as the server has the hunt; until then it may refuse only with this error.
fn come_back(server: &Server, cell: (u32, u32)) -> Hunter {
    until("the hunt is there", || match Hunter::try_enter(server.address(), at(RICH, cell)) {
        Ok(hunter) => Some(hunter),
        Err(error) => {
            assert!(["unavailable", "busy", "elsewhere"].contains(&error.code.as_str()), "{error:?}");
            None
        }
    })
}

/// The last message a client gets; none before it answered a claim.
#[track_caller]
fn check_sent_away(hunter: &mut Hunter, code: &str) {
    let received = hunter.receive_all();
    let Some((ServerMessage::Error(error), before)) = received.split_last() else {
        panic!("cut off without a word: {received:?}")
    };
    assert_eq!((error.code.as_str(), error.close), (code, 1012), "{received:?}");
    assert!(
        before.iter().all(|message| matches!(message, ServerMessage::View(_) | ServerMessage::Round(_))),
        "{before:?}"
    );
}

fn is_ready(server: &Server) -> bool {
    server.request("GET /readyz", &Value::Null).status == 200
}

#[test]
fn a_disk_that_is_full_for_a_while() {
    let folder = Folder::new();
    let mut server = folder.serve_games_by(WITHOUT_SIGXFSZ, "");
    let mut hunt = Hunt::begin(&server);
    let limit = |bytes| {
        let pid = Pid::from_raw(server.pid() as i32);
        prlimit(pid, Resource::Fsize, Rlimit { current: bytes, maximum: None }).unwrap();
    };
    limit(Some(0));
    hunt.dig();
    check_sent_away(&mut hunt.ben, "world_moved");
    check_sent_away(&mut hunt.ann, "world_moved");
    let refused = Hunter::try_enter(server.address(), at(RICH, (0, 0))).err();
    assert!(matches!(&refused, Some(Error { code, close: 1013, .. }) if code == "unavailable"), "{refused:?}");
    assert!(!is_ready(&server));
    hunt.cem.step(Step::Stay);
    limit(None);
    until("it is ready", || is_ready(&server).then_some(()));
    hunt.cem.step(Step::Stay);
    hunt.check_goes_on(&server);
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn a_disk_that_stalls_while_the_server_must_leave() {
    let folder = Folder::new();
    let (faults, mut server) = Faults::host(&folder, "");
    let mut hunt = Hunt::begin(&server);
    faults.stall_disk(true);
    hunt.dig();
    until("a write waits for the disk", || (faults.waiting() > 0).then_some(()));
    hunt.ann.step(Step::Stay);
    server.signal(Signal::TERM);
    for hunter in [&mut hunt.ann, &mut hunt.ben, &mut hunt.cem] {
        check_sent_away(hunter, "draining");
    }
    assert_eq!(server.code(), Some(1), "not everything could be given back");
    let message = server.log();
    assert!(message.contains("the store, whose disk or database stalls, did not end"), "{message}");
    hunt.check_goes_on(&folder.serve_games(""));
}

#[test]
fn a_database_that_dies_and_comes_back() {
    let (cluster, folder) = (PostgresCluster::start(), Folder::new());
    folder.write("gauntlet.toml", &format!("[store]\nurl = \"{}\"\n", as_url(&cluster.new_empty_database_url())));
    let mut server = folder.serve_games("");
    let mut hunt = Hunt::begin(&server);
    cluster.stop();
    hunt.dig();
    check_sent_away(&mut hunt.ben, "world_moved");
    cluster.resume();
    hunt.check_goes_on(&server);
    assert_eq!(server.stop(), Some(0));
}

/// How many commits the server has made.
fn commits(server: &Server) -> u64 {
    let page = server.get("/metrics", "");
    let line = page.lines().find_map(|line| line.strip_prefix("gauntlet_store_batches_total "));
    line.and_then(|count| count.parse().ok()).unwrap()
}

#[test]
fn a_clock_that_is_set() {
    for by_s in [HOUR_S, -HOUR_S] {
        let folder = Folder::new();
        let (faults, mut server) = Faults::host(&folder, "");
        let mut hunt = Hunt::begin(&server);
        let ask_stats = || server.request_ok(&format!("GET /api/worlds/{RICH}/stats"), &Value::Null);
        let round = ask_stats()["round"].clone();
        let guest = server.request_ok("POST /api/stories/guests", &json!({"name": "dot"}));
        let mut connection =
            crate::support::connection::HttpConnection::open(server.address(), guest["token"].as_str().unwrap());
        let ticket = connection.request_ok("POST /api/hunts/tickets", &json!({"wait_ms": 5_000}), 201);
        let ticket = format!("GET /api/hunts/tickets/{}", ticket["id"].as_str().unwrap());
        faults.set_clock(by_s);
        // Paces, of frames and of moves.
        for _ in 0..8 {
            hunt.cem.step(Step::Stay);
            hunt.ann.step(Step::Stay);
        }
        let waiting = connection.request_ok(&ticket, &Value::Null, 200);
        assert_eq!(waiting["state"], "waiting", "{by_s} s: it was to wait for longer");
        // A grace, which ends.
        let there = ask_stats()["movers"].as_u64().unwrap();
        drop(hunt.ben);
        until("he is gone", || (ask_stats()["movers"].as_u64() < Some(there)).then_some(()));
        assert_eq!(ask_stats()["round"]["until"], round["until"], "{by_s} s: it is the same round");
        until("the ticket has ended", || {
            (connection.request_ok(&ticket, &Value::Null, 200)["state"] == "timed_out").then_some(())
        });
        assert_eq!(server.stop(), Some(0));
    }
}

#[test]
fn a_clock_that_is_set_on_one_of_two_nodes() {
    let (cluster, folder) = (PostgresCluster::start(), Folder::new());
    folder.write("gauntlet.toml", &format!("[store]\nurl = \"{}\"\n", as_url(&cluster.new_empty_database_url())));
    let (faults, set) = Faults::host(&folder, "");
    let other = folder.serve_games("");
    // The node whose clock is right has the plaza, the other one the hunt.
    let mut dot = Hunter::enter(other.address(), Register { world: "plaza".to_owned(), ..Register::default() });
    let hunt = json!({"name": RICH, "admission": "everybody"});
    set.request_ok("POST /api/hunts", &hunt);
    let mut eli = Hunter::enter(set.address(), Register { world: RICH.to_owned(), ..Register::default() });
    faults.set_clock(HOUR_S);
    let before = commits(&set);
    until("its leases were written again", || (commits(&set) > before + 2).then_some(()));
    eli.step(Step::Stay);
    // To this clock no lease is over.
    let plaza = Register { world: "plaza".to_owned(), ..Register::default() };
    let refused = Hunter::try_enter(set.address(), plaza).err().map(|error| (error.code, error.address));
    assert_eq!(refused, Some(("elsewhere".to_owned(), other.address().to_string())));
    dot.step(Step::Stay);
    // Its own do not last for an hour.
    set.kill();
    come_back(&other, (0, 0)).step(Step::Stay);
}
