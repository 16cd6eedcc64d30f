//! The sweep over the health of bots when its process is killed or suspended in the middle: another one takes over, every bot is probed,
//! and no failure counts twice.

use crate::support::bots::Bots;
use crate::support::{Folder, Server, as_url, until};
use engine::commands::{BotCommand, Command, Outcome};
use engine::health::{BotHealth, EvidenceSource, HealthStatus};
use engine::ids::BotId;
use engine::limits::{HEALTH_FAILURES_TO_PAUSE, HEALTH_RETRY_MIN, HEALTH_WATCH_FOR};
use engine::rows::BotHealthRow;
use engine::time::UnixMs;
use rustix::process::Signal;
use serde_json::json;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use store::testing::PostgresCluster;
use store::{Database, Reader};

/// So long that a sweep over all bots takes some seconds.
const THINK: Duration = Duration::from_millis(1_000);
const LIVING: usize = 48;
/// Bots where none listens; each has failed so often that one more failure pauses it.
const DOWN: usize = 16;

/// Two servers on one database, of which the first one leads; and bots that are due.
struct Nodes {
    leader: Server,
    other: Server,
    bots: Vec<BotId>,
    reader: Box<dyn Reader>,
    _running: Bots,
    _cluster: PostgresCluster,
    _folder: Folder,
}

fn now() -> UnixMs {
    UnixMs(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as i64)
}

impl Nodes {
    fn start() -> Self {
        let (cluster, running, folder) = (PostgresCluster::start(), Bots::start(THINK), Folder::new());
        let address = cluster.new_empty_database_url();
        folder.write("gauntlet.toml", &format!("[store]\nurl = \"{}\"\n", as_url(&address)));
        let database = store::postgres::PostgresDatabase::new(&address).unwrap();
        let leader = folder.serve_games("");
        let register = |number: usize| {
            let url = if number < LIVING { running.url("circle") } else { "http://127.0.0.1:1/down".to_owned() };
            let snake = leader.request_ok("POST /api/snakes", &json!({"name": format!("bot {number}"), "url": url}));
            snake["id"].as_str().unwrap().parse().unwrap()
        };
        let bots: Vec<BotId> = (0..LIVING + DOWN).map(register).collect();
        let (mut writer, reader) = (database.writer().unwrap(), database.reader().unwrap());
        let make_due = |number: usize| {
            let failures = if number < LIVING { 0 } else { HEALTH_FAILURES_TO_PAUSE - 1 };
            let (due, watched_until) = (Some(now()), now().plus(HEALTH_WATCH_FOR));
            let health = BotHealth { failures, next_probe_at: due, watched_until, ..BotHealth::default() };
            Command::Bot(BotCommand::SaveHealth(BotHealthRow { bot: bots[number], version: 0, health }))
        };
        // Those that answer come first, and keep the sweep busy.
        let commands: Vec<Command> = (0..bots.len()).map(make_due).collect();
        assert!(writer.commit(&commands).unwrap().iter().all(|outcome| *outcome == Outcome::Done));
        let mut nodes = Self {
            leader,
            other: folder.serve_games(""),
            bots,
            reader,
            _running: running,
            _cluster: cluster,
            _folder: folder,
        };
        until("the first bots are probed", || (nodes.probed() > 0).then_some(()));
        assert!(nodes.probed() < nodes.bots.len(), "the sweep was over before anything happened to it");
        nodes
    }

    fn rows(&mut self) -> Vec<BotHealthRow> {
        self.reader.bot_health(&self.bots).unwrap()
    }

    fn probed(&mut self) -> usize {
        self.rows().iter().filter(|row| !row.health.records.is_empty()).count()
    }

    /// Every bot was probed, each time once.
    fn check(&mut self) {
        until("every bot is probed", || (self.probed() == self.bots.len()).then_some(()));
        let rows = self.rows();
        for row in &rows {
            let BotHealth { status, failures, records, .. } = &row.health;
            assert_eq!(row.version as usize, 1 + records.len(), "{row:?}");
            assert!(records.iter().all(|record| record.source == EvidenceSource::Sweep), "{row:?}");
            // The earliest next probe, with its jitter.
            let gap = HEALTH_RETRY_MIN * 4 / 5;
            assert!(records.windows(2).all(|pair| pair[0].at.plus(gap) <= pair[1].at), "twice for one time: {row:?}");
            if *failures > 0 {
                assert_eq!(*failures as usize, usize::from(HEALTH_FAILURES_TO_PAUSE) - 1 + records.len(), "{row:?}");
                assert_eq!(*status, HealthStatus::Paused);
            }
        }
        assert_eq!(rows.iter().filter(|row| row.health.failures > 0).count(), DOWN);
    }
}

#[test]
fn a_sweep_whose_process_is_killed_is_carried_on_by_another() {
    let mut nodes = Nodes::start();
    nodes.leader.signal(Signal::KILL);
    nodes.check();
}

#[test]
fn a_sweep_that_was_suspended_counts_no_probe_twice() {
    let mut nodes = Nodes::start();
    let paused_at_the_other = |server: &Server| {
        let page = server.get("/metrics", "");
        let probed = |name: &str| page.lines().any(|line| line.starts_with(name) && !line.ends_with(" 0"));
        probed("gauntlet_bot_probes_passed_total") || probed("gauntlet_bot_probes_failed_total")
    };
    nodes.leader.signal(Signal::STOP);
    until("the other one probes", || paused_at_the_other(&nodes.other).then_some(()));
    // It wakes with probes under way, and does not know yet that its lease is over.
    nodes.leader.signal(Signal::CONT);
    nodes.check();
}
