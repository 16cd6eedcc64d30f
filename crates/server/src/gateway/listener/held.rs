//! A connection whose request is parked: a socket, the wait for its answer, and nothing else. No library sits on it, no buffer
//! waits for bytes; the answer is written by hand, and then the connection goes back to whoever reads requests.
//!
//! Knows nothing of what is waited for.

use super::connection::Connection;
use super::head::{Framing, chunk, head, last_chunk};
use super::park::{GiveUp, Guest, Parked, Persistence, Streamed};
use super::place::Ticket;
use super::{BUFFER_BYTES_MAX, End, Limits, Stage};
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
use tokio::sync::watch as channel;
use tokio::time::{Instant, sleep_until};

/// Bytes that are read at a time of what a client sends while it waits: hardly ever any.
const READ_BYTES: usize = 512;
/// A client that waits for minutes and has sent more behind its request than is kept is put out: if it went, nobody would see it.
/// While an answer is written it has its time, and need not be.
const HASTY_IS_GONE: Poll<()> = Poll::Ready(());

/// A connection that nobody reads requests from.
pub struct Line {
    pub(in crate::gateway) connection: Arc<Connection>,
    /// What the client has sent beyond its last request.
    pub(in crate::gateway) ahead: Vec<u8>,
}

/// What ended a wait.
enum Event<T> {
    /// What was waited for.
    Come(T),
    /// The time that it had.
    Alarm,
    /// The client went.
    Gone,
    /// The house came to the stage at which this ends.
    Stage,
}

/// What holding a connection needs to know of the house.
pub(super) struct Terms<'a> {
    pub(super) limits: &'a Limits,
    pub(super) metrics: &'a Metrics,
    pub(super) stage: &'a channel::Receiver<Stage>,
}

impl Line {
    /// Waits until the request is answered; then this connection is as good as new.
    pub(super) async fn hold(&mut self, ticket: Box<Ticket>, terms: Terms<'_>) -> Result<(), End> {
        let _counted = Counted::new(terms.metrics);
        let Ticket { guest, persistence, kept, route, since, status, share } = *ticket;
        let mut holding = Holding { line: self, persistence, terms };
        match guest {
            Guest::Poll { parked, deadline } => {
                let status = holding.answer(parked, deadline, kept).await?;
                holding.terms.metrics.http_parked_answered(route.as_deref(), status.as_u16());
            }
            Guest::Stream { streamed, heartbeat_every } => {
                // Its head is its answer: most streams are ended by their clients.
                holding.terms.metrics.http_parked_answered(route.as_deref(), status.as_u16());
                let head = holding.head_of_pieces(status, &kept);
                drop(kept);
                holding.stream(streamed, heartbeat_every, head).await?;
            }
        }
        drop(share);
        let Holding { persistence, terms, .. } = holding;
        terms.metrics.http_held(since.elapsed());
        if persistence.keeps() { Ok(()) } else { Err(End::Done) }
    }

    /// Whatever the client does but wait. Its bytes are kept, up to a bound. What stands beyond it is not read, and so the end
    /// behind it is not seen: that is for the caller to judge.
    fn poll_gone(&mut self, context: &mut Context<'_>, when_full: Poll<()>) -> Poll<()> {
        let mut bytes = [0; READ_BYTES];
        while self.ahead.len() < BUFFER_BYTES_MAX {
            if ready!(self.connection.stream().poll_read_ready(context)).is_err() {
                return Poll::Ready(());
            }
            let room = READ_BYTES.min(BUFFER_BYTES_MAX - self.ahead.len());
            match self.connection.stream().try_read(&mut bytes[..room]) {
                Ok(0) => return Poll::Ready(()),
                Ok(read) => self.ahead.extend_from_slice(&bytes[..read]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => return Poll::Ready(()),
            }
        }
        when_full
    }
}

/// A connection while it is held.
struct Holding<'a> {
    line: &'a mut Line,
    persistence: Persistence,
    terms: Terms<'a>,
}

