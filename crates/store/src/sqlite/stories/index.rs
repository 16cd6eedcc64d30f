//! The lists that follow from a table's log: games, seats, records, standings.

use crate::columns;
use crate::contract::StoreError;
use crate::semantics;
use crate::sql::{Session as _, values};
use crate::sqlite::Batch;
use engine::commands::IndexChange;
use engine::ids::{GameId, PlayerId};
use engine::rows::{GameRole, GameRow};
use rules::chance::Seed;

pub(super) const GAME: &str = "
    INSERT INTO story_games (table_id, number, storyteller, storyteller_name, phase, sentence, players, players_max,
      created_at, ended_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
    ON CONFLICT (table_id, number) DO UPDATE SET storyteller = excluded.storyteller, phase = excluded.phase,
      sentence = excluded.sentence, players = excluded.players, players_max = excluded.players_max,
      ended_at = excluded.ended_at";
pub(super) const SEAT: &str = "
    INSERT INTO story_seats (table_id, number, player, role, created_at, is_ended)
    SELECT ?1, ?2, ?3, ?4, created_at, ended_at IS NOT NULL FROM story_games WHERE table_id = ?1 AND number = ?2
    ON CONFLICT (table_id, number, player) DO UPDATE SET role = excluded.role";
pub(super) const ARCHIVE: &str = "
    INSERT INTO story_records (table_id, number, data)
    SELECT ?1, ?2, ?3 FROM story_games WHERE table_id = ?1 AND number = ?2
    ON CONFLICT (table_id, number) DO UPDATE SET data = excluded.data";
pub(super) const NOT_INVITED: &str = "
    DELETE FROM story_seats WHERE table_id = ?1 AND number = ?2 AND role = 'invited'";
pub(super) const ENDED_SEATS: &str = "
    UPDATE story_seats SET is_ended = 1, is_won = 0 WHERE table_id = ?1 AND number = ?2";
pub(super) const WON: &str = "
    UPDATE story_seats SET is_won = 1 WHERE table_id = ?1 AND number = ?2 AND player = ?3";
pub(super) const STANDING: &str = "
    INSERT INTO story_standings (player, score, score_prev, levelups, earned, earned_last)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6)
    ON CONFLICT (player) DO UPDATE SET score = excluded.score, score_prev = excluded.score_prev,
      levelups = excluded.levelups, earned = excluded.earned, earned_last = excluded.earned_last";

pub(super) fn standing_of() -> String {
    format!("SELECT {} FROM story_standings WHERE player = ?1", columns::STANDING)
}

impl Batch<'_> {
    pub(super) fn put_index(&mut self, index: &[IndexChange]) -> Result<(), StoreError> {
        for change in semantics::in_index_order(index) {
            match change {
                IndexChange::UpsertGame(row) => self.put_game(row)?,
                IndexChange::UpsertSeat { game, player, role } => self.put_seat(*game, *player, *role)?,
                IndexChange::DeleteSeat { game, player } => self.unseat(*game, *player)?,
                IndexChange::ArchiveGame { game, record, winners } => self.archive_game(*game, record, winners)?,
                IndexChange::Award { player, points, seed } => self.award(*player, *points, *seed)?,
            }
        }
        Ok(())
    }

    fn put_game(&mut self, row: &GameRow) -> Result<(), StoreError> {
        self.session.run(
            GAME,
            values![
                row.id.table,
                row.id.number,
                row.storyteller,
                row.storyteller_name.as_deref().map(semantics::stored_text).as_deref(),
                row.phase.name(),
                row.sentence.as_deref().map(semantics::stored_text).as_deref(),
                row.players,
                row.players_max,
                row.created_at,
                row.ended_at,
            ],
        )?;
        Ok(())
    }

    fn put_seat(&mut self, game: GameId, player: PlayerId, role: GameRole) -> Result<(), StoreError> {
        self.session.run(SEAT, values![game.table, game.number, player, role.name()])?;
        Ok(())
    }

    fn unseat(&mut self, game: GameId, player: PlayerId) -> Result<(), StoreError> {
        let gone = "DELETE FROM story_seats WHERE table_id = ?1 AND number = ?2 AND player = ?3";
        self.session.run(gone, values![game.table, game.number, player])?;
        Ok(())
    }

    fn archive_game(&mut self, game: GameId, record: &[u8], winners: &[PlayerId]) -> Result<(), StoreError> {
        let GameId { table, number } = game;
        self.session.run(ARCHIVE, values![table, number, record])?;
        self.session.run(NOT_INVITED, values![table, number])?;
        self.session.run(ENDED_SEATS, values![table, number])?;
        for winner in winners {
            self.session.run(WON, values![table, number, *winner])?;
        }
        Ok(())
    }

    fn award(&mut self, player: PlayerId, points: u32, seed: Seed) -> Result<(), StoreError> {
        let before = self.session.first(&standing_of(), values![player], |row| columns::standing(row))?;
        let after = before.map(|(_, standing)| standing).unwrap_or_default().award(points, seed);
        self.session.run(
            STANDING,
            values![
                player,
                after.score as i64,
                after.score_prev as i64,
                after.levelups,
                after.earned.bits() as i64,
                after.earned_last.bits() as i64,
            ],
        )?;
        Ok(())
    }
}
