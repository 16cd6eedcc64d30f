//! From the wire's words to a tournament that can be held: pure, and all that is wrong at once.

use crate::games::{GameParams, parse_game_params, parse_seed};
use crate::problem::{ApiError, ApiResult};
use crate::text;
use engine::limits::{
    TOURNAMENT_GAME_DEADLINE_DEFAULT, TOURNAMENT_GAMES_AT_ONCE_DEFAULT, TOURNAMENT_REPLAYS_DEFAULT,
    TOURNAMENT_START_AHEAD_MAX,
};
use engine::matches::settings::MatchSettings;
use engine::time::UnixMs;
use engine::tournaments::{Definition, EntryRule, Format, Seeding, TieBreak, TournamentRules};
use rules::chance::Seed;
use std::time::Duration;
use wire::api::{CreateGame, CreateTournament, TournamentFormatChoice, TournamentGameChoice};
use wire::time::parse_timestamp;

const ENTRANTS_MAX_DEFAULT: u16 = 64;
const FORMATS: &str = "single_elimination, double_elimination, swiss, round_robin, groups, heats";

/// What the server adds.
pub(super) struct AssignedValues {
    pub(super) now: UnixMs,
    pub(super) seed: Seed,
    /// Whether the caller may choose another one.
    pub(super) may_choose_seed: bool,
    pub(super) turns_max: u32,
    pub(super) timeout_ms_default: u16,
}

/// The name and the definition.
pub(super) fn parse_tournament(wanted: &CreateTournament, given: &AssignedValues) -> ApiResult<(String, Definition)> {
    let name = text::check_name("/name", &wanted.name)?;
    let format = wanted.format.as_ref().map_or(Ok(Format::SingleElimination { third_place: false }), parse_format)?;
    let most = match format {
        Format::RoundRobin => engine::limits::TOURNAMENT_ROUND_ROBIN_MAX,
        _ => ENTRANTS_MAX_DEFAULT,
    };
    let least = match format {
        Format::Groups { groups, advance, .. } => groups.saturating_mul(u16::from(advance).max(2)),
        Format::Swiss { rounds } => rounds.saturating_add(1).max(2),
        _ => 2,
    };
    let definition = Definition {
        format,
        rules: parse_rules(wanted)?,
        seeding: parse_seeding(wanted)?,
        entry_rule: parse_entry_rule(wanted.entry.as_deref())?,
        entrants_min: number("/entrants_min", wanted.entrants_min, least)?,
        entrants_max: number("/entrants_max", wanted.entrants_max, most.max(least))?,
        entrants_per_account_max: number("/entrants_per_account_max", wanted.entrants_per_account_max, 1)?,
        starts_at: wanted.starts_at.as_deref().map(|text| parse_start(text, given.now)).transpose()?,
        seed: parse_chosen_seed(wanted, given)?,
        game: parse_game(wanted.game.as_ref(), given)?,
    };
    definition.validate().map_err(|errors| {
        let field = errors.first().map_or(String::new(), |error| pointer(error.field));
        let reasons: Vec<_> = errors.iter().map(|error| format!("{}: {}", error.field, error.reason)).collect();
        ApiError::bad_value(field, reasons.join("; "))
    })?;
    Ok((name, definition))
}

/// Who knows the seed knows where snakes start and food appears in every game, so it is not for an organizer, who may have bots in it.
fn parse_chosen_seed(wanted: &CreateTournament, given: &AssignedValues) -> ApiResult<Seed> {
    match &wanted.seed {
        None => Ok(given.seed),
        Some(seed) if given.may_choose_seed => parse_seed(seed),
        Some(_) => Err(ApiError::bad_value(
            "/seed",
            "the server draws a tournament's seed, and shows it when the tournament is over; only operators may choose one: leave it out",
        )),
    }
}

/// Where a field of the definition stands in the request.
fn pointer(field: &str) -> String {
    match field {
        "rounds" | "groups" | "size" | "advance" => format!("/format/{field}"),
        _ => format!("/{field}"),
    }
}

fn parse_format(wanted: &TournamentFormatChoice) -> ApiResult<Format> {
    let TournamentFormatChoice { kind, third_place, final_reset, rounds, groups, size, advance } = wanted;
    let given = [
        ("third_place", third_place.is_some()),
        ("final_reset", final_reset.is_some()),
        ("rounds", rounds.is_some()),
        ("groups", groups.is_some()),
        ("size", size.is_some()),
        ("advance", advance.is_some()),
    ];
    let third_place = third_place.unwrap_or(false);
    let (format, takes): (Format, &[&str]) = match kind.as_str() {
        "single_elimination" => (Format::SingleElimination { third_place }, &["third_place"]),
        "double_elimination" => {
            (Format::DoubleElimination { final_reset: final_reset.unwrap_or(true) }, &["final_reset"])
        }
        "swiss" => (Format::Swiss { rounds: number("/format/rounds", *rounds, 0)? }, &["rounds"]),
        "round_robin" => (Format::RoundRobin, &[]),
        "groups" => {
            let groups = number("/format/groups", *groups, 4)?;
            let advance = number("/format/advance", *advance, 2)?;
            (Format::Groups { groups, advance, third_place }, &["groups", "advance", "third_place"])
        }
        "heats" => {
            let size = number("/format/size", *size, 4)?;
            let advance = number("/format/advance", *advance, 2)?;
            (Format::Heats { size, advance }, &["size", "advance"])
        }
        _ => {
            let reason = format!("there is no such format: expected one of {FORMATS}");
            return Err(ApiError::bad_value("/format/type", reason));
        }
    };
    match given.into_iter().find(|(name, is_given)| *is_given && !takes.contains(name)) {
        Some((name, _)) => {
            Err(ApiError::bad_value(format!("/format/{name}"), format!("{kind} has no {name}: leave it out")))
        }
        None => Ok(format),
    }
}

