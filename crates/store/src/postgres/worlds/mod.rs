//! Worlds: what their owners may do, who owns them, who joined, what was counted. Rows of worlds that a batch decides
//! about are locked before, in the order of their ids; an aggregation holds the row of totals until its commit, so that
//! hunters are written by one node at a time; an acquisition of the matchmaking queue holds its row.

mod aggregates;
mod lifecycle;
mod log;
mod reads;

pub(super) use reads::{
    aggregation_lags, has_joined, hunt_of_player, hunt_of_ticket, hunter, leaderboard, lobby, log_page, members,
    queue_owner, rounds, totals, unfinished, world, world_named, worlds,
};

use super::batch::Batch;
use super::session::PgId;
use super::statement_error::StatementError;
use engine::commands::{Command, Outcome, WorldCommand};
use engine::ids::WorldId;
use std::collections::BTreeSet;

/// The world whose row a command decides by.
fn world_of(command: &Command) -> Option<WorldId> {
    let Command::World(command) = command else { return None };
    match command {
        WorldCommand::Claim { id, .. }
        | WorldCommand::Snapshot { id, .. }
        | WorldCommand::Release { id, .. }
        | WorldCommand::Join { id, .. }
        | WorldCommand::Leave { id, .. }
        | WorldCommand::End { id, .. } => Some(*id),
        WorldCommand::Append(append) => Some(append.id),
        WorldCommand::Aggregate(aggregate) => Some(aggregate.id),
        WorldCommand::Ensure { .. }
        | WorldCommand::CreateMatchedHunt { .. }
        | WorldCommand::AcquireQueue { .. }
        | WorldCommand::EndUnjoined { .. }
        | WorldCommand::Retire { .. } => None,
    }
}

impl Batch<'_> {
    pub(super) fn lock_worlds(&mut self, commands: &[Command]) -> Result<(), StatementError> {
        let worlds: BTreeSet<WorldId> = commands.iter().filter_map(world_of).collect();
        let worlds: Vec<PgId> = worlds.into_iter().map(|id| PgId(id.0)).collect();
        if !worlds.is_empty() {
            let sql = "SELECT 1 FROM worlds WHERE id = ANY ($1) ORDER BY id FOR NO KEY UPDATE";
            self.session.run(sql, &[&worlds])?;
        }
        let is_count = |command: &Command| matches!(command, Command::World(WorldCommand::Aggregate(_)));
        if commands.iter().any(is_count) {
            self.session.run("SELECT 1 FROM hunt_totals WHERE id = 1 FOR NO KEY UPDATE", &[])?;
        }
        let is_about_the_desk = |command: &Command| {
            matches!(
                command,
                Command::World(WorldCommand::AcquireQueue { .. } | WorldCommand::CreateMatchedHunt { .. })
            )
        };
        if commands.iter().any(is_about_the_desk) {
            self.session.run("SELECT 1 FROM matchmaking_queue WHERE id = 1 FOR NO KEY UPDATE", &[])?;
        }
        Ok(())
    }

    pub(super) fn world(&mut self, command: &WorldCommand) -> Result<Outcome, StatementError> {
        match command {
            WorldCommand::Ensure { row, members } => self.ensure_world(row, members),
            WorldCommand::Claim { id, worker, now } => self.claim_world(*id, *worker, *now),
            WorldCommand::AcquireQueue { worker, now } => self.acquire_queue(*worker, *now),
            WorldCommand::CreateMatchedHunt { row, members, keeper } => self.match_players(row, members, *keeper),
            WorldCommand::Append(append) => self.append_world(append),
            WorldCommand::Snapshot { id, epoch, claims_version, bytes } => {
                self.snapshot_world(*id, *epoch, *claims_version, bytes)
            }
            WorldCommand::Release { id, epoch, is_finished } => self.release_world(*id, *epoch, *is_finished),
            WorldCommand::Join { id, player, now } => self.join_world(*id, *player, *now),
            WorldCommand::Leave { id, player } => self.leave_world(*id, *player),
            WorldCommand::Aggregate(aggregate) => self.aggregate_world(aggregate),
            WorldCommand::End { id, now } => self.end_world(*id, *now),
            WorldCommand::EndUnjoined { now, made_before, max } => self.end_unjoined(*now, *made_before, *max),
            WorldCommand::Retire { now, keep_for, keep_max, max } => {
                self.retire_worlds(*now, *keep_for, *keep_max, *max)
            }
        }
    }
}

/// The queries about worlds, by name, to inspect their plans.
#[cfg(test)]
pub(super) fn queries() -> Vec<(&'static str, String)> {
    let fixed = [
        ("held", log::LOG_STATE),
        ("load of claims", lifecycle::LOAD_ROWS),
        ("worlds of a creator", lifecycle::OF_CREATOR),
        ("live worlds", lifecycle::LIVE),
        ("the last world to be kept", lifecycle::NTH_LAST_END),
        ("unjoined worlds", lifecycle::UNJOINED),
        ("old worlds", lifecycle::OLD),
        ("log", reads::LOG),
        ("worlds behind", reads::AGGREGATION_LAGS),
        ("joined", reads::JOINED),
        ("members", reads::MEMBERS),
        ("matchmaking queue", reads::QUEUE_OWNER),
        ("desk of a keeper", lifecycle::OWNS_QUEUE),
    ];
    let made = [
        ("load of a world", lifecycle::load()),
        ("world", reads::by_id()),
        ("world of a name", reads::by_name()),
        ("worlds", reads::page()),
        ("hunts", reads::lobby_page()),
        ("unfinished hunts", reads::unfinished_page()),
        ("hunt of a ticket", reads::of_ticket()),
        ("hunt of a player", reads::of_player()),
        ("leaderboard", reads::leaderboard_page()),
        ("hunter", reads::hunter_of()),
        ("rounds", reads::rounds_page()),
        ("totals", reads::totals_row()),
    ];
    fixed.into_iter().map(|(name, sql)| (name, sql.to_owned())).chain(made).collect()
}
