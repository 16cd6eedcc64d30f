//! Views: a client that applies every delta has what a fresh view would show, however many it skips.

use super::fixture::*;
use crate::limits::{VIEW_MARGIN_CELLS, VIEW_MOVERS_MAX};
use crate::worlds::{Done, InputKind, MoverId, MoverRef, Refusal, ViewDelta, ViewOptions, World};
use proptest::prelude::*;
use rules::world::{Cell, Indicator, LifeSettings, Step, WorldSettings};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// A client that follows [`ViewDelta`]'s documentation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Client {
    movers: BTreeMap<MoverId, Cell>,
    trees: BTreeSet<Cell>,
    items: BTreeMap<Cell, Indicator>,
    life: BTreeSet<Cell>,
}

impl Client {
    pub(super) fn apply(&mut self, delta: &ViewDelta) {
        if delta.is_full {
            *self = Self::default();
        }
        let margin = VIEW_MARGIN_CELLS;
        let knows = |cell: &Cell| {
            cell.is_within(delta.centre, u16::from(delta.radius_x + margin), u16::from(delta.radius_y + margin))
        };
        self.trees.retain(knows);
        self.items.retain(|cell, _| knows(cell));
        self.life.retain(knows);
        for id in &delta.left {
            assert!(self.movers.remove(id).is_some(), "{id:?} left who was not there");
        }
        for entered in &delta.entered {
            assert!(self.movers.insert(entered.id, entered.cell).is_none(), "{entered:?} was there");
        }
        for (id, cell) in &delta.moved {
            assert!(self.movers.insert(*id, *cell).is_some_and(|before| before != *cell), "{id:?} was not there");
        }
        for cell in &delta.trees {
            assert!(self.trees.insert(*cell), "a tree is sent twice");
        }
        for cell in &delta.items_gone {
            assert!(self.items.remove(cell).is_some(), "an item is gone that was not there");
        }
        for (cell, indicator) in &delta.items_in {
            assert!(self.items.insert(*cell, *indicator).is_none(), "an item is sent twice");
        }
        for cell in &delta.life_off {
            assert!(self.life.remove(cell), "a bacterium is gone that was not there");
        }
        for cell in &delta.life_on {
            assert!(self.life.insert(*cell), "a bacterium is sent twice");
        }
    }
}

pub(super) fn look(world: &mut World, mover_ref: MoverRef, client: &mut Client) -> Option<ViewDelta> {
    let mut delta = ViewDelta::default();
    // What is not new is not sent: the client knows nothing of it.
    let delta = world.view(mover_ref, START_US + 1_000, &mut delta).then_some(delta)?;
    client.apply(&delta);
    Some(delta)
}

/// What is in sight, computed simply.
fn truth(world: &World, mover_refs: &[MoverRef], own: MoverRef, radius: u16) -> Client {
    let centre = world.cell_of(own).unwrap();
    let near = |cell: Cell, radius: u16| cell.is_within(centre, radius, radius);
    let ground = |cell: &Cell| near(*cell, radius + u16::from(VIEW_MARGIN_CELLS));
    let others = mover_refs
        .iter()
        .filter(|mover_ref| **mover_ref != own)
        .filter_map(|mover_ref| Some((mover_ref.id, world.cell_of(*mover_ref)?)));
    let items = world.hunt.as_ref().map(|hunt| {
        let placed =
            hunt.placed().iter().filter(|placed| hunt.visible_items().contains(placed.cell) && ground(&placed.cell));
        placed.map(|placed| (placed.cell, placed.item.into())).collect()
    });
    Client {
        movers: others.filter(|(_, cell)| near(*cell, radius)).collect(),
        trees: world.trees.iter().filter(ground).collect(),
        items: items.unwrap_or_default(),
        life: world.life.as_ref().map(|life| life.alive().iter().filter(ground).collect()).unwrap_or_default(),
    }
}

