//! Bodies of pages that anyone may ask for, rendered once for each version of what they show: a client that asks at the same time waits for
//! the same rendering, one that asks later gets its bytes, and one that has them already is answered 304.
//!
//! Knows neither what a page shows nor who may see it: the caller decides that first, on every request.

use crate::header_values::is_not_modified;
use crate::problem::{ApiError, ApiResult};
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use engine::ids::CompetitionId;
use engine::limits::{
    VIEW_CACHE_BYTES_MAX, VIEW_CACHE_ENTRIES_MAX, VIEW_RENDERINGS_AT_ONCE_MAX, VIEW_RENDERINGS_WAITING_MAX,
};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use lru::LruCache;
use metrics::Metrics;
use sha2::{Digest, Sha256};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Semaphore;

/// The browser asks each time whether it has changed. A shared cache must not keep what not everyone may see.
const REVALIDATE: HeaderValue = HeaderValue::from_static("private, no-cache");

/// Which page of a competition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ViewKind {
    Tournament,
    Duel,
    /// With what its owner alone may see.
    DuelOfOwner,
}

/// Everything about a competition that a page shows and that changes: entries of its log, and results that were saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ViewVersion {
    pub(crate) log: u32,
    pub(crate) results: u64,
}

type Key = (CompetitionId, ViewKind);

/// A rendered body.
#[derive(Clone, Debug)]
pub(crate) struct View {
    body: Bytes,
    /// A digest of the body: the same on every node, and another one when a new release renders otherwise.
    tag: HeaderValue,
}

impl View {
    fn new(body: Vec<u8>) -> Self {
        let digest: String = Sha256::digest(&body).iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        let tag = HeaderValue::try_from(format!("\"{digest}\"")).expect("hexadecimal digits are a header's value");
        Self { body: body.into(), tag }
    }

    /// The body, or 304 if the client has it.
    pub(crate) fn into_response(self, request_headers: &HeaderMap, content_type: HeaderValue) -> Response {
        let is_known = is_not_modified(request_headers, self.tag.as_bytes());
        let cache_headers = [(header::CACHE_CONTROL, REVALIDATE), (header::ETAG, self.tag)];
        if is_known {
            return (StatusCode::NOT_MODIFIED, cache_headers).into_response();
        }
        (cache_headers, [(header::CONTENT_TYPE, content_type)], Body::from(self.body)).into_response()
    }
}

/// `None`: it panicked.
type Rendering = Shared<BoxFuture<'static, Option<View>>>;
type Render = Box<dyn FnOnce() -> Vec<u8> + Send>;

/// One version of a page, rendered or being rendered.
struct Known {
    version: ViewVersion,
    rendering: Rendering,
    /// What renders it, as long as it waits for its turn: a later version that is asked for meanwhile takes its place, and its clients.
    waiting: Option<Render>,
    /// Bytes of its body, once it is rendered.
    bytes: usize,
}

/// Pages by competition and kind, the latest version of each.
pub struct ViewCache(Arc<Shelf>);

struct Shelf {
    views: Mutex<Views>,
    permits: Semaphore,
    metrics: Arc<Metrics>,
}

struct Views {
    known: LruCache<Key, Known>,
    bytes: usize,
    /// Of those that are known.
    waiting: usize,
}

impl ViewCache {
    #[must_use]
    pub fn new(metrics: Arc<Metrics>) -> Self {
        let views = Mutex::new(Views { known: LruCache::unbounded(), bytes: 0, waiting: 0 });
        Self(Arc::new(Shelf { views, permits: Semaphore::new(VIEW_RENDERINGS_AT_ONCE_MAX), metrics }))
    }

