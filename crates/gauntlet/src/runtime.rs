//! The asynchronous runtime of a command.

use crate::output::CliError;
use tokio::runtime::{Builder, Runtime};

/// A runtime with so many threads, all of whose parts work.
pub(crate) fn runtime(threads: usize) -> Result<Runtime, CliError> {
    let mut builder = if threads == 1 { Builder::new_current_thread() } else { Builder::new_multi_thread() };
    if threads > 1 {
        builder.worker_threads(threads);
    }
    builder.enable_all().build().map_err(|error| CliError::failed(format_args!("no threads could be started: {error}")))
}
