//! Aggregation of hunts: once, in order, with the cursor.

use crate::fixtures::*;
use crate::stories::player_id;
use crate::world_fixtures::*;
use engine::commands::{Aggregate, Command, HuntDelta, HunterDelta, Outcome, WorldCommand};
use engine::rows::{AggregationLag, HuntTotals, HunterCursor, HunterRow, RoundRow};
use store::Database;

/// Hunt 1 with nine entries in the hands of worker 1.
fn with_claims(database: &dyn Database) -> StoreFixture {
    let mut held = StoreFixture::new(database);
    held.assert_outcome(ensure(&hunt(1, None), &[]), world_is(&hunt(1, None)));
    held.own_world(1, 1);
    held.assert_outcome(claims(1, 1, 0, 9), Outcome::Done);
    held
}

fn count(aggregate: Aggregate) -> Command {
    Command::World(WorldCommand::Aggregate(aggregate))
}

fn hunters(from: u32, to: u32, hunters: Vec<HunterDelta>) -> Command {
    count(Aggregate { hunters, ..aggregate(1, from, to) })
}

pub(crate) fn entries_are_counted_once(database: &dyn Database) {
    let mut held = with_claims(database);
    let first = hunters(0, 4, vec![delta(1, "ann", 5, 1)]);
    held.assert_outcome(first.clone(), Outcome::Done);
    held.assert_outcome(first, Outcome::VersionConflict(4));
    held.assert_outcome(hunters(4, 3, vec![delta(1, "ann", 5, 1)]), Outcome::VersionConflict(4));
    held.assert_outcome(hunters(4, 10, vec![delta(1, "ann", 5, 1)]), Outcome::VersionConflict(4));
    held.assert_outcome(hunters(3, 9, vec![delta(1, "ann", 5, 1)]), Outcome::VersionConflict(4));
    held.assert_outcome(counted(7, 0, 0), Outcome::NotFound);
    assert_eq!(held.reader.hunter(player_id(1)).unwrap().unwrap().points, 5, "what was refused was not counted");
    // Whichever worker the owner is: counting has a fence of its own, the cursor.
    held.assert_outcome(release_world(1, 1), Outcome::Done);
    held.assert_outcome(hunters(4, 9, vec![delta(1, "ann", 6, 1)]), Outcome::Done);
    assert_eq!(held.reader.hunter(player_id(1)).unwrap().unwrap().points, 11);
}

pub(crate) fn hunters_add_up(database: &dyn Database) {
    let mut held = with_claims(database);
    assert_eq!(held.reader.hunter(player_id(1)), Ok(None));
    held.assert_outcome(
        hunters(0, 1, vec![delta(1, "a\0n", 5, 7), delta(2, "bob", 1, 1), delta(1, "ann", 2, 3)]),
        Outcome::Done,
    );
    held.assert_outcome(hunters(1, 2, vec![delta(1, "", 10, 5)]), Outcome::Done);
    let ann = HunterRow {
        player: player_id(1),
        name: "ann".to_owned(),
        points: 17,
        chests: 20,
        power_ups: 23,
        rounds: 29,
        rounds_won: 26,
        last_at: at(7),
    };
    assert_eq!(held.reader.hunter(player_id(1)), Ok(Some(ann)));
    held.assert_outcome(hunters(2, 3, vec![delta(1, "a\0n", 0, 9)]), Outcome::Done);
    let ann = held.reader.hunter(player_id(1)).unwrap().unwrap();
    assert_eq!((ann.name.as_str(), ann.last_at), ("a n", at(9)), "PostgreSQL's texts hold no zeros");
    let large = HunterDelta { points: u32::MAX, ..delta(2, "bob", 1, 1) };
    held.assert_outcome(hunters(3, 4, vec![large.clone(), large]), Outcome::Done);
    assert_eq!(held.reader.hunter(player_id(2)).unwrap().unwrap().points, 1 + 2 * u64::from(u32::MAX));
}

