//! Aggregates of claims: the leaderboard, rounds, totals. All of it in the commit that advances the cursor.

use crate::contract::StoreError;
use crate::semantics::{self, worlds::WorldVersions};
use crate::sqlite::batch::Batch;
use engine::commands::{Aggregate, HunterDelta, Outcome};
use engine::ids::{PlayerId, WorldId};
use engine::rows::RoundRow;
use rusqlite::params;

impl Batch<'_> {
    pub(super) fn aggregate_world(&mut self, aggregate: &Aggregate) -> Result<Outcome, StoreError> {
        let Some((_, held)) = self.world_log_state(aggregate.id)? else { return Ok(Outcome::NotFound) };
        if let Err(refusal) = semantics::worlds::check_aggregate(aggregate, held) {
            return Ok(refusal);
        }
        let moved = "UPDATE worlds SET aggregated_version = ?2 WHERE id = ?1";
        self.session.run(moved, (aggregate.id.to_bytes(), aggregate.to_version))?;
        self.forget_entries(aggregate.id, held, WorldVersions { aggregated: aggregate.to_version, ..held })?;
        let mut new_hunters = 0;
        for delta in &aggregate.hunters {
            new_hunters += self.count_hunter(delta)?;
        }
        let mut new_rounds = 0;
        for round in &aggregate.rounds {
            new_rounds += self.put_round(aggregate.id, round)?;
        }
        let totals = aggregate.totals;
        self.session.run(
            "UPDATE hunt_totals SET hunters = hunters + ?1, points = points + ?2, chests = chests + ?3,
               power_ups = power_ups + ?4, rounds = rounds + ?5 WHERE id = 1",
            (new_hunters as i64, totals.points, totals.chests, totals.power_ups, new_rounds as i64),
        )?;
        Ok(Outcome::Done)
    }

    /// How many hunters are new by it.
    fn count_hunter(&self, delta: &HunterDelta) -> Result<usize, StoreError> {
        let player = delta.player.to_bytes();
        let new = self.session.run(
            "INSERT INTO hunters (player, name, points, chests, power_ups, rounds, rounds_won, last_at)
             VALUES (?1, '', 0, 0, 0, 0, 0, 0) ON CONFLICT (player) DO NOTHING",
            [player],
        )?;
        self.session.run(
            "UPDATE hunters SET name = CASE ?2 WHEN '' THEN name ELSE ?2 END, points = points + ?3, chests = chests + ?4,
               power_ups = power_ups + ?5, rounds = rounds + ?6, rounds_won = rounds_won + ?7, last_at = max(last_at, ?8)
             WHERE player = ?1",
            params![
                player,
                semantics::stored_text(&delta.name),
                delta.points,
                delta.chests,
                delta.power_ups,
                delta.rounds,
                delta.rounds_won,
                delta.at.0,
            ],
        )?;
        Ok(new)
    }

    /// How many rounds are new by it.
    fn put_round(&self, id: WorldId, round: &RoundRow) -> Result<usize, StoreError> {
        let known = "SELECT 1 FROM hunt_rounds WHERE world_id = ?1 AND number = ?2";
        let is_known = self.session.exists(known, (id.to_bytes(), round.number))?;
        self.session.run(
            "INSERT OR REPLACE INTO hunt_rounds (world_id, number, ended_at, winner, winner_name, points, hunters)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            (
                id.to_bytes(),
                round.number,
                round.ended_at.0,
                round.winner.map(PlayerId::to_bytes),
                semantics::stored_text(&round.winner_name),
                round.points,
                round.hunters,
            ),
        )?;
        Ok(usize::from(!is_known))
    }
}
