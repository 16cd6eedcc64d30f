//! What a replay makes of a match as the body of a response, produced as the client reads it: a JSON object whose last member is a list,
//! or lines of JSON. A response holds one chunk, whatever the length of the match.

use crate::app::App;
use crate::budget::{BudgetOwner, Reservation};
use crate::listener::Keeps;
use crate::problem::{ApiError, ApiResult, Resource};
use crate::response_budget::BudgetExempt;
use axum::Extension;
use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use engine::ids::MatchId;
use engine::limits::REPLAY_RESPONSE_BYTES;
use engine::rows::MatchRow;
use futures_util::stream::try_unfold;
use matches::spectate::{Projection, Replay, SliceOutcome};
use quotas::address_key::AddressKey;
use serde::Serialize;
use std::ops::Range;
use store::{Reader, StoreError};
use wire::viewer::Frame;

/// What stands around the texts of a replay.
#[derive(Clone, Copy)]
struct Framing {
    separator: &'static [u8],
    end: &'static [u8],
}

/// The rest of an object with an empty list as its last member.
const LIST: Framing = Framing { separator: b",", end: b"]}" };
/// A line each.
const LINES: Framing = Framing { separator: b"\n", end: b"\n" };

/// A request for a replay, with the budget for its response.
pub(crate) struct ReplayRequest {
    app: App,
    address: Option<AddressKey>,
    reservation: Reservation,
}

/// A response in progress.
struct ReplayStream {
    replay: Option<Replay>,
    framing: Framing,
    /// What goes before the next text.
    prefix: Vec<u8>,
    id: MatchId,
    _reservation: Reservation,
}

impl ReplayRequest {
    /// Reserves the budget before anything is read or replayed.
    ///
    /// # Errors
    /// When there is none, in all or for this address.
    pub(crate) fn new(app: App, owner: &BudgetOwner) -> ApiResult<Self> {
        let reservation = app.response_budgets.reserve_replay(owner)?;
        Ok(Self { app, address: owner.address, reservation })
    }

    pub(crate) async fn find(&self, id: MatchId) -> ApiResult<MatchRow> {
        self.read(move |reader| reader.match_by_id(id)).await?.ok_or(ApiError::NotFound(Resource::Game))
    }

