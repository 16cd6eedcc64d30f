//! A connection whose request is parked: a socket, the wait for its response, and nothing else. It has no hyper state and no
//! read buffer; the response is encoded by hand, and then the connection goes back to the request loop.
//!
//! Knows nothing of what is waited for.

use super::connection::Connection;
use super::connection_state::ParkedRequest;
use super::park::{ChunkStream, LongPoll, ParkedWait, Persistence, WaitEnd};
use super::response_head::{Framing, encode_chunk, encode_head, encode_last_chunk};
use super::socket::Socket;
use super::{BUFFER_BYTES_MAX, ConnectionEnd, DrainPhase, Shared};
use bytes::Bytes;
use engine::limits::DRAIN_JITTER_MAX;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use metrics::Metrics;
use node::clock::jitter;
use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, SystemTime};
use tokio::time::{Instant, sleep_until};

/// Bytes read at a time of what a client sends while it waits: hardly ever any.
const READ_BYTES: usize = 512;
/// A client that waits for minutes and has sent more behind its request than is buffered is disconnected, because its leaving would
/// go unnoticed. While a response is written, deadlines apply instead.
const GONE_WHEN_FULL: Poll<()> = Poll::Ready(());

/// A connection that hyper does not read.
pub struct RawConnection {
    pub(crate) connection: Arc<Connection>,
    /// What the client has sent beyond its last request.
    pub(crate) read_ahead: Vec<u8>,
}

/// What ended a wait.
enum WaitEvent<T> {
    /// The awaited value.
    Ready(T),
    /// The deadline passed.
    TimedOut,
    /// The client disconnected.
    Disconnected,
    /// The process reached the drain stage at which this wait ends.
    StageReached,
}

impl RawConnection {
    /// Waits until the request is answered and sends the response; then the connection is ready for the next request.
    pub(super) async fn serve_parked(
        &mut self,
        request: Box<ParkedRequest>,
        shared: &Shared,
    ) -> Result<(), ConnectionEnd> {
        let _gauge = ParkedGauge::new(&shared.metrics);
        let ParkedRequest { wait, persistence, headers, counters, since, status, proxied_permit } = *request;
        let mut parked = ParkedConnection { raw: self, persistence, shared };
        match wait {
            ParkedWait::Poll { poll, deadline } => {
                let status = parked.respond(poll, deadline, headers).await?;
                parked.shared.metrics.http_parked_answered(counters.as_deref(), status.as_u16());
            }
            ParkedWait::Stream { stream, heartbeat_every } => {
                // Counted at its head: most streams are ended by their clients.
                parked.shared.metrics.http_parked_answered(counters.as_deref(), status.as_u16());
                let head = parked.encode_stream_head(status, &headers);
                drop(headers);
                parked.stream(stream, heartbeat_every, head).await?;
            }
        }
        drop(proxied_permit);
        let ParkedConnection { persistence, .. } = parked;
        shared.metrics.process.http_held.observe(since.elapsed());
        if persistence.is_keep_alive() { Ok(()) } else { Err(ConnectionEnd::Done) }
    }

    /// Ready when the client disconnects. Its bytes are kept, up to a bound. Bytes beyond it are not read, and so the end behind
    /// them is not seen: the caller decides with `when_full` what that means.
    fn poll_disconnect(&mut self, context: &mut Context<'_>, when_full: Poll<()>) -> Poll<()> {
        let mut bytes = [0; READ_BYTES];
        while self.read_ahead.len() < BUFFER_BYTES_MAX {
            if ready!(self.connection.stream().poll_read_ready(context)).is_err() {
                return Poll::Ready(());
            }
            let room = READ_BYTES.min(BUFFER_BYTES_MAX - self.read_ahead.len());
            match self.connection.stream().try_read(&mut bytes[..room]) {
                Ok(0) => return Poll::Ready(()),
                Ok(read) => self.read_ahead.extend_from_slice(&bytes[..read]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => return Poll::Ready(()),
            }
        }
        when_full
    }
}

/// A connection while its request is parked.
struct ParkedConnection<'a> {
    raw: &'a mut RawConnection,
    persistence: Persistence,
    shared: &'a Shared,
}

