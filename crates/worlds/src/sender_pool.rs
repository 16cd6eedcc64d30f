//! Sender threads: they encode what writers hand over and send it, so that no move waits for many system calls. All messages for one sink
//! go through one thread, in order. A few answers with nothing queued before them are sent by the writer itself, because waking a sender
//! thread would cost more.
//!
//! Values travel in batches: lists that go back and forth between a writer and a sender thread, so that nothing is allocated once they have
//! grown. Knows neither worlds nor formats.

use super::client_sink::{ClientSink, CloseReason, OutboundMessage};
use super::mailbox::Mailbox;
use engine::limits::{WORLD_EVENTS_PER_SLICE, WORLD_INLINE_SENDS_MAX, WORLD_UNSENT_MAX};
use engine::worlds::{Answer, HuntEvent, ViewDelta, ViewOptions};
use metrics::Metrics;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Empty batches that one sender thread keeps for later.
const SPARES_MAX: usize = 8;
/// Items of a batch after which it is handed over: small enough that the first of them do not wait for the last.
const BATCH_ITEMS_MAX: usize = 256;
/// Bytes of a frame buffer that are kept.
const BUFFER_BYTES_KEPT: usize = 64 * 1024;

/// One message for one sink.
pub(super) enum BatchItem {
    Answer(Answer),
    /// The view at this index of the batch.
    View(usize),
    Event(Arc<HuntEvent>),
    ViewChanged(Option<ViewOptions>),
    Close(CloseReason),
}

/// What one sender thread is to send, in order.
#[derive(Default)]
pub(super) struct SendBatch {
    items: Vec<(Arc<dyn ClientSink>, BatchItem)>,
    views: Vec<ViewDelta>,
    views_used: usize,
    queued_at: Option<Instant>,
}

/// The sender threads of a process. When the last handle is dropped, they send what they have and end.
#[derive(Clone)]
pub(super) struct SenderPool(Arc<SenderThreads>);

struct SenderThreads {
    threads: Vec<Arc<SenderThread>>,
}

/// One sender thread, as writers see it.
struct SenderThread {
    mailbox: Mailbox<(), SendBatch>,
    spares: Mutex<Vec<SendBatch>>,
    /// Items handed over and not sent yet.
    unsent: AtomicUsize,
    metrics: Arc<Metrics>,
}

/// A writer's side: a batch in the making for each sender thread.
pub(super) struct OutboundBuffer {
    senders: SenderPool,
    batches: Vec<SendBatch>,
    /// Frames that the writer sends itself.
    frames: Vec<u8>,
}

impl SenderPool {
    /// Starts `count` sender threads.
    ///
    /// # Errors
    /// When the system cannot start a thread.
    pub(super) fn start(count: usize, metrics: &Arc<Metrics>) -> io::Result<Self> {
        let thread = || {
            let (mailbox, spares, unsent) = (Mailbox::new(0), Mutex::default(), AtomicUsize::new(0));
            Arc::new(SenderThread { mailbox, spares, unsent, metrics: metrics.clone() })
        };
        let threads = std::iter::repeat_with(thread).take(count.max(1)).collect();
        let pool = SenderThreads { threads };
        for thread in &pool.threads {
            let thread = thread.clone();
            std::thread::Builder::new().name("world-sender".to_owned()).spawn(move || thread.run())?;
        }
        Ok(Self(Arc::new(pool)))
    }

    /// Whether so much is unsent that clients should not ask for more.
    pub(super) fn is_behind(&self) -> bool {
        self.0.threads.iter().any(|thread| thread.unsent.load(Ordering::Relaxed) > WORLD_UNSENT_MAX)
    }

    /// Whether hardly anything is unsent.
    fn is_nearly_drained(&self) -> bool {
        self.0.threads.iter().all(|thread| thread.unsent.load(Ordering::Relaxed) < WORLD_EVENTS_PER_SLICE as usize)
    }

    pub(super) fn buffer(&self) -> OutboundBuffer {
        let batches = self.0.threads.iter().map(|thread| thread.take_spare()).collect();
        OutboundBuffer { senders: self.clone(), batches, frames: Vec::new() }
    }
}

impl Drop for SenderThreads {
    fn drop(&mut self) {
        self.threads.iter().for_each(|thread| thread.mailbox.close());
    }
}

impl OutboundBuffer {
    /// Queues a view that `write_view` writes; returns whether there was anything to see.
    pub(super) fn view(
        &mut self,
        index: u32,
        sink: &Arc<dyn ClientSink>,
        write_view: impl FnOnce(&mut ViewDelta) -> bool,
    ) -> bool {
        let at = self.thread_index(index);
        let batch = &mut self.batches[at];
        if batch.views_used == batch.views.len() {
            batch.views.push(ViewDelta::default());
        }
        let view = batch.views_used;
        if !write_view(&mut batch.views[view]) {
            return false;
        }
        batch.views_used += 1;
        self.push(index, sink, BatchItem::View(view));
        true
    }

    /// Whether hardly anything of what was handed over is unsent.
    pub(super) fn is_nearly_drained(&self) -> bool {
        self.senders.is_nearly_drained()
    }

