//! The bots that can play now, in the order of their ratings, while a plan takes line-ups out of them.

use super::history::{BotHistory, OPPONENTS_REMEMBERED, PairingHistory};
use super::{PARTNERS_COMPARED, PARTNERS_LOOKED_AT, PairingEntry, PairingRules};
use crate::ids::BotId;
use crate::ratings::BETA;
use rules::chance::{Chance, Dice};
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Players stand in the order of their ratings; a player is named by its position.
pub(super) struct Pool<'e> {
    rules: &'e PairingRules,
    players: Vec<Player<'e>>,
    /// Those with a game to spare, linked in their order.
    free: FreeList,
    /// Those who may begin a line-up, the first of them first.
    due: BTreeSet<Due>,
    shares_sum: u64,
}

struct Player<'e> {
    entry: &'e PairingEntry,
    history: Option<&'e BotHistory>,
    /// Decides between equals.
    lot: u32,
    share: u32,
    games_at_once: u32,
    games_at_once_max: u32,
    /// Opponents and own seats of this plan's line-ups.
    planned_opponents: Vec<usize>,
    planned_seats: Vec<usize>,
}

/// Fewest games first, then the most uncertain, then by lot: the bits of positive numbers sort as the numbers do.
type Due = (u32, Reverse<u64>, u32, usize);

/// Games more than the average that a bot may have had and still be drawn into a line-up before one that was met recently. With 0 shares
/// differ by three, but small ladders are no even round robins any more: of two pairs one meets up to four times more often than the other,
/// instead of twice. Without a limit, shares differ by six.
const OVER_SHARE_MAX: u32 = 1;

/// How good a partner is, by the first difference: whether it had far more than its share, whether it was met recently, how much more than
/// its share it had, how recently it was met, and how far it is.
#[derive(Clone, Copy, Debug)]
struct PartnerCost {
    recency: u32,
    over_share: u32,
    distance: f64,
}

impl PartnerCost {
    fn is_below(&self, other: &Self) -> bool {
        let key = |cost: &Self| (cost.over_share > OVER_SHARE_MAX, cost.recency > 0, cost.over_share, cost.recency);
        key(self).cmp(&key(other)).then(self.distance.total_cmp(&other.distance)).is_lt()
    }
}

impl<'e> Pool<'e> {
    pub(super) fn new(
        rules: &'e PairingRules,
        entries: &'e [PairingEntry],
        history: &'e PairingHistory,
        chance: &mut Chance,
    ) -> Self {
        let mut players: Vec<Player<'e>> = entries.iter().map(|entry| Player::new(rules, entry, history)).collect();
        // The lots must not depend on the order in which the entries came.
        players.sort_unstable_by_key(|player| player.entry.bot);
        players.iter_mut().for_each(|player| player.lot = chance.below(u32::MAX));
        players.sort_unstable_by(Player::order);
        let free = FreeList::new(&players);
        let due =
            players.iter().enumerate().filter(|(at, _)| free.has(*at)).map(|(at, player)| player.due(at)).collect();
        let shares_sum = players.iter().map(|player| u64::from(player.share)).sum();
        Self { rules, players, free, due, shares_sum }
    }

    pub(super) fn bot(&self, at: usize) -> BotId {
        self.players[at].entry.bot
    }

