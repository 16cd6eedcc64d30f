//! The client that calls bots: our own small HTTP/1.1 over pooled connections, because ten thousand calls wait at the same time and a
//! waiting call must hold a socket and hardly anything else.
//!
//! A call never fails: every error is a class of answer, with the measured latency. One deadline covers connect, head and body. Redirects
//! are not followed.

pub mod address;
mod call;
mod clock;
mod connection;
mod exchange;
mod faces;
mod failure;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod gate;
mod names;
mod pool;
pub mod probe;
mod replies;
mod response;
pub mod signing;
mod signing_secrets;
pub mod statistics;
mod target;
mod texts;
pub mod view;

#[cfg(test)]
mod tests;

pub use call::{BotCall, Webhook};
pub use connection::ConnectTimes;
pub use failure::CallFailure;
pub use gate::LimitedAddresses;
pub use signing_secrets::SigningSecrets;
pub use target::{canonical_host, canonical_url};

use clock::CallClock;
use engine::health::CallFault;
use engine::ids::AccountId;
use engine::limits::{BOT_INDEX_TIMEOUT, BOT_TIMEOUT_MAX};
use engine::matches::entry::{AnswerClass, Face};
use engine::matches::machine::BotAnswer;
use engine::matches::response_excerpt::ResponseExcerpt;
use exchange::{CallRoute, Request};
use faces::FaceCache;
use gate::{CallSubject, Ending, Gate, Purpose};
use metrics::Metrics;
use names::{Names, Sources};
use pool::Pool;
use quotas::socket_budget::SocketBudget;
use response::Response;
use signing::CallSigner;
use std::sync::Arc;
use std::time::Duration;
use target::Target;
use telemetry::{Span, TraceContext};
use tokio::time::Instant;

#[derive(Clone)]
pub struct BotClient {
    pool: Arc<Pool>,
    gate: Arc<Gate>,
    names: Names,
    is_private_allowed: bool,
    faces: Arc<FaceCache>,
    metrics: Arc<Metrics>,
}

impl BotClient {
    /// A client with at most `connections_per_host` connections to any one host and port, each with a permit of `sockets`;
    /// `is_private_allowed` lets it call addresses that are not of the public Internet. `limited` says where calls that are not answered, and
    /// connections to one address, have limits.
    #[must_use]
    pub fn new(
        connections_per_host: usize,
        is_private_allowed: bool,
        limited: LimitedAddresses,
        metrics: Arc<Metrics>,
        sockets: Arc<SocketBudget>,
    ) -> Self {
        let pool = Arc::new(Pool::new(connections_per_host, sockets));
        let gate = Gate::new(limited, metrics.clone());
        let names = Names::new(Sources::system(), metrics.clone());
        Self { pool, gate, names, is_private_allowed, faces: Arc::default(), metrics }
    }

    /// Calls a bot. The wait for a free connection under the limits, and until it may be called, does not count as the bot's.
    pub async fn call(&self, mut call: BotCall) -> BotAnswer {
        let span = call.span.take();
        let answer = self.make_call(&call, span.as_ref().map(Span::context)).await;
        if let Some(span) = span {
            record_answer(span, &call, &answer);
        }
        answer
    }

