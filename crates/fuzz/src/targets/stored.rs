//! Packed values as a store keeps them. Their form is canonical: whatever is read is written as the same bytes.

use engine::competitions::ResultSummary;
use engine::duels::{self, DuelDefinition};
use engine::health::{BotCalls, BotHealth};
use engine::ladders::definition::LadderDefinition;
use engine::ladders::entry::EntryRecord;
use engine::ladders::season::SeasonEnd;
use engine::matches::archive;
use engine::matches::entry::{AnswerClass, Entry, Face, MatchLogRow, Notice, PlayedMove};
use engine::tables::GameRecord;
use engine::tournaments;
use engine::worlds::{Fact, settings_from_bytes, settings_to_bytes};
use rules::snake::Move;
use rules::world::WorldSettings;

/// What is read is written as the same bytes.
fn check_canonical<T, E>(bytes: &[u8], decode: fn(&[u8]) -> Result<T, E>, encode: fn(&T) -> Vec<u8>) {
    if let Ok(value) = decode(bytes) {
        assert_eq!(encode(&value), bytes, "what is read is written as the same bytes");
    }
}

pub(super) fn match_entry(bytes: &[u8]) {
    check_canonical(bytes, Entry::decode, Entry::encode);
}

pub(super) fn entries() -> Vec<Entry> {
    let played =
        PlayedMove { mv: Move::Up, class: AnswerClass::Valid, latency_ms: 300, shout: "hi".into(), response: None };
    vec![
        Entry::Opened { rules_version: rules::snake::RULES_VERSION, faces: vec![Face::default(), Face::default()] },
        Entry::Delivered { notice: Notice::Start, seat: 1, class: AnswerClass::Late, latency_ms: 500 },
        Entry::Turn { turn: 1, played: vec![Some(played), None], state_hash: 7 },
    ]
}

pub(super) fn match_entry_seeds() -> Vec<Vec<u8>> {
    entries().iter().map(Entry::encode).collect()
}

pub(super) fn match_archive(bytes: &[u8]) {
    if let Ok((count, rows)) = archive::unpack(bytes, 0, usize::MAX) {
        assert_eq!(count as usize, rows.len());
        assert_eq!(archive::pack(&rows), bytes, "what is read is written as the same bytes");
        let from = count / 2;
        let page = archive::unpack(bytes, from, 3).map(|(_, rows)| rows);
        assert_eq!(page, Ok(rows.into_iter().skip(from as usize).take(3).collect()), "a page of it");
    }
}

pub(super) fn match_archive_seeds() -> Vec<Vec<u8>> {
    let row =
        |(version, entry): (u32, &Entry)| MatchLogRow { version, turns: version, late_moves: 1, bytes: entry.encode() };
    let rows: Vec<_> = (0..).zip(&entries()).map(row).collect();
    vec![archive::pack(&rows), archive::pack(&[])]
}

/// An archive as a store keeps it, behind a byte that says how many entries it should have.
pub(super) fn stored_archive(input: &[u8]) {
    let Some((&count, stored)) = input.split_first() else { return };
    if let Ok(rows) = store::fuzzing::read_archive(stored, u32::from(count)) {
        assert_eq!(rows.len(), usize::from(count));
        let again = store::fuzzing::compress(&archive::pack(&rows)).expect("an archive can be compressed");
        assert_eq!(store::fuzzing::read_archive(&again, u32::from(count)), Ok(rows), "what is compressed is read back");
    }
}

pub(super) fn stored_archive_seeds() -> Vec<Vec<u8>> {
    let compressed = |packed: &Vec<u8>| store::fuzzing::compress(packed).expect("an archive can be compressed");
    let packed = match_archive_seeds();
    packed
        .iter()
        .map(compressed)
        .chain(packed.clone())
        .zip([3, 0, 3, 0])
        .map(|(bytes, count)| [vec![count], bytes].concat())
        .collect()
}

/// The other records: the first byte says which.
pub(super) fn records(input: &[u8]) {
    let Some((&kind, bytes)) = input.split_first() else { return };
    match kind {
        0 => check_canonical(bytes, tournaments::Definition::decode, tournaments::Definition::encode),
        1 => check_canonical(bytes, tournaments::LogEntry::decode, tournaments::LogEntry::encode),
        2 => check_canonical(bytes, DuelDefinition::decode, DuelDefinition::encode),
        3 => check_canonical(bytes, duels::Entry::decode, duels::Entry::encode),
        4 => check_canonical(bytes, LadderDefinition::decode, LadderDefinition::encode),
        5 => check_canonical(bytes, SeasonEnd::decode, SeasonEnd::encode),
        7 => check_canonical(bytes, Fact::from_bytes, Fact::to_bytes),
        8 => check_canonical(bytes, settings_from_bytes, settings_to_bytes),
        9 => check_canonical(bytes, GameRecord::from_bytes, GameRecord::to_bytes),
        // Older forms are read as well, and written as the newest one.
        6 => {
            if let Ok(calls) = BotCalls::decode(bytes) {
                assert_eq!(BotCalls::decode(&calls.encode()), Ok(calls));
            }
        }
        10 => {
            if let Ok(summary) = ResultSummary::decode(bytes) {
                assert_eq!(ResultSummary::decode(&summary.encode()), Ok(summary));
            }
        }
        11 => drop(BotHealth::decode_records(bytes)),
        12 => drop(EntryRecord::decode_seats(bytes)),
        _ => {}
    }
}

pub(super) fn records_seeds() -> Vec<Vec<u8>> {
    let mut calls = BotCalls::default();
    calls.record(AnswerClass::Valid, 300);
    calls.record(AnswerClass::Late, 500);
    let record = |kind: u8, bytes: Vec<u8>| [vec![kind], bytes].concat();
    vec![
        record(4, LadderDefinition::standard().encode()),
        record(6, calls.encode()),
        record(
            8,
            settings_to_bytes(&WorldSettings {
                hunt: Some(Default::default()),
                life: Some(Default::default()),
                ..Default::default()
            }),
        ),
        record(10, ResultSummary::default().encode()),
        record(11, BotHealth::default().encode_records()),
    ]
}
