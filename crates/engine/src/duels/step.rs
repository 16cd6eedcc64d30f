//! What a duel does next.
//!
//! Several pairs are played at once and end in any order, but they count in the order in which they were started: a pair that has ended
//! waits for those before it. So the test sees the same sequence that it would see if pairs were played one after the other, and its
//! error rates hold. Counted as they end, quick games would come first, and a bot that wins quickly would look better than it
//! is.

use super::entry::{DuelEnd, Entry, GameOutcome, GameResult, NotCounted, PairOutcome, SilentAnswer, StartedGame};
use super::game_key::GameKey;
use super::sprt::Accepted;
use super::state::Duel;
use crate::competitions::CompetitionResult;
use crate::ids::MatchId;
use crate::limits::DUEL_VOID_PAIRS_MAX;
use crate::matches::lifecycle::MatchState;

/// What follows from results: entries for the log, and games for the queue.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    pub entries: Vec<Entry>,
    /// Those of the entries.
    pub start: Vec<StartedGame>,
    /// The duel after the entries.
    pub duel: Duel,
}

/// A seat that got no valid move in a whole game.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SilentSeat {
    pub match_id: MatchId,
    pub seat: u8,
    pub answer: SilentAnswer,
}

impl Duel {
    /// Takes results in the order of their numbers, with the seats that were silent in their games, and starts what is to be played next.
    /// A game with a silent seat says nothing about the bots. `is_withdrawn`: a bot may not be called any more. A duel that is over stays as it is.
    #[must_use]
    pub fn advance(
        &self,
        results: &[CompetitionResult],
        silent: &[SilentSeat],
        is_withdrawn: bool,
        new_match_id: impl FnMut() -> MatchId,
    ) -> Step {
        let mut step = Step { entries: Vec::new(), start: Vec::new(), duel: self.clone() };
        if self.end().is_some() {
            return step;
        }
        step.take_results(results, silent);
        let silence = |duel: &Self| duel.silent_bot().map(|_| DuelEnd::BotSilent);
        let end = step.count_pairs().or_else(|| silence(&step.duel));
        if let Some(end) = end.or(is_withdrawn.then_some(DuelEnd::BotWithdrawn)) {
            step.push(Entry::Over { end });
        } else {
            step.start_games(new_match_id);
        }
        step
    }

    /// Ends it at its owner's wish. Nothing happens to one that is over.
    #[must_use]
    pub fn cancel(&self) -> Step {
        let mut step = Step { entries: Vec::new(), start: Vec::new(), duel: self.clone() };
        if self.end().is_none() {
            step.push(Entry::Over { end: DuelEnd::Cancelled });
        }
        step
    }

    /// What a result says, if it is of a game in flight.
    fn read_result(&self, result: &CompetitionResult) -> Option<GameResult> {
        let key = GameKey::from_u64(result.key)?;
        let is_known = self.in_flight.get(&key) == Some(&result.match_id);
        is_known.then(|| GameResult { key, match_id: result.match_id, outcome: outcome(result, key) })
    }

    /// The bot in a seat of a game, by its place: the second bot of a pairing has seat 1 in game 0.
    fn bot_of(&self, key: GameKey, seat: u8) -> Option<u8> {
        let (first, second) = *self.definition().pairings().get(usize::from(key.pairing))?;
        Some(if seat == key.game { first } else { second } as u8)
    }

    /// Pairs that are being played.
    fn pairs_in_play(&self) -> usize {
        self.pairings.iter().flat_map(|pairing| pairing.open.values()).filter(|open| open.outcome().is_none()).count()
    }

    /// The pairing that shall have the next pair: the one with the fewest that still wants some.
    fn next_pairing(&self) -> Option<usize> {
        let wants_more = |at: &usize| {
            let pairing = &self.pairings[*at];
            let may_count = pairing.open.values().filter(|open| open.outcome() != Some(PairOutcome::Void)).count();
            pairing.counts().pairs() + (may_count as u32) < self.definition().pairs_max
        };
        (0..self.pairings.len()).filter(wants_more).min_by_key(|at| self.pairings[*at].pairs_started)
    }
}

/// What the second bot of the pairing got; in game 0 it has seat 1.
fn outcome(result: &CompetitionResult, key: GameKey) -> GameOutcome {
    match result.ending {
        MatchState::Finished if result.summary.is_server_fault => GameOutcome::NotCounted(NotCounted::ServerFault),
        MatchState::Finished => match result.summary.seats.as_slice() {
            [one, other] => {
                let (second, first) = if key.game == 0 { (other, one) } else { (one, other) };
                GameOutcome::Played(match second.place.cmp(&first.place) {
                    std::cmp::Ordering::Less => 2,
                    std::cmp::Ordering::Equal => 1,
                    std::cmp::Ordering::Greater => 0,
                })
            }
            _ => GameOutcome::NotCounted(NotCounted::Failed),
        },
        MatchState::Cancelled => GameOutcome::NotCounted(NotCounted::Cancelled),
        MatchState::Waiting | MatchState::Running | MatchState::Failed => GameOutcome::NotCounted(NotCounted::Failed),
    }
}

