//! The plan of a simulation of competitions, drawn from its seed.

use crate::cluster::{ClusterPlan, Faults};
use crate::dice::Dice;
use crate::referee::GameOdds;
use engine::duels::{DuelBot, DuelDefinition, Sprt};
use engine::ids::BotId;
use engine::limits::TOURNAMENT_GAME_DEADLINE_DEFAULT;
use engine::matches::settings::MatchSettings;
use engine::time::UnixMs;
use engine::tournaments::{Definition, EntryRule, Format, Seeding, TieBreak, TournamentRules};
use rules::chance::Seed;
use rules::snake::{Map, Rules, Ruleset, Settings};
use std::time::Duration;

/// The options of one simulation.
#[derive(Clone, Debug)]
pub struct CompetitionPlan {
    pub cluster: ClusterPlan,
    /// Each with the number of its bots.
    pub tournaments: Vec<(Definition, u16)>,
    pub duels: Vec<DuelDefinition>,
    pub odds: GameOdds,
}

impl CompetitionPlan {
    /// The plan that this seed stands for.
    #[must_use]
    pub fn of_seed(seed: u64) -> Self {
        let mut dice = Dice::new(seed ^ 0xc095);
        let nodes = 1 + dice.below(3) as usize;
        let mut faults = Faults::of(&mut dice, seed);
        // Most of what is played is played while things go wrong.
        faults.faulty_for = Duration::from_secs(20);
        let (tournaments, duels) = (1 + dice.below(3), dice.below(3));
        Self {
            cluster: ClusterPlan { seed, nodes, has_exclusive_store: false, faults },
            tournaments: (0..tournaments).map(|_| tournament(&mut dice)).collect(),
            duels: (0..duels).map(|_| duel(&mut dice)).collect(),
            odds: GameOdds { void_per_mille: dice.below(200), draw_per_mille: dice.below(300), ..GameOdds::default() },
        }
    }
}

/// How the games end, the referee decides: what is played makes no difference.
fn settings() -> MatchSettings {
    let rules = Rules::for_snakes(Ruleset::Standard, Map::Standard, Settings::default(), 2);
    MatchSettings { rules, width: 11, height: 11, timeout_ms: 500, turns_max: 500 }
}

fn tournament(dice: &mut Dice) -> (Definition, u16) {
    let entrants = 4 + dice.below(9) as u16;
    let format = match dice.below(6) {
        0 => Format::SingleElimination { third_place: dice.bool_per_mille(500) },
        1 => Format::DoubleElimination { final_reset: dice.bool_per_mille(500) },
        2 => Format::Swiss { rounds: 0 },
        3 => Format::RoundRobin,
        4 => Format::Groups { groups: 2, advance: 2, third_place: dice.bool_per_mille(500) },
        _ => Format::Heats { size: 4, advance: 2 },
    };
    let definition = Definition {
        format,
        rules: TournamentRules {
            best_of: 1 + 2 * dice.below(2) as u8,
            replays_max: dice.below(3) as u8,
            tie_breaks: vec![TieBreak::Food, TieBreak::Lot],
            game_deadline: TOURNAMENT_GAME_DEADLINE_DEFAULT,
            games_at_once: 1 + dice.below(16) as u16,
        },
        seeding: Seeding::Random,
        entry_rule: EntryRule::Open,
        entrants_min: 4,
        entrants_max: 64,
        entrants_per_account_max: 64,
        starts_at: Some(UnixMs(1_700_000_100_000 + dice.below(5_000) as i64)),
        seed: Seed(dice.next()),
        game: settings(),
    };
    (definition, entrants)
}

/// A test of two bots, or a league of three.
fn duel(dice: &mut Dice) -> DuelDefinition {
    let bots = 2 + dice.below(2) as usize;
    let bot = |number: usize| DuelBot {
        bot: BotId(0xd0e1 + number as u128),
        name: format!("bot {number}"),
        owner: String::new(),
        url: format!("http://bot-{number}.example"),
        is_registered: false,
    };
    DuelDefinition {
        bots: (0..bots).map(bot).collect(),
        settings: settings(),
        seed: Seed(dice.next()),
        test: (bots == 2).then(|| Sprt { elo1: 300.0, ..Sprt::default() }),
        pairs_max: 5 + dice.below(25) as u32,
        pairs_at_once: 1 + dice.below(4) as u32,
        is_public: true,
    }
}
