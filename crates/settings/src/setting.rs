//! Settings and their slots: the typed fields of a [`super::Config`], and how each is parsed from text, described, and rendered.
//!
//! A slot's type decides which texts it accepts, so that a row of the table cannot promise one thing and parse another.

use super::Config;
use super::networks::Networks;
use super::secret::Secret;
use rules::world::Cell;
use std::fmt::Display;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

/// One setting.
pub struct Setting {
    /// Its name in a file and in listings: `section.key`.
    pub key: &'static str,
    /// Its flag, without the dashes; `None` for secrets, which must not appear in a process list.
    pub flag: Option<&'static str>,
    /// Its environment variable, where that is not `GAUNTLET_SECTION_KEY`.
    pub(super) env: Option<&'static str>,
    /// What a number counts.
    pub unit: &'static str,
    /// The numbers, lengths or seconds that are accepted.
    pub range: RangeInclusive<u64>,
    /// The default, as text.
    pub default: &'static str,
    /// What `auto` means, where it is accepted.
    pub auto: Option<&'static str>,
    /// What it decides, in a sentence.
    pub help: &'static str,
    /// The field in the configuration.
    pub(super) slot: fn(&mut Config) -> Slot<'_>,
}

/// The text that requests a derived value.
pub(super) const AUTO: &str = "auto";

impl Setting {
    #[must_use]
    pub fn env(&self) -> String {
        self.env.map_or_else(|| format!("GAUNTLET_{}", self.key.replace('.', "_").to_uppercase()), str::to_owned)
    }

    /// The texts that it accepts, in words.
    #[must_use]
    pub fn expects(&self) -> String {
        let expects = (self.slot)(&mut Config::blank()).expects(self);
        self.auto.map_or_else(|| expects.clone(), |auto| format!("{expects}, or auto: {auto}"))
    }

    /// Whether its flag takes no value and means `true`.
    #[must_use]
    pub fn is_switch(&self) -> bool {
        (self.slot)(&mut Config::blank()).is_switch()
    }

    /// Whether its value must be masked.
    #[must_use]
    pub fn is_secret(&self) -> bool {
        (self.slot)(&mut Config::blank()).is_secret()
    }
}

/// The format of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line, for programs.
    Json,
}

/// The least severe log lines that are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogLevel {
    /// An operator must act.
    Error,
    /// An operator should look.
    Warn,
    /// Starts, stops and decisions.
    Info,
    /// Every request and every match.
    Debug,
    Trace,
}

/// Which services run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServeMode {
    /// Games and everything else.
    All,
    /// The rate limiter alone: no games are created or played.
    Limiter,
}

const SERVE_MODES: [(&str, ServeMode); 2] = [("all", ServeMode::All), ("limiter", ServeMode::Limiter)];
const FORMATS: [(&str, LogFormat); 2] = [("text", LogFormat::Text), ("json", LogFormat::Json)];
const LEVELS: [(&str, LogLevel); 5] = [
    ("error", LogLevel::Error),
    ("warn", LogLevel::Warn),
    ("info", LogLevel::Info),
    ("debug", LogLevel::Debug),
    ("trace", LogLevel::Trace),
];
const SPAN_UNITS: [(char, u64); 4] = [('d', 86_400), ('h', 3_600), ('m', 60), ('s', 1)];
/// The text that leaves an optional value unset.
const OFF: &str = "off";

