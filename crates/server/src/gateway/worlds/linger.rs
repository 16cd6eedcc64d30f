//! The last moments of a connection: what is still to be written goes out, and what still comes is let go, so that the system does
//! not answer it with a reset that would overtake our last words (RFC 1122, section 4.2.2.13). Short, and bounded.

use super::connection::WorldConnection;
use engine::limits::WORLD_LINGER_MAX;
use rustix::net::{Shutdown, shutdown};
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, ready};
use tokio::time::timeout;

/// Bytes that are let go at a time.
const DISCARD_BUFFER_BYTES: usize = 1024;

/// Takes a connection down that has ended.
pub(super) async fn linger(line: Arc<WorldConnection>) {
    let _ = timeout(WORLD_LINGER_MAX, async {
        while line.has_backlog() {
            if poll_fn(|context| line.stream().poll_write_ready(context)).await.is_err() {
                return;
            }
            line.flush();
        }
        if shutdown(line.stream(), Shutdown::Write).is_ok() {
            discard_input(&line).await;
        }
    })
    .await;
}

/// Reads until the other side has closed, too.
async fn discard_input(line: &WorldConnection) {
    let mut bytes = [0; DISCARD_BUFFER_BYTES];
    poll_fn(|context| {
        loop {
            if ready!(line.stream().poll_read_ready(context)).is_err() {
                return Poll::Ready(());
            }
            match line.stream().try_read(&mut bytes) {
                Ok(0) => return Poll::Ready(()),
                Ok(_) => {}
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(_) => return Poll::Ready(()),
            }
        }
    })
    .await;
}
