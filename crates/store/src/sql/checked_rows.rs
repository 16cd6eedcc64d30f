//! All rows with checksums, held against them, and all rows with texts: what copies of a store are checked by.

use super::Session;
use crate::checksums::{ChecksumReport, Damage, StoredKey, StoredKind};
use crate::columns::ladders::{self, entry_columns};
use crate::columns::{self, Columns, damage_of, health, row_of_id, worlds};
use crate::contract::StoreError;
use engine::ids::{CompetitionId, WorldId};

/// Of each kind the rows as `number, name, bytes, checksum, id`, as far as their keys have these. Secrets have no id.
const ROWS: [(StoredKind, &str, &str); 17] = [
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

/// Reads every row that has a checksum or a text.
pub(crate) fn check<S: Session>(session: &mut S) -> Result<ChecksumReport, StoreError> {
    let mut report = ChecksumReport::default();
    for (kind, columns, table) in ROWS {
        let columns = columns
            .strip_prefix("NULL")
            .map_or_else(|| columns.to_owned(), |rest| format!("CAST(NULL AS BIGINT){rest}"));
        session.all(&format!("SELECT {columns} FROM {table}"), &[], |row| check_row(row, kind, &mut report))?;
    }
    check_columns(session, &mut report)?;
    Ok(report)
}

/// Reads all rows of which columns that are not bytes say something.
fn check_columns<S: Session>(session: &mut S, report: &mut ChecksumReport) -> Result<(), StoreError> {
    let mut read = |columns: &str, table: &str, read: &mut ReadRow<'_, S>| {
        let sql = format!("SELECT {columns} FROM {table}");
        // Nothing is kept of a row but its damage.
        session.all(&sql, &[], |row| {
            let mut damages = Vec::new();
            let damaged = damage_of(read(row, &mut damages))?.err();
            damages.into_iter().chain(damaged).for_each(|damage| report.add(damage));
            Ok(())
        })?;
        Ok::<(), StoreError>(())
    };
    read(columns::ACCOUNT, "accounts", &mut |row, _| columns::account(row).map(drop))?;
    read(columns::TOKEN, "tokens", &mut |row, _| columns::token(row).map(drop))?;
    read(columns::BOT, "bots", &mut |row, _| columns::bot(row).map(drop))?;
    read(columns::CODE, "one_time_codes", &mut |row, _| columns::code(row).map(drop))?;
    read(columns::BAN, "bans", &mut |row, damages| columns::ban(row, damages).map(drop))?;
    read(columns::AUDIT_ENTRY, "audit_entries", &mut |row, _| columns::audit_entry(row).map(drop))?;
    read(columns::LIMIT_POLICY, "limit_policies", &mut |row, _| columns::limit_policy(row).map(drop))?;
    read(columns::LIMIT_OVERRIDE, "limit_overrides", &mut |row, _| columns::limit_override(row).map(drop))?;
    let lease = |row: &mut <S as Session>::Row<'_>| row_of_id(row, StoredKind::Lease, |row, _| row.text().map(drop));
    read("id, address", "workers", &mut |row, _| lease(row))?;
    let (spec, status, result) = (columns::SPEC, columns::STATUS, columns::RESULT);
    read(&format!("{spec}, {status}, {result}"), "matches", &mut |row, _| columns::bare_match(row).map(drop))?;
    read(columns::SEAT, "seats", &mut |row, _| Ok(columns::seat(row)?.1.map(drop)?))?;
    read(columns::GAME, "story_games g", &mut |row, _| columns::game(row).map(drop))?;
    let seat = format!("table_id, number, {}", columns::SEATED);
    read(&seat, "story_seats s", &mut |row, _| columns::seat_of_game(row).map(drop))?;
    read(columns::STANDING, "story_standings", &mut |row, _| columns::standing(row).map(drop))?;
    read(worlds::WORLD, "worlds w", &mut |row, _| worlds::world(row).map(drop))?;
    read(worlds::HUNTER, "hunters", &mut |row, _| worlds::hunter(row).map(drop))?;
    let round = format!("world_id, {}", worlds::ROUND);
    read(&round, "hunt_rounds", &mut |row, _| {
        let world = WorldId(row.id()?);
        worlds::round(row, world).map(drop)
    })?;
    read(columns::COMPETITION, "competitions", &mut |row, _| columns::competition(row).map(drop))?;
    let result = format!("competition, {}", columns::RESULT_OF_COMPETITION);
    read(&result, "competition_results", &mut |row, _| {
        let competition = CompetitionId(row.id()?);
        columns::competition_result(row, competition).map(drop)
    })?;
    read("bot, color, head, tail", "bot_faces", &mut |row, _| health::face(row).map(drop))?;
    read(health::HEALTH, "bot_health", &mut |row, damages| health::health(row, damages).map(drop))?;
    read(entry_columns!(), "ladder_entries e", &mut |row, damages| ladders::entry(row, damages).map(drop))
}

/// Reads a row; what it is shown without is added.
type ReadRow<'f, S> = dyn FnMut(&mut <S as Session>::Row<'_>, &mut Vec<Damage>) -> Result<(), StoreError> + 'f;

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
