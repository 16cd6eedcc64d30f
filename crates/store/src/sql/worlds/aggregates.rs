//! Aggregates of claims: the leaderboard, rounds, totals. All of it in the commit that advances the cursor. Where
//! nodes share the database, the row of totals is locked before: no other node writes these rows meanwhile.

use crate::columns::Columns;
use crate::contract::StoreError;
use crate::semantics::{self, worlds::WorldVersions};
use crate::sql::account_deletion::DELETED_AMONG;
use crate::sql::{Batch, Dialect, RowStatement, values};
use engine::commands::{Aggregate, HunterDelta, Outcome};
use engine::ids::{PlayerId, WorldId};
use engine::rows::{DELETED_ACCOUNT_NAME, HunterRow, RoundRow};
use std::collections::{BTreeMap, BTreeSet};

static NEW_HUNTERS: RowStatement = RowStatement::new(
    "player uuid",
    "INSERT INTO hunters (player, name, points, chests, power_ups, rounds, rounds_won, last_at)
     SELECT new.player, '', 0, 0, 0, 0, 0, 0 FROM {new} WHERE true ON CONFLICT (player) DO NOTHING",
);
static ADD_TO_HUNTERS: RowStatement = RowStatement::new(
    "player uuid, name text, points bigint, chests bigint, power_ups bigint, rounds bigint, rounds_won bigint, last_at bigint",
    "UPDATE hunters AS h SET name = CASE new.name WHEN '' THEN h.name ELSE new.name END, points = h.points + new.points,
       chests = h.chests + new.chests, power_ups = h.power_ups + new.power_ups, rounds = h.rounds + new.rounds,
       rounds_won = h.rounds_won + new.rounds_won,
       last_at = CASE WHEN new.last_at > h.last_at THEN new.last_at ELSE h.last_at END
     FROM {new} WHERE h.player = new.player",
);

impl<S: Dialect> Batch<'_, S> {
    pub(super) fn aggregate_world(&mut self, aggregate: &Aggregate) -> Result<Outcome, StoreError> {
        let Some((_, held)) = self.world_log_state(aggregate.id)? else { return Ok(Outcome::NotFound) };
        if let Err(refusal) = semantics::worlds::check_aggregate(aggregate, held) {
            return Ok(refusal);
        }
        let moved = "UPDATE worlds SET aggregated_version = ?2 WHERE id = ?1";
        self.session.run(moved, values![aggregate.id, aggregate.to_version])?;
        self.forget_entries(aggregate.id, held, WorldVersions { aggregated: aggregate.to_version, ..held })?;
        let deleted = self.deleted_players(aggregate)?;
        let new_hunters = self.count_hunters(&aggregate.hunters, &deleted)?;
        let mut new_rounds = 0;
        for round in &aggregate.rounds {
            new_rounds += self.put_round(aggregate.id, round, &deleted)?;
        }
        let totals = aggregate.totals;
        self.session.run(
            "UPDATE hunt_totals SET hunters = hunters + ?1, points = points + ?2, chests = chests + ?3,
               power_ups = power_ups + ?4, rounds = rounds + ?5 WHERE id = 1",
            values![new_hunters, totals.points, totals.chests, totals.power_ups, new_rounds],
        )?;
        Ok(Outcome::Done)
    }

    /// Players whose accounts are deleted: a hunt of others keeps their names until its round is over.
    fn deleted_players(&mut self, aggregate: &Aggregate) -> Result<BTreeSet<PlayerId>, StoreError> {
        let winners = aggregate.rounds.iter().filter_map(|round| round.winner);
        let players: BTreeSet<_> = aggregate.hunters.iter().map(|delta| delta.player).chain(winners).collect();
        let players: Vec<_> = players.into_iter().map(PlayerId::to_bytes).collect();
        let deleted = self.session.all_each(DELETED_AMONG, "", &players, |row| row.id().map(PlayerId))?;
        Ok(deleted.into_iter().collect())
    }

    /// How many hunters are new by it.
    fn count_hunters(&mut self, deltas: &[HunterDelta], deleted: &BTreeSet<PlayerId>) -> Result<usize, StoreError> {
        let mut sums = BTreeMap::new();
        for delta in deltas.iter().filter(|delta| !deleted.contains(&delta.player)) {
            let sum = sums.entry(delta.player).or_insert_with(|| semantics::worlds::new_hunter(delta.player));
            semantics::worlds::add_delta(sum, delta);
        }
        let new = self.session.run_rows(&NEW_HUNTERS, sums.keys().map(|player| *values![*player]))?;
        let sums = sums.values().map(|sum: &HunterRow| {
            *values![
                sum.player,
                &sum.name,
                sum.points as i64,
                sum.chests as i64,
                sum.power_ups as i64,
                sum.rounds as i64,
                sum.rounds_won as i64,
                sum.last_at,
            ]
        });
        self.session.run_rows(&ADD_TO_HUNTERS, sums)?;
        Ok(new)
    }

    /// How many rounds are new by it.
    fn put_round(&mut self, id: WorldId, round: &RoundRow, deleted: &BTreeSet<PlayerId>) -> Result<usize, StoreError> {
        let is_deleted = round.winner.is_some_and(|winner| deleted.contains(&winner));
        let winner_name = if is_deleted { DELETED_ACCOUNT_NAME } else { &round.winner_name };
        let known = "SELECT 1 FROM hunt_rounds WHERE world_id = ?1 AND number = ?2";
        let is_known = self.session.exists(known, values![id, round.number])?;
        self.session.run(
            "INSERT INTO hunt_rounds (world_id, number, ended_at, winner, winner_name, points, hunters)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
             ON CONFLICT (world_id, number) DO UPDATE SET ended_at = excluded.ended_at, winner = excluded.winner,
               winner_name = excluded.winner_name, points = excluded.points, hunters = excluded.hunters",
            values![
                id,
                round.number,
                round.ended_at,
                round.winner,
                &semantics::stored_text(winner_name),
                round.points,
                round.hunters,
            ],
        )?;
        Ok(usize::from(!is_known))
    }
}
