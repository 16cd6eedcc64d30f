//! The lists that follow from the logs of tables: games, seats, records. Changes of many tables are written together; what one
//! table changes twice in a batch is written in two waves, so that the order within a table is kept.

use crate::contract::StoreError;
use crate::postgres::Batch;
use crate::postgres::session::PgId;
use crate::semantics;
use engine::commands::{IndexChange, TableAppend};
use engine::ids::{GameId, PlayerId, TableId};
use engine::rows::{GameRole, GameRow};
use std::collections::{BTreeMap, BTreeSet};

/// Changes that are written together: at most one append of each table.
#[derive(Default)]
pub(super) struct Wave<'a> {
    tables: BTreeSet<TableId>,
    games: BTreeMap<GameId, &'a GameRow>,
    /// Seats that were there or not, and are gone before any is put.
    gone: BTreeSet<(GameId, PlayerId)>,
    seats: BTreeMap<(GameId, PlayerId), GameRole>,
    ends: BTreeMap<GameId, (&'a [u8], &'a [PlayerId])>,
}

/// The waves of a run.
pub(super) struct Waves;

impl Waves {
    pub(super) fn of<'a>(appends: &[&'a TableAppend]) -> Vec<Wave<'a>> {
        let mut waves: Vec<Wave<'a>> = Vec::new();
        // The number of a table's next wave.
        let mut next = BTreeMap::<TableId, usize>::new();
        for append in appends {
            let number = next.entry(append.id).or_default();
            if *number == waves.len() {
                waves.push(Wave::default());
            }
            waves[*number].add(append);
            *number += 1;
        }
        waves
    }
}

impl<'a> Wave<'a> {
    fn add(&mut self, append: &'a TableAppend) {
        let is_first = self.tables.insert(append.id);
        debug_assert!(is_first, "a table stands in a wave once");
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
                IndexChange::Award { .. } => {}
            }
        }
    }
}

/// Ids and numbers of games, as two columns.
fn columns(games: impl Iterator<Item = GameId>) -> (Vec<PgId>, Vec<i64>) {
    games.map(|game| (PgId(game.table.0), i64::from(game.number))).unzip()
}