    /// Reads in the turn of the client's address.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        query: impl FnOnce(&mut dyn Reader) -> Result<T, StoreError> + Send + 'static,
    ) -> ApiResult<T> {
        Ok(self.app.replays.read(self.address, query).await?)
    }

    /// The replay that a projection needs.
    pub(crate) fn project(&self, row: &MatchRow, projection: impl Projection + 'static) -> ApiResult<Replay> {
        let begun = self.app.replays.project(self.address, row.spec.clone(), projection);
        begun.map_err(|error| corrupt(row.spec.id, &error.to_string()).into())
    }

    /// The response: `head`, which ends with an empty list, with the frames of these turns in it.
    pub(crate) async fn respond_frames(
        self,
        row: &MatchRow,
        turns: Range<u32>,
        head: &impl Serialize,
    ) -> ApiResult<Response> {
        let turns = turns.start..turns.end.min(frame_count(row));
        let frames = || self.app.replays.begin(self.address, row.spec.clone(), turns.clone(), |frame| encode(&frame));
        let replay = match turns.is_empty() {
            true => None,
            false => Some(frames().map_err(|error| corrupt(row.spec.id, &error.to_string()))?),
        };
        self.respond_list(row.spec.id, replay, head).await
    }

    /// The response: `head`, which ends with an empty list, with what the replay makes in it. An error before the first text is a refusal;
    /// later, the response is cut off.
    pub(crate) async fn respond_list(
        self,
        id: MatchId,
        replay: Option<Replay>,
        head: &impl Serialize,
    ) -> ApiResult<Response> {
        let mut prefix = serde_json::to_vec(head).expect("plain shapes always become JSON in memory");
        debug_assert!(prefix.ends_with(b"[]}"), "the list comes last");
        prefix.truncate(prefix.len() - LIST.end.len());
        self.stream(id, replay, prefix, LIST).await
    }

    /// The response: `head`, and what the replay makes, a line each.
    pub(crate) async fn respond_lines(self, id: MatchId, replay: Replay, head: &impl Serialize) -> ApiResult<Response> {
        let prefix = serde_json::to_vec(head).expect("plain shapes always become JSON in memory");
        let mut response = self.stream(id, Some(replay), prefix, LINES).await?;
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/x-ndjson"));
        Ok(response)
    }

    /// The first text that a replay makes, if it makes one.
    pub(crate) async fn first_text(self, id: MatchId, replay: &Replay) -> ApiResult<Option<String>> {
        loop {
            let slice = replay.next().await?;
            if let Some(text) = slice.texts.into_iter().next() {
                return Ok(Some(text));
            }
            match slice.outcome {
                SliceOutcome::More => {}
                SliceOutcome::Done | SliceOutcome::CaughtUp(_) => return Ok(None),
                SliceOutcome::Gone => return Err(ApiError::NotFound(Resource::Game)),
                SliceOutcome::Broken(reason) => return Err(corrupt(id, &reason).into()),
            }
        }
    }

    async fn stream(
        self,
        id: MatchId,
        replay: Option<Replay>,
        prefix: Vec<u8>,
        framing: Framing,
    ) -> ApiResult<Response> {
        let mut texts = ReplayStream { replay, framing, prefix, id, _reservation: self.reservation };
        let first = texts.next_chunk().await?;
        let body = Body::from_stream(try_unfold((Some(first), texts), next_chunk));
        Ok((
            [(header::CONTENT_TYPE, "application/json")],
            Extension(BudgetExempt),
            Extension(Keeps(REPLAY_RESPONSE_BYTES)),
            body,
        )
            .into_response())
    }
}

async fn next_chunk(
    (ready, mut frames): (Option<Bytes>, ReplayStream),
) -> Result<Option<(Bytes, (Option<Bytes>, ReplayStream))>, StoreError> {
    if let Some(piece) = ready {
        return Ok(Some((piece, (None, frames))));
    }
    if frames.replay.is_none() {
        return Ok(None);
    }
    match frames.next_chunk().await {
        Ok(piece) => Ok(Some((piece, (None, frames)))),
        Err(error) => {
            tracing::warn!(match.id = %frames.id, %error, "a response of a replay is cut off");
            Err(error)
        }
    }
}

impl ReplayStream {
    /// The next chunk, which is not empty. The replay is gone after the last one.
    async fn next_chunk(&mut self) -> Result<Bytes, StoreError> {
        let mut piece = std::mem::take(&mut self.prefix);
        while let Some(replay) = &self.replay {
            let slice = replay.next().await?;
            let has_texts = !slice.texts.is_empty();
            for text in slice.texts {
                if !piece.ends_with(b"[") {
                    piece.extend_from_slice(self.framing.separator);
                }
                piece.extend_from_slice(text.as_bytes());
            }
            match slice.outcome {
                SliceOutcome::More if has_texts => return Ok(piece.into()),
                SliceOutcome::More => {}
                SliceOutcome::Done | SliceOutcome::CaughtUp(_) => self.replay = None,
                SliceOutcome::Gone => return Err(corrupt(self.id, "it was retired while it was read")),
                SliceOutcome::Broken(reason) => return Err(corrupt(self.id, &reason)),
            }
        }
        piece.extend_from_slice(self.framing.end);
        Ok(piece.into())
    }
}

/// The number of frames: the start, and one for each turn.
pub(super) fn frame_count(row: &MatchRow) -> u32 {
    if row.status.version == 0 { 0 } else { row.status.turns + 1 }
}

fn encode(frame: &Frame) -> String {
    serde_json::to_string(frame).expect("plain shapes always become JSON in memory")
}

fn corrupt(id: MatchId, reason: &str) -> StoreError {
    StoreError::Corrupt { why: format!("match {id}: {reason}") }
}
