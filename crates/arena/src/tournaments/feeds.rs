//! Who waits for changes of a tournament: told at once of what this process saves, and by looking of what others save.

use super::Shared;
use crate::environment::ArenaEnvironment;
use engine::ids::CompetitionId;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::sleep;

/// How often a tournament that is watched is looked at, where other processes may change it, and where none can.
const LOOK_EVERY_SHARED: Duration = Duration::from_millis(500);
/// Frees the memory of feeds that are no longer watched.
const LOOK_EVERY_EXCLUSIVE: Duration = Duration::from_secs(10);

/// The versions of all tournaments that are watched.
#[derive(Default)]
pub(super) struct Feeds(Mutex<HashMap<CompetitionId, watch::Sender<u32>>>);

impl Feeds {
    /// A tournament has this version now.
    pub(super) fn publish(&self, id: CompetitionId, version: u32) {
        if let Some(sender) = self.lock().get(&id) {
            advance(sender, version);
        }
    }

    /// Forgets a feed without subscribers. Returns whether it did.
    fn forget_unwatched(&self, id: CompetitionId) -> bool {
        let mut feeds = self.lock();
        let is_unwatched = feeds.get(&id).is_none_or(|sender| sender.receiver_count() == 0);
        if is_unwatched {
            feeds.remove(&id);
        }
        is_unwatched
    }

    /// Each change is one call.
    fn lock(&self) -> MutexGuard<'_, HashMap<CompetitionId, watch::Sender<u32>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn advance(sender: &watch::Sender<u32>, version: u32) {
    sender.send_if_modified(|known| {
        let is_newer = version > *known;
        *known = version.max(*known);
        is_newer
    });
}

pub(super) fn subscribe<E: ArenaEnvironment>(
    shared: &Arc<Shared<E>>,
    id: CompetitionId,
    version: u32,
) -> watch::Receiver<u32> {
    let mut feeds = shared.feeds.lock();
    if let Some(sender) = feeds.get(&id) {
        let receiver = sender.subscribe();
        advance(sender, version);
        return receiver;
    }
    let (sender, receiver) = watch::channel(version);
    feeds.insert(id, sender);
    drop(feeds);
    tokio::spawn(look_while_watched(shared.clone(), id));
    receiver
}

async fn look_while_watched<E: ArenaEnvironment>(shared: Arc<Shared<E>>, id: CompetitionId) {
    let is_exclusive = shared.environment.has_exclusive_store();
    let every = if is_exclusive { LOOK_EVERY_EXCLUSIVE } else { LOOK_EVERY_SHARED };
    loop {
        sleep(every).await;
        if shared.feeds.forget_unwatched(id) {
            return;
        }
        // A read that fails is repeated at the next look.
        if let Ok(Some(row)) = shared.environment.read(move |reader| reader.competition(id)).await {
            shared.feeds.publish(id, row.version);
        }
    }
}