    /// Whether the thread of this sink has so much to send that another view would only wait.
    pub(super) fn is_behind(&self, index: u32) -> bool {
        let thread = &self.senders.0.threads[self.thread_index(index)];
        thread.unsent.load(Ordering::Relaxed) > WORLD_UNSENT_MAX / 2
    }

    /// Hands everything over, or sends it here if it is little.
    pub(super) fn flush(&mut self) {
        let mut room = WORLD_INLINE_SENDS_MAX;
        for at in 0..self.batches.len() {
            let (batch, thread) = (&mut self.batches[at], &self.senders.0.threads[at]);
            let items = batch.items.len();
            // Views are expensive to encode, and what a thread has not sent yet goes first.
            if items > room || batch.views_used > 0 || thread.unsent.load(Ordering::Acquire) > 0 {
                self.hand_over(at);
            } else if items > 0 {
                room -= items;
                batch.queued_at = Some(Instant::now());
                thread.send_batch(batch, &mut self.frames);
                batch.items.clear();
            }
        }
    }

    /// Queues a message. `index` is the sink's index, always the same.
    pub(super) fn push(&mut self, index: u32, sink: &Arc<dyn ClientSink>, item: BatchItem) {
        let at = self.thread_index(index);
        self.batches[at].items.push((sink.clone(), item));
        if self.batches[at].items.len() >= BATCH_ITEMS_MAX {
            self.hand_over(at);
        }
    }

    fn hand_over(&mut self, at: usize) {
        if self.batches[at].items.is_empty() {
            return;
        }
        let thread = &self.senders.0.threads[at];
        let mut batch = std::mem::replace(&mut self.batches[at], thread.take_spare());
        batch.queued_at = Some(Instant::now());
        thread.unsent.fetch_add(batch.items.len(), Ordering::Relaxed);
        // Closed only when no handle is left, and this is one.
        let _ = thread.mailbox.send_control(batch);
    }

    fn thread_index(&self, index: u32) -> usize {
        index as usize % self.batches.len()
    }
}

impl SenderThread {
    fn run(&self) {
        let (mut batches, mut none, mut frames) = (Vec::new(), Vec::new(), Vec::new());
        while self.mailbox.recv_batch(&mut none, &mut batches, None) {
            for mut batch in batches.drain(..) {
                let items = batch.items.len();
                self.send_batch(&mut batch, &mut frames);
                // A writer that finds nothing unsent sends what follows itself, in order.
                self.unsent.fetch_sub(items, Ordering::Release);
                self.recycle(batch);
            }
        }
    }

    /// Sends a batch. Consecutive items for one sink are sent together.
    fn send_batch(&self, batch: &mut SendBatch, frames: &mut Vec<u8>) {
        let mut rest = batch.items.as_slice();
        while let Some((sink, _)) = rest.first() {
            let same = rest.iter().take_while(|(other, _)| Arc::ptr_eq(sink, other)).count();
            let (items, others) = rest.split_at(same);
            rest = others;
            // A defect in one connection's encoding must not stop the others.
            if catch_unwind(AssertUnwindSafe(|| self.send_to(sink.as_ref(), items, &batch.views, frames))).is_err() {
                tracing::error!(
                    "sending to a connection panicked, by a defect of this program; the connection is closed"
                );
                sink.close(CloseReason::Broken);
            }
        }
        if let Some(queued_at) = batch.queued_at.take() {
            self.metrics.worlds.send.observe(queued_at.elapsed());
        }
    }

    fn send_to(
        &self,
        sink: &dyn ClientSink,
        items: &[(Arc<dyn ClientSink>, BatchItem)],
        views: &[ViewDelta],
        frames: &mut Vec<u8>,
    ) {
        frames.clear();
        let mut ending = None;
        for (_, item) in items {
            match item {
                BatchItem::Answer(answer) => sink.encode(&OutboundMessage::Answer(answer), frames),
                BatchItem::View(view) => sink.encode(&OutboundMessage::View(&views[*view]), frames),
                BatchItem::Event(event) => sink.encode(&OutboundMessage::Event(event), frames),
                BatchItem::ViewChanged(options) => sink.encode(&OutboundMessage::ViewChanged(*options), frames),
                BatchItem::Close(reason) => ending = Some(*reason),
            }
        }
        if !frames.is_empty() {
            self.metrics.worlds.sent_bytes.add(frames.len() as u64);
            sink.send(frames);
        }
        if let Some(reason) = ending {
            sink.close(reason);
        }
        if frames.capacity() > BUFFER_BYTES_KEPT {
            *frames = Vec::new();
        }
    }

    fn take_spare(&self) -> SendBatch {
        self.spares().pop().unwrap_or_default()
    }

    fn recycle(&self, mut batch: SendBatch) {
        batch.items.clear();
        batch.views_used = 0;
        let mut spares = self.spares();
        if spares.len() < SPARES_MAX {
            spares.push(batch);
        }
    }

    /// The list is consistent even if a holder of the lock panicked.
    fn spares(&self) -> std::sync::MutexGuard<'_, Vec<SendBatch>> {
        self.spares.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
