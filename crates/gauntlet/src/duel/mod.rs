//! `gauntlet duel`: is bot B better than bot A? Plays the duel on a server of its own, or on another one, and follows it to its end.
//!
//! Exit codes: 0 H1 is accepted (of a league: it was played) · 1 it could not be run, or a bot did not play · 2 usage · 3 H0 is accepted · 4 undecided ·
//! 130 interrupted.

mod bot_probe;
mod follower;
mod local_server;
mod report;

use crate::api_client::ApiClient;
use crate::output::{CliError, print_line, print_note, printable};
use crate::runtime::shutdown_signal;
use bot_client::canonical_url;
use clap::Args;
use engine::ids::BotId;
use engine::limits::DUEL_BOTS_MAX;
use follower::Follower;
use hyper::StatusCode;
use local_server::LocalServer;
use serde_json::{Value, json};
use server::process::machine;
use std::path::PathBuf;
use std::pin::Pin;
use std::process::ExitCode;
use std::time::Duration;
use tokio::time::{Instant, sleep};
use wire::api::DuelDetails;

/// How often the duel is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Shortest time between two lines of progress.
const PROGRESS_EVERY: Duration = Duration::from_secs(2);

const H0_ACCEPTED: u8 = 3;
const UNDECIDED: u8 = 4;
const INTERRUPTED: u8 = 130;

const EXAMPLES: &str = "\
Examples:
  gauntlet duel http://127.0.0.1:8000 http://127.0.0.1:8001
      is the bot on port 8001 better than the one on port 8000?
  gauntlet duel old=http://127.0.0.1:8000 new=http://127.0.0.1:8001 --elo0 -50 --elo1 0 && ./deploy
      deploys unless the new one is worse
  gauntlet duel v1=http://127.0.0.1:8001 v2=http://127.0.0.1:8002 v3=http://127.0.0.1:8003 --games 200
      a league: every two play 200 games
  gauntlet duel 0190b5a4-7c1e-7000-8000-000000000001 https://new.example.com --server https://arena.example.com
      on a server, with the token in GAUNTLET_TOKEN";

/// Plays two bots against each other until it is known whether the second one is better
///
/// Every two games are one pair: the same board and seed, seats exchanged. A sequential test (GSPRT) stops as soon as it
/// knows. With three to eight bots, every two play the same number of games, and a table says what follows.
///
/// Exit codes: 0 the second bot is better, or with a negative --elo0 not worse by that much (a league: it was played), 1 it could
/// not be run, or a bot did not play, 2 usage, 3 the second bot is not better by --elo1, or with --elo1 0 worse, 4 undecided, 130 interrupted
#[derive(Args, Debug, Clone)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DuelArgs {
    /// The baseline, then the candidate (or the bots of a league): URLs, or with --server ids of snakes; NAME=URL names one
    #[arg(value_name = "BOT", num_args = 2..=DUEL_BOTS_MAX, required = true)]
    bots: Vec<String>,
    /// H0: the candidate is this much stronger, in Elo [default: 0]
    #[arg(long, value_name = "ELO", allow_hyphen_values = true)]
    elo0: Option<f64>,
    /// H1: the candidate is this much stronger, in Elo [default: 50 above H0]
    #[arg(long, value_name = "ELO", allow_hyphen_values = true)]
    elo1: Option<f64>,
    /// Rate of accepting H1 where H0 is true [default: 0.05]
    #[arg(long, value_name = "RATE")]
    alpha: Option<f64>,
    /// Rate of accepting H0 where H1 is true [default: 0.05]
    #[arg(long, value_name = "RATE")]
    beta: Option<f64>,
    /// Games of each pairing: at most, or in a league exactly [default: 2000, in a league 100]
    #[arg(long, value_name = "GAMES")]
    games: Option<i64>,
    /// Pairs of games that are played at once [default: 4]
    #[arg(long, value_name = "PAIRS")]
    pairs_at_once: Option<i64>,
    /// What is played: standard, royale, wrapped, constrictor …
    #[arg(long, value_name = "TYPE")]
    game_type: Option<String>,
    /// The map; by default the one that goes with the game type
    #[arg(long, value_name = "MAP")]
    map: Option<String>,
    /// Size of the board, such as 11x11
    #[arg(long, value_name = "WxH")]
    board: Option<String>,
    /// Time that a bot has for a move
    #[arg(long, value_name = "MS")]
    timeout_ms: Option<i64>,
    /// Play on this server instead of one of its own, which ends with the duel
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    /// Token for that server; without --server it is not used
    #[arg(long, value_name = "TOKEN", env = "GAUNTLET_TOKEN", hide_env_values = true)]
    token: Option<String>,
    /// Write all numbers to this file at the end, as the API has them
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub(crate) fn run(args: &DuelArgs) -> Result<ExitCode, CliError> {
    validate(args)?;
    let request = request(args);
    let runtime = crate::runtime::runtime(machine().cores.max(2))?;
    runtime.block_on(async {
        let interrupted = std::pin::pin!(shutdown_signal()?);
        let Some(server) = &args.server else {
            let timeout = args.timeout_ms.and_then(|ms| u64::try_from(ms).ok()).map(Duration::from_millis);
            bot_probe::probe_all(&urls(&request), timeout).await?;
            let server = LocalServer::start().await?;
            let client = ApiClient::new(&server.url(), Some(server.token()))?;
            let played = play(&client, args, &request, interrupted).await;
            // What was played is known, whatever becomes of the server.
            if let Err(error) = server.stop().await {
                error.report();
            }
            return played;
        };
        play(&ApiClient::new(server, args.token.as_deref())?, args, &request, interrupted).await
    })
}

