//! From a complete request to its answer: which bot, which move, which fault. Synchronous and quick; the connection
//! does the waiting. Knows no sockets.

use std::borrow::Cow;
use std::time::Duration;

use wire::webhook::Request;

use crate::characters::{Chance, Character, Decision, Purpose};
use crate::config::Config;
use crate::counters::{Counters, count};
use crate::fault::{self, Fault};
use crate::http::{Method, ParsedMessage, Problem, Status};
use crate::limits::{DELAY_MAX, LATE_MARGIN};
use crate::reply::{Content, Reply};
use crate::route::{self, Call, Route};

/// What all connections share.
#[derive(Debug)]
pub(crate) struct BotService {
    /// Behaviour of bots whose URL does not override it.
    pub(crate) defaults: Config,
    pub(crate) counters: Counters,
}

impl BotService {
    /// The answer to a complete request.
    pub(crate) fn respond(&self, message: &ParsedMessage<'_>) -> Reply {
        count(&self.counters.requests);
        let reply = self.respond_by_route(message).unwrap_or_else(|problem| self.refuse(problem));
        // An answer to HEAD and the like ends elsewhere than we and the client would agree on.
        let is_framed = message.method != Method::Other;
        Reply { keep_alive: reply.keep_alive && message.keep_alive && is_framed, ..reply }
    }

    /// The answer to bytes that are no request: the last one on their connection, since its end cannot be found.
    pub(crate) fn respond_to_bad_request(&self, problem: Problem) -> Reply {
        count(&self.counters.requests);
        Reply { keep_alive: false, ..self.refuse(problem) }
    }

    fn refuse(&self, problem: Problem) -> Reply {
        count(&self.counters.refused);
        Reply::at_once(Content::Problem(Box::new(problem)))
    }

    fn respond_by_route(&self, message: &ParsedMessage<'_>) -> Result<Reply, Problem> {
        let content = match route::resolve(message.method, message.target, &self.defaults)? {
            Route::Characters => json(characters_json()),
            Route::Healthz => json(r#"{"status":"ok"}"#),
            Route::Metrics => Content::Metrics(self.counters.exposition()),
            Route::Index(character) => json(character.index_json()),
            Route::Call(character, config, Call::Move) => {
                return self.respond_to_move(character, &config, message.body);
            }
            Route::Call(_, _, Call::Start | Call::End) => read(message.body).map(|_| json("{}"))?,
        };
        Ok(Reply::at_once(content))
    }

    fn respond_to_move(&self, character: Character, config: &Config, body: &[u8]) -> Result<Reply, Problem> {
        let request = read(body)?;
        let fault = fault::draw(&config.faults, &mut Chance::of(config.seed, &request, Purpose::Fault));
        let decision = Decision::careless(&request, config.seed, config.careless)
            .unwrap_or_else(|| character.decide(&request, config.seed));
        count(&self.counters.moves);
        if let Some(fault) = fault {
            self.counters.count_fault(fault);
        }
        let keep_alive = fault != Some(Fault::HangUp);
        let delay = delay(config.think, request.game.timeout, fault);
        Ok(Reply { delay, keep_alive, content: content(Content::Move(decision), fault) })
    }
}

fn read(body: &[u8]) -> Result<Request<'_>, Problem> {
    serde_json::from_slice(body).map_err(|error| {
        let detail = format!("the body is no request of the webhook API: {error}");
        Problem::new(Status::BAD_REQUEST, "bad_body", detail)
    })
}

/// How long the answer is held back.
fn delay(think: Duration, timeout_ms: u32, fault: Option<Fault>) -> Duration {
    let late = Duration::from_millis(timeout_ms.into()) + LATE_MARGIN;
    match fault {
        Some(Fault::Late) => think.max(late).min(DELAY_MAX),
        _ => think,
    }
}

/// What is sent instead of `good`.
fn content(good: Content, fault: Option<Fault>) -> Content {
    match fault {
        None | Some(Fault::Late) => good,
        Some(Fault::BrokenJson) => json(r#"{"move":"up"#),
        Some(Fault::NoSuchMove) => json(r#"{"move":"sideways"}"#),
        Some(Fault::Huge) => Content::Huge,
        Some(Fault::HangUp) => Content::HangUp,
        Some(Fault::ServerError) => Content::Json(
            Status::INTERNAL_SERVER_ERROR,
            Cow::Borrowed(r#"{"status":500,"title":"Internal Server Error","code":"refused_on_purpose"}"#),
        ),
    }
}

fn json(text: impl Into<Cow<'static, str>>) -> Content {
    Content::Json(Status::OK, text.into())
}

fn characters_json() -> String {
    let list: Vec<_> = Character::ALL
        .into_iter()
        .map(|character| {
            let name = character.name();
            serde_json::json!({ "name": name, "path": format!("/{name}"), "about": character.about() })
        })
        .collect();
    serde_json::json!({ "characters": list }).to_string()
}
