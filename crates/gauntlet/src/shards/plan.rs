//! The plan of each shard: port, data file, command line. Pure: knows settings, and starts nothing.

use engine::limits::DRAIN_MAX;
use settings::Config;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// For a busy machine.
const STOP_MARGIN: Duration = Duration::from_secs(5);

/// Settings that differ from shard to shard, or that make a process the supervisor.
const PER_SHARD_FLAGS: [&str; 4] = ["port", "ops-port", "data", "shards"];

/// One shard, before it has ever run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ShardPlan {
    /// From 1.
    pub(super) number: usize,
    /// Where it listens; port 0 is any free one, and once it has one it keeps that.
    pub(super) address: SocketAddr,
    /// Where it answers the supervisor, if operators have a port of their own.
    pub(super) ops: Option<SocketAddr>,
    /// How long it may take to stop, before it is killed.
    pub(super) stop_max: Duration,
    data: PathBuf,
    args: Vec<OsString>,
}

impl ShardPlan {
    /// One plan for each shard: ports after the supervisor's, files next to the named one. `given` are the given flags,
    /// and `file` the named configuration; the environment is inherited.
    pub(super) fn of(config: &Config, file: Option<&Path>, given: &[(&'static str, String)]) -> Vec<Self> {
        let flags = given.iter().filter(|(name, _)| !PER_SHARD_FLAGS.contains(name));
        let mut words: Vec<OsString> = flags.map(|(name, value)| format!("--{name}={value}").into()).collect();
        words.extend(file.map(|file| flag_with_path("--config=", file)));
        let plan = |number: usize| Self {
            number,
            address: SocketAddr::new(config.interface.0, shard_port(config.port, number)),
            ops: config.ops_port.map(|ops| SocketAddr::new(config.ops_interface.0, shard_port(ops, number))),
            stop_max: config.drain_delay + DRAIN_MAX + STOP_MARGIN,
            data: shard_path(&config.data, number),
            args: words.clone(),
        };
        (1..=config.shards).map(plan).collect()
    }

    /// The words behind the program's name.
    pub(super) fn args(&self) -> Vec<OsString> {
        let own = ["serve".into(), "--shards=1".into(), format!("--port={}", self.address.port()).into()];
        let ops = self.ops.map(|ops| format!("--ops-port={}", ops.port()).into());
        own.into_iter()
            .chain(ops)
            .chain([flag_with_path("--data=", &self.data)])
            .chain(self.args.iter().cloned())
            .collect()
    }
}

fn flag_with_path(flag: &str, path: &Path) -> OsString {
    let mut word = OsString::from(flag);
    word.push(path);
    word
}

/// That they fit below the highest port was checked with the configuration.
fn shard_port(supervisor: u16, number: usize) -> u16 {
    if supervisor == 0 { 0 } else { supervisor.saturating_add(u16::try_from(number).unwrap_or(u16::MAX)) }
}

/// `games.db` becomes `games-shard-3.db`.
fn shard_path(data: &Path, number: usize) -> PathBuf {
    let mut name = data.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-shard-{number}"));
    if let Some(ending) = data.extension() {
        name.push(".");
        name.push(ending);
    }
    data.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(port: u16, data: &str, given: &[(&'static str, &str)], file: Option<&str>, want: &[&str]) {
        let mut config = Config::default();
        config.port = port;
        (config.data, config.shards) = (data.into(), want.len());
        let given: Vec<_> = given.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        let plans = ShardPlan::of(&config, file.map(Path::new), &given);
        let line =
            |plan: &ShardPlan| plan.args().iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
        assert_eq!(plans.iter().map(line).collect::<Vec<_>>(), want);
    }

    #[test]
    fn each_shard_has_its_own_port_and_file() {
        check(
            4000,
            "data/games.db",
            &[],
            None,
            &[
                "serve --shards=1 --port=4001 --data=data/games-shard-1.db",
                "serve --shards=1 --port=4002 --data=data/games-shard-2.db",
            ],
        );
        check(0, "games", &[], None, &["serve --shards=1 --port=0 --data=games-shard-1"]);
    }

    #[test]
    fn each_shard_has_its_own_port_for_operators() {
        let mut config = Config::default();
        (config.ops_port, config.shards) = (Some(4100), 2);
        let plans =
            ShardPlan::of(&config, None, &[("ops-port", "4100".to_owned()), ("ops-interface", "::1".to_owned())]);
        assert_eq!(plans[1].ops, Some("127.0.0.1:4102".parse().unwrap()));
        let words: Vec<_> = plans[1].args().into_iter().map(|word| word.into_string().unwrap()).collect();
        let want =
            ["--port=4002", "--ops-port=4102", "--data=gauntlet-data/gauntlet-shard-2.db", "--ops-interface=::1"];
        assert_eq!(words[2..], want);
    }

    #[test]
    fn what_was_typed_is_passed_on() {
        let given = [("threads", "2"), ("port", "4000"), ("shards", "9"), ("data", "a.db"), ("log-level", "warn")];
        let want = "serve --shards=1 --port=4001 --data=a-shard-1.db --threads=2 --log-level=warn --config=b c.toml";
        check(4000, "a.db", &given, Some("b c.toml"), &[want]);
    }
}
