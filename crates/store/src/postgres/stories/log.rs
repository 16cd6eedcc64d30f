//! Openings, appends and releases of a batch in few round trips, however many they are: read the tables, the leases and
//! the keys, decide here, write everything. The tables' rows and the keys are locked before.

use super::awards::Awards;
use super::index::Waves;
use crate::columns::Columns;
use crate::contract::StoreError;
use crate::postgres::Batch;
use crate::postgres::session::PgId;
use crate::semantics;
use crate::sql::remembered_keys::{OF_PLAYERS, RememberedKeys};
use engine::commands::{Command, OpenTable, Outcome, TableAppend};
use engine::ids::{TableId, WorkerId};
use engine::rows::TableLogRow;
use engine::time::UnixMs;
use std::collections::{BTreeMap, BTreeSet};

/// Tables with the ends of their logs: what decides about appends.
pub(super) const TABLE_HEADS: &str = "
    SELECT id, worker, epoch, is_live, base_version, coalesce(last.version + 1, base_version) FROM story_tables
    LEFT JOIN LATERAL (SELECT version FROM story_log WHERE table_id = id ORDER BY version DESC LIMIT 1) AS last ON true
    WHERE id = ANY ($1)";

/// The table that a command of [`Batch::write_tables`] is about; `None` for any other command.
pub(in crate::postgres) fn written_table(command: &Command) -> Option<TableId> {
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
    pub(in crate::postgres) fn write_tables(
        &mut self,
        commands: &[&Command],
        awards: &mut Awards,
    ) -> Result<Vec<Outcome>, StoreError> {
        let mut writes = self.load_table_writes(commands)?;
        let outcomes = commands.iter().map(|command| writes.decide(command)).collect();
        self.insert_tables(&writes)?;
        self.update_tables(&writes)?;
        self.write_table_rows(&writes)?;
        self.write_snapshots(&writes)?;
        self.write_keys(&writes.keys)?;
        for wave in Waves::of(&writes.indexed) {
            self.write_wave(&wave)?;
        }
        for append in &writes.indexed {
            awards.add(append);
        }
        Ok(outcomes)
    }

    fn load_table_writes<'a>(&mut self, commands: &[&'a Command]) -> Result<TableWrites<'a>, StoreError> {
        let ids: BTreeSet<TableId> = commands.iter().filter_map(|command| written_table(command)).collect();
        let ids: Vec<PgId> = ids.into_iter().map(|id| PgId(id.0)).collect();
        let tables = self.session.query(TABLE_HEADS, &[&ids], |row| {
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
        if workers.is_empty() {
            return Ok(BTreeMap::new());
        }
        let workers: Vec<PgId> = workers.into_iter().map(|id| PgId(id.0)).collect();
        let sql = "SELECT id, lease_until FROM workers WHERE id = ANY ($1) AND NOT is_given_up";
        let leases = self.session.query(sql, &[&workers], |row| Ok((WorkerId(row.id()?), row.time()?)))?;
        Ok(leases.into_iter().collect())
    }

    fn insert_tables(&mut self, writes: &TableWrites<'_>) -> Result<(), StoreError> {
        let new = writes.tables.iter().filter(|(id, _)| !writes.before.contains_key(id));
        let new: Vec<_> = new.collect();
        if new.is_empty() {
            return Ok(());
        }
        let ids: Vec<_> = new.iter().map(|(id, _)| PgId(id.0)).collect();
        let workers: Vec<_> = new.iter().map(|(_, held)| held.worker.map(|worker| PgId(worker.0))).collect();
        let bases: Vec<_> = new.iter().map(|(_, held)| i64::from(held.base_version)).collect();
        let live: Vec<_> = new.iter().map(|(_, held)| held.is_live).collect();
        let bare: Vec<_> = new.iter().map(|(id, _)| writes.bare.contains(id)).collect();
        self.session.execute(
            "INSERT INTO story_tables (id, worker, epoch, base_version, is_live, is_bare)
             SELECT id, worker, 1, base_version, is_live, is_bare
             FROM unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::bool[], $5::bool[])
               AS new (id, worker, base_version, is_live, is_bare)",
            &[&ids, &workers, &bases, &live, &bare],
        )?;
        Ok(())
    }

    /// Only those of which the row itself changed.
    fn update_tables(&mut self, writes: &TableWrites<'_>) -> Result<(), StoreError> {
        let row = |held: &TableHead| TableHead { version: 0, ..*held };
        let is_changed =
            |(id, held): &(&TableId, &TableHead)| writes.before.get(id).is_some_and(|before| row(before) != row(held));
        let changed: Vec<_> = writes.tables.iter().filter(is_changed).collect();
        if changed.is_empty() {
            return Ok(());
        }
        let ids: Vec<_> = changed.iter().map(|(id, _)| PgId(id.0)).collect();
        let workers: Vec<_> = changed.iter().map(|(_, held)| held.worker.map(|worker| PgId(worker.0))).collect();
        let bases: Vec<_> = changed.iter().map(|(_, held)| i64::from(held.base_version)).collect();
        let live: Vec<_> = changed.iter().map(|(_, held)| held.is_live).collect();
        self.session.execute(
            "UPDATE story_tables AS t SET worker = changed.worker, base_version = changed.base_version,
               is_live = changed.is_live
             FROM unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::bool[]) AS changed (id, worker, base_version, is_live)
             WHERE t.id = changed.id",
            &[&ids, &workers, &bases, &live],
        )?;
        Ok(())
    }

    /// Those that are under a base already are not written at all.
    fn write_table_rows(&mut self, writes: &TableWrites<'_>) -> Result<(), StoreError> {
        let is_kept = |(id, row): &&(TableId, &TableLogRow)| {
            writes.tables.get(id).is_none_or(|held| row.version >= held.base_version)
        };
        let kept: Vec<_> = writes.rows.iter().filter(is_kept).collect();
        if kept.is_empty() {
            return Ok(());
        }
        let ids: Vec<_> = kept.iter().map(|(id, _)| PgId(id.0)).collect();
        let versions: Vec<_> = kept.iter().map(|(_, row)| i64::from(row.version)).collect();
        let data: Vec<_> = kept.iter().map(|(_, row)| row.bytes.as_slice()).collect();
        self.session.execute(
            "INSERT INTO story_log (table_id, version, data) SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::bytea[])",
            &[&ids, &versions, &data],
        )?;
        Ok(())
    }

    fn write_snapshots(&mut self, writes: &TableWrites<'_>) -> Result<(), StoreError> {
        if writes.snapshots.is_empty() {
            return Ok(());
        }
        let ids: Vec<_> = writes.snapshots.keys().map(|id| PgId(id.0)).collect();
        let data: Vec<_> = writes.snapshots.values().copied().collect();
        let version = |id: &TableId| writes.tables.get(id).map_or(0, |held| i64::from(held.base_version));
        let versions: Vec<_> = writes.snapshots.keys().map(version).collect();
        self.session.execute(
            "INSERT INTO story_bases (table_id, data) SELECT * FROM unnest($1::uuid[], $2::bytea[])
             ON CONFLICT (table_id) DO UPDATE SET data = excluded.data",
            &[&ids, &data],
        )?;
        self.session.execute(
            "DELETE FROM story_log AS l USING unnest($1::uuid[], $2::bigint[]) AS base (table_id, version)
             WHERE l.table_id = base.table_id AND l.version < base.version",
            &[&ids, &versions],
        )?;
        Ok(())
    }
}
