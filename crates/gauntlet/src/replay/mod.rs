//! `gauntlet replay`: sends a bot what it (or another version of it) was sent in a game, and shows where it would move otherwise now.

mod comparison;
mod fetch;
mod recording;
mod report;

use crate::api_client::{ApiClient, is_base_url};
use crate::output::{CliError, print_line, print_note};
use bot_client::{BotCall, BotClient, LimitedAddresses, Webhook};
use clap::{Args, Command};
use comparison::{Comparison, compare};
use engine::ids::AccountId;
use quotas::socket_budget::SocketBudget;
use recording::Recording;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// Sends a bot the calls of a game again, and compares its moves with those that were played
#[derive(Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct ReplayArgs {
    /// The game's id, or a file with the calls of one snake, as GET /api/games/{id}/snakes/{snake}/calls gives it
    #[arg(value_name = "GAME")]
    game: String,
    /// The bot to be called: the base URL to which /start, /move and /end are appended
    #[arg(long, value_name = "URL")]
    bot: String,
    /// The server that has the game
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:4000")]
    server: String,
    /// A token of the account that owned the snake
    #[arg(long, value_name = "SECRET", env = "GAUNTLET_TOKEN", hide_env_values = true)]
    token: Option<String>,
    /// The snake's seat, from 0; needed where several snakes of the game are yours
    #[arg(long, value_name = "N")]
    seat: Option<u8>,
    /// Only the request for a move of this turn, without /start and /end
    #[arg(long, value_name = "N")]
    turn: Option<u32>,
    /// How long the bot may take for an answer; when absent, as long as in the game
    #[arg(long, value_name = "MS")]
    timeout_ms: Option<u16>,
    /// One JSON object with every turn, in place of lines for people
    #[arg(long)]
    json: bool,
}

const EXIT_CODES: &str = "Exit codes: 0 every move is the one that was played, 3 some differ, 4 some requests had no valid answer, \
                          1 it could not be done, 2 wrong usage.";

/// Adds the arguments to a command.
pub(crate) fn command() -> Command {
    ReplayArgs::augment_args(Command::new("replay"))
}

/// Replays as the arguments say.
pub(crate) fn run(args: &ReplayArgs) -> Result<ExitCode, CliError> {
    check_bot_url(&args.bot)?;
    crate::runtime::runtime(1)?.block_on(async {
        let recording = load(args).await?;
        let requests = recording.select(args.turn)?;
        let timeout_ms = args.timeout_ms.map_or(recording.subject.timeout_ms, u32::from);
        let timeout = Duration::from_millis(timeout_ms.into());
        // One call at a time, and no limit but that.
        let client = BotClient::new(1, true, LimitedAddresses::None, Arc::default(), Arc::new(SocketBudget::new(2, 2)));
        let mut comparisons = Vec::new();
        for recorded in requests {
            let call = BotCall {
                url: args.bot.clone(),
                webhook: recorded.webhook,
                body: recorded.body.clone(),
                timeout,
                signer: None,
                account: AccountId(0),
                span: None,
            };
            let answer = client.call(call).await;
            if recorded.webhook == Webhook::Move {
                let comparison = compare(recorded, &answer);
                if !args.json && (comparison.is_notable() || args.turn.is_some()) {
                    report::print_turn(&comparison)?;
                }
                comparisons.push(comparison);
            }
        }
        conclude(args, &recording, &comparisons)
    })
}

fn conclude(args: &ReplayArgs, recording: &Recording, comparisons: &[Comparison]) -> Result<ExitCode, CliError> {
    let summary = comparison::summarize(comparisons);
    match args.json {
        true => print_line(report::json(&recording.subject, &args.bot, comparisons, &summary))?,
        false => print_line(report::summary(&recording.subject, &summary))?,
    }
    report::remedy(comparisons).into_iter().for_each(print_note);
    Ok(summary.exit_code())
}

/// The recording from a file, or from the server.
async fn load(args: &ReplayArgs) -> Result<Recording, CliError> {
    if let Some(id) = recording::parse_game_id(&args.game) {
        let client = ApiClient::new(&args.server, args.token.as_deref())?;
        let bytes = fetch::fetch_calls(&client, id, args.seat).await?;
        return Recording::parse(&bytes)
            .map_err(|error| CliError::failed(format_args!("the server's answer: {error}")));
    }
    let path = Path::new(&args.game);
    let bytes = recording::read_file(path)?;
    let recording = Recording::parse(&bytes);
    recording.map_err(|error| CliError::failed(format_args!("{}: {error}", path.display())))
}

fn check_bot_url(url: &str) -> Result<(), CliError> {
    if is_base_url(url) {
        return Ok(());
    }
    Err(CliError::usage(format_args!(
        "--bot {url}: expected the base URL of a bot without a query, such as http://127.0.0.1:8000"
    )))
}