    /// The next player to begin a line-up. It is no longer due until it has been in one. A player that had more than its share waits while
    /// others that had less are busy: otherwise quick bots would play far more than slow ones.
    pub(super) fn next_due(&mut self) -> Option<usize> {
        let &(share, .., at) = self.due.first()?;
        let share_max = self.share_max();
        let is_behind = |(at, player): (usize, &Player<'_>)| !self.free.has(at) && player.share <= share_max;
        if share > share_max && self.players.iter().enumerate().any(is_behind) {
            return None;
        }
        self.due.pop_first();
        Some(at)
    }

    /// The player and its partners, or none if too few can play with it.
    pub(super) fn line_up_of(&self, first: usize) -> Option<Vec<usize>> {
        let mut members = vec![first];
        while members.len() < self.rules.seats {
            members.push(self.best_partner(&members)?);
        }
        Some(members)
    }

    /// The best of the nearest [`PARTNERS_COMPARED`] who were not met recently and have not had more than their share; where these are rare,
    /// of the nearest [`PARTNERS_LOOKED_AT`] who were not met recently; or of all.
    fn best_partner(&self, members: &[usize]) -> Option<usize> {
        let mut best: Option<(PartnerCost, usize)> = None;
        let (mut new, mut good) = (0, 0);
        for at in self.outward(members[0]).filter(|at| self.may_join(*at, members)) {
            let cost = self.cost(at, members);
            if best.as_ref().is_none_or(|(lowest, _)| cost.is_below(lowest)) {
                best = Some((cost, at));
            }
            new += usize::from(cost.recency == 0);
            good += usize::from(cost.recency == 0 && cost.over_share == 0);
            if good == PARTNERS_COMPARED || new == PARTNERS_LOOKED_AT {
                break;
            }
        }
        best.filter(|(cost, _)| !self.is_too_soon(cost.recency, members)).map(|(_, at)| at)
    }

    /// Whether a third of those that could join were met longer ago and are busy, or one that was never met: the members wait for them. Two
    /// whose games end at the same time would otherwise meet again and again.
    fn is_too_soon(&self, recency: u32, members: &[usize]) -> bool {
        let (mut all, mut longer_ago, mut never) = (0, 0, false);
        if recency > 0 {
            let is_possible = |at: &usize| self.may_join(*at, members) && self.over_share(*at) <= OVER_SHARE_MAX;
            for at in (0..self.players.len()).filter(is_possible) {
                let met = self.recency_of(at, members);
                let is_busy = !self.free.has(at);
                all += 1;
                longer_ago += usize::from(is_busy && met < recency);
                never |= is_busy && met == 0;
            }
        }
        never || longer_ago > 0 && 3 * longer_ago >= all
    }

    fn may_join(&self, at: usize, members: &[usize]) -> bool {
        let own = self.players[at].entry;
        members.iter().all(|&member| {
            let other = self.players[member].entry;
            let is_relative = own.account == other.account || own.url_digest == other.url_digest;
            member != at && own.bot != other.bot && (self.rules.may_relatives_meet || !is_relative)
        })
    }

    fn cost(&self, at: usize, members: &[usize]) -> PartnerCost {
        let first = members[0];
        let from_first = self.distance(first, at);
        let others: f64 = members[1..].iter().map(|&member| self.distance(member, at)).sum();
        // What is near for the one may be far for the other, who has nearer ones.
        let regret = (from_first - self.nearest(at, members)).max(0.0);
        PartnerCost {
            recency: self.recency_of(at, members),
            over_share: self.over_share(at),
            distance: from_first + others + regret,
        }
    }

    /// How recently a player met the member whom it met last.
    fn recency_of(&self, at: usize, members: &[usize]) -> u32 {
        members.iter().map(|&member| self.recency(member, at)).max().unwrap_or(0)
    }

    /// Games that a player had more than the average.
    fn over_share(&self, at: usize) -> u32 {
        self.players[at].share.saturating_sub(self.share_max())
    }

    /// The average share, rounded down: who had more is drawn into a line-up only when no other bot can play.
    fn share_max(&self) -> u32 {
        (self.shares_sum / self.players.len() as u64) as u32
    }

    /// The distance of two ratings in units of what a game between the two can tell apart.
    fn distance(&self, a: usize, b: usize) -> f64 {
        let (a, b) = (self.players[a].entry.rating, self.players[b].entry.rating);
        (a.mu - b.mu).abs() / (2.0 * BETA * BETA + a.sigma * a.sigma + b.sigma * b.sigma).sqrt()
    }

    /// The distance from `at` to the nearest free player who is no member.
    fn nearest(&self, at: usize, members: &[usize]) -> f64 {
        let other = |neighbour: &usize| !members.contains(neighbour);
        let below = self.free.below(at).find(other).map(|below| self.distance(at, below));
        let above = self.free.above(at).find(other).map(|above| self.distance(at, above));
        below.unwrap_or(f64::INFINITY).min(above.unwrap_or(f64::INFINITY))
    }

    fn recency(&self, a: usize, b: usize) -> u32 {
        if self.players[a].planned_opponents.contains(&b) {
            return OPPONENTS_REMEMBERED as u32 + 1;
        }
        let recency = |of: usize, other: usize| self.players[of].history.map_or(0, |own| own.recency(self.bot(other)));
        recency(a, b).max(recency(b, a))
    }

    /// The free players, from the nearest mean rating to the farthest.
    fn outward(&self, from: usize) -> impl Iterator<Item = usize> {
        let mut below = self.free.below(from).peekable();
        let mut above = self.free.above(from).peekable();
        let gap = move |at: usize| (self.players[at].entry.rating.mu - self.players[from].entry.rating.mu).abs();
        std::iter::from_fn(move || match (below.peek(), above.peek()) {
            (Some(&low), Some(&high)) if gap(low) <= gap(high) => below.next(),
            (_, Some(_)) => above.next(),
            (_, None) => below.next(),
        })
    }

    /// How often a player had this seat, games under way and planned ones included.
    pub(super) fn had_seat(&self, at: usize, seat: usize) -> u32 {
        let player = &self.players[at];
        let rated = player.entry.seats.get(seat).copied().unwrap_or(0);
        let under_way = player.history.and_then(|history| history.under_way.get(seat)).copied().unwrap_or(0);
        let planned = player.planned_seats.iter().filter(|planned| **planned == seat).count() as u32;
        rated.saturating_add(under_way).saturating_add(planned)
    }

    /// How often a player sat in front of the other one, less how often it sat behind, as far as it is remembered.
    pub(super) fn lead(&self, at: usize, other: usize) -> i32 {
        self.players[at].history.map_or(0, |history| history.lead(self.bot(other)))
    }

    /// These players, by seat, have a game more.
    pub(super) fn start(&mut self, line_up: &[usize]) {
        for (seat, &at) in line_up.iter().enumerate() {
            let due = self.players[at].due(at);
            self.due.remove(&due);
            let player = &mut self.players[at];
            player.share += 1;
            player.games_at_once += 1;
            player.planned_seats.push(seat);
            player.planned_opponents.extend(line_up.iter().filter(|other| **other != at));
            if player.has_a_game_to_spare() {
                self.due.insert(player.due(at));
            } else {
                self.free.remove(at);
            }
        }
        self.shares_sum += line_up.len() as u64;
    }

    /// Whether there are free bots for a line-up, of different owners and with different URLs where relatives may not meet.
    pub(super) fn has_enough(&self) -> bool {
        let (seats, free) = (self.rules.seats, self.players.iter().enumerate().filter(|(at, _)| self.free.has(*at)));
        if self.rules.may_relatives_meet || self.free.len < seats {
            return self.free.len >= seats;
        }
        let (mut accounts, mut urls) = (BTreeSet::new(), BTreeSet::new());
        for (_, player) in free {
            accounts.insert(player.entry.account);
            urls.insert(player.entry.url_digest);
            if accounts.len() >= seats && urls.len() >= seats {
                return true;
            }
        }
        false
    }
}

impl<'e> Player<'e> {
    fn new(rules: &PairingRules, entry: &'e PairingEntry, history: &'e PairingHistory) -> Self {
        let history = history.of(entry.bot);
        let is_new = entry.seats.iter().all(|games| *games == 0);
        let is_doubtful = is_new || history.is_some_and(|history| history.was_silent);
        Self {
            entry,
            history,
            lot: 0,
            share: history.map_or(0, |history| history.share),
            games_at_once: history.map_or(0, BotHistory::games_under_way),
            games_at_once_max: if is_doubtful { rules.games_at_once_max.min(1) } else { rules.games_at_once_max },
            planned_opponents: Vec::new(),
            planned_seats: Vec::new(),
        }
    }

