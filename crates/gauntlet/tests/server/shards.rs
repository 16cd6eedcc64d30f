//! Servers under one supervisor, as real processes: each is independent, and none outlives the supervisor.

use crate::support::{Folder, Server, TOKEN, until};
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeSet;

/// The running processes that the supervisor has started.
fn shards_of(server: &Server) -> BTreeSet<u32> {
    let path = format!("/proc/{0}/task/{0}/children", server.pid());
    std::fs::read_to_string(path).unwrap().split_whitespace().map(|pid| pid.parse().unwrap()).collect()
}

/// The supervisor's metric of this name for each shard, in order.
fn figures(server: &Server, name: &str) -> Vec<u64> {
    let text = server.get("/metrics", "");
    let of_shard = |line: &str| line.strip_prefix(name)?.strip_prefix("{shard=\"")?.split_once("\"} ")?.1.parse().ok();
    text.lines().filter_map(of_shard).collect()
}

fn status(server: &Server, path: &str) -> String {
    server.get(path, "").split(' ').nth(1).unwrap().to_owned()
}

fn is_gone(pid: u32) -> bool {
    // A process that ended and was not awaited yet has no memory left.
    std::fs::read_to_string(format!("/proc/{pid}/status")).map_or(true, |status| !status.contains("VmRSS"))
}

/// The addresses in the supervisor's first line: its own, and those of its shards.
fn addresses(server: &Server) -> Vec<String> {
    let line = server.line.replace("http://", "");
    let words = line.split([' ', ';']).filter(|word| word.starts_with("127.0.0.1:"));
    words.map(str::to_owned).collect()
}

#[test]
fn a_shard_that_dies_is_started_again_alone_and_where_it_was() {
    let folder = Folder::new();
    let mut server = folder.serve("--shards 3 --data d/games.db");
    let before = shards_of(&server);
    let places: BTreeSet<String> = addresses(&server).into_iter().collect();
    assert_eq!((before.len(), places.len()), (3, 4), "{}", server.line);
    // A shard that does not answer within seconds counts as down, and a busy machine may take as long.
    until("all are up", || (figures(&server, "gauntlet_shard_up") == [1, 1, 1]).then_some(()));
    assert_eq!(figures(&server, "gauntlet_shard_restarts_total"), [0, 0, 0]);
    assert!(figures(&server, "gauntlet_shard_pss_bytes").iter().all(|bytes| *bytes > 1_000_000));
    until("all are ready", || (status(&server, "/readyz") == "200").then_some(()));
    assert!((1..=3).all(|number| folder.path().join(format!("d/games-shard-{number}.db")).exists()));

    // A browser at the supervisor's address is redirected to a shard.
    assert_eq!([status(&server, "/"), status(&server, "/world")], ["307", "307"]);
    let response = server.get("/api/hunts", "");
    assert!(response.contains(" 404 ") && response.contains("GET /api/worlds"), "{response}");

    let homes = until("every shard has a plaza", || {
        let worlds = server.request_ok("GET /api/worlds", &serde_json::Value::Null);
        let plazas = worlds.as_array().unwrap().iter().filter(|world| world["name"] == "plaza");
        let homes: BTreeSet<String> = plazas.map(|world| world["address"].as_str().unwrap().to_owned()).collect();
        (homes.len() == 3).then_some(homes)
    });
    assert!(homes.is_subset(&places), "{homes:?}");

    let victim = *before.first().unwrap();
    kill_process(Pid::from_raw(victim as i32).unwrap(), Signal::KILL).unwrap();
    until("the shard serves again", || {
        (figures(&server, "gauntlet_shard_restarts_total").iter().sum::<u64>() == 1).then_some(())
    });
    until("the shard is ready again", || (status(&server, "/readyz") == "200").then_some(()));
    let after = shards_of(&server);
    assert_eq!(before.difference(&after).copied().collect::<Vec<_>>(), [victim], "the others live on");
    assert_eq!(after.len(), 3);
    until("all are up again", || (figures(&server, "gauntlet_shard_up") == [1, 1, 1]).then_some(()));
    for place in places {
        std::net::TcpStream::connect(&place).unwrap_or_else(|error| panic!("{place}: {error}"));
    }
    assert_eq!(server.stop(), Some(0));
    assert!(after.into_iter().all(is_gone));
}

#[test]
fn with_a_drain_delay_shards_and_supervisor_say_that_they_leave_and_serve_on() {
    let folder = Folder::new();
    let mut server = folder.serve("--shards 2 --drain-delay-ms 300000");
    let shards = addresses(&server).split_off(1);
    until("all are ready", || (status(&server, "/readyz") == "200").then_some(()));
    server.signal(Signal::TERM);
    until("none is ready", || (status(&server, "/readyz") == "503").then_some(()));
    let worlds = server.request_ok("GET /api/worlds", &serde_json::Value::Null);
    let places: BTreeSet<&str> =
        worlds.as_array().unwrap().iter().filter_map(|world| world["address"].as_str()).collect();
    assert_eq!(places, shards.iter().map(String::as_str).collect(), "the worlds of all shards are listed still");
    // The second signal waits for nothing, and no shard outlives the supervisor.
    let left = shards_of(&server);
    server.signal(Signal::TERM);
    assert_eq!(server.code(), Some(143));
    until("the shards are gone", || left.iter().all(|pid| is_gone(*pid)).then_some(()));

    let mut server = folder.serve("--shards 2 --drain-delay-ms 1");
    let shards = shards_of(&server);
    assert_eq!(server.stop(), Some(0));
    assert!(shards.into_iter().all(is_gone));
}

