//! The waiting tickets, and how matches are made of them.
//!
//! The ticket that waits longest is searched for first, and gets the nearest ratings that fill its match. One step
//! searches for a bounded number of tickets and continues with the next ones at the next step, and a search looks at a
//! bounded number: its time has a bound however many wait.

use super::matching_rules::MatchingRules;
use super::ticket::{Region, Ticket, TicketRefusal};
use crate::ids::{PlayerId, TicketId};
use crate::limits::{MATCHMAKING_CANDIDATES_MAX, MATCHMAKING_LOOKS_MAX, MATCHMAKING_SEARCHES_MAX, TICKETS_MAX};
use crate::time::UnixMs;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TicketEnd {
    /// These play together.
    Matched(Vec<Ticket>),
    /// No compatible ticket was found in time.
    TimedOut(Ticket),
}

/// Tickets among which a search looks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Group {
    /// Every ticket: for those that name no region.
    All,
    /// Those that name no region.
    Anywhere,
    /// Those of one region.
    Region(Region),
}

/// A ticket in one of its groups. Ordered by its fields in turn: those that may be in one match are neighbours by rating.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct RatingKey {
    players: u8,
    group: Group,
    rating: u16,
    id: TicketId,
}

/// Those who wait.
#[derive(Clone, Debug, Default)]
pub struct TicketPool {
    rules: MatchingRules,
    waiting: BTreeMap<TicketId, Ticket>,
    by_player: BTreeMap<PlayerId, TicketId>,
    /// Who may be in one match, by rating: a search walks outwards from its own. Each is in two groups: tickets of other regions, of which there
    /// may be any number, are in the way of no search.
    /// Those whose party is not whole yet are not among them, nor in the order of age.
    by_rating: BTreeSet<RatingKey>,
    /// By when they give up.
    by_end: BTreeSet<(UnixMs, TicketId)>,
    /// By since when they wait.
    by_age: BTreeSet<(UnixMs, TicketId)>,
    /// The last one who was looked for.
    last_searched: Option<(UnixMs, TicketId)>,
}

impl TicketPool {
    /// A pool without tickets.
    #[must_use]
    pub fn new(terms: MatchingRules) -> Self {
        Self { rules: terms, ..Self::default() }
    }

    /// Takes a ticket.
    ///
    /// # Errors
    /// [`TicketRefusal`], and nothing has changed.
    pub fn add(&mut self, ticket: Ticket) -> Result<(), TicketRefusal> {
        ticket.validate()?;
        if let Some(id) = ticket.party.iter().find_map(|player| self.by_player.get(player)) {
            return Err(TicketRefusal::AlreadyWaiting(*id));
        }
        if self.waiting.len() >= TICKETS_MAX {
            return Err(TicketRefusal::QueueFull);
        }
        self.insert(ticket);
        Ok(())
    }

    /// A player joins the party of a ticket by its id. Idempotent.
    ///
    /// # Errors
    /// [`TicketRefusal`], and nothing has changed.
    pub fn join(&mut self, id: TicketId, player: PlayerId, now: UnixMs) -> Result<&Ticket, TicketRefusal> {
        if let Some(other) = self.by_player.get(&player).filter(|other| **other != id) {
            return Err(TicketRefusal::AlreadyWaiting(*other));
        }
        let mut ticket = self.waiting.get(&id).cloned().ok_or(TicketRefusal::NotWaiting)?;
        ticket.join(player, now)?;
        self.remove(id);
        self.insert(ticket);
        self.waiting.get(&id).ok_or(TicketRefusal::NotWaiting)
    }

    /// How many wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether no ticket waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Ends what can be ended at `now`: first those whose time is over, then matches.
    pub fn step(&mut self, now: UnixMs) -> Vec<TicketEnd> {
        let mut ended = self.expire(now);
        for id in self.next_searches() {
            if let Some(found) = self.search(id, now) {
                let matched = found.into_iter().filter_map(|id| self.remove(id)).collect();
                ended.push(TicketEnd::Matched(matched));
            }
        }
        ended
    }

    /// Ends the tickets whose time is over at `now`, and matches none.
    pub fn expire(&mut self, now: UnixMs) -> Vec<TicketEnd> {
        let mut ended = Vec::new();
        while let Some(&(until, id)) = self.by_end.first()
            && until <= now
        {
            ended.extend(self.remove(id).map(TicketEnd::TimedOut));
        }
        ended
    }

    /// Who is looked for in this step: in the order of their waiting, after the last one of the step before.
    fn next_searches(&mut self) -> Vec<TicketId> {
        let searches = self.by_age.len().min(MATCHMAKING_SEARCHES_MAX);
        let last = self.last_searched.unwrap_or((UnixMs(i64::MIN), TicketId(0)));
        let after = self.by_age.range((std::ops::Bound::Excluded(last), std::ops::Bound::Unbounded));
        let next: Vec<_> = after.chain(&self.by_age).take(searches).copied().collect();
        // Once around: the next step begins with the oldest again.
        let is_around = next.last().is_none_or(|last| Some(last) == self.by_age.last());
        self.last_searched = if is_around { None } else { next.last().copied() };
        next.into_iter().map(|(_, id)| id).collect()
    }

