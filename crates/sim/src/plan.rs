//! The plan of a simulation: every knob a number with a unit, all of them drawn from the seed.

use crate::dice::Dice;
use crate::faults::Faults;
use engine::ids::{BotId, MatchId};
use engine::matches::spec::{MatchSpec, SeatSpec};
use engine::time::UnixMs;
use rules::chance::Seed;
use rules::snake::{Map, Rules, Ruleset, Settings};
use std::time::Duration;

/// The options of one simulation.
#[derive(Clone, Debug)]
pub struct MatchPlan {
    /// Where all chance comes from.
    pub seed: u64,
    /// Processes that share the store.
    pub nodes: usize,
    /// Whether one process has the store for itself: the next one comes when it has gone.
    pub has_exclusive_store: bool,
    /// Matches that one process runs at once.
    pub matches_at_once: usize,
    /// What is played.
    pub matches: Vec<MatchSpec>,
    /// What goes wrong.
    pub faults: Faults,
    /// The match whose room panics at every turn from this one on.
    pub poisoned: Option<(MatchId, u32)>,
    /// Claims without progress after which a match is failed.
    pub attempts_max: u32,
}

impl MatchPlan {
    /// The plan that this seed stands for.
    #[must_use]
    pub fn of_seed(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let matches = 2 + dice.below(9) as usize;
        Self {
            seed,
            nodes: 1 + dice.below(3) as usize,
            has_exclusive_store: false,
            matches_at_once: 1 + dice.below(8) as usize,
            matches: (0..matches).map(|at| spec(at, &mut dice)).collect(),
            faults: Faults::of(&mut dice),
            poisoned: None,
            attempts_max: u32::MAX,
        }
    }

    /// The same matches in a world without faults.
    #[must_use]
    pub fn without_faults(mut self) -> Self {
        self.faults.faulty_for = Duration::ZERO;
        self
    }

    /// The same for one process that has the store for itself.
    #[must_use]
    pub fn with_exclusive_store(mut self) -> Self {
        (self.has_exclusive_store, self.nodes) = (true, 1);
        self
    }
}

fn spec(at: usize, dice: &mut Dice) -> MatchSpec {
    let seats = 1 + dice.below(4) as u8;
    let ruleset = Ruleset::ALL[dice.below(Ruleset::ALL.len() as u64) as usize];
    let map = Map::ALL[dice.below(Map::ALL.len() as u64) as usize];
    let mut random = [0; 10];
    random[..8].copy_from_slice(&dice.next().to_be_bytes());
    random[9] = at as u8;
    let seat = |seat: u8| SeatSpec {
        bot: BotId(u128::from(seat) + 1),
        name: format!("bot {seat}"),
        url: format!("http://bot-{seat}.example"),
    };
    MatchSpec {
        id: MatchId::new(UnixMs(1_700_000_000_000 + at as i64), random),
        rules: Rules::for_snakes(ruleset, map, Settings::default(), seats),
        width: 11,
        height: 11,
        seed: Seed(dice.next()),
        timeout_ms: 100 + dice.below(400) as u16,
        turns_max: 1 + dice.below(150) as u32,
        seats: (0..seats).map(seat).collect(),
    }
}
