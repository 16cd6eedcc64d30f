//! Tests: how many statements a command costs. Two thousand of these commands a second are usual.

use crate::contract::Database;
use crate::sqlite::SqliteDatabase;
use crate::sqlite::session::STATEMENTS;
use crate::testing::TempDir;
use engine::commands::{Command, IndexChange, OpenTable, Outcome, TableAppend, TableSnapshot};
use engine::ids::{GameId, PlayerId, TableId, WorkerId};
use engine::rows::{GameRole, GameRow, TableLogRow};
use engine::tables::Phase;
use engine::time::UnixMs;

const NOW: UnixMs = UnixMs(1_700_000_000_000);
const WORKER: WorkerId = WorkerId(1);
const TABLE: TableId = TableId(2);
const GAME: GameId = GameId { table: TABLE, number: 1 };
const PLAYER: PlayerId = PlayerId(3);

fn row(phase: Phase, ended_at: Option<UnixMs>) -> IndexChange {
    let (storyteller, sentence) = (PLAYER, None);
    IndexChange::UpsertGame(GameRow {
        id: GAME,
        storyteller,
        storyteller_name: None,
        phase,
        sentence,
        players: 1,
        players_max: 6,
        created_at: NOW,
        ended_at,
    })
}

fn entry(version: u32, index: Vec<IndexChange>, base: Option<TableSnapshot>, is_live: bool) -> TableAppend {
    let rows = vec![TableLogRow { version, bytes: vec![1; 40] }];
    TableAppend { id: TABLE, epoch: 1, expected_version: version, rows, index_changes: index, snapshot: base, is_live }
}

/// Commands of one table's short life, with the statements of each.
#[test]
fn a_journey_is_few_statements() {
    let dir = TempDir::new();
    let mut writer = SqliteDatabase::new(dir.path().join("store.db")).writer().unwrap();
    let until = UnixMs(NOW.0 + 5_000);
    let lease = Command::RenewLease { worker: WORKER, address: "here:1".to_owned(), now: NOW, until };
    let first = vec![
        row(Phase::Create, None),
        IndexChange::UpsertSeat { game: GAME, player: PLAYER, role: GameRole::Storyteller },
    ];
    let append = entry(0, first, Some(TableSnapshot { version: 0, bytes: vec![0; 60] }), true);
    let open = OpenTable { worker: WORKER, now: NOW, idempotency: None, append };
    let last = vec![
        row(Phase::Canceled, Some(NOW)),
        IndexChange::ArchiveGame { game: GAME, record: vec![2; 200], winners: Vec::new() },
    ];
    let asleep = TableAppend {
        rows: Vec::new(),
        ..entry(3, Vec::new(), Some(TableSnapshot { version: 3, bytes: vec![0; 90] }), false)
    };
    let mut check = |what: &str, command: Command, statements: usize| {
        let before = STATEMENTS.get();
        assert_eq!(writer.commit(&[command]), Ok(vec![Outcome::Done]), "{what}");
        // The checkpointer checks the WAL after every commit.
        assert_eq!(STATEMENTS.get() - before - 1, statements, "{what}");
    };
    check("a lease", lease, 1);
    // Lease, table, entry, base, game, seat.
    check("an opening", Command::OpenTable(open), 6);
    // Entry with its fences, whether it is live.
    check("an entry", Command::AppendTable(entry(1, Vec::new(), None, true)), 2);
    // Those two, game, record, invited, seats.
    check("an end", Command::AppendTable(entry(2, last, None, false)), 6);
    // Table, end of its log, base, old entries, table.
    check("falling asleep", Command::AppendTable(asleep), 5);
    check("a release", Command::ReleaseTable { id: TABLE, epoch: 1 }, 1);
}
