//! A restart: snapshot and the rows behind it give what was.

use super::fixture::*;
use crate::rows::WorldLogRow;
use crate::worlds::{Done, Input, InputKind, MoverRef, Refusal, Registration, World, WorldLoadError};
use proptest::prelude::*;
use rules::world::{Cell, LifeSettings, Step, WorldSettings};
use std::collections::BTreeMap;

/// Durable state, and all positions.
fn state(
    world: &World,
) -> (Option<crate::worlds::RoundStatus>, Vec<crate::worlds::HunterScore>, Vec<Cell>, u32, Vec<Cell>) {
    let hunt = world.hunt.as_ref().unwrap();
    let life = world.life.as_ref().map(|life| life.alive().iter().collect()).unwrap_or_default();
    (world.round(), hunt.top_scores(1_000), hunt.visible_items().iter().collect(), world.stats().claims_version, life)
}

fn settings() -> WorldSettings {
    WorldSettings { life: Some(LifeSettings { start_permille: 100, ..LifeSettings::default() }), ..hunt(14, 14, 40, 9) }
}

proptest! {
    #[test]
    fn a_world_comes_back_from_any_snapshot_and_its_rows(
        seed in any::<u64>(), deeds in proptest::collection::vec((0_usize..5, 0_u8..13), 1..150),
        snapshot_at in any::<prop::sample::Index>(), portion in 1_usize..6,
    ) {
        let mut world = world(settings(), seed);
        let mover_refs: Vec<_> = (0..5).map(|at| register(&mut world, &member(None, at, "Somebody"))).collect();
        let mut next = [1_u32; 5];
        let (mut snapshot, mut rows) = (None, Vec::new());
        let snapshot_at = snapshot_at.index(deeds.len());
        let mut answered: BTreeMap<(MoverRef, u32), Answer> = BTreeMap::new();
        let mut places = BTreeMap::new();
        for (at, (who, deed)) in deeds.iter().enumerate() {
            let mover_ref = mover_refs[*who].mover;
            let mut out = Vec::new();
            match deed {
                0..=8 => world.apply(&[input(mover_ref, next[*who], InputKind::Step(Step::from_code(*deed).unwrap()))], START_US, &mut out),
                9 | 10 => world.apply(&[input(mover_ref, next[*who], if *deed == 9 { InputKind::Dig } else { InputKind::Grab })], START_US, &mut out),
                11 => { world.tick(START_US, &mut Vec::new()); world.advance_generation(START_US); }
                _ => if let Some(pending) = world.take_claims() {
                    rows.extend(pending.rows.clone());
                    world.committed(pending.version(), START_US, &mut out).unwrap();
                },
            }
            next[*who] += u32::from(*deed <= 10);
            for answer in out {
                answered.insert((answer.mover, answer.seq), (answer.result, at));
            }
            if at == snapshot_at {
                snapshot = Some(world.begin_snapshot(false));
            }
            if let Some(snapshot) = snapshot.as_mut().filter(|_| places.len() < mover_refs.len()) {
                // In the order of their numbers, some after each deed.
                let written = mover_refs.iter().skip(places.len()).take(portion).map(|registered| registered.mover);
                places.extend(written.map(|mover_ref| (mover_ref.id, world.cell_of(mover_ref).unwrap())));
                prop_assert_eq!(world.write_movers(snapshot, portion), places.len() == mover_refs.len());
            }
        }
        let mut snapshot = snapshot.unwrap();
        world.write_movers(&mut snapshot, usize::MAX);
        let (base, bytes) = (snapshot.claims_version, snapshot.into_bytes());
        for registered in &mover_refs {
            places.entry(registered.mover.id).or_insert_with(|| world.cell_of(registered.mover).unwrap());
        }
        let behind: Vec<WorldLogRow> = rows.iter().filter(|row| row.version >= base).cloned().collect();
        let mut again = World::open(opening(settings(), seed, 2), Some(&bytes), &behind, START_US).unwrap();
        let mut all = World::open(opening(settings(), seed, 2), None, &rows, START_US).unwrap();
        prop_assert_eq!(&state(&again).0, &state(&all).0);
        prop_assert_eq!(state(&again).1, state(&world).1);
        prop_assert_eq!(&state(&again).2, &state(&world).2);
        prop_assert_eq!(state(&all).2, state(&world).2);
        prop_assert_eq!(state(&again).3, state(&world).3);
        prop_assert_eq!(again.stats().lost, 5);
        for (at, registered) in (0..).zip(&mover_refs) {
            let back = Registration { resume: Some((registered.mover.id, registered.key)), ..member(None, at, "Somebody") };
            let resumed = again.register(&back, START_US).unwrap();
            prop_assert!(resumed.is_resumed);
            prop_assert_eq!(resumed.cell, places[&registered.mover.id]);
            // Every claim that was won is answered as it was, if it is among the last.
            for ((_, seq), (result, _)) in answered.iter().filter(|((mover_ref, _), _)| *mover_ref == registered.mover) {
                let is_won = matches!(result, Ok(Done::Dug { .. } | Done::Grabbed { .. }));
                if is_won && resumed.next_seq - seq <= 4 {
                    prop_assert_eq!(apply_input(&mut again, resumed.mover, *seq, InputKind::Dig), Some(*result));
                }
                prop_assert!(!is_won || *seq < resumed.next_seq, "a claim that was won is not accepted again");
            }
        }
        prop_assert!(all.register(&walker(None), START_US).is_ok());
    }

    /// A snapshot is the same when it is read and written again, and a shortened or changed one is not accepted.
    #[test]
    fn a_snapshot_is_read_whole_or_not_at_all(seed in any::<u64>(), cut in any::<prop::sample::Index>(), flip in 0_u8..8) {
        let (mut world, first) = running_hunt(settings(), seed);
        register(&mut world, &member(None, 8, "Eve"));
        apply_input(&mut world, first, 1, InputKind::Step(Step::Se));
        let bytes = world.snapshot(true).into_bytes();
        let reopen = |bytes: &[u8]| World::open(opening(settings(), seed, 2), Some(bytes), &[], START_US);
        let again = reopen(&bytes).unwrap().snapshot(true).into_bytes();
        let epoch_two = |bytes: &[u8]| bytes.len();
        prop_assert_eq!(epoch_two(&bytes), epoch_two(&again));
        let at = cut.index(bytes.len());
        prop_assert!(matches!(reopen(&bytes[..at]), Err(WorldLoadError::Snapshot(_))));
        let mut changed = bytes.clone();
        changed[at] ^= 1 << flip;
        let _ = reopen(&changed);
    }
}