/// A field of a configuration, by its type.
pub(super) enum Slot<'a> {
    /// The IP address of a socket address.
    Ip(&'a mut SocketAddr),
    /// The port of a socket address.
    Port(&'a mut SocketAddr),
    /// A host and a port to advertise, or none.
    Advertise(&'a mut Option<String>),
    /// Another port at the same address, or none.
    PortOrOff(&'a mut Option<u16>),
    /// A number.
    Size(&'a mut usize),
    /// A smaller number.
    Count(&'a mut u32),
    /// A time, written in milliseconds.
    Millis(&'a mut Duration),
    /// Yes or no.
    Switch(&'a mut bool),
    /// A file.
    Path(&'a mut PathBuf),
    /// A file, or none.
    PathOrOff(&'a mut Option<PathBuf>),
    /// A database URL, or none.
    Url(&'a mut Option<Secret>),
    /// A secret, or none.
    Secret(&'a mut Option<Secret>),
    /// A longer time with its unit, or none.
    Span(&'a mut Option<Duration>),
    /// A number, or none.
    Amount(&'a mut Option<u64>),
    /// A time, written in milliseconds, or none.
    MillisOrOff(&'a mut Option<Duration>),
    /// A cell of a grid, or none.
    CellOrOff(&'a mut Option<Cell>),
    /// Networks, or none.
    Networks(&'a mut Networks),
    /// See [`ServeMode`].
    ServeMode(&'a mut ServeMode),
    /// See [`LogFormat`].
    Format(&'a mut LogFormat),
    /// See [`LogLevel`].
    Level(&'a mut LogLevel),
}

impl Slot<'_> {
    /// Parses a text into the slot; `None`, with nothing changed, when the text is not what the setting expects.
    pub(super) fn parse(self, text: &str, setting: &Setting) -> Option<()> {
        let number = || text.parse().ok().filter(|number| setting.range.contains(number));
        match self {
            Self::Ip(field) => field.set_ip(text.parse::<IpAddr>().ok()?),
            Self::Port(field) => field.set_port(u16::try_from(number()?).ok()?),
            Self::Advertise(field) => *field = Some(host_and_port(text, setting)?),
            Self::PortOrOff(field) => *field = parse_unless_off(text, |_| u16::try_from(number()?).ok())?,
            Self::Size(field) => *field = usize::try_from(number()?).ok()?,
            Self::Count(field) => *field = u32::try_from(number()?).ok()?,
            Self::Millis(field) => *field = Duration::from_millis(number()?),
            Self::Switch(field) => *field = text.parse().ok()?,
            Self::Path(field) => *field = Some(text).filter(|text| !text.is_empty())?.into(),
            Self::PathOrOff(field) => *field = parse_unless_off(text, |text| (!text.is_empty()).then(|| text.into()))?,
            Self::Url(field) => *field = parse_unless_off(text, |text| is_url(text).then(|| Secret::new(text)))?,
            Self::Secret(field) => *field = parse_unless_off(text, |text| secret(text, setting))?,
            Self::Span(field) => *field = parse_unless_off(text, |text| span(text, setting))?,
            Self::Amount(field) => *field = parse_unless_off(text, |_| number())?,
            Self::MillisOrOff(field) => *field = parse_unless_off(text, |_| number().map(Duration::from_millis))?,
            Self::CellOrOff(field) => *field = parse_unless_off(text, |text| cell(text, setting))?,
            Self::Networks(field) => *field = parse_unless_off(text, Networks::parse)?.unwrap_or_default(),
            Self::ServeMode(field) => *field = choice(&SERVE_MODES, text)?,
            Self::Format(field) => *field = choice(&FORMATS, text)?,
            Self::Level(field) => *field = choice(&LEVELS, text)?,
        }
        Some(())
    }

    /// What [`Slot::parse`] accepts, for error messages.
    pub(super) fn expects(&self, setting: &Setting) -> String {
        let (min, max, unit) = (setting.range.start(), setting.range.end(), setting.unit);
        match self {
            Self::Ip(_) => "an IP address, such as 127.0.0.1, or 0.0.0.0 for every interface".into(),
            Self::Port(_) | Self::Size(_) | Self::Count(_) | Self::Millis(_) => {
                format!("a whole number from {min} to {max} ({unit})")
            }
            Self::Advertise(_) => {
                "a name or an IP address and a port, such as node-1.example:4000 or [2001:db8::1]:4000, at which the other nodes \
                 reach this one (0.0.0.0 and [::] stand for every interface and cannot be reached)"
                    .into()
            }
            Self::PortOrOff(_) => format!("a whole number from {min} to {max} ({unit}), or off"),
            Self::Switch(_) => "true or false".into(),
            Self::Path(_) => "the path of a file".into(),
            Self::PathOrOff(_) => "the path of a file, or off".into(),
            Self::Url(_) => "a URL such as postgres://user:password@host:5432/database, or off".into(),
            Self::Secret(_) => format!("{min} to {max} printable ASCII characters without spaces, or off"),
            Self::Span(_) => format!("a span from {min}s to {max}s, such as 30d, 12h, 90m or 45s, or off"),
            Self::Amount(_) | Self::MillisOrOff(_) => format!("a whole number from {min} to {max} ({unit}), or off"),
            Self::CellOrOff(_) => {
                format!("a column and a row ({unit}), each from {min} to {max}, such as 500,500, or off")
            }
            Self::Networks(_) => {
                "networks and addresses separated by commas, such as 10.0.0.0/8, 192.0.2.7, or off".into()
            }
            Self::ServeMode(_) => names(&SERVE_MODES),
            Self::Format(_) => names(&FORMATS),
            Self::Level(_) => names(&LEVELS),
        }
    }

    /// The value as in a configuration file, with secrets masked.
    pub(super) fn render(self) -> String {
        match self {
            Self::Ip(field) => field.ip().to_string(),
            Self::Port(field) => field.port().to_string(),
            Self::Advertise(field) => field.clone().unwrap_or_else(|| AUTO.to_owned()),
            Self::PortOrOff(field) => or_off(*field),
            Self::Size(field) => field.to_string(),
            Self::Count(field) => field.to_string(),
            Self::Millis(field) => field.as_millis().to_string(),
            Self::Switch(field) => field.to_string(),
            Self::Path(field) => field.display().to_string(),
            Self::PathOrOff(field) => or_off(field.as_ref().map(|path| path.display())),
            Self::Url(field) => or_off(field.as_ref().map(Secret::masked_url)),
            Self::Secret(field) => or_off(field.as_ref()),
            Self::Span(field) => or_off(field.map(render_span)),
            Self::Amount(field) => or_off(*field),
            Self::MillisOrOff(field) => or_off(field.map(|time| time.as_millis())),
            Self::CellOrOff(field) => or_off(field.map(|cell| format!("{},{}", cell.x, cell.y))),
            Self::Networks(field) => or_off(Some(field).filter(|networks| !networks.is_empty())),
            Self::ServeMode(field) => name_of(&SERVE_MODES, *field).into(),
            Self::Format(field) => name_of(&FORMATS, *field).into(),
            Self::Level(field) => name_of(&LEVELS, *field).into(),
        }
    }

    /// Whether an error message must not repeat the value.
    pub(super) fn is_secret(&self) -> bool {
        matches!(self, Self::Secret(_) | Self::Url(_))
    }

    /// Whether a flag of this setting takes no value and means `true`.
    pub(super) fn is_switch(&self) -> bool {
        matches!(self, Self::Switch(_))
    }
}

impl LogLevel {
    /// The name in log filters.
    #[must_use]
    pub fn name(self) -> &'static str {
        name_of(&LEVELS, self)
    }
}

/// `Some(None)` for "off", `Some(Some(value))` for a value, `None` for neither.
fn parse_unless_off<T>(text: &str, read: impl FnOnce(&str) -> Option<T>) -> Option<Option<T>> {
    if text == OFF { Some(None) } else { read(text).map(Some) }
}

fn or_off(value: Option<impl Display>) -> String {
    value.map_or_else(|| OFF.to_owned(), |value| value.to_string())
}

fn is_url(text: &str) -> bool {
    let rest = text.strip_prefix("postgres://").or_else(|| text.strip_prefix("postgresql://"));
    rest.is_some_and(|rest| !rest.is_empty() && !rest.contains(char::is_whitespace))
}

fn secret(text: &str, setting: &Setting) -> Option<Secret> {
    let is_fit = setting.range.contains(&(text.len() as u64)) && text.bytes().all(|byte| byte.is_ascii_graphic());
    is_fit.then(|| Secret::new(text))
}

/// A host to which other nodes can connect, and a port. An IPv6 address is in brackets.
fn host_and_port(text: &str, setting: &Setting) -> Option<String> {
    let (host, port) = text.rsplit_once(':')?;
    let is_host = match host.strip_prefix('[') {
        Some(rest) => rest.strip_suffix(']')?.parse().is_ok_and(|ip: Ipv6Addr| !ip.to_canonical().is_unspecified()),
        None => is_name_or_ipv4(host),
    };
    let is_port = port.parse::<u16>().is_ok_and(|port| setting.range.contains(&port.into()));
    (is_host && is_port).then(|| text.to_owned())
}

/// Whether this is the name of a host or a whole IPv4 address. Resolvers also parse shorter numbers as addresses: "0" is 0.0.0.0.
fn is_name_or_ipv4(host: &str) -> bool {
    const HOST_BYTES_MAX: usize = 253;
    if !host.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_')) {
        return false;
    }
    let is_number = host.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    match host.parse::<Ipv4Addr>() {
        Ok(ip) => !ip.is_unspecified(),
        Err(_) => !is_number && host.len() <= HOST_BYTES_MAX,
    }
}

/// A column and a row with a comma between them.
fn cell(text: &str, setting: &Setting) -> Option<Cell> {
    let (x, y) = text.split_once(',')?;
    let coordinate =
        |text: &str| text.trim().parse().ok().filter(|field: &u16| setting.range.contains(&u64::from(*field)));
    Some(Cell { x: coordinate(x)?, y: coordinate(y)? })
}

fn span(text: &str, setting: &Setting) -> Option<Duration> {
    let unit = text.chars().next_back()?;
    let (_, unit_s) = SPAN_UNITS.into_iter().find(|(name, _)| *name == unit)?;
    let amount: u64 = text.strip_suffix(unit)?.parse().ok()?;
    let seconds = amount.checked_mul(unit_s)?;
    setting.range.contains(&seconds).then(|| Duration::from_secs(seconds))
}

fn render_span(span: Duration) -> String {
    let seconds = span.as_secs();
    let (unit, unit_s) = SPAN_UNITS.into_iter().find(|(_, unit_s)| seconds.is_multiple_of(*unit_s)).unwrap_or(('s', 1));
    format!("{}{unit}", seconds / unit_s)
}

fn choice<T: Copy>(choices: &[(&str, T)], text: &str) -> Option<T> {
    choices.iter().find(|(name, _)| *name == text).map(|(_, value)| *value)
}

fn name_of<T: Copy + PartialEq>(choices: &[(&'static str, T)], value: T) -> &'static str {
    choices.iter().find(|(_, choice)| *choice == value).map_or("", |(name, _)| name)
}

fn names<T>(choices: &[(&str, T)]) -> String {
    format!("one of {}", choices.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", "))
}