impl Batch<'_> {
    pub(super) fn write_wave(&mut self, wave: &Wave<'_>) -> Result<(), StoreError> {
        self.write_games(wave)?;
        self.unseat(wave)?;
        self.seat(wave)?;
        self.end_games(wave)
    }

    fn write_games(&mut self, wave: &Wave<'_>) -> Result<(), StoreError> {
        if wave.games.is_empty() {
            return Ok(());
        }
        let (tables, numbers) = columns(wave.games.keys().copied());
        let games = || wave.games.values();
        let storytellers: Vec<_> = games().map(|row| PgId(row.storyteller.0)).collect();
        let names: Vec<_> = games().map(|row| row.storyteller_name.as_deref().map(semantics::stored_text)).collect();
        let phases: Vec<_> = games().map(|row| row.phase.name()).collect();
        let sentences: Vec<_> = games().map(|row| row.sentence.as_deref().map(semantics::stored_text)).collect();
        let players: Vec<_> = games().map(|row| i64::from(row.players)).collect();
        let players_max: Vec<_> = games().map(|row| i64::from(row.players_max)).collect();
        let created: Vec<_> = games().map(|row| row.created_at.0).collect();
        let ended: Vec<_> = games().map(|row| row.ended_at.map(|at| at.0)).collect();
        self.session.execute(
            "INSERT INTO story_games (table_id, number, storyteller, storyteller_name, phase, sentence, players,
               players_max, created_at, ended_at)
             SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::uuid[], $4::text[], $5::text[], $6::text[],
               $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[])
             ON CONFLICT (table_id, number) DO UPDATE SET storyteller = excluded.storyteller, phase = excluded.phase,
               sentence = excluded.sentence, players = excluded.players, players_max = excluded.players_max,
               ended_at = excluded.ended_at",
            &[&tables, &numbers, &storytellers, &names, &phases, &sentences, &players, &players_max, &created, &ended],
        )?;
        Ok(())
    }

    fn unseat(&mut self, wave: &Wave<'_>) -> Result<(), StoreError> {
        if wave.gone.is_empty() {
            return Ok(());
        }
        let (tables, numbers) = columns(wave.gone.iter().map(|(game, _)| *game));
        let players: Vec<_> = wave.gone.iter().map(|(_, player)| PgId(player.0)).collect();
        self.session.execute(
            "DELETE FROM story_seats AS s
             USING unnest($1::uuid[], $2::bigint[], $3::uuid[]) AS gone (table_id, number, player)
             WHERE s.table_id = gone.table_id AND s.number = gone.number AND s.player = gone.player",
            &[&tables, &numbers, &players],
        )?;
        Ok(())
    }

    fn seat(&mut self, wave: &Wave<'_>) -> Result<(), StoreError> {
        if wave.seats.is_empty() {
            return Ok(());
        }
        let (tables, numbers) = columns(wave.seats.keys().map(|(game, _)| *game));
        let players: Vec<_> = wave.seats.keys().map(|(_, player)| PgId(player.0)).collect();
        let roles: Vec<_> = wave.seats.values().map(|role| role.name()).collect();
        self.session.execute(
            "INSERT INTO story_seats (table_id, number, player, role, created_at, is_ended)
             SELECT seat.table_id, seat.number, seat.player, seat.role, g.created_at, g.ended_at IS NOT NULL
             FROM unnest($1::uuid[], $2::bigint[], $3::uuid[], $4::text[]) AS seat (table_id, number, player, role)
             JOIN story_games g ON g.table_id = seat.table_id AND g.number = seat.number
             ON CONFLICT (table_id, number, player) DO UPDATE SET role = excluded.role",
            &[&tables, &numbers, &players, &roles],
        )?;
        Ok(())
    }

    fn end_games(&mut self, wave: &Wave<'_>) -> Result<(), StoreError> {
        if wave.ends.is_empty() {
            return Ok(());
        }
        let (tables, numbers) = columns(wave.ends.keys().copied());
        let records: Vec<_> = wave.ends.values().map(|(record, _)| *record).collect();
        self.session.execute(
            "INSERT INTO story_records (table_id, number, data)
             SELECT ended.table_id, ended.number, ended.data
             FROM unnest($1::uuid[], $2::bigint[], $3::bytea[]) AS ended (table_id, number, data)
             JOIN story_games g ON g.table_id = ended.table_id AND g.number = ended.number
             ON CONFLICT (table_id, number) DO UPDATE SET data = excluded.data",
            &[&tables, &numbers, &records],
        )?;
        self.session.execute(
            "DELETE FROM story_seats AS s USING unnest($1::uuid[], $2::bigint[]) AS ended (table_id, number)
             WHERE s.table_id = ended.table_id AND s.number = ended.number AND s.role = 'invited'",
            &[&tables, &numbers],
        )?;
        self.end_seats(wave, &tables, &numbers)
    }

    fn end_seats(&mut self, wave: &Wave<'_>, tables: &Vec<PgId>, numbers: &Vec<i64>) -> Result<(), StoreError> {
        let won = wave.ends.iter().flat_map(|(game, (_, winners))| winners.iter().map(move |winner| (*game, *winner)));
        let won: BTreeSet<_> = won.collect();
        let (won_tables, won_numbers) = columns(won.iter().map(|(game, _)| *game));
        let winners: Vec<_> = won.iter().map(|(_, winner)| PgId(winner.0)).collect();
        self.session.execute(
            "UPDATE story_seats AS s SET is_ended = true, is_won = won.player IS NOT NULL
             FROM unnest($1::uuid[], $2::bigint[]) AS ended (table_id, number)
             JOIN story_seats AS seat USING (table_id, number)
             LEFT JOIN unnest($3::uuid[], $4::bigint[], $5::uuid[]) AS won (table_id, number, player)
               ON won.table_id = seat.table_id AND won.number = seat.number AND won.player = seat.player
             WHERE s.table_id = seat.table_id AND s.number = seat.number AND s.player = seat.player",
            &[tables, numbers, &won_tables, &won_numbers, &winners],
        )?;
        Ok(())
    }
}
