//! Two servers on one PostgreSQL, and a hunt that one of them owns: it is killed, or stopped for longer than its lease
//! and resumed. The other one continues from what was answered, each claim once; a server that is not sure of owning
//! the hunt shows nothing.

use crate::support::connection::HttpConnection;
use crate::support::hunter::{FrameConnection, Hunter, TakenItem, at, hello, looking};
use crate::support::{Folder, Server, TOKEN, as_url, until};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use store::testing::PostgresCluster;
use wire::world::{ClientMessage, Dig, Error, Item, ItemKind, Move, Register, ServerMessage, Step};

const RICH: &str = "rich";
const CHESTS: usize = 80;
const POWER_UPS: usize = 24;

/// Two servers on one database, and a hunt. Everything ends in the order in which it stands here.
struct Nodes {
    a: Server,
    b: Server,
    _cluster: PostgresCluster,
    _folder: Folder,
}

/// Servers that keep what is soft so often.
fn two_nodes(snapshot_ms: u32) -> Nodes {
    let (cluster, folder) = (PostgresCluster::start(), Folder::new());
    let url = as_url(&cluster.new_empty_database_url());
    folder.write("gauntlet.toml", &format!("[store]\nurl = \"{url}\"\n[worlds]\nsnapshot_ms = {snapshot_ms}\n"));
    let (a, b) = (folder.serve_games(""), folder.serve_games(""));
    let hunt = json!({"name": RICH, "admission": "everybody", "width": 20, "height": 20, "tree_permille": 0,
        "chests": CHESTS, "power_ups": POWER_UPS, "points_max": 10, "rounds": 1, "round_ms": 3_600_000});
    a.request_ok("POST /api/hunts", &hunt);
    Nodes { a, b, _cluster: cluster, _folder: folder }
}

/// Free items of the hunt: chests first.
struct Ground(Vec<Item>);

impl Ground {
    /// As a scout sees it who brings the hunt into this server's memory, and goes.
    fn of(server: &Server) -> Self {
        let mut scout = Hunter::enter(server.address(), looking(at(RICH, (10, 10))));
        let mut items = scout.see_items(CHESTS + POWER_UPS);
        scout.leave();
        items.sort_by_key(|item| item.kind);
        Self(items)
    }

    fn chest(&mut self) -> (u32, u32) {
        let item = self.0.remove(0);
        assert_eq!(item.kind, i32::from(ItemKind::Chest));
        (item.x, item.y)
    }

    fn power_up(&mut self) -> Item {
        let item = self.0.pop().unwrap();
        assert_ne!(item.kind, i32::from(ItemKind::Chest));
        item
    }
}

/// A guest with a name and a token.
struct Guest {
    id: String,
    token: String,
    hunter: Hunter,
    taken: Vec<TakenItem>,
}

impl Guest {
    fn enter(server: &Server, name: &str, cell: (u32, u32)) -> Self {
        let guest = server.request_ok("POST /api/stories/guests", &json!({ "name": name }));
        let text = |field: &str| guest[field].as_str().unwrap().to_owned();
        let (id, token) = (text("player"), text("token"));
        let hunter = Hunter::enter(server.address(), Register { token: token.clone(), ..at(RICH, cell) });
        Self { id, token, hunter, taken: Vec::new() }
    }

    /// How it comes back.
    fn again(&self) -> Register {
        let register = Register { token: self.token.clone(), resume: self.hunter.resume(), ..Register::default() };
        Register { world: RICH.to_owned(), at: at(RICH, self.hunter.cell()).at, ..register }
    }

    fn take(&mut self, kind: i32) {
        let taken = self.hunter.take(kind);
        self.taken.push(taken);
    }

    fn points(&self) -> u32 {
        self.taken.iter().map(TakenItem::points).sum()
    }
}

/// Enters once the server has the hunt; until then it names the owner, or reports that it is about to own it.
fn come_back(server: &Server, register: &Register, owner: SocketAddr) -> Hunter {
    until("the hunt is taken over", || match Hunter::try_enter(server.address(), register.clone()) {
        Ok(hunter) => Some(hunter),
        Err(error) => {
            let is_known = error.code == "busy" || error.code == "elsewhere" && error.address == owner.to_string();
            assert!(is_known, "{error:?}");
            None
        }
    })
}

