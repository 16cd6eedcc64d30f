//! Trials: runs of load tests in a folder of the server's, for operators.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What may be started here, and what runs. `/api/trials`
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Trials {
    /// Built-in scenarios.
    pub scenarios: Vec<TrialScenario>,
    /// Services that the configuration lists, which trials may load.
    pub targets: Vec<String>,
    /// The run that was started here and goes on; one at a time.
    #[schema(required)]
    pub running: Option<String>,
    /// How the last trial that was started here ended, if it left no run.
    #[schema(required)]
    pub failure: Option<TrialFailure>,
}

/// A scenario that comes with the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct TrialScenario {
    pub name: String,
    pub summary: String,
    /// It starts a server of its own, where no target is chosen.
    pub has_own_server: bool,
}

/// A run of a trial, or a sweep: runs of one scenario under several settings.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct TrialRun {
    /// Its id, which is the name of its directory.
    pub name: String,
    pub kind: TrialKind,
    pub state: TrialState,
    /// Whether it was started here, goes on, and may be stopped.
    pub can_stop: bool,
    /// `passed`, `failed`, `void` or `interrupted`; null before there is one. A sweep has passed if the gates hold in every run of some
    /// combination.
    #[schema(required)]
    pub verdict: Option<String>,
    /// The scenario's name and summary; null where they cannot be read.
    #[schema(required)]
    pub scenario: Option<String>,
    #[schema(required)]
    pub summary: Option<String>,
    #[schema(required)]
    pub target: Option<String>,
    /// UTC.
    #[schema(required)]
    pub started_at: Option<String>,
    #[schema(required)]
    pub duration_s: Option<f64>,
    /// Of a sweep: its runs that are over, and those that it plans.
    #[schema(required)]
    pub runs_made: Option<usize>,
    #[schema(required)]
    pub runs_planned: Option<usize>,
    /// Why it is not readable.
    #[schema(required)]
    pub unreadable: Option<String>,
}

/// What a directory in the folder of trials has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TrialKind {
    Run,
    Sweep,
}

/// Whether a run goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TrialState {
    Running,
    /// It has a record.
    Over,
    /// It has none: the program that ran it was killed. What it recorded can be read.
    Interrupted,
    /// Its record cannot be read.
    Unreadable,
}

/// A trial that could not begin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct TrialFailure {
    pub name: String,
    pub scenario: String,
    /// What the program said.
    pub message: String,
}

/// `POST /api/trials/runs`
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StartTrial {
    /// The name of a built-in scenario.
    pub scenario: String,
    /// One of `targets`; without it the scenario starts a server of its own.
    #[serde(default)]
    pub target: Option<String>,
}

/// A trial that begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct StartedTrial {
    /// The name of its run.
    pub name: String,
}
