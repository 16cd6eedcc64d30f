//! Which nodes there are, whether they live, and what they hold.

use crate::fixtures::*;
use crate::stories::open;
use crate::world_fixtures::{claim_world, ensure, hunt, plaza, world_is};
use engine::commands::{Command, Outcome};
use engine::leadership::LeaderJob;
use engine::rows::{NodeHoldings, NodeRow};
use store::Database;

fn lease_at(worker: u128, address: &str, until: i64) -> Command {
    let (now, until) = (at(0), at(until));
    Command::RenewLease { worker: worker_id(worker), address: address.to_owned(), now, until }
}

fn node(address: &str, workers: &[u128], until: i64, held: [u64; 4], jobs: &[LeaderJob]) -> NodeRow {
    let [matches, tables, worlds, hunts] = held;
    NodeRow {
        address: address.to_owned(),
        workers: workers.iter().copied().map(worker_id).collect(),
        lease_until: at(until),
        holdings: NodeHoldings { matches, tables, worlds, hunts },
        jobs: jobs.to_vec(),
    }
}

#[track_caller]
fn check(held: &mut StoreFixture, now: i64, limit: usize, want: &[NodeRow]) {
    assert_eq!(held.reader.nodes(at(now), limit).unwrap(), want, "at {now}");
}

pub(crate) fn nodes_are_listed_with_what_they_hold(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    check(&mut held, 0, 9, &[]);
    for (worker, address, until) in [
        (1, "10.0.0.2:4000", 5_000),
        (2, "10.0.0.1:4000", 6_000),
        (3, "10.0.0.1:4000", 9_000),
        (4, "10.0.0.3:4000", 2_000),
    ] {
        held.assert_outcome(lease_at(worker, address, until), Outcome::Done);
    }
    held.assert_outcome(create(1, 1..=6, at(0)), Outcome::Done);
    assert_eq!(held.claimed(claim(1, at(0), 3)).len(), 3);
    assert_eq!(held.claimed(claim(4, at(0), 2)).len(), 2);
    held.assert_outcome(open(1, 1, at(0)), Outcome::Done);
    held.assert_outcome(open(3, 2, at(0)), Outcome::Done);
    let (plaza, short, long) = (plaza(1), hunt(2, Some(at(1_500))), hunt(3, None));
    for row in [&plaza, &short, &long] {
        held.assert_outcome(ensure(row, &[]), world_is(row));
    }
    for (worker, world) in [(2, 1), (3, 2), (3, 3)] {
        assert!(matches!(held.commit_one(claim_world(worker, world, at(0))), Outcome::WorldClaimed(_)));
    }
    for (job, worker) in [(LeaderJob::Duels, 2), (LeaderJob::Ladders, 2), (LeaderJob::BotHealth, 4)] {
        let lead = Command::AcquireLeadership { job, worker: worker_id(worker), now: at(0) };
        assert!(matches!(held.commit_one(lead), Outcome::LedBy(_)));
    }

    let led = [LeaderJob::Duels, LeaderJob::Ladders];
    let first = |hunts| node("10.0.0.1:4000", &[2, 3], 9_000, [0, 1, 1, hunts], &led);
    let second = node("10.0.0.2:4000", &[1], 5_000, [3, 1, 0, 0], &[]);
    let third = node("10.0.0.3:4000", &[4], 2_000, [2, 0, 0, 0], &[LeaderJob::BotHealth]);
    check(&mut held, 1_000, 9, &[first(2), second.clone(), third.clone()]);
    // A hunt that is over is not counted. What a node held stays in its hands until it is taken over; its jobs are free.
    let gone = |row: &NodeRow| NodeRow { workers: Vec::new(), jobs: Vec::new(), ..row.clone() };
    check(&mut held, 2_000, 9, &[first(1), second.clone(), gone(&third)]);
    check(&mut held, 2_000, 2, &[first(1), second.clone()]);
    // Of a node that lives only what its living workers hold.
    held.assert_outcome(Command::EndLease { worker: worker_id(3) }, Outcome::Done);
    check(&mut held, 2_000, 1, &[node("10.0.0.1:4000", &[2], 6_000, [0, 0, 1, 0], &led)]);
    // The last one to go is the first of those that are gone.
    let all_gone = [node("10.0.0.1:4000", &[], 9_000, [0, 1, 1, 1], &[]), gone(&second), gone(&third)];
    check(&mut held, 9_000, 9, &all_gone);
}
