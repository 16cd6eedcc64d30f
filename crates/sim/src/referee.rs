//! Takes games of competitions from the queue and ends them, in any order, each by its seed and its key alone.

use crate::dice::{Dice, mix};
use crate::world::{Freeze, SimWorld, Workload};
use engine::commands::{ClaimedMatch, Command, MatchAppend, Outcome};
use engine::ids::WorkerId;
use engine::matches::archive;
use engine::matches::result::MatchResult;
use engine::matches::slots::SlotUsage;
use engine::time::UnixMs;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

const WORKER: WorkerId = WorkerId(0x4ef);

/// How games end, each as so many of 1,000 games.
#[derive(Clone, Copy, Debug, Default)]
pub struct GameOdds {
    /// They fail, and do not count.
    pub void_per_mille: u64,
    /// They are called off while they are played.
    pub cancelled_per_mille: u64,
    /// They end with a result that a fault of the server was in.
    pub server_fault_per_mille: u64,
    /// They are drawn.
    pub draw_per_mille: u64,
    /// The bot in the last seat gives no move.
    pub silent_per_mille: u64,
}

/// Ends one waiting game after the other, for ever, except while it is suspended.
pub(crate) async fn play<S: Workload>(world: Arc<SimWorld<S>>, odds: GameOdds, suspended: Arc<Freeze>) {
    let address = "referee.example:4000".to_owned();
    world.commit(&Command::RenewLease { worker: WORKER, address, now: world.now(), until: UnixMs::MAX });
    let mut claimed = Vec::new();
    for number in 1.. {
        let pause = world.random(|dice| dice.below(120));
        sleep(Duration::from_millis(pause)).await;
        suspended.thawed().await;
        let claim = Command::ClaimMatches {
            worker: WORKER,
            number,
            now: world.now(),
            max: 64,
            slots: SlotUsage::new(9_999),
            attempts_max: 5,
        };
        match world.commit(&claim) {
            Outcome::MatchesClaimed(new) => claimed.extend(new),
            other => panic!("a claim came to {other:?}"),
        }
        if !claimed.is_empty() {
            let at = world.random(|dice| dice.below(claimed.len() as u64)) as usize;
            end(&world, &claimed.swap_remove(at), odds);
        }
    }
}

/// A game that was called off meanwhile stays so.
fn end<S: Workload>(world: &SimWorld<S>, game: &ClaimedMatch, odds: GameOdds) {
    let (spec, epoch, now) = (&game.spec, game.epoch, world.now());
    let key = spec.origin.expect("every game here is played for something").key;
    let mut dice = Dice::new(mix(spec.seed.0) ^ mix(key));
    let ended = if dice.bool_per_mille(odds.void_per_mille) {
        world.commit(&Command::FailMatch { id: spec.id, epoch, reason: "simulated".to_owned(), now })
    } else if dice.bool_per_mille(odds.cancelled_per_mille) {
        world.commit(&Command::CancelMatch { id: spec.id, account: None, now })
    } else {
        let append = MatchAppend { id: spec.id, epoch, rows: Vec::new(), expected_version: 0, started_at: Some(now) };
        let result = result(spec.seats.len(), odds, &mut dice);
        world.commit(&Command::FinishMatch { append, result, archive: archive::pack(&[]), now })
    };
    assert!(matches!(ended, Outcome::Done | Outcome::Fenced | Outcome::WrongState(_)), "{ended:?}");
}

fn result(seats: usize, odds: GameOdds, dice: &mut Dice) -> MatchResult {
    let is_draw = dice.bool_per_mille(odds.draw_per_mille);
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
        is_server_fault: dice.bool_per_mille(odds.server_fault_per_mille),
        silent_seats: (0..seats as u8).rev().take(dice.bool_per_mille(odds.silent_per_mille).into()).collect(),
    }
}
