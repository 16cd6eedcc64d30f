//! A flag that is raised once and seen by many: the end of a trial. Does not know why it was raised.

use tokio::sync::watch;

/// Returns when the flag is raised. If its sender is dropped before, it never returns.
pub(crate) async fn wait_until_raised(flag: &mut watch::Receiver<bool>) {
    if flag.wait_for(|raised| *raised).await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// A panic in a task is a defect of the lab: it ends the trial instead of a sample.
pub(crate) fn propagate_panic(ended: Result<(), tokio::task::JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        std::panic::resume_unwind(error.into_panic());
    }
}
