//! Small, readable things about tables and their games to store.

use crate::fixtures::{StoreFixture, at, lease, worker_id};
use engine::commands::{
    ClaimedTable, Command, Idempotency, IndexChange, OpenTable, Outcome, TableAppend, TableSnapshot,
};
use engine::ids::{GameId, PlayerId, TableId};
use engine::limits::IDEMPOTENCY_RETENTION;
use engine::rows::{GameCursor, GameRole, GameRow, TableLogRow};
use engine::tables::Phase;
use engine::time::UnixMs;
use rules::chance::Seed;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use store::PlayerGamesFilter;

pub(crate) fn player_id(n: u128) -> PlayerId {
    PlayerId(0xf000 + n)
}
pub(crate) fn table_id(n: u128) -> TableId {
    TableId(0x1_0000 + n)
}
pub(crate) fn game_id(table: u128, number: u32) -> GameId {
    GameId { table: table_id(table), number }
}

/// Entry `version` of any table's log.
pub(crate) fn table_row(version: u32) -> TableLogRow {
    TableLogRow { version, bytes: vec![version as u8; 1 + version as usize % 70] }
}

pub(crate) fn base(version: u32, size: usize) -> TableSnapshot {
    TableSnapshot { version, bytes: vec![0xba; size] }
}

/// Entries for a live table's log that change no list.
pub(crate) fn entries(table: u128, epoch: u32, from: u32, count: u32) -> TableAppend {
    let rows = (from..from + count).map(table_row).collect();
    let id = table_id(table);
    TableAppend { id, epoch, expected_version: from, rows, index_changes: Vec::new(), snapshot: None, is_live: true }
}

/// One entry, and what follows from it.
pub(crate) fn entry_with(table: u128, from: u32, index: Vec<IndexChange>) -> Command {
    Command::AppendTable(TableAppend { index_changes: index, ..entries(table, 1, from, 1) })
}

/// A game of six in its invitation, opened by player 1 at a time that its number and its table give.
pub(crate) fn game(table: u128, number: u32) -> GameRow {
    GameRow {
        id: game_id(table, number),
        storyteller: player_id(1),
        storyteller_name: Some("Änn".to_owned()),
        phase: Phase::Invitation,
        sentence: Some("Ünder the stairs".to_owned()),
        players: 1,
        players_max: 6,
        created_at: at(i64::from(number) * 100 + table as i64),
        ended_at: None,
    }
}

pub(crate) fn in_phase(game: GameRow, phase: Phase, ended_at: Option<UnixMs>) -> GameRow {
    GameRow { phase, ended_at, ..game }
}

pub(crate) fn seat(game: GameId, player: u128, role: GameRole) -> IndexChange {
    IndexChange::UpsertSeat { game, player: player_id(player), role }
}

pub(crate) fn unseat(game: GameId, player: u128) -> IndexChange {
    IndexChange::DeleteSeat { game, player: player_id(player) }
}

pub(crate) fn archive(game: GameId, winners: &[u128]) -> IndexChange {
    let winners = winners.iter().copied().map(player_id).collect();
    IndexChange::ArchiveGame { game, record: vec![0xac, game.number as u8], winners }
}

pub(crate) fn award(player: u128, points: u32) -> IndexChange {
    IndexChange::Award { player: player_id(player), points, seed: Seed(points.into()) }
}

/// Game 1 and its storyteller.
pub(crate) fn first_game(table: u128) -> Vec<IndexChange> {
    vec![IndexChange::UpsertGame(game(table, 1)), seat(game_id(table, 1), 1, GameRole::Storyteller)]
}

/// A live table with a snapshot of its own, two entries and a game.
pub(crate) fn opening(worker: u128, table: u128, now: UnixMs) -> OpenTable {
    let append =
        TableAppend { index_changes: first_game(table), snapshot: Some(base(0, 9)), ..entries(table, 1, 0, 2) };
    OpenTable { worker: worker_id(worker), now, idempotency: None, append }
}

