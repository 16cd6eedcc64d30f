//! Which matches a list shows: pages from the newest to the oldest, each from an index in its order.

use super::{Dialect, ID_MAX, IdBytes, Value, claims, readable, values};
use crate::checksums::Damage;
use crate::columns::{self, SeatRow, damage_of};
use crate::contract::{MatchFilter, MatchList, StoreError};
use engine::ids::MatchId;
use engine::matches::result::SeatOutcome;
use engine::rows::MatchRow;
use std::collections::BTreeMap;

/// A page of matches; in a snapshot.
pub(crate) fn page<S: Dialect>(session: &mut S, filter: &MatchFilter) -> Result<Vec<MatchRow>, StoreError> {
    let (before, limit) = (filter.before.map_or(ID_MAX, MatchId::to_bytes), filter.limit);
    let which = which(filter.list);
    match filter.list {
        MatchList::All => match_page(session, &which, limit, |limit| *values![before, limit]),
        MatchList::OfAccount(account) => match_page(session, &which, limit, |limit| *values![before, limit, account]),
        MatchList::OfBot { bot, viewer: None, .. } => {
            match_page(session, &which, limit, |limit| *values![before, limit, bot])
        }
        MatchList::OfBot { bot, viewer: Some(viewer), .. } => {
            match_page(session, &which, limit, |limit| *values![before, limit, bot, viewer])
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

/// ?1 is the cursor, ?2 the limit, ?3 the map. Few matches run at once: those of other maps are passed over.
pub(crate) fn running_public<S: Dialect>(of_map: bool) -> String {
    let is_public = S::is_set("is_public");
    let map = if of_map { "AND map = ?3" } else { "" };
    format!("{is_public} AND state = 'running' {map} AND id < ?1 ORDER BY id DESC LIMIT ?2")
}

/// ?1 and ?2 are the cursor, ?3 the limit, ?4 the map.
pub(crate) fn ended_public<S: Dialect>(of_map: bool) -> String {
    let is_public = S::is_set("is_public");
    let map = if of_map { "AND map = ?4" } else { "" };
    format!(
        "{is_public} AND ended_at IS NOT NULL {map} AND (ended_at, id) < (?1, ?2) ORDER BY ended_at DESC, id DESC LIMIT ?3"
    )
}

/// A page of matches with their seats; in a snapshot. `values` are those of the condition for at most so many.
pub(crate) fn match_page<'v, S: Dialect, const N: usize>(
    session: &mut S,
    which: &str,
    limit: usize,
    values: impl Fn(usize) -> [Value<'v>; N],
) -> Result<Vec<MatchRow>, StoreError> {
    readable(session, limit, |session, limit| match_rows(session, which, &values(limit)))
}

/// Matches with their seats; in a snapshot. A match is damaged where its row or one of its seats is.
pub(super) fn match_rows<S: Dialect>(
    session: &mut S,
    which: &str,
    values: &[Value<'_>],
) -> Result<Vec<Result<MatchRow, Damage>>, StoreError> {
    let (spec, status, result) = (columns::SPEC, columns::STATUS, columns::RESULT);
    let sql = format!("SELECT {spec}, {status}, {result} FROM {} WHERE {which}", S::MATCHES);
    let rows = session.all(&sql, values, |row| damage_of(columns::bare_match(row)))?;
    let read = || rows.iter().flatten();
    let live: Vec<IdBytes> = read().filter(|row| row.is_log_live).map(|row| row.status.id.to_bytes()).collect();
    let ids: Vec<IdBytes> = read().map(|row| row.status.id.to_bytes()).collect();
    let ends = session.log_ends(&live)?;
    let mut seats = BTreeMap::<MatchId, Result<Vec<SeatRow>, Damage>>::new();
    for (id, seat) in claims::seats(session, &ids)? {
        columns::add_of_match(seats.entry(id).or_insert_with(|| Ok(Vec::new())), seat);
    }
    let seated = rows.into_iter().map(|row| {
        let mut row = row?;
        if let Some(end) = ends.get(&row.status.id) {
            columns::fill_log_end(&mut row.status, *end);
        }
        let of_match = seats.remove(&row.status.id).unwrap_or_else(|| Ok(Vec::new()))?;
        Ok(row.seated(of_match))
    });
    Ok(seated.collect())
}
