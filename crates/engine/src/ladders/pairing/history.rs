//! What of a ladder's recent past decides about its next pairings: who met whom, how many of the last games each bot had, what is under
//! way. Made of the ladder's results and of its matches under way, so that any process can make it again after a crash. It does not
//! know ratings.

use crate::ids::BotId;
use crate::limits::LADDER_MIN_GAMES;
use std::collections::{BTreeMap, VecDeque};

/// Different opponents of a bot that are remembered, newest last: whom it met among these it meets again only when no other bot can
/// play. A ladder with at most one bot more than this is therefore a round robin.
pub const OPPONENTS_REMEMBERED: usize = 32;
/// Games a bot has on average among those that are counted as its recent share: as many as a bot plays until it is ranked, so that new
/// bots come first until then.
pub const SHARE_GAMES: usize = LADDER_MIN_GAMES as usize;
/// Results of one ladder that are read again at most when its history is made anew.
pub const HISTORY_RESULTS_MAX: usize = 50_000;

/// The recent past of one ladder.
#[derive(Clone, Debug, Default)]
pub struct PairingHistory {
    bots: BTreeMap<BotId, BotHistory>,
    /// Matches created whose results have not been applied, by key.
    under_way: BTreeMap<u64, Vec<BotId>>,
    /// The last matches whose results were applied, oldest first.
    applied: VecDeque<Vec<BotId>>,
}

/// The recent past of one bot.
#[derive(Clone, Debug, Default)]
pub(super) struct BotHistory {
    /// Games among the last ones of the ladder, those under way included.
    pub(super) share: u32,
    /// Games under way by seat.
    pub(super) under_way: Vec<u32>,
    /// The last opponents, newest last, each once.
    opponents: VecDeque<Opponent>,
    /// Whether it gave no valid move in the last match that says anything about it.
    pub(super) was_silent: bool,
}

#[derive(Clone, Copy, Debug)]
struct Opponent {
    bot: BotId,
    /// How often we sat in front of it, less how often it sat in front of us, for as long as it has been remembered.
    lead: i32,
}

impl PairingHistory {
    /// A match was created: its meetings count from now on. `seats` has its bots by seat.
    pub fn start(&mut self, key: u64, seats: &[BotId]) {
        if self.under_way.contains_key(&key) {
            return;
        }
        for (seat, bot) in seats.iter().enumerate() {
            let history = self.bots.entry(*bot).or_default();
            history.share += 1;
            history.add_under_way(seat);
            history.meet(seat, seats);
        }
        self.under_way.insert(key, seats.to_vec());
    }

    /// The result of a match was applied, however it ended.
    pub fn end(&mut self, key: u64, seats: &[BotId]) {
        self.start(key, seats);
        let Some(seats) = self.under_way.remove(&key) else { return };
        for (seat, bot) in seats.iter().enumerate() {
            if let Some(count) = self.bots.get_mut(bot).and_then(|history| history.under_way.get_mut(seat)) {
                *count = count.saturating_sub(1);
            }
        }
        self.applied.push_back(seats);
    }

    /// A match was played: whether this bot gave no valid move in it.
    pub fn note_silence(&mut self, bot: BotId, is_silent: bool) {
        self.bots.entry(bot).or_default().was_silent = is_silent;
    }

    /// Forgets the oldest results, so that `entries` bots in matches of `seats` have [`SHARE_GAMES`] each on average.
    pub fn trim(&mut self, entries: usize, seats: usize) {
        let matches_max = share_matches(entries, seats);
        while self.applied.len() > matches_max {
            for bot in self.applied.pop_front().into_iter().flatten() {
                if let Some(history) = self.bots.get_mut(&bot) {
                    history.share = history.share.saturating_sub(1);
                }
            }
        }
    }

    /// Matches whose results have not been applied.
    #[must_use]
    pub fn matches_unapplied(&self) -> usize {
        self.under_way.len()
    }

    /// Forgets all bots that are no entries and have no games that count here.
    pub fn retain(&mut self, is_entry: impl Fn(BotId) -> bool) {
        self.bots.retain(|bot, history| history.share > 0 || is_entry(*bot));
    }

    /// Games of a bot among the last ones, those under way included.
    #[must_use]
    pub fn share(&self, bot: BotId) -> u32 {
        self.bots.get(&bot).map_or(0, |history| history.share)
    }

    pub(super) fn of(&self, bot: BotId) -> Option<&BotHistory> {
        self.bots.get(&bot)
    }
}

/// Matches that make up the recent share of so many entries.
fn share_matches(entries: usize, seats: usize) -> usize {
    (entries * SHARE_GAMES).div_ceil(seats.max(1)).min(HISTORY_RESULTS_MAX)
}

/// The last results that are needed to make the history of a ladder anew: for the shares, and for the opponents that are remembered.
#[must_use]
pub fn history_results(entries: usize, seats: usize) -> usize {
    let met_in_a_match = seats.saturating_sub(1).max(1);
    let meetings = (entries * OPPONENTS_REMEMBERED).div_ceil(seats.max(1) * met_in_a_match);
    meetings.max(share_matches(entries, seats)).min(HISTORY_RESULTS_MAX)
}

