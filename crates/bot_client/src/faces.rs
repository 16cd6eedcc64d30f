//! Bots' faces, cached by account and URL: an account whose calls a bot refuses, by a wrong signature for example, does not change what the
//! matches of others show.

use engine::ids::AccountId;
use engine::matches::entry::Face;
use lru::LruCache;
use std::future::Future;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::OnceCell;
use tokio::time::Instant;

/// How long a face is cached.
const FACE_TTL: Duration = Duration::from_secs(60);
/// Faces that are cached at the same time: the least recently used make room.
const FACES_MAX: NonZeroUsize = NonZeroUsize::new(10_000).expect("not zero");

type Key = (AccountId, Box<str>);
/// `None`: the bot was not called.
type Cell = Arc<OnceCell<Option<Face>>>;

pub(super) struct FaceCache(Mutex<LruCache<Key, CachedFace>>);

struct CachedFace {
    requested_at: Instant,
    cell: Cell,
}

impl CachedFace {
    fn is_fresh(&self, now: Instant) -> bool {
        now - self.requested_at < FACE_TTL
    }
}

impl Default for FaceCache {
    fn default() -> Self {
        Self(Mutex::new(LruCache::new(FACES_MAX)))
    }
}

impl FaceCache {
    /// A cached face, or the outcome of `fetch`, which callers at the same time share. `None` is not cached.
    pub(super) async fn get_or_fetch<F>(&self, account: AccountId, url: &str, fetch: impl FnOnce() -> F) -> Option<Face>
    where
        F: Future<Output = Option<Face>>,
    {
        let key = (account, url.into());
        let cell = self.cell(&key);
        let face = cell.get_or_init(fetch).await.clone();
        if face.is_none() {
            let mut faces = self.lock();
            // A later request may have taken its place.
            if faces.peek(&key).is_some_and(|cached| Arc::ptr_eq(&cached.cell, &cell)) {
                faces.pop(&key);
            }
        }
        face
    }

    /// Drops outdated faces. For a background job.
    pub(super) fn sweep(&self) {
        let now = Instant::now();
        self.lock().retain(|_, cached| cached.is_fresh(now));
    }

    fn cell(&self, key: &Key) -> Cell {
        let now = Instant::now();
        let mut faces = self.lock();
        if let Some(cached) = faces.get(key).filter(|cached| cached.is_fresh(now)) {
            return cached.cell.clone();
        }
        let cell = Cell::default();
        faces.put(key.clone(), CachedFace { requested_at: now, cell: cell.clone() });
        cell
    }

    fn lock(&self) -> MutexGuard<'_, LruCache<Key, CachedFace>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn face(color: &str) -> Option<Face> {
        Some(Face { color: color.into(), ..Face::default() })
    }

    /// A request of an account for a URL that would fetch `fetched`.
    async fn check(faces: &FaceCache, account: u128, url: &str, fetched: Option<Face>, want: Option<Face>) {
        let got = faces.get_or_fetch(AccountId(account), url, || async { fetched }).await;
        assert_eq!(got, want, "{url} for account {account}");
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_answered_is_cached_for_its_account_and_what_was_not_asked_is_not() {
        let faces = FaceCache::default();
        check(&faces, 1, "a", None, None).await;
        check(&faces, 1, "a", face("red"), face("red")).await;
        check(&faces, 1, "a", face("blue"), face("red")).await;
        check(&faces, 1, "b", face("blue"), face("blue")).await;
        check(&faces, 2, "a", face("blue"), face("blue")).await;
        tokio::time::advance(FACE_TTL).await;
        check(&faces, 1, "a", face("green"), face("green")).await;
        faces.sweep();
        assert_eq!(faces.lock().len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn the_least_recently_used_face_makes_room() {
        let faces = FaceCache::default();
        for url in 0..FACES_MAX.get() {
            check(&faces, 1, &url.to_string(), face("red"), face("red")).await;
        }
        check(&faces, 1, "0", None, face("red")).await;
        check(&faces, 1, "one more", face("red"), face("red")).await;
        check(&faces, 1, "0", None, face("red")).await;
        check(&faces, 1, "2", None, face("red")).await;
        check(&faces, 1, "1", None, None).await;
    }
}
