//! Several nodes on one PostgreSQL: each table has one owner per epoch, stale owners are fenced, awards of all nodes
//! add up, openings are answered once, no deadlocks.

#![expect(clippy::unwrap_used, reason = "a test ends where its world does")]

use engine::commands::{ClaimedTable, Command, Idempotency, IndexChange, OpenTable, Outcome, TableAppend};
use engine::ids::{GameId, PlayerId, TableId, WorkerId};
use engine::rows::{GameRole, GameRow, TableLogRow};
use engine::tables::Phase;
use engine::time::UnixMs;
use rules::chance::Seed;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex};
use store::testing::PostgresCluster;
use store::{Backend, Database, PlayerGamesFilter, Reader};

const NODES: u128 = 4;
const TABLES: u128 = 80;
/// Entries of a table whose game has ended.
const ENTRIES: u32 = 6;
const PLAYERS: u128 = 3;
const POINTS: u32 = 3;
const NOW: UnixMs = UnixMs(1_700_000_000_000);

fn game(table: TableId) -> GameId {
    GameId { table, number: 1 }
}

fn row(table: TableId, phase: Phase, ended_at: Option<UnixMs>) -> IndexChange {
    let (storyteller, storyteller_name, sentence) = (PlayerId(1), None, None);
    let (players, players_max, created_at) = (1, 6, NOW);
    IndexChange::UpsertGame(GameRow {
        id: game(table),
        storyteller,
        storyteller_name,
        phase,
        sentence,
        players,
        players_max,
        created_at,
        ended_at,
    })
}

/// The entry records who wrote it, and under which epoch.
fn entry(id: TableId, epoch: u32, version: u32) -> TableAppend {
    let rows = vec![TableLogRow { version, bytes: epoch.to_be_bytes().to_vec() }];
    TableAppend { id, epoch, expected_version: version, rows, index_changes: Vec::new(), snapshot: None, is_live: true }
}

/// The last entry: the game is over, and all players are scored.
fn last_entry(id: TableId, epoch: u32) -> TableAppend {
    let award = |n| IndexChange::Award { player: PlayerId(1 + n), points: POINTS, seed: Seed(id.0 as u64) };
    let awards = (0..PLAYERS).map(award);
    let end = IndexChange::ArchiveGame { game: game(id), record: vec![7; 90], winners: vec![PlayerId(1)] };
    let mut index = vec![row(id, Phase::Complete, Some(NOW)), end];
    index.extend(if id.0.is_multiple_of(2) { awards.collect::<Vec<_>>() } else { awards.rev().collect() });
    TableAppend { index_changes: index, is_live: false, ..entry(id, epoch, ENTRIES - 1) }
}

fn lease(worker: WorkerId) -> Command {
    Command::RenewLease { worker, address: "here:1".to_owned(), now: NOW, until: UnixMs(NOW.0 + 5_000) }
}

fn opening(worker: WorkerId, table: u128, idempotency: Option<(PlayerId, Idempotency)>) -> Command {
    let id = TableId(table);
    let seat = IndexChange::UpsertSeat { game: game(id), player: PlayerId(1), role: GameRole::Storyteller };
    let append = TableAppend { index_changes: vec![row(id, Phase::Create, None), seat], ..entry(id, 1, 0) };
    Command::OpenTable(OpenTable { worker, now: NOW, idempotency, append })
}

/// Who got which table under which epoch, by all nodes.
type Claims = Mutex<BTreeMap<(TableId, u32), u128>>;

/// One node: a life after the other under new worker ids, each with a lease that is given up half-way.
struct Node<'a> {
    writer: Box<dyn Backend>,
    name: u128,
    life: u128,
    claims: &'a Claims,
    ended: &'a AtomicUsize,
}

