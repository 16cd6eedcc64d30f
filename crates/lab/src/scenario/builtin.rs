//! The scenarios that come with the lab: the files of /scenarios, unchanged. They are treated like any other scenario
//! file.

/// A scenario that needs no file.
#[derive(Clone, Copy, Debug)]
pub struct Builtin {
    /// Its name on the command line.
    pub name: &'static str,
    pub toml: &'static str,
    /// The files that it names: name and content.
    pub files: &'static [(&'static str, &'static str)],
}

/// The protobuf files of the worlds' protocol.
const WORLD_PROTO_FILES: &[(&str, &str)] = &[
    ("../crates/wire/proto/world.proto", include_str!("../../../wire/proto/world.proto")),
    ("../crates/wire/proto/hunt.proto", include_str!("../../../wire/proto/hunt.proto")),
];

const BUILTINS: [Builtin; 31] = [
    Builtin { name: "creations", toml: include_str!("../../../../scenarios/creations.toml"), files: &[] },
    Builtin { name: "demo", toml: include_str!("../../../../scenarios/demo.toml"), files: &[] },
    Builtin { name: "games-100", toml: include_str!("../../../../scenarios/games-100.toml"), files: &[] },
    Builtin {
        name: "games-300-instant",
        toml: include_str!("../../../../scenarios/games-300-instant.toml"),
        files: &[],
    },
    Builtin {
        name: "hunt-10k-rps",
        toml: include_str!("../../../../scenarios/hunt-10k-rps.toml"),
        files: WORLD_PROTO_FILES,
    },
    Builtin {
        name: "hunt-ladder",
        toml: include_str!("../../../../scenarios/hunt-ladder.toml"),
        files: WORLD_PROTO_FILES,
    },
    Builtin {
        name: "hunt-power-ups",
        toml: include_str!("../../../../scenarios/hunt-power-ups.toml"),
        files: WORLD_PROTO_FILES,
    },
    Builtin {
        name: "hunt-throttled",
        toml: include_str!("../../../../scenarios/hunt-throttled.toml"),
        files: WORLD_PROTO_FILES,
    },
    Builtin { name: "leaderboard", toml: include_str!("../../../../scenarios/leaderboard.toml"), files: &[] },
    Builtin { name: "leaderboard-kill", toml: include_str!("../../../../scenarios/leaderboard-kill.toml"), files: &[] },
    Builtin {
        name: "leaderboard-sweep",
        toml: include_str!("../../../../scenarios/leaderboard-sweep.toml"),
        files: &[],
    },
    Builtin { name: "limiter-100", toml: include_str!("../../../../scenarios/limiter-100.toml"), files: &[] },
    Builtin { name: "limiter-baseline", toml: include_str!("../../../../scenarios/limiter-baseline.toml"), files: &[] },
    Builtin { name: "limiter-burst", toml: include_str!("../../../../scenarios/limiter-burst.toml"), files: &[] },
    Builtin { name: "limiter-extreme", toml: include_str!("../../../../scenarios/limiter-extreme.toml"), files: &[] },
    Builtin { name: "limiter-mixed", toml: include_str!("../../../../scenarios/limiter-mixed.toml"), files: &[] },
    Builtin {
        name: "limiter-saturation",
        toml: include_str!("../../../../scenarios/limiter-saturation.toml"),
        files: &[],
    },
    Builtin {
        name: "limiter-sustained",
        toml: include_str!("../../../../scenarios/limiter-sustained.toml"),
        files: &[],
    },
    Builtin {
        name: "rate-limit-off-on",
        toml: include_str!("../../../../scenarios/rate-limit-off-on.toml"),
        files: &[],
    },
    Builtin { name: "stories-arrivals", toml: include_str!("../../../../scenarios/stories-arrivals.toml"), files: &[] },
    Builtin {
        name: "stories-arrivals-overload",
        toml: include_str!("../../../../scenarios/stories-arrivals-overload.toml"),
        files: &[],
    },
    Builtin {
        name: "stories-arrivals-stable",
        toml: include_str!("../../../../scenarios/stories-arrivals-stable.toml"),
        files: &[],
    },
    Builtin { name: "stories-kill", toml: include_str!("../../../../scenarios/stories-kill.toml"), files: &[] },
    Builtin { name: "stories-ladder", toml: include_str!("../../../../scenarios/stories-ladder.toml"), files: &[] },
    Builtin {
        name: "stories-polls-500",
        toml: include_str!("../../../../scenarios/stories-polls-500.toml"),
        files: &[],
    },
    Builtin {
        name: "stories-polls-max",
        toml: include_str!("../../../../scenarios/stories-polls-max.toml"),
        files: &[],
    },
    Builtin { name: "stories-table", toml: include_str!("../../../../scenarios/stories-table.toml"), files: &[] },
    Builtin {
        name: "world-actors",
        toml: include_str!("../../../../scenarios/world-actors.toml"),
        files: WORLD_PROTO_FILES,
    },
    Builtin {
        name: "world-life",
        toml: include_str!("../../../../scenarios/world-life.toml"),
        files: WORLD_PROTO_FILES,
    },
    Builtin {
        name: "world-registration-storm",
        toml: include_str!("../../../../scenarios/world-registration-storm.toml"),
        files: WORLD_PROTO_FILES,
    },
    Builtin {
        name: "world-viewers",
        toml: include_str!("../../../../scenarios/world-viewers.toml"),
        files: WORLD_PROTO_FILES,
    },
];

#[must_use]
pub fn builtins() -> &'static [Builtin] {
    &BUILTINS
}

#[must_use]
pub fn builtin(name: &str) -> Option<&'static Builtin> {
    BUILTINS.iter().find(|builtin| builtin.name == name)
}