#[track_caller]
fn check(world: &World, mover_refs: &[MoverRef], own: MoverRef, radius: u16, client: &Client) {
    let want = truth(world, mover_refs, own, radius);
    assert_eq!((&client.trees, &client.items, &client.life), (&want.trees, &want.items, &want.life));
    for (id, cell) in &want.movers {
        assert_eq!(client.movers.get(id), Some(cell), "within the radius all movers are known");
    }
    let centre = world.cell_of(own).unwrap();
    let edge = radius + u16::from(VIEW_MARGIN_CELLS);
    for (id, cell) in &client.movers {
        let is_there =
            mover_refs.iter().any(|mover_ref| mover_ref.id == *id && world.cell_of(*mover_ref) == Some(*cell));
        assert!(is_there && cell.is_within(centre, edge, edge) && *id != own.id, "{id:?} is a ghost");
    }
}

#[test]
fn a_mover_comes_into_sight_moves_and_goes() {
    let mut world = world(meadow(40, 40), 1);
    let own = register(&mut world, &watcher(Some(cell(10, 10)), 3)).mover;
    let other = register(&mut world, &walker(Some(cell(14, 10)))).mover;
    let mut client = Client::default();
    let first = look(&mut world, own, &mut client).unwrap();
    assert!(first.is_full && first.entered.is_empty(), "{first:?}");
    assert_eq!(look(&mut world, own, &mut client), None);
    apply_input(&mut world, other, 1, InputKind::Step(Step::W));
    let delta = look(&mut world, own, &mut client).unwrap();
    assert_eq!((delta.entered.len(), delta.entered[0].cell, delta.oldest_change_us), (1, cell(13, 10), Some(START_US)));
    for (seq, step, want) in [(2, Step::E, 1), (3, Step::E, 1), (4, Step::E, 0)] {
        apply_input(&mut world, other, seq, InputKind::Step(step));
        look(&mut world, own, &mut client).unwrap();
        assert_eq!(client.movers.len(), want, "leaves beyond the margin, after step {seq}");
    }
}

#[test]
fn who_takes_anothers_slot_is_not_taken_for_him() {
    let mut world = world(meadow(40, 40), 1);
    let own = register(&mut world, &watcher(Some(cell(10, 10)), 3)).mover;
    let first = register(&mut world, &walker(Some(cell(11, 10)))).mover;
    let mut client = Client::default();
    look(&mut world, own, &mut client);
    world.leave(first);
    let second = register(&mut world, &walker(Some(cell(11, 10)))).mover;
    assert_eq!(second.slot, first.slot);
    let delta = look(&mut world, own, &mut client).unwrap();
    assert_eq!((&delta.left[..], delta.entered.len(), delta.entered[0].id), (&[first.id][..], 1, second.id));
}

#[test]
fn what_came_into_sight_because_the_viewer_moved_is_not_late() {
    let mut world = world(meadow(40, 40), 1);
    let own = register(&mut world, &watcher(Some(cell(10, 10)), 3)).mover;
    register(&mut world, &walker(Some(cell(14, 10))));
    let mut client = Client::default();
    look(&mut world, own, &mut client);
    apply_input(&mut world, own, 1, InputKind::Step(Step::E));
    let delta = look(&mut world, own, &mut client).unwrap();
    assert_eq!((delta.entered.len(), delta.oldest_change_us), (1, None));
}

