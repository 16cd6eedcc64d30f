//! Loading: merges the layers, parses every value, and collects every error before one is returned.
//!
//! Pure: the caller reads the file, the environment and the flags.

use super::error::{ConfigError, ValidationError};
use super::relations::{self, Machine};
use super::setting::{AUTO, Setting};
use super::table::SETTINGS;
use super::{Config, Source};
use std::path::{Path, PathBuf};

/// The configuration's sources, layer by layer, as text.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// The path and the content of the configuration file, if there is one.
    pub file: Option<(PathBuf, String)>,
    /// The environment; names that do not begin with `GAUNTLET_` are ignored.
    pub env: Vec<(String, String)>,
    /// Flags by their name without dashes.
    pub flags: Vec<(&'static str, String)>,
    /// The machine from which derived values follow.
    pub machine: Machine,
}

/// Names in the environment that belong to this program's other commands, or name the file.
const OTHER_ENV: [&str; 3] = ["GAUNTLET_CONFIG", "GAUNTLET_TARGET", "GAUNTLET_TOKEN"];
/// A name with a larger edit distance is not suggested.
const EDIT_DISTANCE_MAX: usize = 4;
const ENV_PREFIX: &str = "GAUNTLET_";

/// One value before it is parsed.
struct RawValue {
    setting_index: usize,
    text: String,
    source: Source,
}

pub(super) fn load(sources: &Sources) -> Result<Config, ConfigError> {
    let mut errors = Vec::new();
    let mut given: Vec<RawValue> =
        SETTINGS.iter().enumerate().map(|(row, setting)| default_value(row, setting)).collect();
    if let Some((path, text)) = &sources.file {
        given.extend(from_file(path, text, &mut errors));
    }
    given.extend(from_env(&sources.env, &mut errors));
    given.extend(from_flags(&sources.flags, &mut errors));

    let (mut config, is_auto) = apply_layers(&given, &mut errors);
    choose_store(&mut config, &mut errors);
    relations::derive(&mut config, sources.machine, |key| is_auto[setting_index(key)]);
    if errors.is_empty() {
        relations::check(&config, &mut errors);
    }
    if errors.is_empty() { Ok(config) } else { Err(ConfigError(errors)) }
}

fn default_value(row: usize, setting: &Setting) -> RawValue {
    RawValue { setting_index: row, text: setting.default.to_owned(), source: Source::Default }
}

/// Merges the values in order. An invalid value that a later layer overrides is still an error.
fn apply_layers(given: &[RawValue], errors: &mut Vec<ValidationError>) -> (Config, Vec<bool>) {
    let mut config = Config::blank();
    let mut is_auto = vec![false; SETTINGS.len()];
    for RawValue { setting_index: row, text, source } in given {
        let setting = &SETTINGS[*row];
        is_auto[*row] = setting.auto.is_some() && text == AUTO;
        if !is_auto[*row] && (setting.slot)(&mut config).parse(text, setting).is_none() {
            errors.push(invalid_value(setting, text, source));
        }
        config.sources[*row] = source.clone();
    }
    (config, is_auto)
}

fn invalid_value(setting: &Setting, text: &str, source: &Source) -> ValidationError {
    let shown = if setting.is_secret() { "a value that is not shown".to_owned() } else { format!("\"{text}\"") };
    ValidationError { given: format!("{} is {shown} ({source})", setting.key), expected: setting.expects() }
}

/// A file and a database cannot both hold the matches: the stronger source wins, and of equals neither.
fn choose_store(config: &mut Config, errors: &mut Vec<ValidationError>) {
    let (data, url) = (&config.sources[setting_index("store.data")], &config.sources[setting_index("store.url")]);
    if config.store_url.is_none() || *data == Source::Default {
        return;
    }
    match precedence(data).cmp(&precedence(url)) {
        std::cmp::Ordering::Less => {}
        std::cmp::Ordering::Greater => config.store_url = None,
        std::cmp::Ordering::Equal => errors.push(ValidationError {
            given: format!("store.data ({data}) and store.url ({url}) are both given"),
            expected: "one of them: matches are kept in a SQLite file or in a PostgreSQL database".into(),
        }),
    }
}

fn precedence(source: &Source) -> u8 {
    match source {
        Source::Default => 0,
        Source::File(_) => 1,
        Source::Env(_) => 2,
        Source::Flag(_) => 3,
    }
}

