//! Frames as the body of a response: a JSON object whose last member is the list of frames, produced as the client reads it. A response
//! holds one chunk, whatever the length of the match.

use crate::app::App;
use crate::budget::{BudgetOwner, Reservation};
use crate::listener::Keeps;
use crate::problem::{ApiError, ApiResult, Resource};
use crate::response_budget::BudgetExempt;
use axum::Extension;
use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use engine::ids::MatchId;
use engine::limits::REPLAY_RESPONSE_BYTES;
use engine::rows::MatchRow;
use futures_util::stream::try_unfold;
use matches::spectate::{Replay, SliceOutcome};
use quotas::address_key::AddressKey;
use serde::Serialize;
use std::ops::Range;
use store::StoreError;
use wire::viewer::Frame;

/// The end of an object with an empty list of frames as its last member.
const END: &str = "]}";

/// A request for frames, with the budget for its response.
pub(crate) struct ReplayRequest {
    app: App,
    address: Option<AddressKey>,
    reservation: Reservation,
}

/// A response in progress.
struct ReplayStream {
    replay: Option<Replay>,
    /// What goes before the next frame.
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
        let found = self.app.replays.read(self.address, move |reader| reader.match_by_id(id)).await?;
        found.ok_or(ApiError::NotFound(Resource::Game))
    }

    /// The response: `head`, which ends with an empty list, with the frames of these turns in it. An error before the first of them is a
    /// refusal; later, the response is cut off.
    pub(crate) async fn respond(self, row: &MatchRow, turns: Range<u32>, head: &impl Serialize) -> ApiResult<Response> {
        let mut head_bytes = serde_json::to_vec(head).expect("plain shapes always become JSON in memory");
        debug_assert!(head_bytes.ends_with(format!("[{END}").as_bytes()), "the frames come last");
        head_bytes.truncate(head_bytes.len() - END.len());
        let id = row.spec.id;
        let turns = turns.start..turns.end.min(frame_count(row));
        let replay = match turns.is_empty() {
            true => None,
            false => {
                let begun = self.app.replays.begin(self.address, row.spec.clone(), turns, |frame| encode(&frame));
                Some(begun.map_err(|error| corrupt(id, &error.to_string()))?)
            }
        };
        let mut frames = ReplayStream { replay, prefix: head_bytes, id, _reservation: self.reservation };
        let first = frames.next_chunk().await?;
        let body = Body::from_stream(try_unfold((Some(first), frames), next_chunk));
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
            tracing::warn!(match.id = %frames.id, %error, "a response with frames is cut off");
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
            let has_frames = !slice.texts.is_empty();
            for frame in slice.texts {
                if !piece.ends_with(b"[") {
                    piece.push(b',');
                }
                piece.extend_from_slice(frame.as_bytes());
            }
            match slice.outcome {
                SliceOutcome::More if has_frames => return Ok(piece.into()),
                SliceOutcome::More => {}
                SliceOutcome::Done | SliceOutcome::CaughtUp(_) => self.replay = None,
                SliceOutcome::Gone => return Err(corrupt(self.id, "it was retired while its frames were read")),
                SliceOutcome::Broken(reason) => return Err(corrupt(self.id, &reason)),
            }
        }
        piece.extend_from_slice(END.as_bytes());
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
