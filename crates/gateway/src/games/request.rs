//! From the wire's words to a game that can be played: pure, and the only judge of what a creation may ask for.

use crate::problem::{ApiError, ApiResult};
use engine::ids::{AccountId, BotId, MatchId};
use engine::limits::{BOT_TIMEOUT_MAX, BOT_TIMEOUT_MIN, SEATS_MAX, TURNS_MAX};
use engine::matches::spec::MatchSpec;
use engine::rows::{Bot, OwnedBot};
use rules::chance::Seed;
use rules::snake::{HEALTH_MAX, Map, Rules, Ruleset, SIDE_MAX, Settings};
use std::collections::HashMap;
use std::ops::RangeInclusive;
use wire::api::{CreateGame, SeedText, SettingsChoice};

/// The largest whole number that every JSON program holds exactly.
const JSON_NUMBER_MAX: u64 = (1 << 53) - 1;
const BOARD_DEFAULT: (u8, u8) = (11, 11);
/// The game type that is a map: standard rules on `snail_mode`.
const SNAIL_NAMES: [&str; 3] = ["snail_mode", "snailmode", "snail"];
/// Food that a game may always have on the board: as much as the largest board has cells.
const MINIMUM_FOOD_MAX: u32 = SIDE_MAX as u32 * SIDE_MAX as u32;

/// A creation that is well formed; only its bots are not known yet.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ValidatedGame {
    rules: Rules,
    width: u8,
    height: u8,
    seed: Option<Seed>,
    timeout_ms: u16,
    /// The bots by seat.
    pub(super) bots: Vec<BotId>,
}

/// What the server adds to a plan.
pub(super) struct AssignedParams {
    /// The new match's id.
    pub(super) id: MatchId,
    /// The seed, should the creation name none.
    pub(super) seed: Seed,
    /// After how many turns it ends.
    pub(super) turns_max: u32,
}

/// What is played, whichever snakes play it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct GameParams {
    pub(crate) rules: Rules,
    pub(crate) width: u8,
    pub(crate) height: u8,
    pub(crate) timeout_ms: u16,
}

/// Reads what is played by so many snakes; the other members of the creation are ignored.
pub(crate) fn parse_game_params(wanted: &CreateGame, snakes: u8, timeout_ms_default: u16) -> ApiResult<GameParams> {
    let (width, height) = wanted.board.as_deref().map_or(Ok(BOARD_DEFAULT), parse_board)?;
    let (ruleset, map) = parse_ruleset_and_map(wanted.game_type.as_deref(), wanted.map.as_deref())?;
    if ruleset == Ruleset::Solo && snakes != 1 {
        let reason = format!("Solo games require exactly one battlesnake, not {snakes}: expected another game type");
        return Err(ApiError::bad_value("/game_type", reason));
    }
    let settings = parse_settings(wanted.settings.as_ref(), default_settings(ruleset))?;
    let rules = Rules::for_snakes(ruleset, map, settings, snakes);
    rules.validate(width, height, snakes).map_err(ApiError::Unplayable)?;
    let timeout_ms = wanted.timeout_ms.map_or(Ok(timeout_ms_default), parse_timeout_ms)?;
    Ok(GameParams { rules, width, height, timeout_ms })
}

/// Reads a creation.
pub(super) fn validate_game(wanted: &CreateGame, timeout_ms_default: u16) -> ApiResult<ValidatedGame> {
    let bots = parse_bots(&wanted.snakes)?;
    let GameParams { rules, width, height, timeout_ms } =
        parse_game_params(wanted, bots.len() as u8, timeout_ms_default)?;
    let seed = wanted.seed.as_ref().map(parse_seed).transpose()?;
    Ok(ValidatedGame { rules, width, height, seed, timeout_ms, bots })
}

