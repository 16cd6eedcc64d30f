//! One game at a table: its players, what they picked and voted, its timers. This is the full state; `view` decides who
//! may see what of it.

use super::phase::Phase;
use crate::ids::PlayerId;
use crate::pack::{DecodeError, packed, packed_as, packed_variants};
use crate::time::UnixMs;
use rules::stories::{self, Card, CardSet};
use std::time::Duration;

/// Why a game went on, or ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TransitionReason {
    /// The storyteller decided so.
    Storyteller,
    /// The countdown ran out.
    Countdown,
    /// No player acted for too long.
    Inactivity,
    StorytellerLeft,
    /// The storyteller of a next game took too long, and others wait.
    StorytellerLate,
    /// An operator ended it, or no player joined and none was present.
    Closed,
}
packed_variants!(TransitionReason {
    0 => Storyteller {}, 1 => Countdown {}, 2 => Inactivity {}, 3 => StorytellerLeft {}, 4 => StorytellerLate {},
    5 => Closed {},
});

impl TransitionReason {
    /// The name on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Storyteller => "storyteller",
            Self::Countdown => "countdown",
            Self::Inactivity => "inactivity",
            Self::StorytellerLeft => "storyteller_left",
            Self::StorytellerLate => "storyteller_late",
            Self::Closed => "closed",
        }
    }
}

packed_as!(Phase: u8, |phase| phase.code(), |code| Self::from_code(code).ok_or(DecodeError("an unknown phase")));

/// A seat in a game.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Player {
    pub(super) id: PlayerId,
    pub(super) hand: CardSet,
    pub(super) picked: Option<Card>,
    pub(super) vote: Option<Card>,
    pub(super) has_won: bool,
    /// What the game brought; `None` before its end, and for those who did not vote.
    pub(super) points: Option<u32>,
    /// Left during the vote: card and vote stay.
    pub(super) has_left: bool,
    /// When a bot will pick or vote.
    pub(super) bot_due: Option<UnixMs>,
    pub(super) joined_at: UnixMs,
    /// How often the player repeated an action with another choice.
    pub(super) changes: u8,
    /// Whether a pick was ever made from this hand, perhaps by one who left.
    pub(super) is_used: bool,
}
packed!(Player { id, hand, picked, vote, has_won, points, has_left, bot_due, joined_at, changes, is_used });

/// A hand that was dealt and then abandoned. Its cards do not return to the deck during the game.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AbandonedHand {
    /// Who held it last.
    pub(super) left_by: PlayerId,
    pub(super) hand: CardSet,
    pub(super) is_used: bool,
}
packed!(AbandonedHand { left_by, hand, is_used });

/// What those left who went before the vote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct AbandonedHands {
    /// Hands without a player, the one that was abandoned first first.
    pub(super) hands: Vec<AbandonedHand>,
    /// How many have left, saturating where the exact number no longer matters.
    pub(super) count: u8,
}
packed!(AbandonedHands { hands, count });

impl AbandonedHands {
    /// A player leaves.
    pub(super) fn add(&mut self, hand: AbandonedHand) {
        self.hands.push(hand);
        self.count = self.count.saturating_add(1);
    }

    /// A player takes this hand over, if it is here.
    pub(super) fn take(&mut self, hand: CardSet) -> Option<AbandonedHand> {
        let at = self.hands.iter().position(|left| left.hand == hand)?;
        Some(self.hands.remove(at))
    }
}

static NO_ABANDONED_HANDS: AbandonedHands = AbandonedHands { hands: Vec::new(), count: 0 };

impl Player {
    pub(super) fn new(id: PlayerId, hand: CardSet, joined_at: UnixMs) -> Self {
        Self {
            id,
            hand,
            picked: None,
            vote: None,
            has_won: false,
            points: None,
            has_left: false,
            bot_due: None,
            joined_at,
            changes: 0,
            is_used: false,
        }
    }

    /// Counts an action that the player may have done before.
    pub(super) fn count_change(&mut self, is_again: bool) {
        self.changes = self.changes.saturating_add(u8::from(is_again));
    }
}

