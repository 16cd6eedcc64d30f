//! Tables at which stories are told: what their owners may do, who owns them, the lists of their games.

mod claims;
#[cfg(test)]
mod cost;
mod index;
mod log;
mod reads;
mod retire;

pub(super) use reads::{game, games_of, history, idempotent_response, lobby, owner, secret, standings};

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
        ("owner", claims::OWNER),
        ("lost holders", claims::HOLDERS),
        ("live tables of a worker", claims::LIVE_OF),
        ("tables claimed before", claims::CLAIMED_BEFORE),
        ("load", claims::LOAD),
        ("load of the log", claims::LOAD_ROWS),
        ("remembered answer", reads::ANSWER),
        ("oldest games", retire::OLDEST),
        ("bare mark", retire::MARK_BARE),
        ("bare tables used again", retire::UNMARK),
        ("bare tables", retire::BARE),
    ];
    let made = [
        ("state of a game", reads::game_by_id()),
        ("games of a player", reads::games_of_player()),
        ("lobby", reads::lobby_page()),
        ("history", reads::history_page()),
        ("standing", reads::standing_of()),
    ];
    fixed.into_iter().map(|(name, sql)| (name, sql.to_owned())).chain(made).collect()
}
