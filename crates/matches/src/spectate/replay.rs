//! Replays: a match's log played back for one viewer, slice by slice, on dedicated threads and readers. Running matches, creating them and
//! readiness checks do not wait behind replays, and viewers are served in turn by client address.
//!
//! Knows neither HTTP nor what is made of a match: that is its [`Projection`].

use super::checkpoints::Checkpoints;
use super::frame::Frames;
use super::projection::{PlayedEntry, Projection};
use engine::limits::{REPLAY_CHUNK_BYTES, REPLAY_LOG_BYTES_MAX, REPLAY_SLICE_ENTRIES};
use engine::matches::lifecycle::MatchState;
use engine::matches::machine::{MatchError, MatchMachine};
use engine::matches::spec::MatchSpec;
use engine::rows::{MatchLogPage, MatchLogRow};
use metrics::{Metrics, ResponseMetrics};
use quotas::address_key::AddressKey;
use quotas::fair_semaphore::FairSemaphore;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use store::{Reader, ReaderPool, Store, StoreError};
use wire::viewer::Frame;

/// What all replays of one process share.
pub struct Replays {
    readers: ReaderPool,
    /// As many as there are readers, in turn by address.
    permits: Arc<FairSemaphore<Option<AddressKey>>>,
    checkpoints: Arc<Checkpoints>,
    metrics: Arc<ResponseMetrics>,
}

/// One viewer's replay.
pub struct Replay {
    replays: Arc<Replays>,
    address: Option<AddressKey>,
    cursor: Arc<Mutex<Cursor>>,
}

/// How far one viewer has come.
struct Cursor {
    machine: MatchMachine,
    projection: Box<dyn Projection>,
    /// Entries that were read and not played yet.
    rows: VecDeque<MatchLogRow>,
    /// The length of the log when it was read last, and the match's state.
    version: u32,
    state: MatchState,
}

/// The result of one slice of a replay.
pub struct Slice {
    /// What the projection made, in order; perhaps nothing yet.
    pub texts: Vec<String>,
    pub outcome: SliceOutcome,
}

/// What follows a slice.
#[derive(Clone)]
pub enum SliceOutcome {
    /// Another slice.
    More,
    /// All that was requested was returned.
    Done,
    /// The whole log was played, and this was the match's state: more may come unless the match has ended.
    CaughtUp(MatchState),
    /// The match was retired meanwhile.
    Gone,
    /// The log cannot be replayed.
    Broken(String),
}

impl Replays {
    /// Replays on so many threads; checkpoints take at most `cache_bytes`.
    ///
    /// # Panics
    /// When the system cannot start a thread at the start of the process.
    pub fn new(store: &Store, threads: usize, cache_bytes: usize, metrics: &Metrics) -> Arc<Self> {
        let (threads, metrics) = (threads.max(1), metrics.responses.clone());
        let readers = store.dedicated_readers(threads, metrics.clone()).expect("a process that begins finds threads");
        let checkpoints = Arc::new(Checkpoints::new(cache_bytes, metrics.clone()));
        Arc::new(Self { readers, permits: FairSemaphore::new(threads), checkpoints, metrics })
    }

    /// Reads for a viewer at this address, when it is its turn.
    pub async fn read<T: Send + 'static>(
        &self,
        address: Option<AddressKey>,
        query: impl FnOnce(&mut dyn Reader) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let started_at = Instant::now();
        let permit = self.permits.acquire(address).await;
        self.metrics.replay_wait.observe(started_at.elapsed());
        // The permit goes with the work: a viewer that disconnects does not stop it.
        self.readers
            .read(move |reader| {
                let _permit = permit;
                query(reader)
            })
            .await
    }

    /// Begins to replay the frames of these turns of a match.
    pub fn begin(
        self: &Arc<Self>,
        address: Option<AddressKey>,
        spec: MatchSpec,
        turns: Range<u32>,
        encode: fn(Frame) -> String,
    ) -> Result<Replay, MatchError> {
        self.project(address, spec, Frames { turns, encode })
    }

    /// Begins to replay what a projection makes of a match.
    pub fn project(
        self: &Arc<Self>,
        address: Option<AddressKey>,
        spec: MatchSpec,
        projection: impl Projection + 'static,
    ) -> Result<Replay, MatchError> {
        let (machine, rows) = (MatchMachine::new(spec)?, VecDeque::new());
        let projection = Box::new(projection);
        let cursor = Cursor { machine, projection, rows, version: 0, state: MatchState::Waiting };
        Ok(Replay { replays: self.clone(), address, cursor: Arc::new(Mutex::new(cursor)) })
    }
}

impl Replay {
    /// The next slice.
    ///
    /// # Errors
    /// When the store fails: nothing was played, and the same may be tried again.
    pub async fn next(&self) -> Result<Slice, StoreError> {
        let (cursor, replays) = (self.cursor.clone(), self.replays.clone());
        let slice = move |reader: &mut dyn Reader| {
            let mut cursor = cursor.lock().unwrap_or_else(PoisonError::into_inner);
            cursor.slice(reader, &replays)
        };
        self.replays.read(self.address, slice).await
    }
}