    fn has_a_game_to_spare(&self) -> bool {
        self.games_at_once < self.games_at_once_max
    }

    fn order(&self, other: &Self) -> std::cmp::Ordering {
        let rating = self.entry.rating.mu.total_cmp(&other.entry.rating.mu);
        rating.then(self.lot.cmp(&other.lot)).then(self.entry.bot.cmp(&other.entry.bot))
    }

    fn due(&self, at: usize) -> Due {
        (self.share, Reverse(self.entry.rating.sigma.to_bits()), self.lot, at)
    }
}

/// A doubly linked list over positions, from which any can be taken out.
struct FreeList {
    /// By position: the free positions before and after it.
    links: Vec<(Option<u32>, Option<u32>)>,
    is_free: Vec<bool>,
    len: usize,
}

impl FreeList {
    fn new(players: &[Player<'_>]) -> Self {
        let last = players.len().saturating_sub(1) as u32;
        let link = |at: u32| (at.checked_sub(1), (at < last).then_some(at + 1));
        let mut list = Self {
            links: (0..players.len() as u32).map(link).collect(),
            is_free: vec![true; players.len()],
            len: players.len(),
        };
        for (at, _) in players.iter().enumerate().filter(|(_, player)| !player.has_a_game_to_spare()) {
            list.remove(at);
        }
        list
    }

    fn has(&self, at: usize) -> bool {
        self.is_free[at]
    }

    /// Its own links stay: walks from a position that is no longer free find their way.
    fn remove(&mut self, at: usize) {
        if !std::mem::replace(&mut self.is_free[at], false) {
            return;
        }
        self.len -= 1;
        let (below, above) = self.links[at];
        if let Some(below) = below {
            self.links[below as usize].1 = above;
        }
        if let Some(above) = above {
            self.links[above as usize].0 = below;
        }
    }

    fn below(&self, at: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(self.links[at].0, |&at| self.links[at as usize].0).map(|at| at as usize)
    }

    fn above(&self, at: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(self.links[at].1, |&at| self.links[at as usize].1).map(|at| at as usize)
    }
}
