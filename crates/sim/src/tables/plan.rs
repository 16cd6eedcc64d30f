//! The plan of a simulation of tables, drawn from the seed.

use crate::cluster::{ClusterPlan, Faults};
use crate::dice::Dice;
use engine::tables::{BotSettings, Difficulty, TableSettings};
use std::time::Duration;

/// The options of one simulation.
#[derive(Clone, Debug)]
pub struct TablePlan {
    pub cluster: ClusterPlan,
    /// Owner tasks of each process.
    pub owner_tasks: usize,
    /// Tables, each opened by a player of its own.
    pub tables: usize,
    /// Players that may come to any table.
    pub players: usize,
    /// What is played.
    pub settings: TableSettings,
    /// Whether bots may play, and how hard their stories are.
    pub bots: BotSettings,
    /// How long a player counts as present after the last poll.
    pub presence_grace: Duration,
    /// How long players continue after the last fault.
    pub healed_for: Duration,
    /// Whether all processes are killed once the players have gone, and another one is left alone with what they left.
    pub ends_abandoned: bool,
}

impl TablePlan {
    /// The plan that this seed stands for.
    #[must_use]
    pub fn of_seed(seed: u64) -> Self {
        let mut dice = Dice::new(seed ^ 0x7ab1e5);
        let settings = TableSettings {
            countdown: Duration::from_millis(1_000 + dice.below(5_000)),
            game_timeout: Duration::from_millis(8_000 + dice.below(20_000)),
            next_storyteller_timeout: Duration::from_millis(2_000 + dice.below(8_000)),
            ..TableSettings::default()
        };
        let nodes = 1 + dice.below(3) as usize;
        Self {
            owner_tasks: 1 + dice.below(3) as usize,
            tables: 1 + dice.below(3) as usize,
            players: 3 + dice.below(5) as usize,
            settings,
            bots: BotSettings {
                are_on: dice.bool_per_mille(500),
                difficulty: Difficulty::ALL[(seed % Difficulty::ALL.len() as u64) as usize],
            },
            presence_grace: Duration::from_millis(500 + dice.below(5_000)),
            healed_for: Duration::from_secs(15),
            ends_abandoned: dice.bool_per_mille(500),
            cluster: ClusterPlan { seed, nodes, has_exclusive_store: false, faults: Faults::of(&mut dice, seed) },
        }
    }

    /// Few people and bots who tell in their turn, for longer than usual: processes die while a bot thinks, and tells.
    #[must_use]
    pub fn few_people_and_bots(seed: u64) -> Self {
        let mut plan = Self::of_seed(seed);
        plan.bots.are_on = true;
        (plan.tables, plan.players) = (1, 2);
        plan.presence_grace = Duration::from_secs(5);
        plan.cluster.faults.faulty_for = Duration::from_secs(300);
        plan
    }
}
