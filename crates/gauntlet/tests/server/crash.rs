//! `kill -9` during matches: nothing that was seen is lost, no bot gets a start or a saved turn again, and every match
//! ends once. And a match that kills every worker that runs it is given up, without affecting others.

use crate::support::bots::Bots;
use crate::support::connection::HttpConnection;
use crate::support::games::{ObservedGames, story};
use crate::support::{Folder, Server, until};
use serde_json::{Value, json};
use std::time::Duration;

const THINK: Duration = Duration::from_millis(10);

#[test]
fn two_kills_in_a_row_lose_nothing() {
    let (bots, folder) = (Bots::start(THINK), Folder::new());
    let mut server = folder.serve_games("");
    let snakes = server.register(&bots, &["circle", "stuck", "hungry", "flood"]);
    // Some stand still in the middle of a turn when the kill comes, the others are anywhere.
    bots.hold_moves_from(10);
    let standing = server.create(&snakes[..2], 1..=4);
    let circling = server.create(&[snakes[0].clone(), snakes[0].clone()], 5..=8);
    let hunting = server.create(&snakes[2..], 9..=12);
    let all = [standing.as_slice(), &circling, &hunting].concat();

    let mut pasts = Vec::new();
    for (turns, next) in [(10, 30), (30, u32::MAX)] {
        server.wait_for_turns(&all, turns);
        pasts.push(ObservedGames::record(&server, &bots, &all));
        server.kill();
        bots.hold_moves_from(next);
        server = folder.serve_games("");
        // At once, before any bot plays on: what was shown was saved.
        let now = ObservedGames::record(&server, &bots, &all);
        pasts.iter().for_each(|past| past.check_kept(&now));
    }
    // The same seeds once more, undisturbed.
    let undisturbed = server.create(&snakes[..2], 1..=4);
    server.wait_for_the_end(&[all.as_slice(), &undisturbed].concat());
    let end = ObservedGames::record(&server, &bots, &all);
    pasts.iter().for_each(|past| past.check_kept(&end));
    check_ended_once(&server, all.len() + undisturbed.len());
    for (id, undisturbed) in standing.iter().zip(&undisturbed) {
        assert_eq!((end.calls_by_seat(id, "start"), end.calls_by_seat(id, "end")), (vec![1, 1], vec![1, 1]));
        assert_eq!(story(&end.game(id).frames), story(&server.frames(undisturbed)), "a resume changed a game");
    }
}

/// The lock on the file proves that the dead process is gone: no server waits for its leases to end.
#[test]
fn a_live_table_is_served_as_soon_as_the_next_process_is_ready() {
    let folder = Folder::new();
    let mut server = folder.serve_games("");
    let guest = server.request_ok("POST /api/stories/guests", &json!({ "name": "Ann" }));
    let token = guest["token"].as_str().unwrap().to_owned();
    let opened = HttpConnection::open(server.address(), &token).request_ok("POST /api/stories/games", &json!({}), 201);
    let chat = format!("POST /api/stories/tables/{}/chat", opened["table"].as_str().unwrap());
    let (seq, kills) = (opened["seq"].as_u64().unwrap(), 3);
    for kill in 1..=kills {
        server.kill();
        server = folder.serve_games("");
        until("it is ready", || (server.request("GET /readyz", &Value::Null).status == 200).then_some(()));
        let chat_line =
            HttpConnection::open(server.address(), &token).request_ok(&chat, &json!({ "text": "here" }), 200);
        assert_eq!(chat_line["seq"], seq + kill, "what was chat_line before the kill is there too");
    }
}

/// The counters know as many ends as there are games.
#[track_caller]
fn check_ended_once(server: &Server, games: usize) {
    let stats = server.request_ok("GET /api/admin/stats", &Value::Null);
    let counts = json!({"waiting": 0, "running": 0, "finished": games, "failed": 0, "cancelled": 0, "total": games});
    assert_eq!(stats["game_counts"], counts);
    assert_eq!(stats["games_finished"]["last_hour"], games);
}

#[test]
fn a_start_is_repeated_only_for_bots_whose_answer_was_not_saved() {
    let (bots, folder) = (Bots::start(Duration::ZERO), Folder::new());
    let server = folder.serve_games("");
    let snakes = server.register(&bots, &["circle", "shy"]);
    bots.hold_starts();
    let games = server.create(&snakes, [1]);
    until("one start is saved and the other was sent", || {
        let starts = bots.calls().keys().filter(|(call, ..)| call == "start").count();
        (server.inspect(&games[0])["log"]["version"] == 2 && starts == 2).then_some(())
    });
    let past = ObservedGames::record(&server, &bots, &games);
    server.kill();
    bots.release();
    let server = folder.serve_games("");
    server.wait_for_the_end(&games);
    let end = ObservedGames::record(&server, &bots, &games);
    past.check_kept(&end);
    assert_eq!(end.calls_by_seat(&games[0], "start"), [1, 2]);
}

#[test]
fn a_match_that_ends_its_servers_is_given_up_kept_and_may_be_tried_again() {
    let (bots, folder) = (Bots::start(Duration::ZERO), Folder::new());
    let host = || folder.serve_games("--attempts-max 1");
    let claimed = |server: &Server, games: &[String], epoch: u64| {
        until(&format!("every game is claimed for the {epoch}. time"), || {
            let is_claimed = |id: &String| server.inspect(id)["attempts"]["epoch"] == epoch;
            games.iter().all(is_claimed).then_some(())
        });
    };
    let server = host();
    let snakes = server.register(&bots, &["stuck", "circle"]);
    bots.hold_moves_from(3);
    let poison = server.create(&snakes, 1..=2);
    server.wait_for_turns(&poison, 3);
    let past = ObservedGames::record(&server, &bots, &poison);
    server.kill();
    // A claim that follows progress counts as the first one; this worker dies before it gets any further.
    let server = host();
    claimed(&server, &poison, 2);
    server.kill();

    let mut server = host();
    let healthy = server.create(&[snakes[1].clone(), snakes[1].clone()], [3]);
    until("the poison is given up", || {
        server.statuses(&poison).iter().all(|game| game["status"] == "failed").then_some(())
    });
    server.wait_for_the_end(&healthy);
    server.assert_alive();
    let studied = server.inspect(&poison[0]);
    assert!(studied["failure"].as_str().unwrap().contains("after 1 attempts without progress"), "{studied}");
    assert_eq!((&studied["turns"], &studied["log"]["version"]), (&json!(3), &json!(6)), "its log is kept");
    past.check_kept(&ObservedGames::record(&server, &bots, &poison));

    bots.release();
    assert_eq!(server.request(&format!("POST /api/admin/games/{}/cancel", poison[1]), &Value::Null).status, 200);
    assert_eq!(server.request(&format!("POST /api/admin/games/{}/requeue", poison[0]), &Value::Null).status, 200);
    server.wait_for_the_end(&poison[..1]);
    past.check_kept(&ObservedGames::record(&server, &bots, &poison));
    assert_eq!(server.counts()["cancelled"], 1);
}
