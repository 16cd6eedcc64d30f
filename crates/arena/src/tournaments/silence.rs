//! Which bots gave no valid move in a whole match: they were not there. The match's log knows, for as long as it is kept.

use engine::ids::MatchId;
use engine::matches::entry::{AnswerClass, Entry};
use store::{Reader, StoreError};

/// Entries that are read at once: nearly every bot has answered by then.
const PAGE: usize = 64;
/// A single missed call may have met a bot that was just waking.
const CALLS_MIN: u32 = 2;

/// By seat. Of a match that was deleted, nobody is taken to be silent.
pub(super) fn silent_seats(reader: &mut dyn Reader, id: MatchId, seats: usize) -> Result<Vec<bool>, StoreError> {
    let mut calls = vec![Calls::default(); seats];
    let mut from = 0;
    while calls.iter().any(|calls| !calls.has_valid) {
        let page = reader.match_log(id, from, PAGE)?;
        let Some(page) = page.filter(|page| !page.rows.is_empty()) else { break };
        from += page.rows.len() as u32;
        for row in &page.rows {
            if let Ok(Entry::Turn { played, .. }) = Entry::decode(&row.bytes) {
                for (calls, played) in calls.iter_mut().zip(&played) {
                    let Some(played) = played else { continue };
                    calls.count += 1;
                    calls.has_valid |= played.class == AnswerClass::Valid;
                }
            }
        }
    }
    Ok(calls.iter().map(|calls| calls.count >= CALLS_MIN && !calls.has_valid).collect())
}

/// The calls for moves of one seat.
#[derive(Clone, Copy, Default)]
struct Calls {
    count: u32,
    has_valid: bool,
}