/// The body of the creation. What was not given is left to the server.
fn request(args: &DuelArgs) -> Value {
    let members = [
        ("elo0", json!(args.elo0)),
        ("elo1", json!(args.elo1)),
        ("alpha", json!(args.alpha)),
        ("beta", json!(args.beta)),
        ("games_max", json!(args.games)),
        ("pairs_at_once", json!(args.pairs_at_once)),
        ("game_type", json!(args.game_type)),
        ("map", json!(args.map)),
        ("board", json!(args.board)),
        ("timeout_ms", json!(args.timeout_ms)),
        ("bots", args.bots.iter().map(|bot| bot_choice(bot)).collect()),
    ];
    members.into_iter().filter(|(_, value)| !value.is_null()).map(|(name, value)| (name.to_owned(), value)).collect()
}

fn bot_choice(text: &str) -> Value {
    if text.parse::<BotId>().is_ok() {
        return json!({"snake_id": text});
    }
    match name_and_url(text) {
        (Some(name), url) => json!({"url": url, "name": name}),
        (None, url) => json!({"url": url}),
    }
}

/// A name has no colon; what has one before the first `=` is a URL with a `=` in its path.
fn name_and_url(text: &str) -> (Option<&str>, &str) {
    match text.split_once('=').filter(|(name, _)| !name.contains(':')) {
        Some((name, url)) => (Some(name), url),
        None => (None, text),
    }
}

/// Refuses what was probably mistyped, before anything is called or started.
fn validate(args: &DuelArgs) -> Result<(), CliError> {
    let mut programs: Vec<(String, &str)> = Vec::new();
    for bot in &args.bots {
        programs.push((validate_bot(bot, args.server.is_some())?, bot));
    }
    for (at, (program, bot)) in programs.iter().enumerate() {
        if let Some((_, other)) = programs[..at].iter().find(|(other, _)| other == program) {
            return Err(CliError::usage(format_args!(
                "{other} and {bot} are the same program: expected two different ones"
            )));
        }
    }
    match args.games {
        Some(games) if games % 2 != 0 => Err(CliError::usage(format_args!(
            "--games {games} is odd: games are played in pairs, so expected is an even number, such as {}",
            games.saturating_add(1)
        ))),
        _ => Ok(()),
    }
}

/// What tells the bot's program from others.
fn validate_bot(bot: &str, has_server: bool) -> Result<String, CliError> {
    if bot.parse::<BotId>().is_ok() {
        return match has_server {
            true => Ok(bot.to_ascii_lowercase()),
            false => Err(CliError::usage(format_args!(
                "{bot} is the id of a snake, which only its server knows: name that with --server, or give the bot's URL"
            ))),
        };
    }
    let (_, url) = name_and_url(bot);
    let scheme = url.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    match scheme.as_deref() {
        Some("http" | "https") => Ok(canonical_url(url)),
        Some(_) => Err(CliError::usage(format_args!(
            "{url} is no URL of a bot: expected one that begins with http:// or https://"
        ))),
        None => Err(CliError::usage(format_args!(
            "{bot} is neither a URL nor the id of a snake: expected http:// or https:// before it, such as http://{url}"
        ))),
    }
}

fn urls(request: &Value) -> Vec<String> {
    let bots = request["bots"].as_array().into_iter().flatten();
    bots.filter_map(|bot| bot["url"].as_str().map(str::to_owned)).collect()
}

