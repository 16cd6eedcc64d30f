//! Tellers: threads that encode what writers hand over and send it, so that no move waits for many system calls. What one outlet is told
//! goes through one teller, in order; a few answers, behind which nobody waits, the writer tells itself, because waking a teller
//! would cost more than they do.
//!
//! Values travel in sheaves: lists that go back and forth between a writer and its teller, so that nothing is allocated once they
//! have grown. Knows neither worlds nor formats.

use super::outlet::{Ending, Outlet, Tiding};
use super::tray::Tray;
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
const SHEAF_NOTES: usize = 256;
/// Bytes of a frame buffer that are kept.
const BUFFER_KEPT: usize = 64 * 1024;

/// One thing to tell one outlet.
enum Note {
    Answer(Answer),
    /// The view at this place of the sheaf.
    View(usize),
    News(Arc<HuntEvent>),
    Watched(Option<ViewOptions>),
    End(Ending),
}

/// What one teller is to tell, in order.
#[derive(Default)]
pub(super) struct Sheaf {
    notes: Vec<(Arc<dyn Outlet>, Note)>,
    views: Vec<ViewDelta>,
    used: usize,
    handed_at: Option<Instant>,
}

/// The tellers of a process, for everybody who has something to tell. When the last handle goes, they tell what they have and end.
#[derive(Clone)]
pub(super) struct Tellers(Arc<Crew>);

struct Crew {
    tellers: Vec<Arc<Teller>>,
}

/// One teller, as writers see it.
struct Teller {
    tray: Tray<(), Sheaf>,
    spares: Mutex<Vec<Sheaf>>,
    /// Notes handed over and not told yet.
    untold: AtomicUsize,
    metrics: Arc<Metrics>,
}

/// A writer's side: a sheaf in the making for each teller.
pub(super) struct Pen {
    tellers: Tellers,
    sheaves: Vec<Sheaf>,
    /// Frames of what it tells itself.
    frames: Vec<u8>,
}

impl Tellers {
    /// Starts so many tellers.
    ///
    /// # Errors
    /// When the system gives no threads.
    pub(super) fn start(count: usize, metrics: &Arc<Metrics>) -> io::Result<Self> {
        let teller = || {
            let (tray, spares, untold) = (Tray::new(0), Mutex::default(), AtomicUsize::new(0));
            Arc::new(Teller { tray, spares, untold, metrics: metrics.clone() })
        };
        let crew = Crew { tellers: std::iter::repeat_with(teller).take(count.max(1)).collect() };
        for teller in &crew.tellers {
            let teller = teller.clone();
            std::thread::Builder::new().name("world-teller".to_owned()).spawn(move || teller.run())?;
        }
        Ok(Self(Arc::new(crew)))
    }

    /// Whether so much waits to be told that nobody should ask for more.
    pub(super) fn are_behind(&self) -> bool {
        self.0.tellers.iter().any(|teller| teller.untold.load(Ordering::Relaxed) > WORLD_UNSENT_MAX)
    }

    /// Whether hardly anything waits to be told.
    fn are_ready(&self) -> bool {
        self.0.tellers.iter().all(|teller| teller.untold.load(Ordering::Relaxed) < WORLD_EVENTS_PER_SLICE as usize)
    }

    /// A writer's side.
    pub(super) fn pen(&self) -> Pen {
        let sheaves = self.0.tellers.iter().map(|teller| teller.spare()).collect();
        Pen { tellers: self.clone(), sheaves, frames: Vec::new() }
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.tellers.iter().for_each(|teller| teller.tray.close());
    }
}

impl Pen {
    /// Tells an answer. `line` is a number of the outlet's, always the same.
    pub(super) fn answer(&mut self, line: u32, outlet: &Arc<dyn Outlet>, answer: Answer) {
        self.note(line, outlet, Note::Answer(answer));
    }

    /// Tells a view that `cut` cuts, unless it finds that there is nothing to see. Whether there was.
    pub(super) fn view(
        &mut self,
        line: u32,
        outlet: &Arc<dyn Outlet>,
        cut: impl FnOnce(&mut ViewDelta) -> bool,
    ) -> bool {
        let at = self.at(line);
        let sheaf = &mut self.sheaves[at];
        if sheaf.used == sheaf.views.len() {
            sheaf.views.push(ViewDelta::default());
        }
        let place = sheaf.used;
        if !cut(&mut sheaf.views[place]) {
            return false;
        }
        sheaf.used += 1;
        self.note(line, outlet, Note::View(place));
        true
    }

    /// Tells news.
    pub(super) fn news(&mut self, line: u32, outlet: &Arc<dyn Outlet>, news: &Arc<HuntEvent>) {
        self.note(line, outlet, Note::News(news.clone()));
    }

    /// Tells what is shown from now on.
    pub(super) fn watched(&mut self, line: u32, outlet: &Arc<dyn Outlet>, options: Option<ViewOptions>) {
        self.note(line, outlet, Note::Watched(options));
    }

    /// Tells that nothing follows.
    pub(super) fn end(&mut self, line: u32, outlet: &Arc<dyn Outlet>, why: Ending) {
        self.note(line, outlet, Note::End(why));
    }