/// The hunt is another server's, and every client is told its address.
#[track_caller]
fn check_elsewhere(server: &Server, owner: SocketAddr) {
    let refused = Hunter::try_enter(server.address(), at(RICH, (0, 0))).err().unwrap();
    let Error { code, close, address, .. } = refused;
    assert_eq!((code.as_str(), close, address), ("elsewhere", 1012, owner.to_string()));
    let read = server.request("GET /api/worlds/rich/sections", &Value::Null);
    assert_eq!((read.status, &read.body["code"]), (503, &json!("world_elsewhere")));
    let shown = server.request_ok("GET /api/worlds/rich", &Value::Null);
    assert_eq!((&shown["is_here"], &shown["address"]), (&json!(false), &json!(owner.to_string())));
}

fn stats(server: &Server) -> Value {
    server.request_ok("GET /api/worlds/rich/stats", &Value::Null)
}

fn figure(server: &Server, name: &str) -> u64 {
    let page = server.get("/metrics", "");
    page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok()).unwrap_or_default()
}

/// Walks to and fro until two more snapshots were made: the first of them is kept by then, with what was before.
fn wait_for_snapshot(server: &Server, walker: &mut Hunter) {
    let written = || figure(server, "gauntlet_world_snapshot_bytes_total");
    for _ in 0..2 {
        let before = written();
        until("a snapshot", || {
            walker.step(Step::E);
            walker.step(Step::W);
            (written() > before).then_some(())
        });
    }
}

/// What was counted of all hunts, once nothing is behind.
fn counted(server: &Server) -> Value {
    until("every claim is counted", || {
        let statistics = server.request_ok("GET /api/hunts/statistics", &Value::Null);
        (statistics["claims_behind"] == 0).then_some(statistics)
    })
}

/// All answered claims are counted once, in total and for each guest.
#[track_caller]
fn check_counted(server: &Server, answer: &[TakenItem], guests: &[&Guest]) {
    let counted = counted(server);
    let chests = answer.iter().filter(|taken| matches!(taken.answer, ServerMessage::Dug(_))).count();
    let points: u32 = answer.iter().map(TakenItem::points).sum();
    let want = (json!(chests), json!(answer.len() - chests), json!(points));
    let have = (&counted["chests"], &counted["power_ups"], &counted["points"]);
    assert_eq!(have, (&want.0, &want.1, &want.2));
    let rows = server.request_ok("GET /api/hunters?limit=100", &Value::Null);
    let rows = rows.as_array().unwrap().iter();
    let have: BTreeMap<_, _> = rows.map(|row| (row["player"].as_str().unwrap(), row["points"].clone())).collect();
    let want = guests.iter().map(|guest| (guest.id.as_str(), json!(guest.points()))).collect();
    assert_eq!(have, want);
}

/// What was taken is taken: also for the first to come there.
#[track_caller]
fn check_taken(server: &Server, taken: &TakenItem) {
    let mut thief = Hunter::enter(server.address(), at(RICH, taken.cell));
    assert_eq!(thief.cell(), taken.cell);
    let kind = if matches!(taken.answer, ServerMessage::Dug(_)) { ItemKind::Chest } else { ItemKind::Magnet };
    let request = thief.taking(kind.into());
    match thief.request(&request) {
        ServerMessage::Refused(refused) if refused.code == "taken" => thief.leave(),
        other => panic!("{taken:?} was taken again: {other:?}"),
    }
}

/// Resumes a mover that was answered all its claims; the last one may be repeated.
#[track_caller]
fn check_resumed(guest: &mut Guest, mut hunter: Hunter) {
    let (before, now) = (&guest.hunter, hunter.registered);
    assert!(now.is_resumed && now.id == before.registered.id, "{now:?}");
    assert_eq!(now.score, guest.points());
    assert!(before.trail.contains(&hunter.cell()), "{:?} is not on {:?}", hunter.cell(), before.trail);
    assert_eq!(now.next_seq, before.seq, "what he took last was his last input");
    let last = guest.taken.last().unwrap();
    assert_eq!(hunter.request(&last.request), last.answer, "the first answer again");
    // Older ones are not kept, and not accepted again.
    match hunter.request(&guest.taken[0].request) {
        ServerMessage::Refused(refused) => {
            assert_eq!((refused.code.as_str(), refused.expected_seq), ("out_of_order", now.next_seq));
        }
        other => panic!("{other:?}"),
    }
    guest.hunter = hunter;
}