fn parse_rules(wanted: &CreateTournament) -> ApiResult<TournamentRules> {
    let tie_break = |(at, name): (usize, &String)| match name.as_str() {
        "food" => Ok(TieBreak::Food),
        "seed" => Ok(TieBreak::Seed),
        "lot" => Ok(TieBreak::Lot),
        _ => Err(ApiError::bad_value(format!("/tie_breaks/{at}"), "expected food, seed or lot")),
    };
    let tie_breaks = match &wanted.tie_breaks {
        None => vec![TieBreak::Food, TieBreak::Seed],
        Some(names) => names.iter().take(4).enumerate().map(tie_break).collect::<ApiResult<_>>()?,
    };
    let deadline_s: u32 = number(
        "/game_deadline_s",
        wanted.game_deadline_s,
        u32::try_from(TOURNAMENT_GAME_DEADLINE_DEFAULT.as_secs()).unwrap_or(u32::MAX),
    )?;
    Ok(TournamentRules {
        best_of: number("/best_of", wanted.best_of, 1)?,
        replays_max: number("/replays_max", wanted.replays_max, TOURNAMENT_REPLAYS_DEFAULT)?,
        tie_breaks,
        game_deadline: Duration::from_secs(deadline_s.into()),
        games_at_once: number("/games_at_once", wanted.games_at_once, TOURNAMENT_GAMES_AT_ONCE_DEFAULT)?,
    })
}

fn parse_seeding(wanted: &CreateTournament) -> ApiResult<Seeding> {
    match (wanted.seeding.as_deref().unwrap_or("random"), wanted.ladder_id.as_deref()) {
        ("random", None) => Ok(Seeding::Random),
        ("manual", None) => Ok(Seeding::Manual),
        ("ladder", Some(id)) => {
            let parsed = id.parse().map_err(|error| ApiError::bad_value("/ladder_id", format!("ladder_id is {error}")));
            Ok(Seeding::Ladder { ladder: parsed? })
        }
        ("ladder", None) => Err(ApiError::bad_value("/ladder_id", "seeding by a ladder needs its id: ladder_id")),
        ("random" | "manual", Some(_)) => {
            Err(ApiError::bad_value("/ladder_id", "only seeding by a ladder has a ladder_id: leave it out"))
        }
        _ => Err(ApiError::bad_value("/seeding", "expected random, manual or ladder")),
    }
}

fn parse_entry_rule(wanted: Option<&str>) -> ApiResult<EntryRule> {
    match wanted.unwrap_or("open") {
        "open" => Ok(EntryRule::Open),
        "invited" => Ok(EntryRule::Invited),
        _ => Err(ApiError::bad_value("/entry", "expected open or invited")),
    }
}

fn parse_start(text: &str, now: UnixMs) -> ApiResult<UnixMs> {
    let at = parse_timestamp(text).map(UnixMs).ok_or_else(|| {
        ApiError::bad_value("/starts_at", "expected a time in RFC 3339, such as 2026-01-31T18:00:00Z")
    })?;
    if at <= now || at > now.plus(TOURNAMENT_START_AHEAD_MAX) {
        let days = TOURNAMENT_START_AHEAD_MAX.as_secs() / (24 * 3_600);
        return Err(ApiError::bad_value("/starts_at", format!("expected a time within the next {days} days")));
    }
    Ok(at)
}

fn parse_game(wanted: Option<&TournamentGameChoice>, given: &AssignedValues) -> ApiResult<MatchSettings> {
    let TournamentGameChoice { board, game_type, map, timeout_ms, settings } = wanted.cloned().unwrap_or_default();
    let game = CreateGame { board, game_type, map, timeout_ms, settings, ..CreateGame::default() };
    let params = parse_game_params(&game, 2, given.timeout_ms_default).map_err(within_game)?;
    let GameParams { rules, width, height, timeout_ms } = params;
    Ok(MatchSettings { rules, width, height, timeout_ms, turns_max: given.turns_max })
}

/// The members of `game` are those of a creation, one level deeper.
fn within_game(error: ApiError) -> ApiError {
    match error {
        ApiError::BadValue { field, reason } => ApiError::BadValue { field: format!("/game{field}"), reason },
        other => other,
    }
}

/// A number, as far as the type goes; which numbers are taken, the definition says.
fn number<T: TryFrom<i64>>(field: &str, wanted: Option<i64>, default: T) -> ApiResult<T> {
    let Some(wanted) = wanted else { return Ok(default) };
    T::try_from(wanted).map_err(|_| ApiError::bad_value(field, format!("{wanted} is out of range")))
}
