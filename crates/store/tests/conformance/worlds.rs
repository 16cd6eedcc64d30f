//! Worlds: their claim logs and snapshots under their fences, who owns them, who joined.

use crate::fixtures::*;
use crate::stories::player_id;
use crate::world_fixtures::*;
use engine::commands::{Command, Outcome, WorldAppend, WorldCommand};
use engine::ids::TicketId;
use engine::leadership::LeaderJob;
use engine::limits::WORLDS_PER_PLAYER_MAX;
use engine::rows::{Admission, HuntCursor, WorldEntry, WorldOwner, WorldRow};
use store::Database;

pub(crate) fn a_world_is_made_once(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    let row = hunt(1, Some(at(60_000)));
    held.assert_outcome(ensure(&row, &[]), world_is(&row));
    held.assert_outcome(ensure(&row, &[]), world_is(&row));
    held.assert_outcome(ensure(&WorldRow { id: world_id(2), ..row.clone() }, &[]), world_is(&row));
    held.assert_outcome(ensure(&WorldRow { name: name("other"), ..row.clone() }, &[]), Outcome::Duplicate);
    let kept = WorldEntry { row: row.clone(), owner: None, players: 0 };
    assert_eq!(held.reader.world(row.id, at(0)), Ok(Some(kept.clone())));
    assert_eq!(held.reader.world_named(&row.name, at(0)), Ok(Some(kept)));
    assert_eq!(held.reader.world_named(&name("other"), at(0)), Ok(None));
    let plaza = plaza(3);
    held.assert_outcome(ensure(&plaza, &[]), world_is(&plaza));
    assert_eq!(held.reader.world(plaza.id, at(0)).unwrap().unwrap().row, plaza, "without a creator and an end");
}

pub(crate) fn a_creator_has_so_many_worlds(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    let most = WORLDS_PER_PLAYER_MAX as u128;
    for n in 1..=most {
        held.assert_outcome(ensure(&hunt(n, Some(at(60_000))), &[]), world_is(&hunt(n, Some(at(60_000)))));
    }
    let one_more = hunt(most + 1, Some(at(60_000)));
    held.assert_outcome(ensure(&one_more, &[]), Outcome::LimitReached);
    let of_another = WorldRow { creator: Some(player_id(2)), ..one_more.clone() };
    held.assert_outcome(ensure(&of_another, &[]), world_is(&of_another));
    held.assert_outcome(ensure(&plaza(50), &[]), world_is(&plaza(50)));
    // As soon as they are over.
    let later = WorldRow { id: world_id(90), name: name("later"), created_at: at(60_000), ..one_more };
    held.assert_outcome(ensure(&later, &[]), world_is(&later));
}

pub(crate) fn a_world_ends_early_and_its_owner_is_fenced(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.assert_outcome(end_world(1, at(10)), Outcome::NotFound);
    for n in 1..=WORLDS_PER_PLAYER_MAX as u128 {
        held.assert_outcome(ensure(&hunt(n, Some(at(60_000))), &[]), world_is(&hunt(n, Some(at(60_000)))));
    }
    held.own_world(1, 1);
    held.assert_outcome(claims(1, 1, 0, 1), Outcome::Done);
    held.assert_outcome(end_world(1, at(10)), Outcome::Done);
    held.assert_outcome(claims(1, 1, 1, 1), Outcome::Fenced);
    held.assert_outcome(end_world(1, at(20)), Outcome::Done);
    let ended = held.reader.world(world_id(1), at(10)).unwrap().unwrap();
    assert_eq!((ended.row.ends_at, ended.owner), (Some(at(10)), None), "the first end counts");
    // Its maker may make another one; one that stays can be ended, too.
    let next = WorldRow { created_at: at(10), ..hunt(50, Some(at(60_000))) };
    held.assert_outcome(ensure(&next, &[]), world_is(&next));
    held.assert_outcome(ensure(&plaza(51), &[]), world_is(&plaza(51)));
    held.assert_outcome(end_world(51, at(10)), Outcome::Done);
    assert!(held.reader.world(world_id(51), at(10)).unwrap().unwrap().row.is_over(at(10)));
}

