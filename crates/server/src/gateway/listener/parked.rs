//! A connection whose request is parked: a socket, the wait for its answer, and nothing else. No library sits on it, no buffer
//! waits for bytes; the answer is written by hand, and then the connection goes back to whoever reads requests.
//!
//! Knows nothing of what is waited for.

use super::connection::Connection;
use super::connection_state::ParkedRequest;
use super::park::{ChunkStream, LongPoll, ParkedWait, Persistence, WaitEnd};
use super::response_head::{Framing, encode_chunk, encode_head, encode_last_chunk};
use super::{BUFFER_BYTES_MAX, ConnectionEnd, DrainStage, ListenerConfig};
use crate::clock::jitter;
use crate::metrics::Metrics;
use bytes::Bytes;
use engine::limits::DRAIN_JITTER_MAX;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, SystemTime};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// Bytes that are read at a time of what a client sends while it waits: hardly ever any.
const READ_BYTES: usize = 512;
/// A client that waits for minutes and has sent more behind its request than is kept is put out: if it went, nobody would see it.
/// While an answer is written it has its time, and need not be.
const GONE_WHEN_FULL: Poll<()> = Poll::Ready(());

/// A connection that nobody reads requests from.
pub struct RawConnection {
    pub(in crate::gateway) connection: Arc<Connection>,
    /// What the client has sent beyond its last request.
    pub(in crate::gateway) read_ahead: Vec<u8>,
}

/// What ended a wait.
enum WaitEvent<T> {
    /// What was waited for.
    Ready(T),
    /// The time that it had.
    TimedOut,
    /// The client went.
    Disconnected,
    /// The house came to the stage at which this ends.
    StageReached,
}

/// What holding a connection needs to know of the house.
pub(super) struct ParkContext<'a> {
    pub(super) config: &'a ListenerConfig,
    pub(super) metrics: &'a Metrics,
    pub(super) stage: &'a watch::Receiver<DrainStage>,
}

impl RawConnection {
    /// Waits until the request is answered; then this connection is as good as new.
    pub(super) async fn serve_parked(
        &mut self,
        ticket: Box<ParkedRequest>,
        terms: ParkContext<'_>,
    ) -> Result<(), ConnectionEnd> {
        let _counted = ParkedGauge::new(terms.metrics);
        let ParkedRequest {
            wait: guest,
            persistence,
            headers: kept,
            counters: route,
            since,
            status,
            proxied_permit: share,
        } = *ticket;
        let mut holding = ParkedConnection { raw: self, persistence, context: terms };
        match guest {
            ParkedWait::Poll { parked, deadline } => {
                let status = holding.respond(parked, deadline, kept).await?;
                holding.context.metrics.http_parked_answered(route.as_deref(), status.as_u16());
            }
            ParkedWait::Stream { streamed, heartbeat_every } => {
                // Its head is its answer: most streams are ended by their clients.
                holding.context.metrics.http_parked_answered(route.as_deref(), status.as_u16());
                let head = holding.encode_stream_head(status, &kept);
                drop(kept);
                holding.stream(streamed, heartbeat_every, head).await?;
            }
        }
        drop(share);
        let ParkedConnection { persistence, context: terms, .. } = holding;
        terms.metrics.http_held(since.elapsed());
        if persistence.is_keep_alive() { Ok(()) } else { Err(ConnectionEnd::Done) }
    }

    /// Whatever the client does but wait. Its bytes are kept, up to a bound. What stands beyond it is not read, and so the end
    /// behind it is not seen: that is for the caller to judge.
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

/// A connection while it is held.
struct ParkedConnection<'a> {
    raw: &'a mut RawConnection,
    persistence: Persistence,
    context: ParkContext<'a>,
}

