//! A hunt in memory: what is committed of it, and what is decided and waits for its commit.
//!
//! Two views of one state: what *counts* for the next decision (a claimed item is gone), and what may be *shown* (it
//! lies there until the claim is committed). Facts are applied by one path, live and read from the log.

use super::facts::{Claim, Fact, Hunter, HunterScore};
use super::profiles::HunterKey;
use super::rounds::{HuntEvent, RoundPhase, RoundStatus};
use crate::limits::{ROUND_LATE_MAX, ROUND_SCORES_MAX};
use crate::time::UnixMs;
use rules::chance::{Chance, Dice, Purpose, Seed};
use rules::world::{Cell, CellSet, HuntSettings, Item, MAGNET_REACH, PlacedItem, Size, place_items};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// What has become of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ItemState {
    /// Any mover may claim it.
    Free,
    /// A mover has claimed it; the claim waits for this commit.
    Claimed { group: u32 },
    /// It was taken.
    Gone,
}

/// A hunter's state in the round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ScoreEntry {
    pub(super) hunter: Hunter,
    pub(super) committed: u32,
    /// With what waits for its commit.
    pub(super) decided: u32,
}

/// What a claim finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClaimTarget {
    /// This item, free.
    Free(u32),
    /// Only what others have claimed; the claim waits for this commit.
    Claimed {
        group: u32,
    },
    /// What lay here was taken.
    Gone,
    Nothing,
}

/// The hunt of a world.
#[derive(Clone, Debug)]
pub(super) struct Hunt {
    pub(super) settings: HuntSettings,
    seed: Seed,
    trees: Arc<CellSet>,
    ends_at: Option<UnixMs>,
    pub(super) number: u32,
    pub(super) phase: RoundPhase,
    /// When the phase ends, or may end. No round lasts longer than the hunt.
    pub(super) until: UnixMs,
    /// The commit that the next round or the end of this one waits for.
    pub(super) round_change_group: Option<u32>,
    placed: Arc<[PlacedItem]>,
    states: Vec<ItemState>,
    /// Cells with an item, as shown.
    visible_items: CellSet,
    chests_left: u32,
    scores: BTreeMap<HunterKey, ScoreEntry>,
    pub(super) events: Vec<HuntEvent>,
}

impl Hunt {
    pub(super) fn new(settings: HuntSettings, seed: Seed, trees: Arc<CellSet>, ends_at: Option<UnixMs>) -> Self {
        Self {
            settings,
            seed,
            ends_at,
            number: 1,
            phase: RoundPhase::Waiting,
            until: UnixMs(0),
            round_change_group: None,
            placed: Arc::new([]),
            states: Vec::new(),
            visible_items: CellSet::new(trees.size()),
            trees,
            chests_left: 0,
            scores: BTreeMap::new(),
            events: Vec::new(),
        }
    }

    /// The public state of the round.
    pub(super) fn round(&self) -> RoundStatus {
        RoundStatus { number: self.number, phase: self.phase, until: self.until, chests_left: self.chests_left }
    }

    /// Cells with an item, as shown.
    pub(super) fn visible_items(&self) -> &CellSet {
        &self.visible_items
    }

    /// The items of the round, in the order of their cells.
    pub(super) fn placed(&self) -> &Arc<[PlacedItem]> {
        &self.placed
    }

    /// What lies, or lay, on a cell in this round.
    pub(super) fn item_at(&self, cell: Cell) -> Option<(u32, Item)> {
        item_at(&self.placed, self.trees.size(), cell)
    }

    /// An item of the round by its number.
    pub(super) fn item(&self, number: u32) -> Option<Item> {
        self.placed.get(number as usize).map(|placed| placed.item)
    }

    /// The nearest free item of a kind at a cell, or with a magnet around it.
    pub(super) fn find_target(&self, at: Cell, has_magnet: bool, is_wanted: impl Fn(Item) -> bool) -> ClaimTarget {
        let reach = if has_magnet { MAGNET_REACH } else { 0 };
        let mut best = ClaimTarget::Nothing;
        let mut best_distance = u16::MAX;
        for y in at.y.saturating_sub(reach)..=at.y.saturating_add(reach) {
            for x in at.x.saturating_sub(reach)..=at.x.saturating_add(reach) {
                let cell = Cell { x, y };
                let Some((number, _)) = self.item_at(cell).filter(|(_, item)| is_wanted(*item)) else { continue };
                let distance = cell.distance(at);
                match self.states[number as usize] {
                    ItemState::Free if distance < best_distance => {
                        (best, best_distance) = (ClaimTarget::Free(number), distance);
                    }
                    ItemState::Claimed { group } if !matches!(best, ClaimTarget::Free(_)) => {
                        best = ClaimTarget::Claimed { group }
                    }
                    ItemState::Gone if distance == 0 && best == ClaimTarget::Nothing => best = ClaimTarget::Gone,
                    _ => {}
                }
            }
        }
        best
    }

