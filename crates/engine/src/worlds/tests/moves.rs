//! Moves: what stops them, in which order they are applied, and that none is applied twice.

use super::fixture::*;
use crate::worlds::{Done, Input, InputKind, MoverRef, Refusal, World};
use proptest::prelude::*;
use rules::world::{Cell, Sharing, Step, WorldSettings};
use std::collections::BTreeMap;
use std::time::Duration;

#[track_caller]
fn check(world: &mut World, mover_ref: MoverRef, seq: u32, step: Step, want: Result<Cell, Refusal>) {
    assert_eq!(apply_input(world, mover_ref, seq, InputKind::Step(step)), Some(want.map(Done::Moved)), "{step:?}");
}

#[test]
fn a_step_leads_to_the_neighbour_and_not_off_the_grid() {
    let mut world = world(meadow(8, 8), 1);
    let mover_ref = register(&mut world, &walker(Some(cell(0, 0)))).mover;
    check(&mut world, mover_ref, 1, Step::N, Err(Refusal::OutOfBounds));
    check(&mut world, mover_ref, 2, Step::Se, Ok(cell(1, 1)));
    check(&mut world, mover_ref, 3, Step::Stay, Ok(cell(1, 1)));
    check(&mut world, mover_ref, 4, Step::W, Ok(cell(0, 1)));
    assert_eq!(world.cell_of(mover_ref), Some(cell(0, 1)));
}

#[test]
fn a_repeated_input_gets_its_first_answer_and_does_nothing() {
    let mut world = world(meadow(8, 8), 1);
    let mover_ref = register(&mut world, &walker(Some(cell(0, 0)))).mover;
    check(&mut world, mover_ref, 1, Step::E, Ok(cell(1, 0)));
    check(&mut world, mover_ref, 2, Step::N, Err(Refusal::OutOfBounds));
    check(&mut world, mover_ref, 3, Step::E, Ok(cell(2, 0)));
    check(&mut world, mover_ref, 1, Step::S, Ok(cell(1, 0)));
    check(&mut world, mover_ref, 2, Step::S, Err(Refusal::OutOfBounds));
    check(&mut world, mover_ref, 3, Step::S, Ok(cell(2, 0)));
    assert_eq!(world.cell_of(mover_ref), Some(cell(2, 0)));
    check(&mut world, mover_ref, 5, Step::S, Err(Refusal::OutOfOrder { expected: 4 }));
    check(&mut world, mover_ref, 0, Step::S, Err(Refusal::OutOfOrder { expected: 4 }));
    for seq in 4..=8 {
        check(&mut world, mover_ref, seq, Step::Stay, Ok(cell(2, 0)));
    }
    check(&mut world, mover_ref, 4, Step::Stay, Err(Refusal::OutOfOrder { expected: 9 }));
    check(&mut world, mover_ref, 5, Step::S, Ok(cell(2, 0)));
}

#[test]
fn a_seat_without_a_mover_is_answered_too() {
    let mut world = world(meadow(8, 8), 1);
    let mover_ref = register(&mut world, &walker(None)).mover;
    world.leave(mover_ref);
    check(&mut world, mover_ref, 1, Step::Stay, Err(Refusal::UnknownMover));
    check(&mut world, NOBODY, 1, Step::Stay, Err(Refusal::UnknownMover));
}

#[test]
fn who_moves_too_fast_waits() {
    let settings = WorldSettings { move_min: Duration::from_millis(100), ..meadow(8, 8) };
    let mut world = world(settings, 1);
    let mover_ref = register(&mut world, &walker(Some(cell(0, 0)))).mover;
    for seq in 1..=4 {
        check(&mut world, mover_ref, seq, Step::Stay, Ok(cell(0, 0)));
    }
    check(&mut world, mover_ref, 5, Step::E, Err(Refusal::TooFast));
    let at_us = START_US + 100_000;
    let mut out = Vec::new();
    world.apply(&[Input { at_us, ..input(mover_ref, 6, InputKind::Step(Step::E)) }], at_us, &mut out);
    assert_eq!(out[0].result, Ok(Done::Moved(cell(1, 0))));
}

