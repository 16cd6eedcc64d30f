//! The program: parses the command line and calls the subcommand.
//!
//! Exit codes: 0 done, 1 failed, 2 wrong usage or configuration, 130 interrupted; `run` has more (see its help).

mod account;
mod allocator;
mod api_client;
mod audit;
mod audit_entries;
mod backup;
mod ban;
mod bots_command;
mod check_store;
mod cli_settings;
mod documents;
mod duel;
mod health;
mod migrate;
mod output;
mod ratings;
mod replay;
mod runtime;
mod serve;
mod shards;
mod token;
mod trials;

use clap::{ArgMatches, Args, Command, FromArgMatches};
use output::CliError;
use std::process::ExitCode;

const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("GAUNTLET_COMMIT"), ")");

fn main() -> ExitCode {
    let typed = command().get_matches();
    match dispatch(&typed) {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}

fn command() -> Command {
    Command::new("gauntlet")
        .about("Hosts multiplayer games and finds out how far they can be pushed")
        .version(VERSION)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(serve::serve_command())
        .subcommand(serve::config_command())
        .subcommand(backup::backup_command())
        .subcommand(backup::restore_command())
        .subcommand(check_store::command())
        .subcommand(health::command())
        .subcommand(migrate::command())
        .subcommand(token::command())
        .subcommand(account::command())
        .subcommand(ban::command())
        .subcommand(audit::command())
        .subcommand(ratings::command())
        .subcommand(bots::BotsArgs::augment_args(Command::new("bots")))
        .subcommand(duel::DuelArgs::augment_args(Command::new("duel")))
        .subcommand(replay::command())
        .subcommand(lab::cli::RunArgs::augment_args(Command::new("run")))
        .subcommand(lab::report::cli::ReportArgs::augment_args(Command::new("report")))
        .subcommand(lab::compare::cli::CompareArgs::augment_args(Command::new("compare")))
        .subcommand(lab::sweep::cli::SweepArgs::augment_args(Command::new("sweep")))
        .subcommand(documents::completions_command())
        .subcommand(documents::manual_command())
        .subcommand(Command::new(lab::generator::WORKER_COMMAND).hide(true))
        .subcommand(lab::guard::GuardArgs::augment_args(Command::new(lab::guard::COMMAND).hide(true)))
}

fn dispatch(typed: &ArgMatches) -> Result<ExitCode, CliError> {
    match typed.subcommand() {
        Some(("serve", typed)) => serve::serve(typed),
        Some(("config", typed)) => serve::show_config(typed),
        Some(("backup", typed)) => backup::back_up(typed),
        Some(("restore", typed)) => backup::restore(typed),
        Some(("check-store", typed)) => check_store::run(typed),
        Some(("health", typed)) => health::run(typed),
        Some(("migrate", typed)) => migrate::run(typed),
        Some(("token", typed)) => token::run(typed),
        Some(("account", typed)) => account::run(typed),
        Some(("ban", typed)) => ban::run(typed),
        Some(("audit", typed)) => audit::run(typed),
        Some(("ratings", typed)) => ratings::run(typed),
        Some(("bots", typed)) => bots_command::run(args(typed)?),
        Some(("duel", typed)) => duel::run(&args(typed)?),
        Some(("replay", typed)) => replay::run(&args(typed)?),
        Some(("report", typed)) => Ok(lab::report::cli::run(&args(typed)?)),
        Some(("run", typed)) => Ok(lab::cli::run(args(typed)?, VERSION)),
        Some(("completions", typed)) => documents::print_completions(typed, &command()),
        Some(("manual", typed)) => documents::write_manual(typed, &command()),
        Some((lab::generator::WORKER_COMMAND, _)) => Ok(lab::generator::run_worker_process()),
        Some((lab::guard::COMMAND, typed)) => Ok(lab::guard::run(&args(typed)?)),
        Some(("compare", typed)) => Ok(lab::compare::cli::run(args(typed)?)),
        Some(("sweep", typed)) => Ok(lab::sweep::cli::run(args(typed)?, VERSION)),
        Some(_) | None => Err(CliError::usage("a command is missing: gauntlet --help lists them")),
    }
}

/// What clap checked already against the same definition.
pub(crate) fn args<T: FromArgMatches>(typed: &ArgMatches) -> Result<T, CliError> {
    T::from_arg_matches(typed).map_err(|error| CliError::usage(error.to_string()))
}
