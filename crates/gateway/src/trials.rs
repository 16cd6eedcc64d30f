//! What this process may do with trials: the trait that the program implements, and its handle. The gateway knows no load tests.
//! Knows nothing of requests.

use crate::problem::{ApiError, ApiResult, TrialRefusal};
use engine::limits::TRIAL_READS_AT_ONCE;
use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use wire::api::{TrialRun, Trials as TrialsView};

/// What this process may do with trials. Every function may block, and is called where that is allowed.
pub trait Trials: Send + Sync {
    fn overview(&self) -> TrialsView;
    /// The newest runs first, from the one after `after` on; those whose names are no names of runs are left out.
    ///
    /// # Errors
    /// The folder cannot be read.
    fn runs(&self, after: Option<&str>, limit: usize) -> Result<Vec<TrialRun>, TrialRefusal>;
    /// The JSON document of a run's report.
    ///
    /// # Errors
    /// It is not there, or cannot be read.
    fn report(&self, name: &str) -> Result<Vec<u8>, TrialRefusal>;
    /// The JSON document of a comparison.
    ///
    /// # Errors
    /// One of them is not there or cannot be read, or they cannot be compared.
    fn comparison(&self, first: &str, second: &str) -> Result<Vec<u8>, TrialRefusal>;
    /// The name of the run that begins.
    ///
    /// # Errors
    /// It may not be started, or cannot be.
    fn start(&self, scenario: &str, target: Option<&str>) -> Result<String, TrialRefusal>;
    /// Asks the trial to end; its report is written then.
    ///
    /// # Errors
    /// It does not go on, or was not started here.
    fn stop(&self, name: &str) -> Result<(), TrialRefusal>;
}

/// The trials of this process, if it was given any, and how many requests read them at once.
#[derive(Clone)]
pub struct TrialsHandle {
    trials: Option<Arc<dyn Trials>>,
    reads: Arc<Semaphore>,
}

impl Debug for TrialsHandle {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("TrialsHandle").field("is_on", &self.is_on()).finish_non_exhaustive()
    }
}

impl TrialsHandle {
    #[must_use]
    pub fn new(trials: Option<Arc<dyn Trials>>) -> Self {
        Self { trials, reads: Arc::new(Semaphore::new(TRIAL_READS_AT_ONCE)) }
    }

    /// Whether this server shows trials.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.trials.is_some()
    }

    /// Reads runs: only a few requests do at a time.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn Trials) -> Result<T, TrialRefusal> + Send + 'static,
    ) -> ApiResult<T> {
        let permit = self.reads.clone().try_acquire_owned().map_err(|_| TrialRefusal::Busy)?;
        self.call(move |trials| {
            let _permit = permit;
            work(trials)
        })
        .await
    }

    /// Does what reads no run, so that it waits for no request that does: a trial can always be stopped. It may block.
    pub(crate) async fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn Trials) -> Result<T, TrialRefusal> + Send + 'static,
    ) -> ApiResult<T> {
        let trials = self.trials.clone().ok_or(TrialRefusal::Off)?;
        let done = spawn_blocking(move || work(&*trials)).await;
        Ok(done.map_err(|error| ApiError::Internal(format!("trials: {error}")))??)
    }
}