impl Cursor {
    fn slice(&mut self, reader: &mut dyn Reader, replays: &Replays) -> Result<Slice, StoreError> {
        self.seek(&replays.checkpoints);
        if self.rows.is_empty() {
            let id = self.machine.spec().id;
            let Some(page) = reader.match_log(id, self.machine.version(), REPLAY_SLICE_ENTRIES)? else {
                return Ok(Slice { texts: Vec::new(), outcome: SliceOutcome::Gone });
            };
            self.buffer_rows(page);
        }
        let mut texts = Vec::new();
        let after =
            self.play(replays, &mut texts).unwrap_or_else(|error| Some(SliceOutcome::Broken(error.to_string())));
        let caught_up = || match self.rows.is_empty() && self.machine.version() >= self.version {
            true => SliceOutcome::CaughtUp(self.state),
            false => SliceOutcome::More,
        };
        Ok(Slice { texts, outcome: after.unwrap_or_else(caught_up) })
    }

    /// Continues from a checkpoint if one is nearer to the first state that the projection needs.
    fn seek(&mut self, checkpoints: &Checkpoints) {
        let first = self.projection.first_turn();
        if self.machine.turns() < first
            && let Some(nearer) = checkpoints.latest_before(self.machine.spec().id, first.saturating_add(1))
            && nearer.turns() > self.machine.turns()
        {
            self.machine = (*nearer).clone();
            self.rows.clear();
        }
    }

    /// Keeps as many entries as may be; the others are read again.
    fn buffer_rows(&mut self, page: MatchLogPage) {
        (self.version, self.state) = (page.version, page.state);
        let mut bytes = 0;
        let fits = |row: &MatchLogRow| {
            bytes += row.bytes.len();
            bytes == row.bytes.len() || bytes <= REPLAY_LOG_BYTES_MAX
        };
        self.rows = page.rows.into_iter().take_while(fits).collect();
    }

    /// Plays the entries, until enough was made of them. Returns what follows, if that is known already.
    fn play(&mut self, replays: &Replays, texts: &mut Vec<String>) -> Result<Option<SliceOutcome>, MatchError> {
        let mut bytes = 0;
        while bytes < REPLAY_CHUNK_BYTES
            && let Some(row) = self.rows.pop_front()
        {
            let turn_before = self.machine.turns();
            self.projection.before(&self.machine, &row);
            self.machine.replay(&row)?;
            replays.metrics.replay_entries.inc();
            // Only the start position and turns change the board.
            let is_new_board = row.version == 0 || self.machine.turns() != turn_before;
            if is_new_board {
                replays.checkpoints.offer(&self.machine);
            }
            let made = self.projection.after(&PlayedEntry { machine: &self.machine, row: &row, is_new_board });
            if let Some(text) = made.text {
                bytes += text.len();
                texts.push(text);
            }
            if made.is_last {
                return Ok(Some(SliceOutcome::Done));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::future::join_all;
    use std::sync::mpsc;
    use store::StoreConfig;
    use store::testing::MemoryDatabase;
    use tokio::task::yield_now;

    /// Replays of one address that take all their threads hold up no other read of the store; and the next thread goes to another address,
    /// however many of the first wait.
    #[tokio::test]
    async fn replays_wait_only_for_each_other_and_in_turn() {
        let metrics = Arc::new(Metrics::default());
        let store = Store::open(Arc::new(MemoryDatabase::new()), StoreConfig { readers: 1 }, metrics.clone()).unwrap();
        let replays = Replays::new(&store, 1, 1 << 20, &metrics);
        let address = |last: u8| Some(AddressKey::of([192, 0, 2, last].into()));
        let (let_go, gate) = mpsc::channel::<()>();
        let order = Arc::new(Mutex::new(Vec::new()));
        let first = tokio::spawn({
            let replays = replays.clone();
            async move { replays.read(address(1), move |_| Ok(gate.recv().is_err())).await }
        });
        let mut waiting = Vec::new();
        for last in [1, 1, 1, 1, 2] {
            yield_now().await;
            let (replays, order) = (replays.clone(), order.clone());
            waiting.push(tokio::spawn(async move {
                replays
                    .read(address(last), move |_| {
                        order.lock().unwrap().push(last);
                        Ok(())
                    })
                    .await
            }));
        }
        yield_now().await;
        assert_eq!(store.read(|reader| reader.probe()).await, Ok(()));
        assert!(!first.is_finished() && order.lock().unwrap().is_empty());
        drop(let_go);
        assert_eq!(first.await.unwrap(), Ok(true));
        join_all(waiting).await.into_iter().for_each(|read| assert_eq!(read.unwrap(), Ok(())));
        assert_eq!(*order.lock().unwrap(), [1, 2, 1, 1, 1]);
    }
}
