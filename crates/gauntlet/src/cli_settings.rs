//! Settings of the command line: flags made from the server's table, the file, the environment.

use crate::output::CliError;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use server::process::machine;
use settings::{Config, SETTINGS, Setting, Sources};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The file that is read when none is named.
const FILE: &str = "gauntlet.toml";
const FILE_ENV: &str = "GAUNTLET_CONFIG";
const FILE_FLAG: &str = "config";
/// Another name for a setting that is turned off.
const WITHOUT_LIMITS: (&str, &str) = ("without-limits", "limiter-defaults");

/// A command that takes these settings as flags, and a file with any of them.
pub(crate) fn with_settings(command: Command, takes: impl Fn(&Setting) -> bool) -> Command {
    let file = Arg::new(FILE_FLAG)
        .long(FILE_FLAG)
        .value_name("FILE")
        .value_parser(value_parser!(PathBuf))
        .help(format!("Configuration file [default: {FILE}, if it is there] [env: {FILE_ENV}]"));
    let flags: Vec<_> =
        SETTINGS.iter().filter(|setting| takes(setting)).filter_map(|setting| Some((setting, setting.flag?))).collect();
    let (name, of) = WITHOUT_LIMITS;
    let without_limits = Arg::new(name)
        .long(name)
        .action(ArgAction::SetTrue)
        .conflicts_with(of)
        .help_heading("limiter")
        .help(format!("The same as --{of}=false"));
    let has_limits = flags.iter().any(|(_, flag)| *flag == of);
    let others = [file].into_iter().chain(has_limits.then_some(without_limits));
    flags.into_iter().map(|(setting, name)| flag(setting, name)).chain(others).fold(command, Command::arg)
}

fn flag(setting: &'static Setting, name: &'static str) -> Arg {
    let section = setting.key.split('.').next().unwrap_or_default();
    let env =
        setting.standard_env().map_or_else(|| setting.env(), |standard| format!("{} or {standard}", setting.env()));
    let arg = Arg::new(name)
        .long(name)
        .value_name("VALUE")
        .action(ArgAction::Set)
        .help_heading(section)
        .help(format!("{} [default: {}] [env: {}]", setting.help().trim_end_matches('.'), setting.default, env))
        .long_help(format!(
            "{}\n\n[value: {}]\n[default: {}]\n[env: {}]",
            setting.help(),
            setting.expects(),
            setting.default,
            env
        ));
    if setting.is_switch() {
        arg.num_args(0..=1).require_equals(true).default_missing_value("true").value_name("true|false")
    } else {
        arg.allow_hyphen_values(true)
    }
}

/// The given flags, as far as another command of this program must get the same.
pub(crate) struct CliSettings {
    /// The flags of settings that were given, and their values.
    pub(crate) given: Vec<(&'static str, String)>,
    /// The configuration file that was named.
    pub(crate) file: Option<PathBuf>,
}

impl CliSettings {
    /// What was typed for a command that was made by [`with_settings`].
    pub(crate) fn of(typed: &ArgMatches) -> Self {
        Self {
            given: SETTINGS
                .iter()
                .filter_map(|setting| given_flag(typed, setting.flag?))
                .chain(without_limits(typed))
                .collect(),
            file: typed.get_one::<PathBuf>(FILE_FLAG).cloned(),
        }
    }
}

/// What is in force for a command that was made by [`with_settings`].
pub(crate) fn load(typed: &ArgMatches) -> Result<Config, CliError> {
    let sources = Sources {
        file: read_config_file(typed.get_one::<PathBuf>(FILE_FLAG))?,
        env: std::env::vars_os().filter_map(to_unicode).collect(),
        flags: CliSettings::of(typed).given,
        machine: machine(),
    };
    Config::load(&sources).map_err(CliError::usage)
}

fn given_flag(typed: &ArgMatches, name: &'static str) -> Option<(&'static str, String)> {
    let text = typed.try_get_one::<String>(name).ok()??;
    (typed.value_source(name) == Some(ValueSource::CommandLine)).then(|| (name, text.clone()))
}

fn without_limits(typed: &ArgMatches) -> Option<(&'static str, String)> {
    let (name, of) = WITHOUT_LIMITS;
    let is_given = typed.try_get_one::<bool>(name).ok()??;
    is_given.then(|| (of, false.to_string()))
}

/// Names and values that are not Unicode cannot be ours; a value of ours that is not becomes one that is refused.
fn to_unicode((name, value): (OsString, OsString)) -> Option<(String, String)> {
    Some((name.into_string().ok()?, value.to_string_lossy().into_owned()))
}

/// The file that is named, which must be there, or the usual one, which need not.
fn read_config_file(named: Option<&PathBuf>) -> Result<Option<(PathBuf, String)>, CliError> {
    let from_env = std::env::var_os(FILE_ENV).filter(|path| !path.is_empty()).map(PathBuf::from);
    let Some(path) = named.cloned().or(from_env) else {
        let path = Path::new(FILE);
        return if path.exists() { read_file(path).map(Some) } else { Ok(None) };
    };
    read_file(&path).map(Some)
}

fn read_file(path: &Path) -> Result<(PathBuf, String), CliError> {
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|error| {
        CliError::usage(format_args!("the configuration file {} cannot be read: {error}", path.display()))
    })?;
    Ok((path.to_owned(), text))
}