pub(crate) fn worlds_without_players_are_ended(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    let of = |n: u128, creator: u128, created_at| WorldRow {
        creator: Some(player_id(creator)),
        created_at: at(created_at),
        ..hunt(n, Some(at(60_000)))
    };
    // Alone; joined by another; entered; just made; without a creator.
    let rows = [of(1, 1, 0), of(2, 2, 0), of(3, 3, 0), of(4, 4, 90)];
    held.assert_outcome(ensure(&rows[0], &[1]), world_is(&rows[0]));
    held.assert_outcome(ensure(&rows[1], &[2, 9]), world_is(&rows[1]));
    held.assert_outcome(ensure(&rows[2], &[3]), world_is(&rows[2]));
    held.own_world(1, 3);
    held.assert_outcome(ensure(&rows[3], &[4]), world_is(&rows[3]));
    held.assert_outcome(ensure(&plaza(5), &[]), world_is(&plaza(5)));
    held.assert_outcome(end_unjoined(at(100), at(50), 9), Outcome::Retired(1));
    held.assert_outcome(end_unjoined(at(100), at(50), 9), Outcome::Retired(0));
    let mut is_over = |n| held.reader.world(world_id(n), at(100)).unwrap().unwrap().row.is_over(at(100));
    assert_eq!([1, 2, 3, 4, 5].map(&mut is_over), [true, false, false, false, false]);
}

pub(crate) fn so_many_ended_worlds_are_kept(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    for n in 1..=5 {
        let row = WorldRow { creator: Some(player_id(n)), ..hunt(n, Some(at(10 * n as i64))) };
        held.assert_outcome(ensure(&row, &[]), world_is(&row));
    }
    held.assert_outcome(retire_worlds_but(at(45), 1_000, 4, 9), Outcome::Retired(0));
    held.assert_outcome(retire_worlds_but(at(45), 1_000, 2, 1), Outcome::Retired(1));
    held.assert_outcome(retire_worlds_but(at(45), 1_000, 2, 9), Outcome::Retired(1));
    held.assert_outcome(retire_worlds_but(at(45), 1_000, 2, 9), Outcome::Retired(0));
    let mut is_kept = |n| held.reader.world(world_id(n), at(45)).unwrap().is_some();
    assert_eq!([1, 2, 3, 4, 5].map(&mut is_kept), [false, false, true, true, true]);
}

pub(crate) fn a_world_is_claimed_when_it_is_free(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.assert_outcome(ensure(&hunt(1, None), &[]), world_is(&hunt(1, None)));
    held.assert_outcome(claim_world(1, 1, at(0)), Outcome::LeaseLost);
    held.assert_outcome(lease(1, at(0)), Outcome::Done);
    held.assert_outcome(claim_world(1, 7, at(0)), Outcome::NotFound);
    let claimed = held.takes_world(claim_world(1, 1, at(0)));
    assert_eq!((claimed.row, claimed.epoch, claimed.snapshot, claimed.claims_version), (hunt(1, None), 1, None, 0));
    assert_eq!(claimed.rows, []);
    held.assert_outcome(lease(2, at(4_000)), Outcome::Done);
    held.assert_outcome(claim_world(2, 1, at(4_999)), Outcome::WorldElsewhere { address: "10.0.0.1:4000".to_owned() });
    let owner = WorldOwner { worker: worker_id(1), address: "10.0.0.1:4000".to_owned() };
    assert_eq!(held.reader.world(world_id(1), at(4_999)).unwrap().unwrap().owner, Some(owner));
    assert_eq!(held.reader.world(world_id(1), at(5_000)).unwrap().unwrap().owner, None);
    assert_eq!(held.takes_world(claim_world(1, 1, at(4_999))).epoch, 2, "its answer was lost, say");
    assert_eq!(held.takes_world(claim_world(2, 1, at(5_000))).epoch, 3);
    held.assert_outcome(release_world(1, 2), Outcome::Fenced);
    held.assert_outcome(release_world(1, 3), Outcome::Done);
    held.assert_outcome(release_world(1, 3), Outcome::Done);
    held.assert_outcome(lease(3, at(5_000)), Outcome::Done);
    assert_eq!(held.takes_world(claim_world(3, 1, at(5_000))).epoch, 4);
}

