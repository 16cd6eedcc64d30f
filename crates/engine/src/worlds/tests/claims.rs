//! Claims: one winner each, and no client sees or receives one before its commit.

use super::fixture::*;
use super::views::{Client, look};
use crate::ids::PlayerId;
use crate::time::UnixMs;
use crate::worlds::{Answer, Done, Fact, HuntEvent, InputKind, MoverRef, Refusal, RoundPhase, World};
use proptest::prelude::*;
use rules::world::{Cell, HuntSettings, Item, PowerUp, Step, WorldSettings};
use std::collections::BTreeSet;
use std::time::Duration;

fn cells_with(world: &World, is_wanted: impl Fn(Item) -> bool) -> Vec<Cell> {
    let hunt = world.hunt.as_ref().unwrap();
    hunt.placed().iter().filter(|placed| is_wanted(placed.item)).map(|placed| placed.cell).collect()
}

fn chests(world: &World) -> Vec<Cell> {
    cells_with(world, |item| matches!(item, Item::Chest { .. }))
}

fn results(answers: &[Answer], mover_ref: MoverRef) -> Vec<Result<Done, Refusal>> {
    answers.iter().filter(|answer| answer.mover == mover_ref).map(|answer| answer.result).collect()
}

#[test]
fn a_chest_is_dug_by_one_and_shown_when_it_is_committed() {
    let (mut world, _) = running_hunt(hunt(30, 30, 20, 0), 7);
    let spot = chests(&world)[0];
    let one = register(&mut world, &member(Some(spot), 77, "Ada")).mover;
    let other = register(&mut world, &walker(Some(spot))).mover;
    let viewer = register(&mut world, &watcher(Some(spot), 4)).mover;
    let mut client = Client::default();
    look(&mut world, viewer, &mut client);
    let before = world.round();
    assert_eq!(apply_input(&mut world, one, 1, InputKind::Dig), None);
    assert_eq!(apply_input(&mut world, other, 1, InputKind::Dig), None, "who was slower must not know either");
    assert_eq!(look(&mut world, viewer, &mut client), None);
    assert_eq!((world.round(), world.stats().claims_pending), (before, 1));
    let pending = world.take_claims().unwrap();
    assert_eq!((pending.expected_version, pending.rows.len(), world.take_claims()), (1, 1, None));
    assert!(look(&mut world, viewer, &mut client).is_none());
    let mut out = Vec::new();
    world.committed(pending.version(), START_US, &mut out).unwrap();
    let Ok(Done::Dug { points, score }) = results(&out, one)[0] else { panic!("{out:?}") };
    assert!(points > 0 && score == u32::from(points));
    assert_eq!(results(&out, other), [Err(Refusal::Taken)]);
    let shown = look(&mut world, viewer, &mut client).unwrap();
    assert_eq!((shown.items_gone, world.round().unwrap().chests_left), (vec![spot], 19));
    let Ok(Fact::Dug { claim, points: saved, .. }) = Fact::from_bytes(&pending.rows[0].bytes) else { panic!() };
    assert_eq!((claim.hunter.player, &*claim.hunter.name, saved), (Some(PlayerId(77)), "Ada", u32::from(points)));
    assert_eq!(apply_input(&mut world, other, 2, InputKind::Dig), Some(Err(Refusal::Taken)));
}

#[test]
fn a_repeated_claim_is_answered_once_more_and_counted_once() {
    let (mut world, _) = running_hunt(hunt(30, 30, 20, 0), 7);
    let spot = chests(&world)[0];
    let mover_ref = register(&mut world, &walker(Some(spot))).mover;
    assert_eq!(apply_input(&mut world, mover_ref, 1, InputKind::Dig), None);
    assert_eq!(apply_input(&mut world, mover_ref, 1, InputKind::Dig), None, "not before the first answer");
    assert!(apply_input(&mut world, mover_ref, 2, InputKind::Step(Step::Stay)).is_some(), "moves go on");
    let pending = world.take_claims().unwrap();
    assert_eq!(apply_input(&mut world, mover_ref, 1, InputKind::Dig), None, "nor while it is on its way");
    let mut out = Vec::new();
    world.committed(pending.version(), START_US, &mut out).unwrap();
    let first = results(&out, mover_ref);
    assert_eq!(first.len(), 3);
    assert!(first.iter().all(|result| *result == first[0] && result.is_ok()));
    assert_eq!(apply_input(&mut world, mover_ref, 1, InputKind::Dig), Some(first[0]));
    assert_eq!(pending.rows.len(), 1);
}

