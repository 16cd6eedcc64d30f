//! Who may know which card: the rule of secrecy, computed from the entries that were written and not from the code that
//! cuts views.

use super::super::entry::Entry;
use super::super::*;
use crate::ids::PlayerId;
use rules::stories::{Card, CardSet};
use std::collections::{BTreeMap, BTreeSet};

/// The truth about a table's present game, and about who sits where.
#[derive(Clone, Default)]
pub(super) struct Oracle {
    members: BTreeSet<PlayerId>,
    storyteller: Option<PlayerId>,
    hands: BTreeMap<PlayerId, CardSet>,
    votes: BTreeMap<PlayerId, Card>,
    is_board_open: bool,
    is_complete: bool,
    is_over: bool,
}

impl Oracle {
    /// Records what was written, before any view of it.
    pub(super) fn record(&mut self, entry: &Entry) {
        match entry {
            Entry::Started { storyteller, hand, unseated, .. } => {
                let members = std::mem::take(&mut self.members);
                *self = Self { members, storyteller: Some(storyteller.id), ..Self::default() };
                self.members.retain(|member| !unseated.contains(member));
                self.sit(storyteller.id, *hand);
            }
            Entry::Joined { who, hand, .. } => self.sit(who.id, *hand),
            Entry::Left { player, .. } => {
                self.members.remove(player);
                if !self.is_over {
                    self.hands.remove(player);
                }
            }
            Entry::VotingOpened { opening } => {
                self.hands.retain(|player, _| !opening.removed.contains(player));
                self.is_board_open = true;
            }
            Entry::Voted { player, card, .. } => {
                self.votes.insert(*player, *card);
            }
            Entry::Completed { .. } => (self.is_complete, self.is_over) = (true, true),
            Entry::Canceled { because } => {
                self.is_over = true;
                self.members.retain(|member| {
                    *because != TransitionReason::StorytellerLeft || Some(*member) != self.storyteller
                });
            }
            _ => {}
        }
    }

    fn sit(&mut self, player: PlayerId, hand: CardSet) {
        let in_hands = self.hands.values().fold(CardSet::EMPTY, |all, hand| all.union(*hand));
        assert_eq!(hand.without(in_hands), hand, "a card is in two hands");
        self.members.insert(player);
        self.hands.insert(player, hand);
    }

    fn is_storyteller(&self, viewer: Option<PlayerId>) -> bool {
        viewer.is_some() && viewer == self.storyteller && self.hands.contains_key(&viewer.unwrap_or(PlayerId(0)))
    }

    fn own_cards(&self, viewer: Option<PlayerId>) -> CardSet {
        viewer.and_then(|viewer| self.hands.get(&viewer)).copied().unwrap_or_default()
    }

    /// Checks everything that a viewer gets to see.
    pub(super) fn check_view(&self, viewer: Option<PlayerId>, view: &TableView) {
        let TableView { id: _, seq: _, role: part, settings: _, members: _, game, next_storyteller: _, .. } = view;
        let TableView { next_storyteller_until: _, bots: _, chat, .. } = view;
        let is_member = viewer.is_some_and(|viewer| self.members.contains(&viewer));
        assert_eq!(*part != ViewerRole::Visitor, is_member, "{viewer:?}");
        assert!(is_member || chat.is_empty(), "chat is read by those who sit there");
        if let Some(game) = game {
            self.check_game(viewer, game);
        }
    }

    /// A game; every field is named, so that a new one cannot be forgotten here.
    pub(super) fn check_game(&self, viewer: Option<PlayerId>, game: &GameView) {
        let GameView { id: _, phase, canceled_in: _, because: _, role: part, storyteller: _, sentence: _, .. } = game;
        let GameView { is_ready: _, countdown: _, countdown_takes: _, inactive_at: _, tell_by: _, .. } = game;
        let GameView { created_at: _, ended_at: _, players_max: _, .. } = game;
        let GameView { winner_card, dealt: cards, board, invited, own: mine, players, .. } = game;
        assert_eq!(self.is_complete, *phase == Phase::Complete);
        for player in players {
            self.check_player(viewer, player);
        }
        if self.is_storyteller(viewer) {
            assert_eq!(*part, ViewerRole::Storyteller);
            return;
        }
        assert!(self.is_complete || !matches!(winner_card, CardView::Card(_)), "the storyteller's card is revealed");
        assert!(cards.is_none() && invited.is_none(), "what only the storyteller may know is revealed");
        assert!(board.is_none() || self.is_board_open, "the board is revealed before it lies open");
        if let Some(OwnCards { hand, picked, vote }) = mine {
            assert_eq!(*hand, self.own_cards(viewer));
            assert!(picked.is_none_or(|card| hand.contains(card)));
            assert_eq!(*vote, viewer.and_then(|viewer| self.votes.get(&viewer)).copied());
        } else {
            assert!(self.own_cards(viewer).is_empty());
        }
    }

    fn check_player(&self, viewer: Option<PlayerId>, player: &PlayerView) {
        let PlayerView { id, name: _, is_bot: _, has_left: _, hand, picked, vote, has_won, points, level: _, standing } =
            player;
        let is_me = viewer == Some(*id) && self.hands.contains_key(id);
        assert!(is_me || standing.is_none(), "another player's standing is revealed");
        assert!(is_me || self.is_storyteller(viewer) || hand.is_none(), "another player's hand is revealed");
        let may_know = is_me || self.is_storyteller(viewer) || self.is_complete;
        assert!(may_know || !matches!(picked, CardView::Card(_)), "another player's pick is revealed");
        assert!(may_know || !matches!(vote, CardView::Card(_)), "another player's vote is revealed");
        assert!(self.is_complete || (!has_won && points.is_none()), "a result is revealed before the end");
    }

    /// Checks an event that a viewer got; the oracle has learned its entry already.
    pub(super) fn check_event(&self, viewer: Option<PlayerId>, event: &EventKind) {
        let is_me = |player: &PlayerId| viewer == Some(*player);
        match event {
            EventKind::CardChosen { card } => assert!(card.is_none() || self.is_storyteller(viewer)),
            EventKind::Joined { player, hand, .. } => {
                assert!(hand.is_none() || is_me(player) || self.is_storyteller(viewer), "a hand is revealed");
            }
            EventKind::Picked { player, card, .. } | EventKind::Voted { player, card, .. } => {
                assert!(card.is_none() || is_me(player) || self.is_storyteller(viewer), "a pick or a vote is revealed");
            }
            EventKind::Invited { .. } => assert!(self.is_storyteller(viewer)),
            EventKind::VotingOpened { .. } => assert!(self.is_board_open),
            EventKind::Completed { .. } => assert!(self.is_complete),
            EventKind::ChatSent { .. } => assert!(viewer.is_some_and(|viewer| self.members.contains(&viewer))),
            EventKind::Started { .. }
            | EventKind::Left { .. }
            | EventKind::StoryTold { .. }
            | EventKind::CountdownSet { .. }
            | EventKind::Canceled { .. }
            | EventKind::BotsSet { .. }
            | EventKind::NextStoryteller { .. } => {}
        }
    }
}
