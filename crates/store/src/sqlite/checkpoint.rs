//! Checkpoints the WAL in parallel with the writer.
//!
//! SQLite's automatic checkpoint runs inside a commit and makes it wait for megabytes. Here a thread with its own
//! connection copies while the writer continues; the writer itself only copies the short rest when the WAL has become
//! long, so that the next commit can begin it anew. Copies go all over the file and commits only to the end of the WAL, so
//! that a slow disk never ends a copy before as much is written again: then the writer waits for it, and the WAL stays
//! bounded.

use super::connection::{self, Access};
use super::session::Session;
use crate::columns::Columns;
use crate::contract::StoreError;
use crate::sql::Session as _;
use std::path::Path;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// Pages that wait to be copied before the thread is woken: 8 MiB.
const COPY_PAGES_MIN: i64 = 2_048;
/// Pages of the WAL from which on the writer sees to it that it begins anew: 64 MiB.
const WAL_PAGES_LONG: i64 = 16_384;
/// Pages of the WAL from which on the writer waits for a copy that is under way, which it cannot copy beside: 128 MiB.
const WAL_PAGES_MAX: i64 = 2 * WAL_PAGES_LONG;

/// The thread ends, after the copy that it is at, when this is dropped.
pub(super) struct Checkpointer {
    wake: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
    /// Held by the thread while it copies.
    copying: Arc<Mutex<()>>,
}

/// Pages in the WAL, and how many of them are in the file already.
struct Wal {
    pages: i64,
    copied: i64,
}

impl Checkpointer {
    /// Without a thread the writer still copies by itself, only less gently.
    pub(super) fn start(file: &Path) -> Self {
        let (wake, woken) = mpsc::sync_channel(1);
        let (file, copying) = (file.to_owned(), Arc::<Mutex<()>>::default());
        let thread = std::thread::Builder::new().name("store-checkpoint".to_owned());
        let held = copying.clone();
        let thread = thread.spawn(move || copy_when_woken(&file, &woken, &held)).ok();
        Self { wake: Some(wake), thread, copying }
    }

    /// A checkpoint that fails costs nothing but a longer WAL; when the disk is full, the next commit will report it.
    pub(super) fn after_commit(&self, session: &mut Session) {
        let Ok(wal) = checkpoint(session, "NOOP") else { return };
        if wal.pages >= WAL_PAGES_LONG {
            let _alone = (wal.pages >= WAL_PAGES_MAX).then(|| self.copying.lock());
            let _ = checkpoint(session, "PASSIVE");
        } else if wal.pages - wal.copied >= COPY_PAGES_MIN
            && let Some(wake) = &self.wake
        {
            let _ = wake.try_send(());
        }
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        self.wake = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn copy_when_woken(file: &Path, woken: &Receiver<()>, copying: &Mutex<()>) {
    let mut session = None;
    while woken.recv().is_ok() {
        let _held = copying.lock();
        if session.is_none() {
            session = open(file).ok();
        }
        if session.as_mut().is_some_and(|session| checkpoint(session, "PASSIVE").is_err()) {
            session = None;
        }
    }
}

fn open(file: &Path) -> Result<Session, StoreError> {
    let db = connection::open(file, Access::Write)?;
    connection::prepare_to_write(&db)?;
    Ok(Session::new(db))
}

/// `NOOP` only reads the state (SQLite 3.51 and newer); `PASSIVE` copies what it can without waiting for readers or
/// writers.
fn checkpoint(session: &mut Session, mode: &str) -> Result<Wal, StoreError> {
    let read = |row: &mut super::session::SqliteColumns<'_>| {
        row.int()?;
        Ok(Wal { pages: row.int()?, copied: row.int()? })
    };
    let wal = session.first(&format!("PRAGMA wal_checkpoint({mode})"), &[], read)?;
    wal.ok_or_else(|| StoreError::Unavailable { why: "a checkpoint said nothing".to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::values;
    use crate::testing::TempDir;

    #[test]
    fn the_log_of_a_busy_writer_stays_bounded() {
        const ROW_BYTES: u64 = 1 << 20;
        const FRAME_BYTES: u64 = 4_096 + 24;
        let dir = TempDir::new();
        let file = dir.path().join("store.db");
        let mut session = open(&file).unwrap();
        session.script("CREATE TABLE rows (data BLOB)").unwrap();
        let checkpointer = Checkpointer::start(&file);
        for _ in 0..240 {
            session.run("INSERT INTO rows VALUES (zeroblob(?1))", values![ROW_BYTES as i64]).unwrap();
            checkpointer.after_commit(&mut session);
        }
        let wal = std::fs::metadata(dir.path().join("store.db-wal")).unwrap().len();
        // As many pages, and one commit more, however slow the disk is and however late the thread.
        let bound = WAL_PAGES_MAX as u64 * FRAME_BYTES + 2 * ROW_BYTES;
        assert!((ROW_BYTES..bound).contains(&wal), "{wal} bytes of write-ahead log");
    }
}