    /// Whether hardly anything of what was handed over waits to be told.
    pub(super) fn is_ready(&self) -> bool {
        self.tellers.are_ready()
    }

    /// Whether the teller of this outlet has so much to tell that another view would only wait.
    pub(super) fn is_behind(&self, line: u32) -> bool {
        let teller = &self.tellers.0.tellers[self.at(line)];
        teller.untold.load(Ordering::Relaxed) > WORLD_UNSENT_MAX / 2
    }

    /// Hands everything over, or tells it, where it is little.
    pub(super) fn flush(&mut self) {
        let mut room = WORLD_INLINE_SENDS_MAX;
        for at in 0..self.sheaves.len() {
            let (sheaf, teller) = (&mut self.sheaves[at], &self.tellers.0.tellers[at]);
            let notes = sheaf.notes.len();
            // Views are dear, and what a teller has not told yet goes before this.
            if notes > room || sheaf.used > 0 || teller.untold.load(Ordering::Acquire) > 0 {
                self.hand_over(at);
            } else if notes > 0 {
                room -= notes;
                sheaf.handed_at = Some(Instant::now());
                teller.tell(sheaf, &mut self.frames);
                sheaf.notes.clear();
            }
        }
    }

    fn note(&mut self, line: u32, outlet: &Arc<dyn Outlet>, note: Note) {
        let at = self.at(line);
        self.sheaves[at].notes.push((outlet.clone(), note));
        if self.sheaves[at].notes.len() >= SHEAF_NOTES {
            self.hand_over(at);
        }
    }

    fn hand_over(&mut self, at: usize) {
        if self.sheaves[at].notes.is_empty() {
            return;
        }
        let teller = &self.tellers.0.tellers[at];
        let mut sheaf = std::mem::replace(&mut self.sheaves[at], teller.spare());
        sheaf.handed_at = Some(Instant::now());
        teller.untold.fetch_add(sheaf.notes.len(), Ordering::Relaxed);
        // Closed only when no handle is left, and this is one.
        let _ = teller.tray.order(sheaf);
    }

    fn at(&self, line: u32) -> usize {
        line as usize % self.sheaves.len()
    }
}

impl Teller {
    fn run(&self) {
        let (mut sheaves, mut none, mut frames) = (Vec::new(), Vec::new(), Vec::new());
        while self.tray.take(&mut none, &mut sheaves, None) {
            for mut sheaf in sheaves.drain(..) {
                let notes = sheaf.notes.len();
                self.tell(&mut sheaf, &mut frames);
                // Whoever finds nothing untold tells what follows, in order.
                self.untold.fetch_sub(notes, Ordering::Release);
                self.give_back(sheaf);
            }
        }
    }

    /// Tells what is in a sheaf. What follows for one outlet goes out together.
    fn tell(&self, sheaf: &mut Sheaf, frames: &mut Vec<u8>) {
        let mut rest = sheaf.notes.as_slice();
        while let Some((outlet, _)) = rest.first() {
            let same = rest.iter().take_while(|(other, _)| Arc::ptr_eq(outlet, other)).count();
            let (notes, others) = rest.split_at(same);
            rest = others;
            // A defect in one connection's encoding must not silence the others.
            if catch_unwind(AssertUnwindSafe(|| self.tell_one(outlet.as_ref(), notes, &sheaf.views, frames))).is_err() {
                tracing::error!("telling a connection panicked, by a defect of this program; the connection is ended");
                outlet.end(Ending::Broken);
            }
        }
        if let Some(handed_at) = sheaf.handed_at.take() {
            self.metrics.worlds().told.observe(handed_at.elapsed());
        }
    }

    fn tell_one(
        &self,
        outlet: &dyn Outlet,
        notes: &[(Arc<dyn Outlet>, Note)],
        views: &[ViewDelta],
        frames: &mut Vec<u8>,
    ) {
        frames.clear();
        let mut ending = None;
        for (_, note) in notes {
            match note {
                Note::Answer(answer) => outlet.encode(&Tiding::Answer(answer), frames),
                Note::View(place) => outlet.encode(&Tiding::View(&views[*place]), frames),
                Note::News(news) => outlet.encode(&Tiding::News(news), frames),
                Note::Watched(options) => outlet.encode(&Tiding::Watched(*options), frames),
                Note::End(why) => ending = Some(*why),
            }
        }
        if !frames.is_empty() {
            self.metrics.worlds().told_bytes.add(frames.len() as u64);
            outlet.tell(frames);
        }
        if let Some(why) = ending {
            outlet.end(why);
        }
        if frames.capacity() > BUFFER_KEPT {
            *frames = Vec::new();
        }
    }

    fn spare(&self) -> Sheaf {
        self.spares().pop().unwrap_or_default()
    }

    fn give_back(&self, mut sheaf: Sheaf) {
        sheaf.notes.clear();
        sheaf.used = 0;
        let mut spares = self.spares();
        if spares.len() < SPARES_MAX {
            spares.push(sheaf);
        }
    }

    /// The list is whole even if a holder of the lock panicked.
    fn spares(&self) -> std::sync::MutexGuard<'_, Vec<Sheaf>> {
        self.spares.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
