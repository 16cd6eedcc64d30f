//! What the two stores have in common: statements that both databases understand, with the rules that stand around them.
//! A store brings a [`Session`], a connection with its prepared statements, and its [`Dialect`]. Placeholders are
//! written `?1`, as SQLite has them.

pub(crate) mod account_deletion;
pub(crate) mod accounts;
pub(crate) mod activity;
pub(crate) mod audit;
pub(crate) mod bans;
mod batch;
pub(crate) mod bot_health;
pub(crate) mod checked_rows;
pub(crate) mod claims;
pub(crate) mod codes;
pub(crate) mod competitions;
pub(crate) mod creations;
pub(crate) mod game_index;
pub(crate) mod game_retirement;
pub(crate) mod guest_retirement;
pub(crate) mod ladders;
pub(crate) mod last_admin;
pub(crate) mod leaders;
pub(crate) mod leases;
mod limit_rules;
pub(crate) mod match_lists;
mod match_logs;
pub(crate) mod matches;
pub(crate) mod nodes;
pub(crate) mod reader;
pub(crate) mod remembered_keys;
pub(crate) mod retire;
mod rows;
pub(crate) mod tables;
mod value;
pub(crate) mod waiting;
pub(crate) mod worlds;

pub(crate) use batch::Batch;
pub(crate) use rows::RowStatement;
pub(crate) use value::{Value, values};

use crate::checksums::Damage;
use crate::columns::{Columns, LogEnd, damage_of};
use crate::contract::StoreError;
use engine::ids::MatchId;
use matches::WriteFence;
use std::collections::BTreeMap;

/// The bytes of an id.
pub(crate) type IdBytes = [u8; 16];
/// Before every id in use.
pub(crate) const ID_MIN: IdBytes = [0; 16];
/// After every id in use.
pub(crate) const ID_MAX: IdBytes = [0xff; 16];

/// A connection to a database, and the few kinds of statements that it runs.
pub(crate) trait Session {
    type Row<'r>: Columns;

