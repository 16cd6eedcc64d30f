//! The entry that the request which is handled will leave in the audit log, if it leaves one: what handlers add to it, and how a change is saved
//! together with it. Everywhere else these functions do nothing more than save the change.
//!
//! Knows no routes: which requests leave an entry is decided in [`super::audit`].

use engine::commands::{AuditCommand, Command, Outcome};
use engine::rows::AuditEntry;
use std::fmt::Display;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use store::{Store, StoreError};
use tokio::task_local;

task_local! {
    static PENDING: Arc<PendingEntry>;
}

/// The entry of one request.
pub(super) struct PendingEntry(Mutex<Pending>);

struct Pending {
    entry: AuditEntry,
    /// The code of the last refusal that became a response.
    refusal: Option<&'static str>,
    is_saved: bool,
}

impl PendingEntry {
    pub(super) fn new(entry: AuditEntry) -> Self {
        Self(Mutex::new(Pending { entry, refusal: None, is_saved: false }))
    }

    /// Handles the request.
    pub(super) async fn collect<T>(self: &Arc<Self>, handle: impl Future<Output = T>) -> T {
        PENDING.scope(Arc::clone(self), handle).await
    }

    /// The entry, with the code of a refusal, if it is not in the store yet.
    pub(super) fn unsaved(&self) -> Option<(AuditEntry, Option<&'static str>)> {
        let pending = self.lock();
        (!pending.is_saved).then(|| (pending.entry.clone(), pending.refusal))
    }

    /// Consistent even if a holder of the lock panicked: no update spans two members.
    fn lock(&self) -> MutexGuard<'_, Pending> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Saves a change, together with the entry of the request that makes it, if there is one and it is not saved yet.
///
/// # Errors
/// As for [`Store::commit`].
pub(super) async fn commit(store: &Store, change: Command) -> Result<Outcome, StoreError> {
    let Some(entry) = unsaved() else { return store.commit(change).await };
    let commands = vec![change, Command::Audit(AuditCommand::RecordIfDone(entry))];
    let mut outcomes = store.commit_all(commands).await?.into_iter();
    let outcome = outcomes.next();
    if outcomes.next() == Some(Outcome::Done) {
        mark_saved();
    }
    outcome.ok_or_else(|| StoreError::Unavailable { why: "the store gave no answer".to_owned() })
}

/// The entry of the request, if it leaves one that is not saved yet: for a caller that commits its change elsewhere.
pub(super) fn unsaved() -> Option<AuditEntry> {
    PENDING.try_with(|pending| pending.unsaved()).ok().flatten().map(|(entry, _)| entry.bounded())
}

/// That the entry was saved in the commit of the change.
pub(super) fn mark_saved() {
    // Most requests leave no entry.
    let _ = PENDING.try_with(|pending| pending.lock().is_saved = true);
}

/// On whom or what the request is, where its path does not name it, or something else: what the path names becomes a detail.
pub(super) fn set_target(target: impl Display) {
    update(|entry| {
        let named = entry.target.replace(target.to_string());
        if let Some(named) = named.filter(|named| entry.target.as_ref() != Some(named)) {
            append(&mut entry.detail, &named);
        }
    });
}

pub(super) fn add_detail(detail: impl Display) {
    update(|entry| append(&mut entry.detail, &detail.to_string()));
}

pub(super) fn set_reason(reason: &str) {
    update(|entry| entry.reason = Some(reason.to_owned()));
}

/// That a refusal with this code became a response.
pub(super) fn note_refusal(code: &'static str) {
    // Most requests leave no entry.
    let _ = PENDING.try_with(|pending| pending.lock().refusal = Some(code));
}

fn update(change: impl FnOnce(&mut AuditEntry)) {
    // Most requests leave no entry.
    let _ = PENDING.try_with(|pending| change(&mut pending.lock().entry));
}

fn append(detail: &mut Option<String>, more: &str) {
    let before = detail.take();
    *detail = Some(before.map_or_else(|| more.to_owned(), |before| format!("{before} {more}")));
}
