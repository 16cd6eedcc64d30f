//! The lists that follow from the logs of tables: games, seats, records, standings. Changes of many tables are written together; what one
//! table changes twice is written in two waves, so that the order within a table is kept.

use super::{Batch, Dialect, IdBytes, RowStatement, values};
use crate::columns;
use crate::contract::StoreError;
use crate::semantics;
use engine::commands::{IndexChange, TableAppend};
use engine::ids::{GameId, PlayerId, TableId};
use engine::rows::{GameRole, GameRow};
use engine::tables::Standing;
use rules::chance::Seed;
use std::collections::{BTreeMap, BTreeSet};

static GAMES: RowStatement = RowStatement::new(
    "table_id uuid, number bigint, storyteller uuid, storyteller_name text, phase text, sentence text, players bigint, \
     players_max bigint, created_at bigint, ended_at bigint",
    "INSERT INTO story_games (table_id, number, storyteller, storyteller_name, phase, sentence, players, players_max,
       created_at, ended_at)
     SELECT new.* FROM {new} WHERE true
     ON CONFLICT (table_id, number) DO UPDATE SET storyteller = excluded.storyteller, phase = excluded.phase,
       sentence = excluded.sentence, players = excluded.players, players_max = excluded.players_max,
       ended_at = excluded.ended_at",
);
static GONE_SEATS: RowStatement = RowStatement::new(
    "table_id uuid, number bigint, player uuid",
    "DELETE FROM story_seats AS s USING {new}
     WHERE s.table_id = new.table_id AND s.number = new.number AND s.player = new.player",
);
pub(crate) static SEATS: RowStatement = RowStatement::new(
    "table_id uuid, number bigint, player uuid, role text",
    "INSERT INTO story_seats (table_id, number, player, role, created_at, is_ended)
     SELECT new.table_id, new.number, new.player, new.role, g.created_at, g.ended_at IS NOT NULL
     FROM {new}, story_games g WHERE g.table_id = new.table_id AND g.number = new.number
     ON CONFLICT (table_id, number, player) DO UPDATE SET role = excluded.role",
);
pub(crate) static RECORDS: RowStatement = RowStatement::new(
    "table_id uuid, number bigint, data bytea, checksum bigint",
    "INSERT INTO story_records (table_id, number, data, checksum)
     SELECT new.table_id, new.number, new.data, new.checksum
     FROM {new}, story_games g WHERE g.table_id = new.table_id AND g.number = new.number
     ON CONFLICT (table_id, number) DO UPDATE SET data = excluded.data, checksum = excluded.checksum",
);
pub(crate) static INVITED: RowStatement = RowStatement::new(
    "table_id uuid, number bigint",
    "DELETE FROM story_seats AS s USING {new}
     WHERE s.table_id = new.table_id AND s.number = new.number AND s.role = 'invited'",
);
static LOCK_STANDINGS: RowStatement = RowStatement::new(
    "player uuid",
    "INSERT INTO story_standings (player, score, score_prev, levelups, earned, earned_last)
     SELECT new.player, 0, 0, 0, 0, 0 FROM {new} ORDER BY new.player ON CONFLICT (player) DO NOTHING",
);
static STANDINGS: RowStatement = RowStatement::new(
    "player uuid, score bigint, score_prev bigint, levelups bigint, earned bigint, earned_last bigint",
    "INSERT INTO story_standings (player, score, score_prev, levelups, earned, earned_last)
     SELECT new.* FROM {new} WHERE true
     ON CONFLICT (player) DO UPDATE SET score = excluded.score, score_prev = excluded.score_prev,
       levelups = excluded.levelups, earned = excluded.earned, earned_last = excluded.earned_last",
);

/// Standings; the condition ends in the ids of their players.
pub(crate) fn standings_of() -> String {
    format!("SELECT {} FROM story_standings WHERE player", columns::STANDING)
}

/// Changes that are written together: at most one append of each table.
#[derive(Default)]
struct Wave<'a> {
    games: BTreeMap<GameId, &'a GameRow>,
    /// Seats that were there or not, and are gone before any is put.
    gone: BTreeSet<(GameId, PlayerId)>,
    seats: BTreeMap<(GameId, PlayerId), GameRole>,
    ends: BTreeMap<GameId, (&'a [u8], &'a [PlayerId])>,
}

/// Awards of a batch by player, in the order in which they came. They are written at its end in the order of the players, because players
/// sit at the tables of several nodes and no other lock covers them.
pub(crate) type Awards = BTreeMap<PlayerId, Vec<(u32, Seed)>>;

