//! The scenarios that come with the lab: the files of /scenarios, unchanged. They are treated like any other scenario
//! file.

use super::document::Document;

/// A scenario that needs no file.
#[derive(Clone, Copy, Debug)]
pub struct Builtin {
    /// Its name on the command line.
    pub name: &'static str,
    pub toml: &'static str,
}

/// The files that built-in scenarios name: the protobuf files of the worlds' protocol, bots of known strength.
pub const BUILTIN_FILES: [(&str, &str); 3] = [
    ("ladder/bots.csv", include_str!("../../../../scenarios/ladder/bots.csv")),
    ("../crates/wire/proto/world.proto", include_str!("../../../wire/proto/world.proto")),
    ("../crates/wire/proto/hunt.proto", include_str!("../../../wire/proto/hunt.proto")),
];

/// Includes the scenario files of these names.
macro_rules! include_scenarios {
    ($($name:literal),* $(,)?) => {
        &[$(Builtin { name: $name, toml: include_str!(concat!("../../../../scenarios/", $name, ".toml")) }),*]
    };
}

const BUILTINS: &[Builtin] = include_scenarios![
    "creations",
    "demo",
    "games-100",
    "games-300-instant",
    "hunt-10k-rps",
    "hunt-ladder",
    "hunt-power-ups",
    "hunt-throttled",
    "ladder",
    "ladder-kill",
    "leaderboard",
    "leaderboard-kill",
    "leaderboard-sweep",
    "limiter-100",
    "limiter-baseline",
    "limiter-burst",
    "limiter-extreme",
    "limiter-mixed",
    "limiter-saturation",
    "limiter-sustained",
    "rate-limit-off-on",
    "soak",
    "stories-arrivals",
    "stories-arrivals-overload",
    "stories-arrivals-stable",
    "stories-kill",
    "stories-ladder",
    "stories-polls-500",
    "stories-polls-max",
    "stories-table",
    "world-actors",
    "world-life",
    "world-registration-storm",
    "world-viewers",
];

#[must_use]
pub fn builtins() -> &'static [Builtin] {
    BUILTINS
}

#[must_use]
pub fn builtin(name: &str) -> Option<&'static Builtin> {
    BUILTINS.iter().find(|builtin| builtin.name == name)
}

impl Builtin {
    /// Its summary, and whether it starts a service of its own to test.
    #[must_use]
    pub fn description(&self) -> (String, bool) {
        let Ok(document) = Document::parse(self.toml) else { return Default::default() };
        (document.summary().unwrap_or_default().to_owned(), document.starts_its_target())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_builtin_is_described() {
        for each in builtins() {
            assert!(!each.description().0.is_empty(), "{}", each.name);
        }
        assert!(builtin("demo").unwrap().description().1);
        assert_eq!(Builtin { name: "x", toml: "[target]\nurl = \"http://a\"" }.description(), (String::new(), false));
    }
}
