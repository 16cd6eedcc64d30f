//! A flag that is raised once and seen by many: the end of a trial. Refuses to know why it was raised.

use tokio::sync::watch;

/// Ends when the flag is raised. When nobody is left to raise it, that is never.
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