#[test]
fn what_the_shards_count_is_added_up() {
    let folder = Folder::new();
    let server = folder.serve("--shards 2");
    let shards: Vec<String> = addresses(&server).into_iter().skip(1).collect();
    for (times, shard) in shards.iter().enumerate() {
        for _ in 0..=times {
            let mut stream = std::net::TcpStream::connect(shard).unwrap();
            std::io::Write::write_all(
                &mut stream,
                b"GET /api/openapi.json HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
            )
            .unwrap();
            std::io::copy(&mut stream, &mut std::io::sink()).unwrap();
        }
    }
    until("the sum of both is shown", || {
        let text = server.get("/metrics", "");
        let mut served = text.lines().filter(|line| line.contains("\"/api/openapi.json\"") && line.contains("2xx"));
        served.any(|line| line.ends_with(" 3")).then_some(())
    });
}

/// Makes a world at a shard, as an operator.
fn make_world(shard: &str, name: &str) {
    let body = serde_json::json!({"name": name, "width": 8, "height": 8}).to_string();
    let head = format!(
        "POST /api/worlds HTTP/1.1\r\nHost: {shard}\r\nConnection: close\r\nAuthorization: Bearer {TOKEN}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let mut stream = std::net::TcpStream::connect(shard).unwrap();
    std::io::Write::write_all(&mut stream, (head + &body).as_bytes()).unwrap();
    let answer = std::io::read_to_string(stream).unwrap();
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
}

/// A shard lists its worlds in pages, the newest first: the built-in ones, which are the oldest, are on the last.
#[test]
fn all_worlds_of_a_shard_are_named_however_many_there_are() {
    let folder = Folder::new();
    let server = folder.serve_games("--shards 2");
    let shard = &addresses(&server)[1];
    (0..120).for_each(|number| make_world(shard, &format!("pond-{number}")));
    let names = until("both shards answer in time", || {
        let worlds = server.request_ok("GET /api/worlds", &serde_json::Value::Null);
        let names: Vec<_> =
            worlds.as_array().unwrap().iter().map(|world| world["name"].as_str().unwrap().to_owned()).collect();
        let plazas = names.iter().filter(|name| *name == "plaza").count();
        (plazas == 2).then_some(names)
    });
    assert_eq!(names.len(), 120 + 2 * 2, "{names:?}");
}

#[test]
fn a_shard_that_hangs_is_reported_down_and_not_restarted() {
    let folder = Folder::new();
    let server = folder.serve("--shards 2");
    let up = || figures(&server, "gauntlet_shard_up");
    until("both are up", || (up() == [1, 1]).then_some(()));
    let shards = shards_of(&server);
    let hanging = Pid::from_raw(*shards.first().unwrap() as i32).unwrap();
    kill_process(hanging, Signal::STOP).unwrap();
    until("one is down", || (up().iter().sum::<u64>() == 1).then_some(()));
    assert_eq!(status(&server, "/readyz"), "503");
    kill_process(hanging, Signal::CONT).unwrap();
    until("both are up again", || (up() == [1, 1]).then_some(()));
    assert_eq!((shards_of(&server), figures(&server, "gauntlet_shard_restarts_total")), (shards, vec![0, 0]));
}

/// It has a port and pipes of its own, and lets in as many as its hard limit allows.
#[test]
fn a_supervisor_raises_its_limit_of_open_files_as_its_shards_do() {
    let folder = Folder::new();
    let server = folder.serve_games_by(&["prlimit", "--nofile=256:4096"], "--shards 2");
    for pid in shards_of(&server).into_iter().chain([server.pid()]) {
        let limits = std::fs::read_to_string(format!("/proc/{pid}/limits")).unwrap();
        let files = limits.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap();
        assert_eq!(files.split_whitespace().take(2).collect::<Vec<_>>(), ["4096", "4096"]);
    }
}

#[test]
fn no_shard_outlives_its_supervisor() {
    let folder = Folder::new();
    let server = folder.serve("--shards 2");
    let shards = shards_of(&server);
    server.kill();
    until("the shards are gone", || shards.iter().copied().all(is_gone).then_some(()));
    // Their data files are free at once.
    let mut again = folder.serve("--shards 2");
    assert_eq!(again.stop(), Some(0));
}

#[test]
fn a_shard_that_cannot_start_is_reported() {
    let folder = Folder::new();
    // Both shards' ports are taken, and the supervisor's own, below them, is free. The kernel gives out higher ports than these by
    // itself, so that no other server comes between.
    let listen = |port: u16| std::net::TcpListener::bind(("127.0.0.1", port)).ok();
    let (port, _taken) = (20_000..30_000)
        .step_by(3)
        .find_map(|port| listen(port).and_then(|_| Some((port, (listen(port + 1)?, listen(port + 2)?)))))
        .unwrap();
    let output = folder.command(&format!("serve --shards 2 --port {port}")).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{printed}");
    let first = ["1", "2"]
        .into_iter()
        .find(|shard| printed.contains(&format!("shard {shard} did not start")))
        .unwrap_or("none");
    let refusal =
        format!("shard {first}: gauntlet: cannot listen on 127.0.0.1:{}", port + first.parse::<u16>().unwrap_or(0));
    assert!(printed.contains(&refusal), "{refusal:?} is not in {printed}");
}

#[test]
fn what_shards_cannot_share_is_refused() {
    let folder = Folder::new();
    let words = "serve --shards 2 --port 65535 --only limiter --grpc-port 0 --store-url postgres://a@b/c";
    let output = folder.command(words).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{printed}");
    for part in ["store.url = off", "a lower port", "limiter.grpc_port = off", "server.shards = 1"] {
        assert!(printed.contains(part), "{part:?} is not in {printed}");
    }
}