/// A game: the one that is played, or the last one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Game {
    /// From 1, counted by the table.
    pub(super) number: u32,
    pub(super) phase: Phase,
    pub(super) canceled_in: Option<Phase>,
    /// Why it ended.
    pub(super) because: Option<TransitionReason>,
    pub(super) sentence: Option<Box<str>>,
    /// What lies open, in the order in which it was laid out.
    pub(super) board: Vec<Card>,
    /// In the order in which they joined: the storyteller first.
    pub(super) players: Vec<Player>,
    /// Who was invited and has not joined yet.
    pub(super) invited: Vec<PlayerId>,
    /// The countdown that the storyteller chose for this phase.
    pub(super) countdown_chosen: Option<Duration>,
    /// When the running countdown ends. It runs exactly while the game is ready.
    pub(super) countdown: Option<UnixMs>,
    /// When the game proceeds or is canceled because no player acted.
    pub(super) inactive_at: UnixMs,
    /// By when the storyteller of a next game must take the next step towards the story.
    pub(super) tell_by: Option<UnixMs>,
    /// Since when the next bot waits to sit down.
    pub(super) bots_since: UnixMs,
    pub(super) created_at: UnixMs,
    pub(super) ended_at: Option<UnixMs>,
    /// What those who left before the vote abandoned; `None` while no player has.
    pub(super) abandoned: Option<Box<AbandonedHands>>,
    /// What happened, as packed entries, until the game is archived.
    pub(super) history: Vec<u8>,
}
packed!(Game {
    number,
    phase,
    canceled_in,
    because,
    sentence,
    board,
    players,
    invited,
    countdown_chosen,
    countdown,
    inactive_at,
    tell_by,
    bots_since,
    created_at,
    ended_at,
    abandoned,
    history,
});

impl Game {
    /// The phase that decides what may be seen: that of a canceled game is the one in which it was canceled, so that
    /// its end reveals nothing.
    pub(super) fn visible_phase(&self) -> Phase {
        self.canceled_in.unwrap_or(self.phase)
    }

    pub(super) fn storyteller(&self) -> Option<PlayerId> {
        self.players.first().map(|player| player.id)
    }

    /// The storyteller, if still here.
    pub(super) fn present_storyteller(&self) -> Option<PlayerId> {
        self.storyteller().filter(|id| self.player(*id).is_some())
    }

    /// The storyteller's card.
    pub(super) fn winner_card(&self) -> Option<Card> {
        self.players.first().and_then(|player| player.picked)
    }

    /// A player who has not left.
    pub(super) fn player(&self, id: PlayerId) -> Option<&Player> {
        self.players.iter().find(|player| player.id == id && !player.has_left)
    }

    pub(super) fn player_mut(&mut self, id: PlayerId) -> Option<&mut Player> {
        self.players.iter_mut().find(|player| player.id == id && !player.has_left)
    }

    /// All cards that are in a hand.
    pub(super) fn cards_in_hands(&self) -> CardSet {
        self.players.iter().fold(CardSet::EMPTY, |all, player| all.union(player.hand))
    }

    /// The same, and those that were left: what the deck does not have any more.
    pub(super) fn dealt_cards(&self) -> CardSet {
        self.abandoned_hands().hands.iter().fold(self.cards_in_hands(), |all, left| all.union(left.hand))
    }

    /// What those left who went before the vote.
    pub(super) fn abandoned_hands(&self) -> &AbandonedHands {
        self.abandoned.as_deref().unwrap_or(&NO_ABANDONED_HANDS)
    }

    /// The abandoned hand for this player: their own, else the one that was abandoned first.
    pub(super) fn abandoned_hand_for(&self, id: PlayerId) -> Option<CardSet> {
        let hands = &self.abandoned_hands().hands;
        let own = hands.iter().find(|left| left.left_by == id);
        own.or(hands.first()).map(|left| left.hand)
    }

    /// How many have picked, the storyteller included.
    pub(super) fn picks(&self) -> u8 {
        self.players.iter().filter(|player| player.picked.is_some()).count() as u8
    }

    /// How many have voted; a storyteller never does.
    pub(super) fn votes(&self) -> u8 {
        self.players.iter().filter(|player| player.vote.is_some()).count() as u8
    }

    /// Whether the game could proceed to its next phase.
    pub(super) fn is_ready(&self, rules: &stories::GameSettings) -> bool {
        match self.phase {
            Phase::Invitation => self.picks() >= rules.picked_min,
            Phase::Vote => self.votes() >= rules.voted_min,
            Phase::Create | Phase::Complete | Phase::Canceled => false,
        }
    }

    pub(super) fn has_room(&self, rules: &stories::GameSettings) -> bool {
        self.players.len() < usize::from(rules.players_max)
    }
}
