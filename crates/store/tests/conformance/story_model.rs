//! Random commands about tables, for [`crate::model`]: steps, the commands that they stand for, and all that can be
//! read about tables afterwards.

use crate::fixtures::*;
use crate::stories::*;
use engine::commands::{Command, IndexChange, OpenTable, Outcome, TableAppend};
use engine::rows::{GameCursor, GameRole, GameRow};
use engine::tables::Phase;
use engine::time::UnixMs;
use proptest::prelude::*;
use std::collections::BTreeMap;
use store::Reader;

const TABLES: u128 = 4;
const PLAYERS: u128 = 3;
const GAMES: u32 = 3;

/// A change of the lists.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    Game { number: u32, phase: usize, players: u8 },
    Seat { number: u32, player: u128, role: usize },
    Unseat { number: u32, player: u128 },
    Archive { number: u32, winners: Vec<u128> },
    Award { player: u128, points: u32 },
}

/// An append by a client that mostly knows the epoch and the version.
#[derive(Clone, Debug)]
pub(crate) struct Added {
    rows: u32,
    epoch_off: u32,
    version_off: u32,
    /// How far the base moves from the version before.
    base: Option<u32>,
    is_live: bool,
    changes: Vec<Change>,
}

#[derive(Clone, Debug)]
pub(crate) enum Step {
    Open { worker: u128, table: u128, key: Option<u8>, added: Added },
    Append { table: u128, added: Added },
    ClaimOne { worker: u128, table: u128 },
    ClaimMany { worker: u128, number: u64, max: usize },
    Release { table: u128, epoch_off: u32 },
    Retire { keep_ms: Option<u64>, max: usize },
    Secret(u8),
}

fn change() -> impl Strategy<Value = Change> {
    let (number, player) = (|| 1..=GAMES, || 0..PLAYERS);
    prop_oneof![
        4 => (number(), 0..5_usize, 0..3_u8).prop_map(|(number, phase, players)| Change::Game { number, phase, players }),
        4 => (number(), player(), 0..3_usize).prop_map(|(number, player, role)| Change::Seat { number, player, role }),
        1 => (number(), player()).prop_map(|(number, player)| Change::Unseat { number, player }),
        1 => (number(), prop::collection::vec(player(), 0..3))
            .prop_map(|(number, winners)| Change::Archive { number, winners }),
        1 => (player(), 0..40_u32).prop_map(|(player, points)| Change::Award { player, points }),
    ]
}

fn added() -> impl Strategy<Value = Added> {
    let off = || prop_oneof![12 => Just(0_u32), 1 => Just(1_u32)];
    let changes = prop::collection::vec(change(), 0..6);
    (0..4_u32, off(), off(), prop::option::weighted(0.3, 0..5_u32), any::<bool>(), changes).prop_map(
        |(rows, epoch_off, version_off, base, is_live, changes)| Added {
            rows,
            epoch_off,
            version_off,
            base,
            is_live,
            changes,
        },
    )
}

pub(crate) fn step(workers: u128) -> impl Strategy<Value = Step> {
    let (table, worker) = (|| 0..TABLES, move || 0..workers);
    let off = prop_oneof![9 => Just(0_u32), 1 => Just(1_u32)];
    prop_oneof![
        4 => (worker(), table(), prop::option::weighted(0.3, 0..3_u8), added())
            .prop_map(|(worker, table, key, added)| Step::Open { worker, table, key, added }),
        10 => (table(), added()).prop_map(|(table, added)| Step::Append { table, added }),
        2 => (worker(), table()).prop_map(|(worker, table)| Step::ClaimOne { worker, table }),
        2 => (worker(), 1..20_u64, 0..4_usize).prop_map(|(worker, number, max)| Step::ClaimMany { worker, number, max }),
        2 => (table(), off).prop_map(|(table, epoch_off)| Step::Release { table, epoch_off }),
        2 => (prop::option::weighted(0.8, 0..9_000_u64), 0..3_usize)
            .prop_map(|(keep_ms, max)| Step::Retire { keep_ms, max }),
        1 => (0..2_u8).prop_map(Step::Secret),
    ]
}

/// Epochs and versions of tables, as known to a client that has received every outcome.
#[derive(Default)]
pub(crate) struct Known {
    tables: BTreeMap<u128, (u32, u32)>,
}

impl Known {
    pub(crate) fn record(&mut self, commands: &[Command], outcomes: &[Outcome]) {
        let number = |id: engine::ids::TableId| id.0 - table_id(0).0;
        for (command, outcome) in commands.iter().zip(outcomes) {
            match (command, outcome) {
                (Command::OpenTable(OpenTable { append, .. }) | Command::AppendTable(append), Outcome::Done) => {
                    let end = append.expected_version + append.rows.len() as u32;
                    self.tables.insert(number(append.id), (append.epoch, end));
                }
                (_, Outcome::TableClaimed(table)) => self.claimed(number(table.id), table),
                (_, Outcome::TablesClaimed(tables)) => {
                    tables.iter().for_each(|table| self.claimed(number(table.id), table));
                }
                _ => {}
            }
        }
    }

