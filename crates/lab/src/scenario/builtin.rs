//! The trials that come with the lab: the files of /scenarios, as they stand there. Refuses to treat them
//! differently from a file that a stranger wrote.

/// A trial that needs no file.
#[derive(Clone, Copy, Debug)]
pub struct Builtin {
    /// What it is called on the command line.
    pub name: &'static str,
    /// Its TOML.
    pub text: &'static str,
    /// The files that it names, by the names that it gives them.
    pub files: &'static [(&'static str, &'static str)],
}

const BUILTINS: [Builtin; 23] = [
    Builtin { name: "creations", text: include_str!("../../../../scenarios/creations.toml"), files: &[] },
    Builtin { name: "demo", text: include_str!("../../../../scenarios/demo.toml"), files: &[] },
    Builtin { name: "games-100", text: include_str!("../../../../scenarios/games-100.toml"), files: &[] },
    Builtin {
        name: "games-300-instant",
        text: include_str!("../../../../scenarios/games-300-instant.toml"),
        files: &[],
    },
    Builtin { name: "leaderboard", text: include_str!("../../../../scenarios/leaderboard.toml"), files: &[] },
    Builtin { name: "leaderboard-kill", text: include_str!("../../../../scenarios/leaderboard-kill.toml"), files: &[] },
    Builtin {
        name: "leaderboard-sweep",
        text: include_str!("../../../../scenarios/leaderboard-sweep.toml"),
        files: &[],
    },
    Builtin { name: "limiter-100", text: include_str!("../../../../scenarios/limiter-100.toml"), files: &[] },
    Builtin { name: "limiter-baseline", text: include_str!("../../../../scenarios/limiter-baseline.toml"), files: &[] },
    Builtin { name: "limiter-burst", text: include_str!("../../../../scenarios/limiter-burst.toml"), files: &[] },
    Builtin { name: "limiter-extreme", text: include_str!("../../../../scenarios/limiter-extreme.toml"), files: &[] },
    Builtin { name: "limiter-mixed", text: include_str!("../../../../scenarios/limiter-mixed.toml"), files: &[] },
    Builtin {
        name: "limiter-saturation",
        text: include_str!("../../../../scenarios/limiter-saturation.toml"),
        files: &[],
    },
    Builtin {
        name: "limiter-sustained",
        text: include_str!("../../../../scenarios/limiter-sustained.toml"),
        files: &[],
    },
    Builtin {
        name: "rate-limit-off-on",
        text: include_str!("../../../../scenarios/rate-limit-off-on.toml"),
        files: &[],
    },
    Builtin { name: "stories-arrivals", text: include_str!("../../../../scenarios/stories-arrivals.toml"), files: &[] },
    Builtin {
        name: "stories-arrivals-overload",
        text: include_str!("../../../../scenarios/stories-arrivals-overload.toml"),
        files: &[],
    },
    Builtin {
        name: "stories-arrivals-stable",
        text: include_str!("../../../../scenarios/stories-arrivals-stable.toml"),
        files: &[],
    },
    Builtin { name: "stories-kill", text: include_str!("../../../../scenarios/stories-kill.toml"), files: &[] },
    Builtin { name: "stories-ladder", text: include_str!("../../../../scenarios/stories-ladder.toml"), files: &[] },
    Builtin {
        name: "stories-polls-500",
        text: include_str!("../../../../scenarios/stories-polls-500.toml"),
        files: &[],
    },
    Builtin {
        name: "stories-polls-max",
        text: include_str!("../../../../scenarios/stories-polls-max.toml"),
        files: &[],
    },
    Builtin { name: "stories-table", text: include_str!("../../../../scenarios/stories-table.toml"), files: &[] },
];

/// All of them, by name.
#[must_use]
pub fn builtins() -> &'static [Builtin] {
    &BUILTINS
}

/// The one of that name.
#[must_use]
pub fn builtin(name: &str) -> Option<&'static Builtin> {
    BUILTINS.iter().find(|builtin| builtin.name == name)
}
