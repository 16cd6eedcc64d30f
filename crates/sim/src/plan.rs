//! The plan of a simulation: every knob a number with a unit, all of them drawn from the seed.

use crate::cluster::{ClusterPlan, Faults};
use crate::dice::Dice;
use engine::ids::{BotId, MatchId};
use engine::matches::spec::{MatchSpec, SeatSpec};
use engine::time::UnixMs;
use rules::chance::Seed;
use rules::snake::{BoardSizes, Map, Rules, Ruleset, Settings};

/// So many claims without progress no match has that can be played, whatever goes wrong.
const ATTEMPTS_MAX: u32 = 60;

/// The options of one simulation.
#[derive(Clone, Debug)]
pub struct MatchPlan {
    pub cluster: ClusterPlan,
    /// Matches that one process runs at once.
    pub matches_at_once: usize,
    /// What is played.
    pub matches: Vec<MatchSpec>,
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
        let count = 2 + dice.below(9) as usize;
        let (nodes, matches_at_once) = (1 + dice.below(3) as usize, 1 + dice.below(8) as usize);
        let matches: Vec<MatchSpec> = (0..count).map(|at| spec(at, &mut dice)).collect();
        let cluster = ClusterPlan { seed, nodes, has_exclusive_store: false, faults: Faults::of(&mut dice, seed) };
        // By dice of their own: what else a seed stands for is as it was.
        let mut dice = Dice::new(seed ^ 0x9015);
        let poisoned = dice.bool_per_mille(250).then(|| (matches[0].id, 0));
        Self { cluster, matches_at_once, matches, poisoned, attempts_max: ATTEMPTS_MAX }
    }

    /// As the seeds were before there were faults and poison of later kinds: with it a kept seed is what it was when it failed.
    #[must_use]
    pub fn of_first_kinds(seed: u64) -> Self {
        let mut plan = Self::of_seed(seed);
        plan.cluster.faults = plan.cluster.faults.of_first_kinds();
        (plan.poisoned, plan.attempts_max) = (None, u32::MAX);
        plan
    }
}

fn spec(at: usize, dice: &mut Dice) -> MatchSpec {
    let ruleset = Ruleset::ALL[dice.below(Ruleset::ALL.len() as u64) as usize];
    let map = Map::ALL[dice.below(Map::ALL.len() as u64) as usize];
    let seats = 1 + dice.below(u64::from(map.snakes_max().min(4))) as u8;
    let (width, height) = board_size(map);
    let random = dice.id_bytes(at as u8);
    let seat = |seat: u8| SeatSpec {
        bot: BotId(u128::from(seat) + 1),
        name: format!("bot {seat}"),
        owner: format!("owner {seat}"),
        url: format!("http://bot-{seat}.example"),
    };
    MatchSpec {
        id: MatchId::new(UnixMs(1_700_000_000_000 + at as i64), random),
        rules: Rules::for_snakes(ruleset, map, Settings::default(), seats),
        width,
        height,
        seed: Seed(dice.next()),
        timeout_ms: 100 + dice.below(400) as u16,
        turns_max: 1 + dice.below(150) as u32,
        is_public: false,
        origin: None,
        seats: (0..seats).map(seat).collect(),
    }
}

/// 11x11 where the map takes it, else its smallest board.
fn board_size(map: Map) -> (u8, u8) {
    match map.sizes() {
        BoardSizes::Only(sizes) if !sizes.contains(&(11, 11)) => sizes[0],
        _ => (11, 11),
    }
}