impl Node<'_> {
    fn worker(&self) -> WorkerId {
        WorkerId(1 + self.name * 1_000_000 + self.life)
    }

    fn commit(&mut self, commands: &[Command]) -> Vec<Outcome> {
        self.writer.commit(commands).expect("no deadlock reaches a caller")
    }

    fn live(&mut self) {
        self.life += 1;
        let worker = self.worker();
        let claim = Command::ClaimTables { worker, number: 1, now: NOW, max: 9 };
        let mut outcomes = self.commit(&[lease(worker), claim.clone()]);
        let Some(Outcome::TablesClaimed(claimed)) = outcomes.pop() else { panic!("a new worker claims") };
        for table in &claimed {
            let owner = self.claims.lock().unwrap().insert((table.id, table.epoch), self.name);
            assert_eq!(owner, None, "table {} has two owners in epoch {}", table.id, table.epoch);
        }
        // One that took nothing is not remembered: repeated, it would be a claim as any other.
        if !claimed.is_empty() {
            assert_eq!(self.commit(&[claim]), [Outcome::TablesClaimed(claimed.clone())], "its answer was lost, say");
        }
        let unfinished = self.play(&claimed);
        self.commit(&[Command::EndLease { worker }]);
        self.haunt(&unfinished);
    }

    /// Two rounds; where each table is afterwards.
    fn play(&mut self, claimed: &[ClaimedTable]) -> Vec<(TableId, u32, u32)> {
        let version = |table: &ClaimedTable| table.snapshot_version + table.rows.len() as u32;
        let mut tables: Vec<_> = claimed.iter().map(|table| (table.id, table.epoch, version(table))).collect();
        // Every node names the tables in another order.
        let turn = self.name as usize % tables.len().max(1);
        tables.rotate_left(turn);
        for _ in 0..2 {
            let is_last = |version: u32| version + 1 == ENTRIES;
            let append = |&(id, epoch, version): &(TableId, u32, u32)| {
                Command::AppendTable(if is_last(version) { last_entry(id, epoch) } else { entry(id, epoch, version) })
            };
            let outcomes = self.commit(&tables.iter().map(append).collect::<Vec<_>>());
            assert!(outcomes.iter().all(|outcome| *outcome == Outcome::Done), "{outcomes:?}");
            self.ended.fetch_add(tables.iter().filter(|table| is_last(table.2)).count(), Ordering::SeqCst);
            tables = tables.into_iter().map(|(id, epoch, version)| (id, epoch, version + 1)).collect();
            tables.retain(|table| table.2 < ENTRIES);
        }
        tables
    }

    /// All that a dead owner still tries is refused as soon as another has the table.
    fn haunt(&mut self, unfinished: &[(TableId, u32, u32)]) {
        let is_taken_over = |(id, epoch, _): &(TableId, u32, u32)| {
            let later = (*id, epoch + 1);
            self.claims.lock().unwrap().contains_key(&later)
        };
        let must_be_fenced: Vec<_> = unfinished.iter().map(is_taken_over).collect();
        // Releases change nothing that another owner could see.
        let releases = unfinished.iter().map(|(id, epoch, _)| Command::ReleaseTable { id: *id, epoch: *epoch });
        for (must_be_fenced, outcome) in must_be_fenced.into_iter().zip(self.commit(&releases.collect::<Vec<_>>())) {
            let is_late_but_first = outcome == Outcome::Done && !must_be_fenced;
            assert!(outcome == Outcome::Fenced || is_late_but_first, "a stale write: {outcome:?}");
        }
    }
}

/// Notifies the other nodes when one panics: they would wait for its tables for ever.
struct Alarm<'a>(&'a AtomicBool);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::SeqCst);
        }
    }
}

