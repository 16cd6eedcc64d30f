//! Openings, appends and releases of a batch in few round trips, however many they are: read the tables, the leases and
//! the keys, decide here, write everything. The tables' rows and the keys are locked before.

use super::Batch;
use crate::columns::Columns;
use crate::columns::stories::{table_entry, table_snapshot};
use crate::contract::StoreError;
use crate::semantics;
use crate::sql::remembered_keys::{OF_PLAYERS, RememberedKeys};
use crate::sql::{IdBytes, RowStatement, Session as _, values};
use engine::commands::{Command, OpenTable, Outcome, TableAppend};
use engine::ids::{TableId, WorkerId};
use engine::rows::TableLogRow;
use engine::time::UnixMs;
use std::collections::{BTreeMap, BTreeSet};

/// Tables with the ends of their logs: what decides about appends. The condition ends in their ids.
pub(super) const TABLE_HEADS: &str = "
    SELECT id, worker, epoch, is_live, base_version, coalesce(last.version + 1, base_version) FROM story_tables
    LEFT JOIN LATERAL (SELECT version FROM story_log WHERE table_id = id ORDER BY version DESC LIMIT 1) AS last ON true
    WHERE id";

static NEW_HEADS: RowStatement = RowStatement::new(
    "id uuid, worker uuid, base_version bigint, is_live bool, is_bare bool",
    "INSERT INTO story_tables (id, worker, base_version, is_live, is_bare, epoch) SELECT new.*, 1 FROM {new}",
);
static CHANGED_HEADS: RowStatement = RowStatement::new(
    "id uuid, worker uuid, base_version bigint, is_live bool",
    "UPDATE story_tables AS t SET worker = new.worker, base_version = new.base_version, is_live = new.is_live
     FROM {new} WHERE t.id = new.id",
);
static ENTRIES: RowStatement = RowStatement::new(
    "table_id uuid, version bigint, data bytea, checksum bigint",
    "INSERT INTO story_log (table_id, version, data, checksum) SELECT new.* FROM {new}",
);
static SNAPSHOTS: RowStatement = RowStatement::new(
    "table_id uuid, data bytea, checksum bigint",
    "INSERT INTO story_bases (table_id, data, checksum) SELECT new.* FROM {new} WHERE true
     ON CONFLICT (table_id) DO UPDATE SET data = excluded.data, checksum = excluded.checksum",
);
static FORGOTTEN: RowStatement = RowStatement::new(
    "table_id uuid, version bigint",
    "DELETE FROM story_log AS l USING {new} WHERE l.table_id = new.table_id AND l.version < new.version",
);

/// The table that a command of [`Batch::write_tables`] is about; `None` for any other command.
pub(super) fn written_table(command: &Command) -> Option<TableId> {
    match command {
        Command::OpenTable(open) => Some(open.append.id),
        Command::AppendTable(append) => Some(append.id),
        Command::ReleaseTable { id, .. } => Some(*id),
        _ => None,
    }
}

/// A table as it is after the commands so far.
#[derive(Clone, Copy, PartialEq, Eq)]
struct TableHead {
    worker: Option<WorkerId>,
    epoch: u32,
    is_live: bool,
    base_version: u32,
    version: u32,
}

/// What decides about the commands of a run; it follows them as they are accepted.
struct TableWrites<'a> {
    before: BTreeMap<TableId, TableHead>,
    tables: BTreeMap<TableId, TableHead>,
    leases: BTreeMap<WorkerId, UnixMs>,
    keys: RememberedKeys<'a>,
    rows: Vec<(TableId, &'a TableLogRow)>,
    snapshots: BTreeMap<TableId, &'a [u8]>,
    /// Tables opened without a game.
    bare: BTreeSet<TableId>,
    indexed: Vec<&'a TableAppend>,
}

impl<'a> TableWrites<'a> {
    fn decide(&mut self, command: &'a Command) -> Outcome {
        let done = match command {
            Command::OpenTable(open) => self.open(open),
            Command::AppendTable(append) => self.append(append),
            Command::ReleaseTable { id, epoch } => self.release(*id, *epoch),
            _ => Ok(()),
        };
        done.err().unwrap_or(Outcome::Done)
    }

    fn open(&mut self, open: &'a OpenTable) -> Result<(), Outcome> {
        let OpenTable { worker, now, idempotency, append } = open;
        if self.leases.get(worker).is_none_or(|until| *until <= *now) {
            return Err(Outcome::LeaseLost);
        }
        if let Some((player, idempotency)) = idempotency {
            self.keys.outcome(player.to_bytes(), idempotency, *now).map_or(Ok(()), Err)?;
        }
        if self.tables.contains_key(&append.id) {
            return Err(Outcome::Duplicate);
        }
        semantics::check_table_opening(append)?;
        let held = TableHead { worker: Some(*worker), epoch: 1, is_live: append.is_live, base_version: 0, version: 0 };
        self.tables.insert(append.id, held);
        if !semantics::lists_a_game(append) {
            self.bare.insert(append.id);
        }
        self.add(append);
        if let Some((player, idempotency)) = idempotency {
            self.keys.remember(player.to_bytes(), idempotency, *now);
        }
        Ok(())
    }

    fn append(&mut self, append: &'a TableAppend) -> Result<(), Outcome> {
        let held = self.tables.get(&append.id).ok_or(Outcome::Fenced)?;
        semantics::check_table_writer(held.epoch, append)?;
        semantics::check_table_append(append, held.base_version, held.version)?;
        self.add(append);
        Ok(())
    }

