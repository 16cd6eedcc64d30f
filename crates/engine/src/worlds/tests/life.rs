//! Conway's life: on free cells, undisturbed by movers that keep away.

use super::fixture::*;
use crate::worlds::{Input, InputKind, MoverRef};
use rules::chance::{Chance, Dice, Purpose, Seed};
use rules::world::{Cell, LifeSettings, Step, WorldSettings};
use std::collections::BTreeSet;
use std::time::Duration;

fn lively(width: u16, height: u16) -> WorldSettings {
    WorldSettings {
        life: Some(LifeSettings { generation: Duration::from_millis(100), start_permille: 0 }),
        ..meadow(width, height)
    }
}

/// A thousand movers mill about, none within three cells of the diagonal that the glider flies along.
#[test]
fn a_glider_crosses_the_map_among_movers() {
    let mut world = world(lively(200, 200), 4);
    let glider: Vec<Cell> = [(1, 0), (2, 1), (0, 2), (1, 2), (2, 2)].map(|(x, y)| cell(x + 10, y + 10)).to_vec();
    assert_eq!(world.sow(&glider), 5);
    let keeps_off = |cell: Cell| cell.x.abs_diff(cell.y) > 5;
    let mut dice = Chance::new(Seed(8), 0, Purpose::WorldSpawn);
    let mut mover_refs: Vec<(MoverRef, u32)> = Vec::new();
    while mover_refs.len() < 1_000 {
        let at = cell(dice.below(200) as u16, dice.below(200) as u16);
        if keeps_off(at) {
            mover_refs.push((register(&mut world, &walker(Some(at))).mover, 1));
        }
    }
    world.advance_generation(START_US);
    for generation in 1..=4 * 170 {
        let mut batch: Vec<Input> = Vec::new();
        for (mover_ref, seq) in &mut mover_refs {
            let step = Step::ALL[dice.below(9) as usize];
            let to = world.settings().size.neighbour(world.cell_of(*mover_ref).unwrap(), step);
            if to.is_some_and(keeps_off) {
                batch.push(input(*mover_ref, *seq, InputKind::Step(step)));
                *seq += 1;
            }
        }
        apply(&mut world, &batch);
        world.advance_generation(START_US + generation * 100_000);
    }
    let alive: BTreeSet<Cell> = world.life.as_ref().unwrap().alive().iter().collect();
    assert_eq!(alive, glider.iter().map(|at| cell(at.x + 170, at.y + 170)).collect());
}

#[test]
fn nothing_lives_under_feet() {
    let mut world = world(lively(20, 20), 4);
    let mover_ref = register(&mut world, &walker(Some(cell(5, 5)))).mover;
    assert_eq!(world.sow(&[cell(4, 4), cell(5, 4), cell(6, 4), cell(5, 5), cell(25, 5)]), 3);
    world.advance_generation(START_US);
    world.advance_generation(START_US + 100_000);
    let alive: Vec<Cell> = world.life.as_ref().unwrap().alive().iter().collect();
    assert_eq!(alive, [cell(5, 3), cell(5, 4)], "the third would be born where a mover stands");
    apply_input(&mut world, mover_ref, 1, InputKind::Step(Step::N));
    assert_eq!(world.stats().bacteria, 1);
    assert_eq!(world.next_due(), Some(START_US + 200_000));
}