#[test]
fn nodes_share_the_tables_without_sharing_a_table() {
    let database = PostgresCluster::shared().new_database();
    let claims = Claims::default();
    let ended = AtomicUsize::new(0);
    let is_broken = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (database, is_broken) = (&database, &is_broken);
        // One opens a few at a time and dies at once, while the others play.
        scope.spawn(move || {
            let _alarm = Alarm(is_broken);
            let mut writer = database.writer().unwrap();
            for (life, few) in (0..TABLES).collect::<Vec<_>>().chunks(5).enumerate() {
                let worker = WorkerId(900_000_000 + life as u128);
                let openings = few.iter().map(|table| opening(worker, *table, None));
                let end = Command::EndLease { worker };
                let commands: Vec<_> = std::iter::once(lease(worker)).chain(openings).chain([end]).collect();
                assert!(writer.commit(&commands).unwrap().iter().all(|outcome| *outcome == Outcome::Done));
            }
        });
        for name in 0..NODES {
            let (claims, ended) = (&claims, &ended);
            scope.spawn(move || {
                let _alarm = Alarm(is_broken);
                let mut node = Node { writer: database.writer().unwrap(), name, life: 0, claims, ended };
                while ended.load(Ordering::SeqCst) < TABLES as usize && !is_broken.load(Ordering::SeqCst) {
                    node.live();
                }
            });
        }
    });
    check_logs(&mut *database.writer().unwrap());
    check_lists(&mut *database.reader().unwrap());
}

fn check_logs(writer: &mut dyn Backend) {
    let worker = WorkerId(999);
    let claims = (0..TABLES).map(|table| Command::ClaimTable { id: TableId(table), worker, now: NOW });
    let outcomes = writer.commit(&std::iter::once(lease(worker)).chain(claims).collect::<Vec<_>>()).unwrap();
    for outcome in &outcomes[1..] {
        let Outcome::TableClaimed(table) = outcome else { panic!("it is free: {outcome:?}") };
        let versions: Vec<_> = table.rows.iter().map(|row| row.version).collect();
        assert_eq!(versions, (0..ENTRIES).collect::<Vec<_>>(), "table {}", table.id);
        assert!(table.rows.is_sorted_by_key(|row| row.bytes.clone()), "epochs only rise: {table:?}");
    }
}

fn check_lists(reader: &mut dyn Reader) {
    let players: Vec<_> = (0..PLAYERS).map(|n| PlayerId(1 + n)).collect();
    for (player, standing) in reader.standings(&players).unwrap() {
        assert_eq!(standing.score, u64::from(POINTS) * TABLES as u64, "{player}: an award was lost");
    }
    assert_eq!(reader.story_lobby(None, 9), Ok(Vec::new()));
    assert_eq!(reader.story_history(None, 1_000).unwrap().len(), TABLES as usize);
    let filter = PlayerGamesFilter { player: PlayerId(1), is_ended: true, before: None, limit: 1_000 };
    let games = reader.story_games_of(&filter).unwrap();
    assert_eq!(games.iter().filter(|game| game.is_won == Some(true)).count(), TABLES as usize);
}

/// The same request reaches several nodes at once: one opens a table, the others repeat its answer.
#[test]
fn an_opening_is_answered_once() {
    let database = PostgresCluster::shared().new_database();
    let together = Barrier::new(NODES as usize);
    let response_of = |node: u128, round: u128| vec![node as u8, round as u8];
    // Looked at when all have ended: who panics here would leave the others waiting.
    let received = Mutex::new(BTreeMap::<u128, Vec<Outcome>>::new());
    std::thread::scope(|scope| {
        for node in 0..NODES {
            let (database, together, received) = (&database, &together, &received);
            scope.spawn(move || {
                let mut writer = database.writer().unwrap();
                let worker = WorkerId(1 + node);
                writer.commit(&[lease(worker)]).unwrap();
                for round in 0..30 {
                    let (key, fingerprint) = (format!("key-{round}"), [7; 32]);
                    let idempotency = Idempotency { key, fingerprint, response: response_of(node, round) };
                    let command = opening(worker, 1 + round * 100 + node, Some((PlayerId(1), idempotency)));
                    together.wait();
                    let outcome = match writer.commit(&[command]).map(|mut outcomes| outcomes.remove(0)) {
                        // The opener of the table gives the response that it promised.
                        Ok(Outcome::Done) => vec![Outcome::Done, Outcome::Replayed(response_of(node, round))],
                        Ok(other) => vec![other],
                        Err(_) => vec![Outcome::Fenced],
                    };
                    received.lock().unwrap().entry(round).or_default().extend(outcome);
                }
            });
        }
    });
    for (round, mut outcomes) in received.into_inner().unwrap() {
        let all = outcomes.len();
        outcomes.retain(|outcome| *outcome != Outcome::Done);
        assert_eq!(all - outcomes.len(), 1, "round {round}: one table is opened");
        assert!(outcomes.iter().all(|outcome| matches!(outcome, Outcome::Replayed(_))), "{outcomes:?}");
        assert!(outcomes.iter().all(|outcome| *outcome == outcomes[0]), "round {round}: one answer, {outcomes:?}");
    }
    assert_eq!(database.reader().unwrap().story_lobby(None, 1_000).unwrap().len(), 30);
}

