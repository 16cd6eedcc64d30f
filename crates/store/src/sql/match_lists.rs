//! Which matches a list shows: pages from the newest to the oldest, each from an index in its order.

use super::reader::match_rows;
use super::{Dialect, ID_MAX, values};
use crate::contract::{MatchFilter, MatchList, StoreError};
use engine::ids::MatchId;
use engine::matches::result::SeatOutcome;
use engine::rows::MatchRow;

/// A page of matches; in a snapshot.
pub(crate) fn page<S: Dialect>(session: &mut S, filter: &MatchFilter) -> Result<Vec<MatchRow>, StoreError> {
    let (before, limit) = (filter.before.map_or(ID_MAX, MatchId::to_bytes), filter.limit);
    let which = which(filter.list);
    match filter.list {
        MatchList::All => match_rows(session, &which, values![before, limit]),
        MatchList::OfAccount(account) => match_rows(session, &which, values![before, limit, account]),
        MatchList::OfBot { bot, viewer: None, .. } => match_rows(session, &which, values![before, limit, bot]),
        MatchList::OfBot { bot, viewer: Some(viewer), .. } => {
            match_rows(session, &which, values![before, limit, bot, viewer])
        }
    }
}

/// Condition, order and limit: ?1 is the cursor, ?2 the limit, ?3 the account or the bot, ?4 the viewer.
pub(crate) fn which(list: MatchList) -> String {
    match list {
        MatchList::All => "id < ?1 ORDER BY id DESC LIMIT ?2".to_owned(),
        MatchList::OfAccount(_) => "account = ?3 AND id < ?1 ORDER BY id DESC LIMIT ?2".to_owned(),
        MatchList::OfBot { outcome, viewer: None, .. } => of_ids(&seats("", outcome)),
        // Two walks of an index, each as long as a page at most: of public matches, and of those that the viewer created.
        MatchList::OfBot { outcome, viewer: Some(_), .. } => {
            let public = seats("AND private_to IS NULL", outcome);
            let own = seats("AND private_to = ?4", outcome);
            of_ids(&format!(
                "SELECT match_id FROM (SELECT match_id FROM ({public}) AS public
                 UNION ALL SELECT match_id FROM ({own}) AS own) AS seen ORDER BY match_id DESC LIMIT ?2"
            ))
        }
    }
}

fn of_ids(ids: &str) -> String {
    format!("id IN ({ids}) ORDER BY id DESC")
}

/// The ids of matches in which the bot has a seat, once each. Names of outcomes are words of ours.
fn seats(viewer: &str, outcome: Option<SeatOutcome>) -> String {
    let outcome = outcome.map_or(String::new(), |outcome| format!("AND outcome = '{}'", outcome.name()));
    format!(
        "SELECT DISTINCT match_id FROM seats WHERE bot = ?3 {viewer} {outcome} AND match_id < ?1
         ORDER BY match_id DESC LIMIT ?2"
    )
}