    /// An item is claimed: no other mover may claim it, and it is shown until this commit.
    pub(super) fn claim(&mut self, number: u32, group: u32) {
        self.states[number as usize] = ItemState::Claimed { group };
    }

    /// Adds points that wait for their commit, and gives the score with them.
    pub(super) fn decide_points(&mut self, hunter: &Hunter, points: u32) -> u32 {
        let score = self.score_mut(hunter);
        score.decided = score.decided.saturating_add(points);
        score.decided
    }

    /// A hunter's score, as shown.
    pub(super) fn score(&self, key: HunterKey) -> u32 {
        self.scores.get(&key).map_or(0, |score| score.committed)
    }

    fn score_mut(&mut self, hunter: &Hunter) -> &mut ScoreEntry {
        let key = HunterKey::of(hunter.mover, hunter.player);
        self.scores.entry(key).or_insert_with(|| ScoreEntry { hunter: hunter.clone(), committed: 0, decided: 0 })
    }

    /// The best of the round, best first; of equals, the one with the lowest number.
    pub(super) fn top_scores(&self, max: usize) -> Vec<HunterScore> {
        self.top_scores_by(max, |score| score.committed)
    }

    fn top_scores_by(&self, max: usize, points: impl Fn(&ScoreEntry) -> u32) -> Vec<HunterScore> {
        let mut all: Vec<&ScoreEntry> = self.scores.values().filter(|score| points(score) > 0).collect();
        let rank = |score: &&ScoreEntry| (u32::MAX - points(score), score.hunter.mover);
        if all.len() > max {
            all.select_nth_unstable_by_key(max, rank);
            all.truncate(max);
        }
        all.sort_unstable_by_key(rank);
        all.into_iter().map(|score| HunterScore { hunter: score.hunter.clone(), points: points(score) }).collect()
    }

    /// When the round is to begin or to end, or the hunt; `None` while nothing is to happen, or is on its way.
    pub(super) fn next_due(&self, is_anybody_here: bool) -> Option<UnixMs> {
        let due = match self.phase {
            RoundPhase::Waiting if is_anybody_here => Some(self.clamp_to_end(self.until)),
            RoundPhase::Waiting => self.ends_at,
            RoundPhase::Running => Some(self.until),
            RoundPhase::Over => None,
        };
        due.filter(|_| self.round_change_group.is_none())
    }

    fn clamp_to_end(&self, at: UnixMs) -> UnixMs {
        self.ends_at.map_or(at, |ends_at| at.min(ends_at))
    }

    fn has_ended(&self, now: UnixMs) -> bool {
        self.ends_at.is_some_and(|ends_at| ends_at <= now)
    }

    /// Ends the hunt between two rounds, when its time has come. Nothing is decided by that, so nothing is committed: its end was known
    /// from the beginning.
    pub(super) fn close(&mut self, now: UnixMs) {
        if self.phase == RoundPhase::Waiting && self.round_change_group.is_none() && self.has_ended(now) {
            (self.phase, self.until) = (RoundPhase::Over, now);
            self.number = self.number.saturating_sub(1).max(1);
            self.events.push(HuntEvent::Over(self.round()));
        }
    }

    /// The fact that is due, if the round is to begin or to end now: the caller has it committed.
    pub(super) fn due_fact(&self, now: UnixMs, is_anybody_here: bool) -> Option<Fact> {
        if self.round_change_group.is_some() || now < self.until {
            return None;
        }
        match self.phase {
            RoundPhase::Waiting if is_anybody_here => {
                Some(Fact::RoundBegan { number: self.number, at: now, until: self.round_end_from(now) })
            }
            RoundPhase::Running => Some(self.round_ended_fact(now)),
            RoundPhase::Waiting | RoundPhase::Over => None,
        }
    }

    /// When a round ends that begins now. In a hunt without an end, a round that did not follow another one is longer
    /// by a part of a round that the seed decides: hunts that were all entered at one moment do not end their rounds at
    /// one moment.
    fn round_end_from(&self, now: UnixMs) -> UnixMs {
        let end = now.plus(self.settings.round);
        let is_following = now <= self.until.plus(ROUND_LATE_MAX);
        if is_following || self.settings.rounds != 0 {
            return self.clamp_to_end(end);
        }
        let part_max = u32::try_from(self.settings.round.as_millis()).unwrap_or(u32::MAX);
        let part = Chance::new(self.seed, self.number, Purpose::HuntPhase).below(part_max);
        self.clamp_to_end(end.plus(Duration::from_millis(part.into())))
    }

    /// The end of the round. Claims that wait for their commit come before it in the log, so they count.
    fn round_ended_fact(&self, at: UnixMs) -> Fact {
        let points = || self.scores.values().map(|score| score.decided).filter(|points| *points > 0);
        Fact::RoundEnded {
            number: self.number,
            at,
            scores: self.top_scores_by(ROUND_SCORES_MAX, |score| score.decided),
            hunters: points().count() as u32,
            points: points().map(u64::from).sum(),
        }
    }

