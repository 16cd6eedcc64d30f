//! The built-in bots: who they are, and how long they hesitate. What they tell and choose: `mind`.

pub(super) mod mind;
mod settings;

use super::game::Game;
use super::people::Newcomer;
use crate::ids::PlayerId;
use rules::chance::Dice;
use rules::stories::Standing;
use std::time::Duration;

pub use settings::BotSettings;

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
/// The same, where only seats are left for which members of the table may come back.
pub(super) const MEMBERS_SEAT_DELAY: Duration = Duration::from_secs(30);
/// A bot that tells goes on so long after the last player picked, or voted: who did may still think of another card.
pub(super) const ADVANCE_DELAY: Duration = Duration::from_secs(3);

/// A least time, and what chance may add to it.
#[derive(Clone, Copy)]
pub(super) struct Delay {
    min_ms: u32,
    jitter_ms: u32,
}

/// Looking through a hand.
pub(super) const PICK_DELAY: Delay = Delay { min_ms: 2_000, jitter_ms: 12_000 };
/// Looking at the board.
pub(super) const VOTE_DELAY: Delay = Delay { min_ms: 5_000, jitter_ms: 10_000 };
/// Beginning the next game: people want to see how the last one ended.
pub(super) const BEGIN_DELAY: Delay = Delay { min_ms: 7_000, jitter_ms: 5_000 };
/// Thinking of a story.
pub(super) const TELL_DELAY: Delay = Delay { min_ms: 4_000, jitter_ms: 6_000 };

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
pub(super) fn free_bot(game: &Game) -> Option<PlayerId> {
    BOTS.into_iter().map(|(bot, _)| bot).find(|bot| game.player(*bot).is_none())
}

/// A bot as it sits down; `None` for a person.
pub(super) fn newcomer(id: PlayerId) -> Option<Newcomer> {
    let (_, name) = BOTS.into_iter().find(|(bot, _)| *bot == id)?;
    Some(Newcomer { id, name: name.into(), standing: Standing::default() })
}
