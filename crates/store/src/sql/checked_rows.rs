//! All rows with checksums, held against them: what copies of a store are checked by.

use super::Session;
use crate::checksums::{ChecksumReport, StoredKey, StoredKind};
use crate::columns::{Columns, worlds};
use crate::contract::StoreError;

/// Of each kind the rows as `number, name, bytes, checksum, id`, as far as their keys have these. Secrets have no id.
const ROWS: [(StoredKind, &str, &str); StoredKind::ALL.len() + 1] = [
    (StoredKind::MatchEntry, "version, NULL, data, checksum, match_id", "match_log"),
    (StoredKind::MatchArchive, "NULL, NULL, data, checksum, match_id", "match_archive"),
    (StoredKind::TableEntry, "version, NULL, data, checksum, table_id", "story_log"),
    (StoredKind::TableSnapshot, "NULL, NULL, data, checksum, table_id", "story_bases"),
    (StoredKind::GameRecord, "number, NULL, data, checksum, table_id", "story_records"),
    (StoredKind::World, "NULL, NULL, settings, checksum, id", "worlds"),
    (StoredKind::WorldEntry, "version, NULL, data, checksum, world_id", "world_log"),
    (StoredKind::WorldSnapshot, "NULL, NULL, data, checksum, world_id", "world_snapshots"),
    (StoredKind::Competition, "NULL, NULL, definition, checksum, id", "competitions"),
    (StoredKind::CompetitionEntry, "version, NULL, data, checksum, competition", "competition_log"),
    (StoredKind::CompetitionResult, "number, NULL, data, checksum, competition", "competition_results"),
    (StoredKind::LadderEntry, "season, NULL, seats, checksum, bot", "ladder_entries"),
    (StoredKind::BotHealth, "NULL, NULL, records, checksum, bot", "bot_health"),
    (StoredKind::BotCalls, "hour, NULL, data, checksum, bot", "bot_calls"),
    (StoredKind::Response, "NULL, key, answer, checksum, account", "idempotency_keys"),
    (StoredKind::Response, "NULL, key, answer, checksum, player", "story_answers"),
    (StoredKind::Secret, "NULL, name, data, checksum", "secrets"),
];

/// Reads every row that has a checksum, and every world.
pub(crate) fn check<S: Session>(session: &mut S) -> Result<ChecksumReport, StoreError> {
    let mut report = ChecksumReport::default();
    for (kind, columns, table) in ROWS {
        let columns = columns
            .strip_prefix("NULL")
            .map_or_else(|| columns.to_owned(), |rest| format!("CAST(NULL AS BIGINT){rest}"));
        session.all(&format!("SELECT {columns} FROM {table}"), &[], |row| check_row(row, kind, &mut report))?;
    }
    session.all(&format!("SELECT {} FROM worlds w", worlds::WORLD), &[], |row| {
        if let Err(damage) = worlds::listed_world(row)?.1 {
            report.add(damage);
        }
        Ok(())
    })?;
    Ok(report)
}

fn check_row(row: &mut impl Columns, kind: StoredKind, report: &mut ChecksumReport) -> Result<(), StoreError> {
    let (number, name) = (row.maybe_number()?, row.maybe_text()?);
    let (bytes, checksum) = (row.bytes()?, row.maybe_int()?);
    let id = if kind == StoredKind::Secret { [0; 16] } else { row.id_bytes()? };
    report.rows += 1;
    report.without_checksum += u64::from(checksum.is_none());
    let key = StoredKey::new(kind, id).name(name.as_deref().unwrap_or_default());
    let key = number.map_or(key, |number| key.number(number));
    match key.check(&bytes, checksum) {
        Ok(()) => {}
        Err(damage) => report.add(damage),
    }
    Ok(())
}

/// Changes bytes of a row behind the back of what writes rows.
#[cfg(feature = "testing")]
pub(crate) fn rewrite<S: Session>(
    session: &mut S,
    (table, column, which): (&str, &str, &str),
    change: &mut dyn FnMut(&mut Vec<u8>),
) -> Result<(), StoreError> {
    let read = format!("SELECT {column} FROM {table} WHERE {which}");
    let mut bytes = session.first(&read, &[], |row| row.bytes())?.expect("there is such a row");
    change(&mut bytes);
    let write = format!("UPDATE {table} SET {column} = ?1 WHERE {which}");
    assert_eq!(session.run(&write, super::values![&bytes])?, 1, "{table} {which} is one row");
    Ok(())
}