pub(crate) fn open(worker: u128, table: u128, now: UnixMs) -> Command {
    Command::OpenTable(opening(worker, table, now))
}

pub(crate) fn open_with_key(player: u128, key: &str, request: u8, table: u128, now: UnixMs) -> Command {
    let idempotency = Idempotency { key: key.to_owned(), fingerprint: [request; 32], response: vec![request, 3] };
    Command::OpenTable(OpenTable { idempotency: Some((player_id(player), idempotency)), ..opening(1, table, now) })
}

pub(crate) fn claim_table(worker: u128, table: u128, now: UnixMs) -> Command {
    Command::ClaimTable { id: table_id(table), worker: worker_id(worker), now }
}

/// A new claim of many: its number is higher than any before.
pub(crate) fn claim_tables(worker: u128, now: UnixMs, max: usize) -> Command {
    static CLAIMS: AtomicU64 = AtomicU64::new(0);
    let number = 1 + CLAIMS.fetch_add(1, Ordering::Relaxed);
    Command::ClaimTables { worker: worker_id(worker), number, now, max }
}

pub(crate) fn release_table(table: u128, epoch: u32) -> Command {
    Command::ReleaseTable { id: table_id(table), epoch }
}

pub(crate) fn retire_games(now: UnixMs, keep_ms: Option<u64>, max: usize) -> Command {
    Command::RetireGames {
        now,
        keep_for: keep_ms.map(Duration::from_millis),
        keep_answers_for: IDEMPOTENCY_RETENTION,
        max,
    }
}

pub(crate) fn seats_of(player: u128, is_ended: bool, before: Option<GameCursor>, limit: usize) -> PlayerGamesFilter {
    PlayerGamesFilter { player: player_id(player), is_ended, before, limit }
}

impl StoreFixture {
    /// With worker 1 and these tables in its hands, epoch 1.
    #[track_caller]
    pub(crate) fn open_tables(&mut self, tables: &[u128]) {
        self.assert_outcome(lease(1, at(0)), Outcome::Done);
        for table in tables {
            self.assert_outcome(open(1, *table, at(0)), Outcome::Done);
        }
    }

    /// A table as its next owner, worker 9, finds it.
    #[track_caller]
    pub(crate) fn taken_over(&mut self, table: u128) -> ClaimedTable {
        let later = at(1_000_000);
        self.assert_outcome(lease(9, later), Outcome::Done);
        match self.commit_one(claim_table(9, table, later)) {
            Outcome::TableClaimed(claimed) => claimed,
            other => panic!("not claimed: {other:?}"),
        }
    }

    /// Numbers and epochs of the tables that a claim takes.
    #[track_caller]
    pub(crate) fn takes_tables(&mut self, command: Command, want: &[(u128, u32)]) {
        let claimed = match self.commit_one(command) {
            Outcome::TablesClaimed(claimed) => claimed,
            Outcome::TableClaimed(claimed) => vec![claimed],
            other => panic!("not claimed: {other:?}"),
        };
        let got: Vec<_> = claimed.iter().map(|table| (table.id.0 - 0x1_0000, table.epoch)).collect();
        assert_eq!(got, want, "(table, epoch)");
    }

    /// Tables and numbers of a player's games.
    pub(crate) fn games_of(&mut self, filter: &PlayerGamesFilter) -> Vec<(u128, u32)> {
        let games = self.reader.story_games_of(filter).expect("the store is there");
        games.iter().map(|seated| place(&seated.game)).collect()
    }

    pub(crate) fn lobby(&mut self, before: Option<GameCursor>, limit: usize) -> Vec<(u128, u32)> {
        self.reader.story_lobby(before, limit).expect("the store is there").iter().map(place).collect()
    }

    pub(crate) fn history(&mut self, before: Option<GameCursor>, limit: usize) -> Vec<(u128, u32)> {
        self.reader.story_history(before, limit).expect("the store is there").iter().map(place).collect()
    }
}

fn place(row: &GameRow) -> (u128, u32) {
    (row.id.table.0 - 0x1_0000, row.id.number)
}