impl<'a> Wave<'a> {
    fn waves(appends: &[&'a TableAppend], awards: &mut Awards) -> Vec<Self> {
        let mut waves: Vec<Self> = Vec::new();
        // The number of a table's next wave.
        let mut next = BTreeMap::<TableId, usize>::new();
        for append in appends.iter().filter(|append| !append.index_changes.is_empty()) {
            let number = next.entry(append.id).or_default();
            if *number == waves.len() {
                waves.push(Self::default());
            }
            waves[*number].add(append, awards);
            *number += 1;
        }
        waves
    }

    fn add(&mut self, append: &'a TableAppend, awards: &mut Awards) {
        for change in semantics::in_index_order(&append.index_changes) {
            match change {
                IndexChange::UpsertGame(row) => {
                    self.games.insert(row.id, row);
                }
                IndexChange::UpsertSeat { game, player, role } => {
                    self.seats.insert((*game, *player), *role);
                }
                IndexChange::DeleteSeat { game, player } => {
                    self.seats.remove(&(*game, *player));
                    self.gone.insert((*game, *player));
                }
                IndexChange::ArchiveGame { game, record, winners } => {
                    self.ends.insert(*game, (record, winners));
                }
                IndexChange::Award { player, points, seed } => {
                    awards.entry(*player).or_default().push((*points, *seed));
                }
            }
        }
    }
}

impl<S: Dialect> Batch<'_, S> {
    pub(crate) fn write_index(&mut self, appends: &[&TableAppend]) -> Result<(), StoreError> {
        for wave in Wave::waves(appends, &mut self.awards) {
            self.write_wave(&wave)?;
        }
        Ok(())
    }

    fn write_wave(&mut self, wave: &Wave<'_>) -> Result<(), StoreError> {
        let texts: Vec<_> = wave
            .games
            .values()
            .map(|row| {
                let stored = |text: &Option<String>| text.as_deref().map(semantics::stored_text);
                (stored(&row.storyteller_name), stored(&row.sentence))
            })
            .collect();
        let games = wave.games.values().zip(&texts).map(|(row, (name, sentence))| {
            *values![
                row.id.table,
                row.id.number,
                row.storyteller,
                name.as_deref(),
                row.phase.name(),
                sentence.as_deref(),
                row.players,
                row.players_max,
                row.created_at,
                row.ended_at,
            ]
        });
        self.session.run_rows(&GAMES, games)?;
        let gone = wave.gone.iter().map(|(game, player)| *values![game.table, game.number, *player]);
        self.session.run_rows(&GONE_SEATS, gone)?;
        let seats = wave.seats.iter();
        let seats = seats.map(|((game, player), role)| *values![game.table, game.number, *player, role.name()]);
        self.session.run_rows(&SEATS, seats)?;
        let records = wave.ends.iter().map(|(game, (record, _))| {
            let checksum = columns::stories::game_record(game.table, game.number).checksum(record);
            *values![game.table, game.number, *record, checksum]
        });
        self.session.run_rows(&RECORDS, records)?;
        let ended = || wave.ends.keys().map(|game| *values![game.table, game.number]);
        self.session.run_rows(&INVITED, ended())?;
        let won = wave.ends.iter().flat_map(|(game, (_, winners))| winners.iter().map(move |winner| (*game, *winner)));
        let won: BTreeSet<_> = won.collect();
        self.session.end_seats(ended(), won.iter().map(|(game, winner)| *values![game.table, game.number, *winner]))
    }

    pub(crate) fn write_awards(&mut self) -> Result<(), StoreError> {
        let awards = std::mem::take(&mut self.awards);
        if awards.is_empty() {
            return Ok(());
        }
        let mut lock = "";
        if S::HAS_ROW_LOCKS {
            // A row that is not there cannot be locked.
            self.session.run_rows(&LOCK_STANDINGS, awards.keys().map(|player| *values![*player]))?;
            lock = "ORDER BY player FOR NO KEY UPDATE";
        }
        let players: Vec<IdBytes> = awards.keys().map(|player| player.to_bytes()).collect();
        let known = self.session.all_each(&standings_of(), lock, &players, |row| columns::standing_or_damage(row))?;
        let mut standings: BTreeMap<_, _> = known.into_iter().collect();
        for (player, awards) in &awards {
            if let Ok(standing) = standings.entry(*player).or_insert_with(|| Ok(Standing::default())) {
                *standing = awards.iter().fold(*standing, |standing, (points, seed)| standing.award(*points, *seed));
            }
        }
        // One that is damaged stays as it is: the others of its table get theirs.
        let damages =
            standings.extract_if(.., |_, standing| standing.is_err()).filter_map(|(_, damaged)| damaged.err());
        self.session.note_damages(damages.collect());
        let standings = standings.iter().filter_map(|(player, standing)| Some((player, standing.as_ref().ok()?)));
        let rows = standings.map(|(player, standing)| {
            *values![
                *player,
                standing.score as i64,
                standing.score_prev as i64,
                standing.levelups,
                standing.earned.bits() as i64,
                standing.earned_last.bits() as i64,
            ]
        });
        self.session.run_rows(&STANDINGS, rows)?;
        Ok(())
    }
}