pub(crate) fn claims_are_fenced_and_versioned(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.assert_outcome(ensure(&hunt(1, None), &[]), world_is(&hunt(1, None)));
    held.assert_outcome(claims(1, 0, 0, 1), Outcome::Fenced);
    held.assert_outcome(release_world(1, 0), Outcome::Fenced);
    held.own_world(1, 1);
    held.assert_outcome(claims(1, 1, 0, 3), Outcome::Done);
    held.assert_outcome(claims(1, 1, 0, 3), Outcome::VersionConflict(3));
    held.assert_outcome(claims(1, 1, 4, 1), Outcome::VersionConflict(3));
    held.assert_outcome(claims(1, 2, 3, 1), Outcome::Fenced);
    held.assert_outcome(claims(7, 1, 0, 1), Outcome::Fenced);
    let mut gap = appended(1, 1, 3, 3);
    gap.rows.remove(1);
    held.assert_outcome(Command::World(WorldCommand::Append(gap)), Outcome::VersionConflict(3));
    let shifted = WorldAppend { expected_version: 3, ..appended(1, 1, 4, 1) };
    held.assert_outcome(Command::World(WorldCommand::Append(shifted)), Outcome::VersionConflict(3));
    held.assert_outcome(claims(1, 1, 3, 0), Outcome::Done);
    held.assert_outcome(claims(1, 1, 3, 2), Outcome::Done);
    let claimed = held.takes_world(claim_world(1, 1, at(0)));
    assert!(claimed.rows.into_iter().eq((0..5).map(claim_row)), "what was refused left nothing");
    held.assert_outcome(claims(1, 1, 5, 1), Outcome::Fenced);
    held.assert_outcome(snapshot(1, 1, 5, 9), Outcome::Fenced);
    held.assert_outcome(claims(1, 2, 5, 1), Outcome::Done);
}

pub(crate) fn a_snapshot_stays_between_the_one_before_and_the_end(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.assert_outcome(ensure(&hunt(1, None), &[]), world_is(&hunt(1, None)));
    held.own_world(1, 1);
    held.assert_outcome(snapshot(1, 1, 0, 5), Outcome::Done);
    held.assert_outcome(claims(1, 1, 0, 6), Outcome::Done);
    held.assert_outcome(snapshot(1, 1, 7, 9), Outcome::VersionConflict(6));
    held.assert_outcome(snapshot(1, 1, 4, 9), Outcome::Done);
    held.assert_outcome(snapshot(1, 1, 3, 9), Outcome::VersionConflict(6));
    held.assert_outcome(snapshot(1, 1, 4, 300), Outcome::Done);
    let claimed = held.takes_world(claim_world(1, 1, at(0)));
    assert_eq!((claimed.claims_version, claimed.snapshot), (4, Some(vec![0x5a; 300])));
    assert!(claimed.rows.into_iter().eq((4..6).map(claim_row)), "those that the snapshot does not hold");
}

pub(crate) fn entries_are_kept_while_needed(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.assert_outcome(ensure(&hunt(1, None), &[]), world_is(&hunt(1, None)));
    held.own_world(1, 1);
    held.assert_outcome(claims(1, 1, 0, 6), Outcome::Done);
    held.assert_outcome(snapshot(1, 1, 4, 9), Outcome::Done);
    held.log_is(1, 0, 9, &[0, 1, 2, 3, 4, 5], (6, 0));
    held.assert_outcome(counted(1, 0, 3), Outcome::Done);
    held.log_is(1, 0, 9, &[3, 4, 5], (6, 3));
    held.log_is(1, 4, 1, &[4], (6, 3));
    held.assert_outcome(counted(1, 3, 6), Outcome::Done);
    held.log_is(1, 0, 9, &[4, 5], (6, 6));
    held.assert_outcome(snapshot(1, 1, 6, 9), Outcome::Done);
    held.log_is(1, 0, 9, &[], (6, 6));
    // An empty log still knows how far it is.
    held.assert_outcome(claims(1, 1, 0, 1), Outcome::VersionConflict(6));
    held.assert_outcome(claims(1, 1, 6, 2), Outcome::Done);
    held.log_is(1, 0, 9, &[6, 7], (8, 6));
    assert_eq!(held.reader.world_log(world_id(7), 0, 9), Ok(None));
}

