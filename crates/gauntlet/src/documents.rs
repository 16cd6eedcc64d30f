//! `gauntlet completions` and `gauntlet manual`: what shells and `man` know of this program, made from the definition that parses the
//! command line, so that a package cannot have other flags than the binary in it.

use crate::args;
use crate::output::{CliError, print_line};
use clap::{ArgMatches, Args, Command};
use clap_complete::Shell;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Args)]
struct CompletionsArgs {
    /// The shell that they are for
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

#[derive(Args)]
struct ManualArgs {
    /// The folder; it is made if it is not there
    #[arg(value_name = "DIR")]
    dir: PathBuf,
}

pub(crate) fn completions_command() -> Command {
    let command = Command::new("completions").about("Prints what a shell needs to complete commands and flags");
    CompletionsArgs::augment_args(command)
        .after_help("For bash: gauntlet completions bash > /usr/share/bash-completion/completions/gauntlet")
}

pub(crate) fn manual_command() -> Command {
    let command = Command::new("manual").about("Writes man pages, one for each command, into a folder");
    ManualArgs::augment_args(command).after_help("To read one: man -l DIR/gauntlet-serve.1")
}

/// Prints the completions of `whole`, the program's command line.
pub(crate) fn print_completions(typed: &ArgMatches, whole: &Command) -> Result<ExitCode, CliError> {
    let CompletionsArgs { shell } = args(typed)?;
    let mut whole = visible(whole);
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut whole, "gauntlet", &mut text);
    match io::stdout().lock().write_all(&text) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(CliError::failed(format_args!("the completions could not be written: {error}")))
        }
        Ok(()) | Err(_) => Ok(ExitCode::SUCCESS),
    }
}

/// Writes the man pages of `whole`, the program's command line.
pub(crate) fn write_manual(typed: &ArgMatches, whole: &Command) -> Result<ExitCode, CliError> {
    let ManualArgs { dir } = args(typed)?;
    let unwritten = |error: io::Error| {
        CliError::failed(format_args!(
            "the manual cannot be written into {}: {error}; name another folder",
            dir.display()
        ))
    };
    std::fs::create_dir_all(&dir).map_err(unwritten)?;
    clap_mangen::generate_to(visible(whole), &dir).map_err(unwritten)?;
    print_line(format_args!(
        "{} has the manual: begin with man -l {}",
        dir.display(),
        dir.join("gauntlet.1").display()
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// Without the commands that this program uses to start parts of itself.
fn visible(whole: &Command) -> Command {
    let shown: Vec<Command> = whole.get_subcommands().filter(|command| !command.is_hide_set()).cloned().collect();
    let bare = Command::new("gauntlet").version(crate::VERSION).subcommand_required(true);
    let about = whole.get_about().cloned().unwrap_or_default();
    bare.about(about).subcommands(shown)
}
