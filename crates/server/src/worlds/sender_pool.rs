//! Tellers: threads that encode what writers hand over and send it, so that no move waits for many system calls. What one outlet is told
//! goes through one teller, in order; a few answers, behind which nobody waits, the writer tells itself, because waking a teller
//! would cost more than they do.
//!
//! Values travel in sheaves: lists that go back and forth between a writer and its teller, so that nothing is allocated once they
//! have grown. Knows neither worlds nor formats.

use super::client_sink::{ClientSink, CloseReason, OutboundMessage};
use super::mailbox::Mailbox;
use crate::metrics::Metrics;
use engine::limits::{WORLD_EVENTS_PER_SLICE, WORLD_INLINE_SENDS_MAX, WORLD_UNSENT_MAX};
use engine::worlds::{Answer, HuntEvent, ViewDelta, ViewOptions};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Sheaves of one teller that are kept for later.
const SPARES_MAX: usize = 8;
/// Notes of a sheaf after which it is handed over: small enough that the first of them do not wait for the last.
const BATCH_ITEMS_MAX: usize = 256;
/// Bytes of a frame buffer that are kept.
const BUFFER_BYTES_KEPT: usize = 64 * 1024;

/// One thing to tell one outlet.
enum BatchItem {
    Answer(Answer),
    /// The view at this place of the sheaf.
    View(usize),
    Event(Arc<HuntEvent>),
    ViewChanged(Option<ViewOptions>),
    Close(CloseReason),
}

/// What one teller is to tell, in order.
#[derive(Default)]
pub(super) struct SendBatch {
    items: Vec<(Arc<dyn ClientSink>, BatchItem)>,
    views: Vec<ViewDelta>,
    views_used: usize,
    queued_at: Option<Instant>,
}

/// The tellers of a process, for everybody who has something to tell. When the last handle goes, they tell what they have and end.
#[derive(Clone)]
pub(super) struct SenderPool(Arc<SenderThreads>);

struct SenderThreads {
    threads: Vec<Arc<SenderThread>>,
}

/// One teller, as writers see it.
struct SenderThread {
    mailbox: Mailbox<(), SendBatch>,
    spares: Mutex<Vec<SendBatch>>,
    /// Notes handed over and not told yet.
    unsent: AtomicUsize,
    metrics: Arc<Metrics>,
}

/// A writer's side: a sheaf in the making for each teller.
pub(super) struct OutboundBuffer {
    senders: SenderPool,
    batches: Vec<SendBatch>,
    /// Frames of what it tells itself.
    frames: Vec<u8>,
}

impl SenderPool {
    /// Starts so many tellers.
    ///
    /// # Errors
    /// When the system gives no threads.
    pub(super) fn start(count: usize, metrics: &Arc<Metrics>) -> io::Result<Self> {
        let teller = || {
            let (tray, spares, untold) = (Mailbox::new(0), Mutex::default(), AtomicUsize::new(0));
            Arc::new(SenderThread { mailbox: tray, spares, unsent: untold, metrics: metrics.clone() })
        };
        let crew = SenderThreads { threads: std::iter::repeat_with(teller).take(count.max(1)).collect() };
        for teller in &crew.threads {
            let teller = teller.clone();
            std::thread::Builder::new().name("world-teller".to_owned()).spawn(move || teller.run())?;
        }
        Ok(Self(Arc::new(crew)))
    }

    /// Whether so much waits to be told that nobody should ask for more.
    pub(super) fn is_behind(&self) -> bool {
        self.0.threads.iter().any(|teller| teller.unsent.load(Ordering::Relaxed) > WORLD_UNSENT_MAX)
    }

    /// Whether hardly anything waits to be told.
    fn is_nearly_drained(&self) -> bool {
        self.0.threads.iter().all(|teller| teller.unsent.load(Ordering::Relaxed) < WORLD_EVENTS_PER_SLICE as usize)
    }

    /// A writer's side.
    pub(super) fn buffer(&self) -> OutboundBuffer {
        let sheaves = self.0.threads.iter().map(|teller| teller.take_spare()).collect();
        OutboundBuffer { senders: self.clone(), batches: sheaves, frames: Vec::new() }
    }
}

impl Drop for SenderThreads {
    fn drop(&mut self) {
        self.threads.iter().for_each(|teller| teller.mailbox.close());
    }
}

impl OutboundBuffer {
    /// Tells an answer. `line` is a number of the outlet's, always the same.
    pub(super) fn answer(&mut self, line: u32, outlet: &Arc<dyn ClientSink>, answer: Answer) {
        self.push(line, outlet, BatchItem::Answer(answer));
    }

    /// Tells a view that `cut` cuts, unless it finds that there is nothing to see. Whether there was.
    pub(super) fn view(
        &mut self,
        line: u32,
        outlet: &Arc<dyn ClientSink>,
        cut: impl FnOnce(&mut ViewDelta) -> bool,
    ) -> bool {
        let at = self.thread_index(line);
        let sheaf = &mut self.batches[at];
        if sheaf.views_used == sheaf.views.len() {
            sheaf.views.push(ViewDelta::default());
        }
        let place = sheaf.views_used;
        if !cut(&mut sheaf.views[place]) {
            return false;
        }
        sheaf.views_used += 1;
        self.push(line, outlet, BatchItem::View(place));
        true
    }

    /// Tells news.
    pub(super) fn event(&mut self, line: u32, outlet: &Arc<dyn ClientSink>, news: &Arc<HuntEvent>) {
        self.push(line, outlet, BatchItem::Event(news.clone()));
    }

    /// Tells what is shown from now on.
    pub(super) fn view_changed(&mut self, line: u32, outlet: &Arc<dyn ClientSink>, options: Option<ViewOptions>) {
        self.push(line, outlet, BatchItem::ViewChanged(options));
    }

