//! Worlds with an end: what is under way then, what is refused from then on, and what a later owner makes of it.

use super::fixture::{START_US, apply_input, cell, hunt, input, meadow, opening, register, save, walker};
use crate::limits::MOVER_GRACE;
use crate::time::UnixMs;
use crate::worlds::{Fact, HuntEvent, InputKind, Refusal, RoundPhase, World};
use rules::world::{HuntSettings, Item, WorldSettings};
use std::time::Duration;

const ROUND_S: i64 = 60;
const PAUSE_S: i64 = 10;

fn second(seconds: i64) -> i64 {
    START_US + seconds * 1_000_000
}

fn settings(rounds: u32) -> WorldSettings {
    let usual = hunt(20, 20, 5, 0);
    let rules = usual.hunt.map(|hunt| HuntSettings { pause: Duration::from_secs(PAUSE_S as u64), rounds, ..hunt });
    WorldSettings { hunt: rules, ..usual }
}

/// A world that ends so many seconds after it begins.
fn ending(settings: WorldSettings, ends_s: i64) -> World {
    let ends_at = Some(UnixMs(second(ends_s) / 1_000));
    World::open(crate::worlds::WorldParams { ends_at, ..opening(settings, 3, 1) }, None, &[], START_US).unwrap()
}

/// Goes from one thing that is due to the next until nothing is, each committed at once: seconds, round, how far it is.
fn life_of(world: &mut World) -> Vec<(i64, u32, RoundPhase)> {
    let mut seen = Vec::new();
    let mut now_us = START_US;
    for _ in 0..50 {
        world.tick(now_us, &mut Vec::new());
        save(world, now_us);
        let round = world.round().unwrap();
        seen.push(((now_us - START_US) / 1_000_000, round.number, round.phase));
        let Some(due_us) = world.next_due().filter(|due_us| *due_us < second(100_000)) else { break };
        now_us = now_us.max(due_us);
    }
    seen.dedup_by_key(|(_, number, phase)| (*number, *phase));
    seen
}

#[track_caller]
fn check(rounds: u32, ends_s: i64, want: &[(i64, u32, RoundPhase)]) {
    let mut world = ending(settings(rounds), ends_s);
    register(&mut world, &walker(None));
    assert_eq!(life_of(&mut world), want, "{rounds} rounds, {ends_s} s");
    assert!(world.is_over(), "{rounds} rounds, {ends_s} s");
    assert_eq!(world.next_due(), None, "nothing is due any more");
}

#[test]
fn a_hunt_ends_with_the_round_that_runs_then_or_between_two() {
    use RoundPhase::{Over, Running, Waiting};
    check(3, 30, &[(0, 1, Running), (30, 1, Over)]);
    check(3, ROUND_S, &[(0, 1, Running), (60, 1, Over)]);
    check(3, 65, &[(0, 1, Running), (60, 2, Waiting), (65, 1, Over)]);
    check(3, 70, &[(0, 1, Running), (60, 2, Waiting), (70, 1, Over)]);
    check(3, 71, &[(0, 1, Running), (60, 2, Waiting), (70, 2, Running), (71, 2, Over)]);
    check(2, 1_000, &[(0, 1, Running), (60, 2, Waiting), (70, 2, Running), (130, 2, Over)]);
    check(1, 0, &[(0, 1, Over)]);
}

/// Rounds of a hunt with as many as there is time for are longer at first, by chance: they end with the hunt all the same.
#[test]
fn an_endless_row_of_rounds_ends_with_its_hunt() {
    for ends_s in [1, 59, 119, 125, 200] {
        let mut world = ending(settings(0), ends_s);
        register(&mut world, &walker(None));
        let last = life_of(&mut world).last().copied().unwrap();
        assert_eq!((last.0, last.2), (ends_s, RoundPhase::Over));
        assert!(world.is_over());
    }
}

