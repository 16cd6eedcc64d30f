//! Takes games from the queue and ends them, in any order, each by its seed and its key alone.

use super::workload::CompetitionWorkload;
use crate::dice::{Dice, mix};
use crate::world::SimWorld;
use engine::commands::{ClaimedMatch, Command, MatchAppend, Outcome};
use engine::ids::WorkerId;
use engine::matches::archive;
use engine::matches::result::MatchResult;
use engine::time::UnixMs;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

const WORKER: WorkerId = WorkerId(0x4ef);

/// Ends one waiting game after the other, for ever.
pub(super) async fn play(world: Arc<SimWorld<CompetitionWorkload>>) {
    let address = "referee.example:4000".to_owned();
    world.commit(&Command::RenewLease { worker: WORKER, address, now: world.now(), until: UnixMs::MAX });
    let mut claimed = Vec::new();
    for number in 1.. {
        let pause = world.random(|dice| dice.below(120));
        sleep(Duration::from_millis(pause)).await;
        let claim = Command::ClaimMatches { worker: WORKER, number, now: world.now(), max: 64, attempts_max: 5 };
        match world.commit(&claim) {
            Outcome::MatchesClaimed(new) => claimed.extend(new),
            other => panic!("a claim came to {other:?}"),
        }
        if !claimed.is_empty() {
            let at = world.random(|dice| dice.below(claimed.len() as u64)) as usize;
            end(&world, &claimed.swap_remove(at));
        }
    }
}

/// A game that was called off meanwhile stays so.
fn end(world: &SimWorld<CompetitionWorkload>, game: &ClaimedMatch) {
    let (spec, epoch, now, plan) = (&game.spec, game.epoch, world.now(), &world.workload.0);
    let key = spec.origin.expect("every game here is played for something").key;
    let mut dice = Dice::new(mix(spec.seed.0) ^ mix(key));
    let ended = if dice.bool_per_mille(plan.void_per_mille) {
        world.commit(&Command::FailMatch { id: spec.id, epoch, reason: "simulated".to_owned(), now })
    } else {
        let is_draw = dice.bool_per_mille(plan.draw_per_mille);
        let append = MatchAppend { id: spec.id, epoch, rows: Vec::new(), expected_version: 0, started_at: Some(now) };
        let result = result(spec.seats.len(), is_draw, &mut dice);
        world.commit(&Command::FinishMatch { append, result, archive: archive::pack(&[]), now })
    };
    assert!(matches!(ended, Outcome::Done | Outcome::Fenced), "{ended:?}");
}

fn result(seats: usize, is_draw: bool, dice: &mut Dice) -> MatchResult {
    let first = dice.below(seats as u64) as usize;
    // From the winner on, in the order of the seats.
    let place = |seat: usize| 1 + ((seat + seats - first) % seats) as u8;
    MatchResult {
        winner: (!is_draw).then_some(first as u8),
        is_draw,
        placements: (0..seats).map(|seat| if is_draw { 1 } else { place(seat) }).collect(),
        causes: vec![None; seats],
        death_turns: Vec::new(),
        turns: 0,
        late_moves: 0,
        food_eaten: (0..seats).map(|_| dice.below(4) as u32).collect(),
        is_server_fault: false,
    }
}
