//! Loading: merges the layers, parses every value, and collects every error before one is returned.
//!
//! Pure: the caller reads the file, the environment and the flags.

use super::error::{ConfigError, ValidationError};
use super::source::{Source, Sources};
use super::table::{Config, SETTINGS, Setting};
use super::value::AUTO;
use std::path::Path;

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

/// One setting and its value, with secret parts masked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name, `section.key`.
    pub key: &'static str,
    /// Its value as a configuration file would have it; `off` where nothing is set.
    pub value: String,
    /// Where it came from.
    pub source: String,
}

impl Config {
    /// The configuration from these sources.
    ///
    /// # Errors
    /// All errors at once, each with what was given, where, and what is expected.
    pub fn load(sources: &Sources) -> Result<Self, ConfigError> {
        let mut errors = Vec::new();
        let defaults = SETTINGS.iter().enumerate().map(|(row, setting)| default_value(row, setting));
        let mut given: Vec<RawValue> = defaults.collect();
        if let Some((path, text)) = &sources.file {
            given.extend(from_file(path, text, &mut errors));
        }
        given.extend(from_env(&sources.env, &mut errors));
        given.extend(from_flags(&sources.flags, &mut errors));

        let (mut config, is_auto) = apply_layers(&given, &mut errors);
        choose_store(&mut config, &mut errors);
        for (setting, _) in SETTINGS.iter().zip(is_auto).filter(|(_, is_auto)| *is_auto) {
            setting.auto.iter().for_each(|auto| (auto.derive)(&mut config, sources.machine));
        }
        if errors.is_empty() {
            config.check(&mut errors);
        }
        if errors.is_empty() { Ok(config) } else { Err(ConfigError(errors)) }
    }

    /// Every setting in the order of the table, for people: secrets are masked.
    #[must_use]
    pub fn entries(&self) -> Vec<Entry> {
        let rows = SETTINGS.iter().zip(&self.sources);
        rows.map(|(setting, source)| Entry {
            key: setting.key,
            value: setting.render(self),
            source: source.to_string(),
        })
        .collect()
    }
}

impl Default for Config {
    /// The table's defaults on a modest machine, without file, environment and flags.
    fn default() -> Self {
        Self::load(&Sources::default()).expect("the table's defaults are valid, as a test shows")
    }
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
        if !is_auto[*row] && setting.parse(&mut config, text).is_none() {
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
        toml::Value::Float(number) => number.to_string(),
        toml::Value::Boolean(is_so) => is_so.to_string(),
        toml::Value::Datetime(_) | toml::Value::Array(_) | toml::Value::Table(_) => {
            let given = format!("{key} is of the type {} ({source})", value.type_str());
            errors.push(ValidationError { given, expected: SETTINGS[row].expects() });
            return None;
        }
    };
    Some(RawValue { setting_index: row, text, source })
}

fn from_env(env: &[(String, String)], errors: &mut Vec<ValidationError>) -> Vec<RawValue> {
    let names: Vec<String> = SETTINGS.iter().map(Setting::env).collect();
    let mut given = from_standard_env(env);
    for (name, text) in env.iter().filter(|(name, _)| name.starts_with(ENV_PREFIX)) {
        if let Some(row) = names.iter().position(|known| known == name) {
            given.push(RawValue { setting_index: row, text: text.clone(), source: Source::Env(name.clone()) });
        } else if !OTHER_ENV.contains(&name.as_str()) {
            errors.push(unknown_setting(&format!("{name} (environment)"), name, &names));
        }
    }
    given
}

/// Variables of a standard go behind the settings' own. An empty one is as if it were not set, as their standard says.
fn from_standard_env(env: &[(String, String)]) -> Vec<RawValue> {
    let given = env.iter().filter(|(_, text)| !text.is_empty()).filter_map(|(name, text)| {
        let row = SETTINGS.iter().position(|setting| setting.standard_env() == Some(name.as_str()))?;
        Some(RawValue { setting_index: row, text: text.clone(), source: Source::Env(name.clone()) })
    });
    given.collect()
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
    let distances = known.iter().map(|known| (strsim::levenshtein(name, known), known));
    let nearest = distances.min().filter(|(edits, _)| *edits <= EDIT_DISTANCE_MAX);
    let expected = match nearest.map(|(_, known)| known) {
        Some(nearest) => format!("the name of a setting: is {nearest} meant? `gauntlet config` lists all"),
        None => "the name of a setting: `gauntlet config` lists all".to_owned(),
    };
    ValidationError { given: format!("{given} is not a setting"), expected }
}

fn setting_index(key: &str) -> usize {
    SETTINGS
        .iter()
        .position(|setting| setting.key == key)
        .expect("every key named in code is in the table, as a test shows")
}
