//! Entering and leaving: graces, keys, and that no ghosts stay behind.

use super::fixture::*;
use super::views::{Client, look};
use crate::ids::PlayerId;
use crate::limits::{MOVER_GRACE, MOVER_IDS_GAP};
use crate::worlds::{InputKind, MoverId, MoverRef, Refusal, Registration, World};
use rules::world::{Sharing, Step, WorldSettings};

const GRACE_US: i64 = MOVER_GRACE.as_micros() as i64;

fn gone(world: &mut World, now_us: i64) -> Vec<MoverRef> {
    let mut gone = Vec::new();
    world.tick(now_us, &mut gone);
    gone
}

#[test]
fn who_comes_back_in_time_goes_on_where_he_was() {
    let mut world = world(meadow(20, 20), 1);
    let registered = register(&mut world, &walker(Some(cell(4, 4))));
    apply_input(&mut world, registered.mover, 1, InputKind::Step(Step::E));
    world.connection_lost(registered.mover, START_US);
    assert_eq!(world.next_due(), Some(START_US + GRACE_US));
    assert_eq!(gone(&mut world, START_US + GRACE_US - 1), []);
    let back = Registration { resume: Some((registered.mover.id, registered.key)), ..walker(None) };
    let again = world.register(&back, START_US).unwrap();
    assert_eq!((again.mover, again.cell, again.next_seq, again.is_resumed), (registered.mover, cell(5, 4), 2, true));
    assert_eq!(gone(&mut world, START_US + 10 * GRACE_US), []);
    assert_eq!(world.stats().lost, 0);
}

#[test]
fn who_does_not_come_back_is_gone_and_no_ghost_is_seen() {
    let mut world = world(meadow(20, 20), 1);
    let viewer = register(&mut world, &watcher(Some(cell(4, 4)), 5)).mover;
    let registered = register(&mut world, &walker(Some(cell(5, 4))));
    let mut client = Client::default();
    assert_eq!(look(&mut world, viewer, &mut client).unwrap().entered.len(), 1);
    world.connection_lost(registered.mover, START_US);
    assert_eq!((look(&mut world, viewer, &mut client), world.stats().lost), (None, 1));
    assert_eq!(gone(&mut world, START_US + GRACE_US), [registered.mover]);
    assert_eq!(look(&mut world, viewer, &mut client).unwrap().left, [registered.mover.id]);
    assert_eq!((world.contains(registered.mover), world.stats().movers, world.stats().lost), (false, 1, 0));
    let back = Registration { resume: Some((registered.mover.id, registered.key)), ..walker(None) };
    let again = world.register(&back, START_US).unwrap();
    assert!(again.mover.id != registered.mover.id && !again.is_resumed);
    assert_eq!(again.next_seq, 1, "another number, and another count");
}

#[test]
fn a_players_mover_is_taken_up_by_that_player_alone() {
    let mut world = world(meadow(20, 20), 1);
    let of = |player: Option<u128>| Registration { player: player.map(PlayerId), ..walker(None) };
    let registered = register(&mut world, &of(Some(7)));
    let mut back = |player| {
        let back = Registration { resume: Some((registered.mover.id, registered.key)), ..of(player) };
        world.register(&back, START_US).unwrap().is_resumed
    };
    assert_eq!([None, Some(8), Some(7)].map(&mut back), [false, false, true]);
    // A guest's mover becomes that of the player who resumes it.
    let nobodys = register(&mut world, &of(None));
    let mut back = |player| {
        let back = Registration { resume: Some((nobodys.mover.id, nobodys.key)), ..of(player) };
        world.register(&back, START_US).unwrap().is_resumed
    };
    assert_eq!([None, Some(8), Some(7), None].map(&mut back), [true, true, false, false]);
}

#[test]
fn a_grace_begins_anew_with_every_loss() {
    let mut world = world(meadow(20, 20), 1);
    let registered = register(&mut world, &walker(None));
    world.connection_lost(registered.mover, START_US);
    world
        .register(&Registration { resume: Some((registered.mover.id, registered.key)), ..walker(None) }, START_US)
        .unwrap();
    world.connection_lost(registered.mover, START_US + GRACE_US / 2);
    assert_eq!(gone(&mut world, START_US + GRACE_US), []);
    assert_eq!(gone(&mut world, START_US + GRACE_US + GRACE_US / 2), [registered.mover]);
}

#[test]
fn a_wrong_key_makes_a_newcomer() {
    let mut world = world(meadow(20, 20), 1);
    let registered = register(&mut world, &walker(None));
    for (id, key) in
        [(registered.mover.id, registered.key ^ 1), (MoverId(99), registered.key), (registered.mover.id, 0)]
    {
        let other = world.register(&Registration { resume: Some((id, key)), ..walker(None) }, START_US).unwrap();
        assert!(other.mover.id != registered.mover.id && !other.is_resumed);
    }
}

