//! `gauntlet serve` and `gauntlet config`: the same settings, once to serve by and once to print.

use crate::allocator;
use crate::cli_settings::{CliSettings, load, with_settings};
use crate::output::{CliError, print_line, print_note};
use crate::runtime::{reload_signals, shutdown_signal};
use crate::shards;
use crate::trials::ServerTrials;
use clap::{Arg, ArgAction, ArgMatches, Command};
use engine::limits::OPEN_FILES_MIN;
use metrics::set_allocator_stats_source;
use server::{logs, process};
use settings::{Config, Entry, ServeMode, StoreLocation};
use std::fmt::Write;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

/// What is still on a thread when everything has been left is not waited for any longer than this.
const RUNTIME_SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(200);
const JSON: &str = "json";

pub(crate) fn serve_command() -> Command {
    with_settings(
        Command::new("serve")
            .about("Serves games: the API, the queue and the runners; or, with --only limiter, the rate limiter alone"),
        |_| true,
    )
}

pub(crate) fn config_command() -> Command {
    let json = Arg::new(JSON).long(JSON).action(ArgAction::SetTrue).help("As JSON, for programs");
    let about = "Prints the settings in force and where each came from, and starts nothing";
    with_settings(Command::new("config").about(about), |_| true).arg(json)
}

/// Serves until a signal to leave.
pub(crate) fn serve(typed: &ArgMatches) -> Result<ExitCode, CliError> {
    let mut config = load(typed)?;
    logs::install(&config);
    set_allocator_stats_source(allocator::allocator_stats);
    let wanted = config.open_files_max;
    let got = process::raise_file_limit(wanted);
    if got < OPEN_FILES_MIN as u64 {
        return Err(CliError::failed(format_args!(
            "this process may hold {got} files open, and a server needs {OPEN_FILES_MIN} for itself and a few connections: raise its hard \
             limit (ulimit -Hn, or LimitNOFILE of its unit)"
        )));
    }
    if config.shards > 1 {
        return shards::serve(&config, &CliSettings::of(typed));
    }
    let trials = ServerTrials::of(&config).map_err(|error| trials_error(&config, &error))?;
    config.open_files_max = usize::try_from(got).unwrap_or(usize::MAX).min(wanted);
    let runtime = crate::runtime::runtime(config.threads)?;
    let served = runtime.block_on(async {
        let (shutdown, reloads) = (shutdown_signal()?, reload_signals()?);
        let listener = process::bind(config.address())?;
        let address = listener.local_addr()?;
        let connections_max = config.client_sockets_max();
        tracing::info!(open_files_max = got, connections_max, threads = config.threads, "starting");
        let hello = ready_line(&config, address);
        let ready = || {
            let _ = print_line(hello);
        };
        process::serve(config, ServerTrials::handle(trials.as_ref()), listener, reloads, ready, shutdown)
            .await
            .map_err(CliError::from)
    });
    trials.iter().for_each(|trials| trials.end());
    runtime.shutdown_timeout(RUNTIME_SHUTDOWN_TIMEOUT);
    served.map(|()| ExitCode::SUCCESS)
}

fn trials_error(config: &Config, error: &std::io::Error) -> CliError {
    let dir = config.trials_dir.as_deref().unwrap_or(std::path::Path::new("")).display();
    CliError::failed(format_args!(
        "the folder of trials {dir} cannot be used: {error}; make it, or give another with --trials"
    ))
}

/// The one line with the address and the settings in use. Printed once everything is open and nothing prevents the
/// start.
fn ready_line(config: &Config, address: SocketAddr) -> String {
    let only = match config.serve_mode {
        ServeMode::All => "",
        ServeMode::Limiter => "only the rate limiter, ",
    };
    let (store, process) = (store_description(config), std::process::id());
    let (connections, files) = (config.client_sockets_max(), config.open_files_max);
    let scheme = config.scheme();
    format!(
        "gauntlet serves {scheme}://{address} ({only}store: {store}, connections: {connections} at most of {files} open files, \
         process: {process})"
    )
}

/// Where everything that lasts is kept, for people.
pub(crate) fn store_description(config: &Config) -> String {
    match config.store() {
        StoreLocation::Sqlite(path) => format!("sqlite {}", path.display()),
        StoreLocation::Postgres(url) => format!("postgres {url}"),
    }
}

/// Prints what is in force.
pub(crate) fn show_config(typed: &ArgMatches) -> Result<ExitCode, CliError> {
    let config = load(typed)?;
    config.warnings().iter().for_each(|warning| print_note(format_args!("warning: {warning}")));
    let entries = config.entries();
    print_line(if typed.get_flag(JSON) { to_json(&entries) } else { to_toml(&entries) + &policies(&config)? })?;
    Ok(ExitCode::SUCCESS)
}

/// The rate limiter's policies as comments. Those that were set over the API stand in the store.
fn policies(config: &Config) -> Result<String, CliError> {
    let lines = process::limit_policies(config).map_err(CliError::usage)?;
    let head = match lines.len() {
        0 => "No policy of the rate limiter is in force",
        _ => "Policies of the rate limiter",
    };
    let lines: String = lines.iter().map(|line| format!("\n#   {line}")).collect();
    Ok(format!(
        "\n\n# {head}, but for those that are set over the API{}{lines}",
        if lines.is_empty() { "." } else { ":" }
    ))
}

/// An equivalent configuration file, with the source of each value as a comment.
fn to_toml(entries: &[Entry]) -> String {
    let lines: Vec<(&str, String, &str)> = entries.iter().map(entry_line).collect();
    let width = lines.iter().map(|(_, line, _)| line.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    let mut last = "";
    for (section, line, source) in lines {
        if section != last {
            let gap = if last.is_empty() { "" } else { "\n" };
            let _ = writeln!(text, "{gap}[{section}]");
            last = section;
        }
        let _ = writeln!(text, "{line:width$}  # {source}");
    }
    text.truncate(text.trim_end().len());
    text
}

fn entry_line(entry: &Entry) -> (&str, String, &str) {
    let (section, key) = entry.key.split_once('.').unwrap_or(("", entry.key));
    let is_bare = entry.value.parse::<i64>().is_ok() || entry.value.parse::<bool>().is_ok();
    let value = if is_bare { entry.value.clone() } else { format!("{:?}", entry.value) };
    (section, format!("{key} = {value}"), &entry.source)
}

fn to_json(entries: &[Entry]) -> String {
    let entries =
        entries.iter().map(|entry| serde_json::json!({"key": entry.key, "value": entry.value, "source": entry.source}));
    format!("{:#}", serde_json::json!({"entries": entries.collect::<Vec<_>>()}))
}