impl Holding<'_> {
    /// Answers a poll, and says with what status.
    async fn answer(
        &mut self,
        mut parked: Box<dyn Parked>,
        deadline: Instant,
        kept: Box<[u8]>,
    ) -> Result<StatusCode, End> {
        let (mut alarm, mut why, mut until) = (deadline, GiveUp::Deadline, Stage::Draining);
        let answer = loop {
            match self.next(alarm, until, HASTY_IS_GONE, |_, context| parked.poll_answer(context)).await {
                Event::Come(answer) => break answer,
                Event::Alarm => break parked.give_up(why),
                Event::Gone => return Err(self.left()),
                Event::Stage if until == Stage::Closed => return Err(End::PutOut),
                Event::Stage => {
                    self.persistence = self.persistence.closing();
                    (alarm, why, until) = (self.leave_at().min(deadline), GiveUp::Drain, Stage::Closed);
                }
            }
        };
        drop(parked);
        let status = answer.status();
        let bytes = self.whole(answer, &kept);
        self.write(bytes).await?;
        Ok(status)
    }

    /// Everything that is sent of an answer.
    fn whole(&mut self, answer: Response<Bytes>, kept: &[u8]) -> Vec<u8> {
        // A house that began to leave just now closes its connections, too.
        if *self.terms.stage.borrow() > Stage::Open {
            self.persistence = self.persistence.closing();
        }
        let (mut parts, body) = answer.into_parts();
        // Whatever was waited for is true now, and only now.
        parts.headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
        let (framing, now) = (Framing::Length(body.len()), SystemTime::now());
        let mut bytes = head(self.persistence, parts.status, (kept, &parts.headers), framing, now);
        bytes.extend_from_slice(&body);
        bytes
    }

    fn head_of_pieces(&mut self, status: StatusCode, kept: &[u8]) -> Vec<u8> {
        // Where pieces are not framed, only the end of the connection ends them.
        if self.persistence.is_old() {
            self.persistence = self.persistence.closing();
        }
        head(self.persistence, status, (kept, &HeaderMap::new()), Framing::Pieces, SystemTime::now())
    }

    /// Sends piece after piece until one side has had enough.
    async fn stream(
        &mut self,
        mut streamed: Box<dyn Streamed>,
        heartbeat_every: Duration,
        head: Vec<u8>,
    ) -> Result<(), End> {
        let persistence = self.persistence;
        let (mut bytes, mut is_last, mut leave_at) = (head, false, None);
        loop {
            self.write(std::mem::take(&mut bytes)).await?;
            if is_last {
                return Ok(());
            }
            let alarm = leave_at.unwrap_or_else(|| Instant::now() + heartbeat_every);
            let until = if leave_at.is_some() { Stage::Closed } else { Stage::Draining };
            // Who always has something to say must be able to end.
            let event = match leave_at {
                Some(at) if at <= Instant::now() => Event::Alarm,
                _ => self.next(alarm, until, HASTY_IS_GONE, |_, context| streamed.poll_piece(context)).await,
            };
            (bytes, is_last) = match event {
                Event::Come(Some(piece)) => (chunk(&piece, persistence), false),
                Event::Come(None) => (last_chunk(persistence), true),
                Event::Alarm if leave_at.is_none() => (chunk(&streamed.heartbeat(), persistence), false),
                Event::Alarm => ([chunk(&streamed.farewell(), persistence), last_chunk(persistence)].concat(), true),
                Event::Gone => return Err(self.left()),
                Event::Stage if leave_at.is_some() => return Err(End::PutOut),
                Event::Stage => {
                    leave_at = Some(self.leave_at());
                    self.persistence = persistence.closing();
                    (Vec::new(), false)
                }
            };
        }
    }

    /// Waits for something, with one eye on the client, the clock and the house.
    fn next<T>(
        &mut self,
        alarm: Instant,
        stage: Stage,
        when_full: Poll<()>,
        mut poll: impl FnMut(&TcpStream, &mut Context<'_>) -> Poll<T>,
    ) -> impl Future<Output = Event<T>> {
        let mut stages = self.terms.stage.clone();
        // A block, not a function: a function's future keeps what it is given twice.
        async move {
            let mut reached = pin!(stages.wait_for(|now| *now >= stage));
            let mut alarm = pin!(sleep_until(alarm));
            poll_fn(|context| {
                // The house first: who always has something to say must hear of it.
                if reached.as_mut().poll(context).is_ready() {
                    return Poll::Ready(Event::Stage);
                }
                if let Poll::Ready(come) = poll(self.line.connection.stream(), context) {
                    return Poll::Ready(Event::Come(come));
                }
                if self.line.poll_gone(context, when_full).is_ready() {
                    return Poll::Ready(Event::Gone);
                }
                alarm.as_mut().poll(context).map(|()| Event::Alarm)
            })
            .await
        }
    }

    /// Writes all of this, as long as the client takes some of it now and then.
    async fn write(&mut self, bytes: Vec<u8>) -> Result<(), End> {
        let mut sent = 0;
        let mut last = None;
        while sent < bytes.len() {
            match self.line.connection.stream().try_write(&bytes[sent..]) {
                Ok(written) => sent += written,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let (now, limits) = (Instant::now(), self.terms.limits);
                    let last = *last.get_or_insert_with(|| now + limits.reading.longest(bytes.len() - sent));
                    let due = last.min(now + limits.idle_timeout);
                    match self.next(due, Stage::Closed, Poll::Pending, TcpStream::poll_write_ready).await {
                        // Whether it can, trying will tell.
                        Event::Come(_) => {}
                        Event::Gone => return Err(End::Done),
                        Event::Alarm => return Err(End::TooSlow),
                        Event::Stage => return Err(End::PutOut),
                    }
                }
                Err(_) => return Err(End::Done),
            }
        }
        Ok(())
    }

    /// When to send a client away that could wait longer: not all in one instant, for they will not stay away.
    fn leave_at(&self) -> Instant {
        Instant::now() + jitter(DRAIN_JITTER_MAX.min(self.terms.limits.drain_max / 2))
    }

    fn left(&self) -> End {
        self.terms.metrics.http_parked_left();
        End::Done
    }
}

/// Counts a connection as parked for as long as it is.
struct Counted<'a>(&'a Metrics);

impl<'a> Counted<'a> {
    fn new(metrics: &'a Metrics) -> Self {
        metrics.http_parked();
        Self(metrics)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.http_unparked();
    }
}
