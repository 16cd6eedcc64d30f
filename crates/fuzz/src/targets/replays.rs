//! Snapshots and logs, read by the machines that wrote them: rows that were damaged are refused, or lead to a state that goes on.

use super::stored;
use engine::ids::{BotId, MatchId, PlayerId, TableId, WorldId};
use engine::matches::entry::MatchLogRow;
use engine::matches::machine::{BotAnswer, MatchMachine, NextAction};
use engine::matches::spec::{MatchSpec, SeatSpec};
use engine::tables::{Action, BotSettings, Newcomer, Standing, Table, TableLogRow, TableSettings};
use engine::time::UnixMs;
use engine::worlds::{Registration, World, WorldLogRow, WorldParams};
use rules::chance::Seed;
use rules::snake::{Map, Move, Rules, Ruleset, Settings};
use rules::world::{HuntSettings, LifeSettings, Size, WorldSettings};
use std::time::Duration;

const NOW: UnixMs = UnixMs(1_800_000_000_000);
const NOW_US: i64 = NOW.0 * 1_000;

/// Byte strings, each behind its length of two bytes; what is cut off is left out.
fn split(mut input: &[u8]) -> Vec<&[u8]> {
    let mut parts = Vec::new();
    while let Some((&length, rest)) = input.split_first_chunk() {
        let Some((part, rest)) = rest.split_at_checked(usize::from(u16::from_be_bytes(length))) else { break };
        parts.push(part);
        input = rest;
    }
    parts
}

fn join<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    parts.into_iter().flat_map(|part| [&(part.len() as u16).to_be_bytes()[..], part].concat()).collect()
}

fn spec() -> MatchSpec {
    let seat = |seat: u8| SeatSpec {
        bot: BotId(u128::from(seat)),
        name: format!("bot {seat}"),
        owner: "ann".into(),
        url: "http://x".into(),
    };
    MatchSpec {
        id: MatchId(7),
        rules: Rules::for_snakes(Ruleset::Standard, Map::Standard, Settings::default(), 2),
        width: 7,
        height: 7,
        seed: Seed(5),
        timeout_ms: 500,
        turns_max: 50,
        is_public: false,
        origin: None,
        seats: (0..2).map(seat).collect(),
    }
}

/// What a worker does when it resumes a match: the log again, then the next step.
pub(super) fn matches(input: &[u8]) {
    let rows = split(input).into_iter().zip(0..);
    let rows: Vec<_> =
        rows.map(|(bytes, version)| MatchLogRow { version, turns: 0, late_moves: 0, bytes: bytes.to_vec() }).collect();
    let Ok(mut machine) = MatchMachine::resume(spec(), &rows) else { return };
    // To its end, whatever was said before.
    while let Some(row) = step(&mut machine) {
        assert!(row.version < 1_000, "a match ends");
    }
    let _ = machine.result();
}

fn step(machine: &mut MatchMachine) -> Option<MatchLogRow> {
    use engine::matches::entry::AnswerClass;
    let step = match machine.next_action() {
        NextAction::Open => machine.record_opened(Vec::new()),
        NextAction::Notify { notice, seats } => {
            machine.record_delivery(notice, seats.iter().next()?, AnswerClass::Valid, 1)
        }
        NextAction::RequestMoves { seats } => {
            let answer = |_| BotAnswer { mv: Some(Move::Up), ..BotAnswer::without_move(AnswerClass::Valid, 1) };
            let answers = (0..machine.spec().seats.len()).map(|seat| seats.contains(seat).then_some(seat).map(answer));
            machine.play_turn(answers.collect()).expect("a match that was resumed plays on")
        }
        NextAction::Finish => return None,
    };
    let row = step.row.clone();
    machine.accept(step);
    Some(row)
}

pub(super) fn match_seeds() -> Vec<Vec<u8>> {
    let mut machine = MatchMachine::new(spec()).expect("these rules can be played");
    let mut log = Vec::new();
    while let Some(row) = step(&mut machine) {
        log.push(row.bytes);
    }
    let begun = log.iter().take(5).map(Vec::as_slice);
    vec![join(log.iter().map(Vec::as_slice)), join(begun), join(stored::match_entry_seeds().iter().map(Vec::as_slice))]
}

fn person(number: u8) -> Newcomer {
    let id = PlayerId(0x0190_0000_0000_7000_8000_0000_0000_0000 + u128::from(number));
    Newcomer { id, name: format!("name {number}").into(), standing: Standing::default() }
}

