//! Which bots of a ladder play next, and in which seats: a pure function of the entries, the recent past and a stream of chance.
//!
//! - **Share.** Who had the fewest of the ladder's last games begins a line-up; among equals the most uncertain does. A new bot had none, so
//!   it comes first until it has had as many as the others. A bot that had more than the average is drawn into a line-up only where the others
//!   were met recently, and one that had two more only where no other bot can play. So shares lie from about two below the average, which
//!   is what a bot loses when its games are counted no more while others wait as well, to two above it: they differ by four.
//! - **Partners** are near in rating, from both sides: the distance between two ratings is in units of their uncertainty, and a
//!   partner who has another bot much nearer costs the difference in addition.
//! - **No pairing is repeated** among the last [`OPPONENTS_REMEMBERED`] opponents of either while another bot can play whose share allows
//!   it; then the one met longest ago comes first.
//! - **Speed.** Bots of which one is busy far longer than the other still meet: a bot that has had more than the average waits while bots that
//!   have had less are busy, and so does one that could only meet whom it has met, while others it has not met, or a third of all that it
//!   met longer ago, are busy. When nothing is under way no bot waits.
//! - **Seats** rotate, also against the same opponents (`seats.rs`).
//! - A bot is in at most [`PairingRules::games_at_once_max`] games at once, and never twice in one. One that has no rated game yet, or gave
//!   no move in its last one, is in one at once: who does not answer must not use up the games of others.
//!
//! The cost: the entries are sorted, and a line-up looks at about [`PARTNERS_COMPARED`] bots around the one who begins it. Only where nearly
//! everybody was met recently, in small ladders, does it look at all of them: O(n log n + lines). A bot with whom too few others may
//! play looks at all free ones in vain; a plan ends after `ATTEMPTS_FAILED_MAX` of these, and does not begin where free bots have too few owners or URLs.

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

/// Bots of one plan with whom too few others can play, before it ends: each has looked at all free bots.
const ATTEMPTS_FAILED_MAX: usize = 64;

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

/// Line-ups for at most `wanted` new matches: bots by seat. Fewer where too few bots are free, or too many of them are relatives.
///
/// The same arguments give the same plan; the order of `entries` does not matter where ids differ.
#[must_use]
pub fn plan(
    rules: &PairingRules,
    entries: &[PairingEntry],
    history: &PairingHistory,
    wanted: usize,
    chance: &mut Chance,
) -> Vec<Vec<BotId>> {
    let mut line_ups = Vec::new();
    if rules.seats < 2 {
        return line_ups;
    }
    let mut pool = Pool::new(rules, entries, history, chance);
    let mut attempts_failed = 0;
    while line_ups.len() < wanted && attempts_failed < ATTEMPTS_FAILED_MAX && pool.has_enough() {
        let Some(first) = pool.next_due() else { break };
        let Some(mut line_up) = pool.line_up_of(first) else {
            attempts_failed += 1;
            continue;
        };
        chance.shuffle(&mut line_up);
        seats::order_seats(&pool, &mut line_up);
        pool.start(&line_up);
        line_ups.push(line_up.into_iter().map(|at| pool.bot(at)).collect());
    }
    line_ups
}
