//! The asynchronous runtime of a command, and the signals to it: to stop (the first gracefully, the second at once), and
//! to reload the file of policies.

use crate::output::CliError;
use std::io;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, oneshot};

/// 128 and the number of the signal, as shells have it.
const INTERRUPTED: i32 = 130;
const TERMINATED: i32 = 143;

/// A runtime with so many threads, all of whose parts work.
pub(crate) fn runtime(threads: usize) -> Result<Runtime, CliError> {
    let mut builder = if threads == 1 { Builder::new_current_thread() } else { Builder::new_multi_thread() };
    if threads > 1 {
        builder.worker_threads(threads);
    }
    builder.enable_all().build().map_err(|error| CliError::failed(format_args!("no threads could be started: {error}")))
}

/// Ends at the first Ctrl-C or SIGTERM; the second one ends the process at once. Signals count from this call on.
///
/// # Errors
/// The system's, when signals cannot be received.
pub(crate) fn shutdown_signal() -> io::Result<impl Future<Output = ()>> {
    let mut interrupts = signal(SignalKind::interrupt())?;
    let mut terminations = signal(SignalKind::terminate())?;
    let (leave, left) = oneshot::channel();
    tokio::spawn(async move {
        next_signal(&mut interrupts, &mut terminations).await;
        let _ = leave.send(());
        let code = next_signal(&mut interrupts, &mut terminations).await;
        std::process::exit(code);
    });
    Ok(async {
        let _ = left.await;
    })
}

/// A message for each SIGHUP, from this call on. Signals that come before the last one was processed are one.
///
/// # Errors
/// The system's, when signals cannot be received.
pub(crate) fn reload_signals() -> io::Result<mpsc::Receiver<()>> {
    let mut hangups = signal(SignalKind::hangup())?;
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        while hangups.recv().await.is_some() {
            let _ = sender.try_send(());
        }
    });
    Ok(receiver)
}

async fn next_signal(interrupts: &mut Signal, terminations: &mut Signal) -> i32 {
    tokio::select! {
        _ = interrupts.recv() => INTERRUPTED,
        _ = terminations.recv() => TERMINATED,
    }
}
