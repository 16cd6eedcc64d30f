//! One connection: wait for a request, think, answer, repeat. It owns the only timers: one while it thinks, one while
//! an answer does not fit into the socket. Idleness is measured in ticks from the server. Knows nothing of the contents
//! of requests and answers.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::http::{Problem, Status};
use crate::inbox::Inbox;
use crate::limits::{
    HUGE_BODY_BYTES, IDLE_TICKS_MAX, LINGER_BYTES_MAX, LINGER_TIME_MAX, PARTIAL_TICKS_MAX, WRITE_TIMEOUT,
};
use crate::reply::{Content, HUGE_BODY_CHUNK, Reply};
use crate::service::BotService;

thread_local! {
    static RENDERED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// The server's signal to all connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServerSignal {
    /// Time passes; the number of ticks so far.
    Tick(u64),
    /// Answer what you are thinking about, then leave.
    Closing,
}

/// One client.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) stream: TcpStream,
    pub(crate) inbox: Inbox,
    pub(crate) service: Arc<BotService>,
    pub(crate) signal: watch::Receiver<ServerSignal>,
}

impl Connection {
    /// Serves until one of the two sides has had enough. Errors of the socket end it silently: the client is gone.
    pub(crate) async fn serve(mut self) {
        while let Some(reply) = self.next().await {
            if !reply.delay.is_zero() {
                sleep(reply.delay).await;
            }
            if matches!(reply.content, Content::HangUp) || self.send(&reply).await.is_err() {
                return;
            }
            if !reply.keep_alive {
                return self.linger().await;
            }
        }
    }

    /// The answer to the next request; nothing when it is time to leave.
    async fn next(&mut self) -> Option<Reply> {
        let mut ticks = 0;
        let mut was_partial = self.inbox.is_partial();
        loop {
            tokio::select! {
                biased;
                reply = poll_fn(|context| self.inbox.poll_next(&mut self.stream, &self.service, context)) => return reply,
                changed = self.signal.changed() => changed.ok()?,
            }
            if *self.signal.borrow_and_update() == ServerSignal::Closing {
                return None;
            }
            let is_partial = self.inbox.is_partial();
            ticks = if is_partial == was_partial { ticks + 1 } else { 1 };
            was_partial = is_partial;
            if is_partial && ticks >= PARTIAL_TICKS_MAX {
                return Some(self.service.respond_to_bad_request(unfinished()));
            }
            if ticks >= IDLE_TICKS_MAX {
                return None;
            }
        }
    }

    async fn send(&mut self, reply: &Reply) -> io::Result<()> {
        let unsent = RENDERED.with_borrow_mut(|rendered| {
            rendered.clear();
            reply.render(rendered);
            try_write(&self.stream, rendered)
        })?;
        if unsent.is_empty() && !matches!(reply.content, Content::Huge) {
            return Ok(());
        }
        let rest = async {
            self.stream.write_all(&unsent).await?;
            if matches!(reply.content, Content::Huge) { self.send_huge_body().await } else { Ok(()) }
        };
        timeout(WRITE_TIMEOUT, rest).await.map_err(|_| io::ErrorKind::TimedOut)?
    }

    async fn send_huge_body(&mut self) -> io::Result<()> {
        let mut left = HUGE_BODY_BYTES;
        while left > 0 {
            let piece = left.min(HUGE_BODY_CHUNK.len());
            self.stream.write_all(&HUGE_BODY_CHUNK[..piece]).await?;
            left -= piece;
        }
        Ok(())
    }

    /// Shuts down sending and reads what the client still sends: a socket that is closed with unread bytes is reset,
    /// and the client would lose the answer that it has not read yet.
    async fn linger(mut self) {
        let discard = async {
            self.stream.shutdown().await?;
            // On the heap: an array would be part of every connection's task, idle ones included.
            let mut sink = vec![0; 4096];
            let mut left = LINGER_BYTES_MAX;
            while left > 0 {
                match self.stream.read(&mut sink).await? {
                    0 => break,
                    read => left = left.saturating_sub(read),
                }
            }
            io::Result::Ok(())
        };
        // Either way the connection ends here.
        let _ = timeout(LINGER_TIME_MAX, discard).await;
    }
}

/// Writes what the socket takes at once; the rest, usually nothing.
fn try_write(stream: &TcpStream, bytes: &[u8]) -> io::Result<Vec<u8>> {
    match stream.try_write(bytes) {
        Ok(sent) => Ok(bytes[sent..].to_vec()),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(bytes.to_vec()),
        Err(error) => Err(error),
    }
}

fn unfinished() -> Problem {
    Problem::new(Status::REQUEST_TIMEOUT, "request_unfinished", "the request did not arrive completely in time")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::counters::Counters;
    use crate::limits::CONNECTION_TASK_BYTES_MAX;

    #[tokio::test]
    async fn an_idle_connection_is_small() {
        let listener = crate::server::bind(([127, 0, 0, 1], 0).into()).expect("a free port");
        let address = listener.local_addr().expect("bound");
        let connection = Connection {
            stream: TcpStream::connect(address).await.expect("the listener is there"),
            inbox: Inbox::default(),
            service: Arc::new(BotService { defaults: Config::default(), counters: Counters::default() }),
            signal: watch::Sender::new(ServerSignal::Tick(0)).subscribe(),
        };
        let bytes = size_of_val(&connection.serve());
        assert!(bytes <= CONNECTION_TASK_BYTES_MAX, "{bytes} bytes");
    }
}
