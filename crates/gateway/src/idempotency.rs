//! Idempotency keys: a request that is sent twice is done once, and answered twice with the same bytes.
//!
//! The commit carries the key: a repeated request gets the response of the first. A request that would be refused now is looked up
//! before it is refused, so that the response stays the same even when the data has changed in between (a bot was deleted).

use super::extract::RawJson;
use super::problem::{ApiError, ApiResult};
use crate::app::App;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use engine::commands::{Command, CompetitionCommand, Idempotency, Outcome};
use engine::competitions::CompetitionRow;
use engine::ids::{AccountId, PlayerId};
use engine::limits::IDEMPOTENCY_KEY_BYTES_MAX;
use serde::Serialize;
use sha2::{Digest, Sha256};
use store::RememberedResponse;

/// A caller's key with the digest of the request that it came with.
pub(super) struct IdempotencyKey {
    key: String,
    fingerprint: [u8; 32],
}

impl IdempotencyKey {
    pub(super) fn of(request: &RawJson) -> ApiResult<Option<Self>> {
        Ok(key_of(&request.headers)?.map(|key| Self { key, fingerprint: fingerprint(request) }))
    }

    /// The key with the response that the store keeps.
    pub(super) fn with_response(self, response: Vec<u8>) -> Idempotency {
        Idempotency { key: self.key, fingerprint: self.fingerprint, response }
    }
}

/// The response that this very request got before, if it came with a key and was done before.
pub(super) async fn first_response(
    app: &App,
    account: AccountId,
    key: Option<&IdempotencyKey>,
) -> ApiResult<Option<Vec<u8>>> {
    let Some(IdempotencyKey { key, fingerprint }) = key else { return Ok(None) };
    let key = key.clone();
    let stored = app.node.store.read(move |reader| reader.idempotent_response(account, &key)).await?;
    matching_response(stored, fingerprint)
}

/// The same for a request of a player at tables.
pub(super) async fn first_story_response(
    app: &App,
    player: PlayerId,
    key: Option<&IdempotencyKey>,
) -> ApiResult<Option<Vec<u8>>> {
    let Some(IdempotencyKey { key, fingerprint }) = key else { return Ok(None) };
    let key = key.clone();
    let stored = app.node.store.read(move |reader| reader.story_idempotent_response(player, &key)).await?;
    matching_response(stored, fingerprint)
}

fn matching_response(stored: Option<RememberedResponse>, fingerprint: &[u8; 32]) -> ApiResult<Option<Vec<u8>>> {
    match stored {
        None => Ok(None),
        Some((stored, response)) if stored == *fingerprint => Ok(Some(response)),
        Some(_) => Err(ApiError::KeyReused),
    }
}

/// What a refused request is answered: what this very request got before, or the refusal.
pub(super) async fn first_response_or(
    app: &App,
    account: AccountId,
    key: Option<&IdempotencyKey>,
    refusal: ApiError,
) -> ApiResult<Vec<u8>> {
    first_response(app, account, key).await?.ok_or(refusal)
}

/// A competition to be made, and the body that says so.
pub(super) struct NewCompetition {
    pub(super) row: CompetitionRow,
    /// Competitions of this kind that the account may have at once.
    pub(super) live_max: usize,
    pub(super) response: Vec<u8>,
}

/// Makes a competition, durably: the body to answer, its own or that of the first time. `refusal` says why not.
pub(super) async fn create_competition(
    app: &App,
    new: NewCompetition,
    key: Option<IdempotencyKey>,
    refusal: impl FnOnce(&Outcome) -> ApiError,
) -> ApiResult<Vec<u8>> {
    let NewCompetition { row, live_max, response } = new;
    let idempotency = key.map(|key| key.with_response(response.clone()));
    let create = CompetitionCommand::Create { row, live_max, idempotency };
    match app.node.store.commit(Command::Competition(create)).await? {
        Outcome::Done => Ok(response),
        Outcome::Replayed(first_response) => Ok(first_response),
        refused => Err(refusal(&refused)),
    }
}

/// The key in a request's headers, if there is one.
pub(super) fn key_of(headers: &HeaderMap) -> ApiResult<Option<String>> {
    let mut keys = headers.get_all("idempotency-key").into_iter();
    let Some(key) = keys.next() else {
        return Ok(None);
    };
    if keys.next().is_some() {
        return Err(ApiError::BadIdempotencyKey("given twice: send one"));
    }
    parse_key(key).map(Some)
}

fn parse_key(key: &HeaderValue) -> ApiResult<String> {
    let bytes = key.as_bytes();
    if bytes.is_empty() || bytes.len() > IDEMPOTENCY_KEY_BYTES_MAX {
        return Err(ApiError::BadIdempotencyKey("not of 1 to 128 bytes"));
    }
    if !bytes.iter().all(|byte| matches!(byte, b' '..=b'~')) {
        return Err(ApiError::BadIdempotencyKey("not of visible ASCII characters only"));
    }
    Ok(String::from_utf8_lossy(bytes).into_owned())
}

const _: () = assert!(IDEMPOTENCY_KEY_BYTES_MAX == 128, "the refusal above names the limit");

fn fingerprint(request: &RawJson) -> [u8; 32] {
    let mut digest = Sha256::new();
    for part in [request.method.as_str().as_bytes(), b" ", request.path.as_bytes(), b"\n", &request.body] {
        digest.update(part);
    }
    digest.finalize().into()
}

/// A body whose bytes may be stored for repetitions.
pub(super) fn json_body(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("plain shapes always become JSON in memory")
}

/// A response whose bytes are stored for repetitions, or come from the store.
pub(super) fn json_response(status: StatusCode, body: Vec<u8>) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], body).into_response()
}
