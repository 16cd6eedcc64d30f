//! The plan of a simulation of ladders, drawn from its seed.

use crate::cluster::{ClusterPlan, Faults};
use crate::dice::Dice;
use crate::referee::GameOdds;
use engine::ladders::definition::LadderDefinition;
use std::time::Duration;

/// The options of one simulation.
#[derive(Clone, Debug)]
pub struct LadderPlan {
    pub cluster: ClusterPlan,
    /// Besides the one that every server has: each with whether it is public, and whether the server owns it.
    pub ladders: Vec<(LadderDefinition, bool, bool)>,
    /// Bots, of three owners.
    pub bots: u16,
    /// Matches of all ladders that may be under way at once.
    pub matches_at_once: usize,
    pub odds: GameOdds,
    /// People enter bots, take them out, hide them, and call games off about this often.
    pub people_interval: Duration,
    /// The process that has written something of a ladder is killed up to this long after, so many times: in any of the steps that
    /// follow.
    pub deaths_by_step: u32,
}

impl LadderPlan {
    /// The plan that this seed stands for.
    #[must_use]
    pub fn of_seed(seed: u64) -> Self {
        let mut dice = Dice::new(seed ^ 0x1add);
        let nodes = 1 + dice.below(3) as usize;
        let mut faults = Faults::of(&mut dice, seed);
        faults.faulty_for = Duration::from_secs(20);
        let ladders = 1 + dice.below(2);
        // By dice of its own: the plans of earlier seeds are as they were.
        let silent_per_mille = Dice::new(seed ^ 0x511e).below(150);
        Self {
            cluster: ClusterPlan { seed, nodes, has_exclusive_store: false, faults },
            ladders: (0..ladders).map(|_| ladder(&mut dice)).collect(),
            bots: 8 + dice.below(13) as u16,
            matches_at_once: 2 + dice.below(23) as usize,
            odds: GameOdds {
                void_per_mille: dice.below(150),
                cancelled_per_mille: dice.below(100),
                server_fault_per_mille: dice.below(100),
                draw_per_mille: dice.below(300),
                silent_per_mille,
            },
            people_interval: Duration::from_millis(200 + dice.below(2_000)),
            deaths_by_step: 0,
        }
    }

    /// No faults but that a process dies after each of its first steps.
    #[must_use]
    pub fn dies_at_every_step(seed: u64, deaths: u32) -> Self {
        let mut plan = Self::of_seed(seed);
        plan.cluster.remove_faults();
        plan.cluster.nodes = 1;
        plan.deaths_by_step = deaths;
        plan
    }
}

/// Seasons are seconds instead of days, so that several end while things go wrong.
fn ladder(dice: &mut Dice) -> (LadderDefinition, bool, bool) {
    let season = dice.bool_per_mille(800).then(|| Duration::from_millis(2_000 + dice.below(10_000)));
    let players = 2 + dice.below(3) as u8;
    (
        LadderDefinition { players, season, ..LadderDefinition::standard() },
        dice.bool_per_mille(500),
        dice.bool_per_mille(500),
    )
}