pub(crate) fn players_join_while_there_is_room(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    let row = WorldRow { players_max: 2, ..hunt(1, Some(at(1_000))) };
    held.assert_outcome(ensure(&row, &[]), world_is(&row));
    held.assert_outcome(join(7, 1, at(0)), Outcome::NotFound);
    held.assert_outcome(join(1, 1, at(0)), Outcome::Done);
    held.assert_outcome(join(1, 1, at(0)), Outcome::Done);
    held.assert_outcome(join(1, 2, at(0)), Outcome::Done);
    held.assert_outcome(join(1, 3, at(0)), Outcome::LimitReached);
    held.assert_outcome(join(1, 2, at(0)), Outcome::Done);
    assert_eq!(held.reader.world(row.id, at(0)).unwrap().unwrap().players, 2);
    assert_eq!(held.reader.members(row.id, 9), Ok(vec![player_id(1), player_id(2)]));
    assert_eq!(held.reader.members(row.id, 1), Ok(vec![player_id(1)]));
    held.assert_outcome(leave(1, 3), Outcome::NotFound);
    held.assert_outcome(leave(1, 1), Outcome::Done);
    held.assert_outcome(leave(1, 1), Outcome::NotFound);
    assert_eq!(held.reader.has_joined(row.id, player_id(1)), Ok(false));
    held.assert_outcome(join(1, 3, at(999)), Outcome::Done);
    assert_eq!(held.reader.has_joined(row.id, player_id(3)), Ok(true));
    held.assert_outcome(leave(1, 2), Outcome::Done);
    held.assert_outcome(join(1, 2, at(1_000)), Outcome::NotOpen);
}

pub(crate) fn only_those_matched_are_in_a_match(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    let row = WorldRow { admission: Admission::Matched, players_max: 9, ..hunt(1, None) };
    held.assert_outcome(ensure(&row, &[1, 2, 1]), world_is(&row));
    assert_eq!(held.reader.world(row.id, at(0)).unwrap().unwrap().players, 2);
    held.assert_outcome(join(1, 3, at(0)), Outcome::NotOpen);
    assert_eq!(held.reader.members(row.id, 9), Ok(vec![player_id(1), player_id(2)]));
    held.assert_outcome(ensure(&plaza(2), &[]), world_is(&plaza(2)));
    held.assert_outcome(join(2, 3, at(0)), Outcome::NotOpen);
}

pub(crate) fn worlds_are_listed_by_id(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    for n in [3, 1, 2] {
        held.assert_outcome(ensure(&plaza(n), &[]), world_is(&plaza(n)));
    }
    held.own_world(1, 2);
    let closed = WorldRow { admission: Admission::Joined, ..plaza(4) };
    held.assert_outcome(ensure(&closed, &[7]), world_is(&closed));
    let over = WorldRow { ends_at: Some(at(0)), ..plaza(5) };
    held.assert_outcome(ensure(&over, &[]), world_is(&over));
    let mut page_of = |viewer: Option<u128>, after: Option<u128>, limit| {
        let page = held.reader.worlds(after.map(world_id), limit, viewer.map(player_id), at(0)).unwrap();
        page.into_iter().map(|entry| (entry.row.id, entry.owner.is_some())).collect::<Vec<_>>()
    };
    let mut page = |after, limit| page_of(None, after, limit);
    assert_eq!(page(None, 2), [(world_id(1), false), (world_id(2), true)]);
    assert_eq!(page(Some(2), 2), [(world_id(3), false)]);
    assert_eq!(page(Some(3), 2), [], "one is closed, the other over");
    assert_eq!(page_of(Some(8), Some(3), 2), []);
    assert_eq!(page_of(Some(7), Some(3), 2), [(world_id(4), false)]);
}

