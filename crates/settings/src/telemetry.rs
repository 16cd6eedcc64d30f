//! The types of settings about telemetry: where collectors are, what is said about this process, what is sampled.

use crate::secret::Secret;
use crate::value::{Bounds, Choice, OFF, Value, is_name_or_ipv4};
use std::net::Ipv6Addr;

/// Headers, attributes: at most so many, each name and value at most so long.
const PAIRS_MAX: usize = 64;
const PAIR_BYTES_MAX: usize = 1_024;

/// The base URL of a collector: `http://` or `https://`, a host, perhaps a port and a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectorUrl {
    pub is_tls: bool,
    /// Host and port as in a header.
    pub authority: String,
    /// Without a slash at its end.
    pub path: String,
}

impl Value for CollectorUrl {
    /// One that is refused may have a password or a key in it.
    const IS_SECRET: bool = true;

    fn parse(text: &str, _: &Bounds) -> Option<Self> {
        let (scheme, rest) = text.split_once("://")?;
        let is_tls = match scheme {
            "http" => false,
            "https" => true,
            _ => return None,
        };
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let is_path_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~%".contains(&byte);
        let is_good = is_authority(authority) && path.bytes().all(is_path_byte);
        let path = path.trim_end_matches('/').to_owned();
        is_good.then(|| Self { is_tls, authority: authority.to_owned(), path })
    }

    fn expects(_: &Bounds) -> String {
        "the address of a collector that takes OTLP over HTTP, such as http://127.0.0.1:4318 or https://otlp.example/prefix; keys belong into \
         telemetry.otlp_headers"
            .into()
    }

    fn render(&self, _: &Bounds) -> String {
        format!("{}://{}{}", if self.is_tls { "https" } else { "http" }, self.authority, self.path)
    }
}

/// A host with a port behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPort(pub String);

impl Value for HostPort {
    fn parse(text: &str, _: &Bounds) -> Option<Self> {
        let has_port = port_of(text).is_some();
        (has_port && is_authority(text)).then(|| Self(text.to_owned()))
    }

    fn expects(_: &Bounds) -> String {
        "a name or an IP address and a port, such as 127.0.0.1:8125 or [2001:db8::1]:8125".into()
    }

    fn render(&self, _: &Bounds) -> String {
        self.0.clone()
    }
}

fn port_of(authority: &str) -> Option<&str> {
    authority.rsplit_once(':').map(|(_, port)| port).filter(|port| !port.contains(']'))
}

fn is_authority(text: &str) -> bool {
    let port = port_of(text);
    let host = port.map_or(text, |port| &text[..text.len() - port.len() - 1]);
    let is_host = match host.strip_prefix('[') {
        Some(rest) => rest.strip_suffix(']').is_some_and(|ip| ip.parse::<Ipv6Addr>().is_ok()),
        None => !host.is_empty() && is_name_or_ipv4(host),
    };
    is_host && port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0))
}

/// Pairs as W3C Baggage and the environment variables of OpenTelemetry have them: `key=value,key=value`, with values percent-encoded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyValues(pub Vec<(String, String)>);

impl KeyValues {
    fn parse_pairs(text: &str, is_key: impl Fn(u8) -> bool, is_value: impl Fn(char) -> bool) -> Option<Self> {
        let pairs = text.split(',').map(|pair| {
            let (key, value) = pair.split_once('=')?;
            let (key, value) = (key.trim().to_owned(), percent_decoded(value.trim())?);
            let is_good = !key.is_empty() && key.bytes().all(&is_key) && value.chars().all(&is_value);
            (is_good && key.len().max(value.len()) <= PAIR_BYTES_MAX).then_some((key, value))
        });
        pairs.collect::<Option<Vec<_>>>().filter(|pairs| pairs.len() <= PAIRS_MAX).map(Self)
    }
}

impl Value for KeyValues {
    fn parse(text: &str, _: &Bounds) -> Option<Self> {
        if text == OFF {
            return Some(Self::default());
        }
        Self::parse_pairs(text, |byte| byte.is_ascii_graphic(), |c| !c.is_control())
    }

    fn expects(_: &Bounds) -> String {
        format!(
            "at most {PAIRS_MAX} attributes, such as deployment.environment.name=staging,team=games, values percent-encoded; or off"
        )
    }

