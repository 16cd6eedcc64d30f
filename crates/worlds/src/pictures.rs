//! The published pictures of a world, which everything outside of it reads. Readers never wait for the writer while pictures are fresh.
//! Without readers none is made, and the first reader after a pause waits for one: at most a tick. If the writer does not make one in time,
//! the reader gets the last one, which carries its tick.

use engine::limits::{WORLD_PICTURE_DEMAND_WINDOW, WORLD_PICTURE_INTERVAL, WORLD_VISIT_TIMEOUT};
use engine::worlds::{Picture, World};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use tokio::sync::watch;
use tokio::time::timeout;

#[derive(Clone)]
struct Published {
    picture: Arc<Picture>,
    at: tokio::time::Instant,
}

pub(super) struct Pictures {
    newest: watch::Sender<Option<Published>>,
    /// A reader has come since the last picture.
    is_wanted: AtomicBool,
    /// A reader has requested the next one: the writer gets one request however many wait.
    is_requested: AtomicBool,
    /// The one before the newest: overwritten by the next once it has no readers.
    spare: Mutex<Option<Arc<Picture>>>,
}

impl Default for Pictures {
    fn default() -> Self {
        Self {
            newest: watch::channel(None).0,
            is_wanted: AtomicBool::new(false),
            is_requested: AtomicBool::new(false),
            spare: Mutex::new(None),
        }
    }
}

impl Pictures {
    /// The newest picture, if it is fresh; otherwise the next one, which `request` requests, or the last one if that does not come in time.
    /// `None` when there is none, and none comes.
    pub(super) async fn get(&self, request: impl FnOnce() -> bool) -> Option<Arc<Picture>> {
        let mut newest = self.newest.subscribe();
        self.is_wanted.store(true, Ordering::Relaxed);
        let last = newest.borrow_and_update().clone();
        if let Some(published) = &last
            && published.at.elapsed() < WORLD_PICTURE_INTERVAL * 2
        {
            return Some(published.picture.clone());
        }
        if !self.is_requested.swap(true, Ordering::AcqRel) && !request() {
            self.is_requested.store(false, Ordering::Release);
            return None;
        }
        // Without any picture so far, the reader waits longer.
        let patience = if last.is_some() { WORLD_PICTURE_INTERVAL } else { WORLD_VISIT_TIMEOUT };
        match timeout(patience, newest.changed()).await {
            Ok(Ok(())) => newest.borrow_and_update().as_ref().map(|published| published.picture.clone()),
            Ok(Err(_)) => None,
            Err(_) => last.map(|published| published.picture),
        }
    }

    /// The newest picture, however old.
    pub(super) fn last(&self) -> Option<Arc<Picture>> {
        self.newest.borrow().as_ref().map(|published| published.picture.clone())
    }

    /// Whether a reader has come since the last call.
    pub(super) fn take_wanted(&self) -> bool {
        self.is_wanted.swap(false, Ordering::Relaxed)
    }

    /// Publishes the world as it is, in the memory of an old picture if one has no readers.
    pub(super) fn publish(&self, world: &World) {
        // Before it is made: later readers may want a newer one.
        self.is_requested.store(false, Ordering::Release);
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        let picture = Arc::new(world.picture(spare.take().and_then(Arc::into_inner)));
        let published = Published { picture, at: tokio::time::Instant::now() };
        *spare = self.newest.send_replace(Some(published)).map(|old| old.picture);
    }

    /// Ends the pictures: frees the memory and wakes waiting readers.
    pub(super) fn end(&self) {
        self.is_requested.store(false, Ordering::Release);
        *self.spare.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.newest.send_replace(None);
    }
}

/// When a writer publishes: once a tick while there are readers.
pub(super) struct PictureSchedule {
    last: Option<Instant>,
    requested_at: Option<Instant>,
}

impl PictureSchedule {
    pub(super) fn new() -> Self {
        Self { last: None, requested_at: None }
    }

    /// A reader requests a picture, because there is no fresh one.
    pub(super) fn request(&mut self, now: Instant) {
        self.requested_at = Some(now);
    }

    /// When the next one is due, if there were readers lately.
    pub(super) fn due(&self) -> Option<Instant> {
        let looked_at = self.requested_at?;
        Some(self.last.map_or(looked_at, |last| last + WORLD_PICTURE_INTERVAL))
    }

    pub(super) fn is_due(&mut self, now: Instant, pictures: &Pictures) -> bool {
        if self.due().is_none_or(|due| now < due) {
            return false;
        }
        if pictures.take_wanted() {
            self.requested_at = Some(now);
        }
        let is_looked_at = self.requested_at.is_some_and(|at| now.duration_since(at) < WORLD_PICTURE_DEMAND_WINDOW);
        if is_looked_at {
            self.last = Some(now);
        } else {
            *self = Self::new();
        }
        is_looked_at
    }
}