impl Step {
    fn push(&mut self, entry: Entry) {
        self.duel.apply(&entry).expect("entries of this step name the duel's own pairings");
        self.entries.push(entry);
    }

    /// One entry for all results up to one with silent seats, whose entries follow: games without a move are counted in a row.
    fn take_results(&mut self, results: &[CompetitionResult], silent: &[SilentSeat]) {
        let mut games: Vec<GameResult> = Vec::new();
        for result in results {
            let Some(mut game) = self.duel.read_result(result) else { continue };
            let seats: Vec<&SilentSeat> = silent.iter().filter(|seat| seat.match_id == game.match_id).collect();
            let is_silent = !seats.is_empty() && matches!(game.outcome, GameOutcome::Played(_));
            if is_silent {
                game.outcome = GameOutcome::NotCounted(NotCounted::Silent);
            }
            games.push(game);
            if is_silent {
                self.push(Entry::Ended { games: std::mem::take(&mut games) });
                let bots = seats.iter().filter_map(|seat| Some((self.duel.bot_of(game.key, seat.seat)?, &seat.answer)));
                let entries: Vec<Entry> =
                    bots.map(|(bot, answer)| Entry::Silent { bot, answer: answer.clone() }).collect();
                entries.into_iter().for_each(|entry| self.push(entry));
            }
        }
        if !games.is_empty() {
            self.push(Entry::Ended { games });
        }
    }

    /// Counts the pairs whose turn it is, and asks after each whether the duel is over.
    fn count_pairs(&mut self) -> Option<DuelEnd> {
        for at in 0..self.duel.pairings.len() {
            let mut pairs = Vec::new();
            let mut end = None;
            while end.is_none()
                && let Some(outcome) = self.duel.next_outcome(at)
            {
                self.duel.pairings[at].count(outcome);
                pairs.push(outcome);
                end = self.duel.judge(at);
            }
            if !pairs.is_empty() {
                self.entries.push(Entry::Counted { pairing: at as u8, pairs });
            }
            if end.is_some() {
                return end;
            }
        }
        None
    }

    /// Fills up: first games that must be repeated, then new pairs. Pairs that have ended and wait for earlier ones are bounded as
    /// well, because what is played beyond the test's end is thrown away.
    fn start_games(&mut self, mut new_match_id: impl FnMut() -> MatchId) {
        let mut games = Vec::new();
        for (pairing, state) in (0..).zip(&self.duel.pairings) {
            let playable = state.open.iter().filter(|(_, open)| open.outcome().is_none());
            for (pair, open) in playable {
                let startable = (0..).zip(&open.games).filter(|(_, game)| game.is_startable());
                let key = |(game, state): (u8, &super::state::PairGame)| GameKey {
                    pairing,
                    pair: *pair,
                    game,
                    attempt: state.attempts,
                };
                games.extend(startable.map(key));
            }
        }
        self.start(games, &mut new_match_id);
        let at_once = self.duel.definition().pairs_at_once as usize;
        while self.duel.pairs_in_play() < at_once
            && self.duel.pairings.iter().map(|pairing| pairing.open.len()).sum::<usize>() < 2 * at_once
            && let Some(at) = self.duel.next_pairing()
        {
            let pair = self.duel.pairings[at].pairs_started;
            let key = |game| GameKey { pairing: at as u8, pair, game, attempt: 0 };
            self.start(vec![key(0), key(1)], &mut new_match_id);
        }
        if !self.start.is_empty() {
            self.entries.push(Entry::Started { games: self.start.clone() });
        }
    }

    /// Applies the start of games; their entry is written once, at the end.
    fn start(&mut self, keys: Vec<GameKey>, new_match_id: &mut impl FnMut() -> MatchId) {
        let games: Vec<StartedGame> =
            keys.into_iter().map(|key| StartedGame { key, match_id: new_match_id() }).collect();
        let entry = Entry::Started { games };
        self.duel.apply(&entry).expect("games of this step are of the duel's own pairings");
        if let Entry::Started { games } = entry {
            self.start.extend(games);
        }
    }
}

impl Duel {
    /// What the next pair of a pairing is worth, if it is known.
    fn next_outcome(&self, pairing: usize) -> Option<PairOutcome> {
        let state = &self.pairings[pairing];
        state.open.get(&(state.outcomes().len() as u32))?.outcome()
    }

    /// Whether the duel is over after the last counted pair of this pairing.
    fn judge(&self, pairing: usize) -> Option<DuelEnd> {
        let accepted = self.definition().test.and_then(|test| test.decide(self.pairings[pairing].counts()));
        if let Some(accepted) = accepted {
            return Some(match accepted {
                Accepted::H0 => DuelEnd::H0Accepted,
                Accepted::H1 => DuelEnd::H1Accepted,
            });
        }
        if self.pairings.iter().map(super::state::PairingState::void_pairs).sum::<u32>() > DUEL_VOID_PAIRS_MAX {
            return Some(DuelEnd::TooManyVoidPairs);
        }
        let pairs_max = self.definition().pairs_max;
        self.pairings.iter().all(|pairing| pairing.counts().pairs() >= pairs_max).then_some(DuelEnd::GamesPlayed)
    }
}

#[cfg(test)]
mod tests;
