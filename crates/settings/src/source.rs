//! Where values come from: the layers of a configuration as text, and the machine.

use std::fmt;
use std::path::PathBuf;

/// The configuration's sources, layer by layer, as text.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// The path and the content of the configuration file, if there is one.
    pub file: Option<(PathBuf, String)>,
    /// The environment; names that do not begin with `GAUNTLET_`, and are not standard ones of a setting, are ignored.
    pub env: Vec<(String, String)>,
    /// Flags by their name without dashes.
    pub flags: Vec<(&'static str, String)>,
    /// The machine from which derived values follow.
    pub machine: Machine,
}

/// The limits of the machine from which settings are derived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    pub cores: usize,
    /// Files that a process may hold open at most.
    pub open_files_max: usize,
}

impl Default for Machine {
    /// A modest machine: two cores and the default file limit of many systems.
    fn default() -> Self {
        Self { cores: 2, open_files_max: 1_024 }
    }
}

/// The source of a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The table's default.
    Default,
    /// Configuration file of this path.
    File(PathBuf),
    /// The environment variable of this name.
    Env(String),
    /// The flag of this name.
    Flag(&'static str),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path) => write!(f, "file {}", path.display()),
            Self::Env(name) => write!(f, "environment {name}"),
            Self::Flag(name) => write!(f, "flag --{name}"),
        }
    }
}
