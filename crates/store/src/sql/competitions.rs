//! Competitions: their rows, their logs, and the results of their matches, which are numbered in the order of their commits. Where nodes
//! share the database, the rows of competitions that commands name are locked before; those of ended matches are written last of all,
//! so that nodes hold them only for the moment of the commit.

use super::remembered_keys::OF_ACCOUNTS;
use super::{Batch, Dialect, IdBytes, RowStatement, Session, Value, skip_locked, values};
use crate::columns::{self, COMPETITION, Columns, RESULT_OF_COMPETITION};
use crate::contract::{CompetitionFilter, StoreError};
use engine::commands::{AddMatches, Advance, CompetitionCommand, Idempotency, Outcome};
use engine::competitions::{CompetitionResult, CompetitionRow, CompetitionStatus, MatchOrigin, ResultSummary};
use engine::ids::{BotId, CompetitionId, MatchId};
use engine::matches::lifecycle::MatchState;
use engine::matches::result::MatchResult;
use engine::time::UnixMs;
use std::collections::{BTreeMap, BTreeSet};

static LOG_ROWS: RowStatement = RowStatement::new(
    "competition uuid, version bigint, data bytea, checksum bigint",
    "INSERT INTO competition_log (competition, version, data, checksum) SELECT new.* FROM {new}",
);
static RESULT_ROWS: RowStatement = RowStatement::new(
    "competition uuid, number bigint, match_id uuid, key bigint, ended_at bigint, ending text, data bytea, checksum bigint",
    "INSERT INTO competition_results (competition, number, match_id, key, ended_at, ending, data, checksum) SELECT new.* FROM {new}",
);
/// Makes room for ?2 results more; the number of the last one.
const NUMBER_RESULTS: &str = "UPDATE competitions SET results = results + ?2 WHERE id = ?1 RETURNING results";
const BOTS: &str = "SELECT bot FROM seats WHERE match_id = ?1 ORDER BY seat";
pub(crate) const LIVE_COUNT: &str =
    "SELECT count(*) FROM competitions WHERE account = ?1 AND kind = ?2 AND ended_at IS NULL";
pub(crate) const LOG: &str = "
    SELECT version, data, checksum FROM competition_log WHERE competition = ?1 AND version >= ?2 ORDER BY version LIMIT ?3";

/// Results after number ?2.
pub(crate) fn results_page() -> String {
    format!(
        "SELECT {RESULT_OF_COMPETITION} FROM competition_results WHERE competition = ?1 AND number > ?2
         ORDER BY number LIMIT ?3"
    )
}

pub(crate) fn by_id() -> String {
    format!("SELECT {COMPETITION} FROM competitions WHERE id = ?1")
}

pub(crate) fn public_page<S: Dialect>() -> String {
    let is_public = S::is_set("is_public");
    format!(
        "SELECT {COMPETITION} FROM competitions WHERE kind = ?1 AND id < ?2 AND {is_public} ORDER BY id DESC LIMIT ?3"
    )
}

pub(crate) fn of_account() -> String {
    format!(
        "SELECT {COMPETITION} FROM competitions WHERE kind = ?1 AND id < ?2 AND account = ?4 ORDER BY id DESC LIMIT ?3"
    )
}

/// Competitions of kind ?1 that are due at ?2, behind the one of id ?4 that was due at ?3.
pub(crate) fn due() -> String {
    format!(
        "SELECT {COMPETITION} FROM competitions WHERE kind = ?1 AND due_at <= ?2 AND (due_at, id) > (?3, ?4)
         ORDER BY due_at, id LIMIT ?5"
    )
}

/// Competitions of kind ?1 after ?2 with results that are not applied.
pub(crate) fn unapplied() -> String {
    format!(
        "SELECT {COMPETITION} FROM competitions WHERE kind = ?1 AND id > ?2 AND results_applied < results
         ORDER BY id LIMIT ?3"
    )
}

/// Running competitions of kind ?1 after ?2, at most ?3.
pub(crate) fn running_page() -> String {
    format!(
        "SELECT {COMPETITION} FROM competitions WHERE kind = ?1 AND id > ?2 AND status = 'running' ORDER BY id LIMIT ?3"
    )
}