#[test]
fn what_is_decided_while_a_commit_is_on_its_way_goes_with_the_next() {
    let (mut world, _) = running_hunt(hunt(30, 30, 20, 0), 7);
    let places = chests(&world);
    let one = register(&mut world, &walker(Some(places[0]))).mover;
    let two = register(&mut world, &walker(Some(places[1]))).mover;
    let late = register(&mut world, &walker(Some(places[0]))).mover;
    apply_input(&mut world, one, 1, InputKind::Dig);
    let first = world.take_claims().unwrap();
    apply_input(&mut world, two, 1, InputKind::Dig);
    apply_input(&mut world, late, 1, InputKind::Dig);
    assert_eq!(world.take_claims(), None);
    let mut out = Vec::new();
    world.committed(first.version() + 1, START_US, &mut out).unwrap();
    assert_eq!(out, [], "a log that is longer than it can be says nothing about ours");
    world.committed(first.version(), START_US, &mut out).unwrap();
    assert_eq!((results(&out, one).len(), results(&out, late)), (1, vec![Err(Refusal::Taken)]));
    assert_eq!(results(&out, two), []);
    let second = world.take_claims().unwrap();
    assert_eq!((second.expected_version, second.rows.len()), (first.version(), 1));
    out.clear();
    world.committed(second.version(), START_US, &mut out).unwrap();
    assert!(results(&out, two)[0].is_ok());
}

#[test]
fn a_hundred_power_ups_have_a_hundred_winners() {
    let (mut world, _) = running_hunt(hunt(80, 80, 1, 100), 9);
    let places = cells_with(&world, |item| matches!(item, Item::PowerUp(_)));
    let mover_refs: Vec<MoverRef> =
        (0..2_000).map(|at| register(&mut world, &walker(Some(places[at % 100]))).mover).collect();
    let batch: Vec<_> = mover_refs.iter().map(|mover_ref| input(*mover_ref, 1, InputKind::Grab)).collect();
    assert_eq!(apply(&mut world, &batch), []);
    let pending = world.take_claims().unwrap();
    let mut out = Vec::new();
    world.committed(pending.version(), START_US, &mut out).unwrap();
    let winners: Vec<&Answer> = out.iter().filter(|answer| answer.result.is_ok()).collect();
    assert_eq!((out.len(), winners.len(), pending.rows.len()), (2_000, 100, 100));
    let firsts = winners.iter().filter(|answer| mover_refs[..100].contains(&answer.mover)).count();
    assert!(firsts < 40, "who came first must not win more often than others: {firsts} of 100 did");
}

#[test]
fn power_ups_help_from_their_commit_until_they_end() {
    let (mut world, _) = running_hunt(hunt(60, 60, 3, 12), 5);
    let double = |item| item == Item::PowerUp(PowerUp::DoubleStep);
    let spot = cells_with(&world, double)[0];
    let mover_ref = register(&mut world, &walker(Some(spot))).mover;
    let towards = if spot.x < 30 { (Step::E, 1_i16) } else { (Step::W, -1) };
    let at = |steps: i16| cell(spot.x.checked_add_signed(towards.1 * steps).unwrap(), spot.y);
    apply_input(&mut world, mover_ref, 1, InputKind::Grab);
    assert_eq!(apply_input(&mut world, mover_ref, 2, InputKind::Step(towards.0)), Some(Ok(Done::Moved(at(1)))));
    let until = UnixMs(START_US / 1_000 + 20_000);
    let want = Ok(Done::Grabbed { item: PowerUp::DoubleStep, until });
    assert_eq!(results(&save(&mut world, START_US), mover_ref), [want]);
    assert_eq!(apply_input(&mut world, mover_ref, 3, InputKind::Step(towards.0)), Some(Ok(Done::Moved(at(3)))));
    let mut out = Vec::new();
    world.apply(&[input(mover_ref, 4, InputKind::Step(towards.0))], START_US + 20_000_000, &mut out);
    assert_eq!(results(&out, mover_ref), [Ok(Done::Moved(at(4)))]);
}

