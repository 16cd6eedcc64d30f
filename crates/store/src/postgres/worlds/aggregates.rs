//! Aggregates of claims: the leaderboard, rounds, totals. All of it in the commit that advances the cursor. The row of
//! totals is locked before: no other node writes these rows meanwhile.

use crate::postgres::batch::Batch;
use crate::postgres::session::PgId;
use crate::postgres::statement_error::StatementError;
use crate::semantics::{self, worlds::WorldVersions};
use engine::commands::{Aggregate, HunterDelta, Outcome};
use engine::ids::{PlayerId, WorldId};
use engine::rows::{HunterRow, RoundRow};
use std::collections::BTreeMap;

impl Batch<'_> {
    pub(super) fn aggregate_world(&mut self, aggregate: &Aggregate) -> Result<Outcome, StatementError> {
        let Some((_, held)) = self.world_log_state(aggregate.id)? else { return Ok(Outcome::NotFound) };
        if let Err(refusal) = semantics::worlds::check_aggregate(aggregate, held) {
            return Ok(refusal);
        }
        let moved = "UPDATE worlds SET aggregated_version = $2 WHERE id = $1";
        self.session.run(moved, &[&PgId(aggregate.id.0), &i64::from(aggregate.to_version)])?;
        self.forget_entries(aggregate.id, held, WorldVersions { aggregated: aggregate.to_version, ..held })?;
        let new_hunters = self.count_hunters(&aggregate.hunters)?;
        let mut new_rounds = 0;
        for round in &aggregate.rounds {
            new_rounds += self.put_round(aggregate.id, round)?;
        }
        let totals = aggregate.totals;
        self.session.run(
            "UPDATE hunt_totals SET hunters = hunters + $1, points = points + $2, chests = chests + $3,
               power_ups = power_ups + $4, rounds = rounds + $5 WHERE id = 1",
            &[
                &(new_hunters as i64),
                &i64::from(totals.points),
                &i64::from(totals.chests),
                &i64::from(totals.power_ups),
                &new_rounds,
            ],
        )?;
        Ok(Outcome::Done)
    }

    /// How many hunters are new by it.
    fn count_hunters(&mut self, deltas: &[HunterDelta]) -> Result<u64, StatementError> {
        let mut sums = BTreeMap::<PlayerId, HunterRow>::new();
        for delta in deltas {
            let sum = sums.entry(delta.player).or_insert_with(|| semantics::worlds::new_hunter(delta.player));
            semantics::worlds::add_delta(sum, delta);
        }
        if sums.is_empty() {
            return Ok(0);
        }
        let players: Vec<_> = sums.keys().map(|player| PgId(player.0)).collect();
        let new = self.session.run(
            "INSERT INTO hunters (player, name, points, chests, power_ups, rounds, rounds_won, last_at)
             SELECT player, '', 0, 0, 0, 0, 0, 0 FROM unnest($1::uuid[]) AS counted (player)
             ON CONFLICT (player) DO NOTHING",
            &[&players],
        )?;
        let names: Vec<_> = sums.values().map(|sum| sum.name.as_str()).collect();
        let column = |value: fn(&HunterRow) -> i64| -> Vec<i64> { sums.values().map(value).collect() };
        self.session.run(
            "UPDATE hunters AS h SET name = CASE sum.name WHEN '' THEN h.name ELSE sum.name END,
               points = h.points + sum.points, chests = h.chests + sum.chests, power_ups = h.power_ups + sum.power_ups,
               rounds = h.rounds + sum.rounds, rounds_won = h.rounds_won + sum.rounds_won,
               last_at = greatest(h.last_at, sum.last_at)
             FROM unnest($1::uuid[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[],
               $8::bigint[]) AS sum (player, name, points, chests, power_ups, rounds, rounds_won, last_at)
             WHERE h.player = sum.player",
            &[
                &players,
                &names,
                &column(|sum| sum.points as i64),
                &column(|sum| sum.chests as i64),
                &column(|sum| sum.power_ups as i64),
                &column(|sum| sum.rounds as i64),
                &column(|sum| sum.rounds_won as i64),
                &column(|sum| sum.last_at.0),
            ],
        )?;
        Ok(new)
    }

    /// How many rounds are new by it.
    fn put_round(&mut self, id: WorldId, round: &RoundRow) -> Result<i64, StatementError> {
        let known = "SELECT 1 FROM hunt_rounds WHERE world_id = $1 AND number = $2";
        let is_known = self.session.exists(known, &[&PgId(id.0), &i64::from(round.number)])?;
        self.session.run(
            "INSERT INTO hunt_rounds (world_id, number, ended_at, winner, winner_name, points, hunters)
             VALUES ($1, $2, $3, $4, $5, $6, $7)
             ON CONFLICT (world_id, number) DO UPDATE SET ended_at = excluded.ended_at, winner = excluded.winner,
               winner_name = excluded.winner_name, points = excluded.points, hunters = excluded.hunters",
            &[
                &PgId(id.0),
                &i64::from(round.number),
                &round.ended_at.0,
                &round.winner.map(|winner| PgId(winner.0)),
                &semantics::stored_text(&round.winner_name),
                &i64::from(round.points),
                &i64::from(round.hunters),
            ],
        )?;
        Ok(i64::from(!is_known))
    }
}