/// Matches of competition ?1 older than ?2, at most ?3: all, or those that have not ended.
pub(crate) fn matches_of(is_live: bool) -> &'static str {
    if is_live {
        "competition = ?1 AND id < ?2 AND ended_at IS NULL ORDER BY id DESC LIMIT ?3"
    } else {
        "competition = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3"
    }
}

/// Live matches of competitions behind ?1, of kind ?2, with a registered bot that is gone; at most ?3. By the index of what is live: it costs as
/// much as that is.
pub(crate) const OF_DELETED_BOTS: &str = "
    SELECT m.id FROM matches m WHERE m.competition > ?1 AND m.ended_at IS NULL AND m.competition_kind = ?2
       AND EXISTS (SELECT 1 FROM seats s WHERE s.match_id = m.id AND s.account IS NOT NULL
         AND NOT EXISTS (SELECT 1 FROM bots b WHERE b.id = s.bot))
    LIMIT ?3";

/// Duels and tournaments that ended before ?1 and have no match under way, oldest end first.
pub(crate) fn old<S: Dialect>() -> String {
    let lock = skip_locked::<S>("FOR UPDATE OF c");
    format!(
        "SELECT c.id FROM competitions c WHERE c.ended_at < ?1 AND c.kind <> 'ladder' AND (
             SELECT true FROM matches m WHERE m.competition = c.id AND m.ended_at IS NULL LIMIT 1) IS NULL
         ORDER BY c.ended_at, c.id LIMIT ?2 {lock}"
    )
}

/// The result of a match that ends in this batch; its number is given last of all.
pub(crate) struct PendingResult {
    origin: MatchOrigin,
    match_id: MatchId,
    ending: MatchState,
    ended_at: UnixMs,
    data: Vec<u8>,
}