pub(crate) fn the_leaderboard_goes_by_points(database: &dyn Database) {
    let mut held = with_claims(database);
    let of = [(1, 5), (2, 9), (3, 5), (4, 0)].map(|(player, points)| delta(player, "somebody", points, 1));
    held.assert_outcome(hunters(0, 1, of.to_vec()), Outcome::Done);
    let mut page = |before, limit| {
        let page = held.reader.hunt_leaderboard(before, limit).unwrap();
        let last = page.last().map(HunterCursor::of);
        (page.into_iter().map(|row| row.player.0 - player_id(0).0).collect::<Vec<_>>(), last)
    };
    assert_eq!(page(None, 9).0, [2, 3, 1, 4]);
    let (first, cursor) = page(None, 2);
    assert_eq!(first, [2, 3]);
    assert_eq!(page(cursor, 9).0, [1, 4]);
    assert_eq!(page(Some(HunterCursor { points: u64::MAX, player: player_id(0) }), 1).0, [2]);
}

pub(crate) fn rounds_are_kept(database: &dyn Database) {
    let mut held = with_claims(database);
    let rounds = |from, to, rounds: &[RoundRow]| count(Aggregate { rounds: rounds.to_vec(), ..aggregate(1, from, to) });
    held.assert_outcome(rounds(0, 3, &[round(1, Some(1)), round(2, None)]), Outcome::Done);
    held.assert_outcome(rounds(3, 9, &[round(3, Some(2))]), Outcome::Done);
    let id = world_id(1);
    let all = vec![round(3, Some(2)), round(2, None), round(1, Some(1))];
    assert_eq!(held.reader.hunt_rounds(id, None, 9), Ok(all.clone()));
    assert_eq!(held.reader.hunt_rounds(id, None, 1), Ok(all[..1].to_vec()));
    assert_eq!(held.reader.hunt_rounds(id, Some(3), 9), Ok(all[1..].to_vec()));
    assert_eq!(held.reader.hunt_rounds(world_id(7), None, 9), Ok(Vec::new()));
    assert_eq!(held.reader.hunt_totals().unwrap().rounds, 3);
}

pub(crate) fn totals_add_up(database: &dyn Database) {
    let mut held = with_claims(database);
    assert_eq!(held.reader.hunt_totals(), Ok(HuntTotals::default()));
    let totals = HuntDelta { points: 7, chests: 2, power_ups: 3 };
    let of = vec![delta(1, "ann", 1, 1), delta(2, "bob", 1, 1), delta(1, "ann", 1, 1)];
    held.assert_outcome(count(Aggregate { totals, hunters: of, ..aggregate(1, 0, 3) }), Outcome::Done);
    let (hunters, rounds) = (vec![delta(1, "ann", 1, 1), delta(3, "eve", 1, 1)], vec![round(1, None)]);
    held.assert_outcome(count(Aggregate { totals, hunters, rounds, ..aggregate(1, 3, 9) }), Outcome::Done);
    let want = HuntTotals { hunters: 3, points: 14, chests: 4, power_ups: 6, rounds: 1 };
    assert_eq!(held.reader.hunt_totals(), Ok(want));
}

pub(crate) fn what_is_not_counted_is_found(database: &dyn Database) {
    let mut held = with_claims(database);
    for n in [2, 3, 4] {
        let row = hunt(n, None);
        held.assert_outcome(ensure(&row, &[]), world_is(&row));
        held.own_world(1, n);
    }
    held.assert_outcome(claims(2, 1, 0, 2), Outcome::Done);
    held.assert_outcome(claims(4, 1, 0, 5), Outcome::Done);
    held.assert_outcome(counted(1, 0, 9), Outcome::Done);
    held.assert_outcome(counted(4, 0, 3), Outcome::Done);
    held.assert_outcome(snapshot(4, 1, 5, 1), Outcome::Done);
    let mut behind = |limit| {
        let mut behind = held.reader.aggregation_lags(limit).unwrap();
        behind.sort_by_key(|world| world.id);
        behind
    };
    let second = AggregationLag { id: world_id(2), aggregated_version: 0, version: 2 };
    let fourth = AggregationLag { id: world_id(4), aggregated_version: 3, version: 5 };
    assert_eq!(behind(9), [second, fourth]);
    assert_eq!(behind(1).len(), 1);
    held.assert_outcome(counted(2, 0, 2), Outcome::Done);
    held.assert_outcome(counted(4, 3, 5), Outcome::Done);
    assert_eq!(held.reader.aggregation_lags(9), Ok(Vec::new()));
}
