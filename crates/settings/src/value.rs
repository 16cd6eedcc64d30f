//! The types of settings: which texts each accepts, and how its values are shown. So a row of the table cannot promise one thing and parse
//! another.

use rules::world::Cell;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

/// What a setting accepts of the values of its type.
pub(crate) struct Bounds {
    /// What a number counts; empty for texts, and for times that are written with their unit.
    pub(crate) unit: &'static str,
    /// The numbers, lengths or seconds that are accepted.
    pub(crate) range: RangeInclusive<u64>,
}

impl Bounds {
    fn number(&self, text: &str) -> Option<u64> {
        text.parse().ok().filter(|number| self.range.contains(number))
    }

    fn expects_number(&self) -> String {
        format!("a whole number from {} to {} ({})", self.range.start(), self.range.end(), self.unit)
    }
}

/// A type of settings.
pub(crate) trait Value: Sized {
    /// Whether a flag of this type takes no value and means `true`.
    const IS_SWITCH: bool = false;
    /// Whether an error message must not repeat the value.
    const IS_SECRET: bool = false;

    /// The value of a text; `None` when the text is not what the setting expects.
    fn parse(text: &str, bounds: &Bounds) -> Option<Self>;

    /// What [`Value::parse`] accepts, for error messages.
    fn expects(bounds: &Bounds) -> String;

    /// The value as in a configuration file, with secrets masked.
    fn render(&self, bounds: &Bounds) -> String;
}

/// The unit of times that are written as a number of milliseconds; others are written with their unit.
pub(crate) const MILLISECONDS: &str = "milliseconds";
const TIME_UNITS: [(char, u64); 4] = [('d', 86_400), ('h', 3_600), ('m', 60), ('s', 1)];
/// The text that requests a derived value.
pub(crate) const AUTO: &str = "auto";
/// The text that leaves an optional value unset.
pub(crate) const OFF: &str = "off";

macro_rules! numbers {
    ($($type:ty),+) => {$(
        impl Value for $type {
            fn parse(text: &str, bounds: &Bounds) -> Option<Self> {
                Self::try_from(bounds.number(text)?).ok()
            }

            fn expects(bounds: &Bounds) -> String {
                bounds.expects_number()
            }

            fn render(&self, _: &Bounds) -> String {
                self.to_string()
            }
        }
    )+};
}
numbers!(u16, u32, u64, usize);

impl<T: Value> Value for Option<T> {
    const IS_SECRET: bool = T::IS_SECRET;

    fn parse(text: &str, bounds: &Bounds) -> Option<Self> {
        if text == OFF { Some(None) } else { T::parse(text, bounds).map(Some) }
    }

    fn expects(bounds: &Bounds) -> String {
        format!("{}, or off", T::expects(bounds))
    }

    fn render(&self, bounds: &Bounds) -> String {
        self.as_ref().map_or_else(|| OFF.to_owned(), |value| value.render(bounds))
    }
}

/// How long something that has ended is kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum KeepFor {
    /// As long as the store says, which is not open yet.
    #[default]
    ByStore,
    /// Until an operator sets a period.
    Unlimited,
    Period(Duration),
}

impl KeepFor {
    /// The period; `None` where nothing is deleted.
    #[must_use]
    pub fn period(self) -> Option<Duration> {
        match self {
            Self::Period(period) => Some(period),
            Self::ByStore | Self::Unlimited => None,
        }
    }

    /// What holds in a store that was made with finite periods, or without.
    pub(crate) fn resolve(&mut self, has_periods: bool, period: Duration) {
        if *self == Self::ByStore {
            *self = if has_periods { Self::Period(period) } else { Self::Unlimited };
        }
    }
}

impl Value for KeepFor {
    fn parse(text: &str, bounds: &Bounds) -> Option<Self> {
        if text == OFF { Some(Self::Unlimited) } else { Duration::parse(text, bounds).map(Self::Period) }
    }

    fn expects(bounds: &Bounds) -> String {
        Option::<Duration>::expects(bounds)
    }