    /// Tells that nothing follows.
    pub(super) fn close(&mut self, line: u32, outlet: &Arc<dyn ClientSink>, why: CloseReason) {
        self.push(line, outlet, BatchItem::Close(why));
    }

    /// Whether hardly anything of what was handed over waits to be told.
    pub(super) fn is_nearly_drained(&self) -> bool {
        self.senders.is_nearly_drained()
    }

    /// Whether the teller of this outlet has so much to tell that another view would only wait.
    pub(super) fn is_behind(&self, line: u32) -> bool {
        let teller = &self.senders.0.threads[self.thread_index(line)];
        teller.unsent.load(Ordering::Relaxed) > WORLD_UNSENT_MAX / 2
    }

    /// Hands everything over, or tells it, where it is little.
    pub(super) fn flush(&mut self) {
        let mut room = WORLD_INLINE_SENDS_MAX;
        for at in 0..self.batches.len() {
            let (sheaf, teller) = (&mut self.batches[at], &self.senders.0.threads[at]);
            let notes = sheaf.items.len();
            // Views are dear, and what a teller has not told yet goes before this.
            if notes > room || sheaf.views_used > 0 || teller.unsent.load(Ordering::Acquire) > 0 {
                self.hand_over(at);
            } else if notes > 0 {
                room -= notes;
                sheaf.queued_at = Some(Instant::now());
                teller.send_batch(sheaf, &mut self.frames);
                sheaf.items.clear();
            }
        }
    }

    fn push(&mut self, line: u32, outlet: &Arc<dyn ClientSink>, note: BatchItem) {
        let at = self.thread_index(line);
        self.batches[at].items.push((outlet.clone(), note));
        if self.batches[at].items.len() >= BATCH_ITEMS_MAX {
            self.hand_over(at);
        }
    }

    fn hand_over(&mut self, at: usize) {
        if self.batches[at].items.is_empty() {
            return;
        }
        let teller = &self.senders.0.threads[at];
        let mut sheaf = std::mem::replace(&mut self.batches[at], teller.take_spare());
        sheaf.queued_at = Some(Instant::now());
        teller.unsent.fetch_add(sheaf.items.len(), Ordering::Relaxed);
        // Closed only when no handle is left, and this is one.
        let _ = teller.mailbox.send_control(sheaf);
    }

    fn thread_index(&self, line: u32) -> usize {
        line as usize % self.batches.len()
    }
}

impl SenderThread {
    fn run(&self) {
        let (mut sheaves, mut none, mut frames) = (Vec::new(), Vec::new(), Vec::new());
        while self.mailbox.recv_batch(&mut none, &mut sheaves, None) {
            for mut sheaf in sheaves.drain(..) {
                let notes = sheaf.items.len();
                self.send_batch(&mut sheaf, &mut frames);
                // Whoever finds nothing untold tells what follows, in order.
                self.unsent.fetch_sub(notes, Ordering::Release);
                self.recycle(sheaf);
            }
        }
    }

    /// Tells what is in a sheaf. What follows for one outlet goes out together.
    fn send_batch(&self, sheaf: &mut SendBatch, frames: &mut Vec<u8>) {
        let mut rest = sheaf.items.as_slice();
        while let Some((outlet, _)) = rest.first() {
            let same = rest.iter().take_while(|(other, _)| Arc::ptr_eq(outlet, other)).count();
            let (notes, others) = rest.split_at(same);
            rest = others;
            // A defect in one connection's encoding must not silence the others.
            if catch_unwind(AssertUnwindSafe(|| self.send_to(outlet.as_ref(), notes, &sheaf.views, frames))).is_err() {
                tracing::error!("telling a connection panicked, by a defect of this program; the connection is ended");
                outlet.close(CloseReason::Broken);
            }
        }
        if let Some(handed_at) = sheaf.queued_at.take() {
            self.metrics.worlds().send.observe(handed_at.elapsed());
        }
    }

    fn send_to(
        &self,
        outlet: &dyn ClientSink,
        notes: &[(Arc<dyn ClientSink>, BatchItem)],
        views: &[ViewDelta],
        frames: &mut Vec<u8>,
    ) {
        frames.clear();
        let mut ending = None;
        for (_, note) in notes {
            match note {
                BatchItem::Answer(answer) => outlet.encode(&OutboundMessage::Answer(answer), frames),
                BatchItem::View(place) => outlet.encode(&OutboundMessage::View(&views[*place]), frames),
                BatchItem::Event(news) => outlet.encode(&OutboundMessage::Event(news), frames),
                BatchItem::ViewChanged(options) => outlet.encode(&OutboundMessage::ViewChanged(*options), frames),
                BatchItem::Close(why) => ending = Some(*why),
            }
        }
        if !frames.is_empty() {
            self.metrics.worlds().sent_bytes.add(frames.len() as u64);
            outlet.send(frames);
        }
        if let Some(why) = ending {
            outlet.close(why);
        }
        if frames.capacity() > BUFFER_BYTES_KEPT {
            *frames = Vec::new();
        }
    }

    fn take_spare(&self) -> SendBatch {
        self.spares().pop().unwrap_or_default()
    }

    fn recycle(&self, mut sheaf: SendBatch) {
        sheaf.items.clear();
        sheaf.views_used = 0;
        let mut spares = self.spares();
        if spares.len() < SPARES_MAX {
            spares.push(sheaf);
        }
    }

    /// The list is whole even if a holder of the lock panicked.
    fn spares(&self) -> std::sync::MutexGuard<'_, Vec<SendBatch>> {
        self.spares.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