impl ParkedConnection<'_> {
    /// Answers a long poll, and returns the status of its response.
    async fn respond(
        &mut self,
        mut poll: Box<dyn LongPoll>,
        deadline: Instant,
        headers: Box<[u8]>,
    ) -> Result<StatusCode, ConnectionEnd> {
        let (mut timer, mut end, mut until) = (deadline, WaitEnd::Deadline, DrainPhase::Draining);
        let response = loop {
            match self.wait(timer, until, GONE_WHEN_FULL, |_, context| poll.poll_response(context)).await {
                WaitEvent::Ready(response) => break response,
                WaitEvent::TimedOut => break poll.finish(end),
                WaitEvent::Disconnected => return Err(self.record_disconnect()),
                WaitEvent::StageReached if until == DrainPhase::Closed => return Err(ConnectionEnd::Closed),
                WaitEvent::StageReached => {
                    self.persistence = self.persistence.closing();
                    (timer, end, until) = (self.drain_deadline().min(deadline), WaitEnd::Drain, DrainPhase::Closed);
                }
            }
        };
        drop(poll);
        let status = response.status();
        let bytes = self.encode_response(response, &headers);
        self.write(bytes).await?;
        Ok(status)
    }

    /// All bytes of a response.
    fn encode_response(&mut self, response: Response<Bytes>, headers: &[u8]) -> Vec<u8> {
        // A process that has just begun to drain closes its connections, too.
        if *self.shared.stage.borrow() > DrainPhase::Open {
            self.persistence = self.persistence.closing();
        }
        let (mut parts, body) = response.into_parts();
        // What the client waited for is true only now.
        parts.headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
        let (framing, now) = (Framing::Length(body.len()), SystemTime::now());
        let mut bytes = encode_head(self.persistence, parts.status, (headers, &parts.headers), framing, now);
        bytes.extend_from_slice(&body);
        bytes
    }

    fn encode_stream_head(&mut self, status: StatusCode, headers: &[u8]) -> Vec<u8> {
        // Without chunked framing, only the end of the connection ends the body.
        if self.persistence.is_http10() {
            self.persistence = self.persistence.closing();
        }
        encode_head(self.persistence, status, (headers, &HeaderMap::new()), Framing::Chunked, SystemTime::now())
    }

    /// Sends chunk after chunk until the stream or the connection ends.
    async fn stream(
        &mut self,
        mut stream: Box<dyn ChunkStream>,
        heartbeat_every: Duration,
        head: Vec<u8>,
    ) -> Result<(), ConnectionEnd> {
        let persistence = self.persistence;
        let (mut bytes, mut is_last, mut drain_at) = (head, false, None);
        loop {
            self.write(std::mem::take(&mut bytes)).await?;
            if is_last {
                return Ok(());
            }
            let timer = drain_at.unwrap_or_else(|| Instant::now() + heartbeat_every);
            let until = if drain_at.is_some() { DrainPhase::Closed } else { DrainPhase::Draining };
            // A stream that always has a chunk ready must be able to end.
            let event = match drain_at {
                Some(at) if at <= Instant::now() => WaitEvent::TimedOut,
                _ => self.wait(timer, until, GONE_WHEN_FULL, |_, context| stream.poll_chunk(context)).await,
            };
            (bytes, is_last) = match event {
                WaitEvent::Ready(Some(chunk)) => (encode_chunk(&chunk, persistence), false),
                WaitEvent::Ready(None) => (encode_last_chunk(persistence), true),
                WaitEvent::TimedOut if drain_at.is_none() => (encode_chunk(&stream.heartbeat(), persistence), false),
                WaitEvent::TimedOut => (
                    [encode_chunk(&stream.closing_chunk(), persistence), encode_last_chunk(persistence)].concat(),
                    true,
                ),
                WaitEvent::Disconnected => return Err(self.record_disconnect()),
                WaitEvent::StageReached if drain_at.is_some() => return Err(ConnectionEnd::Closed),
                WaitEvent::StageReached => {
                    drain_at = Some(self.drain_deadline());
                    self.persistence = persistence.closing();
                    (Vec::new(), false)
                }
            };
        }
    }

    /// Waits for a value, a disconnect, a deadline or a drain stage.
    fn wait<T>(
        &mut self,
        timer: Instant,
        stage: DrainPhase,
        when_full: Poll<()>,
        mut poll: impl FnMut(&Socket, &mut Context<'_>) -> Poll<T>,
    ) -> impl Future<Output = WaitEvent<T>> {
        let mut stages = self.shared.stage.clone();
        // A block, not a function: a function's future keeps its arguments twice.
        async move {
            let mut reached = pin!(stages.wait_for(|now| *now >= stage));
            let mut timer = pin!(sleep_until(timer));
            poll_fn(|context| {
                // The drain first: a stream that always has a chunk ready must see it.
                if reached.as_mut().poll(context).is_ready() {
                    return Poll::Ready(WaitEvent::StageReached);
                }
                if let Poll::Ready(value) = poll(self.raw.connection.stream(), context) {
                    return Poll::Ready(WaitEvent::Ready(value));
                }
                if self.raw.poll_disconnect(context, when_full).is_ready() {
                    return Poll::Ready(WaitEvent::Disconnected);
                }
                timer.as_mut().poll(context).map(|()| WaitEvent::TimedOut)
            })
            .await
        }
    }

    /// Writes all of this, as long as the client keeps reading some of it.
    async fn write(&mut self, bytes: Vec<u8>) -> Result<(), ConnectionEnd> {
        let mut sent = 0;
        let mut last = None;
        while sent < bytes.len() {
            match self.raw.connection.stream().try_write(&bytes[sent..]) {
                Ok(written) => sent += written,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let (now, limits) = (Instant::now(), &self.shared.config);
                    let last = *last.get_or_insert_with(|| now + limits.read_rate.write_time_max(bytes.len() - sent));
                    let due = last.min(now + limits.idle_timeout);
                    match self.wait(due, DrainPhase::Closed, Poll::Pending, Socket::poll_write_ready).await {
                        // Whether it is writable, the next attempt shows.
                        WaitEvent::Ready(_) => {}
                        WaitEvent::Disconnected => return Err(ConnectionEnd::Done),
                        WaitEvent::TimedOut => return Err(ConnectionEnd::TooSlow),
                        WaitEvent::StageReached => return Err(ConnectionEnd::Closed),
                    }
                }
                Err(_) => return Err(ConnectionEnd::Done),
            }
        }
        Ok(())
    }

    /// When to end the wait of a client that could wait longer: spread over time, because they all come back.
    fn drain_deadline(&self) -> Instant {
        Instant::now() + jitter(DRAIN_JITTER_MAX.min(self.shared.config.drain_max / 2))
    }

    fn record_disconnect(&self) -> ConnectionEnd {
        self.shared.metrics.process.http_parked_left.inc();
        ConnectionEnd::Done
    }
}

/// Counts a connection as parked while it lives.
struct ParkedGauge<'a>(&'a Metrics);

impl<'a> ParkedGauge<'a> {
    fn new(metrics: &'a Metrics) -> Self {
        metrics.process.http_parked.inc();
        Self(metrics)
    }
}

impl Drop for ParkedGauge<'_> {
    fn drop(&mut self) {
        self.0.process.http_parked.dec();
    }
}