pub(crate) fn the_lobby_has_hunts_that_are_not_over(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.assert_outcome(ensure(&plaza(9), &[]), world_is(&plaza(9)));
    for (n, ends_at) in [(1, Some(300)), (2, None), (3, Some(100)), (4, Some(300)), (5, Some(200))] {
        let row = hunt(n, ends_at.map(at));
        held.assert_outcome(ensure(&row, &[]), world_is(&row));
    }
    held.assert_outcome(join(5, 1, at(0)), Outcome::Done);
    let matched = WorldRow { creator: None, admission: Admission::Matched, ..hunt(6, Some(at(250))) };
    held.assert_outcome(ensure(&matched, &[]), world_is(&matched));
    assert_eq!(held.reader.hunt_lobby(None, 9, true, at(99)).unwrap()[3].row, matched);
    let mut lobby = |before: Option<HuntCursor>, limit, now| {
        let page = held.reader.hunt_lobby(before, limit, false, at(now)).unwrap();
        let cursor = page.last().map(|entry| HuntCursor::of(&entry.row));
        (page.into_iter().map(|entry| (entry.row.id.0 - world_id(0).0, entry.players)).collect::<Vec<_>>(), cursor)
    };
    assert_eq!(lobby(None, 9, 99).0, [(2, 0), (4, 0), (1, 0), (5, 1), (3, 0)]);
    assert_eq!(lobby(None, 9, 100).0, [(2, 0), (4, 0), (1, 0), (5, 1)]);
    let (first, cursor) = lobby(None, 2, 100);
    assert_eq!(first, [(2, 0), (4, 0)]);
    assert_eq!(lobby(cursor, 9, 100).0, [(1, 0), (5, 1)]);
    let (first, cursor) = lobby(None, 1, 100);
    assert_eq!(first, [(2, 0)]);
    assert_eq!(lobby(cursor, 1, 100).0, [(4, 0)]);
    assert_eq!(lobby(None, 9, 300).0, [(2, 0)]);
}

pub(crate) fn those_matched_are_found_by_their_tickets(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    let ticket = |n: u128| TicketId(0x71cce7 << 64 | n);
    let matched = |n: u128, keeper: u128, members: &[(u128, u128)]| {
        let row = WorldRow { creator: None, admission: Admission::Matched, ..hunt(n, Some(at(100))) };
        let members = members.iter().map(|(player, n)| (player_id(*player), ticket(*n))).collect();
        let command = WorldCommand::CreateMatchedHunt { row: row.clone(), members, keeper: worker_id(keeper) };
        (Command::World(command), world_is(&row))
    };
    let acquire_queue = |held: &mut StoreFixture, worker, now| {
        held.assert_outcome(lease(worker, now), Outcome::Done);
        held.commit_one(Command::AcquireLeadership {
            job: LeaderJob::MatchmakingQueue,
            worker: worker_id(worker),
            now,
        });
    };
    let (first, is_first) = matched(1, 1, &[(1, 11), (2, 12)]);
    held.assert_outcome(first.clone(), Outcome::LeaseLost);
    acquire_queue(&mut held, 1, at(0));
    for _ in 0..2 {
        held.assert_outcome(first.clone(), is_first.clone());
    }
    let found = |held: &mut StoreFixture, player, n| {
        held.reader.hunt_of_ticket(ticket(n), player_id(player)).unwrap().map(|row| row.id.0 - world_id(0).0)
    };
    assert_eq!(found(&mut held, 1, 11), Some(1));
    assert_eq!(found(&mut held, 2, 12), Some(1));
    assert_eq!(found(&mut held, 1, 12), None, "another player's");
    let playing = |held: &mut StoreFixture, player, now| {
        held.reader.hunt_of_player(player_id(player), at(now)).unwrap().map(|row| row.id.0 - world_id(0).0)
    };
    assert_eq!((playing(&mut held, 1, 99), playing(&mut held, 1, 100)), (Some(1), None));
    held.assert_outcome(ensure(&hunt(5, Some(at(100))), &[3]), world_is(&hunt(5, Some(at(100)))));
    assert_eq!(playing(&mut held, 3, 0), None, "who joined was not matched");
    held.assert_outcome(leave(1, 1), Outcome::Done);
    assert_eq!((found(&mut held, 1, 11), playing(&mut held, 1, 99)), (None, None));
    held.assert_outcome(first.clone(), is_first.clone());
    assert_eq!(found(&mut held, 1, 11), None, "who left has left");
    // An owner whose lease is over keeps the queue until another acquires it: what it saves by then is found.
    let later = at(1_000).plus(engine::limits::LEASE_DURATION);
    let (second, is_second) = matched(2, 1, &[(1, 21)]);
    held.assert_outcome(second, is_second);
    acquire_queue(&mut held, 2, later);
    let (third, _) = matched(3, 1, &[(2, 22)]);
    held.assert_outcome(third, Outcome::LeaseLost);
    assert_eq!((found(&mut held, 1, 21), found(&mut held, 2, 22)), (Some(2), None));
}