    fn claimed(&mut self, number: u128, table: &engine::commands::ClaimedTable) {
        self.tables.insert(number, (table.epoch, table.snapshot_version + table.rows.len() as u32));
    }

    fn epoch(&self, table: u128) -> u32 {
        self.tables.get(&table).map_or(1, |(epoch, _)| *epoch)
    }

    fn version(&self, table: u128) -> u32 {
        self.tables.get(&table).map_or(0, |(_, version)| *version)
    }

    pub(crate) fn command(&self, step: &Step, now: UnixMs) -> Command {
        match step {
            Step::Open { worker, table, key, added } => {
                let append = append(*table, 1, added.version_off, added, now);
                let keyed = key.map(|key| open_with_key(u128::from(key / 2), "key", key, *table, now));
                let idempotency = match keyed {
                    Some(Command::OpenTable(open)) => open.idempotency,
                    _ => None,
                };
                Command::OpenTable(OpenTable { worker: worker_id(*worker), now, idempotency, append })
            }
            Step::Append { table, added } => {
                let (epoch, version) = (self.epoch(*table), self.version(*table));
                Command::AppendTable(append(*table, epoch, version + added.version_off, added, now))
            }
            Step::ClaimOne { worker, table } => claim_table(*worker, *table, now),
            Step::ClaimMany { worker, number, max } => {
                Command::ClaimTables { worker: worker_id(*worker), number: *number, now, max: *max }
            }
            Step::Release { table, epoch_off } => release_table(*table, self.epoch(*table) + epoch_off),
            Step::Retire { keep_ms, max } => retire_games(now, *keep_ms, *max),
            Step::Secret(n) => {
                Command::EnsureSecret { name: format!("secret-{n}"), bytes: now.0.to_be_bytes().to_vec() }
            }
        }
    }
}

fn append(table: u128, epoch: u32, from: u32, added: &Added, now: UnixMs) -> TableAppend {
    let index = added.changes.iter().map(|change| index(table, change, now)).collect();
    let base = added.base.map(|moved| base(from + moved, 1 + moved as usize));
    let (epoch, is_live) = (epoch + added.epoch_off, added.is_live);
    TableAppend { index_changes: index, snapshot: base, is_live, ..entries(table, epoch, from, added.rows) }
}

fn index(table: u128, change: &Change, now: UnixMs) -> IndexChange {
    match change {
        Change::Game { number, phase, players } => {
            let phase = Phase::ALL[*phase];
            let ended_at = (!phase.is_live()).then_some(now);
            let sentence = (*players > 0).then(|| format!("{now:?}\0"));
            let row = in_phase(game(table, *number), phase, ended_at);
            IndexChange::UpsertGame(GameRow { players: *players, players_max: 2, sentence, created_at: now, ..row })
        }
        Change::Seat { number, player, role } => seat(game_id(table, *number), *player, GameRole::ALL[*role]),
        Change::Unseat { number, player } => unseat(game_id(table, *number), *player),
        Change::Archive { number, winners } => archive(game_id(table, *number), winners),
        Change::Award { player, points } => award(*player, *points),
    }
}

/// Everything that can be read about tables.
pub(crate) fn everything(reader: &mut dyn Reader, now: UnixMs) -> Vec<String> {
    let mut all = Vec::new();
    let mut add = |what: &dyn std::fmt::Debug| all.push(format!("{what:?}"));
    let middle = Some(GameCursor { at: UnixMs(now.0 - 5_000), id: game_id(2, 2) });
    for table in 0..TABLES {
        add(&reader.table_owner(table_id(table), now));
        for number in 0..=GAMES {
            add(&reader.story_game(game_id(table, number)));
        }
    }
    for (before, limit) in [(None, 99), (None, 2), (middle, 99), (middle, 2)] {
        add(&reader.story_lobby(before, limit));
        add(&reader.story_history(before, limit));
        for player in 0..PLAYERS {
            add(&reader.story_games_of(&seats_of(player, false, before, limit)));
            add(&reader.story_games_of(&seats_of(player, true, before, limit)));
        }
    }
    // A standing shows its cards by their bits alone.
    let players: Vec<_> = (0..PLAYERS).map(player_id).collect();
    let standings = reader.standings(&players).map(|standings| {
        let cards = |(player, at): &(_, engine::tables::Standing)| {
            (*player, at.score, at.score_prev, at.levelups, at.earned.bits(), at.earned_last.bits())
        };
        standings.iter().map(cards).collect::<Vec<_>>()
    });
    add(&standings);
    for player in 0..2 {
        add(&reader.story_idempotent_response(player_id(player), "key"));
    }
    add(&[reader.secret("secret-0"), reader.secret("secret-1")]);
    all
}

/// Commands by whose outcomes the logs of all tables are read: an otherwise unused worker takes them over, long after
/// every lease.
pub(crate) fn takeovers(now: UnixMs) -> Vec<Command> {
    let later = UnixMs(now.0 + 1_000_000);
    let claims = (0..TABLES).map(|table| claim_table(99, table, later));
    std::iter::once(lease(99, later)).chain(claims).collect()
}