    /// Tickets that fill a match with this one; `None` when there are none, or it does not wait any more.
    fn search(&self, id: TicketId, now: UnixMs) -> Option<Vec<TicketId>> {
        let seeker = self.waiting.get(&id)?;
        let places = usize::from(seeker.players);
        // For each number of players that some set comes to: the first such set, of tickets that suit each other.
        let mut sets: Vec<Option<Vec<&Ticket>>> = vec![None; places + 1];
        sets[seeker.party.len()] = Some(vec![seeker]);
        for candidate in self.candidates(seeker, now) {
            let takes = candidate.party.len();
            for before in (seeker.party.len()..=places.saturating_sub(takes)).rev() {
                let fits = |set: &&Vec<&Ticket>| set.iter().all(|one| self.rules.is_compatible(one, candidate, now));
                if sets[before + takes].is_none()
                    && let Some(set) = sets[before].as_ref().filter(fits)
                {
                    let with = set.iter().copied().chain([candidate]).collect();
                    sets[before + takes] = Some(with);
                }
            }
            if let Some(full) = &sets[places] {
                return Some(full.iter().map(|ticket| ticket.id).collect());
            }
        }
        None
    }

    /// Those who suit the seeker, the nearest rating first.
    fn candidates<'a>(&'a self, seeker: &'a Ticket, now: UnixMs) -> impl Iterator<Item = &'a Ticket> {
        let window = self.rules.rating_window(seeker, now);
        let around = |group: &Group| self.around(seeker, group, window);
        let (own, others) = match &seeker.region {
            None => (around(&Group::All), None),
            Some(region) => (around(&Group::Region(region.clone())), Some(around(&Group::Anywhere))),
        };
        let distance = |key: &&RatingKey| key.rating.abs_diff(seeker.rating);
        let nearest = first_of(own, others.into_iter().flatten(), move |one, other| distance(one) <= distance(other));
        let suiting = nearest
            .take(MATCHMAKING_LOOKS_MAX)
            .filter_map(|key| self.waiting.get(&key.id))
            .filter(move |other| other.id != seeker.id && self.rules.is_compatible(seeker, other, now));
        suiting.take(MATCHMAKING_CANDIDATES_MAX)
    }

    /// Those of a group whose rating is at most so far from the seeker's, the nearest first.
    fn around<'a>(
        &'a self,
        seeker: &Ticket,
        group: &Group,
        window: u16,
    ) -> impl Iterator<Item = &'a RatingKey> + use<'a> {
        let own = seeker.rating;
        let key = |rating, id| RatingKey { players: seeker.players, group: group.clone(), rating, id: TicketId(id) };
        let lowest = key(own.saturating_sub(window), 0);
        let highest = key(own.saturating_add(window), u128::MAX);
        let below = self.by_rating.range(lowest..key(own, 0)).rev();
        let above = self.by_rating.range(key(own, 0)..=highest);
        first_of(above, below, move |above, below| above.rating.abs_diff(own) <= below.rating.abs_diff(own))
    }

    /// Takes a ticket in unchecked. One whose match did not come about waits on as if nothing had happened.
    pub fn insert(&mut self, ticket: Ticket) {
        let id = ticket.id;
        self.by_player.extend(ticket.party.iter().map(|player| (*player, id)));
        self.by_end.insert((ticket.until, id));
        if ticket.is_party_complete() {
            self.by_rating.extend(rating_keys(&ticket));
            self.by_age.insert((ticket.since, id));
        }
        self.waiting.insert(id, ticket);
    }

    /// Takes a ticket out; `None` when it does not wait.
    pub fn remove(&mut self, id: TicketId) -> Option<Ticket> {
        let ticket = self.waiting.remove(&id)?;
        for player in &ticket.party {
            if self.by_player.get(player) == Some(&id) {
                self.by_player.remove(player);
            }
        }
        for key in rating_keys(&ticket) {
            self.by_rating.remove(&key);
        }
        self.by_end.remove(&(ticket.until, id));
        self.by_age.remove(&(ticket.since, id));
        Some(ticket)
    }
}

fn rating_keys(ticket: &Ticket) -> [RatingKey; 2] {
    let group = ticket.region.clone().map_or(Group::Anywhere, Group::Region);
    let Ticket { players, rating, id, .. } = *ticket;
    [Group::All, group].map(|group| RatingKey { players, group, rating, id })
}

/// Two sequences as one: the next of the first where `is_first` says so of the next of both.
fn first_of<T>(
    one: impl Iterator<Item = T>,
    other: impl Iterator<Item = T>,
    is_first: impl Fn(&T, &T) -> bool,
) -> impl Iterator<Item = T> {
    let (mut one, mut other) = (one.peekable(), other.peekable());
    std::iter::from_fn(move || match (one.peek(), other.peek()) {
        (Some(first), Some(second)) if is_first(first, second) => one.next(),
        (_, Some(_)) => other.next(),
        (_, None) => one.next(),
    })
}