pub(crate) fn hunts_that_are_over_are_unfinished_until_their_owner_ends_them(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.assert_outcome(ensure(&plaza(9), &[]), world_is(&plaza(9)));
    held.own_world(1, 9);
    for (n, ends_at) in [(1, Some(300)), (2, None), (3, Some(100)), (4, Some(300)), (5, Some(200)), (6, Some(100))] {
        let row = WorldRow { creator: None, ..hunt(n, ends_at.map(at)) };
        held.assert_outcome(ensure(&row, &[]), world_is(&row));
        if n != 6 {
            held.own_world(1, n);
        }
    }
    let unfinished = |held: &mut StoreFixture, after: Option<HuntCursor>, limit, now| {
        let page = held.reader.unfinished_hunts(after, limit, now).unwrap();
        let cursor = page.last().map(HuntCursor::of);
        (page.iter().map(|row| row.id.0 - world_id(0).0).collect::<Vec<_>>(), cursor)
    };
    let later = at(1_000).plus(engine::limits::LEASE_DURATION);
    assert_eq!(unfinished(&mut held, None, 9, at(1_000)).0, [], "their owner's lease holds");
    assert_eq!(unfinished(&mut held, None, 9, later).0, [3, 5, 1, 4], "the sixth was never played");
    for n in [1, 3, 4] {
        held.assert_outcome(release_world(n, 1), Outcome::Done);
    }
    assert_eq!(unfinished(&mut held, None, 9, at(99)).0, []);
    assert_eq!(unfinished(&mut held, None, 9, at(300)).0, [3, 1, 4]);
    let (first, cursor) = unfinished(&mut held, None, 2, at(300));
    assert_eq!(first, [3, 1]);
    assert_eq!(unfinished(&mut held, cursor, 2, at(300)).0, [4]);
    held.assert_outcome(finish_world(3, 2), Outcome::Fenced);
    held.assert_outcome(finish_world(3, 1), Outcome::Done);
    held.assert_outcome(release_world(3, 1), Outcome::Done);
    assert_eq!(unfinished(&mut held, None, 9, later).0, [5, 1, 4], "finished is finished");
}

pub(crate) fn worlds_are_forgotten_when_they_are_over_and_counted(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    for (n, ends_at) in [(1, Some(0)), (2, Some(100)), (3, Some(50)), (4, None), (5, Some(10))] {
        let row = WorldRow { creator: None, ..hunt(n, ends_at.map(at)) };
        held.assert_outcome(ensure(&row, &[1]), world_is(&row));
    }
    held.own_world(1, 1);
    held.assert_outcome(claims(1, 1, 0, 2), Outcome::Done);
    held.assert_outcome(snapshot(1, 1, 2, 5), Outcome::Done);
    held.assert_outcome(retire_worlds(at(100), 40, 9), Outcome::Retired(2));
    assert_eq!(held.reader.world(world_id(5), at(0)), Ok(None), "over for 90 ms");
    assert_eq!(held.reader.world(world_id(3), at(0)), Ok(None), "over for 50 ms");
    assert_eq!(held.reader.has_joined(world_id(3), player_id(1)), Ok(false));
    held.assert_outcome(retire_worlds(at(1_000), 0, 1), Outcome::Retired(1));
    assert_eq!(held.reader.world(world_id(2), at(0)), Ok(None), "the first is still owned");
    held.assert_outcome(release_world(1, 1), Outcome::Done);
    held.assert_outcome(retire_worlds(at(1_000), 0, 9), Outcome::Retired(0));
    held.assert_outcome(counted(1, 0, 2), Outcome::Done);
    held.assert_outcome(retire_worlds(at(1_000), 0, 9), Outcome::Retired(1));
    assert_eq!(held.reader.world_log(world_id(1), 0, 9), Ok(None));
    assert_eq!(held.reader.hunt_rounds(world_id(1), None, 9), Ok(Vec::new()));
    held.assert_outcome(retire_worlds(at(1_000_000), 0, 9), Outcome::Retired(0));
    // Of the one that comes after it under the same name nothing is known.
    let again = WorldRow { creator: None, ..hunt(1, Some(at(2_000))) };
    held.assert_outcome(ensure(&again, &[]), world_is(&again));
    held.assert_outcome(lease(1, at(0)), Outcome::Done);
    let claimed = held.takes_world(claim_world(1, 1, at(0)));
    assert_eq!((claimed.epoch, claimed.snapshot, claimed.rows), (1, None, Vec::new()));
}