    /// Takes a committed fact in: from here on it is shown.
    pub(super) fn apply(&mut self, fact: &Fact) -> Result<(), &'static str> {
        match fact {
            Fact::RoundBegan { number, until, .. } => self.begin_round(*number, *until),
            Fact::Dug { claim, score, .. } => {
                self.remove_item(claim)?;
                let entry = self.score_mut(&claim.hunter);
                entry.committed = entry.committed.max(*score);
                entry.decided = entry.decided.max(*score);
                Ok(())
            }
            Fact::Grabbed { claim, .. } => self.remove_item(claim),
            Fact::RoundEnded { number, at, scores, .. } => self.end_round(*number, *at, scores),
        }
    }

    fn begin_round(&mut self, number: u32, until: UnixMs) -> Result<(), &'static str> {
        if number != self.number || self.phase != RoundPhase::Waiting {
            return Err("a round begins that is not the next one");
        }
        self.place_items();
        (self.phase, self.until, self.round_change_group) = (RoundPhase::Running, self.clamp_to_end(until), None);
        self.scores.clear();
        self.events.push(HuntEvent::Began(self.round()));
        Ok(())
    }

    /// Places the items of the round by its seed.
    fn place_items(&mut self) {
        self.placed = place_items(self.seed, self.number, &self.settings, &self.trees).into();
        self.states = vec![ItemState::Free; self.placed.len()];
        self.visible_items = CellSet::new(self.trees.size());
        self.placed.iter().for_each(|placed| self.visible_items.insert(placed.cell));
        self.chests_left = self.placed.iter().map(|placed| u32::from(matches!(placed.item, Item::Chest { .. }))).sum();
    }

    fn remove_item(&mut self, claim: &Claim) -> Result<(), &'static str> {
        if claim.round != self.number || self.phase != RoundPhase::Running {
            return Err("something is claimed in a round that is not running");
        }
        let state = self.states.get(claim.item as usize).ok_or("an item is claimed that the round does not have")?;
        if *state == ItemState::Gone {
            return Err("an item is claimed twice");
        }
        self.mark_gone(claim.item);
        Ok(())
    }

    fn mark_gone(&mut self, number: u32) {
        self.states[number as usize] = ItemState::Gone;
        let placed = self.placed[number as usize];
        self.visible_items.remove(placed.cell);
        self.chests_left -= u32::from(matches!(placed.item, Item::Chest { .. }));
    }

    fn end_round(&mut self, number: u32, at: UnixMs, scores: &[HunterScore]) -> Result<(), &'static str> {
        if number != self.number || self.phase != RoundPhase::Running {
            return Err("a round ends that is not running");
        }
        self.clear_items();
        self.round_change_group = None;
        let is_last = (self.settings.rounds != 0 && number >= self.settings.rounds) || self.has_ended(at);
        self.phase = if is_last { RoundPhase::Over } else { RoundPhase::Waiting };
        self.until = if is_last { at } else { at.plus(self.settings.pause) };
        self.number = if is_last { number } else { number.saturating_add(1) };
        self.events.push(HuntEvent::Ended { number, scores: scores.to_vec(), next: self.round() });
        Ok(())
    }

    fn clear_items(&mut self) {
        self.placed = Arc::new([]);
        self.states = Vec::new();
        self.visible_items = CellSet::new(self.trees.size());
        self.chests_left = 0;
    }

    /// Everything that is committed, for a snapshot: scores, and which items are gone.
    pub(super) fn snapshot_parts(&self) -> (Vec<HunterScore>, Vec<u32>) {
        let scores = self.scores.values().filter(|score| score.committed > 0);
        let scores =
            scores.map(|score| HunterScore { hunter: score.hunter.clone(), points: score.committed }).collect();
        let gone = (0_u32..).zip(&self.states).filter(|(_, state)| **state == ItemState::Gone).map(|(at, _)| at);
        (scores, gone.collect())
    }

    /// The hunt as a snapshot has it.
    pub(super) fn restore(
        &mut self,
        round: (u32, RoundPhase, UnixMs),
        scores: Vec<HunterScore>,
        gone: &[u32],
    ) -> Result<(), &'static str> {
        (self.number, self.phase, self.until) = round;
        if self.phase == RoundPhase::Running {
            self.until = self.clamp_to_end(self.until);
            self.place_items();
        }
        for number in gone {
            let state = self.states.get(*number as usize).filter(|state| **state != ItemState::Gone);
            state.ok_or("an item is gone that the round does not have")?;
            self.mark_gone(*number);
        }
        for HunterScore { hunter, points } in scores {
            let score = self.score_mut(&hunter);
            (score.committed, score.decided) = (points, points);
        }
        Ok(())
    }
}

/// What lies, or lay, on a cell, among items in the order of their cells.
pub(super) fn item_at(placed: &[PlacedItem], size: Size, cell: Cell) -> Option<(u32, Item)> {
    if !size.contains(cell) {
        return None;
    }
    let at = placed.binary_search_by_key(&size.index(cell), |placed| size.index(placed.cell)).ok()?;
    Some((at as u32, placed[at].item))
}
