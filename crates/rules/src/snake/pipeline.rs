//! A rule set is a short list of named stages over one board. This file is the table of contents of the rule book.
//!
//! A stage that fails stops the turn; the caller's board is untouched because stages work on a copy.

use super::stages::{StageContext, constrictor, elimination, game_over, health, movement, royale};
use super::{Board, RuleError, Rules, Ruleset};

/// One step of a turn.
pub(crate) struct Stage {
    /// The official name: what it does, then in which variant.
    pub(crate) name: &'static str,
    /// Whether it also runs when the board is being set up: before the first turn, without orders.
    runs_at_setup: bool,
    run: fn(&mut Board, &StageContext<'_>) -> Result<(), RuleError>,
}

/// The test for the end of the game.
pub(crate) struct GameOver {
    pub(crate) name: &'static str,
    pub(crate) test: fn(&Board) -> bool,
}

/// All that happens in a turn.
pub(crate) struct Pipeline {
    pub(crate) game_over: &'static GameOver,
    pub(crate) stages: &'static [Stage],
}

const LAST_SNAKE_WINS: GameOver = GameOver { name: "game_over.standard", test: game_over::one_or_none_left };
const PLAY_TO_THE_END: GameOver = GameOver { name: "game_over.solo_snake", test: game_over::none_left };

const MOVE: Stage = stage("movement.standard", movement::move_snakes);
const MOVE_AND_WRAP: Stage = stage("movement.wrap_boundaries", movement::move_snakes_and_wrap);
const STARVE: Stage = stage("starvation.standard", health::starve_snakes);
const HURT: Stage = stage("hazard_damage.standard", health::damage_on_hazards);
const FEED: Stage = stage("feed_snakes.standard", health::feed_snakes);
const ELIMINATE: Stage = stage("elimination.standard", elimination::eliminate_snakes);
const SHRINK: Stage = stage("spawn_hazards.shrink_map", royale::shrink);
const NO_FOOD: Stage = Stage { runs_at_setup: true, ..stage("spawn_food.no_food", constrictor::remove_food) };
const GROW: Stage = Stage { runs_at_setup: true, ..stage("modify_snakes.always_grow", constrictor::grow_snakes) };

static STANDARD: [Stage; 5] = [MOVE, STARVE, HURT, FEED, ELIMINATE];
static ROYALE: [Stage; 6] = [MOVE, STARVE, HURT, FEED, ELIMINATE, SHRINK];
static WRAPPED: [Stage; 5] = [MOVE_AND_WRAP, STARVE, HURT, FEED, ELIMINATE];
static CONSTRICTOR: [Stage; 7] = [MOVE, STARVE, HURT, FEED, ELIMINATE, NO_FOOD, GROW];
static WRAPPED_CONSTRICTOR: [Stage; 7] = [MOVE_AND_WRAP, STARVE, HURT, FEED, ELIMINATE, NO_FOOD, GROW];

/// The stages of these rules.
pub(crate) fn pipeline_for(rules: &Rules) -> Pipeline {
    let stages: &'static [Stage] = match rules.ruleset {
        Ruleset::Standard | Ruleset::Solo => &STANDARD,
        Ruleset::Royale => &ROYALE,
        Ruleset::Wrapped => &WRAPPED,
        Ruleset::Constrictor => &CONSTRICTOR,
        Ruleset::WrappedConstrictor => &WRAPPED_CONSTRICTOR,
    };
    let plays_to_the_end = rules.solo || rules.ruleset == Ruleset::Solo;
    Pipeline { game_over: if plays_to_the_end { &PLAY_TO_THE_END } else { &LAST_SNAKE_WINS }, stages }
}

impl Pipeline {
    /// Whether the game has ended. Tested before everything else, so the turn that decides a game is played completely.
    pub(crate) fn is_over(&self, board: &Board) -> bool {
        (self.game_over.test)(board)
    }

    /// Runs the stages in their order on a board that the caller may throw away.
    ///
    /// Turn 0 without orders means that the board is being set up: only the stages marked for it run.
    pub(crate) fn run(&self, board: &mut Board, call: &StageContext<'_>) -> Result<(), RuleError> {
        let at_setup = board.turn == 0 && call.orders.is_empty();
        let mut due = self.stages.iter().filter(|stage| stage.runs_at_setup || !at_setup);
        due.try_for_each(|stage| (stage.run)(board, call))
    }
}

const fn stage(name: &'static str, run: fn(&mut Board, &StageContext<'_>) -> Result<(), RuleError>) -> Stage {
    Stage { name, runs_at_setup: false, run }
}
