//! The frames of a match that is being played, replayed once for all who watch it here. A viewer comes with the number of turns that it has
//! been shown: the first one after a notification reads, the others get what it read. A viewer that is further behind than a few frames
//! replays by itself. Knows nothing of sockets.

use axum::extract::ws::Utf8Bytes;
use engine::ids::MatchId;
use engine::limits::LIVE_FRAMES_KEPT;
use engine::matches::machine::MatchError;
use engine::matches::spec::MatchSpec;
use matches::notifier::{Notifier, Subscription};
use matches::spectate::{Replay, Replays, Slice, SliceOutcome};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};
use store::StoreError;
use wire::viewer::{Event, Frame};

/// The matches that are watched while they are played.
#[derive(Clone, Default)]
pub struct LiveMatches(Arc<Mutex<HashMap<MatchId, Weak<LiveMatch>>>>);

impl LiveMatches {
    /// A match among them, as long as a viewer holds it.
    pub(crate) fn join(&self, notifier: &Notifier, id: MatchId) -> Arc<LiveMatch> {
        let mut matches = self.lock();
        if let Some(live) = matches.get(&id).and_then(Weak::upgrade) {
            return live;
        }
        let tail = Tail {
            subscription: notifier.subscribe(id),
            read_at: None,
            replay: None,
            frames: VecDeque::new(),
            next: 0,
            outcome: SliceOutcome::More,
        };
        let live = Arc::new(LiveMatch { id, all: self.clone(), tail: tail.into() });
        matches.insert(id, Arc::downgrade(&live));
        live
    }

    /// No change of the map spans two entries.
    fn lock(&self) -> MutexGuard<'_, HashMap<MatchId, Weak<LiveMatch>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A match that is watched.
pub(crate) struct LiveMatch {
    id: MatchId,
    all: LiveMatches,
    tail: tokio::sync::Mutex<Tail>,
}

/// The newest frames.
struct Tail {
    subscription: Subscription,
    read_at: Option<Instant>,
    /// Gone while it reads, so that one whose reader was dropped meanwhile is not used again: what it read is lost.
    replay: Option<Replay>,
    frames: VecDeque<Utf8Bytes>,
    /// The number of the frame after them.
    next: u32,
    /// What followed the last one.
    outcome: SliceOutcome,
}

/// What a viewer is to be sent.
pub(crate) struct Frames {
    pub(crate) texts: Vec<Utf8Bytes>,
    pub(crate) outcome: SliceOutcome,
}

impl From<Slice> for Frames {
    fn from(slice: Slice) -> Self {
        Self { texts: slice.texts.into_iter().map(Utf8Bytes::from).collect(), outcome: slice.outcome }
    }
}

/// Why there is nothing to send.
pub(crate) enum LiveError {
    /// The store fails: the same may be tried again.
    Store(StoreError),
    /// The match cannot be replayed.
    Match(MatchError),
}

impl LiveMatch {
    /// The frames from this one on, which may be none yet; `None` for a viewer that is further behind than what is kept.
    ///
    /// The store is read if there was a notification since it was read last, or when that is `look_every` ago.
    pub(crate) async fn frames_from(
        &self,
        replays: &Arc<Replays>,
        spec: &MatchSpec,
        from: u32,
        look_every: Duration,
    ) -> Result<Option<Frames>, LiveError> {
        let mut tail = self.tail.lock().await;
        let mut may_read = tail.next <= from && tail.is_due(look_every);
        while may_read {
            let replay = tail.take_replay(replays, spec, from).map_err(LiveError::Match)?;
            let slice = replay.next().await;
            tail.replay = Some(replay);
            let read = tail.append(slice.map_err(LiveError::Store)?);
            may_read = read == 0 && matches!(tail.outcome, SliceOutcome::More);
        }
        Ok(tail.frames_from(from))
    }
}

impl Tail {
    fn is_due(&mut self, look_every: Duration) -> bool {
        let has_more = self.replay.is_none() || matches!(self.outcome, SliceOutcome::More);
        let is_notified = self.subscription.take_change();
        let is_due = has_more || is_notified || self.read_at.is_none_or(|at| at.elapsed() >= look_every);
        if is_due {
            self.read_at = Some(Instant::now());
        }
        is_due
    }

    fn take_replay(&mut self, replays: &Arc<Replays>, spec: &MatchSpec, from: u32) -> Result<Replay, MatchError> {
        if let Some(replay) = self.replay.take() {
            return Ok(replay);
        }
        self.frames.clear();
        self.next = from;
        replays.begin(None, spec.clone(), from..u32::MAX, encode)
    }

    /// Returns how many frames the slice has. All of them are kept, until the next one.
    fn append(&mut self, slice: Slice) -> usize {
        let Frames { texts, outcome } = slice.into();
        let read = texts.len();
        self.next += read as u32;
        self.frames.extend(texts);
        let surplus = self.frames.len().saturating_sub(read.max(LIVE_FRAMES_KEPT));
        self.frames.drain(..surplus);
        self.outcome = outcome;
        read
    }

    fn frames_from(&self, from: u32) -> Option<Frames> {
        let first = self.next - self.frames.len() as u32;
        let has = from.checked_sub(first)? as usize;
        Some(Frames { texts: self.frames.iter().skip(has).cloned().collect(), outcome: self.outcome.clone() })
    }
}

/// A frame as viewers get it.
pub(crate) fn encode(frame: Frame) -> String {
    serde_json::to_string(&Event::Frame(frame)).expect("plain shapes always become JSON in memory")
}

impl Drop for LiveMatch {
    fn drop(&mut self) {
        let mut matches = self.all.lock();
        // A viewer may have joined anew meanwhile.
        if matches.get(&self.id).is_some_and(|live| live.strong_count() == 0) {
            matches.remove(&self.id);
        }
    }
}
