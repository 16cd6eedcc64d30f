//! From method and path to a bot and a call: the grammar of URLs (see the crate's head) and nothing else.

use crate::characters::Character;
use crate::config::{Config, Faults, check_share, parse_think};
use crate::http::{Method, Problem, Status};

/// The route of a request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Route {
    /// The list of characters.
    Characters,
    /// Whether the process answers.
    Healthz,
    /// Counters as Prometheus text.
    Metrics,
    /// Who a bot is.
    Index(Character),
    /// A call of the webhook API to a bot with this behaviour.
    Call(Character, Config, Call),
}

/// The calls of the webhook API that carry a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    Start,
    Move,
    End,
}

/// The route of `method` and `target` (an origin-form request target; its query is ignored).
pub(crate) fn resolve(method: Method, target: &str, defaults: &Config) -> Result<Route, Problem> {
    let path = target.split_once('?').map_or(target, |(path, _)| path);
    let path = path.strip_prefix('/').ok_or_else(|| unknown_path(path))?;
    let path = path.strip_suffix('/').filter(|path| !path.is_empty()).unwrap_or(path);
    let (first, rest) = path.split_once('/').map_or((path, None), |(first, rest)| (first, Some(rest)));
    let route = match (first, rest) {
        ("", None) => Route::Characters,
        ("healthz", None) => Route::Healthz,
        ("metrics", None) => Route::Metrics,
        _ => bot(first, rest, defaults)?,
    };
    let allowed = if matches!(route, Route::Call(..)) { Method::Post } else { Method::Get };
    if method == allowed { Ok(route) } else { Err(Problem::wrong_method(allowed)) }
}

fn bot(name: &str, rest: Option<&str>, defaults: &Config) -> Result<Route, Problem> {
    let character = Character::from_name(name).ok_or_else(|| unknown_path(name))?;
    let Some(rest) = rest else { return Ok(Route::Index(character)) };
    let (modifiers, last) = rest.rsplit_once('/').map_or((None, rest), |(before, last)| (Some(before), last));
    match (call(last), modifiers) {
        (Some(call), None) => Ok(Route::Call(character, *defaults, call)),
        (Some(call), Some(before)) => Ok(Route::Call(character, modified(before, defaults)?, call)),
        (None, _) => modified(rest, defaults).map(|_| Route::Index(character)),
    }
}

fn call(segment: &str) -> Option<Call> {
    match segment {
        "start" => Some(Call::Start),
        "move" => Some(Call::Move),
        "end" => Some(Call::End),
        _ => None,
    }
}

/// `defaults`, changed by the modifiers of a path.
fn modified(segments: &str, defaults: &Config) -> Result<Config, Problem> {
    let mut config = *defaults;
    let Faults { mut late, mut garbage, mut refuse } = defaults.faults;
    for (position, segment) in segments.split('/').enumerate() {
        let (name, value) = segment.split_once('-').ok_or_else(|| unknown_path(segment))?;
        let refused = |why: String| bad_modifier(segment, &why);
        match name {
            "think" => config.think = parse_think(value).map_err(refused)?,
            "seed" => config.seed = value.parse().map_err(|_| refused("a seed is a whole number".to_owned()))?,
            "careless" => {
                config.careless = parse_share(value).map_err(refused)?;
                check_share(name, config.careless).map_err(|why| bad_modifier(segment, &why))?;
            }
            "late" => late = parse_share(value).map_err(refused)?,
            "garbage" => garbage = parse_share(value).map_err(refused)?,
            "refuse" => refuse = parse_share(value).map_err(refused)?,
            _ => return Err(unknown_path(segment)),
        }
        let mut earlier = segments.split('/').take(position);
        if earlier.any(|earlier| earlier.split_once('-').is_some_and(|(before, _)| before == name)) {
            return Err(refused("it stands there twice".to_owned()));
        }
    }
    let faults = Faults::new(late, garbage, refuse).map_err(|detail| bad_modifier(segments, &detail))?;
    Ok(Config { faults, ..config })
}

fn parse_share(value: &str) -> Result<f64, String> {
    value.parse().map_err(|_| "a probability is a number between 0 and 1".to_owned())
}

