//! Two servers on one PostgreSQL play for a ladder: results come from both, the one that rates them is killed meanwhile, and every result is
//! rated exactly once.

use crate::support::bots::Bots;
use crate::support::{Folder, Server, as_url, until};
use engine::commands::{Advance, Command, CompetitionCommand, Outcome};
use engine::competitions::{CompetitionKind, CompetitionRow, MatchOrigin};
use engine::ids::{BotId, CompetitionId, MatchId};
use engine::ladders::definition::LadderDefinition;
use engine::leadership::LeaderJob;
use engine::time::UnixMs;
use rules::chance::Seed;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};
use store::postgres::PostgresDatabase;
use store::testing::PostgresCluster;
use store::{Backend, Database, Reader};

const THINK: Duration = Duration::from_millis(20);
/// Where games of `stuck` stand still until they are released.
const HELD_AT: u64 = 10;
/// As many as both servers play at once.
const GAMES: u64 = 12;
const OTHERS: [&str; 3] = ["last-12", "last-15", "last-18"];

/// A ladder on a database that servers share, and what makes games for it in the place of a matchmaker. No bot has entered: a matchmaker
/// makes none.
struct SharedLadder {
    id: CompetitionId,
    bots: Vec<BotId>,
    writer: Box<dyn Backend>,
    reader: Box<dyn Reader>,
    created: u64,
}

impl SharedLadder {
    fn new(server: &Server, url: &str, bots: &[String]) -> Self {
        let wanted = json!({"name": "shared", "players": 2, "timeout_ms": 10_000});
        let made = server.request_ok("POST /api/leaderboards", &wanted);
        let database = PostgresDatabase::new(url).unwrap();
        Self {
            id: made["id"].as_str().unwrap().parse().unwrap(),
            bots: bots.iter().map(|id| id.parse().unwrap()).collect(),
            writer: database.writer().unwrap(),
            reader: database.reader().unwrap(),
            created: 0,
        }
    }

    fn row(&mut self) -> CompetitionRow {
        self.reader.competition(self.id).unwrap().unwrap()
    }

    /// So many games more: of the first bot against each other one in turns, on both sides.
    fn create(&mut self, games: u64) -> Vec<String> {
        let bots = self.reader.bots_with_owners(&self.bots).unwrap();
        let settings = LadderDefinition::decode(&self.row().definition).unwrap().settings;
        let seat = |at: usize| bots.iter().find(|bot| bot.bot.id == self.bots[at]).unwrap().seat();
        let keys = self.created + 1..self.created + 1 + games;
        let spec = |key: u64| {
            let mut seats = vec![seat(0), seat(1 + key as usize % OTHERS.len())];
            seats.rotate_left(key as usize % 2);
            let origin = MatchOrigin { kind: CompetitionKind::Ladder, competition: self.id, key };
            settings.spec(MatchId(u128::from(key)), Seed(key), Some(origin), seats, true)
        };
        let matches: Vec<_> = keys.map(spec).collect();
        let ids = matches.iter().map(|spec| spec.id.to_string()).collect();
        // A result that is rated meanwhile comes first.
        until("the games are created", || {
            let row = self.row();
            let advance = Advance { matches: matches.clone(), ..Advance::of(&row, now()) };
            let outcomes = self.writer.commit(&[Command::Competition(CompetitionCommand::Advance(advance))]).unwrap();
            (outcomes == [Outcome::Done]).then_some(())
        });
        self.created += games;
        ids
    }

    /// Waits until so many results are rated.
    fn wait_until_rated(&mut self, results: u64) {
        until(&format!("{results} results are rated"), || (self.row().results_applied >= results).then_some(()));
    }

    /// Where the process listens that rates.
    fn leader(&mut self) -> String {
        until("a process leads", || self.reader.leader(LeaderJob::Ladders, now()).unwrap()).address
    }
}

fn now() -> UnixMs {
    UnixMs(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis() as i64)
}

#[test]
fn each_result_is_rated_once_when_the_process_that_rates_is_killed() {
    let (cluster, bots, folder) = (PostgresCluster::start(), Bots::start(THINK), Folder::new());
    let keywords = cluster.new_empty_database_url();
    let url = as_url(&keywords);
    folder.write("gauntlet.toml", &format!("[store]\nurl = \"{url}\"\n[matches]\nat_once = 6\nclaim_size = 6\n"));
    let servers = [folder.serve_games(""), folder.serve_games("")];
    let names: Vec<&str> = ["stuck"].into_iter().chain(OTHERS).collect();
    let mut ladder = SharedLadder::new(&servers[0], &keywords, &servers[0].register(&bots, &names));

    bots.hold_moves_from(HELD_AT as u32);
    let held = ladder.create(GAMES);
    servers[1].wait_for_turns(&held, HELD_AT);
    let nodes: BTreeSet<String> = servers[0].statuses(&held).iter().map(|game| game["node"].to_string()).collect();
    assert_eq!(nodes.len(), 2, "results come from both servers");
    ladder.create(GAMES);
    let leader = ladder.leader();
    bots.release();
    ladder.wait_until_rated(3);
    let (mut left, killed): (Vec<_>, Vec<_>) =
        servers.into_iter().partition(|server| server.address().to_string() != leader);
    assert_eq!(killed.len(), 1, "{leader} is one of the two");
    killed.into_iter().for_each(Server::kill);

    ladder.wait_until_rated(2 * GAMES);
    let row = ladder.row();
    assert_eq!((row.results, row.results_applied), (2 * GAMES, 2 * GAMES), "as many results as games");
    assert_eq!(ladder.leader(), left[0].address().to_string(), "the other server has taken over");
    let entry = format!("GET /api/leaderboards/{}/entries/{}", ladder.id, ladder.bots[0]);
    assert_eq!(left[0].request_ok(&entry, &Value::Null)["games_played"], 2 * GAMES);
    let recomputed = folder.command(&format!("ratings recompute --ladder {}", ladder.id)).output().unwrap();
    let printed = String::from_utf8_lossy(&recomputed.stdout);
    assert!(recomputed.status.success() && printed.contains("24 results, 24 rated"), "{recomputed:?}");
    assert_eq!(left[0].stop(), Some(0));
}
