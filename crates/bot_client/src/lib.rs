//! The client that calls bots: our own small HTTP/1.1 over pooled connections, because ten thousand calls wait at the same time and a
//! waiting call must hold a socket and hardly anything else.
//!
//! A call never fails: every error is a class of answer, with the measured latency. One deadline covers connect, head and body. Redirects
//! are not followed.

pub mod address;
mod call;
mod connection;
mod exchange;
mod failure;
mod pool;
pub mod probe;
mod replies;
mod response;
pub mod signing;
mod signing_secrets;
pub mod statistics;
mod target;
pub mod view;

#[cfg(test)]
mod tests;

pub use call::{BotCall, Webhook};
pub use connection::ConnectTimes;
pub use failure::CallFailure;
pub use signing_secrets::SigningSecrets;
pub use target::canonical_url;

use engine::limits::{BOT_INDEX_TIMEOUT, BOT_TIMEOUT_MAX};
use engine::matches::entry::{AnswerClass, Face};
use engine::matches::machine::BotAnswer;
use engine::matches::response_excerpt::ResponseExcerpt;
use exchange::Request;
use metrics::Metrics;
use pool::Pool;
use quotas::socket_budget::SocketBudget;
use response::Response;
use signing::CallSigner;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use target::Target;
use tokio::sync::OnceCell;
use tokio::time::{Instant, timeout_at};

/// How long a bot's face is cached.
const FACE_TTL: Duration = Duration::from_secs(60);
/// A late answer is this process's own fault when its tasks ran late for this part of the call's time, one of so many …
const STALL_PART: u32 = 4;
/// … and for this long.
const STALL_MIN: Duration = Duration::from_millis(50);
/// Faces that are cached at the same time.
const FACES_MAX: usize = 10_000;

type FaceCell = Arc<OnceCell<Face>>;

#[derive(Clone)]
pub struct BotClient {
    pool: Arc<Pool>,
    faces: Arc<Mutex<HashMap<String, (Instant, FaceCell)>>>,
    metrics: Arc<Metrics>,
}

impl BotClient {
    /// A client with at most `connections_per_host` connections to any one host and port, each with a permit of `sockets`;
    /// `is_private_allowed` lets it call addresses that are not of the public Internet.
    #[must_use]
    pub fn new(
        connections_per_host: usize,
        is_private_allowed: bool,
        metrics: Arc<Metrics>,
        sockets: Arc<SocketBudget>,
    ) -> Self {
        let pool = Pool::new(connections_per_host, is_private_allowed, metrics.clone(), sockets);
        let pool = Arc::new(pool);
        Self { pool, faces: Arc::default(), metrics }
    }

    /// Calls a bot. The wait for a free connection under the limits does not count as the bot's: its clock starts after.
    pub async fn call(&self, call: BotCall) -> BotAnswer {
        let Some(target) = Target::parse(&call.url) else {
            return answer_without_move(AnswerClass::Unreachable, Duration::ZERO, call.timeout);
        };
        let requested_at = Instant::now();
        let slot = self.pool.acquire(&target).await;
        let sent = Instant::now();
        self.metrics.matches.bot_permit_wait.observe(sent - requested_at);
        let request = Request::post(&target, call.webhook.segment(), &call.body, call.signer.as_ref());
        drop(call.body);
        let stalled_before = self.metrics.process.stalled();
        let is_repeatable = call.webhook == Webhook::Move;
        let result = timeout_at(sent + call.timeout, exchange::run(slot, &target, request, is_repeatable)).await;
        let took = sent.elapsed();
        match result {
            Ok(Ok(response)) if response.status != 200 => {
                let response = excerpt(call.webhook, &response);
                BotAnswer { response, ..answer_without_move(AnswerClass::BadStatus, took, call.timeout) }
            }
            Ok(Ok(response)) if call.webhook == Webhook::Move => {
                let (class, mv, shout) = replies::classify_move(&response.body);
                let response = if mv.is_some() { None } else { excerpt(call.webhook, &response) };
                BotAnswer { mv, shout, response, ..answer_without_move(class, took, call.timeout) }
            }
            Ok(Ok(_)) => answer_without_move(AnswerClass::Valid, took, call.timeout),
            Ok(Err(failure)) => answer_without_move(failure.class(), took, call.timeout),
            Err(_) if self.was_stalled(took, call.timeout, stalled_before) => {
                answer_without_move(AnswerClass::ServerFault, call.timeout, call.timeout)
            }
            Err(_) => answer_without_move(AnswerClass::Late, call.timeout, call.timeout),
        }
    }

    /// A bot's face; requested once a minute at most, however many matches open.
    pub async fn face(&self, url: &str, signer: Option<CallSigner>) -> Face {
        let cell = self.face_cell(url);
        cell.get_or_init(|| self.fetch_face(url, signer)).await.clone()
    }

    /// Closes connections that were idle for a while, and drops outdated faces. For a background job.
    pub fn sweep(&self) {
        self.pool.sweep();
        let now = Instant::now();
        self.faces
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .retain(|_, (requested_at, _)| now - *requested_at < FACE_TTL);
    }

    /// Closes every idle connection.
    pub fn close_idle(&self) {
        self.pool.close_idle();
    }

    /// Whether there is an idle connection that its peer has not closed.
    #[cfg(test)]
    fn pool_has_reusable_idle(&self) -> bool {
        self.pool.has_reusable_idle()
    }

    /// Whether this process ran late during a call that has timed out: its timer fired late, or the probe of the scheduler was stalled.
    fn was_stalled(&self, took: Duration, timeout: Duration, stalled_before: Duration) -> bool {
        let stalled = took.saturating_sub(timeout) + self.metrics.process.stalled().saturating_sub(stalled_before);
        stalled >= STALL_MIN.max(timeout / STALL_PART)
    }

    fn face_cell(&self, url: &str) -> FaceCell {
        let mut faces = self.faces.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if let Some((requested_at, cell)) = faces.get(url)
            && now - *requested_at < FACE_TTL
        {
            return cell.clone();
        }
        if faces.len() >= FACES_MAX {
            faces.clear();
        }
        let cell = FaceCell::default();
        faces.insert(url.to_owned(), (now, cell.clone()));
        cell
    }

    async fn fetch_face(&self, url: &str, signer: Option<CallSigner>) -> Face {
        let Some(target) = Target::parse(url) else { return Face::default() };
        let slot = self.pool.acquire(&target).await;
        let request = Request::get(&target, signer.as_ref());
        let result = timeout_at(Instant::now() + BOT_INDEX_TIMEOUT, exchange::run(slot, &target, request, true)).await;
        match result {
            Ok(Ok(response)) if response.status == 200 => replies::parse_face(&response.body),
            Ok(Ok(_) | Err(_)) | Err(_) => Face::default(),
        }
    }
}

fn answer_without_move(class: AnswerClass, took: Duration, timeout: Duration) -> BotAnswer {
    let latency_ms = took.min(timeout).min(BOT_TIMEOUT_MAX).as_millis() as u16;
    BotAnswer::without_move(class, latency_ms)
}

/// What came instead of a move. Answers to notices count for nothing, so nothing is kept of them.
fn excerpt(webhook: Webhook, response: &Response) -> Option<Box<ResponseExcerpt>> {
    (webhook == Webhook::Move).then(|| Box::new(ResponseExcerpt::new(response.status, &response.body)))
}
