//! A bounded pool of readers, opened when first needed. A reader that lost its database is dropped and opened anew.

use super::{panic_text, unavailable};
use crate::contract::{Database, Observer, Reader, StoreError};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::sync::Semaphore;

pub(super) struct Readers {
    database: Arc<dyn Database>,
    observer: Arc<dyn Observer>,
    permits: Arc<Semaphore>,
    idle: Mutex<Vec<Box<dyn Reader>>>,
}

impl Readers {
    pub(super) fn new(database: Arc<dyn Database>, count: usize, observer: Arc<dyn Observer>) -> Self {
        Self { database, observer, permits: Arc::new(Semaphore::new(count.max(1))), idle: Mutex::default() }
    }

    /// Waits for a free reader, then asks it on a blocking thread. A caller that goes away leaves the read to end by itself.
    pub(super) async fn read<T: Send + 'static>(
        readers: &Arc<Self>,
        query: impl FnOnce(&mut dyn Reader) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let asked_at = Instant::now();
        let permit = Arc::clone(&readers.permits).acquire_owned().await;
        let permit = permit.map_err(|_| unavailable("the store is closed"))?;
        let pool_wait = asked_at.elapsed();
        let readers = Arc::clone(readers);
        let answer = tokio::task::spawn_blocking(move || {
            let began = Instant::now();
            let answer = readers.ask(query);
            readers.observer.read(pool_wait, began.elapsed(), answer.is_ok());
            drop(permit);
            answer
        });
        answer.await.unwrap_or_else(|_| Err(unavailable("the read was cut short: this process is stopping")))
    }

    fn ask<T>(&self, query: impl FnOnce(&mut dyn Reader) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let idle = self.idle().pop();
        let mut reader = match idle {
            Some(reader) => reader,
            None => self.database.reader()?,
        };
        let answer = catch_unwind(AssertUnwindSafe(|| query(&mut *reader)))
            .unwrap_or_else(|panic| Err(unavailable(&format!("a read panicked: {}", panic_text(&*panic)))));
        if !matches!(answer, Err(StoreError::Unavailable { .. })) {
            self.idle().push(reader);
        }
        answer
    }

    pub(super) fn drop_idle(&self) {
        self.idle().clear();
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Box<dyn Reader>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Readers {
    /// A PostgreSQL reader must not be dropped on an async thread, and the last handle of a store may well be.
    fn drop(&mut self) {
        let idle = std::mem::take(&mut *self.idle());
        if !idle.is_empty() {
            // Without a thread there is no memory left either: then the sockets close with the process.
            let _ = std::thread::Builder::new().name("store-closing".to_owned()).spawn(move || drop(idle));
        }
    }
}
