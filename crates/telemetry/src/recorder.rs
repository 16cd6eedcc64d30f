//! Takes spans that have ended, gives ids to new ones, and remembers the requests that created matches.

use crate::context::TraceContext;
use crate::record::{SpanPosition, SpanRecord};
use crate::sampler::Sampler;
use lru::LruCache;
use metrics::Metrics;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::mpsc;

/// Spans that wait for the exporter; beyond it they are dropped and counted. A span takes some 500 bytes.
pub(crate) const QUEUE_MAX: usize = 8_192;
/// Matches of one request that are of its trace: a trace with the turns of a thousand matches could not be read.
const MATCHES_PER_REQUEST_MAX: usize = 16;
/// Matches that wait to be played and whose request is remembered; beyond it the oldest are traced as if their request had not been.
const MATCHES_REMEMBERED: NonZeroUsize = NonZeroUsize::new(4_096).expect("it is not zero");

pub(crate) struct Recorder {
    pub(crate) sampler: Sampler,
    queue: mpsc::Sender<SpanRecord>,
    ids: AtomicU64,
    /// The requests that created matches, by the matches' ids.
    creators: Mutex<LruCache<u128, TraceContext>>,
    metrics: Arc<Metrics>,
}

impl Recorder {
    /// A recorder, and the spans that end in it.
    pub(crate) fn new(sampler: Sampler, metrics: Arc<Metrics>) -> (Self, mpsc::Receiver<SpanRecord>) {
        let (queue, spans) = mpsc::channel(QUEUE_MAX);
        let ids = AtomicU64::new(getrandom::u64().expect("the system has random numbers"));
        let creators = Mutex::new(LruCache::new(MATCHES_REMEMBERED));
        (Self { sampler, queue, ids, creators, metrics }, spans)
    }

    /// These matches are of this trace, if this process plays them.
    pub(crate) fn remember_matches(&self, ids: impl Iterator<Item = u128>, request: TraceContext) {
        let mut creators = self.creators();
        for id in ids.take(MATCHES_PER_REQUEST_MAX) {
            creators.put(id, request);
        }
    }

    /// Never waits.
    pub(crate) fn record(&self, span: SpanRecord) {
        self.metrics.telemetry.spans.inc();
        if self.queue.try_send(span).is_err() {
            self.metrics.telemetry.spans_dropped.inc();
        }
    }

    /// The position of a span in a trace of its own.
    pub(crate) fn new_root(&self) -> SpanPosition {
        let trace_id = u128::from(self.new_id()) << 64 | u128::from(self.new_id());
        SpanPosition { trace_id, span_id: self.new_id(), parent_id: None, has_remote_parent: false }
    }

    /// A number that is not zero, and new in this process. Ids are unique, not secret: a random start, then a mixed counter.
    pub(crate) fn new_id(&self) -> u64 {
        loop {
            let id = mix(self.ids.fetch_add(1, Ordering::Relaxed));
            if id != 0 {
                return id;
            }
        }
    }

    /// The request that created this match, if it is recorded.
    pub(crate) fn creator(&self, id: u128) -> Option<TraceContext> {
        self.creators().peek(&id).copied()
    }

    /// Consistent even if a holder of the lock panicked: each call changes one entry at a time.
    fn creators(&self) -> MutexGuard<'_, LruCache<u128, TraceContext>> {
        self.creators.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A permutation of all numbers that leaves no likeness between neighbours (the finalizer of SplitMix64: Steele, Lea and Flood,
/// "Fast splittable pseudorandom number generators", 2014).
pub(crate) fn mix(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}