#[test]
fn a_magnet_reaches_the_nearest() {
    let (mut world, _) = running_hunt(hunt(30, 30, 1, 0), 5);
    let spot = chests(&world)[0];
    let x = if spot.x >= 2 { spot.x - 2 } else { spot.x + 2 };
    let mover_ref = register(&mut world, &walker(Some(cell(x, spot.y)))).mover;
    assert_eq!(apply_input(&mut world, mover_ref, 1, InputKind::Dig), Some(Err(Refusal::NothingHere)));
    world.activate_power_up(mover_ref, PowerUp::Magnet, UnixMs(START_US / 1_000 + 1_000), START_US);
    assert_eq!(apply_input(&mut world, mover_ref, 2, InputKind::Dig), None);
    assert!(results(&save(&mut world, START_US), mover_ref)[0].is_ok());
}

/// Hunts that are opened and entered in one moment: when the rounds of each end, in seconds, as published.
fn ends_of_rounds(seed: u64, rounds: u32) -> Vec<i64> {
    let hunting = HuntSettings { chests: 5, power_ups: 0, rounds, ..HuntSettings::default() };
    let spans = HuntSettings { round: Duration::from_secs(60), pause: Duration::from_secs(10), ..hunting };
    let mut world = world(WorldSettings { hunt: Some(spans), ..meadow(20, 20) }, seed);
    register(&mut world, &walker(None));
    let mut now_us = START_US;
    let mut ends = Vec::new();
    while ends.len() < 3 {
        world.tick(now_us, &mut Vec::new());
        save(&mut world, now_us);
        let Some(due_us) = world.next_due() else { break };
        now_us = due_us;
        ends.extend(world.round().filter(|round| round.phase == RoundPhase::Running).map(|_| now_us));
    }
    ends.into_iter().map(|end_us| (end_us - START_US) / 1_000_000).collect()
}

#[test]
fn endless_hunts_that_begin_together_end_their_rounds_apart() {
    let ends: Vec<_> = (0..40).map(|seed| ends_of_rounds(seed, 0)).collect();
    for end in &ends {
        assert!((60..120).contains(&end[0]), "{end:?}");
        assert_eq!((end[1] - end[0], end[2] - end[1]), (70, 70), "rounds that follow have their length");
    }
    let at: BTreeSet<_> = ends.iter().map(|end| end[0] / 6).collect();
    assert!(at.len() >= 8, "in most of the ten parts of a minute some end: {at:?}");
    assert_eq!(ends_of_rounds(7, 3), [60, 130, 200], "hunts with an end have rounds of one length");
}