/// Seats the bots that `account` may use.
pub(super) fn seat_bots(
    plan: &ValidatedGame,
    known: &HashMap<BotId, OwnedBot>,
    account: AccountId,
    given: &AssignedParams,
) -> ApiResult<MatchSpec> {
    let may_use = |bot: &Bot| bot.account == account || bot.is_public;
    let find = |(at, id): (usize, &BotId)| {
        let found = known.get(id).filter(|owned| may_use(&owned.bot));
        found.ok_or_else(|| ApiError::UnknownSnake { field: format!("/snakes/{at}"), id: id.to_string() })
    };
    let bots: Vec<&OwnedBot> = plan.bots.iter().enumerate().map(find).collect::<ApiResult<_>>()?;
    let spec = MatchSpec {
        id: given.id,
        rules: plan.rules,
        width: plan.width,
        height: plan.height,
        seed: plan.seed.unwrap_or(given.seed),
        timeout_ms: plan.timeout_ms,
        turns_max: given.turns_max,
        origin: None,
        is_public: bots.iter().all(|owned| owned.bot.is_public),
        seats: bots.iter().map(|owned| owned.seat()).collect(),
    };
    spec.validate().map_err(ApiError::Unplayable)?;
    Ok(spec)
}

/// The game type that answers name for these rules: as programs for this API compare it. Requests may write it in either way.
pub(crate) fn game_type(rules: &Rules) -> &'static str {
    if is_snail(rules.ruleset, rules.map) {
        return "Snail Mode";
    }
    match rules.ruleset {
        Ruleset::Standard => "Standard",
        Ruleset::Solo => "Solo",
        Ruleset::Royale => "Royale",
        Ruleset::Wrapped => "Wrapped",
        Ruleset::Constrictor => "Constrictor",
        Ruleset::WrappedConstrictor => "Wrapped Constrictor",
    }
}

fn is_snail(ruleset: Ruleset, map: Map) -> bool {
    ruleset == Ruleset::Standard && map == Map::SnailMode
}

fn parse_bots(snakes: &[String]) -> ApiResult<Vec<BotId>> {
    let reason = match snakes.len() {
        0 => Some(format!("At least one battlesnake is required for a game: expected 1 to {SEATS_MAX} ids")),
        count if count > SEATS_MAX => Some(format!("a game has 1 to {SEATS_MAX} snakes, not {count}")),
        _ => None,
    };
    if let Some(reason) = reason {
        return Err(ApiError::bad_value("/snakes", reason));
    }
    let id = |(at, text): (usize, &String)| {
        text.parse().map_err(|error| ApiError::bad_value(format!("/snakes/{at}"), format!("the snake's id is {error}")))
    };
    snakes.iter().enumerate().map(id).collect()
}

fn parse_board(text: &str) -> ApiResult<(u8, u8)> {
    let sides = text.split_once('x').and_then(|(width, height)| Some((width.parse().ok()?, height.parse().ok()?)));
    // The same size has one spelling: no sign, no leading zero.
    sides.filter(|(width, height)| format!("{width}x{height}") == text).ok_or_else(|| {
        let reason = "Invalid board size: expected width x height in cells, such as 7x7, 11x11 or 19x19";
        ApiError::bad_value("/board", reason)
    })
}

/// A name as callers may write it: `Snail Mode`, `snail-mode` and `snail_mode` are one.
fn canonical_name(name: &str) -> String {
    name.trim().to_ascii_lowercase().replace([' ', '-'], "_")
}

fn parse_ruleset_and_map(game_type: Option<&str>, map: Option<&str>) -> ApiResult<(Ruleset, Map)> {
    let game_type = game_type.map_or_else(|| Ruleset::default().name().to_owned(), canonical_name);
    let map = map.map(|name| parse_map(&canonical_name(name))).transpose()?;
    if SNAIL_NAMES.contains(&game_type.as_str()) {
        return match map {
            None | Some(Map::SnailMode) => Ok((Ruleset::Standard, Map::SnailMode)),
            Some(_) => {
                Err(ApiError::bad_value("/map", "the game type snail_mode is played on the map snail_mode only"))
            }
        };
    }
    let ruleset = Ruleset::from_name(&game_type).ok_or_else(|| {
        let names = Ruleset::ALL.map(Ruleset::name).join(", ");
        ApiError::bad_value("/game_type", format!("Invalid game type: expected one of {names}, snail_mode"))
    })?;
    Ok((ruleset, map.unwrap_or_default()))
}

