//! The plan of a simulated hunt, drawn from the seed.

use crate::dice::Dice;

/// The options of one simulation.
#[derive(Clone, Debug)]
pub struct HuntPlan {
    pub seed: u64,
    /// Clocks of nodes differ from the store's by up to this many milliseconds.
    pub skew_ms_max: u64,
    /// Of 1,000 steps, so many set the clock of a node.
    pub clock_set_per_mille: u64,
    /// Of 1,000 steps, so many cut a node off from the store for a while.
    pub cut_off_per_mille: u64,
    /// Of 1,000 steps, so many begin a while in which every commit fails, before it is saved or after it.
    pub disk_failed_per_mille: u64,
    /// Of 1,000 claims of the world, so many are saved without an outcome for the node.
    pub claim_unreported_per_mille: u64,
}

impl HuntPlan {
    /// The plan that this seed stands for.
    #[must_use]
    pub fn of_seed(seed: u64) -> Self {
        let mut dice = Dice::new(seed ^ 0xd15c);
        Self {
            seed,
            skew_ms_max: dice.below(2_000),
            clock_set_per_mille: dice.below(10),
            cut_off_per_mille: dice.below(10),
            disk_failed_per_mille: dice.below(6),
            claim_unreported_per_mille: dice.below(200),
        }
    }

    /// Only the kinds of faults that there were when the first seeds were kept: with them a kept seed is what it was when it failed.
    #[must_use]
    pub fn of_first_kinds(seed: u64) -> Self {
        Self {
            seed,
            skew_ms_max: 0,
            clock_set_per_mille: 0,
            cut_off_per_mille: 0,
            disk_failed_per_mille: 0,
            claim_unreported_per_mille: 0,
        }
    }
}