/// Resumes a mover whose dig was in flight: it has the chest, or digs it now.
fn settle(guest: &mut Guest, mut hunter: Hunter, request: &ClientMessage) {
    let answer = match hunter.request(request) {
        ServerMessage::Refused(refused) => {
            assert_eq!(refused.code, "out_of_order");
            hunter.request(&ClientMessage::Dig(Dig { seq: refused.expected_seq }))
        }
        answer => answer,
    };
    assert!(matches!(answer, ServerMessage::Dug(_)), "{answer:?}");
    if let Some(first) = guest.taken.first() {
        assert_eq!(answer, first.answer, "what was answered before the kill");
    } else {
        guest.taken.push(TakenItem { cell: hunter.cell(), request: request.clone(), answer });
    }
    guest.hunter = hunter;
}

#[test]
fn a_hunt_whose_node_is_killed_goes_on_at_the_other_with_every_claim_once() {
    check_kill(3_600_000);
}

#[test]
fn a_hunt_whose_node_is_killed_goes_on_from_its_snapshot() {
    check_kill(100);
}

/// Each node reckons dates by the database's clock, which it knows to some milliseconds: two of them name one end that far apart, and the
/// end of another round by seconds.
#[track_caller]
fn check_same_round(until: &Value, before: &Value) {
    let of_day_ms = |date: &Value| -> i64 {
        let (_, time) = date.as_str().unwrap().split_once('T').unwrap();
        let parts: Vec<&str> = time.trim_end_matches('Z').split([':', '.']).collect();
        let [hours, minutes, seconds, ms] = [0, 1, 2, 3].map(|place| parts[place].parse::<i64>().unwrap());
        ((hours * 60 + minutes) * 60 + seconds) * 1_000 + ms
    };
    assert!((of_day_ms(until) - of_day_ms(before)).abs() <= 1_000, "it is the same round: {until} and {before}");
}

