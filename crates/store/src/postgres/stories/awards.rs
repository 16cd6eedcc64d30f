//! Awards of a batch: collected, and written at its end in the order of the players, because players sit at the tables
//! of several nodes and no other lock covers them.

use crate::columns;
use crate::contract::StoreError;
use crate::postgres::Batch;
use crate::postgres::session::PgId;
use engine::commands::{IndexChange, TableAppend};
use engine::ids::PlayerId;
use rules::chance::Seed;
use std::collections::BTreeMap;

/// Awards by player, in the order in which they came.
#[derive(Default)]
pub(in crate::postgres) struct Awards {
    of_players: BTreeMap<PlayerId, Vec<(u32, Seed)>>,
}

impl Awards {
    pub(super) fn add(&mut self, append: &TableAppend) {
        for change in &append.index_changes {
            if let IndexChange::Award { player, points, seed } = change {
                self.of_players.entry(*player).or_default().push((*points, *seed));
            }
        }
    }
}

impl Batch<'_> {
    pub(in crate::postgres) fn write_awards(&mut self, awards: Awards) -> Result<(), StoreError> {
        let awards = awards.of_players;
        if awards.is_empty() {
            return Ok(());
        }
        let players: Vec<PgId> = awards.keys().map(|player| PgId(player.0)).collect();
        // A row that is not there cannot be locked.
        self.session.execute(
            "INSERT INTO story_standings (player, score, score_prev, levelups, earned, earned_last)
             SELECT player, 0, 0, 0, 0, 0 FROM unnest($1::uuid[]) AS awarded (player) ORDER BY player
             ON CONFLICT (player) DO NOTHING",
            &[&players],
        )?;
        let lock = format!(
            "SELECT {} FROM story_standings WHERE player = ANY ($1) ORDER BY player FOR NO KEY UPDATE",
            columns::STANDING
        );
        let mut standings = self.session.query(&lock, &[&players], |row| columns::standing(row))?;
        for (player, standing) in &mut standings {
            for (points, seed) in awards.get(player).into_iter().flatten() {
                *standing = standing.award(*points, *seed);
            }
        }
        let column = |value: fn(&engine::tables::Standing) -> i64| -> Vec<i64> {
            standings.iter().map(|(_, standing)| value(standing)).collect()
        };
        let players: Vec<PgId> = standings.iter().map(|(player, _)| PgId(player.0)).collect();
        self.session.execute(
            "UPDATE story_standings AS s SET score = now.score, score_prev = now.score_prev, levelups = now.levelups,
               earned = now.earned, earned_last = now.earned_last
             FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[])
               AS now (player, score, score_prev, levelups, earned, earned_last)
             WHERE s.player = now.player",
            &[
                &players,
                &column(|standing| standing.score as i64),
                &column(|standing| standing.score_prev as i64),
                &column(|standing| standing.levelups.into()),
                &column(|standing| standing.earned.bits() as i64),
                &column(|standing| standing.earned_last.bits() as i64),
            ],
        )?;
        Ok(())
    }
}