    /// This version of a page or a later one, rendered by `render` if no client has asked for it before. Rendering runs on a thread of its
    /// own, and goes on when the client that asked for it leaves: the next client need not begin again.
    ///
    /// # Errors
    /// [`ApiError::ResponsesFull`] when [`VIEW_RENDERINGS_WAITING_MAX`] pages wait to be rendered; [`ApiError::Internal`] when `render`
    /// panics.
    pub(crate) async fn get(
        &self,
        id: CompetitionId,
        kind: ViewKind,
        version: ViewVersion,
        render: impl FnOnce() -> Vec<u8> + Send + 'static,
    ) -> ApiResult<View> {
        let rendering = self.0.find_or_begin((id, kind), version, Box::new(render))?;
        rendering.await.ok_or_else(|| ApiError::Internal(format!("rendering {kind:?} of competition {id} panicked")))
    }
}

impl Shelf {
    fn find_or_begin(self: &Arc<Self>, key: Key, version: ViewVersion, render: Render) -> ApiResult<Rendering> {
        let mut views = self.lock();
        if let Some(known) = views.known.get_mut(&key) {
            if known.version == version {
                return Ok(known.rendering.clone());
            }
            if known.waiting.is_some() {
                (known.version, known.waiting) = (version, Some(render));
                return Ok(known.rendering.clone());
            }
        }
        if views.waiting >= VIEW_RENDERINGS_WAITING_MAX {
            return Err(ApiError::ResponsesFull);
        }
        let task = tokio::spawn(self.clone().render(key));
        let rendering = task.map(|rendered| rendered.ok().flatten()).boxed().shared();
        views.put(key, Known { version, rendering: rendering.clone(), waiting: Some(render), bytes: 0 });
        self.note_size(&views);
        Ok(rendering)
    }

    /// Renders what waits under this key when its turn comes.
    async fn render(self: Arc<Self>, key: Key) -> Option<View> {
        let _permit = self.permits.acquire().await.expect("the semaphore is never closed");
        let (version, render) = self.lock().take_waiting(&key)?;
        let rendered = tokio::task::spawn_blocking(|| View::new(render())).await;
        self.metrics.views.rendered.inc();
        let mut views = self.lock();
        match &rendered {
            Ok(view) => views.add_bytes(&key, version, view.body.len()),
            Err(_) => views.forget(&key, version),
        }
        self.note_size(&views);
        rendered.ok()
    }

    fn note_size(&self, views: &Views) {
        self.metrics.views.cached_bytes.set(views.bytes as u64);
    }

    /// Each change is one call.
    fn lock(&self) -> MutexGuard<'_, Views> {
        self.views.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Views {
    fn put(&mut self, key: Key, known: Known) {
        self.waiting += 1;
        if let Some((_, replaced)) = self.known.push(key, known) {
            self.bytes -= replaced.bytes;
        }
        self.drop_oldest();
    }

    fn take_waiting(&mut self, key: &Key) -> Option<(ViewVersion, Render)> {
        let known = self.known.peek_mut(key)?;
        let render = known.waiting.take()?;
        self.waiting -= 1;
        Some((known.version, render))
    }

    /// Counts a body that is rendered now.
    fn add_bytes(&mut self, key: &Key, version: ViewVersion, bytes: usize) {
        let Some(known) = self.known.peek_mut(key).filter(|known| known.version == version) else { return };
        self.bytes += bytes - known.bytes;
        known.bytes = bytes;
        self.drop_oldest();
    }

    /// Drops those that were asked for longest ago while there are too many, or too many bytes; but none that waits, whose clients wait too.
    fn drop_oldest(&mut self) {
        while self.bytes > VIEW_CACHE_BYTES_MAX || self.known.len() > VIEW_CACHE_ENTRIES_MAX {
            let oldest = self.known.iter().rev().find(|(_, known)| known.waiting.is_none());
            let Some((&key, _)) = oldest else { return };
            self.bytes -= self.known.pop(&key).map_or(0, |known| known.bytes);
        }
    }

    fn forget(&mut self, key: &Key, version: ViewVersion) {
        if self.known.peek(key).is_some_and(|known| known.version == version) {
            self.known.pop(key);
        }
    }
}

#[cfg(test)]
mod tests;
