//! The arguments of `gauntlet bots --hunt`. Knows nothing of sockets.

use crate::config::parse_duration;
use crate::limits::{HUNTER_RATE_MAX, HUNTER_RATE_MIN, HUNTERS_MAX};
use std::net::Ipv6Addr;
use std::time::Duration;

/// Sends hunters into a world instead of serving bots.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Hunters")]
pub struct HuntArgs {
    /// Sends hunters to this server instead of serving bots
    #[arg(long, value_name = "HOST:PORT", value_parser = parse_server)]
    pub hunt: Option<String>,
    /// World that they go to
    #[arg(long, default_value = "hunt", requires = "hunt")]
    pub world: String,
    /// Hunters, each with a connection of its own
    #[arg(long, default_value_t = 10, requires = "hunt", value_parser = clap::value_parser!(u32).range(1..=HUNTERS_MAX as i64))]
    pub count: u32,
    /// Acts of each a second
    #[arg(long, default_value_t = 1.0, requires = "hunt", value_parser = parse_rate)]
    pub rate: f64,
    /// They ask for no views, and dig blindly
    #[arg(long, requires = "hunt")]
    pub blind: bool,
    /// Time after which they leave; without it they stay until Ctrl-C
    #[arg(long = "for", value_name = "DURATION", requires = "hunt", value_parser = parse_duration)]
    pub lasts: Option<Duration>,
}

/// What hunters do.
#[derive(Debug, Clone, PartialEq)]
pub struct HuntConfig {
    /// The server, as host and port.
    pub server: String,
    /// The name of the world.
    pub world: String,
    /// How many there are.
    pub count: u32,
    /// Time between two acts of one.
    pub act_interval: Duration,
    /// Whether they are shown their surroundings.
    pub has_views: bool,
    /// After which they leave.
    pub duration: Option<Duration>,
    /// The seed of all random choices.
    pub seed: u64,
}

impl HuntArgs {
    /// The configuration, if hunters are wanted.
    #[must_use]
    pub fn config(self, seed: u64) -> Option<HuntConfig> {
        Some(HuntConfig {
            server: self.hunt?,
            world: self.world,
            count: self.count,
            act_interval: Duration::from_secs_f64(1.0 / self.rate),
            has_views: !self.blind,
            duration: self.lasts,
            seed,
        })
    }
}

fn parse_server(text: &str) -> Result<String, String> {
    if is_host_port(text) { Ok(text.to_owned()) } else { Err("host and port, such as 127.0.0.1:4000".to_owned()) }
}

fn parse_rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|rate| (HUNTER_RATE_MIN..=HUNTER_RATE_MAX).contains(rate));
    rate.ok_or_else(|| format!("from {HUNTER_RATE_MIN} to {HUNTER_RATE_MAX} acts a second"))
}

/// Whether this is a host and a port. An address with colons of its own stands in brackets.
fn is_host_port(text: &str) -> bool {
    let Some((host, port)) = text.rsplit_once(':') else { return false };
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    let in_brackets = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let is_host = match in_brackets {
        Some(address) => address.parse::<Ipv6Addr>().is_ok(),
        None => !host.is_empty() && host.bytes().all(is_plain),
    };
    is_host && port.parse::<u16>().is_ok_and(|port| port > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        hunt: HuntArgs,
    }

    #[track_caller]
    fn check(typed: &str, want: Result<Option<(&str, u32, u64, bool)>, &str>) {
        let words = std::iter::once("bots").chain(typed.split_whitespace());
        let read = Program::try_parse_from(words).map_err(|error| error.to_string());
        let read = read.map(|program| program.hunt.config(1));
        match (read, want) {
            (Ok(config), Ok(want)) => {
                let short = config.as_ref().map(|config| {
                    (config.server.as_str(), config.count, config.act_interval.as_millis() as u64, config.has_views)
                });
                assert_eq!(short, want, "{typed}");
            }
            (Err(error), Err(part)) => assert!(error.contains(part), "{error}"),
            (read, _) => panic!("{typed}: {read:?}"),
        }
    }

    #[test]
    fn flags_become_hunters() {
        check("", Ok(None));
        check("--hunt 127.0.0.1:4000", Ok(Some(("127.0.0.1:4000", 10, 1_000, true))));
        check("--hunt a:1 --count 3 --rate 4 --blind", Ok(Some(("a:1", 3, 250, false))));
        check("--count 3", Err("--hunt"));
        check("--hunt nowhere", Err("host and port"));
        check("--hunt :4000", Err("host and port"));
        check(
            "--hunt a:http",
            Err("invalid value 'a:http' for '--hunt <HOST:PORT>': host and port, such as 127.0.0.1:4000"),
        );
        check("--hunt http://a:4000/", Err("host and port"));
        check("--hunt http://a:4000", Err("host and port"));
        check("--hunt ann@a:4000", Err("host and port"));
        check("--hunt ::1:4000", Err("host and port"));
        check("--hunt [::1]:4000", Ok(Some(("[::1]:4000", 10, 1_000, true))));
        check("--hunt game-1.example.org:4000", Ok(Some(("game-1.example.org:4000", 10, 1_000, true))));
        check("--hunt a:70000", Err("host and port"));
        check("--hunt a:1 --count 0", Err("invalid value '0' for '--count <COUNT>': 0 is not in 1..=100000"));
        check("--hunt a:1 --rate 0", Err("invalid value '0' for '--rate <RATE>': from 0.001 to 60 acts a second"));
        check("--hunt a:1 --rate NaN", Err("invalid value 'NaN' for '--rate <RATE>'"));
    }
}