fn check_kill(snapshot_ms: u32) {
    let Nodes { a, b, _cluster, _folder } = two_nodes(snapshot_ms);
    let has_snapshots = snapshot_ms < 1_000;
    let mut ground = Ground::of(&a);
    let mut walker = Hunter::enter(a.address(), at(RICH, (10, 10)));
    check_elsewhere(&b, a.address());

    // Each has got all answers; one of them will not come back.
    let mut answer: Vec<Guest> = ["ann", "ben", "cem", "dot"].map(|name| Guest::enter(&a, name, ground.chest())).into();
    for guest in &mut answer {
        guest.take(ItemKind::Chest.into());
        guest.hunter.walk(ground.chest());
        guest.take(ItemKind::Chest.into());
    }
    if has_snapshots {
        wait_for_snapshot(&a, &mut walker);
    }
    for guest in &mut answer {
        let power_up = ground.power_up();
        guest.hunter.walk((power_up.x, power_up.y));
        guest.take(power_up.kind);
    }
    // Some of these answers get lost.
    let mut digging: Vec<Guest> =
        ["eli", "fay", "gus", "hal"].map(|name| Guest::enter(&a, name, ground.chest())).into();
    let round = stats(&a)["round"]["until"].clone();
    let owner = a.address();
    let request: Vec<ClientMessage> =
        digging.iter_mut().map(|guest| guest.hunter.taking(ItemKind::Chest.into())).collect();
    for (guest, request) in digging.iter_mut().zip(&request) {
        guest.hunter.send(request);
    }
    let first = digging[0].hunter.answer();
    // The world's id decides when in its hour the first snapshot is due: by bad luck now.
    if !has_snapshots && figure(&a, "gauntlet_world_snapshot_bytes_total") > 0 {
        return check_kill(snapshot_ms);
    }
    a.kill();
    for (number, (guest, request)) in digging.iter_mut().zip(&request).enumerate() {
        let last = guest.hunter.receive_all().into_iter().chain((number == 0).then(|| first.clone()));
        let dug: Vec<ServerMessage> = last.filter(|message| matches!(message, ServerMessage::Dug(_))).collect();
        assert!(dug.len() <= 1, "{dug:?}");
        guest.taken = dug
            .into_iter()
            .map(|answer| TakenItem { cell: guest.hunter.cell(), request: request.clone(), answer })
            .collect();
    }
    assert_eq!(digging[0].taken.len(), 1);

    let ghost = answer.pop().unwrap();
    for guest in &mut answer {
        let hunter = come_back(&b, &guest.again(), owner);
        check_resumed(guest, hunter);
    }
    for (guest, request) in digging.iter_mut().zip(&request) {
        let hunter = Hunter::enter(b.address(), guest.again());
        settle(guest, hunter, request);
    }
    let again = Register { resume: walker.resume(), ..at(RICH, walker.cell()) };
    let again = Hunter::enter(b.address(), again);
    assert_eq!(again.registered.is_resumed, has_snapshots, "positions are kept by snapshots alone");
    assert_eq!(again.registered.id == walker.registered.id, has_snapshots, "and numbers are given once");
    check_same_round(&stats(&b)["round"]["until"], &round);

    // Movers that did not come back leave after their grace; their items stay theirs.
    let present = answer.len() + digging.len() + 1;
    until("the ghosts are gone", || (stats(&b)["movers"] == json!(present)).then_some(()));
    let back = Hunter::enter(b.address(), ghost.again());
    assert_eq!((back.registered.is_resumed, back.registered.score), (false, ghost.points()));

    let mut all: Vec<TakenItem> =
        answer.iter().chain(&digging).chain([&ghost]).flat_map(|guest| guest.taken.clone()).collect();
    let cells: BTreeSet<_> = all.iter().map(|taken| taken.cell).collect();
    assert_eq!(cells.len(), all.len(), "each was taken once");
    all.iter().for_each(|taken| check_taken(&b, taken));
    let guests: Vec<&Guest> = answer.iter().chain(&digging).chain([&ghost]).collect();
    check_counted(&b, &all, &guests);

    // The others lie where they lay, and nothing else does.
    assert_eq!(all.len() + ground.0.len(), CHESTS + POWER_UPS);
    for item in &ground.0 {
        let mut hunter = Hunter::enter(b.address(), at(RICH, (item.x, item.y)));
        all.push(hunter.take(item.kind));
        hunter.leave();
    }
    // Visitors see it as it was a tick or two ago.
    until("no chest is left", || (stats(&b)["round"]["chests_left"] == 0).then_some(()));
    check_counted(&b, &all, &guests);
}

/// The state of a process: `T` is stopped.
fn is_stopped(server: &Server) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", server.pid())).unwrap();
    stat.rsplit(") ").next().is_some_and(|state| state.starts_with('T'))
}