fn unknown_path(what: &str) -> Problem {
    let detail = format!("`{what}` is nothing here: ask for /random, /hungry or /flood, then /start, /move or /end");
    Problem::new(Status::NOT_FOUND, "unknown_path", detail)
}

fn bad_modifier(segment: &str, why: &str) -> Problem {
    Problem::new(Status::BAD_REQUEST, "bad_modifier", format!("`{segment}`: {why}"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const USUAL: Config = Config { think: Duration::from_millis(200), seed: 3, careless: 0.0, faults: Faults::NONE };

    #[track_caller]
    fn check(method: Method, target: &str, expected: Result<Route, Status>) {
        assert_eq!(resolve(method, target, &USUAL).map_err(|problem| problem.status), expected, "{target}");
    }

    fn a_move(config: Config) -> Result<Route, Status> {
        Ok(Route::Call(Character::Hungry, config, Call::Move))
    }

    #[test]
    fn plain_addresses() {
        check(Method::Get, "/", Ok(Route::Characters));
        check(Method::Get, "/healthz", Ok(Route::Healthz));
        check(Method::Get, "/metrics?x=1", Ok(Route::Metrics));
        check(Method::Get, "/random", Ok(Route::Index(Character::Random)));
        check(Method::Get, "/flood/", Ok(Route::Index(Character::Flood)));
        check(Method::Post, "/hungry/move", a_move(USUAL));
        check(Method::Post, "/hungry/move/", a_move(USUAL));
        check(Method::Post, "/hungry/start", Ok(Route::Call(Character::Hungry, USUAL, Call::Start)));
        check(Method::Post, "/hungry/end?a=/b", Ok(Route::Call(Character::Hungry, USUAL, Call::End)));
    }

    #[test]
    fn modifiers_change_one_bot() {
        check(Method::Get, "/hungry/late-0.1", Ok(Route::Index(Character::Hungry)));
        check(Method::Post, "/hungry/think-1s/move", a_move(Config { think: Duration::from_secs(1), ..USUAL }));
        check(Method::Post, "/hungry/careless-0.25/move", a_move(Config { careless: 0.25, ..USUAL }));
        check(
            Method::Post,
            "/hungry/seed-7/late-0.1/refuse-0.01/think-0/garbage-0.05/move",
            a_move(Config {
                think: Duration::ZERO,
                seed: 7,
                faults: Faults::new(0.1, 0.05, 0.01).expect("in range"),
                ..USUAL
            }),
        );
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        check(Method::Get, "*", Err(Status::NOT_FOUND));
        check(Method::Get, "//", Err(Status::NOT_FOUND));
        check(Method::Get, "/hungry//", Err(Status::NOT_FOUND));
        check(Method::Post, "/nobody/move", Err(Status::NOT_FOUND));
        check(Method::Post, "/hungry/jump", Err(Status::NOT_FOUND));
        check(Method::Post, "/hungry/move/move", Err(Status::NOT_FOUND));
        check(Method::Post, "/hungry/mood-0.5/move", Err(Status::NOT_FOUND));
        check(Method::Get, "/healthz/deep", Err(Status::NOT_FOUND));
        check(Method::Post, "/hungry/late-2/move", Err(Status::BAD_REQUEST));
        check(Method::Post, "/hungry/late-x/move", Err(Status::BAD_REQUEST));
        check(Method::Post, "/hungry/careless-2/move", Err(Status::BAD_REQUEST));
        check(Method::Post, "/hungry/careless-NaN/move", Err(Status::BAD_REQUEST));
        check(Method::Post, "/hungry/late-0.1/late-0.1/move", Err(Status::BAD_REQUEST));
        check(Method::Post, "/hungry/late-0.6/garbage-0.6/move", Err(Status::BAD_REQUEST));
        check(Method::Post, "/hungry/think-61s/move", Err(Status::BAD_REQUEST));
        check(Method::Post, "/hungry/seed--1/move", Err(Status::BAD_REQUEST));
        check(Method::Get, "/hungry/seed-x", Err(Status::BAD_REQUEST));
        check(Method::Post, "/", Err(Status::METHOD_NOT_ALLOWED));
        check(Method::Get, "/hungry/move", Err(Status::METHOD_NOT_ALLOWED));
        check(Method::Other, "/hungry/move", Err(Status::METHOD_NOT_ALLOWED));
    }
}
