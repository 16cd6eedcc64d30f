//! Frames as the body of an answer: a JSON object whose last member is the list of frames, made as the client takes it. Whatever the
//! length of the match, an answer holds one piece of it.

use super::replay::{Replay, SliceOutcome};
use crate::address_key::AddressKey;
use crate::app::App;
use crate::gateway::budget::{Account, Reservation};
use crate::gateway::listener::Keeps;
use crate::gateway::problem::{ApiError, ApiResult, Resource};
use crate::gateway::response_budget::BudgetExempt;
use axum::Extension;
use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use engine::ids::MatchId;
use engine::limits::REPLAY_RESPONSE_BYTES;
use engine::rows::MatchRow;
use futures_util::stream::try_unfold;
use serde::Serialize;
use std::ops::Range;
use store::StoreError;
use wire::viewer::Frame;

/// What an object with an empty list of frames at its end ends with.
const END: &str = "]}";

/// Somebody who wants frames, and the room for the answer.
pub(crate) struct FramesRequest {
    app: App,
    address: Option<AddressKey>,
    reservation: Reservation,
}

/// An answer on its way.
struct FrameStream {
    replay: Option<Replay>,
    /// What goes before the next frame.
    prefix: Vec<u8>,
    id: MatchId,
    _reservation: Reservation,
}

impl FramesRequest {
    /// Takes the room before anything is read or replayed.
    ///
    /// # Errors
    /// When there is none, for all or for this address.
    pub(crate) fn new(app: App, account: &Account) -> ApiResult<Self> {
        let reservation = app.response_budget.reserve_replay(account)?;
        Ok(Self { app, address: account.address(), reservation })
    }

    /// The match that they are of.
    pub(crate) async fn find(&self, id: MatchId) -> ApiResult<MatchRow> {
        let found = self.app.replays.read(self.address, move |reader| reader.match_by_id(id)).await?;
        found.ok_or(ApiError::NotFound(Resource::Game))
    }

    /// The answer: `head`, which ends with an empty list, with the frames of these turns in it. What goes wrong before the first of
    /// them is a refusal; later, the answer breaks off.
    pub(crate) async fn respond(self, row: &MatchRow, turns: Range<u32>, head: &impl Serialize) -> ApiResult<Response> {
        let mut before = serde_json::to_vec(head).expect("plain shapes always become JSON in memory");
        debug_assert!(before.ends_with(format!("[{END}").as_bytes()), "the frames stand last");
        before.truncate(before.len() - END.len());
        let id = row.spec.id;
        let turns = turns.start..turns.end.min(frame_count(row));
        let replay = match turns.is_empty() {
            true => None,
            false => {
                let begun = self.app.replays.begin(self.address, row.spec.clone(), turns, |frame| encode(&frame));
                Some(begun.map_err(|why| corrupt(id, &why.to_string()))?)
            }
        };
        let mut frames = FrameStream { replay, prefix: before, id, _reservation: self.reservation };
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
    (ready, mut frames): (Option<Bytes>, FrameStream),
) -> Result<Option<(Bytes, (Option<Bytes>, FrameStream))>, StoreError> {
    if let Some(piece) = ready {
        return Ok(Some((piece, (None, frames))));
    }
    if frames.replay.is_none() {
        return Ok(None);
    }
    match frames.next_chunk().await {
        Ok(piece) => Ok(Some((piece, (None, frames)))),
        Err(error) => {
            tracing::warn!(match.id = %frames.id, %error, "an answer with frames breaks off");
            Err(error)
        }
    }
}

impl FrameStream {
    /// The next piece, which is not empty. No replay is left after the last one.
    async fn next_chunk(&mut self) -> Result<Bytes, StoreError> {
        let mut piece = std::mem::take(&mut self.prefix);
        while let Some(replay) = &self.replay {
            let slice = replay.next().await?;
            let has_frames = !slice.frames.is_empty();
            for frame in slice.frames {
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
                SliceOutcome::Broken(why) => return Err(corrupt(self.id, &why)),
            }
        }
        piece.extend_from_slice(END.as_bytes());
        Ok(piece.into())
    }
}

/// Frames that there are: the start, and one for each turn.
pub(super) fn frame_count(row: &MatchRow) -> u32 {
    if row.status.version == 0 { 0 } else { row.status.turns + 1 }
}

fn encode(frame: &Frame) -> String {
    serde_json::to_string(frame).expect("plain shapes always become JSON in memory")
}

fn corrupt(id: MatchId, why: &str) -> StoreError {
    StoreError::Corrupt { why: format!("match {id}: {why}") }
}
