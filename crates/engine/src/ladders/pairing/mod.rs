//! Which bots of a ladder play next, and in which seats: a pure function of the entries, the recent past and a stream of chance.
//!
//! - **Share.** Who had the fewest of the ladder's last games begins a line-up; among equals the most uncertain does. A new bot had none, so
//!   it comes first until it has had as many as the others. A bot that had more than the average is drawn into a line-up only where the others
//!   were met recently, and one that had two more only where nobody else can play. So shares lie from about two below the average, which is
//!   what a bot loses when its games are counted no more while others wait as well, to two above it: they differ by four.
//! - **Partners** are near in rating, from both sides: the distance between two ratings is in units of their uncertainty, and a
//!   partner who has somebody much nearer costs the difference in addition.
//! - **No pairing is repeated** among the last [`OPPONENTS_REMEMBERED`] opponents of either while somebody else can play whose share allows
//!   it; then the one met longest ago comes first.
//! - **Seats** rotate, also against the same opponents (`seats.rs`).
//! - A bot is in at most [`PairingRules::games_at_once_max`] games at once, and never twice in one.
//!
//! The cost: the entries are sorted, and a line-up looks at about [`PARTNERS_COMPARED`] bots around the one who begins it. Only where nearly
//! everybody was met recently, in small ladders, does it look at all of them: O(n log n + lines), never n².

mod history;
mod pool;
mod seats;
#[cfg(test)]
mod tests;

pub use history::{HISTORY_RESULTS_MAX, OPPONENTS_REMEMBERED, PairingHistory, SHARE_GAMES, history_results};

use crate::ids::{AccountId, BotId};
use crate::ratings::Rating;
use pool::Pool;
use rules::chance::{Chance, Dice};

/// Partners that are compared for each free place of a line-up.
pub const PARTNERS_COMPARED: usize = 24;
/// The same where many of them have had more than their share already.
pub const PARTNERS_LOOKED_AT: usize = 8 * PARTNERS_COMPARED;

/// What holds for all line-ups of a ladder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairingRules {
    /// Bots in a match.
    pub seats: usize,
    /// Whether bots of one account, or with one URL, may meet: one could lose to the other on purpose.
    pub may_relatives_meet: bool,
    /// Games that a bot may be in at once.
    pub games_at_once_max: u32,
}

/// A bot that may play now: active, not paused.
#[derive(Clone, Debug, PartialEq)]
pub struct PairingEntry {
    pub bot: BotId,
    /// Its owner.
    pub account: AccountId,
    /// The same for two bots with the same URL.
    pub url_digest: u64,
    pub rating: Rating,
    /// Rated games by seat.
    pub seats: Vec<u32>,
}

/// What a plan came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairingPlan {
    /// Bots by seat of each new match.
    pub line_ups: Vec<Vec<BotId>>,
    /// Why there are not more, if fewer were found than were wanted.
    pub shortage: Option<Shortage>,
}

/// Why no further line-up was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shortage {
    /// Fewer bots can play than a match has seats.
    TooFewBots { available: usize, needed: usize },
    /// There are enough bots, but too many of them have the same owner or URL.
    OnlyRelatives,
    /// Everybody is in as many games as a bot may be in.
    AllBusy,
}

/// Line-ups for at most `wanted` new matches.
///
/// The same arguments give the same plan; the order of `entries` does not matter where ids differ.
#[must_use]
pub fn plan(
    rules: &PairingRules,
    entries: &[PairingEntry],
    history: &PairingHistory,
    wanted: usize,
    chance: &mut Chance,
) -> PairingPlan {
    if rules.seats < 2 || entries.len() < rules.seats {
        let shortage = Shortage::TooFewBots { available: entries.len(), needed: rules.seats.max(2) };
        return PairingPlan { line_ups: Vec::new(), shortage: Some(shortage) };
    }
    let mut pool = Pool::new(rules, entries, history, chance);
    let mut line_ups = Vec::new();
    while line_ups.len() < wanted {
        let Some(first) = pool.next_due() else { break };
        let Some(mut line_up) = pool.line_up_of(first) else { continue };
        chance.shuffle(&mut line_up);
        seats::order_seats(&pool, &mut line_up);
        pool.start(&line_up);
        line_ups.push(line_up.into_iter().map(|at| pool.bot(at)).collect());
    }
    let shortage = (line_ups.len() < wanted).then(|| pool.shortage());
    PairingPlan { line_ups, shortage }
}