    fn add(&mut self, append: &'a TableAppend) {
        if let Some(held) = self.tables.get_mut(&append.id) {
            held.version += append.rows.len() as u32;
            held.is_live = append.is_live;
            held.base_version = append.snapshot.as_ref().map_or(held.base_version, |base| base.version);
        }
        if let Some(base) = &append.snapshot {
            self.snapshots.insert(append.id, &base.bytes);
        }
        self.rows.extend(append.rows.iter().map(|row| (append.id, row)));
        if !append.index_changes.is_empty() {
            self.indexed.push(append);
        }
    }

    fn release(&mut self, id: TableId, epoch: u32) -> Result<(), Outcome> {
        let held = self.tables.get_mut(&id).filter(|held| held.epoch == epoch).ok_or(Outcome::Fenced)?;
        held.worker = None;
        Ok(())
    }
}

impl Batch<'_> {
    /// Openings, appends and releases.
    pub(super) fn write_tables(&mut self, commands: &[&Command]) -> Result<Vec<Outcome>, StoreError> {
        let mut writes = self.load_table_writes(commands)?;
        let outcomes = commands.iter().map(|command| writes.decide(command)).collect();
        self.write_heads(&writes)?;
        self.write_log(&writes)?;
        self.write_keys(&writes.keys)?;
        self.write_index(&writes.indexed)?;
        Ok(outcomes)
    }

    fn load_table_writes<'a>(&mut self, commands: &[&'a Command]) -> Result<TableWrites<'a>, StoreError> {
        let ids: BTreeSet<TableId> = commands.iter().filter_map(|command| written_table(command)).collect();
        let ids: Vec<IdBytes> = ids.into_iter().map(TableId::to_bytes).collect();
        let tables = self.session.all_each(TABLE_HEADS, "", &ids, |row| {
            let (id, worker) = (TableId(row.id()?), row.maybe_id()?.map(WorkerId));
            let (epoch, is_live) = (row.number()?, row.flag()?);
            let (base_version, version) = (row.number()?, row.number()?);
            Ok((id, TableHead { worker, epoch, is_live, base_version, version }))
        })?;
        let tables: BTreeMap<_, _> = tables.into_iter().collect();
        let opens = commands.iter().filter_map(|command| match command {
            Command::OpenTable(open) => Some(open),
            _ => None,
        });
        let opens: Vec<_> = opens.collect();
        let keyed = opens.iter().filter_map(|open| open.idempotency.as_ref());
        let keyed = keyed.map(|(player, idempotency)| (player.to_bytes(), idempotency));
        Ok(TableWrites {
            before: tables.clone(),
            tables,
            leases: self.leases_of(&opens)?,
            keys: self.load_keys(&OF_PLAYERS, keyed)?,
            rows: Vec::new(),
            snapshots: BTreeMap::new(),
            bare: BTreeSet::new(),
            indexed: Vec::new(),
        })
    }

    fn leases_of(&mut self, opens: &[&OpenTable]) -> Result<BTreeMap<WorkerId, UnixMs>, StoreError> {
        let workers: BTreeSet<WorkerId> = opens.iter().map(|open| open.worker).collect();
        let workers: Vec<IdBytes> = workers.into_iter().map(WorkerId::to_bytes).collect();
        let sql = "SELECT id, lease_until FROM workers WHERE NOT is_given_up AND id";
        let leases = self.session.all_each(sql, "", &workers, |row| Ok((WorkerId(row.id()?), row.time()?)))?;
        Ok(leases.into_iter().collect())
    }

    /// Of tables that were there, only those of which the row itself changed.
    fn write_heads(&mut self, writes: &TableWrites<'_>) -> Result<(), StoreError> {
        let new = writes.tables.iter().filter(|(id, _)| !writes.before.contains_key(id));
        let new =
            new.map(|(id, held)| *values![*id, held.worker, held.base_version, held.is_live, writes.bare.contains(id)]);
        self.session.run_rows(&NEW_HEADS, new)?;
        let row = |held: &TableHead| TableHead { version: 0, ..*held };
        let is_changed =
            |(id, held): &(&TableId, &TableHead)| writes.before.get(id).is_some_and(|before| row(before) != row(held));
        let changed = writes.tables.iter().filter(is_changed);
        let changed = changed.map(|(id, held)| *values![*id, held.worker, held.base_version, held.is_live]);
        self.session.run_rows(&CHANGED_HEADS, changed)?;
        Ok(())
    }

    /// Entries that are under a base already are not written at all.
    fn write_log(&mut self, writes: &TableWrites<'_>) -> Result<(), StoreError> {
        let base_of = |id: &TableId| writes.tables.get(id).map_or(0, |held| held.base_version);
        let kept = writes.rows.iter().filter(|(id, row)| row.version >= base_of(id));
        let kept = kept.map(|(id, row)| {
            *values![*id, row.version, &row.bytes, table_entry(*id, row.version).checksum(&row.bytes)]
        });
        self.session.run_rows(&ENTRIES, kept)?;
        let snapshots =
            writes.snapshots.iter().map(|(id, bytes)| *values![*id, *bytes, table_snapshot(*id).checksum(bytes)]);
        self.session.run_rows(&SNAPSHOTS, snapshots)?;
        let bases = writes.snapshots.keys().map(|id| *values![*id, base_of(id)]);
        self.session.run_rows(&FORGOTTEN, bases)?;
        Ok(())
    }
}