    fn render(&self, _: &Bounds) -> String {
        if self.0.is_empty() {
            return OFF.to_owned();
        }
        let encoded =
            |value: &str| value.replace('%', "%25").replace(',', "%2C").replace('=', "%3D").replace(' ', "%20");
        self.0.iter().map(|(key, value)| format!("{key}={}", encoded(value))).collect::<Vec<_>>().join(",")
    }
}

fn percent_decoded(text: &str) -> Option<String> {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((first, behind)) = rest.split_first() {
        let (byte, behind) = match (first, behind) {
            (b'%', [high, low, behind @ ..]) => {
                let digit = |digit: &u8| char::from(*digit).to_digit(16);
                (u8::try_from(digit(high)? << 4 | digit(low)?).ok()?, behind)
            }
            (b'%', _) => return None,
            (byte, behind) => (*byte, behind),
        };
        bytes.push(byte);
        rest = behind;
    }
    String::from_utf8(bytes).ok()
}

/// Names and values of headers, of which the values are not shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretHeaders(Vec<(String, Secret)>);

impl SecretHeaders {
    /// The headers themselves. The caller must not print them.
    pub fn expose(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.expose()))
    }
}

impl Value for SecretHeaders {
    const IS_SECRET: bool = true;

    fn parse(text: &str, _: &Bounds) -> Option<Self> {
        // Names are tokens (RFC 9110, section 5.6.2).
        let is_key = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        let KeyValues(pairs) = KeyValues::parse_pairs(text, is_key, |c| c == ' ' || c.is_ascii_graphic())?;
        Some(Self(pairs.into_iter().map(|(name, value)| (name, Secret::new(value))).collect()))
    }

    fn expects(_: &Bounds) -> String {
        format!("at most {PAIRS_MAX} headers, such as api-key=...,x-tenant=games, values percent-encoded")
    }

    fn render(&self, _: &Bounds) -> String {
        self.0.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(",")
    }
}

/// The name of a service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServiceName(pub String);

impl Value for ServiceName {
    fn parse(text: &str, _: &Bounds) -> Option<Self> {
        let is_good = (1..=128).contains(&text.len()) && !text.chars().any(char::is_control);
        is_good.then(|| Self(text.to_owned()))
    }

    fn expects(_: &Bounds) -> String {
        "1 to 128 bytes of printable text".into()
    }

    fn render(&self, _: &Bounds) -> String {
        self.0.clone()
    }
}

/// A share, from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ratio(pub f64);

impl Value for Ratio {
    fn parse(text: &str, _: &Bounds) -> Option<Self> {
        text.parse().ok().filter(|ratio| (0.0..=1.0).contains(ratio)).map(Self)
    }

    fn expects(_: &Bounds) -> String {
        "a number from 0 to 1, such as 0.01".into()
    }

    fn render(&self, _: &Bounds) -> String {
        self.0.to_string()
    }
}

/// The samplers of OpenTelemetry, under their names there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TraceSampler {
    AlwaysOn,
    AlwaysOff,
    Ratio,
    ParentBasedAlwaysOn,
    ParentBasedAlwaysOff,
    #[default]
    ParentBasedRatio,
}

impl TraceSampler {
    /// The share of traces without a trusted caller that are recorded.
    #[must_use]
    pub fn ratio(self, ratio: Ratio) -> f64 {
        match self {
            Self::AlwaysOn | Self::ParentBasedAlwaysOn => 1.0,
            Self::AlwaysOff | Self::ParentBasedAlwaysOff => 0.0,
            Self::Ratio | Self::ParentBasedRatio => ratio.0,
        }
    }

    /// Whether the flag of a trusted caller decides.
    #[must_use]
    pub fn follows_callers(self) -> bool {
        matches!(self, Self::ParentBasedAlwaysOn | Self::ParentBasedAlwaysOff | Self::ParentBasedRatio)
    }
}

impl Choice for TraceSampler {
    const ALL: &'static [(&'static str, Self)] = &[
        ("always_on", Self::AlwaysOn),
        ("always_off", Self::AlwaysOff),
        ("traceidratio", Self::Ratio),
        ("parentbased_always_on", Self::ParentBasedAlwaysOn),
        ("parentbased_always_off", Self::ParentBasedAlwaysOff),
        ("parentbased_traceidratio", Self::ParentBasedRatio),
    ];
}

