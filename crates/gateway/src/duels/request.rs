//! From the wire's words to a duel that can be played: pure, but for the bots that were looked up.

use crate::bot_url;
use crate::games::{GameParams, parse_game_params};
use crate::problem::{ApiError, ApiResult};
use crate::text;
use bot_client::canonical_url;
use engine::duels::{DefinitionError, DuelBot, DuelDefinition, Sprt, SprtError};
use engine::ids::{AccountId, BotId};
use engine::limits::{
    DUEL_BOTS_MAX, DUEL_GAMES_DEFAULT, DUEL_GAMES_MAX, DUEL_LEAGUE_PAIRS_DEFAULT, DUEL_PAIRS_AT_ONCE_DEFAULT,
    DUEL_PAIRS_AT_ONCE_MAX, NAME_CHARS_MAX,
};
use engine::matches::settings::MatchSettings;
use engine::rows::{Bot, OwnedBot};
use rules::chance::Seed;

use std::collections::HashMap;
use std::ops::RangeInclusive;
use wire::api::{CreateDuel, CreateGame, DuelBotChoice};

/// A bot as it was chosen, before registered ones are looked up.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ChosenBot {
    Registered(BotId),
    Url { url: String, name: String },
}

/// What the server adds.
pub(super) struct Assigned {
    pub(super) seed: Seed,
    /// An id for each bot that is not registered, by its place.
    pub(super) bots: Vec<BotId>,
    pub(super) turns_max: u32,
    pub(super) timeout_ms_default: u16,
}

/// Reads which bots play.
pub(super) fn parse_bots(wanted: &CreateDuel, are_private_allowed: bool) -> ApiResult<Vec<ChosenBot>> {
    let count = wanted.bots.len();
    if !(2..=DUEL_BOTS_MAX).contains(&count) {
        let reason = format!(
            "a duel has 2 bots, the baseline and the candidate, and a league up to {DUEL_BOTS_MAX}; not {count}"
        );
        return Err(ApiError::bad_value("/bots", reason));
    }
    wanted.bots.iter().enumerate().map(|(place, bot)| parse_bot(place, bot, are_private_allowed)).collect()
}

fn parse_bot(place: usize, bot: &DuelBotChoice, are_private_allowed: bool) -> ApiResult<ChosenBot> {
    let field = |member: &str| format!("/bots/{place}/{member}");
    match (&bot.snake_id, &bot.url) {
        (Some(id), None) => {
            let id = id
                .parse()
                .map_err(|error| ApiError::bad_value(field("snake_id"), format!("the snake's id is {error}")))?;
            Ok(ChosenBot::Registered(id))
        }
        (None, Some(url)) => {
            bot_url::check_member(&field("url"), url, are_private_allowed)?;
            let letter = || char::from(b'A' + place as u8).to_string();
            let name = bot.name.as_ref().map(|name| text::check_name(&field("name"), name)).transpose()?;
            Ok(ChosenBot::Url { url: url.clone(), name: name.unwrap_or_else(letter) })
        }
        (Some(_), Some(_)) | (None, None) => Err(ApiError::bad_value(
            format!("/bots/{place}"),
            "a bot is named by its snake_id or by its url: send one of them",
        )),
    }
}

/// The definition of the duel, its bots being known, and its name.
pub(super) fn parse_duel(
    wanted: &CreateDuel,
    chosen: &[ChosenBot],
    known: &HashMap<BotId, OwnedBot>,
    account: AccountId,
    assigned: &Assigned,
) -> ApiResult<(DuelDefinition, String)> {
    let places = chosen.iter().zip(&assigned.bots).enumerate();
    let bots: Vec<DuelBot> =
        places.map(|(place, (bot, id))| seat_bot(place, bot, *id, known, account)).collect::<ApiResult<_>>()?;
    refuse_one_program_twice(&bots, known, account)?;
    let GameParams { rules, width, height, timeout_ms } =
        parse_game_params(&game_of(wanted), 2, assigned.timeout_ms_default)?;
    let settings = MatchSettings { rules, width, height, timeout_ms, turns_max: assigned.turns_max };
    let is_league = bots.len() > 2;
    let games_default = if is_league { 2 * DUEL_LEAGUE_PAIRS_DEFAULT } else { DUEL_GAMES_DEFAULT };
    let games_max = parse_count("/games_max", wanted.games_max, 2..=DUEL_GAMES_MAX, games_default)?;
    if games_max % 2 != 0 {
        let (fewer, more) = (games_max - 1, games_max + 1);
        let reason =
            format!("games_max is even, because games are played in pairs: {fewer} or {more}, not {games_max}");
        return Err(ApiError::bad_value("/games_max", reason));
    }
    let at_once = 1..=DUEL_PAIRS_AT_ONCE_MAX;
    let definition = DuelDefinition {
        settings,
        seed: assigned.seed,
        test: parse_test(wanted, is_league)?,
        pairs_max: games_max / 2,
        pairs_at_once: parse_count("/pairs_at_once", wanted.pairs_at_once, at_once, DUEL_PAIRS_AT_ONCE_DEFAULT)?,
        is_public: wanted.is_public.unwrap_or_else(|| are_all_public(&bots, known)),
        bots,
    };
    definition.validate().map_err(|error| refusal(&error))?;
    let name = wanted.name.as_ref().map(|name| text::check_name("/name", name)).transpose()?;
    let name = name.unwrap_or_else(|| name_of(&definition));
    Ok((definition, name))
}

