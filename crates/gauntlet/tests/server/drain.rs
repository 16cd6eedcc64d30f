//! SIGTERM during matches: the process stops in order and in time, releases its matches without charging an attempt,
//! and the next one continues at the same turns.

use crate::support::bots::Bots;
use crate::support::games::ObservedGames;
use crate::support::viewer::Viewer;
use crate::support::{Folder, until};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::time::Duration;

/// What RFC 6455's registry calls "service restart": come back, to another.
const SERVICE_RESTART: u16 = 1012;

#[test]
fn matches_under_way_go_on_in_the_next_life() {
    let (bots, folder) = (Bots::start(Duration::from_millis(20)), Folder::new());
    let mut server = folder.serve_games("");
    let snakes = server.register(&bots, &["circle", "stuck"]);
    // Half of them stand still in the middle of a turn when the signal comes, the others are anywhere.
    bots.hold_moves_from(10);
    let standing = server.create(&snakes, 1..=6);
    let games = [standing.clone(), server.create(&[snakes[0].clone(), snakes[0].clone()], 7..=12)].concat();
    let mut viewer = Viewer::watch(&server, &games[0]);
    viewer.wait_for_turn(10);
    server.wait_for_turns(&games, 10);
    let past = ObservedGames::record(&server, &bots, &games);
    assert_eq!(server.stop(), Some(0));
    let received = viewer.receive_all();
    assert_eq!((received.has_ended, received.code), (false, Some(SERVICE_RESTART)));

    // A process that claims one match only: the others stay as they were released.
    let mut server = folder.serve_games("--matches-at-once 1 --claim-size 1");
    past.check_kept(&ObservedGames::record(&server, &bots, &games));
    let lying = |id: &String| {
        let game = server.inspect(id);
        (game["status"] == "running" && game["worker"].is_null()).then(|| game["attempts"]["charged"].clone())
    };
    let charged: Vec<_> = games.iter().filter_map(lying).collect();
    assert!(charged.len() >= standing.len() - 1, "{charged:?}");
    assert!(charged.iter().all(|charged| *charged == 0), "a drain costs no attempt: {charged:?}");
    assert_eq!(server.stop(), Some(0));

    bots.release();
    let server = folder.serve_games("");
    server.wait_for_the_end(&games);
    let end = ObservedGames::record(&server, &bots, &games);
    past.check_kept(&end);
    assert!(games.iter().all(|id| end.calls_by_seat(id, "start") == [1, 1] && end.calls_by_seat(id, "end") == [1, 1]));
    assert_eq!(server.counts()["finished"], games.len());
    // Who comes back gets everything once more.
    let again = Viewer::watch(&server, &games[0]).receive_all();
    assert!(
        again.has_ended && again.frames == end.game(&games[0]).frames && again.frames.starts_with(&received.frames)
    );
}

#[test]
fn any_number_of_drains_uses_up_no_attempt() {
    let (bots, folder) = (Bots::start(Duration::ZERO), Folder::new());
    let host = || folder.serve_games("--attempts-max 1");
    let mut server = host();
    let snakes = server.register(&bots, &["stuck"]);
    bots.hold_moves_from(5);
    let games = server.create(&[snakes[0].clone(), snakes[0].clone()], 1..=3);
    server.wait_for_turns(&games, 5);
    let past = ObservedGames::record(&server, &bots, &games);
    for epoch in 2..=4 {
        // Every move of the sixth turn is under way and none is saved: the turn is abandoned.
        assert_eq!(server.stop(), Some(0));
        server = host();
        until(&format!("every game is claimed for the {epoch}. time"), || {
            games.iter().all(|id| server.inspect(id)["attempts"]["epoch"] == epoch).then_some(())
        });
        assert!(games.iter().all(|id| server.inspect(id)["attempts"]["charged"] == 1));
    }
    bots.release();
    server.wait_for_the_end(&games);
    let end = ObservedGames::record(&server, &bots, &games);
    past.check_kept(&end);
    assert!(games.iter().all(|id| end.calls_by_seat(id, "start") == [1, 1]));
}

/// A load balancer reads there that it should send nothing here any more, while all that still comes is served.
#[test]
fn a_server_with_a_drain_delay_says_that_it_leaves_and_serves_on() {
    let folder = Folder::new();
    let mut server = folder.serve_games("--drain-delay-ms 300000");
    let guest = |name: &str| server.request("POST /api/stories/guests", &json!({ "name": name })).status;
    assert_eq!((server.request("GET /readyz", &Value::Null).status, guest("before")), (200, 201));
    server.signal(Signal::TERM);
    until("it is not ready", || (server.request("GET /readyz", &Value::Null).status == 503).then_some(()));
    assert_eq!(guest("meanwhile"), 201);
    // The second signal waits for nothing.
    server.signal(Signal::TERM);
    assert_eq!(server.code(), Some(143));

    let mut server = folder.serve_games("--drain-delay-ms 1");
    assert_eq!(server.stop(), Some(0));
    let mut server = folder.serve_games("--drain-delay-ms 1");
    assert_eq!(server.request("POST /api/admin/drain", &Value::Null).status, 202);
    assert_eq!(server.code(), Some(0), "an admin asked for it");
}
