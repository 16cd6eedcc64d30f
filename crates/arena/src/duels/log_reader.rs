//! Reads a duel from the store: its definition, and its whole log.

use engine::DecodeError;
use engine::competitions::CompetitionRow;
use engine::duels::{CorruptLog, Duel, DuelDefinition, Entry};
use store::{Reader, StoreError};

/// Entries that are read at once.
const PAGE: usize = 1_000;

/// What is stored is not a duel, or one of a newer version.
#[derive(Debug, thiserror::Error)]
pub enum NotADuel {
    #[error("its definition or an entry of its log cannot be read: {0}")]
    Decode(#[from] DecodeError),
    #[error(transparent)]
    Corrupt(#[from] CorruptLog),
    #[error("entries of its log are missing")]
    Missing,
}

/// The duel as of this row's version; `known` is one of its states, with the entries that it has.
///
/// # Errors
/// The store's.
pub(super) fn read_duel(
    reader: &mut dyn Reader,
    row: &CompetitionRow,
    known: Option<(u32, Duel)>,
) -> Result<Result<Duel, NotADuel>, StoreError> {
    let from = known.as_ref().map_or(0, |(version, _)| *version);
    let missing = row.version.saturating_sub(from) as usize;
    let mut log = Vec::new();
    while log.len() < missing {
        let page = (missing - log.len()).min(PAGE);
        let entries = reader.competition_log(row.id, from + log.len() as u32, page)?;
        if entries.is_empty() {
            return Ok(Err(NotADuel::Missing));
        }
        log.extend(entries);
    }
    Ok(replay(row, known.map(|(_, duel)| duel), &log))
}

fn replay(row: &CompetitionRow, known: Option<Duel>, log: &[Vec<u8>]) -> Result<Duel, NotADuel> {
    let mut duel = match known {
        Some(duel) => duel,
        None => Duel::new(DuelDefinition::decode(&row.definition)?),
    };
    for entry in log {
        duel.apply(&Entry::decode(entry)?)?;
    }
    Ok(duel)
}
