//! Competitions in memory that are folds over their logs, so that a step or a view reads only what is new. A whole log for each result would
//! cost the square of its length, and one for each view would let strangers keep the database busy.

use engine::competitions::CompetitionRow;
use engine::ids::CompetitionId;
use lru::LruCache;
use std::fmt::Display;
use std::num::NonZero;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use store::{Reader, StoreError};

/// Entries that are read at once.
const PAGE: usize = 1_000;

/// A competition that follows from its definition and its log.
pub trait LoggedState: Clone {
    /// How many are kept in memory.
    const KEPT_MAX: NonZero<usize>;

    /// The one to which nothing has happened.
    ///
    /// # Errors
    /// Why these bytes are no definition.
    fn begin(definition: &[u8]) -> Result<Self, impl Display>;

    /// Adds an entry of the log.
    ///
    /// # Errors
    /// Why this entry cannot follow.
    fn add(&mut self, entry: &[u8]) -> Result<(), impl Display>;
}

/// What is stored is not such a competition, or one of a newer version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("what is stored of competition {id} cannot be read: {reason}")]
pub struct UnreadableState {
    pub id: CompetitionId,
    pub reason: String,
}

/// A state, and how many entries of its log it has.
#[derive(Clone)]
struct Known<S> {
    version: u32,
    state: Arc<S>,
}

/// States that can be read again at any time.
pub struct States<S>(Mutex<LruCache<CompetitionId, Known<S>>>);

impl<S: LoggedState> Default for States<S> {
    fn default() -> Self {
        Self(Mutex::new(LruCache::new(S::KEPT_MAX)))
    }
}

impl<S: LoggedState> States<S> {
    /// The competition as of this row, which is read again when a later state is known already.
    ///
    /// # Errors
    /// The store's.
    pub fn read(
        &self,
        reader: &mut dyn Reader,
        row: &mut CompetitionRow,
    ) -> Result<Result<Arc<S>, UnreadableState>, StoreError> {
        let known = self.lock().get(&row.id).cloned();
        if known.as_ref().is_some_and(|known| known.version > row.version)
            && let Some(later) = reader.competition(row.id)?
        {
            *row = later;
        }
        let row = &*row;
        // Only a database that was put back has an earlier one still.
        let known = known.filter(|known| known.version <= row.version);
        if let Some(known) = &known
            && known.version == row.version
        {
            return Ok(Ok(known.state.clone()));
        }
        let replayed = match known {
            Some(known) => replay_from(reader, row, known.version, Arc::unwrap_or_clone(known.state))?,
            None => match S::begin(&row.definition) {
                Ok(first) => replay_from(reader, row, 0, first)?,
                Err(reason) => Err(unreadable(row, reason)),
            },
        };
        let replayed = replayed.map(Arc::new);
        if let Ok(state) = &replayed {
            self.keep(row.id, row.version, state.clone());
        }
        Ok(replayed)
    }

    /// Keeps a state that is saved.
    pub fn keep(&self, id: CompetitionId, version: u32, state: Arc<S>) {
        let mut states = self.lock();
        if states.peek(&id).is_none_or(|known| known.version < version) {
            states.put(id, Known { version, state });
        }
    }

    /// Each change is one call.
    fn lock(&self) -> MutexGuard<'_, LruCache<CompetitionId, Known<S>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Adds the entries from this one on, a page of the log in memory at a time.
fn replay_from<S: LoggedState>(
    reader: &mut dyn Reader,
    row: &CompetitionRow,
    first: u32,
    mut state: S,
) -> Result<Result<S, UnreadableState>, StoreError> {
    let mut next = first;
    while next < row.version {
        let page = ((row.version - next) as usize).min(PAGE);
        let entries = reader.competition_log(row.id, next, page)?;
        if entries.is_empty() {
            return Ok(Err(unreadable(row, "entries of its log are missing")));
        }
        for entry in &entries {
            if let Err(reason) = state.add(entry) {
                return Ok(Err(unreadable(row, reason)));
            }
        }
        next += entries.len() as u32;
    }
    Ok(Ok(state))
}

fn unreadable(row: &CompetitionRow, reason: impl Display) -> UnreadableState {
    UnreadableState { id: row.id, reason: reason.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestArena;
    use engine::commands::{Advance, Command, CompetitionCommand, Outcome};
    use engine::competitions::CompetitionKind;
    use engine::ids::AccountId;
    use engine::time::UnixMs;

    /// The entries themselves.
    #[derive(Clone)]
    struct Entries(Vec<Vec<u8>>);

    impl LoggedState for Entries {
        const KEPT_MAX: NonZero<usize> = NonZero::<usize>::MIN;

        fn begin(_definition: &[u8]) -> Result<Self, impl Display> {
            Ok::<_, &str>(Self(Vec::new()))
        }

        fn add(&mut self, entry: &[u8]) -> Result<(), impl Display> {
            self.0.push(entry.to_vec());
            Ok::<_, &str>(())
        }
    }

    #[test]
    fn a_row_that_is_behind_the_known_state_is_read_again() {
        let arena = TestArena::new(0);
        let (id, account) = (CompetitionId(1), AccountId(1));
        let row = CompetitionRow::new(id, CompetitionKind::Duel, account, "d".to_owned(), Vec::new(), UnixMs(0));
        let create = CompetitionCommand::Create { row: row.clone(), live_max: 1, idempotency: None };
        assert_eq!(arena.commit_now(Command::Competition(create)), Outcome::Done);
        let advance = Advance { entries: vec![vec![1], vec![2]], ..Advance::of(&row, UnixMs(0)) };
        assert_eq!(arena.commit_now(Command::Competition(CompetitionCommand::Advance(advance))), Outcome::Done);
        let states = States::<Entries>::default();
        let (mut now, mut before) = (CompetitionRow { version: 2, ..row.clone() }, row);
        let known = arena.read_now(|reader| states.read(reader, &mut now)).unwrap();
        assert_eq!(known.0, [vec![1], vec![2]]);
        let again = arena.read_now(|reader| states.read(reader, &mut before)).unwrap();
        assert!(Arc::ptr_eq(&known, &again), "nothing is replayed");
        assert_eq!(before.version, 2);
    }
}