impl ParkedConnection<'_> {
    /// Answers a poll, and says with what status.
    async fn respond(
        &mut self,
        mut parked: Box<dyn LongPoll>,
        deadline: Instant,
        kept: Box<[u8]>,
    ) -> Result<StatusCode, ConnectionEnd> {
        let (mut alarm, mut why, mut until) = (deadline, WaitEnd::Deadline, DrainStage::Draining);
        let answer = loop {
            match self.wait(alarm, until, GONE_WHEN_FULL, |_, context| parked.poll_response(context)).await {
                WaitEvent::Ready(answer) => break answer,
                WaitEvent::TimedOut => break parked.finish(why),
                WaitEvent::Disconnected => return Err(self.record_disconnect()),
                WaitEvent::StageReached if until == DrainStage::Closed => return Err(ConnectionEnd::Closed),
                WaitEvent::StageReached => {
                    self.persistence = self.persistence.closing();
                    (alarm, why, until) = (self.drain_deadline().min(deadline), WaitEnd::Drain, DrainStage::Closed);
                }
            }
        };
        drop(parked);
        let status = answer.status();
        let bytes = self.encode_response(answer, &kept);
        self.write(bytes).await?;
        Ok(status)
    }

    /// Everything that is sent of an answer.
    fn encode_response(&mut self, answer: Response<Bytes>, kept: &[u8]) -> Vec<u8> {
        // A house that began to leave just now closes its connections, too.
        if *self.context.stage.borrow() > DrainStage::Open {
            self.persistence = self.persistence.closing();
        }
        let (mut parts, body) = answer.into_parts();
        // Whatever was waited for is true now, and only now.
        parts.headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
        let (framing, now) = (Framing::Length(body.len()), SystemTime::now());
        let mut bytes = encode_head(self.persistence, parts.status, (kept, &parts.headers), framing, now);
        bytes.extend_from_slice(&body);
        bytes
    }

    fn encode_stream_head(&mut self, status: StatusCode, kept: &[u8]) -> Vec<u8> {
        // Where pieces are not framed, only the end of the connection ends them.
        if self.persistence.is_http10() {
            self.persistence = self.persistence.closing();
        }
        encode_head(self.persistence, status, (kept, &HeaderMap::new()), Framing::Chunked, SystemTime::now())
    }

    /// Sends piece after piece until one side has had enough.
    async fn stream(
        &mut self,
        mut streamed: Box<dyn ChunkStream>,
        heartbeat_every: Duration,
        head: Vec<u8>,
    ) -> Result<(), ConnectionEnd> {
        let persistence = self.persistence;
        let (mut bytes, mut is_last, mut leave_at) = (head, false, None);
        loop {
            self.write(std::mem::take(&mut bytes)).await?;
            if is_last {
                return Ok(());
            }
            let alarm = leave_at.unwrap_or_else(|| Instant::now() + heartbeat_every);
            let until = if leave_at.is_some() { DrainStage::Closed } else { DrainStage::Draining };
            // Who always has something to say must be able to end.
            let event = match leave_at {
                Some(at) if at <= Instant::now() => WaitEvent::TimedOut,
                _ => self.wait(alarm, until, GONE_WHEN_FULL, |_, context| streamed.poll_chunk(context)).await,
            };
            (bytes, is_last) = match event {
                WaitEvent::Ready(Some(piece)) => (encode_chunk(&piece, persistence), false),
                WaitEvent::Ready(None) => (encode_last_chunk(persistence), true),
                WaitEvent::TimedOut if leave_at.is_none() => (encode_chunk(&streamed.heartbeat(), persistence), false),
                WaitEvent::TimedOut => (
                    [encode_chunk(&streamed.closing_chunk(), persistence), encode_last_chunk(persistence)].concat(),
                    true,
                ),
                WaitEvent::Disconnected => return Err(self.record_disconnect()),
                WaitEvent::StageReached if leave_at.is_some() => return Err(ConnectionEnd::Closed),
                WaitEvent::StageReached => {
                    leave_at = Some(self.drain_deadline());
                    self.persistence = persistence.closing();
                    (Vec::new(), false)
                }
            };
        }
    }

    /// Waits for something, with one eye on the client, the clock and the house.
    fn wait<T>(
        &mut self,
        alarm: Instant,
        stage: DrainStage,
        when_full: Poll<()>,
        mut poll: impl FnMut(&TcpStream, &mut Context<'_>) -> Poll<T>,
    ) -> impl Future<Output = WaitEvent<T>> {
        let mut stages = self.context.stage.clone();
        // A block, not a function: a function's future keeps what it is given twice.
        async move {
            let mut reached = pin!(stages.wait_for(|now| *now >= stage));
            let mut alarm = pin!(sleep_until(alarm));
            poll_fn(|context| {
                // The house first: who always has something to say must hear of it.
                if reached.as_mut().poll(context).is_ready() {
                    return Poll::Ready(WaitEvent::StageReached);
                }
                if let Poll::Ready(come) = poll(self.raw.connection.stream(), context) {
                    return Poll::Ready(WaitEvent::Ready(come));
                }
                if self.raw.poll_disconnect(context, when_full).is_ready() {
                    return Poll::Ready(WaitEvent::Disconnected);
                }
                alarm.as_mut().poll(context).map(|()| WaitEvent::TimedOut)
            })
            .await
        }
    }

    /// Writes all of this, as long as the client takes some of it now and then.
    async fn write(&mut self, bytes: Vec<u8>) -> Result<(), ConnectionEnd> {
        let mut sent = 0;
        let mut last = None;
        while sent < bytes.len() {
            match self.raw.connection.stream().try_write(&bytes[sent..]) {
                Ok(written) => sent += written,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let (now, limits) = (Instant::now(), self.context.config);
                    let last = *last.get_or_insert_with(|| now + limits.read_rate.write_time_max(bytes.len() - sent));
                    let due = last.min(now + limits.idle_timeout);
                    match self.wait(due, DrainStage::Closed, Poll::Pending, TcpStream::poll_write_ready).await {
                        // Whether it can, trying will tell.
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

    /// When to send a client away that could wait longer: not all in one instant, for they will not stay away.
    fn drain_deadline(&self) -> Instant {
        Instant::now() + jitter(DRAIN_JITTER_MAX.min(self.context.config.drain_max / 2))
    }

    fn record_disconnect(&self) -> ConnectionEnd {
        self.context.metrics.http_parked_left();
        ConnectionEnd::Done
    }
}

/// Counts a connection as parked for as long as it is.
struct ParkedGauge<'a>(&'a Metrics);

impl<'a> ParkedGauge<'a> {
    fn new(metrics: &'a Metrics) -> Self {
        metrics.http_parked();
        Self(metrics)
    }
}

impl Drop for ParkedGauge<'_> {
    fn drop(&mut self) {
        self.0.http_unparked();
    }
}