#[test]
fn a_secret_is_the_same_for_all_nodes() {
    let database = PostgresCluster::shared().new_database();
    drop(database.writer().unwrap());
    let together = Barrier::new(NODES as usize);
    let secrets = std::thread::scope(|scope| {
        let acquire = |node: u128| {
            let (database, together) = (&database, &together);
            scope.spawn(move || {
                let mut writer = database.writer().unwrap();
                together.wait();
                let ensure = Command::EnsureSecret { name: "guests".to_owned(), bytes: vec![node as u8; 32] };
                writer.commit(&[ensure]).unwrap().remove(0)
            })
        };
        let threads: Vec<_> = (0..NODES).map(acquire).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    assert!(secrets.iter().all(|secret| matches!(secret, Outcome::Secret(bytes) if bytes.len() == 32)));
    assert!(secrets.iter().all(|secret| *secret == secrets[0]), "{secrets:?}");
}

/// Batches that name the same tables and players in opposite orders, again and again, while old games are deleted.
#[test]
fn crosswise_batches_do_not_deadlock() {
    let database = PostgresCluster::shared().new_database();
    drop(database.writer().unwrap());
    std::thread::scope(|scope| {
        for node in 0..NODES {
            let database = &database;
            scope.spawn(move || {
                let mut writer = database.writer().unwrap();
                let worker = WorkerId(1 + node);
                assert_eq!(writer.commit(&[lease(worker)]), Ok(vec![Outcome::Done]));
                for round in 0..30_u128 {
                    let own = 1_000 * (1 + node) + round;
                    let end = TableAppend { expected_version: 1, ..last_entry(TableId(own), 1) };
                    let end = TableAppend { rows: entry(TableId(own), 1, 1).rows, ..end };
                    let mut commands: Vec<_> =
                        (0..20).map(|id| Command::ClaimTable { id: TableId(id), worker, now: NOW }).collect();
                    commands.extend((0..20).map(|id| Command::ReleaseTable { id: TableId(id), epoch: 1 }));
                    commands
                        .extend((0..20).map(|table| opening(worker, 50_000 * (1 + node) + round * 20 + table, None)));
                    if node % 2 == 1 {
                        commands.reverse();
                    }
                    commands.extend([opening(worker, own, None), Command::AppendTable(end)]);
                    commands.push(Command::RetireGames {
                        now: UnixMs(NOW.0 + 1),
                        keep_for: Some(std::time::Duration::ZERO),
                        keep_answers_for: std::time::Duration::ZERO,
                        max: 3,
                    });
                    let outcomes = writer.commit(&commands).expect("no deadlock reaches a caller");
                    assert_eq!(outcomes[61], Outcome::Done, "its own game ended");
                }
            });
        }
    });
    let standings = database.reader().unwrap().standings(&[PlayerId(2)]).unwrap();
    assert_eq!(standings[0].1.score, u64::from(POINTS) * 30 * NODES as u64);
}
