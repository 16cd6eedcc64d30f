//! Tables at which stories are told: what their owners may do, who owns them, the lists of their games.

mod awards;
mod claims;
mod index;
mod log;
mod reads;
mod retire;

pub(super) use awards::Awards;
pub(super) use log::written_table;
pub(super) use reads::{game, games_of, history, idempotent_response, lobby, owner, secret, standings};

/// The queries that run while games are played, by name, to inspect their plans.
#[cfg(test)]
pub(super) fn queries() -> Vec<(&'static str, String)> {
    let fixed = [
        ("tables with the ends of their logs", log::TABLE_HEADS),
        ("owner", reads::OWNER),
        ("lost holders", claims::LOST_HOLDERS),
        ("tables claimed before", claims::CLAIMED_BEFORE),
        ("load", claims::LOAD),
        ("load of the log", claims::LOAD_ROWS),
        ("oldest games", retire::OLDEST),
        ("bare tables", retire::BARE),
        ("bare tables used again", retire::USED_AGAIN),
    ];
    // The step of the walk over holders: a plan does not show it where it stands.
    let step =
        claims::LOST_HOLDERS.split_once("SELECT (").and_then(|(_, rest)| rest.split_once(')')).map(|(step, _)| step);
    let step = step.expect("the walk has a step").replace("holders.worker", "$1");
    let made = [
        ("next holder", step),
        ("state of a game", reads::game_by_id()),
        ("games of a player", reads::games_of_player()),
        ("lobby", reads::lobby_page()),
        ("history", reads::history_page()),
    ];
    fixed.into_iter().map(|(name, sql)| (name, sql.to_owned())).chain(made).collect()
}