fn parse_map(name: &str) -> ApiResult<Map> {
    Map::from_name(name).ok_or_else(|| {
        let names = Map::ALL.map(Map::name).join(", ");
        ApiError::bad_value("/map", format!("there is no such map: expected one of {names}"))
    })
}

/// The constrictor rule sets are meant to be played without food; the standard map would go on to spawn it.
fn default_settings(ruleset: Ruleset) -> Settings {
    match ruleset {
        Ruleset::Constrictor | Ruleset::WrappedConstrictor => {
            Settings { food_spawn_chance: 0, minimum_food: 0, ..Settings::default() }
        }
        Ruleset::Standard | Ruleset::Solo | Ruleset::Royale | Ruleset::Wrapped => Settings::default(),
    }
}

fn parse_settings(wanted: Option<&SettingsChoice>, defaults: Settings) -> ApiResult<Settings> {
    let Some(wanted) = wanted else {
        return Ok(defaults);
    };
    let damage_max = i64::from(HEALTH_MAX);
    Ok(Settings {
        food_spawn_chance: parse_setting(
            "foodSpawnChance",
            wanted.food_spawn_chance,
            0..=100,
            defaults.food_spawn_chance,
        )?,
        minimum_food: parse_setting(
            "minimumFood",
            wanted.minimum_food,
            0..=MINIMUM_FOOD_MAX.into(),
            defaults.minimum_food,
        )?,
        hazard_damage_per_turn: parse_setting(
            "hazardDamagePerTurn",
            wanted.hazard_damage_per_turn,
            -damage_max..=damage_max,
            defaults.hazard_damage_per_turn,
        )?,
        shrink_every_n_turns: parse_setting(
            "shrinkEveryNTurns",
            wanted.shrink_every_n_turns,
            0..=TURNS_MAX.into(),
            defaults.shrink_every_n_turns,
        )?,
    })
}

fn parse_setting<T: TryFrom<i64>>(
    name: &str,
    wanted: Option<i64>,
    range: RangeInclusive<i64>,
    default: T,
) -> ApiResult<T> {
    let Some(wanted) = wanted else {
        return Ok(default);
    };
    let (least, most) = (range.start(), range.end());
    let refusal =
        || ApiError::bad_value(format!("/settings/{name}"), format!("{name} is {least} to {most}, not {wanted}"));
    T::try_from(wanted).ok().filter(|_| range.contains(&wanted)).ok_or_else(refusal)
}

pub(crate) fn parse_seed(wanted: &SeedText) -> ApiResult<Seed> {
    let number = match wanted {
        SeedText::Number(number) => number.as_u64().filter(|number| *number <= JSON_NUMBER_MAX),
        SeedText::Text(text) if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().ok(),
        SeedText::Text(_) => None,
    };
    number.map(Seed).ok_or_else(|| {
        let reason = format!(
            "a seed is a whole number from 0 to {JSON_NUMBER_MAX}, or a string of decimal digits up to {}",
            u64::MAX
        );
        ApiError::bad_value("/seed", reason)
    })
}

fn parse_timeout_ms(wanted: i64) -> ApiResult<u16> {
    let range = BOT_TIMEOUT_MIN.as_millis() as i64..=BOT_TIMEOUT_MAX.as_millis() as i64;
    u16::try_from(wanted).ok().filter(|_| range.contains(&wanted)).ok_or_else(|| {
        let reason = format!("timeout_ms is {} to {}, not {wanted}", range.start(), range.end());
        ApiError::bad_value("/timeout_ms", reason)
    })
}

#[cfg(test)]
mod tests;
