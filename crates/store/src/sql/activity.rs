//! What goes on in public, in numbers. Each query walks an index and ends at its bound: they run every second while a viewer looks.

use super::match_lists::running_public;
use super::{Dialect, ID_MAX, Session, Value, values};
use crate::columns::Columns;
use crate::contract::StoreError;
use engine::rows::{PUBLIC_ACTIVITY_WINDOW, PUBLIC_COUNT_MAX, PublicActivity};
use engine::time::UnixMs;

/// Matches of the queue, from its front, of which those that are public are counted: no index knows which are.
const QUEUE_SCANNED_MAX: usize = 1_000;
/// Ladders whose results are counted: those that are open longest.
const LADDERS_MAX: usize = 20;
/// Results of one ladder that are counted: the newest.
const RESULTS_PER_LADDER_MAX: usize = 1_000;

/// ?1 and ?2 as for [`running_public`].
pub(crate) fn running<S: Dialect>() -> String {
    format!("SELECT count(*) FROM (SELECT id FROM matches WHERE {}) AS running", running_public::<S>(false))
}

/// From the front of the queue, at most ?1.
pub(crate) fn waiting<S: Dialect>() -> String {
    format!(
        "SELECT count(*) FROM (
             SELECT is_public FROM matches WHERE state = 'waiting' ORDER BY fair_tag, id LIMIT ?1) AS next
         WHERE {}",
        S::is_set("is_public")
    )
}

/// Since ?1, at most ?2.
pub(crate) fn ended<S: Dialect>() -> String {
    format!(
        "SELECT count(*) FROM (
             SELECT id FROM matches WHERE {} AND ended_at IS NOT NULL AND ended_at >= ?1
             ORDER BY ended_at DESC, id DESC LIMIT ?2) AS ended",
        S::is_set("is_public")
    )
}

/// At most ?1.
pub(crate) fn stories<S: Dialect>() -> String {
    let is_live = S::is_set("is_live");
    // The order is that of the index: without one PostgreSQL may read the whole table.
    format!("SELECT count(*) FROM (SELECT worker FROM story_tables WHERE {is_live} ORDER BY worker LIMIT ?1) AS live")
}

/// How many, who has joined, free seats; at most ?1 games.
pub(crate) const OPEN_STORIES: &str = "
    SELECT count(*), CAST(coalesce(sum(players), 0) AS BIGINT), CAST(coalesce(sum(players_max - players), 0) AS BIGINT)
    FROM (SELECT players, players_max FROM story_games
          WHERE phase IN ('create', 'invitation') AND players < players_max
          ORDER BY created_at DESC, table_id DESC, number DESC LIMIT ?1) AS open";

/// At most ?1.
pub(crate) fn ladders<S: Dialect>() -> String {
    format!(
        "SELECT count(*) FROM (
             SELECT id FROM competitions WHERE kind = 'ladder' AND status = 'running' AND {} ORDER BY id LIMIT ?1) AS open",
        S::is_set("is_public")
    )
}

/// Results since ?1 of at most ?2 ladders, at most ?3 of each. Results are in the order in which they were saved, so that a ladder whose last
/// one is older has none.
pub(crate) fn rated<S: Dialect>() -> String {
    format!(
        "SELECT count(*) FROM (
             SELECT c.id, c.results_applied FROM competitions c
             WHERE c.kind = 'ladder' AND c.status = 'running' AND {}
               AND (SELECT l.ended_at FROM competition_results l
                    WHERE l.competition = c.id AND l.number = c.results_applied) >= ?1
             ORDER BY c.id LIMIT ?2) AS active
         {} competition_results r ON r.competition = active.id
             AND r.number > active.results_applied - ?3 AND r.number <= active.results_applied
         WHERE r.ended_at >= ?1 AND r.ending = 'finished'",
        S::is_set("c.is_public"),
        S::JOIN_IN_ORDER
    )
}

/// In a snapshot.
pub(crate) fn public<S: Dialect>(session: &mut S, now: UnixMs) -> Result<PublicActivity, StoreError> {
    let since = now.minus(PUBLIC_ACTIVITY_WINDOW);
    let mut activity = PublicActivity {
        matches_running: count(session, &running::<S>(), values![ID_MAX, PUBLIC_COUNT_MAX])?,
        matches_waiting: count(session, &waiting::<S>(), values![QUEUE_SCANNED_MAX])?,
        matches_ended: count(session, &ended::<S>(), values![since, PUBLIC_COUNT_MAX])?,
        stories: count(session, &stories::<S>(), values![PUBLIC_COUNT_MAX])?,
        ladders: count(session, &ladders::<S>(), values![PUBLIC_COUNT_MAX])?,
        ladder_matches_rated: count(session, &rated::<S>(), values![since, LADDERS_MAX, RESULTS_PER_LADDER_MAX])?,
        ..PublicActivity::default()
    };
    let open = session.first(OPEN_STORIES, values![PUBLIC_COUNT_MAX], |row| {
        Ok([row.number::<u64>()?, row.number()?, row.number()?])
    })?;
    [activity.open_stories, activity.open_stories_players, activity.open_stories_seats] = open.unwrap_or_default();
    Ok(activity)
}

fn count(session: &mut impl Session, sql: &str, values: &[Value<'_>]) -> Result<u64, StoreError> {
    Ok(session.first(sql, values, |row| row.number())?.unwrap_or_default())
}

/// The queries by name, to inspect their plans.
#[cfg(test)]
pub(crate) fn queries<S: Dialect>() -> Vec<(&'static str, String)> {
    vec![
        ("public matches that run", running::<S>()),
        ("public matches that wait", waiting::<S>()),
        ("public matches that ended", ended::<S>()),
        ("stories", stories::<S>()),
        ("open stories", OPEN_STORIES.to_owned()),
        ("open ladders", ladders::<S>()),
        ("matches that were rated", rated::<S>()),
    ]
}
