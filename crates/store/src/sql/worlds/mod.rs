//! Worlds: what their owners may do, who owns them, who joined, what was counted. Where nodes share the database, rows of worlds
//! that a batch decides about are locked before.

mod aggregates;
mod lifecycle;
mod log;
mod reads;

pub(super) use log::LOG_STATE;
pub(super) use reads::{
    LOG, MEMBERS, aggregation_lags, has_joined, hunter_of, leaderboard_page, lobby, of_player, of_ticket, rounds_page,
    totals_row, unfinished, visible, world, world_named,
};

use super::{Batch, Dialect};
use crate::contract::StoreError;
use engine::commands::{Outcome, WorldCommand};

impl<S: Dialect> Batch<'_, S> {
    pub(crate) fn world(&mut self, command: &WorldCommand) -> Result<Outcome, StoreError> {
        match command {
            WorldCommand::Ensure { row, members } => self.ensure_world(row, members),
            WorldCommand::Claim { id, worker, now } => self.claim_world(*id, *worker, *now),
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
pub(crate) fn queries<S: Dialect>() -> Vec<(&'static str, String)> {
    let fixed = [
        ("held", LOG_STATE),
        ("forgotten entries", log::FORGET),
        ("load of claims", lifecycle::LOAD_ROWS),
        ("worlds of a creator", lifecycle::OF_CREATOR),
        ("live worlds", lifecycle::LIVE),
        ("the last world to be kept", lifecycle::NTH_LAST_END),
        ("log", LOG),
        ("joined", reads::JOINED),
        ("members", MEMBERS),
    ];
    let made = [
        ("load of a world", lifecycle::load()),
        ("worlds behind", aggregation_lags::<S>()),
        ("unjoined worlds", lifecycle::unjoined::<S>()),
        ("old worlds", lifecycle::old::<S>(true)),
        ("old worlds that are not counted", lifecycle::old::<S>(false)),
        ("world", reads::by_id()),
        ("world of a name", reads::by_name()),
        ("worlds", reads::page()),
        ("hunts", reads::lobby_page(false)),
        ("hunts, with matched ones", reads::lobby_page(true)),
        ("unfinished hunts", reads::unfinished_page()),
        ("hunt of a ticket", of_ticket()),
        ("hunt of a player", of_player()),
        ("leaderboard", leaderboard_page()),
        ("hunter", hunter_of()),
        ("rounds", rounds_page()),
        ("totals", totals_row()),
    ];
    fixed.into_iter().map(|(name, sql)| (name, sql.to_owned())).chain(made).collect()
}
