//! Hunters over the network, as real processes: they enter the world of a real server, walk, and dig, also after a
//! `kill -9`.

use crate::support::{Folder, Server, until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::process::{Child, Stdio};

/// The number before these words in the line that hunters end with.
#[track_caller]
fn count(printed: &str, words: &str) -> u64 {
    let before = printed.split(words).next().unwrap_or_default();
    let number = before.rsplit(|letter: char| !letter.is_ascii_digit()).next();
    number.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("no {words:?} in {printed}"))
}

/// The server's metric of this name.
fn figure(server: &Server, name: &str) -> u64 {
    let page = server.get("/metrics", "");
    page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok()).unwrap_or_default()
}

/// Eight hunters in this world.
fn send_hunters(folder: &Folder, server: &Server, world: &str) -> Child {
    let words = format!("bots --hunt {} --world {world} --count 8 --rate 15", server.address());
    folder.command(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Sends them home; the line that they end with.
fn call_home(hunters: &mut Child) -> String {
    kill_process(Pid::from_child(hunters), Signal::INT).unwrap();
    let ended = until("the hunters leave", || hunters.try_wait().unwrap());
    let printed = std::io::read_to_string(hunters.stdout.take().unwrap()).unwrap();
    assert!(ended.success(), "{printed} {}", std::io::read_to_string(hunters.stderr.take().unwrap()).unwrap());
    assert!(printed.starts_with("gauntlet bots hunt at "), "{printed}");
    printed.lines().last().unwrap_or_default().to_owned()
}

/// What was counted of all hunts, once nothing is behind.
fn counted(server: &Server) -> Value {
    until("every claim is counted", || {
        let statistics = server.request_ok("GET /api/hunts/statistics", &Value::Null);
        (statistics["claims_behind"] == 0).then_some(statistics)
    })
}

#[test]
fn hunters_come_walk_and_leave() {
    let folder = Folder::new();
    let mut server = folder.serve("");
    let mut hunters = send_hunters(&folder, &server, "hunt");
    until("hunters walk and look", || {
        let has_come = |name| figure(&server, name) >= 50;
        (has_come("gauntlet_world_inputs_total") && has_come("gauntlet_world_views_total")).then_some(())
    });
    let last = &*call_home(&mut hunters);
    assert!(count(last, " steps") + count(last, " chests") + count(last, " refused") >= 8, "{last}");
    assert!(count(last, " steps") >= 1, "{last}");
    assert!(count(last, " views") >= 8, "{last}");
    assert_eq!(count(last, " of 8 hunters there"), 8, "who was there when they were called home: {last}");
    assert_eq!(count(last, " connections lost"), 0, "{last}");
    assert_eq!(server.stop(), Some(0));
}

/// What hunters were answered is theirs; of what was in flight, each has one chest at most. And every chest is dug
/// once, before or after.
#[test]
fn answered_claims_outlive_a_kill_and_no_chest_is_dug_twice() {
    const CHESTS: u64 = 200;
    let folder = Folder::new();
    let server = folder.serve_games("--data hunts.db");
    let hunt = json!({"name": "rich", "admission": "everybody", "width": 20, "height": 20, "tree_permille": 0,
        "chests": CHESTS, "power_ups": 0, "points_max": 10, "rounds": 1, "round_ms": 3_600_000});
    server.request_ok("POST /api/hunts", &hunt);
    let mut hunters = send_hunters(&folder, &server, "rich");
    until("chests are dug", || (figure(&server, "gauntlet_world_claims_total") >= 40).then_some(()));
    server.kill();
    let last = call_home(&mut hunters);
    let answered = (count(&last, " chests"), count(&last, " points"));

    let server = folder.serve_games("--data hunts.db");
    let kept = counted(&server);
    let (chests, points) = (kept["chests"].as_u64().unwrap(), kept["points"].as_u64().unwrap());
    assert!(
        (answered.0..=answered.0 + 8).contains(&chests) && (answered.1..=answered.1 + 80).contains(&points),
        "{last}: {kept}"
    );
    assert!(chests < CHESTS, "the kill came in the middle");

    let mut hunters = send_hunters(&folder, &server, "rich");
    until("everything is dug", || {
        let stats = server.request("GET /api/worlds/rich/stats", &Value::Null).body;
        (stats["round"]["chests_left"] == 0).then_some(())
    });
    let more = count(&call_home(&mut hunters), " chests");
    assert_eq!(counted(&server)["chests"], CHESTS);
    // A hunter that is stopped does not receive its last answer.
    assert!((CHESTS - 8..=CHESTS).contains(&(chests + more)), "{chests} and {more}");
}

#[test]
fn hunters_without_a_server_report_it() {
    let folder = Folder::new();
    let output = folder.command("bots --hunt 127.0.0.1:1 --count 2 --for 1s").output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    for part in ["no hunter came into the world at 127.0.0.1:1 in hunt", "Connection refused", "`gauntlet serve`"] {
        assert!(error.contains(part), "{part:?} is not in {error}");
    }
}