    async fn make_call(&self, call: &BotCall, trace: Option<TraceContext>) -> BotAnswer {
        let Some(target) = Target::parse(&call.url) else {
            return answer_without_move(AnswerClass::Unreachable, Duration::ZERO);
        };
        let request = Request::post(&target, call.webhook.segment(), &call.body, call.signer.as_ref(), trace);
        let is_move = call.webhook == Webhook::Move;
        let purpose = if is_move { Purpose::Move } else { Purpose::Notice };
        let subject = CallSubject { target: &target, account: call.account, purpose };
        let mut clock = CallClock::start(&self.metrics, call.timeout);
        let requested_at = clock.begun_at();
        let route = CallRoute { subject, give_up_at: gate::give_up_at(requested_at), permit_wait_max: None };
        let result = self.exchange(&route, request, is_move, &mut clock).await;
        let took = clock.elapsed();
        self.metrics.matches.bot_permit_wait.observe(clock.begun_at() - requested_at);
        let (response, admission) = match result {
            Ok(exchanged) => exchanged,
            Err(failure) if failure.is_timeout() => return answer_without_move(failure.class(), call.timeout),
            Err(failure) => return answer_without_move(failure.class(), took),
        };
        if response.status != 200 {
            admission.settle(Ending::Failed);
            let response = excerpt(call.webhook, &response);
            return BotAnswer { response, ..answer_without_move(AnswerClass::BadStatus, took) };
        }
        if !is_move {
            admission.settle(Ending::Neutral);
            return answer_without_move(AnswerClass::Valid, took);
        }
        let (class, mv, shout) = replies::classify_move(&response.body);
        admission.settle(if mv.is_some() { Ending::ValidMove } else { Ending::Failed });
        let response = if mv.is_some() { None } else { excerpt(call.webhook, &response) };
        BotAnswer { mv, shout, response, ..answer_without_move(class, took) }
    }

    /// A bot's face. What it answers to one account is cached for a minute, so that it is not requested for each match; a request that was not
    /// made tells nothing about the bot, and is not cached.
    pub async fn face(&self, url: &str, signer: Option<CallSigner>, account: AccountId) -> Face {
        let Some(target) = Target::parse(url) else { return Face::default() };
        let url = target.canonical_url();
        let face = self.faces.get_or_fetch(account, &url, || self.fetch_face(&target, signer, account)).await;
        face.unwrap_or_default()
    }

    /// Closes connections that were idle for a while, drops outdated faces and standings, and reads the system's DNS configuration again if it
    /// has changed. For a background job.
    pub fn sweep(&self) {
        self.pool.sweep();
        self.gate.sweep();
        self.names.sweep();
        self.faces.sweep();
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

    /// The face that a bot answers, the default one if its answer is none; `None`: it was not called.
    async fn fetch_face(&self, target: &Target, signer: Option<CallSigner>, account: AccountId) -> Option<Face> {
        let request = Request::get(target, signer.as_ref());
        let subject = CallSubject { target, account, purpose: Purpose::Index };
        let route = CallRoute { subject, give_up_at: gate::give_up_at(Instant::now()), permit_wait_max: None };
        match self.exchange(&route, request, true, &mut CallClock::start(&self.metrics, BOT_INDEX_TIMEOUT)).await {
            Ok((response, admission)) if response.status == 200 => {
                admission.settle(Ending::Neutral);
                Some(replies::parse_face(&response.body))
            }
            Ok((_, admission)) => {
                admission.settle(Ending::Failed);
                Some(Face::default())
            }
            Err(failure) => {
                let is_made = !matches!(failure.fault, CallFault::Throttled | CallFault::ServerFault);
                is_made.then(Face::default)
            }
        }
    }
}

/// Host and port alone: the path of a bot's URL may be its secret.
fn record_answer(mut span: Span, call: &BotCall, answer: &BotAnswer) {
    if let Some(target) = Target::parse(&call.url) {
        span.set("server.address", target.key.host);
        span.set("server.port", u64::from(target.key.port));
    }
    span.set("http.request.method", "POST");
    span.set("gauntlet.bot.answer", answer.class.name());
    span.set("gauntlet.bot.latency_ms", u64::from(answer.latency_ms));
    if answer.class != AnswerClass::Valid {
        span.fail(answer.class.name());
    }
}

fn answer_without_move(class: AnswerClass, took: Duration) -> BotAnswer {
    let latency_ms = took.min(BOT_TIMEOUT_MAX).as_millis() as u16;
    BotAnswer::without_move(class, latency_ms)
}

/// What came instead of a move. Answers to notices count for nothing, so nothing is kept of them.
fn excerpt(webhook: Webhook, response: &Response) -> Option<Box<ResponseExcerpt>> {
    (webhook == Webhook::Move).then(|| Box::new(ResponseExcerpt::new(response.status, &response.body)))
}
