//! Coming and going: graces, keys, and that nobody leaves a ghost.

use super::fixture::*;
use super::views::{Client, look};
use crate::ids::PlayerId;
use crate::limits::{MOVER_GRACE, MOVER_IDS_GAP};
use crate::worlds::{MoverId, Refusal, Registration, Seat, What, World};
use rules::world::{Settings, Sharing, Step};

const GRACE_US: i64 = MOVER_GRACE.as_micros() as i64;

fn gone(world: &mut World, now_us: i64) -> Vec<Seat> {
    let mut gone = Vec::new();
    world.tick(now_us, &mut gone);
    gone
}

#[test]
fn who_comes_back_in_time_goes_on_where_he_was() {
    let mut world = world(meadow(20, 20), 1);
    let came = come(&mut world, &walker(Some(cell(4, 4))));
    ask(&mut world, came.seat, 1, What::Step(Step::E));
    world.lost(came.seat, START_US);
    assert_eq!(world.next_due(), Some(START_US + GRACE_US));
    assert_eq!(gone(&mut world, START_US + GRACE_US - 1), []);
    let back = Registration { resume: Some((came.seat.id, came.key)), ..walker(None) };
    let again = world.register(&back, START_US).unwrap();
    assert_eq!((again.seat, again.cell, again.next_seq, again.is_resumed), (came.seat, cell(5, 4), 2, true));
    assert_eq!(gone(&mut world, START_US + 10 * GRACE_US), []);
    assert_eq!(world.stats().lost, 0);
}

#[test]
fn who_does_not_come_back_is_gone_and_no_ghost_is_seen() {
    let mut world = world(meadow(20, 20), 1);
    let viewer = come(&mut world, &watcher(Some(cell(4, 4)), 5)).seat;
    let came = come(&mut world, &walker(Some(cell(5, 4))));
    let mut client = Client::default();
    assert_eq!(look(&mut world, viewer, &mut client).unwrap().entered.len(), 1);
    world.lost(came.seat, START_US);
    assert_eq!((look(&mut world, viewer, &mut client), world.stats().lost), (None, 1));
    assert_eq!(gone(&mut world, START_US + GRACE_US), [came.seat]);
    assert_eq!(look(&mut world, viewer, &mut client).unwrap().left, [came.seat.id]);
    assert_eq!((world.has_seat(came.seat), world.stats().movers, world.stats().lost), (false, 1, 0));
    let back = Registration { resume: Some((came.seat.id, came.key)), ..walker(None) };
    let again = world.register(&back, START_US).unwrap();
    assert!(again.seat.id != came.seat.id && !again.is_resumed);
    assert_eq!(again.next_seq, 1, "another number, and another count");
}

#[test]
fn a_players_mover_is_taken_up_by_that_player_alone() {
    let mut world = world(meadow(20, 20), 1);
    let of = |player: Option<u128>| Registration { player: player.map(PlayerId), ..walker(None) };
    let came = come(&mut world, &of(Some(7)));
    let mut back = |player| {
        let back = Registration { resume: Some((came.seat.id, came.key)), ..of(player) };
        world.register(&back, START_US).unwrap().is_resumed
    };
    assert_eq!([None, Some(8), Some(7)].map(&mut back), [false, false, true]);
    // Nobody's mover becomes that of the player who takes it up.
    let nobodys = come(&mut world, &of(None));
    let mut back = |player| {
        let back = Registration { resume: Some((nobodys.seat.id, nobodys.key)), ..of(player) };
        world.register(&back, START_US).unwrap().is_resumed
    };
    assert_eq!([None, Some(8), Some(7), None].map(&mut back), [true, true, false, false]);
}

#[test]
fn a_grace_begins_anew_with_every_loss() {
    let mut world = world(meadow(20, 20), 1);
    let came = come(&mut world, &walker(None));
    world.lost(came.seat, START_US);
    world.register(&Registration { resume: Some((came.seat.id, came.key)), ..walker(None) }, START_US).unwrap();
    world.lost(came.seat, START_US + GRACE_US / 2);
    assert_eq!(gone(&mut world, START_US + GRACE_US), []);
    assert_eq!(gone(&mut world, START_US + GRACE_US + GRACE_US / 2), [came.seat]);
}

#[test]
fn a_wrong_key_makes_a_newcomer() {
    let mut world = world(meadow(20, 20), 1);
    let came = come(&mut world, &walker(None));
    for (id, key) in [(came.seat.id, came.key ^ 1), (MoverId(99), came.key), (came.seat.id, 0)] {
        let other = world.register(&Registration { resume: Some((id, key)), ..walker(None) }, START_US).unwrap();
        assert!(other.seat.id != came.seat.id && !other.is_resumed);
    }
}

#[test]
fn an_actor_has_no_grace_and_no_key() {
    let mut world = world(meadow(20, 20), 1);
    let actor = come(&mut world, &Registration { is_lasting: false, ..walker(None) });
    assert_eq!(actor.key, 0);
    world.lost(actor.seat, START_US);
    assert!(!world.has_seat(actor.seat) && !world.has_movers());
}

#[test]
fn who_finds_no_cell_is_refused() {
    let mut world = world(Settings { sharing: Sharing::One, ..meadow(8, 8) }, 1);
    let seats: Vec<Seat> =
        (0..64).map(|at| come(&mut world, &walker((at % 2 == 0).then(|| cell(1, 1)))).seat).collect();
    assert_eq!(world.register(&walker(None), START_US), Err(Refusal::Full));
    assert_eq!(world.register(&walker(Some(cell(3, 3))), START_US), Err(Refusal::Full));
    world.leave(seats[10]);
    assert!(world.register(&walker(Some(cell(60_000, 60_000))), START_US).is_ok());
}

#[test]
fn numbers_go_on_over_a_crash_and_wait_for_a_snapshot() {
    let mut first = world(meadow(8, 8), 1);
    let one = come(&mut first, &walker(None)).seat.id;
    let bytes = kept(&mut first);
    let two = come(&mut first, &walker(None)).seat.id;
    assert_eq!((one, two), (MoverId(1), MoverId(2)));
    let mut crashed = World::open(opening(meadow(8, 8), 1, 2), Some(&bytes), &[], START_US).unwrap();
    assert_eq!(come(&mut crashed, &walker(None)).seat.id, MoverId(2 + MOVER_IDS_GAP));
    let bytes = crashed.snapshot(true).into_bytes();
    let mut left = World::open(opening(meadow(8, 8), 1, 3), Some(&bytes), &[], START_US).unwrap();
    assert_eq!(come(&mut left, &walker(None)).seat.id, MoverId(3 + MOVER_IDS_GAP));
    left.ids_next = left.ids_end;
    assert_eq!(left.register(&walker(None), START_US), Err(Refusal::Full));
    // However many are made: while none is kept, a crash goes on from the last that was.
    let [_, second] = [left.snapshot(false), left.snapshot(false)].map(|snapshot| snapshot.mark);
    assert_eq!(left.register(&walker(None), START_US), Err(Refusal::Full));
    left.kept(second);
    assert!(left.register(&walker(None), START_US).is_ok());
}