#[test]
fn rounds_begin_and_end_with_a_commit() {
    let hunting = HuntSettings { chests: 5, power_ups: 0, rounds: 2, ..HuntSettings::default() };
    let spans = HuntSettings { round: Duration::from_secs(60), pause: Duration::from_secs(10), ..hunting };
    let mut world = world(WorldSettings { hunt: Some(spans), ..meadow(20, 20) }, 2);
    let second = |seconds: i64| START_US + seconds * 1_000_000;
    let phase = |world: &World| world.round().map(|round| (round.number, round.phase));
    world.tick(second(0), &mut Vec::new());
    assert_eq!(world.take_claims(), None, "no mover is here");
    let mover_ref = register(&mut world, &walker(None)).mover;
    assert_eq!(apply_input(&mut world, mover_ref, 1, InputKind::Dig), Some(Err(Refusal::RoundOver)));
    world.tick(second(1), &mut Vec::new());
    assert_eq!(phase(&world), Some((1, RoundPhase::Waiting)));
    save(&mut world, second(1));
    assert_eq!(phase(&world), Some((1, RoundPhase::Running)));
    assert_eq!(world.next_due(), Some(second(61)));
    let spot = chests(&world)[0];
    let digger = register(&mut world, &walker(Some(spot))).mover;
    apply_input(&mut world, digger, 1, InputKind::Dig);
    world.tick(second(61), &mut Vec::new());
    assert_eq!(phase(&world), Some((1, RoundPhase::Running)), "not shown yet");
    assert_eq!(apply_input(&mut world, mover_ref, 2, InputKind::Dig), None, "and not answered");
    let out = save(&mut world, second(61));
    assert!(results(&out, digger)[0].is_ok());
    assert_eq!(results(&out, mover_ref), [Err(Refusal::RoundOver)]);
    assert_eq!(phase(&world), Some((2, RoundPhase::Waiting)));
    let mut events = Vec::new();
    world.take_events(&mut events);
    let [HuntEvent::Began(began), HuntEvent::Ended { number: 1, scores, next }] = &events[..] else {
        panic!("{events:?}")
    };
    assert_eq!((began.chests_left, scores.len(), scores[0].hunter.mover), (5, 1, digger.id));
    assert_eq!((next.number, next.until), (2, UnixMs(second(71) / 1_000)));
    world.tick(second(70), &mut Vec::new());
    assert_eq!(world.take_claims(), None);
    world.tick(second(71), &mut Vec::new());
    save(&mut world, second(71));
    assert_eq!(phase(&world), Some((2, RoundPhase::Running)));
    world.tick(second(131), &mut Vec::new());
    save(&mut world, second(131));
    assert_eq!((phase(&world), world.next_due()), (Some((2, RoundPhase::Over)), None));
}

#[test]
fn without_a_hunt_nothing_is_dug() {
    let mut world = world(meadow(9, 9), 2);
    let mover_ref = register(&mut world, &walker(None)).mover;
    assert_eq!(apply_input(&mut world, mover_ref, 1, InputKind::Dig), Some(Err(Refusal::NoHunt)));
    assert_eq!(apply_input(&mut world, mover_ref, 2, InputKind::Grab), Some(Err(Refusal::NoHunt)));
}

proptest! {
    /// However many try, in whatever order commits come: every item has one winner, every input one answer, and the
    /// points that are shown are those that were answered.
    #[test]
    fn every_item_has_one_winner(
        seed in any::<u64>(), tries in proptest::collection::vec((0_usize..12, 0_usize..30, any::<bool>()), 1..150),
    ) {
        let (mut world, _) = running_hunt(hunt(12, 12, 25, 5), seed);
        let placed: Vec<(Cell, Item)> = world.hunt.as_ref().unwrap().placed().iter().map(|at| (at.cell, at.item)).collect();
        let mut all = Vec::new();
        let mut inputs_sent = 0;
        let mut rows = Vec::new();
        for (_, item, is_saving) in &tries {
            let (spot, item) = placed[*item];
            let mover_ref = register(&mut world, &walker(Some(spot))).mover;
            let what = if matches!(item, Item::Chest { .. }) { InputKind::Dig } else { InputKind::Grab };
            all.extend(apply(&mut world, &[input(mover_ref, 1, what)]));
            inputs_sent += 1;
            if *is_saving && let Some(pending) = world.take_claims() {
                rows.extend(pending.rows.clone());
                world.committed(pending.version(), START_US, &mut all).unwrap();
            }
        }
        while let Some(pending) = world.take_claims() {
            rows.extend(pending.rows.clone());
            world.committed(pending.version(), START_US, &mut all).unwrap();
        }
        let mut items: Vec<usize> = tries.iter().map(|(_, item, _)| *item).collect();
        items.sort_unstable();
        items.dedup();
        prop_assert_eq!(all.len(), inputs_sent);
        prop_assert_eq!(all.iter().filter(|answer| answer.result.is_ok()).count(), items.len());
        prop_assert_eq!(rows.len(), items.len());
        let announced: u32 = all.iter().filter_map(|answer| match answer.result { Ok(Done::Dug { score, .. }) => Some(score), _ => None }).sum();
        let shown: u32 = world.hunt.as_ref().unwrap().top_scores(1_000).iter().map(|scored| scored.points).sum();
        prop_assert_eq!(announced, shown);
    }
}
