//! The states of duels in memory, so that a step or a view reads only what is new in a log. A whole log for each result would cost the
//! square of its length, and one for each view would let strangers keep the database busy.

use super::log_reader::{NotADuel, read_duel};
use engine::competitions::CompetitionRow;
use engine::duels::Duel;
use engine::ids::CompetitionId;
use lru::LruCache;
use std::num::NonZero;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use store::{Reader, StoreError};

/// Duels that are kept, at some 20 kB for a long one.
const STATES_MAX: NonZero<usize> = NonZero::new(1_024).expect("not zero");

/// A state, and how many entries of its log it has.
#[derive(Clone)]
struct State {
    version: u32,
    duel: Arc<Duel>,
}

/// States that can be read again at any time.
pub struct DuelStates(Mutex<LruCache<CompetitionId, State>>);

impl Default for DuelStates {
    fn default() -> Self {
        Self(Mutex::new(LruCache::new(STATES_MAX)))
    }
}

impl DuelStates {
    /// The duel as of this row.
    ///
    /// # Errors
    /// The store's.
    pub fn read(
        &self,
        reader: &mut dyn Reader,
        row: &CompetitionRow,
    ) -> Result<Result<Arc<Duel>, NotADuel>, StoreError> {
        let known = self.lock().get(&row.id).filter(|state| state.version <= row.version).cloned();
        let (version, duel) = known.map_or((0, None), |state| (state.version, Some(state.duel)));
        if let Some(duel) = &duel
            && version == row.version
        {
            return Ok(Ok(duel.clone()));
        }
        let read = read_duel(reader, row, duel.map(|duel| (version, Duel::clone(&duel))))?.map(Arc::new);
        if let Ok(duel) = &read {
            self.keep(row.id, row.version, duel.clone());
        }
        Ok(read)
    }

    /// Keeps a state that is saved.
    pub fn keep(&self, id: CompetitionId, version: u32, duel: Arc<Duel>) {
        let mut states = self.lock();
        if states.peek(&id).is_none_or(|known| known.version < version) {
            states.put(id, State { version, duel });
        }
    }

    /// Each change is one call.
    fn lock(&self) -> MutexGuard<'_, LruCache<CompetitionId, State>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
