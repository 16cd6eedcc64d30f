//! Tables at which stories are told: what their owners may do, who owns them, the lists of their games.

#[cfg(test)]
mod cost;
mod index;
mod log;
mod retire;

#[cfg(any(test, feature = "testing"))]
use super::session::Session;
#[cfg(any(test, feature = "testing"))]
use crate::sql::tables;

/// The queries that run while games are played, by name, to inspect their plans in tests and measurements.
#[cfg(any(test, feature = "testing"))]
pub(super) fn queries() -> Vec<(&'static str, String)> {
    let fixed = [
        ("append", log::APPEND),
        ("live or not", log::SET_LIVE),
        ("seat", index::SEAT),
        ("record", index::ARCHIVE),
        ("seats of the invited", index::NOT_INVITED),
        ("seats at the end", index::ENDED_SEATS),
        ("seat of a winner", index::WON),
        ("owner", tables::OWNER),
        ("remembered answer", tables::ANSWER),
        ("oldest games", retire::OLDEST),
        ("bare mark", retire::MARK_BARE),
        ("bare tables used again", retire::UNMARK),
        ("bare tables", retire::BARE),
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
        ("standing", index::standing_of()),
    ];
    fixed.into_iter().map(|(name, sql)| (name, sql.to_owned())).chain(made).collect()
}
