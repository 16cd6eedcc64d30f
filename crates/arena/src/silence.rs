//! Which bots gave no valid move in a whole match: they were not there. The match's log knows, for as long as it is kept.

use engine::duels::SilentAnswer;
use engine::ids::MatchId;
use engine::matches::entry::{AnswerClass, Entry, PlayedMove};
use store::{Reader, StoreError};

/// Entries that are read at once: nearly every bot has answered by then.
const PAGE: usize = 64;
/// A single missed call may have met a bot that was just waking.
const CALLS_MIN: u32 = 2;

/// By seat: what came instead of moves, if no valid move did. Of a match that was deleted, no bot is taken to be silent.
pub(crate) fn silent_seats(
    reader: &mut dyn Reader,
    id: MatchId,
    seats: usize,
) -> Result<Vec<Option<SilentAnswer>>, StoreError> {
    let mut calls = vec![Calls::default(); seats];
    let mut from = 0;
    while calls.iter().any(|calls| !calls.has_valid) {
        let page = reader.match_log(id, from, PAGE)?;
        let Some(page) = page.filter(|page| !page.rows.is_empty()) else { break };
        from += page.rows.len() as u32;
        for row in &page.rows {
            if let Ok(Entry::Turn { played, .. }) = Entry::decode(&row.bytes) {
                let called = calls.iter_mut().zip(played).filter_map(|(calls, played)| Some((calls, played?)));
                called.for_each(|(calls, played)| calls.add(played));
            }
        }
    }
    Ok(calls.into_iter().map(Calls::silence).collect())
}

/// The calls for moves of one seat.
#[derive(Clone, Default)]
struct Calls {
    count: u32,
    has_valid: bool,
    /// The first one, or the first one with an answer.
    answer: Option<SilentAnswer>,
}

impl Calls {
    fn add(&mut self, played: PlayedMove) {
        self.count += 1;
        self.has_valid |= played.class == AnswerClass::Valid;
        let has_response = self.answer.as_ref().is_some_and(|answer| answer.response.is_some());
        if self.answer.is_none() || !has_response && played.response.is_some() {
            self.answer = Some(SilentAnswer { class: played.class, response: played.response });
        }
    }

    fn silence(self) -> Option<SilentAnswer> {
        self.answer.filter(|_| self.count >= CALLS_MIN && !self.has_valid)
    }
}