/// Creates the duel and follows it to its end, or to an interruption.
async fn play(
    client: &ApiClient,
    args: &DuelArgs,
    request: &Value,
    mut interrupted: Pin<&mut impl Future<Output = ()>>,
) -> Result<ExitCode, CliError> {
    let mut duel: DuelDetails = client.post("/api/duels", request, StatusCode::CREATED).await?;
    let follower = Follower::new(client, &duel.summary.id, args.server.is_some());
    if args.server.is_some() {
        print_note(format_args!(
            "duel {}: {}/duels/{}",
            printable(&duel.summary.id),
            client.server(),
            printable(&duel.summary.id)
        ));
    }
    let (mut last_line, mut last_games) = (Instant::now(), 0);
    while duel.end.is_none() {
        let looked = async {
            sleep(LOOK_EVERY).await;
            follower.look().await
        };
        duel = tokio::select! {
            biased;
            () = &mut interrupted => {
                finish(args, &follower.cancel().await?)?;
                return Ok(ExitCode::from(INTERRUPTED));
            }
            looked = looked => looked?,
        };
        let games = report::games_counted(&duel);
        if games > last_games && last_line.elapsed() >= PROGRESS_EVERY {
            (last_line, last_games) = (Instant::now(), games);
            print_note(report::progress(&duel));
        }
    }
    finish(args, &duel)?;
    Ok(exit_code(&duel))
}

fn finish(args: &DuelArgs, duel: &DuelDetails) -> Result<(), CliError> {
    print_line(report::summary(duel))?;
    let Some(file) = &args.json else { return Ok(()) };
    let text = serde_json::to_string_pretty(duel)?;
    std::fs::write(file, text + "\n")
        .map_err(|error| CliError::failed(format_args!("{} cannot be written: {error}", file.display())))
}

fn exit_code(duel: &DuelDetails) -> ExitCode {
    let is_league = duel.test.is_none();
    match duel.end.as_deref() {
        Some("h1_accepted") => ExitCode::SUCCESS,
        Some("games_played") if is_league => ExitCode::SUCCESS,
        Some("h0_accepted") => ExitCode::from(H0_ACCEPTED),
        // It was not run.
        Some("bot_silent") => ExitCode::FAILURE,
        _ => ExitCode::from(UNDECIDED),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use std::borrow::Borrow;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        duel: DuelArgs,
    }

    #[track_caller]
    fn check(typed: &str, want: impl Borrow<Value>) {
        let words = std::iter::once("duel").chain(typed.split_whitespace());
        let program = Program::try_parse_from(words).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(&request(&program.duel), want.borrow(), "{typed}");
    }

    #[test]
    fn arguments_become_a_request() {
        check("http://a http://b", json!({"bots": [{"url": "http://a"}, {"url": "http://b"}]}));
        check(
            "old=http://a http://b/x=1",
            json!({"bots": [{"url": "http://a", "name": "old"}, {"url": "http://b/x=1"}]}),
        );
        let id = "0190b5a4-7c1e-7000-8000-000000000001";
        check(&format!("{id} http://b"), json!({"bots": [{"snake_id": id}, {"url": "http://b"}]}));
        check(
            "http://a http://b --elo0 -5 --elo1 20 --games 400 --board 7x7",
            json!({
                "bots": [{"url": "http://a"}, {"url": "http://b"}],
                "elo0": -5.0, "elo1": 20.0, "games_max": 400, "board": "7x7"
            }),
        );
    }

    #[track_caller]
    fn check_refused(typed: &str, want: &str) {
        let words = std::iter::once("duel").chain(typed.split_whitespace());
        let program = Program::try_parse_from(words).unwrap_or_else(|error| panic!("{error}"));
        let refused = validate(&program.duel).expect_err(typed);
        assert!(refused.text().contains(want), "{typed}: {}", refused.text());
    }

    #[test]
    fn what_was_mistyped_is_refused_with_what_was_expected() {
        let id = "0190b5a4-7c1e-7000-8000-000000000001";
        check_refused("127.0.0.1:8000 http://b", "such as http://127.0.0.1:8000");
        check_refused("http://a new=b.example:80/x", "such as http://b.example:80/x");
        check_refused("ftp://a http://b", "begins with http:// or https://");
        check_refused("http://a HTTP://A.:80/", "the same program");
        check_refused("http://LOCALHOST:8000/x http://localhost:8000/x", "the same program");
        check_refused("old=http://a/x http://b new=http://a/x/", "the same program");
        check_refused(&format!("{id} http://b"), "--server");
        check_refused(&format!("{id} {} --server http://s", id.to_uppercase()), "the same program");
        check_refused("http://a http://b --games 3", "such as 4");
    }

    #[test]
    fn one_bot_is_refused() {
        assert!(Program::try_parse_from(["duel", "http://a"]).is_err());
    }

    #[test]
    fn a_token_of_the_environment_needs_no_server() {
        assert!(Program::try_parse_from(["duel", "http://a", "http://b", "--token", "x"]).is_ok());
    }
}
