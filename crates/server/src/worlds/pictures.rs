//! The published picture of a world, from which everybody reads who is not in it. Readers never wait for the writer while pictures
//! are fresh; when nobody has looked for a while none is made, and the first who looks again waits for one: a tick, and no longer
//! for a writer that does not come round to it. Then the last one has to do, which says how old it is by its tick.

use engine::limits::{WORLD_PICTURE_DEMAND_WINDOW, WORLD_PICTURE_INTERVAL, WORLD_VISIT_TIMEOUT};
use engine::worlds::{Picture, World};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use tokio::sync::watch;
use tokio::time::timeout;

/// A picture, and when it was made.
#[derive(Clone)]
struct Published {
    picture: Arc<Picture>,
    at: tokio::time::Instant,
}

/// What a writer publishes and others read.
pub(super) struct Pictures {
    newest: watch::Sender<Option<Published>>,
    /// Somebody has looked since the last picture.
    is_wanted: AtomicBool,
    /// Somebody has asked for the next one: however many wait for it, a writer is asked once.
    is_requested: AtomicBool,
    /// The one before the newest: made anew in the same memory once nobody reads it any more.
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
    /// The newest picture, if it is fresh; otherwise the next one, for which `ask` asks, or the last one when that does not come.
    /// `None` when there is none, and none comes.
    pub(super) async fn get(&self, ask: impl FnOnce() -> bool) -> Option<Arc<Picture>> {
        let mut news = self.newest.subscribe();
        self.is_wanted.store(true, Ordering::Relaxed);
        let last = news.borrow_and_update().clone();
        if let Some(published) = &last
            && published.at.elapsed() < WORLD_PICTURE_INTERVAL * 2
        {
            return Some(published.picture.clone());
        }
        if !self.is_requested.swap(true, Ordering::AcqRel) && !ask() {
            self.is_requested.store(false, Ordering::Release);
            return None;
        }
        // Who has never been shown anything has nothing to go by.
        let patience = if last.is_some() { WORLD_PICTURE_INTERVAL } else { WORLD_VISIT_TIMEOUT };
        match timeout(patience, news.changed()).await {
            Ok(Ok(())) => news.borrow_and_update().as_ref().map(|published| published.picture.clone()),
            // The writer is gone.
            Ok(Err(_)) => None,
            Err(_) => last.map(|published| published.picture),
        }
    }

    /// The newest picture, however old.
    pub(super) fn last(&self) -> Option<Arc<Picture>> {
        self.newest.borrow().as_ref().map(|published| published.picture.clone())
    }

    /// Whether somebody has looked since this was asked last.
    pub(super) fn take_wanted(&self) -> bool {
        self.is_wanted.swap(false, Ordering::Relaxed)
    }

    /// Publishes the world as it is, over an old picture if there is one that nobody reads.
    pub(super) fn publish(&self, world: &World) {
        // Before it is made: who asks from here on may want a newer one.
        self.is_requested.store(false, Ordering::Release);
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        let picture = match spare.take().and_then(Arc::into_inner) {
            Some(mut old) => {
                world.fill_picture(&mut old);
                old
            }
            None => world.new_picture(),
        };
        let published = Published { picture: Arc::new(picture), at: tokio::time::Instant::now() };
        *spare = self.newest.send_replace(Some(published)).map(|old| old.picture);
    }

    /// There are no more pictures: the memory is given back, and who waits is told.
    pub(super) fn end(&self) {
        self.is_requested.store(false, Ordering::Release);
        *self.spare.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.newest.send_replace(None);
    }
}

/// When a writer publishes: once a tick while somebody looks.
pub(super) struct PictureSchedule {
    last: Option<Instant>,
    requested_at: Option<Instant>,
}

impl PictureSchedule {
    pub(super) fn new() -> Self {
        Self { last: None, requested_at: None }
    }

    /// Somebody asks for a picture, because there is no fresh one.
    pub(super) fn request(&mut self, now: Instant) {
        self.requested_at = Some(now);
    }

    /// When the next one is due, if anybody has looked lately.
    pub(super) fn due(&self) -> Option<Instant> {
        let looked_at = self.requested_at?;
        Some(self.last.map_or(looked_at, |last| last + WORLD_PICTURE_INTERVAL))
    }

    /// Whether to publish now.
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
