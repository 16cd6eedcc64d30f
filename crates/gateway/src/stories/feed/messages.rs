//! The encoded feed of a table: the response of a poll, and the message of a stream or a socket.

use super::super::{event_view, view};
use axum::http::{HeaderValue, Response, StatusCode, header};
use bytes::Bytes;
use engine::ids::{PlayerId, TableId};
use engine::tables::FeedUpdate;
use serde::Serialize;
use tables::{Feed, FeedResponse, ViewResult};
use wire::api::{StoryFeed, StoryFeedTooOld, StoryMessage};
use wire::problem::PROBLEM_JSON;

pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json");
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");
/// Nearly every message fits in so many bytes, and allocates once.
const MESSAGE_CAPACITY_BYTES: usize = 1_024;

/// The response of a poll.
pub(super) fn poll_response(table: TableId, feed_response: &FeedResponse) -> Response<Bytes> {
    match &feed_response.feed {
        Feed::News(update) => {
            let body =
                feed_response.encoded_once(|feed_response| json(&feed_view(table, update, &feed_response.online)));
            uncached_response(StatusCode::OK, JSON, body)
        }
        Feed::TooOld(view) => {
            let gone = StatusCode::GONE;
            let body = StoryFeedTooOld {
                status: gone.as_u16(),
                title: gone.canonical_reason().unwrap_or_default().to_owned(),
                code: "cursor_too_old".to_owned(),
                detail:
                    "the table no longer has the events after this cursor, or never gave it: start again from the view"
                        .to_owned(),
                seq: view.seq,
                view: view::state(view, &feed_response.online, None),
            };
            uncached_response(gone, HeaderValue::from_static(PROBLEM_JSON), json(&body))
        }
    }
}

/// The message for this response, and the reader's cursor after it.
pub(super) fn message(table: TableId, feed_response: &FeedResponse) -> (u64, Bytes) {
    match &feed_response.feed {
        Feed::News(update) => {
            (update.seq, json(&StoryMessage::Update(feed_view(table, update, &feed_response.online))))
        }
        Feed::TooOld(view) => {
            (view.seq, json(&StoryMessage::View(Box::new(view::state(view, &feed_response.online, None)))))
        }
    }
}

/// The first message for a reader without a cursor.
pub(super) fn first_message(seen: &ViewResult) -> (u64, Bytes) {
    let view = view::state(&seen.view, &seen.online, None);
    (seen.view.seq, json(&StoryMessage::View(Box::new(view))))
}

fn feed_view(table: TableId, update: &FeedUpdate, online: &[PlayerId]) -> StoryFeed {
    let events: Vec<_> = update.events.iter().map(|event| event_view::event(table, event)).collect();
    StoryFeed {
        seq: update.seq,
        timed_out: events.is_empty(),
        committed_at_us: update.committed_at_us,
        events,
        presence: view::presence(online),
    }
}

fn json(value: &impl Serialize) -> Bytes {
    let mut bytes = Vec::with_capacity(MESSAGE_CAPACITY_BYTES);
    serde_json::to_writer(&mut bytes, value).expect("plain shapes always become JSON in memory");
    bytes.into()
}

/// A response that is not cached.
pub(crate) fn uncached_response(status: StatusCode, content_type: HeaderValue, body: Bytes) -> Response<Bytes> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, content_type);
    response.headers_mut().insert(header::CACHE_CONTROL, NO_STORE);
    response
}