    fn render(&self, bounds: &Bounds) -> String {
        match self {
            Self::ByStore => AUTO.to_owned(),
            Self::Unlimited => OFF.to_owned(),
            Self::Period(period) => period.render(bounds),
        }
    }
}

impl Value for bool {
    const IS_SWITCH: bool = true;

    fn parse(text: &str, _: &Bounds) -> Option<Self> {
        text.parse().ok()
    }

    fn expects(_: &Bounds) -> String {
        "true or false".into()
    }

    fn render(&self, _: &Bounds) -> String {
        self.to_string()
    }
}

impl Value for PathBuf {
    fn parse(text: &str, _: &Bounds) -> Option<Self> {
        (!text.is_empty()).then(|| text.into())
    }

    fn expects(_: &Bounds) -> String {
        "the path of a file".into()
    }

    fn render(&self, _: &Bounds) -> String {
        self.display().to_string()
    }
}

impl Value for Duration {
    fn parse(text: &str, bounds: &Bounds) -> Option<Self> {
        if bounds.unit == MILLISECONDS {
            return bounds.number(text).map(Self::from_millis);
        }
        let unit = text.chars().next_back()?;
        let (_, unit_s) = TIME_UNITS.into_iter().find(|(name, _)| *name == unit)?;
        let amount: u64 = text.strip_suffix(unit)?.parse().ok()?;
        amount.checked_mul(unit_s).filter(|seconds| bounds.range.contains(seconds)).map(Self::from_secs)
    }

    fn expects(bounds: &Bounds) -> String {
        if bounds.unit == MILLISECONDS {
            return bounds.expects_number();
        }
        let (min, max) = (bounds.range.start(), bounds.range.end());
        format!("a span from {min}s to {max}s, such as 30d, 12h, 90m or 45s")
    }

    fn render(&self, bounds: &Bounds) -> String {
        if bounds.unit == MILLISECONDS {
            return self.as_millis().to_string();
        }
        let seconds = self.as_secs();
        let unit = TIME_UNITS.into_iter().find(|(_, unit_s)| seconds.is_multiple_of(*unit_s));
        let (unit, unit_s) = unit.unwrap_or(('s', 1));
        format!("{}{unit}", seconds / unit_s)
    }
}

/// A column and a row with a comma between them.
impl Value for Cell {
    fn parse(text: &str, bounds: &Bounds) -> Option<Self> {
        let (x, y) = text.split_once(',')?;
        let coordinate = |text: &str| u16::parse(text.trim(), bounds);
        Some(Self { x: coordinate(x)?, y: coordinate(y)? })
    }

    fn expects(bounds: &Bounds) -> String {
        let (min, max, unit) = (bounds.range.start(), bounds.range.end(), bounds.unit);
        format!("a column and a row ({unit}), each from {min} to {max}, such as 500,500")
    }

    fn render(&self, _: &Bounds) -> String {
        format!("{},{}", self.x, self.y)
    }
}

/// The address of a network interface: loopback, unless another one is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interface(pub IpAddr);

impl Default for Interface {
    fn default() -> Self {
        Self(Ipv4Addr::LOCALHOST.into())
    }
}

impl Value for Interface {
    fn parse(text: &str, _: &Bounds) -> Option<Self> {
        text.parse().ok().map(Self)
    }

    fn expects(_: &Bounds) -> String {
        "an IP address, such as 127.0.0.1, or 0.0.0.0 for every interface".into()
    }

    fn render(&self, _: &Bounds) -> String {
        self.0.to_string()
    }
}

/// A host to which other nodes can connect, and a port; an IPv6 address is in brackets. `None` where it follows from other settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Advertise(pub Option<String>);

impl Value for Advertise {
    fn parse(text: &str, bounds: &Bounds) -> Option<Self> {
        let (host, port) = text.rsplit_once(':')?;
        let is_host = match host.strip_prefix('[') {
            Some(rest) => rest.strip_suffix(']')?.parse().is_ok_and(|ip: Ipv6Addr| !ip.to_canonical().is_unspecified()),
            None => is_name_or_ipv4(host),
        };
        (is_host && u16::parse(port, bounds).is_some()).then(|| Self(Some(text.to_owned())))
    }