    /// Runs a statement; how many rows it changed.
    fn run(&mut self, sql: &str, values: &[Value<'_>]) -> Result<usize, StoreError>;

    /// All rows of a query.
    fn all<T>(
        &mut self,
        sql: &str,
        values: &[Value<'_>],
        read: impl FnMut(&mut Self::Row<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError>;

    /// The first row of a query, if there is one.
    fn first<T>(
        &mut self,
        sql: &str,
        values: &[Value<'_>],
        read: impl FnMut(&mut Self::Row<'_>) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError>;

    /// Whether a query has any row.
    #[cfg_attr(feature = "testing", track_caller)]
    fn exists(&mut self, sql: &str, values: &[Value<'_>]) -> Result<bool, StoreError> {
        Ok(self.first(sql, values, |_| Ok(()))?.is_some())
    }

    /// Runs a statement that ends in the column of an id for each of these ids, which are ?1; how many rows it changed.
    fn run_each(&mut self, sql: &str, ids: &[IdBytes], values: &[Value<'_>]) -> Result<usize, StoreError>;

    /// The rows of a statement that ends, but for `rest`, in the column of an id, for each of these ids.
    fn all_each<T>(
        &mut self,
        sql: &str,
        rest: &str,
        ids: &[IdBytes],
        read: impl FnMut(&mut Self::Row<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError>;

    /// The rows that one of these workers holds, or none, of a query that ends, but for `rest`, in what must hold of `worker`. Other
    /// values begin at ?2, and where `rest` orders or limits, that is for each worker where the database is asked for each.
    fn all_of_workers<T>(
        &mut self,
        sql: &str,
        rest: &str,
        workers: &[IdBytes],
        values: &[Value<'_>],
        read: impl FnMut(&mut Self::Row<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError>;

    /// Runs a statement for these rows; how many rows it changed.
    fn run_rows<'v, const N: usize>(
        &mut self,
        statement: &RowStatement,
        rows: impl Iterator<Item = [Value<'v>; N]>,
    ) -> Result<usize, StoreError>;

    /// What a statement returns for these rows.
    fn all_rows<'v, const N: usize, T>(
        &mut self,
        statement: &RowStatement,
        rows: impl Iterator<Item = [Value<'v>; N]>,
        read: impl FnMut(&mut Self::Row<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError>;

    /// Keeps damage that was passed over, to be reported.
    fn note_damages(&mut self, damages: Vec<Damage>);

    /// Those of these rows that can be read; the others are noted.
    fn note_unreadable<T>(&mut self, rows: impl IntoIterator<Item = Result<T, Damage>>) -> Vec<T> {
        let mut damages = Vec::new();
        let readable = rows.into_iter().filter_map(|row| row.map_err(|damage| damages.push(damage)).ok()).collect();
        self.note_damages(damages);
        readable
    }

    /// All rows of a list that can be read. The others are left out and noted, as is what a row is shown without.
    fn list<T>(
        &mut self,
        sql: &str,
        values: &[Value<'_>],
        mut read: impl FnMut(&mut Self::Row<'_>, &mut Vec<Damage>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let mut damages = Vec::new();
        let rows = self.all(sql, values, |row| damage_of(read(row, &mut damages)))?;
        self.note_damages(damages);
        Ok(self.note_unreadable(rows))
    }

    /// The same of [`Session::all_each`].
    fn list_each<T>(
        &mut self,
        sql: &str,
        rest: &str,
        ids: &[IdBytes],
        mut read: impl FnMut(&mut Self::Row<'_>, &mut Vec<Damage>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let mut damages = Vec::new();
        let rows = self.all_each(sql, rest, ids, |row| damage_of(read(row, &mut damages)))?;
        self.note_damages(damages);
        Ok(self.note_unreadable(rows))
    }

    /// The first `limit` rows of a list that can be read: see [`readable`]. `values` are those of a query for at most so many rows.
    fn page<'v, const N: usize, T>(
        &mut self,
        sql: &str,
        limit: usize,
        values: impl Fn(usize) -> [Value<'v>; N],
        mut read: impl FnMut(&mut Self::Row<'_>, &mut Vec<Damage>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError>
    where
        Self: Sized,
    {
        let mut damages = Vec::new();
        let rows = readable(self, limit, |session, limit| {
            session.all(sql, &values(limit), |row| damage_of(read(row, &mut damages)))
        })?;
        self.note_damages(damages);
        Ok(rows)
    }

    /// Several queries of one moment.
    fn snapshot<T>(&mut self, query: impl FnOnce(&mut Self) -> Result<T, StoreError>) -> Result<T, StoreError>;
}

/// What a database says or does in its own way.
pub(crate) trait Dialect: Session {
    /// Joins tables in the order in which they are written, where the database has a word for it.
    const JOIN_IN_ORDER: &'static str;
    /// Matches with the ends of their logs; those of live logs are null where [`Dialect::log_ends`] looks them up.
    const MATCHES: &'static str;
    /// Orders and compares texts by their bytes.
    const BY_BYTES: &'static str;
    /// Whether other nodes write at the same time, so that rows must be locked.
    const HAS_ROW_LOCKS: bool;

    /// Whether a flag is set, as the conditions of indexes word it.
    fn is_set(flag: &str) -> String;

    /// The counters after the last entries of live logs.
    fn log_ends(&mut self, ids: &[IdBytes]) -> Result<BTreeMap<MatchId, LogEnd>, StoreError>;

    /// What a writer's commands are held against; `None` for an unknown match.
    fn write_fence(&mut self, id: MatchId) -> Result<Option<WriteFence>, StoreError>;

    /// Puts an archive in the place of a match's log.
    fn replace_log(&mut self, id: MatchId, archive: &[u8]) -> Result<(), StoreError>;

    /// Marks the seats of games that have ended, those of the winners as won. A row of a seat is its game's with the player.
    fn end_seats<'v>(
        &mut self,
        games: impl Iterator<Item = [Value<'v>; 2]>,
        won: impl Iterator<Item = [Value<'v>; 3]>,
    ) -> Result<(), StoreError>;

    /// The first rows that one of these workers holds, or none, in the order of their ids, which are read first.
    #[cfg_attr(feature = "testing", track_caller)]
    fn held_by<T: Ord>(
        &mut self,
        sql: &str,
        workers: &[IdBytes],
        max: usize,
        read: impl FnMut(&mut Self::Row<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError>
    where
        Self: Sized,
    {
        let rest = format!("ORDER BY id LIMIT ?2 {}", skip_locked::<Self>("FOR NO KEY UPDATE"));
        let mut held = self.all_of_workers(sql, &rest, workers, values![max], read)?;
        held.sort_unstable();
        held.truncate(max);
        Ok(held)
    }
}

/// Of a page whose rows are damaged, so many times as many rows are read at most.
const PAGE_GROWTH_MAX: usize = 8;

/// The first `limit` rows of a list that can be read. Rows that are damaged are noted, and those behind them take their places: a page that has
/// fewer rows than it may is the last one. `first` reads at most so many rows, from the same one on each time.
pub(crate) fn readable<S: Session, T>(
    session: &mut S,
    limit: usize,
    mut first: impl FnMut(&mut S, usize) -> Result<Vec<Result<T, Damage>>, StoreError>,
) -> Result<Vec<T>, StoreError> {
    let read_max = limit.saturating_mul(PAGE_GROWTH_MAX);
    let mut wanted = limit;
    loop {
        let rows = first(session, wanted)?;
        let damaged = rows.iter().filter(|row| row.is_err()).count();
        if damaged == 0 || rows.len() < wanted || rows.len() - damaged >= limit || wanted == read_max {
            let mut readable = session.note_unreadable(rows);
            readable.truncate(limit);
            return Ok(readable);
        }
        wanted = limit.saturating_add(2 * damaged).min(read_max);
    }
}

/// The end of a query whose rows are written next: rows that another node holds are left for the next call.
pub(crate) fn skip_locked<S: Dialect>(lock: &str) -> String {
    if S::HAS_ROW_LOCKS { format!("{lock} SKIP LOCKED") } else { String::new() }
}
