//! From what the log knows to what the wire shows.

use super::shell;
use bot_client::Webhook;
use bytes::Bytes;
use engine::limits::{RESPONSE_EXCERPT_BYTES_MAX, RESPONSE_EXCERPTS_PER_SEAT_MAX};
use engine::matches::entry::AnswerClass;
use engine::rows::MatchRow;
use matches::evidence::{Call, CallAnswer};
use rules::snake::{Elimination, Move};
use serde::Serialize;
use serde_json::value::RawValue;
use wire::api::{
    BotResponse, CallEvidence, CallOutcome, EvidenceSubject, MoveAnswer, RecordedCall, SentRequest, SnakeDeath,
    SnakeTurn,
};

const _: () = assert!(
    RESPONSE_EXCERPT_BYTES_MAX == 512 && RESPONSE_EXCERPTS_PER_SEAT_MAX == 16,
    "the description of `CallOutcome` names both"
);

/// The snake in this seat.
pub(super) fn subject(row: &MatchRow, seat: usize) -> EvidenceSubject {
    let spec = &row.spec;
    EvidenceSubject {
        game_id: spec.id.to_string(),
        status: row.status.state.name().to_owned(),
        seat: seat as u8,
        snake_id: spec.seats[seat].bot.to_string(),
        name: spec.seats[seat].name.clone(),
        you_id: spec.snake_id(seat).to_string(),
        timeout_ms: spec.timeout_ms.into(),
    }
}

pub(super) fn turn(call: &Call) -> SnakeTurn {
    let CallAnswer { class, latency_ms, played, shout, response: _ } = &call.answer;
    SnakeTurn {
        turn: call.turn,
        health: call.health,
        length: call.length as u32,
        answer: MoveAnswer {
            played: played.map(Move::as_str).unwrap_or_default().to_owned(),
            class: class.name().to_owned(),
            latency_ms: *latency_ms,
            is_late: *class == AnswerClass::Late,
            shout: shout.to_string(),
        },
        cause: call.elimination.map(|out| out.cause.as_str().to_owned()),
    }
}

pub(super) fn evidence(subject: EvidenceSubject, base_url: &str, timeout_ms: u16, call: Call) -> CallEvidence {
    let body = raw(call.body.as_ref());
    let url = shell::call_url(base_url, call.webhook);
    let curl = shell::curl(&url, body.get(), timeout_ms);
    CallEvidence {
        subject,
        call: name(call.webhook).to_owned(),
        turn: call.turn,
        request: SentRequest { url, body, curl },
        answer: outcome(call.answer),
        death: call.elimination.map(death),
    }
}

pub(super) fn recorded(call: Call) -> RecordedCall {
    RecordedCall {
        call: name(call.webhook).to_owned(),
        turn: call.turn,
        request: raw(call.body.as_ref()),
        answer: outcome(call.answer),
    }
}

pub(super) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("plain shapes always become JSON in memory")
}

fn outcome(CallAnswer { class, latency_ms, played, shout, response }: CallAnswer) -> CallOutcome {
    let played = played.map(|played| played.as_str().to_owned());
    let response = response.map(|kept| BotResponse { status: kept.status(), excerpt: kept.text().to_owned() });
    CallOutcome { class: class.name().to_owned(), latency_ms, played, shout: shout.into(), response }
}

fn death(out: Elimination) -> SnakeDeath {
    SnakeDeath { cause: out.cause.as_str().to_owned(), by_seat: out.by.map(|seat| seat.0) }
}

fn name(webhook: Webhook) -> &'static str {
    webhook.segment()
}

/// A body that this server rendered, as it stands.
fn raw(body: Option<&Bytes>) -> Box<RawValue> {
    let text = body.and_then(|body| str::from_utf8(body).ok()).unwrap_or("null");
    RawValue::from_string(text.to_owned()).expect("a request to a bot is JSON")
}