/// What an owner does when it loads a table: snapshot and rows, then views, feeds and the next steps.
pub(super) fn tables(input: &[u8]) {
    let parts = split(input);
    let Some((snapshot, rows)) = parts.split_first() else { return };
    let Ok(empty) = Table::restore(snapshot, &[]) else { return };
    let rows = rows.iter().zip(empty.version()..);
    let rows: Vec<_> = rows.map(|(bytes, version)| TableLogRow { version, bytes: bytes.to_vec() }).collect();
    for mut table in [Some(empty), Table::restore(snapshot, &rows).ok()].into_iter().flatten() {
        for viewer in [None, Some(person(0).id), Some(person(1).id)] {
            let _ = (table.view(viewer), table.feed(viewer, 0), table.seq(viewer));
        }
        let kept = table.snapshot_change().snapshot.expect("it was asked for");
        let again = Table::restore(&kept.bytes, &[]).expect("what a table writes, it reads");
        assert_eq!(again.snapshot_change().snapshot, Some(kept), "a snapshot of a snapshot");
        for _ in 0..4 {
            let Some(change) = table.tick(NOW, &|_| true) else { break };
            table.apply(&change, NOW_US);
        }
    }
}

pub(super) fn table_seeds() -> Vec<Vec<u8>> {
    let settings = TableSettings::default();
    let opened = Table::open(TableId(7), settings, Seed(42), BotSettings::default(), &person(0), NOW);
    let (mut table, change) = opened.expect("good settings");
    let snapshot = change.snapshot.as_ref().expect("a table opens with a snapshot").bytes.clone();
    let mut rows: Vec<Vec<u8>> = change.rows.iter().map(|row| row.bytes.clone()).collect();
    table.apply(&change, NOW_US);
    let deeds = [(1, Action::Join(person(1))), (2, Action::Join(person(2))), (1, Action::Chat("hello".into()))];
    for (who, action) in deeds {
        let change = table.decide(person(who).id, None, &action, NOW, &|_| true).expect("this is allowed");
        rows.extend(change.rows.iter().map(|row| row.bytes.clone()));
        table.apply(&change, NOW_US);
    }
    let late = table.snapshot_change().snapshot.expect("it was asked for").bytes;
    vec![join([&snapshot[..]].into_iter().chain(rows.iter().map(Vec::as_slice))), join([&late[..]])]
}

fn opening() -> WorldParams {
    let hunt = HuntSettings { chests: 9, power_ups: 4, round: Duration::from_secs(60), ..HuntSettings::default() };
    let settings = WorldSettings {
        size: Size { width: 16, height: 16 },
        life: Some(LifeSettings::default()),
        hunt: Some(hunt),
        ..WorldSettings::default()
    };
    WorldParams { id: WorldId(1), settings, seed: Seed(9), epoch: 2, ends_at: None }
}

/// What an owner does when it loads a world: its snapshot and the rows of its log, then it goes on.
pub(super) fn worlds(input: &[u8]) {
    let parts = split(input);
    let Some((snapshot, rows)) = parts.split_first() else { return };
    let snapshot = Some(*snapshot).filter(|bytes| !bytes.is_empty());
    // The log's version stands in the snapshot, behind its format.
    let first = World::open(opening(), snapshot, &[], NOW_US).map_or(0, |world| world.stats().claims_version);
    let rows: Vec<_> =
        rows.iter().zip(first..).map(|(bytes, version)| WorldLogRow { version, bytes: bytes.to_vec() }).collect();
    let Ok(mut world) = World::open(opening(), snapshot, &rows, NOW_US) else { return };
    let kept = world.snapshot(true).into_bytes();
    World::open(opening(), Some(&kept), &[], NOW_US).expect("what a world writes, it reads");
    let mut gone = Vec::new();
    for after_s in [0, 1, 100, 1_000] {
        let now_us = NOW_US + after_s * 1_000_000;
        world.tick(now_us, &mut gone);
        world.advance_generation(now_us);
        let _ = (world.next_due(), world.round(), world.stats());
    }
}

pub(super) fn world_seeds() -> Vec<Vec<u8>> {
    let mut world = World::open(opening(), None, &[], NOW_US).expect("good settings");
    let registration = Registration {
        is_resumable: true,
        player: Some(person(1).id),
        name: Some("Ann".into()),
        ..Registration::default()
    };
    world.register(&registration, NOW_US).expect("there is room");
    world.tick(NOW_US, &mut Vec::new());
    let snapshot = world.snapshot(false).into_bytes();
    let rows: Vec<_> = world.take_claims().map(|pending| pending.rows).unwrap_or_default();
    let rows = rows.iter().map(|row| row.bytes.as_slice());
    vec![join([&snapshot[..]]), join([&[][..]].into_iter().chain(rows))]
}