impl<S: Dialect> Batch<'_, S> {
    pub(crate) fn competition(&mut self, command: &CompetitionCommand) -> Result<Outcome, StoreError> {
        match command {
            CompetitionCommand::Create { row, live_max, idempotency } => {
                self.create_competition(row, *live_max, idempotency.as_ref())
            }
            CompetitionCommand::Advance(advance) => self.advance_competition(advance),
            CompetitionCommand::AddMatches(add) => self.add_matches(add),
            CompetitionCommand::Retire { now, keep_for, max } => self.retire_competitions(now.minus(*keep_for), *max),
        }
    }

    fn create_competition(
        &mut self,
        row: &CompetitionRow,
        live_max: usize,
        idempotency: Option<&Idempotency>,
    ) -> Result<Outcome, StoreError> {
        if !self.has_account(row.account)? {
            return Ok(Outcome::NotFound);
        }
        let account = row.account.to_bytes();
        let mut keys = self.load_keys(&OF_ACCOUNTS, idempotency.into_iter().map(|request| (account, request)))?;
        if let Some(request) = idempotency {
            if let Some(outcome) = keys.outcome(account, request, row.created_at) {
                return Ok(outcome);
            }
            keys.remember(account, request, row.created_at);
        }
        if by_id_of(self.session, row.id)?.is_some() {
            return Ok(Outcome::Duplicate);
        }
        let kind = row.kind.name();
        let live = self.session.first(LIVE_COUNT, values![row.account, kind], |row| row.number::<usize>())?;
        if live.unwrap_or_default() >= live_max {
            return Ok(Outcome::LimitReached);
        }
        self.session.run(
            "INSERT INTO competitions (id, kind, account, name, definition, status, is_public, created_at, due_at, checksum)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
            values![
                row.id,
                kind,
                row.account,
                &row.name,
                &row.definition,
                row.status.name(),
                row.is_public,
                row.created_at,
                row.due_at,
                columns::competitions::definition(row.id).checksum(&row.definition),
            ],
        )?;
        self.write_keys(&keys)?;
        Ok(Outcome::Done)
    }

    pub(super) fn advance_competition(&mut self, advance: &Advance) -> Result<Outcome, StoreError> {
        let Some(row) = by_id_of(self.session, advance.id)? else { return Ok(Outcome::NotFound) };
        let have = (row.version, row.results_applied, row.repairs);
        if have != (advance.expected_version, advance.expected_results_applied, advance.expected_repairs) {
            return Ok(Outcome::VersionConflict(row.version));
        }
        if !advance.matches.is_empty() {
            let created = self.create_all(&[&advance.creation()])?;
            if let Some(refusal) = created.into_iter().find(|outcome| *outcome != Outcome::Done) {
                return Ok(refusal);
            }
        }
        let entries = advance.entries.iter().zip(row.version..);
        let entries = entries.map(|(data, version)| {
            *values![
                advance.id,
                version,
                data,
                columns::competitions::competition_entry(advance.id, version).checksum(data)
            ]
        });
        self.session.run_rows(&LOG_ROWS, entries)?;
        let is_running = advance.status == CompetitionStatus::Running;
        let started_at = row.started_at.or(is_running.then_some(advance.now));
        let ended_at = advance.status.is_ended().then(|| row.ended_at.unwrap_or(advance.now));
        self.session.run(
            "UPDATE competitions SET version = version + ?2, results_applied = ?3, status = ?4, started_at = ?5,
               ended_at = ?6, due_at = ?7, matches_created = matches_created + ?8
             WHERE id = ?1",
            values![
                advance.id,
                advance.entries.len(),
                advance.results_applied as i64,
                advance.status.name(),
                started_at,
                ended_at,
                advance.due_at,
                advance.matches.len()
            ],
        )?;
        Ok(Outcome::Done)
    }

    fn add_matches(&mut self, add: &AddMatches) -> Result<Outcome, StoreError> {
        let row = by_id_of(self.session, add.id)?.filter(|row| row.status == CompetitionStatus::Running);
        let Some(row) = row else { return Ok(Outcome::NotFound) };
        if row.matches_created != add.expected_matches_created {
            return Ok(Outcome::VersionConflict(row.version));
        }
        let created = self.create_all(&[&add.creation()])?;
        if let Some(refusal) = created.into_iter().find(|outcome| *outcome != Outcome::Done) {
            return Ok(refusal);
        }
        let count = "UPDATE competitions SET matches_created = matches_created + ?2 WHERE id = ?1";
        self.session.run(count, values![add.id, add.matches.len()])?;
        Ok(Outcome::Done)
    }

    fn retire_competitions(&mut self, ended_before: UnixMs, max: usize) -> Result<Outcome, StoreError> {
        let old = self.session.all(&old::<S>(), values![ended_before, max], |row| row.id_bytes())?;
        for table in ["competition_results", "competition_log"] {
            self.session.run_each(&format!("DELETE FROM {table} WHERE competition"), &old, &[])?;
        }
        self.session.run_each("DELETE FROM competitions WHERE id", &old, &[])?;
        Ok(Outcome::Retired(old.len()))
    }

    /// A match has ended, with a result or without: if it was played for a competition, that gets to know it.
    pub(crate) fn record_result(
        &mut self,
        match_id: MatchId,
        origin: Option<MatchOrigin>,
        ending: MatchState,
        result: Option<&MatchResult>,
        ended_at: UnixMs,
    ) -> Result<(), StoreError> {
        let Some(origin) = origin else { return Ok(()) };
        let bots = self.session.all(BOTS, values![match_id], |row| row.id().map(BotId))?;
        let data = ResultSummary::new(&bots, result).encode();
        self.results.push(PendingResult { origin, match_id, ending, ended_at, data });
        Ok(())
    }

    /// Numbers the results of this batch. All nodes write the rows of competitions in one order.
    pub(crate) fn write_results(&mut self) -> Result<(), StoreError> {
        let results = std::mem::take(&mut self.results);
        let mut by_competition = BTreeMap::<CompetitionId, Vec<&PendingResult>>::new();
        for result in &results {
            by_competition.entry(result.origin.competition).or_default().push(result);
        }
        for (id, results) in by_competition {
            let count = results.len() as u64;
            let last = self.session.first(NUMBER_RESULTS, values![id, results.len()], |row| row.number::<u64>())?;
            let Some(last) = last else { continue };
            let rows = results.iter().zip(last + 1 - count..).map(|(result, number)| {
                let key = result.origin.key as i64;
                let checksum = columns::competitions::result(id, number).checksum(&result.data);
                *values![
                    id,
                    number as i64,
                    result.match_id,
                    key,
                    result.ended_at,
                    result.ending.name(),
                    &result.data,
                    checksum
                ]
            });
            self.session.run_rows(&RESULT_ROWS, rows)?;
        }
        Ok(())
    }
}

