//! A disk without room: what cannot be saved is refused, no process dies of it, nothing that was acknowledged is lost,
//! and everything continues by itself once there is room again.

use crate::support::bots::Bots;
use crate::support::games::ObservedGames;
use crate::support::{Folder, Server, until};
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::{Value, json};
use std::fs::{File, OpenOptions};
use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// Becomes a server whose writes beyond a limit fail instead of ending it.
const WITHOUT_SIGXFSZ: &[&str] = &["sh", "-c", r#"trap "" XFSZ; exec "$@""#, "sh"];
/// Becomes a server in a private small file system, which ends with it.
const ON_A_SMALL_DISK: &str = r#"mount -t tmpfs -o size=4m tmpfs . && cd "$PWD" && exec "$@""#;
/// How that is allowed to whom.
const AS_ROOT: &[&str] = &["unshare", "--mount"];
const AS_ANYBODY: &[&str] = &["unshare", "--user", "--map-root-user", "--mount"];

/// Games on a server that is about to run out of space.
struct FullDisk {
    bots: Bots,
    snakes: Vec<String>,
    /// Games that were acknowledged.
    games: Vec<String>,
    past: ObservedGames,
}

impl FullDisk {
    fn begin(server: &Server) -> Self {
        let bots = Bots::start(Duration::from_millis(20));
        let snakes = server.register(&bots, &["circle", "stuck"]);
        bots.hold_moves_from(5);
        let games = server.create(&snakes, 1..=4);
        server.wait_for_turns(&games, 5);
        let past = ObservedGames::record(server, &bots, &games);
        Self { bots, snakes, games, past }
    }

    /// Creates games until one is refused, and looks at how the server bears it.
    fn squeeze(&mut self, server: &mut Server) {
        self.bots.release();
        let refused = until("a creation is refused", || {
            let reply = server.request("POST /api/games", &json!({ "snakes": self.snakes, "seed": 5 }));
            if reply.status != 201 {
                return Some(reply);
            }
            self.games.push(reply.body["id"].as_str().unwrap().to_owned());
            None
        });
        assert_eq!((refused.status, &refused.body["code"]), (503, &json!("store_unavailable")), "{refused:?}");
        check_ready(server, 503);
        assert_eq!(server.request("GET /healthz", &Value::Null).status, 200);
        self.check_kept(server);
        server.assert_alive();
    }

    #[track_caller]
    fn check_kept(&self, server: &Server) {
        self.past.check_kept(&ObservedGames::record(server, &self.bots, &self.games));
    }

    /// There is room again: everything that was acknowledged is played, and nothing else is there.
    fn check_relieved(mut self, server: &mut Server) {
        check_ready(server, 200);
        self.games.extend(server.create(&self.snakes, [6]));
        server.wait_for_the_end(&self.games);
        server.assert_alive();
        self.check_kept(server);
        assert_eq!(server.counts()["total"], self.games.len(), "what was refused is not there");
    }
}

#[track_caller]
fn check_ready(server: &Server, want: u16) {
    until(&format!("/readyz says {want}"), || {
        (server.request("GET /readyz", &Value::Null).status == want).then_some(())
    });
}

/// From now on the server's files may be written up to this size only.
fn limit_files(server: &Server, bytes: Option<u64>) {
    let pid = Pid::from_raw(server.pid() as i32);
    prlimit(pid, Resource::Fsize, Rlimit { current: bytes, maximum: None }).unwrap();
}

#[test]
fn files_that_cannot_be_written_for_a_while() {
    let folder = Folder::new();
    let mut server = folder.serve_games_by(WITHOUT_SIGXFSZ, "");
    let mut games = FullDisk::begin(&server);
    limit_files(&server, Some(0));
    games.squeeze(&mut server);
    limit_files(&server, None);
    games.check_relieved(&mut server);
}

#[test]
fn a_kill_while_nothing_can_be_written() {
    let folder = Folder::new();
    let mut server = folder.serve_games_by(WITHOUT_SIGXFSZ, "");
    let mut games = FullDisk::begin(&server);
    limit_files(&server, Some(0));
    games.squeeze(&mut server);
    server.kill();
    let mut server = folder.serve_games("");
    games.check_relieved(&mut server);
}

#[test]
fn a_disk_that_is_full_for_a_while() {
    let Some(way) = way_to_mount() else {
        eprintln!("skipped: this user may not mount a file system of its own, not even in a namespace");
        return;
    };
    let folder = Folder::new();
    let starter: Vec<&str> = way.iter().copied().chain(["sh", "-c", ON_A_SMALL_DISK, "sh"]).collect();
    let mut server = folder.serve_games_by(&starter, "");
    let mut games = FullDisk::begin(&server);
    // The file system as that process sees it.
    let mut ballast = PathBuf::from(format!("/proc/{}/cwd", server.pid()));
    ballast.push("ballast");
    fill(&mut OpenOptions::new().create_new(true).append(true).open(&ballast).unwrap());
    games.squeeze(&mut server);
    std::fs::remove_file(&ballast).unwrap();
    games.check_relieved(&mut server);
}

/// Writes until nothing more fits.
fn fill(file: &mut File) {
    let error = io::copy(&mut io::repeat(0), file).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull, "{error}");
}

/// How this user gets a file system of its own, if at all.
fn way_to_mount() -> Option<&'static [&'static str]> {
    let folder = Folder::new();
    let may = |way: &&&[&str]| {
        let mut probe = Command::new(way[0]);
        probe.args(&way[1..]).args(["sh", "-c", ON_A_SMALL_DISK, "sh", "true"]).current_dir(folder.path());
        probe.output().is_ok_and(|output| output.status.success())
    };
    [AS_ROOT, AS_ANYBODY].iter().find(may).copied()
}