/// How StatsD gets labels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StatsdLabels {
    /// In the names of metrics.
    #[default]
    None,
    /// As tags of DogStatsD.
    Datadog,
}

impl Choice for StatsdLabels {
    const ALL: &'static [(&'static str, Self)] = &[("none", Self::None), ("datadog", Self::Datadog)];
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANY: Bounds = Bounds { unit: "", range: 0..=65_535 };

    /// Checks what is shown of the value of this text; `None`: it is refused.
    #[track_caller]
    fn check<V: Value>(text: &str, want: Option<&str>) {
        assert_eq!(V::parse(text, &ANY).map(|value| value.render(&ANY)).as_deref(), want, "{text}");
    }

    #[test]
    fn a_collector_is_a_url_without_secrets() {
        check::<CollectorUrl>("http://127.0.0.1:4318", Some("http://127.0.0.1:4318"));
        check::<CollectorUrl>("https://otlp.example/otlp/", Some("https://otlp.example/otlp"));
        check::<CollectorUrl>("http://[::1]:4318/", Some("http://[::1]:4318"));
        for bad in [
            "",
            "127.0.0.1:4318",
            "grpc://127.0.0.1:4317",
            "http://",
            "http://host:0",
            "http://host:port",
            "http://user:key@host",
            "http://host/v1?key=1",
            "http://host/a b",
            "http://host#x",
        ] {
            check::<CollectorUrl>(bad, None);
        }
    }

    #[test]
    fn an_address_of_statsd_has_a_port() {
        check::<HostPort>("127.0.0.1:8125", Some("127.0.0.1:8125"));
        check::<HostPort>("[::1]:8125", Some("[::1]:8125"));
        check::<HostPort>("statsd.example:8125", Some("statsd.example:8125"));
        for bad in ["", "127.0.0.1", "[::1]", "::1:8125", "host:0", "host:65536", "udp://host:8125"] {
            check::<HostPort>(bad, None);
        }
    }

    #[test]
    fn attributes_are_read_as_their_standard_writes_them() {
        check::<KeyValues>("off", Some("off"));
        check::<KeyValues>("a=b", Some("a=b"));
        check::<KeyValues>(" a = b , c=d%2Ce%20f", Some("a=b,c=d%2Ce%20f"));
        check::<KeyValues>("a=", Some("a="));
        for bad in ["", "a", "=b", "a=b,", "a=%2", "a=%zz", "a=%0a", "a=%ff", &format!("a={}", "b".repeat(1_025))] {
            check::<KeyValues>(bad, None);
        }
    }

    #[test]
    fn values_of_headers_are_not_shown() {
        check::<SecretHeaders>("api-key=hunter2,authorization=Bearer%20hunter2", Some("api-key=***,authorization=***"));
        let headers = SecretHeaders::parse("authorization=Bearer%20hunter2", &ANY).unwrap();
        assert!(!format!("{headers:?}").contains("hunter2"));
        assert_eq!(headers.expose().collect::<Vec<_>>(), [("authorization", "Bearer hunter2")]);
        for bad in ["a:b=c", "a b=c", "a=%0d%0ab: c", "a=\u{e9}"] {
            check::<SecretHeaders>(bad, None);
        }
    }

    #[test]
    fn a_ratio_is_a_share() {
        check::<Ratio>("0", Some("0"));
        check::<Ratio>("0.25", Some("0.25"));
        check::<Ratio>("1", Some("1"));
        for bad in ["", "-0.1", "1.01", "NaN", "inf", "half"] {
            check::<Ratio>(bad, None);
        }
    }

    #[test]
    fn samplers_have_the_names_of_their_standard() {
        #[track_caller]
        fn check(name: &str, want: (f64, bool)) {
            let sampler = TraceSampler::parse(name, &ANY).unwrap();
            assert_eq!((sampler.ratio(Ratio(0.25)), sampler.follows_callers()), want, "{name}");
        }
        check("always_on", (1.0, false));
        check("always_off", (0.0, false));
        check("traceidratio", (0.25, false));
        check("parentbased_always_on", (1.0, true));
        check("parentbased_always_off", (0.0, true));
        check("parentbased_traceidratio", (0.25, true));
    }
}
