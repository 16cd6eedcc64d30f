//! The lingering close of a connection: pending output is written and further input discarded, so that the system does not answer it
//! with a reset that would overtake the last message (RFC 1122, section 4.2.2.13). Short, and bounded.

use super::connection::WorldConnection;
use engine::limits::WORLD_LINGER_MAX;
use rustix::net::{Shutdown, shutdown};
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, ready};
use tokio::time::timeout;

/// Bytes that are discarded at a time.
const DISCARD_BUFFER_BYTES: usize = 1024;

/// Closes a connection.
pub(super) async fn linger(connection: Arc<WorldConnection>) {
    let _ = timeout(WORLD_LINGER_MAX, async {
        while connection.has_backlog() {
            if poll_fn(|context| connection.stream().poll_write_ready(context)).await.is_err() {
                return;
            }
            connection.flush();
        }
        if shutdown(connection.stream(), Shutdown::Write).is_ok() {
            discard_input(&connection).await;
        }
    })
    .await;
}

/// Reads until the peer has closed, too.
async fn discard_input(connection: &WorldConnection) {
    let mut bytes = [0; DISCARD_BUFFER_BYTES];
    poll_fn(|context| {
        loop {
            if ready!(connection.stream().poll_read_ready(context)).is_err() {
                return Poll::Ready(());
            }
            match connection.stream().try_read(&mut bytes) {
                Ok(0) => return Poll::Ready(()),
                Ok(_) => {}
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(_) => return Poll::Ready(()),
            }
        }
    })
    .await;
}
