//! What is refused around trials: one stable code each.

use axum::http::StatusCode;

/// Why a run is not shown, or a trial not started or stopped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TrialRefusal {
    #[error("this server shows no trials: it was started without --trials DIR (trials.dir)")]
    Off,
    #[error("there is no such run")]
    NoSuchRun,
    #[error("this run cannot be read: {0}")]
    Unreadable(String),
    #[error("a file of this run is larger than a page shows: open the report.html that is in its directory")]
    TooLarge,
    #[error("these runs cannot be compared: {0}")]
    Incomparable(String),
    #[error("the folder of trials cannot be used: {0}")]
    Folder(String),
    #[error("the server reads as many runs as it reads at once: try again")]
    Busy,
    #[error("there is no built-in scenario of this name: GET /api/trials lists them")]
    UnknownScenario,
    #[error("this is none of the services that the configuration lists (trials.targets): GET /api/trials lists them")]
    UnknownTarget,
    #[error(
        "this scenario starts no server of its own: choose one of the targets, which the configuration lists (trials.targets)"
    )]
    TargetNeeded,
    #[error("a trial runs already, and only one does at a time: wait for it, or stop it{}", .0.as_ref().map_or_else(String::new, |name| format!(": {name}")))]
    Running(Option<String>),
    #[error("this run does not go on, or was not started here: only a trial that this server started can be stopped")]
    NotRunning,
    #[error("the trial could not be started: {0}")]
    NotStarted(String),
}

impl TrialRefusal {
    /// The status and the stable code.
    pub(super) fn status_and_code(&self) -> (StatusCode, &'static str) {
        match self {
            Self::Off => (StatusCode::NOT_FOUND, "trials_off"),
            Self::NoSuchRun => (StatusCode::NOT_FOUND, "no_such_run"),
            Self::Unreadable(_) => (StatusCode::CONFLICT, "run_unreadable"),
            Self::TooLarge => (StatusCode::CONFLICT, "run_too_large"),
            Self::Incomparable(_) => (StatusCode::CONFLICT, "runs_not_comparable"),
            Self::Folder(_) => (StatusCode::SERVICE_UNAVAILABLE, "trials_unusable"),
            Self::Busy => (StatusCode::SERVICE_UNAVAILABLE, "trials_busy"),
            Self::UnknownScenario => (StatusCode::BAD_REQUEST, "unknown_scenario"),
            Self::UnknownTarget => (StatusCode::BAD_REQUEST, "unknown_target"),
            Self::TargetNeeded => (StatusCode::BAD_REQUEST, "target_needed"),
            Self::Running(_) => (StatusCode::CONFLICT, "trial_running"),
            Self::NotRunning => (StatusCode::CONFLICT, "trial_not_running"),
            Self::NotStarted(_) => (StatusCode::SERVICE_UNAVAILABLE, "trial_not_started"),
        }
    }
}