fn seat_bot(
    place: usize,
    chosen: &ChosenBot,
    assigned: BotId,
    known: &HashMap<BotId, OwnedBot>,
    account: AccountId,
) -> ApiResult<DuelBot> {
    let may_use = |bot: &Bot| bot.account == account || bot.is_public;
    match chosen {
        ChosenBot::Url { url, name } => Ok(DuelBot {
            bot: assigned,
            name: name.clone(),
            owner: String::new(),
            url: url.clone(),
            is_registered: false,
        }),
        ChosenBot::Registered(id) => match known.get(id).filter(|known| may_use(&known.bot)) {
            Some(OwnedBot { bot, owner }) => Ok(DuelBot {
                bot: *id,
                name: bot.name.clone(),
                owner: owner.clone(),
                url: bot.url.clone(),
                is_registered: true,
            }),
            None => Err(ApiError::UnknownSnake { field: format!("/bots/{place}/snake_id"), id: id.to_string() }),
        },
    }
}

/// A program against itself is equal, which needs no duel: one of the two was probably mistyped. URLs of other accounts' snakes are not compared,
/// because the refusal would confirm a guess.
fn refuse_one_program_twice(bots: &[DuelBot], known: &HashMap<BotId, OwnedBot>, account: AccountId) -> ApiResult<()> {
    let is_visible = |bot: &DuelBot| known.get(&bot.bot).is_none_or(|known| known.bot.account == account);
    let program = |bot: &DuelBot| is_visible(bot).then(|| canonical_url(&bot.url));
    for (place, bot) in bots.iter().enumerate() {
        let is_same =
            |other: &&DuelBot| other.bot == bot.bot || program(other).is_some() && program(other) == program(bot);
        if let Some(other) = bots[..place].iter().find(is_same) {
            let reason = format!(
                "{} is the same program as {}: expected another snake or another URL (of host and scheme, small and large letters, the \
                 scheme's own port and a slash at the end make no difference)",
                bot.name, other.name
            );
            return Err(ApiError::bad_value(format!("/bots/{place}"), reason));
        }
    }
    Ok(())
}

fn are_all_public(bots: &[DuelBot], known: &HashMap<BotId, OwnedBot>) -> bool {
    bots.iter().all(|bot| known.get(&bot.bot).is_some_and(|known| known.bot.is_public))
}

/// The members that a duel shares with a game.
fn game_of(wanted: &CreateDuel) -> CreateGame {
    CreateGame {
        board: wanted.board.clone(),
        game_type: wanted.game_type.clone(),
        map: wanted.map.clone(),
        timeout_ms: wanted.timeout_ms,
        settings: wanted.settings.clone(),
        ..CreateGame::default()
    }
}

fn parse_test(wanted: &CreateDuel, is_league: bool) -> ApiResult<Option<Sprt>> {
    let given = [("elo0", wanted.elo0), ("elo1", wanted.elo1), ("alpha", wanted.alpha), ("beta", wanted.beta)];
    if is_league {
        return match given.into_iter().find(|(_, value)| value.is_some()) {
            Some((member, _)) => Err(ApiError::bad_value(
                format!("/{member}"),
                "a league has no test: every two bots play games_max games. Leave it out, or send two bots",
            )),
            None => Ok(None),
        };
    }
    let default = Sprt::default();
    let elo0 = wanted.elo0.unwrap_or(default.elo0);
    let test = Sprt {
        elo0,
        elo1: wanted.elo1.unwrap_or(elo0 + default.elo1 - default.elo0),
        alpha: wanted.alpha.unwrap_or(default.alpha),
        beta: wanted.beta.unwrap_or(default.beta),
    };
    Ok(Some(test))
}

fn refusal(error: &DefinitionError) -> ApiError {
    let field = match error {
        DefinitionError::Rules(error) => return ApiError::Unplayable(error.clone()),
        DefinitionError::Bots | DefinitionError::Test => "/bots",
        DefinitionError::Pairs => "/games_max",
        DefinitionError::PairsAtOnce => "/pairs_at_once",
        DefinitionError::Sprt(SprtError::Bound | SprtError::Gap) => "/elo1",
        DefinitionError::Sprt(SprtError::ErrorRate) => "/alpha",
    };
    ApiError::bad_value(field, error.to_string())
}

fn parse_count(field: &str, wanted: Option<i64>, range: RangeInclusive<u32>, default: u32) -> ApiResult<u32> {
    let Some(wanted) = wanted else { return Ok(default) };
    u32::try_from(wanted).ok().filter(|count| range.contains(count)).ok_or_else(|| {
        let reason = format!("{} is {} to {}, not {wanted}", &field[1..], range.start(), range.end());
        ApiError::bad_value(field, reason)
    })
}

/// The names of the bots, as far as a name may be long.
fn name_of(definition: &DuelDefinition) -> String {
    let names: Vec<&str> = definition.bots.iter().map(|bot| bot.name.as_str()).collect();
    names.join(" against ").chars().take(NAME_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests;