#[test]
fn a_node_that_was_stopped_beyond_its_lease_shows_nothing_of_a_hunt_that_another_has() {
    let Nodes { a, mut b, _cluster, _folder } = two_nodes(100);
    let mut ground = Ground::of(&a);
    let mut ann = Guest::enter(&a, "ann", ground.chest());
    ann.take(ItemKind::Chest.into());
    let (contested, other) = (ground.chest(), ground.chest());
    let mut ben = Guest::enter(&a, "ben", contested);
    let mut watcher = Hunter::enter(a.address(), looking(at(RICH, (10, 10))));
    wait_for_snapshot(&a, &mut ann.hunter);

    a.signal(Signal::STOP);
    until("the node is stopped", || is_stopped(&a).then_some(()));
    for hunter in [&mut ann.hunter, &mut ben.hunter, &mut watcher] {
        hunter.drain();
    }
    // What the stopped node will find when it resumes: moves, a dig, a newcomer and a viewer.
    ben.hunter.send(&ClientMessage::Dig(Dig { seq: ben.hunter.seq }));
    ann.hunter.send(&ClientMessage::Move(Move { seq: ann.hunter.seq, step: Step::N.into() }));
    let mut late = FrameConnection::open(a.address());
    late.send(&[hello(), ClientMessage::Register(looking(at(RICH, (5, 5))))]);
    let mut reader = HttpConnection::open(a.address(), "");
    reader.send("GET /api/worlds/rich/sections", "", &Value::Null);

    come_back(&b, &at(RICH, (0, 0)), a.address()).leave();
    let mut cem = Guest::enter(&b, "cem", contested);
    cem.take(ItemKind::Chest.into());

    a.signal(Signal::CONT);
    for hunter in [&mut ann.hunter, &mut ben.hunter, &mut watcher] {
        let received = hunter.receive_all();
        let [ServerMessage::Error(error)] = &received[..] else { panic!("a node that was fenced sent {received:?}") };
        assert_eq!((error.code.as_str(), error.close), ("world_moved", 1012));
    }
    let received: Vec<ServerMessage> = std::iter::from_fn(|| late.next()).collect();
    let [ServerMessage::Welcome(_), ServerMessage::Error(error)] = &received[..] else {
        panic!("a newcomer received {received:?}")
    };
    assert!(["world_moved", "elsewhere", "busy", "unavailable"].contains(&error.code.as_str()), "{error:?}");
    assert_eq!(reader.response().0.status, 503, "no server reads what another owns");
    until("it knows whose the hunt is", || {
        let refused = Hunter::try_enter(a.address(), at(RICH, (0, 0))).err()?;
        (refused.code == "elsewhere").then_some(())
    });
    check_elsewhere(&a, b.address());

    // All continue where the hunt is; what the stopped node answered does not count.
    let hunter = Hunter::enter(b.address(), ann.again());
    let now = hunter.registered;
    assert!(now.is_resumed && now.score == ann.points() && now.next_seq <= ann.hunter.seq, "{now:?}");
    ann.hunter = hunter;
    ann.hunter.walk(other);
    ann.take(ItemKind::Chest.into());
    let again = Register { resume: ben.hunter.resume(), token: ben.token.clone(), ..at(RICH, contested) };
    ben.hunter = Hunter::enter(b.address(), again);
    let request = ben.hunter.taking(ItemKind::Chest.into());
    match ben.hunter.request(&request) {
        ServerMessage::Refused(refused) => assert_eq!(refused.code, "taken"),
        answer => panic!("{answer:?}"),
    }
    let all: Vec<TakenItem> = ann.taken.iter().chain(&cem.taken).cloned().collect();
    check_counted(&b, &all, &[&ann, &cem]);

    // And back again, at once, when the other one leaves in order.
    assert_eq!(b.stop(), Some(0));
    let hunter = Hunter::enter(a.address(), ann.again());
    assert!(hunter.registered.is_resumed && hunter.registered.score == ann.points(), "{:?}", hunter.registered);
    all.iter().for_each(|taken| check_taken(&a, taken));
    check_counted(&a, &all, &[&ann, &cem]);
}

/// The node that has the hunt takes the mover out, whichever node is asked. A creator who was the last player ends the hunt.
#[test]
fn a_player_who_leaves_a_hunt_at_either_node_is_taken_out_of_it() {
    let nodes = two_nodes(3_600_000);
    nodes.a.request_ok("POST /api/hunts", &json!({"name": "own", "width": 20, "height": 20, "tree_permille": 0}));
    let guest = nodes.a.request_ok("POST /api/stories/guests", &json!({ "name": "Ann" }));
    let by_guest = |line: &str| {
        let mut connection = HttpConnection::open(nodes.a.address(), guest["token"].as_str().unwrap());
        connection.request_ok(line, &Value::Null, 200)
    };
    let register = Register { token: TOKEN.to_owned(), ..at("own", (10, 10)) };
    let enter_and_leave = |server: &Server| {
        server.request_ok("POST /api/hunts/own/join", &Value::Null);
        let mut hunter = Hunter::enter(nodes.a.address(), register.clone());
        server.request_ok("POST /api/hunts/own/leave", &Value::Null);
        let last = hunter.receive_all().pop();
        assert!(matches!(&last, Some(ServerMessage::Error(error)) if error.code == "not_joined"), "{last:?}");
    };
    by_guest("POST /api/hunts/own/join");
    for server in [&nodes.a, &nodes.b] {
        enter_and_leave(server);
        until("the mover is gone", || {
            (nodes.a.request_ok("GET /api/worlds/own/stats", &Value::Null)["movers"] == 0).then_some(())
        });
    }
    by_guest("POST /api/hunts/own/leave");
    enter_and_leave(&nodes.b);
    assert_eq!(nodes.a.request("POST /api/hunts/own/join", &Value::Null).body["code"], "hunt_not_open");
}