#[test]
fn nothing_is_dug_after_the_end_and_what_was_dug_before_counts() {
    let mut world = ending(settings(3), 30);
    register(&mut world, &walker(None));
    world.tick(START_US, &mut Vec::new());
    save(&mut world, START_US);
    assert_eq!(world.round().unwrap().until, UnixMs(second(30) / 1_000), "the page counts down to the end of the hunt");
    let placed = world.hunt.as_ref().unwrap().placed().clone();
    let chests: Vec<_> = placed.iter().filter(|at| matches!(at.item, Item::Chest { .. })).collect();
    let [early, late] = [chests[0], chests[1]].map(|at| register(&mut world, &walker(Some(at.cell))).mover);
    let dig = |world: &mut World, mover_ref, now_us| {
        let mut out = Vec::new();
        world.apply(&[input(mover_ref, 1, InputKind::Dig)], now_us, &mut out);
        out.first().map(|answer| answer.result)
    };
    assert_eq!(dig(&mut world, early, second(30) - 1), None, "it waits for its commit");
    // The process was suspended: the batch is applied before the round is ended.
    assert_eq!(dig(&mut world, late, second(30)), Some(Err(Refusal::RoundOver)));
    world.tick(second(31), &mut Vec::new());
    assert!(!world.is_over(), "a commit is under way");
    world.tick(second(500), &mut Vec::new());
    assert!(!world.is_over(), "and may be for long");
    save(&mut world, second(500));
    world.tick(second(500), &mut Vec::new());
    assert!(world.is_over());
    let mut events = Vec::new();
    world.take_events(&mut events);
    let Some(HuntEvent::Ended { number: 1, scores, next }) = events.last() else { panic!("{events:?}") };
    assert_eq!((scores.len(), next.phase), (1, RoundPhase::Over));
}

/// The owner that opens it after its end finishes what its last owner did not.
#[test]
fn a_later_owner_ends_the_round_of_a_hunt_that_is_over() {
    let mut world = ending(settings(3), 30);
    register(&mut world, &walker(Some(cell(0, 0))));
    world.tick(START_US, &mut Vec::new());
    let begun = world.take_claims().unwrap();
    world.committed(begun.version(), START_US, &mut Vec::new()).unwrap();
    let snapshot = world.snapshot(true).into_bytes();
    for kept in [None, Some(&snapshot[..])] {
        let opening =
            crate::worlds::WorldParams { ends_at: Some(UnixMs(second(30) / 1_000)), ..opening(settings(3), 3, 2) };
        let rows = if kept.is_none() { &begun.rows[..] } else { &[] };
        let mut later = World::open(opening, kept, rows, second(90)).unwrap();
        assert!(later.next_due().is_some_and(|due_us| due_us <= second(90)));
        later.tick(second(90), &mut Vec::new());
        let ended = later.take_claims().unwrap();
        let fact = Fact::from_bytes(&ended.rows[0].bytes).unwrap();
        assert!(matches!(fact, Fact::RoundEnded { number: 1, .. }), "{fact:?}");
        later.committed(ended.version(), second(90), &mut Vec::new()).unwrap();
        later.tick(second(90), &mut Vec::new());
        assert!(later.is_over());
    }
}

#[test]
fn a_world_without_a_hunt_ends_as_well() {
    let mut world = ending(meadow(9, 9), 30);
    let mover_ref = register(&mut world, &walker(None)).mover;
    assert_eq!(world.next_due(), Some(second(30)));
    assert!(apply_input(&mut world, mover_ref, 1, InputKind::Step(rules::world::Step::Stay)).is_some());
    world.connection_lost(mover_ref, second(29));
    world.tick(second(29), &mut Vec::new());
    assert!(!world.is_over());
    world.tick(second(30), &mut Vec::new());
    assert!(world.is_over());
    let graces_end = second(29) + MOVER_GRACE.as_micros() as i64;
    assert_eq!(world.next_due(), Some(graces_end), "only what is left of graces");
}
