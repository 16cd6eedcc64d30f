//! The arguments of `gauntlet bots`. Knows nothing of sockets: the caller binds and serves.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use crate::config::{Config, Faults, check_share, parse_think};
use crate::hunt::HuntArgs;

/// Serves sample bots for many matches at once: http://INTERFACE:PORT/random, /hungry and /flood
///
/// Thinking time, faults and seed can also be set for one bot in its URL: /hungry/think-300ms/late-0.1/seed-7
#[derive(Debug, Clone, clap::Args)]
pub struct BotsArgs {
    /// Port to listen on; 0 takes a free one
    #[arg(long, default_value_t = 4100, conflicts_with = "hunt")]
    pub port: u16,
    /// Address to listen on
    #[arg(long, default_value = "127.0.0.1", conflicts_with = "hunt")]
    pub interface: IpAddr,
    /// Time that a bot thinks about a move: 200ms, 1s, 0
    #[arg(long, value_name = "DURATION", default_value = "200ms", value_parser = parse_think, conflicts_with = "hunt")]
    pub think: Duration,
    /// Share of moves made without looking: a handicap
    #[arg(long, value_name = "PROBABILITY", default_value_t = 0.0, conflicts_with = "hunt")]
    pub careless: f64,
    /// Share of moves answered after the timeout of their match
    #[arg(long, value_name = "PROBABILITY", default_value_t = 0.0, conflicts_with = "hunt")]
    pub late: f64,
    /// Share of moves answered with garbage: broken JSON, no such move, a huge body
    #[arg(long, value_name = "PROBABILITY", default_value_t = 0.0, conflicts_with = "hunt")]
    pub garbage: f64,
    /// Share of moves not answered: the connection is closed, or status 500
    #[arg(long, value_name = "PROBABILITY", default_value_t = 0.0, conflicts_with = "hunt")]
    pub refuse: f64,
    /// Seed of all random choices
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Hunters instead of served bots
    #[command(flatten)]
    pub hunt: HuntArgs,
}

impl BotsArgs {
    /// The address to listen on, and the behaviour of every bot whose URL does not override it.
    ///
    /// # Errors
    /// A sentence that names the probability which is out of range.
    pub fn config(self) -> Result<(SocketAddr, Config), String> {
        let faults = Faults::new(self.late, self.garbage, self.refuse)?;
        check_share("careless", self.careless)?;
        let address = SocketAddr::new(self.interface, self.port);
        Ok((address, Config { think: self.think, seed: self.seed, careless: self.careless, faults }))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        bots: BotsArgs,
    }

    #[track_caller]
    fn check(typed: &str, expected: Result<(&str, Config), &str>) {
        let words = std::iter::once("bots").chain(typed.split_whitespace());
        let read = Program::try_parse_from(words).map_err(|e| e.to_string()).and_then(|p| p.bots.config());
        match (read, expected) {
            (Ok((address, config)), Ok(expected)) => assert_eq!((address.to_string().as_str(), config), expected),
            (Err(error), Err(part)) => assert!(error.contains(part), "{error}"),
            (read, _) => panic!("{typed}: {read:?}"),
        }
    }

    #[test]
    fn flags_become_an_address_and_a_behaviour() {
        let think = Duration::from_millis(200);
        check("", Ok(("127.0.0.1:4100", Config { think, ..Config::default() })));
        check("--port 0 --interface ::1 --think 0 --seed 7", Ok(("[::1]:0", Config { seed: 7, ..Config::default() })));
        let faults = Faults::new(0.1, 0.2, 0.3).expect("in range");
        check(
            "--late 0.1 --garbage 0.2 --refuse 0.3",
            Ok(("127.0.0.1:4100", Config { think, faults, ..Config::default() })),
        );
        check("--careless 0.5", Ok(("127.0.0.1:4100", Config { think, careless: 0.5, ..Config::default() })));
        check("--careless 1.5", Err("careless is 1.5: a probability"));
        check("--think 200", Err("not a duration"));
        check("--think 61s", Err("invalid value '61s' for '--think <DURATION>': at most 60s"));
        check("--late 2", Err("late is 2"));
        check("--late 0.6 --refuse 0.6", Err("1.2 together"));
        check("--port 70000", Err("70000"));
        // Flags that only served bots obey are not ignored.
        check("--hunt a:1 --port 4101", Err("cannot be used with '--port <PORT>'"));
        check("--hunt a:1 --late 0.1", Err("cannot be used with '--late <PROBABILITY>'"));
    }
}