#[test]
fn an_actor_has_no_grace_and_no_key() {
    let mut world = world(meadow(20, 20), 1);
    let actor = register(&mut world, &Registration { is_resumable: false, ..walker(None) });
    assert_eq!(actor.key, 0);
    world.connection_lost(actor.mover, START_US);
    assert!(!world.contains(actor.mover) && !world.has_movers());
}

#[test]
fn who_finds_no_cell_is_refused() {
    let mut world = world(WorldSettings { sharing: Sharing::One, ..meadow(8, 8) }, 1);
    let mover_refs: Vec<MoverRef> =
        (0..64).map(|at| register(&mut world, &walker((at % 2 == 0).then(|| cell(1, 1)))).mover).collect();
    assert_eq!(world.register(&walker(None), START_US), Err(Refusal::WorldFull));
    assert_eq!(world.register(&walker(Some(cell(3, 3))), START_US), Err(Refusal::WorldFull));
    world.leave(mover_refs[10]);
    assert!(world.register(&walker(Some(cell(60_000, 60_000))), START_US).is_ok());
}

#[test]
fn numbers_go_on_over_a_crash_and_wait_for_a_snapshot() {
    let mut first = world(meadow(8, 8), 1);
    let one = register(&mut first, &walker(None)).mover.id;
    let bytes = kept(&mut first);
    let two = register(&mut first, &walker(None)).mover.id;
    assert_eq!((one, two), (MoverId(1), MoverId(2)));
    let mut crashed = World::open(opening(meadow(8, 8), 1, 2), Some(&bytes), &[], START_US).unwrap();
    assert_eq!(register(&mut crashed, &walker(None)).mover.id, MoverId(2 + MOVER_IDS_GAP));
    let bytes = crashed.snapshot(true).into_bytes();
    let mut left = World::open(opening(meadow(8, 8), 1, 3), Some(&bytes), &[], START_US).unwrap();
    assert_eq!(register(&mut left, &walker(None)).mover.id, MoverId(3 + MOVER_IDS_GAP));
    left.ids_next = left.ids_end;
    assert_eq!(left.register(&walker(None), START_US), Err(Refusal::WorldFull));
    // However many are made: while none is saved, a crash continues from the last that was.
    let [_, second] = [left.snapshot(false), left.snapshot(false)].map(|snapshot| snapshot.id_watermark);
    assert_eq!(left.register(&walker(None), START_US), Err(Refusal::WorldFull));
    left.snapshot_saved(second);
    assert!(left.register(&walker(None), START_US).is_ok());
}

/// In a hunt more movers would see more and dig more into one score. Elsewhere a player may have as many as connections.
#[test]
fn a_player_has_one_mover_in_a_hunt() {
    let mut world = world(hunt(20, 20, 4, 0), 1);
    let first = register(&mut world, &member(Some(cell(5, 5)), 7, "Ann"));
    let other = register(&mut world, &member(Some(cell(9, 9)), 8, "Ben"));
    let again = register(&mut world, &member(Some(cell(15, 15)), 7, "Ann"));
    assert_eq!((again.mover, again.cell, again.is_resumed), (first.mover, cell(5, 5), true));
    // Also while its connection is lost, with a wrong key, and by a client that had none of its own.
    world.connection_lost(first.mover, START_US);
    let wrong = Registration { resume: Some((other.mover.id, other.key)), ..member(None, 7, "Ann") };
    assert_eq!(register(&mut world, &wrong).mover, first.mover);
    let guest = register(&mut world, &walker(None));
    let signed_in = Registration { resume: Some((guest.mover.id, guest.key)), ..member(None, 9, "Cam") };
    assert_eq!(register(&mut world, &signed_in).mover, guest.mover);
    assert_eq!(register(&mut world, &member(None, 9, "Cam")).mover, guest.mover);
    assert_eq!(world.stats().movers, 3);
    // Once it has left there is a new one.
    world.leave(first.mover);
    let new = register(&mut world, &member(Some(cell(15, 15)), 7, "Ann"));
    assert_eq!((new.cell, new.is_resumed), (cell(15, 15), false));
    let bytes = kept(&mut world);
    let mut restored = World::open(opening(hunt(20, 20, 4, 0), 1, 2), Some(&bytes), &[], START_US).unwrap();
    assert_eq!(register(&mut restored, &member(None, 7, "Ann")).cell, cell(15, 15));
}
