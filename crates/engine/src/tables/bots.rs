//! The built-in bots: who they are, how long they hesitate, and what they choose. They know no more than a player in
//! their seat: their own hand, and the board.

use super::game::{Game, Player};
use crate::ids::PlayerId;
use rules::chance::{Chance, Dice, Purpose, Seed};
use rules::stories::Card;
use std::time::Duration;

/// The bots, in the order in which they sit down. Their ids are fixed: no player ever gets one, because those carry a time.
pub const BOTS: [(PlayerId, &str); 5] = [
    (PlayerId(0xb07_0001), "Bot Anise"),
    (PlayerId(0xb07_0002), "Bot Basil"),
    (PlayerId(0xb07_0003), "Bot Clove"),
    (PlayerId(0xb07_0004), "Bot Dill"),
    (PlayerId(0xb07_0005), "Bot Elder"),
];

/// One more bot sits down after this time.
pub(super) const JOIN_DELAY: Duration = Duration::from_secs(2);

/// A least time, and what chance may add to it.
#[derive(Clone, Copy)]
pub(super) struct Delay {
    min_ms: u32,
    jitter_ms: u32,
}

/// Looking through a hand.
pub(super) const PICK_DELAY: Delay = Delay { min_ms: 2_000, jitter_ms: 20_000 };
/// Looking at the board.
pub(super) const VOTE_DELAY: Delay = Delay { min_ms: 10_000, jitter_ms: 15_000 };

impl Delay {
    pub(super) fn draw(self, dice: &mut impl Dice) -> Duration {
        Duration::from_millis(u64::from(self.min_ms) + u64::from(dice.below(self.jitter_ms + 1)))
    }
}

/// Whether this is one of [`BOTS`].
#[must_use]
pub fn is_bot(id: PlayerId) -> bool {
    BOTS.iter().any(|(bot, _)| *bot == id)
}

/// The next bot that does not play yet.
pub(super) fn free_bot(game: &Game) -> Option<(PlayerId, &'static str)> {
    BOTS.into_iter().find(|(bot, _)| game.player(*bot).is_none())
}

/// What a bot adds to the storyteller's card: any card of its hand.
pub(super) fn pick(bot: &Player, seed: Seed, version: u32) -> Option<Card> {
    pick_random(&bot.hand.iter().collect::<Vec<_>>(), seed, version)
}

/// What a bot votes for: any card of the board but its own.
pub(super) fn vote(bot: &Player, board: &[Card], seed: Seed, version: u32) -> Option<Card> {
    let others: Vec<Card> = board.iter().copied().filter(|card| bot.picked != Some(*card)).collect();
    pick_random(&others, seed, version)
}

fn pick_random(cards: &[Card], seed: Seed, version: u32) -> Option<Card> {
    let mut dice = Chance::new(seed, version, Purpose::StoriesBotChoice);
    cards.get(dice.below(cards.len() as u32) as usize).copied()
}
