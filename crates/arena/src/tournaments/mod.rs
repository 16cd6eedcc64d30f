//! Tournaments: read through memory, changed by requests, moved on by the process that leads them.
//!
//! What follows from what is decided by [`engine::tournaments`]; here it is read and saved. Every change is an append to the tournament's log
//! under the version that it was decided for: who comes second decides again.

mod absence;
mod changes;
mod deadlines;
mod driver;
mod feeds;
mod seeding;
mod starts;
mod step;
#[cfg(test)]
mod tests;

pub use changes::{BotEntry, CreatedTournament, NewTournament};

use crate::environment::ArenaEnvironment;
use crate::states::{LoggedState, States, UnreadableState};
use engine::competitions::{CompetitionKind, CompetitionRow};
use engine::ids::CompetitionId;
use engine::tournaments::{Definition, LogEntry, Refusal, Tournament};
use feeds::Feeds;
use std::fmt::Display;
use std::num::NonZero;
use std::sync::Arc;
use store::StoreError;
use tokio::sync::{Mutex, MutexGuard, watch};

/// Locks that keep the writers of this process apart: two tournaments may share one.
const WRITERS: usize = 64;

/// All tournaments, as this process knows them.
#[derive(Clone)]
pub struct Tournaments<E>(Arc<Shared<E>>);

struct Shared<E> {
    environment: E,
    states: States<Tournament>,
    feeds: Feeds,
    /// Held while a change is decided and saved. Correctness rests on versions; this saves this process from its own conflicts.
    writers: [Mutex<()>; WRITERS],
}

/// A tournament as it is stored, and what follows from its log.
#[derive(Clone, Debug)]
pub struct LoadedTournament {
    pub row: CompetitionRow,
    pub state: Arc<Tournament>,
}

/// Why something could not be done with a tournament.
#[derive(Debug, thiserror::Error)]
pub enum TournamentError {
    #[error("there is no such tournament")]
    NotFound,
    /// The account has as many as it may.
    #[error("the account has as many tournaments that have not ended as it may have")]
    TooMany,
    #[error("the idempotency key stands for another request")]
    KeyReused,
    /// The account was deleted.
    #[error("there is no such account")]
    NoSuchAccount,
    /// It cannot happen to this tournament now.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Other writers came first, again and again.
    #[error("the tournament is being changed by others: try again")]
    Busy,
    #[error(transparent)]
    Unreadable(#[from] UnreadableState),
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The store answered something that it does not answer.
    #[error("the store answered a change of a tournament with something else: {0}")]
    Unexpected(String),
}

impl LoggedState for Tournament {
    /// One of a thousand bots takes about two megabytes, a usual one a hundredth of that.
    const KEPT_MAX: NonZero<usize> = NonZero::new(128).expect("not zero");

    fn begin(definition: &[u8]) -> Result<Self, impl Display> {
        Definition::decode(definition).map(Self::new)
    }

    fn add(&mut self, entry: &[u8]) -> Result<(), impl Display> {
        let entry = LogEntry::decode(entry).map_err(|error| error.to_string())?;
        self.apply(&entry).map_err(|error| error.to_string())
    }
}

impl<E: ArenaEnvironment> Tournaments<E> {
    #[must_use]
    pub fn new(environment: E) -> Self {
        let writers = std::array::from_fn(|_| Mutex::new(()));
        Self(Arc::new(Shared { environment, states: States::default(), feeds: Feeds::default(), writers }))
    }

    /// # Errors
    /// [`TournamentError::NotFound`], also of a competition of another kind; the store's.
    pub async fn load(&self, id: CompetitionId) -> Result<LoadedTournament, TournamentError> {
        let shared = self.0.clone();
        let read = self.0.environment.read(move |reader| {
            let row = reader.competition(id)?.filter(|row| row.kind == CompetitionKind::Tournament);
            row.map(|mut row| Ok((shared.states.read(reader, &mut row)?, row))).transpose()
        });
        let (state, row) = read.await?.ok_or(TournamentError::NotFound)?;
        Ok(LoadedTournament { state: state?, row })
    }

    /// The version of a tournament, now and whenever it changes: on this node at once, on others within a second.
    pub fn subscribe(&self, id: CompetitionId, version: u32) -> watch::Receiver<u32> {
        feeds::subscribe(&self.0, id, version)
    }

    async fn lock_writer(&self, id: CompetitionId) -> MutexGuard<'_, ()> {
        self.0.writers[(id.0 % WRITERS as u128) as usize].lock().await
    }
}