/// See [`crate::testing::RecordUnplayed`]; the transaction is the caller's.
#[cfg(feature = "testing")]
pub(crate) fn record_unplayed<S: Dialect>(
    session: &mut S,
    ladder: CompetitionId,
    results: &[CompetitionResult],
) -> Result<(), StoreError> {
    let mut batch = Batch::new(session);
    let pending = |result: &CompetitionResult| PendingResult {
        origin: MatchOrigin {
            kind: engine::competitions::CompetitionKind::Ladder,
            competition: ladder,
            key: result.key,
        },
        match_id: result.match_id,
        ending: result.ending,
        ended_at: result.ended_at,
        data: result.summary.encode(),
    };
    batch.results = results.iter().map(pending).collect();
    batch.write_results()?;
    let count = "UPDATE competitions SET matches_created = matches_created + ?2 WHERE id = ?1";
    batch.session.run(count, values![ladder, results.len()])?;
    Ok(())
}

pub(super) fn by_id_of(session: &mut impl Session, id: CompetitionId) -> Result<Option<CompetitionRow>, StoreError> {
    session.first(&by_id(), values![id], |row| columns::competition(row))
}

/// Those of these that there are and that can be read.
pub(super) fn of_ids(session: &mut impl Session, ids: &[CompetitionId]) -> Result<Vec<CompetitionRow>, StoreError> {
    let ids = Vec::from_iter(ids.iter().map(|id| id.to_bytes()).collect::<BTreeSet<IdBytes>>());
    let sql = format!("SELECT {COMPETITION} FROM competitions WHERE id");
    session.list_each(&sql, "ORDER BY id", &ids, |row, _| columns::competition(row))
}

/// The first competitions of a list that can be read.
pub(super) fn list<'v, S: Session, const N: usize>(
    session: &mut S,
    sql: &str,
    limit: usize,
    values: impl Fn(usize) -> [Value<'v>; N],
) -> Result<Vec<CompetitionRow>, StoreError> {
    session.page(sql, limit, values, |row, _| columns::competition(row))
}

pub(super) fn log(
    session: &mut impl Session,
    id: CompetitionId,
    from: u32,
    limit: usize,
) -> Result<Vec<Vec<u8>>, StoreError> {
    session.all(LOG, values![id, from, limit], |row| {
        let version = row.number()?;
        row.verified(columns::competitions::competition_entry(id, version))
    })
}

pub(super) fn page<S: Dialect>(session: &mut S, filter: &CompetitionFilter) -> Result<Vec<CompetitionRow>, StoreError> {
    let before = filter.before.map_or(super::ID_MAX, CompetitionId::to_bytes);
    let (kind, limit) = (filter.kind.name(), filter.limit);
    match filter.account {
        Some(account) => list(session, &of_account(), limit, |limit| *values![kind, before, limit, account]),
        None => list(session, &public_page::<S>(), limit, |limit| *values![kind, before, limit]),
    }
}

pub(super) fn results(
    session: &mut impl Session,
    id: CompetitionId,
    after: u64,
    limit: usize,
) -> Result<Vec<CompetitionResult>, StoreError> {
    session.all(&results_page(), values![id, after as i64, limit], |row| columns::competition_result(row, id))
}

/// The queries about competitions, by name, to inspect their plans.
#[cfg(test)]
pub(crate) fn queries<S: Dialect>() -> Vec<(&'static str, String)> {
    vec![
        ("live competitions of an account", LIVE_COUNT.to_owned()),
        ("log of a competition", LOG.to_owned()),
        ("results of a competition", results_page()),
        ("competition", by_id()),
        ("public competitions", public_page::<S>()),
        ("competitions of an account", of_account()),
        ("competitions that are due", due()),
        ("competitions with results", unapplied()),
        ("running competitions", running_page()),
        ("matches of deleted bots", OF_DELETED_BOTS.to_owned()),
        ("old competitions", old::<S>()),
    ]
}
