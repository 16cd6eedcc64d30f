//! Tables at which stories are told: what their owners may do, who owns them, the lists of their games.

#[cfg(test)]
mod cost;
mod log;

#[cfg(any(test, feature = "testing"))]
use super::dialect::{ENDED_SEATS, WON};
#[cfg(any(test, feature = "testing"))]
use super::session::Session;
#[cfg(any(test, feature = "testing"))]
use crate::sql::{game_index, game_retirement, tables};

/// The queries that run while games are played, by name, to inspect their plans in tests and measurements.
#[cfg(any(test, feature = "testing"))]
pub(super) fn queries() -> Vec<(&'static str, String)> {
    let fixed = [
        ("append", log::APPEND),
        ("live or not", log::SET_LIVE),
        ("seat", game_index::SEATS.of_one_row()),
        ("record", game_index::RECORDS.of_one_row()),
        ("seats of the invited", game_index::INVITED.of_one_row()),
        ("seats at the end", ENDED_SEATS),
        ("seat of a winner", WON),
        ("owner", tables::OWNER),
        ("remembered answer", tables::ANSWER),
    ];
    let made = [
        ("lost holders", tables::lost_table_holders::<Session>()),
        ("live tables of a worker", format!("{} worker IS ?1 ORDER BY id LIMIT ?2", tables::live_tables::<Session>())),
        ("tables claimed before", tables::claimed_before::<Session>()),
        ("load", format!("{} = ?1 ORDER BY id", tables::LOAD)),
        ("load of the log", format!("{} = ?1 ORDER BY table_id, version", tables::LOAD_ROWS)),
        ("state of a game", tables::game_by_id()),
        ("games of a player", tables::games_of_player::<Session>()),
        ("lobby", tables::lobby_page()),
        ("history", tables::history_page()),
        ("standing", format!("{} = ?1", game_index::standings_of())),
        ("oldest games", game_retirement::oldest::<Session>()),
        ("bare mark", format!("{} = ?1", game_retirement::MARK_BARE)),
        ("bare tables used again", game_retirement::used_again::<Session>()),
        ("bare tables", game_retirement::bare::<Session>()),
    ];
    fixed.into_iter().map(|(name, sql)| (name, sql.to_owned())).chain(made).collect()
}
