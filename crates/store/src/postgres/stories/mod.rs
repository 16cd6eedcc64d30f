//! Tables at which stories are told: what their owners may do, who owns them, the lists of their games.

mod log;

pub(super) use log::written_table;

#[cfg(test)]
use super::session::Session;
#[cfg(test)]
use crate::sql::{game_retirement, tables};

/// The queries that run while games are played, by name, to inspect their plans.
#[cfg(test)]
pub(super) fn queries() -> Vec<(&'static str, String)> {
    // The step of the walk over holders: a plan does not show it where it stands.
    let lost_holders = tables::lost_table_holders::<Session>();
    let step =
        lost_holders.split_once("UNION ALL").and_then(|(_, rest)| rest.split_once("SELECT (")?.1.split_once(')'));
    let step = step.expect("the walk has a step").0.replace("holders.worker", "?1");
    vec![
        ("tables with the ends of their logs", format!("{} = ANY ($1)", log::TABLE_HEADS)),
        ("owner", tables::OWNER.to_owned()),
        ("oldest games", game_retirement::oldest::<Session>()),
        ("bare tables", game_retirement::bare::<Session>()),
        ("bare tables used again", game_retirement::used_again::<Session>()),
        ("next holder", step),
        ("lost holders", lost_holders),
        ("tables claimed before", tables::claimed_before::<Session>()),
        ("load", format!("{} = ANY ($1) ORDER BY id", tables::LOAD)),
        ("load of the log", format!("{} = ANY ($1) ORDER BY table_id, version", tables::LOAD_ROWS)),
        ("state of a game", tables::game_by_id()),
        ("games of a player", tables::games_of_player::<Session>()),
        ("lobby", tables::lobby_page()),
        ("history", tables::history_page()),
    ]
}