impl BotHistory {
    /// How recently this bot was met: 0 is not among those remembered, [`OPPONENTS_REMEMBERED`] is the last one.
    pub(super) fn recency(&self, bot: BotId) -> u32 {
        let age = self.opponents.iter().rev().position(|opponent| opponent.bot == bot);
        age.map_or(0, |age| (OPPONENTS_REMEMBERED - age) as u32)
    }

    /// See [`Opponent::lead`].
    pub(super) fn lead(&self, bot: BotId) -> i32 {
        self.opponents.iter().find(|opponent| opponent.bot == bot).map_or(0, |opponent| opponent.lead)
    }

    pub(super) fn games_under_way(&self) -> u32 {
        self.under_way.iter().sum()
    }

    fn add_under_way(&mut self, seat: usize) {
        if self.under_way.len() <= seat {
            self.under_way.resize(seat + 1, 0);
        }
        self.under_way[seat] += 1;
    }

    /// The bot in this seat has met all the others.
    fn meet(&mut self, own_seat: usize, seats: &[BotId]) {
        for (seat, bot) in seats.iter().enumerate().filter(|(seat, _)| *seat != own_seat) {
            let known = self.opponents.iter().position(|opponent| opponent.bot == *bot);
            let lead = known.and_then(|at| self.opponents.remove(at)).map_or(0, |opponent| opponent.lead);
            let lead = lead + if own_seat < seat { 1 } else { -1 };
            self.opponents.push_back(Opponent { bot: *bot, lead });
        }
        while self.opponents.len() > OPPONENTS_REMEMBERED {
            self.opponents.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bots(ids: &[u128]) -> Vec<BotId> {
        ids.iter().map(|id| BotId(*id)).collect()
    }

    #[test]
    fn a_match_counts_once_however_often_it_is_told() {
        let mut history = PairingHistory::default();
        for _ in 0..2 {
            history.start(1, &bots(&[1, 2]));
        }
        assert_eq!((history.share(BotId(1)), history.matches_unapplied()), (1, 1));
        assert_eq!(history.of(BotId(2)).map(|bot| bot.under_way.clone()), Some(vec![0, 1]));
        history.end(1, &bots(&[1, 2]));
        assert_eq!((history.share(BotId(1)), history.matches_unapplied()), (1, 0));
        assert_eq!(history.of(BotId(2)).map(BotHistory::games_under_way), Some(0));
    }

    #[test]
    fn a_result_of_an_unknown_match_is_its_meeting_too() {
        let mut history = PairingHistory::default();
        history.end(9, &bots(&[1, 2, 3]));
        let first = history.of(BotId(1)).expect("it played");
        assert_eq!((first.share, first.recency(BotId(3)), first.recency(BotId(2))), (1, 32, 31));
        assert_eq!((first.lead(BotId(2)), history.of(BotId(3)).map(|third| third.lead(BotId(2)))), (1, Some(-1)));
    }

    #[test]
    fn shares_are_those_of_the_last_matches() {
        let mut history = PairingHistory::default();
        for key in 0..30 {
            history.end(key, &bots(&[1, if key < 15 { 2 } else { 3 }]));
        }
        history.trim(3, 2);
        assert_eq!([1, 2, 3].map(|bot| history.share(BotId(bot))), [15, 0, 15]);
        history.trim(1, 2);
        assert_eq!([1, 2, 3].map(|bot| history.share(BotId(bot))), [5, 0, 5]);
    }

    #[test]
    fn opponents_are_forgotten_in_the_order_in_which_they_were_last_met() {
        let mut history = PairingHistory::default();
        for (key, opponent) in (2..2 + OPPONENTS_REMEMBERED as u128).chain([2, 100]).enumerate() {
            history.end(key as u64, &bots(&[1, opponent]));
        }
        let first = history.of(BotId(1)).expect("it played");
        assert_eq!([2, 3, 4, 100].map(|bot| first.recency(BotId(bot))), [31, 0, 1, 32]);
        assert_eq!(first.lead(BotId(2)), 2);
    }

    #[test]
    fn bots_without_an_entry_are_forgotten_with_their_last_game() {
        let mut history = PairingHistory::default();
        history.end(1, &bots(&[1, 2]));
        history.start(2, &bots(&[3, 4]));
        let known = |history: &PairingHistory| history.bots.keys().map(|bot| bot.0).collect::<Vec<_>>();
        history.retain(|_| false);
        assert_eq!(known(&history), [1, 2, 3, 4]);
        history.trim(0, 2);
        history.retain(|bot| bot == BotId(2));
        assert_eq!(known(&history), [2, 3, 4]);
    }

    #[test]
    fn as_many_results_are_read_again_as_are_needed() {
        assert_eq!(history_results(1_000, 2), 16_000);
        assert_eq!(history_results(1_000, 4), 2_667);
        assert_eq!(history_results(10_000, 8), 12_500);
        assert_eq!(history_results(10_000, 2), HISTORY_RESULTS_MAX);
        assert_eq!(history_results(0, 0), 0);
    }
}