    fn expects(_: &Bounds) -> String {
        "a name or an IP address and a port, such as node-1.example:4000 or [2001:db8::1]:4000, at which the other nodes \
         reach this one (0.0.0.0 and [::] stand for every interface and cannot be reached)"
            .into()
    }

    fn render(&self, _: &Bounds) -> String {
        self.0.clone().unwrap_or_else(|| "auto".to_owned())
    }
}

/// Addresses of services: `http://` or `https://`, a host, and a port if that is not the usual one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Targets(pub Vec<String>);

impl Targets {
    const MAX: usize = 32;

    fn is_target(text: &str) -> bool {
        let Some(authority) = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://")) else {
            return false;
        };
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !host.is_empty() && !port.contains(']') => (host, Some(port)),
            _ => (authority, None),
        };
        let is_host = match host.strip_prefix('[') {
            Some(rest) => rest.strip_suffix(']').is_some_and(|ip| ip.parse::<Ipv6Addr>().is_ok()),
            None => !host.is_empty() && is_name_or_ipv4(host),
        };
        is_host && port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0))
    }
}

impl Value for Targets {
    fn parse(text: &str, _: &Bounds) -> Option<Self> {
        if text == OFF {
            return Some(Self::default());
        }
        let targets: Vec<&str> = text.split(',').map(str::trim).collect();
        let is_good = targets.len() <= Self::MAX && targets.iter().all(|target| Self::is_target(target));
        is_good.then(|| Self(targets.into_iter().map(str::to_owned).collect()))
    }

    fn expects(_: &Bounds) -> String {
        format!(
            "at most {} addresses separated by commas, such as http://127.0.0.1:4001, https://staging.example, or off",
            Self::MAX
        )
    }

    fn render(&self, _: &Bounds) -> String {
        if self.0.is_empty() { OFF.to_owned() } else { self.0.join(", ") }
    }
}

/// Whether this is the name of a host or a whole IPv4 address. Resolvers also parse shorter numbers as addresses: "0" is 0.0.0.0.
pub(crate) fn is_name_or_ipv4(host: &str) -> bool {
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

/// A value that is one of a few, each with its name.
pub(crate) trait Choice: Copy + PartialEq + 'static {
    const ALL: &'static [(&'static str, Self)];

    fn name_of(self) -> &'static str {
        Self::ALL.iter().find(|(_, choice)| *choice == self).map_or("", |(name, _)| name)
    }
}

impl<T: Choice> Value for T {
    fn parse(text: &str, _: &Bounds) -> Option<Self> {
        Self::ALL.iter().find(|(name, _)| *name == text).map(|(_, value)| *value)
    }

    fn expects(_: &Bounds) -> String {
        format!("one of {}", Self::ALL.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", "))
    }

    fn render(&self, _: &Bounds) -> String {
        self.name_of().to_owned()
    }
}

/// Which services run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ServeMode {
    /// Games and everything else.
    #[default]
    All,
    /// The rate limiter alone: no games are created or played.
    Limiter,
}

impl Choice for ServeMode {
    const ALL: &'static [(&'static str, Self)] = &[("all", Self::All), ("limiter", Self::Limiter)];
}

/// The format of log lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line, for programs.
    Json,
}

impl Choice for LogFormat {
    const ALL: &'static [(&'static str, Self)] = &[("text", Self::Text), ("json", Self::Json)];
}

/// The least severe log lines that are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogLevel {
    /// An operator must act.
    Error,
    /// An operator should look.
    Warn,
    /// Starts, stops and decisions.
    #[default]
    Info,
    /// Every request and every match.
    Debug,
    Trace,
}

impl Choice for LogLevel {
    const ALL: &'static [(&'static str, Self)] = &[
        ("error", Self::Error),
        ("warn", Self::Warn),
        ("info", Self::Info),
        ("debug", Self::Debug),
        ("trace", Self::Trace),
    ];
}

impl LogLevel {
    /// The name in log filters.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.name_of()
    }
}