/// On an empty meadow hardly a step shows anything new, and each of them moves the edge of what is in sight all the same.
#[test]
fn what_goes_behind_the_viewers_back_is_gone_when_he_turns_round() {
    let (mut world, digger) = running_hunt(hunt(60, 60, 1, 0), 7);
    let chest = world.hunt.as_ref().unwrap().placed()[0].cell;
    let (away, back) = if chest.x < 30 { (Step::E, Step::W) } else { (Step::W, Step::E) };
    let edge = 3 + u16::from(VIEW_MARGIN_CELLS);
    let x = if chest.x < 30 { chest.x + edge } else { chest.x - edge };
    let own = register(&mut world, &watcher(Some(cell(x, chest.y)), 3)).mover;
    let mut client = Client::default();
    look(&mut world, own, &mut client);
    assert_eq!(client.items.len(), 1);
    apply_input(&mut world, own, 1, InputKind::Step(away));
    look(&mut world, own, &mut client);
    world.leave(digger);
    let digger = register(&mut world, &walker(Some(chest))).mover;
    assert_eq!(apply_input(&mut world, digger, 1, InputKind::Dig), None);
    assert_eq!(save(&mut world, START_US).len(), 1);
    look(&mut world, own, &mut client);
    apply_input(&mut world, own, 2, InputKind::Step(back));
    look(&mut world, own, &mut client);
    assert!(client.items.is_empty(), "nothing lies there any more");
}

#[test]
fn a_view_that_is_too_large_is_refused() {
    let mut world = world(meadow(40, 40), 1);
    let register_with = |radius_x, radius_y, per_s| {
        let view = Some(ViewOptions { radius_x, radius_y, per_s });
        let mut registration = walker(None);
        registration.view = view;
        world.register(&registration, START_US).map(|_| ()).map_err(Refusal::code)
    };
    let mut register_with = register_with;
    assert_eq!(register_with(29, 29, 60), Ok(()));
    for (radius_x, radius_y, per_s) in
        [(30, 1, 5), (1, 30, 5), (0, 5, 5), (5, 0, 5), (5, 5, 0), (5, 5, 61), (255, 255, 255)]
    {
        assert_eq!(register_with(radius_x, radius_y, per_s), Err("view_too_large"), "{radius_x} {radius_y} {per_s}");
    }
}

#[test]
fn of_a_crowd_the_nearest_are_sent_and_only_once() {
    let mut world = world(meadow(40, 40), 1);
    let own = register(&mut world, &watcher(Some(cell(20, 20)), 5)).mover;
    let near: Vec<MoverRef> = (0..5).map(|_| register(&mut world, &walker(Some(cell(21, 20)))).mover).collect();
    let heap: Vec<MoverRef> =
        (0..VIEW_MOVERS_MAX + 100).map(|_| register(&mut world, &walker(Some(cell(23, 20)))).mover).collect();
    register(&mut world, &walker(Some(cell(25, 20))));
    let mut client = Client::default();
    let first = look(&mut world, own, &mut client).unwrap();
    assert_eq!((client.movers.len() + 1, first.crowd as usize), (VIEW_MOVERS_MAX, 100 + 5 + 1 + 1));
    assert!(near.iter().all(|mover_ref| client.movers.contains_key(&mover_ref.id)));
    assert_eq!(look(&mut world, own, &mut client), None);
    let hidden: Vec<MoverRef> =
        heap.iter().copied().filter(|mover_ref| !client.movers.contains_key(&mover_ref.id)).collect();
    for mover_ref in &hidden {
        apply_input(&mut world, *mover_ref, 1, InputKind::Step(Step::E));
        apply_input(&mut world, *mover_ref, 2, InputKind::Step(Step::W));
    }
    assert_eq!(look(&mut world, own, &mut client), None, "those on top are others now, and nothing is sent");
    let sent: Vec<MoverRef> =
        heap.iter().copied().filter(|mover_ref| client.movers.contains_key(&mover_ref.id)).collect();
    for mover_ref in &sent[..10] {
        world.leave(*mover_ref);
    }
    for mover_ref in &sent[10..40] {
        apply_input(&mut world, *mover_ref, 1, InputKind::Step(Step::E));
        apply_input(&mut world, *mover_ref, 2, InputKind::Step(Step::W));
    }
    let filled = look(&mut world, own, &mut client).unwrap();
    assert_eq!((filled.left.len(), filled.entered.len(), filled.crowd as usize), (10, 10, 100 + 5 + 1 + 1 - 10));
    for mover_ref in heap {
        world.leave(mover_ref);
    }
    let after = look(&mut world, own, &mut client).unwrap();
    assert_eq!((client.movers.len(), after.crowd), (6, 0));
}

