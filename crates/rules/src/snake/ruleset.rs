//! Which rules a game is played by: rule set, map, settings, and whether a lone snake may play on.
//!
//! Names are the official ones. This file does not know what the rules do; that is [`super::pipeline`] and [`super::maps`].

use super::pipeline::pipeline_for;
use super::{Map, RuleError};

/// The numbers that a game can be tuned with. The default is that of the official command line program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Settings {
    /// Percent, 0 to 100. By an official oddity the real chance is one percent less: 15 is 14 in a hundred, 1 is never.
    pub food_spawn_chance: u32,
    /// Food below this number is made up for after every turn.
    pub minimum_food: u32,
    /// Health lost per hazard entry under the head; negative heals.
    pub hazard_damage_per_turn: i32,
    /// Turns between two steps of what a rule set or map does over time: royale shrinks, pits fill, a sinkhole grows, a pool disappears.
    /// What 0 means, if it is allowed, is said by each of them.
    pub shrink_every_n_turns: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self { food_spawn_chance: 15, minimum_food: 1, hazard_damage_per_turn: 14, shrink_every_n_turns: 25 }
    }
}

/// An official rule set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ruleset {
    /// The last snake alive wins.
    #[default]
    Standard,
    /// Plays until no snake is left.
    Solo,
    /// Standard on a board whose safe area shrinks.
    Royale,
    /// Standard on a board whose edges touch.
    Wrapped,
    /// Snakes grow every turn and never starve.
    Constrictor,
    /// Constrictor on a board whose edges touch.
    WrappedConstrictor,
}

impl Ruleset {
    /// Every rule set.
    pub const ALL: [Self; 6] =
        [Self::Standard, Self::Solo, Self::Royale, Self::Wrapped, Self::Constrictor, Self::WrappedConstrictor];

    /// The official name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Solo => "solo",
            Self::Royale => "royale",
            Self::Wrapped => "wrapped",
            Self::Constrictor => "constrictor",
            Self::WrappedConstrictor => "wrapped_constrictor",
        }
    }

    /// The rule set of this exact name. The official program plays standard for a name that it does not know; for the
    /// same behaviour write `from_name(name).unwrap_or_default()`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|ruleset| ruleset.name() == name)
    }
}

/// The rules of one game, fixed when it is created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rules {
    /// What happens in a turn.
    pub ruleset: Ruleset,
    /// What the board does before the first turn and between turns.
    pub map: Map,
    /// The numbers.
    pub settings: Settings,
    /// With any rule set: the game continues until no snake is left, instead of until one is left.
    pub solo: bool,
}

impl Rules {
    /// The rules for this many snakes, as the official program chooses the solo flag: one snake alone may play on.
    #[must_use]
    pub const fn for_snakes(ruleset: Ruleset, map: Map, settings: Settings, snakes: u8) -> Self {
        Self { ruleset, map, settings, solo: snakes < 2 }
    }

    /// Whether a game like this may be created.
    ///
    /// # Errors
    /// The first thing that the map or the rule set does not take: number of snakes, size of the board, settings.
    pub fn validate(&self, width: u8, height: u8, snakes: u8) -> Result<(), RuleError> {
        let Self { ruleset, map, settings, .. } = *self;
        if !(1..=map.snakes_max()).contains(&snakes) {
            return Err(RuleError::Players { map, snakes });
        }
        if !map.sizes().contain(width, height) {
            return Err(RuleError::BoardSize { map, width, height });
        }
        if settings.food_spawn_chance > 100 {
            return Err(RuleError::FoodSpawnChance(settings.food_spawn_chance));
        }
        if settings.shrink_every_n_turns == 0 && (ruleset == Ruleset::Royale || map == Map::Royale) {
            return Err(RuleError::ShrinkTooOften);
        }
        if settings.shrink_every_n_turns == 0 && map == Map::HazardPits {
            return Err(RuleError::PitsNeverFill);
        }
        Ok(())
    }

    /// The official names of the stages of a turn, the test for the end first.
    pub fn stage_names(&self) -> impl Iterator<Item = &'static str> {
        let pipeline = pipeline_for(self);
        std::iter::once(pipeline.game_over.name).chain(pipeline.stages.iter().map(|stage| stage.name))
    }
}