type Answer = (Result<Done, Refusal>, usize);

#[test]
fn rows_that_do_not_follow_are_refused() {
    let (mut world, _) = running_hunt(settings(), 3);
    let spot = world
        .hunt
        .as_ref()
        .unwrap()
        .placed()
        .iter()
        .find(|at| matches!(at.item, rules::world::Item::Chest { .. }))
        .unwrap()
        .cell;
    let mover_ref = register(&mut world, &walker(Some(spot))).mover;
    let bytes = kept(&mut world);
    apply(&mut world, &[Input { tag: 1, ..input(mover_ref, 1, InputKind::Dig) }]);
    let row = world.take_claims().unwrap().rows.remove(0);
    let open = |rows: &[WorldLogRow]| World::open(opening(settings(), 3, 2), Some(&bytes), rows, START_US).map(|_| ());
    assert_eq!(open(std::slice::from_ref(&row)), Ok(()));
    let twice = [row.clone(), WorldLogRow { version: row.version + 1, ..row.clone() }];
    assert_eq!(open(&twice), Err(WorldLoadError::Log { version: 2, why: "an item is claimed twice" }));
    let gap = WorldLogRow { version: 7, ..row.clone() };
    assert_eq!(open(&[gap]), Err(WorldLoadError::Log { version: 7, why: "it is not the next one" }));
    let broken = WorldLogRow { bytes: row.bytes[1..].to_vec(), ..row };
    assert!(matches!(open(&[broken]), Err(WorldLoadError::Row { version: 1, .. })));
}

#[test]
fn who_came_after_the_snapshot_keeps_what_he_won() {
    let (mut world, _) = running_hunt(settings(), 3);
    let bytes = kept(&mut world);
    let spot = world
        .hunt
        .as_ref()
        .unwrap()
        .placed()
        .iter()
        .find(|at| matches!(at.item, rules::world::Item::Chest { .. }))
        .unwrap()
        .cell;
    let registered = register(&mut world, &walker(Some(spot)));
    apply_input(&mut world, registered.mover, 1, InputKind::Dig);
    let rows = world.take_claims().unwrap().rows;
    let mut again = World::open(opening(settings(), 3, 2), Some(&bytes), &rows, START_US).unwrap();
    let back = Registration { resume: Some((registered.mover.id, registered.key)), ..walker(None) };
    let resumed = again.register(&back, START_US).unwrap();
    assert_eq!((resumed.is_resumed, resumed.cell, resumed.next_seq), (true, spot, 2));
    assert!(resumed.score > 0);
    let repeated = apply_input(&mut again, resumed.mover, 1, InputKind::Dig);
    assert!(matches!(repeated, Some(Ok(Done::Dug { score, .. })) if score == resumed.score), "{repeated:?}");
}

/// Inputs between the snapshot and a claim behind it are forgotten. One of them must not get the answer to the input whose place in memory
/// it shares.
#[test]
fn a_forgotten_input_gets_no_other_inputs_answer() {
    let (mut world, _) = running_hunt(settings(), 3);
    let is_chest = |at: &&rules::world::PlacedItem| matches!(at.item, rules::world::Item::Chest { .. });
    let spot = world.hunt.as_ref().unwrap().placed().iter().find(is_chest).unwrap().cell;
    let registered = register(&mut world, &walker(Some(spot)));
    let stay = InputKind::Step(Step::Stay);
    (1..=4).for_each(|seq| assert!(apply_input(&mut world, registered.mover, seq, stay).is_some()));
    let bytes = kept(&mut world);
    (5..=7).for_each(|seq| assert!(apply_input(&mut world, registered.mover, seq, stay).is_some()));
    apply_input(&mut world, registered.mover, 8, InputKind::Dig);
    let rows = world.take_claims().unwrap().rows;
    let mut again = World::open(opening(settings(), 3, 2), Some(&bytes), &rows, START_US).unwrap();
    let back = Registration { resume: Some((registered.mover.id, registered.key)), ..walker(None) };
    let resumed = again.register(&back, START_US).unwrap();
    assert_eq!(resumed.next_seq, 9);
    for seq in 5..=7 {
        let repeated = apply_input(&mut again, resumed.mover, seq, stay);
        assert_eq!(repeated, Some(Err(Refusal::OutOfOrder { expected: 9 })), "{seq}");
    }
    assert!(matches!(apply_input(&mut again, resumed.mover, 8, InputKind::Dig), Some(Ok(Done::Dug { .. }))));
}