#[test]
fn farsight_shows_more_for_a_while_and_sends_a_full_view() {
    let (mut world, _) = running_hunt(hunt(60, 60, 1, 12), 5);
    let own = register(&mut world, &watcher(Some(cell(30, 30)), 4)).mover;
    let mut client = Client::default();
    look(&mut world, own, &mut client);
    let until = crate::time::UnixMs(START_US / 1_000 + 5_000);
    world.activate_power_up(own, rules::world::PowerUp::Farsight, until, START_US);
    let more = look(&mut world, own, &mut client).unwrap();
    assert_eq!((more.is_full, more.radius_x, more.radius_y), (true, 10, 10));
    let mut later = ViewDelta::default();
    assert!(world.view(own, START_US + 5_000_000, &mut later));
    assert_eq!((later.is_full, later.radius_x), (true, 4));
}

proptest! {
    #[test]
    fn who_applies_every_delta_has_what_is(
        seed in any::<u64>(), radius in 1_u8..7,
        deeds in proptest::collection::vec((0_usize..8, 0_u8..14, any::<bool>()), 1..200),
    ) {
        let life = LifeSettings { generation: Duration::from_millis(50), start_permille: 300 };
        let settings = WorldSettings { tree_permille: 100, life: Some(life), ..hunt(30, 24, 60, 20) };
        let (mut world, first) = running_hunt(settings, seed);
        let own = register(&mut world, &watcher(None, radius)).mover;
        let mut mover_refs = vec![first, own];
        let mut next: BTreeMap<MoverRef, u32> = mover_refs.iter().map(|mover_ref| (*mover_ref, 1)).collect();
        let mut client = Client::default();
        let mut now_us = START_US;
        for (who, deed, is_looking) in deeds {
            now_us += 10_000;
            let mover_ref = mover_refs[who % mover_refs.len()];
            let seq = next[&mover_ref];
            match deed {
                0..=8 => { next.insert(mover_ref, seq + 1); apply_input(&mut world, mover_ref, seq, InputKind::Step(Step::from_code(deed).unwrap())); }
                9 => { next.insert(mover_ref, seq + 1); apply_input(&mut world, mover_ref, seq, InputKind::Dig); }
                10 => { save(&mut world, START_US); }
                11 => { let registered = register(&mut world, &walker(None)).mover; next.insert(registered, 1); mover_refs.push(registered); }
                12 if mover_refs.len() > 2 && mover_ref != own => { world.leave(mover_ref); mover_refs.retain(|other| *other != mover_ref); }
                _ => { world.tick(now_us, &mut Vec::new()); world.advance_generation(now_us); }
            }
            if is_looking {
                look(&mut world, own, &mut client);
                check(&world, &mover_refs, own, u16::from(radius), &client);
            }
        }
        look(&mut world, own, &mut client);
        check(&world, &mover_refs, own, u16::from(radius), &client);
    }
}

#[test]
fn nothing_is_shown_to_who_does_not_look() {
    let mut world = world(meadow(9, 9), 1);
    let own = register(&mut world, &watcher(None, 3)).mover;
    world.watch(own, None).unwrap();
    assert!(!world.view(own, START_US, &mut ViewDelta::default()));
    assert!(!world.view(NOBODY, START_US, &mut ViewDelta::default()));
    assert_eq!(apply_input(&mut world, own, 1, InputKind::Step(Step::Stay)).map(|result| result.is_ok()), Some(true));
    world.watch(own, Some(ViewOptions { radius_x: 2, radius_y: 3, per_s: 1 })).unwrap();
    let mut delta = ViewDelta::default();
    assert!(world.view(own, START_US, &mut delta) && delta.is_full);
    let _ = Done::Moved(delta.centre);
}