fn from_file(path: &Path, text: &str, errors: &mut Vec<ValidationError>) -> Vec<RawValue> {
    let sections = match text.parse::<toml::Table>() {
        Ok(sections) => sections,
        Err(error) => {
            let given = format!("{} is not TOML: {}", path.display(), error.to_string().trim_end());
            errors.push(ValidationError {
                given,
                expected: "sections of keys, such as [server] and below it port = 4000".into(),
            });
            return Vec::new();
        }
    };
    let mut given = Vec::new();
    for (section, value) in sections {
        let toml::Value::Table(keys) = value else {
            errors.push(unknown_setting(
                &format!("{section} ({})", Source::File(path.to_owned())),
                &section,
                &known_keys(),
            ));
            continue;
        };
        for (key, value) in keys {
            given.extend(from_key(&format!("{section}.{key}"), &value, path, errors));
        }
    }
    given
}

fn from_key(key: &str, value: &toml::Value, path: &Path, errors: &mut Vec<ValidationError>) -> Option<RawValue> {
    let source = Source::File(path.to_owned());
    let Some(row) = SETTINGS.iter().position(|setting| setting.key == key) else {
        errors.push(unknown_setting(&format!("{key} ({source})"), key, &known_keys()));
        return None;
    };
    let text = match value {
        toml::Value::String(text) => text.clone(),
        toml::Value::Integer(number) => number.to_string(),
        toml::Value::Boolean(is_so) => is_so.to_string(),
        toml::Value::Float(_) | toml::Value::Datetime(_) | toml::Value::Array(_) | toml::Value::Table(_) => {
            let given = format!("{key} is of the type {} ({source})", value.type_str());
            errors.push(ValidationError { given, expected: SETTINGS[row].expects() });
            return None;
        }
    };
    Some(RawValue { setting_index: row, text, source })
}

fn from_env(env: &[(String, String)], errors: &mut Vec<ValidationError>) -> Vec<RawValue> {
    let names: Vec<String> = SETTINGS.iter().map(Setting::env).collect();
    let mut given = Vec::new();
    for (name, text) in env.iter().filter(|(name, _)| name.starts_with(ENV_PREFIX)) {
        if let Some(row) = names.iter().position(|known| known == name) {
            given.push(RawValue { setting_index: row, text: text.clone(), source: Source::Env(name.clone()) });
        } else if !OTHER_ENV.contains(&name.as_str()) {
            errors.push(unknown_setting(&format!("{name} (environment)"), name, &names));
        }
    }
    given
}

fn from_flags(flags: &[(&'static str, String)], errors: &mut Vec<ValidationError>) -> Vec<RawValue> {
    let names: Vec<String> = SETTINGS.iter().filter_map(|setting| setting.flag.map(str::to_owned)).collect();
    let mut given = Vec::new();
    for (name, text) in flags {
        match SETTINGS.iter().position(|setting| setting.flag == Some(name)) {
            Some(row) => given.push(RawValue { setting_index: row, text: text.clone(), source: Source::Flag(name) }),
            None => errors.push(unknown_setting(&format!("--{name} (flag)"), name, &names)),
        }
    }
    given
}

fn known_keys() -> Vec<String> {
    SETTINGS.iter().map(|setting| setting.key.to_owned()).collect()
}

fn unknown_setting(given: &str, name: &str, known: &[String]) -> ValidationError {
    let distances = known.iter().map(|known| (edit_distance(name, known), known));
    let nearest = distances.min().filter(|(edits, _)| *edits <= EDIT_DISTANCE_MAX);
    let expected = match nearest.map(|(_, known)| known) {
        Some(nearest) => format!("the name of a setting: is {nearest} meant? `gauntlet config` lists all"),
        None => "the name of a setting: `gauntlet config` lists all".to_owned(),
    };
    ValidationError { given: format!("{given} is not a setting"), expected }
}

/// Characters to insert, delete or replace to turn one text into the other (Levenshtein's distance).
fn edit_distance(from: &str, to: &str) -> usize {
    let mut row: Vec<usize> = (0..=to.chars().count()).collect();
    for (i, a) in from.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, b) in to.chars().enumerate() {
            let replaced = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row.last().copied().unwrap_or(0)
}

pub(super) fn setting_index(key: &str) -> usize {
    SETTINGS
        .iter()
        .position(|setting| setting.key == key)
        .expect("every key named in code is in the table, as a test shows")
}