#[test]
fn one_on_a_cell_when_that_is_the_rule() {
    let mut world = world(WorldSettings { sharing: Sharing::One, ..meadow(8, 8) }, 1);
    let one = register(&mut world, &walker(Some(cell(3, 3)))).mover;
    let other = register(&mut world, &walker(Some(cell(3, 3))));
    assert_eq!(other.cell.distance(cell(3, 3)), 1);
    let step =
        Step::ALL.into_iter().find(|step| world.settings().size.neighbour(other.cell, *step) == Some(cell(3, 3)));
    check(&mut world, other.mover, 1, step.unwrap(), Err(Refusal::Occupied));
    world.leave(one);
    check(&mut world, other.mover, 2, step.unwrap(), Ok(cell(3, 3)));
}

#[test]
fn a_contested_cell_goes_to_each_mover_now_and_then() {
    let mut wins = [0_u32; 2];
    let mut world = world(WorldSettings { sharing: Sharing::One, ..meadow(8, 8) }, 3);
    for _ in 0..400 {
        let left = register(&mut world, &walker(Some(cell(2, 2)))).mover;
        let right = register(&mut world, &walker(Some(cell(4, 2)))).mover;
        let answers =
            apply(&mut world, &[input(left, 1, InputKind::Step(Step::E)), input(right, 1, InputKind::Step(Step::W))]);
        let winners: Vec<MoverRef> =
            answers.iter().filter(|answer| answer.result.is_ok()).map(|answer| answer.mover).collect();
        assert_eq!(winners.len(), 1, "{answers:?}");
        wins[usize::from(winners[0] == right)] += 1;
        world.leave(left);
        world.leave(right);
    }
    // Standard deviation of 400 fair draws: 10.
    assert!(wins.iter().all(|wins| wins.abs_diff(200) < 50), "{wins:?}");
}

proptest! {
    /// Any inputs: no mover leaves the grid, stands in a tree, or is at a cell that no answer named.
    #[test]
    fn movers_are_only_on_allowed_cells(
        seed in any::<u64>(), trees in 0_u16..600, is_one in any::<bool>(),
        moves in proptest::collection::vec((0_usize..6, 0_u8..9), 1..300),
    ) {
        let sharing = if is_one { Sharing::One } else { Sharing::Many };
        let mut world = world(WorldSettings { tree_permille: trees, sharing, ..meadow(9, 11) }, seed);
        let mover_refs: Vec<MoverRef> = (0..6).map(|_| register(&mut world, &walker(None)).mover).collect();
        let mut places: BTreeMap<MoverRef, Cell> = mover_refs.iter().map(|mover_ref| (*mover_ref, world.cell_of(*mover_ref).unwrap())).collect();
        let mut next = [1_u32; 6];
        for batch in moves.chunks(7) {
            let inputs: Vec<Input> = batch.iter().map(|(who, step)| {
                next[*who] += 1;
                input(mover_refs[*who], next[*who] - 1, InputKind::Step(Step::from_code(*step).unwrap()))
            }).collect();
            let answers = apply(&mut world, &inputs);
            prop_assert_eq!(answers.len(), inputs.len());
            for answer in answers {
                if let Ok(Done::Moved(to)) = answer.result {
                    prop_assert!(to.distance(places[&answer.mover]) <= 1);
                    places.insert(answer.mover, to);
                }
            }
            for (mover_ref, spot) in &places {
                prop_assert_eq!(world.cell_of(*mover_ref), Some(*spot));
                prop_assert!(world.settings().size.contains(*spot) && !world.trees.contains(*spot));
            }
            let mut cells: Vec<Cell> = places.values().copied().collect();
            cells.sort_unstable();
            cells.dedup();
            prop_assert!(!is_one || cells.len() == places.len());
        }
    }
}
