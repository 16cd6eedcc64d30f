//! Limits of probes and checks of bots.

use super::{BOT_ANSWER_BYTES_MAX, BOT_TIMEOUT_DEFAULT};
use std::time::Duration;

/// How long each call of a health probe may take. Longer than a move usually may: a probe finds out whether a bot is there, matches whether
/// it is fast enough.
pub const HEALTH_CALL_TIMEOUT: Duration = Duration::from_secs(2);
/// Failures in a row that pause a bot in ladders.
pub const HEALTH_FAILURES_TO_PAUSE: u8 = 3;
/// Successes in a row that bring it back.
pub const HEALTH_SUCCESSES_TO_RESUME: u8 = 2;
/// How often a healthy bot is probed that plays in competitions.
pub const HEALTH_INTERVAL: Duration = Duration::from_secs(10 * 60);
/// Pause before the probe after a failure; it doubles with each further one.
pub const HEALTH_RETRY_MIN: Duration = Duration::from_secs(30);
/// Longest such pause.
pub const HEALTH_RETRY_MAX: Duration = Duration::from_secs(3_600);
/// How long a paused bot is probed; after that only its owner's checks can bring it back.
pub const HEALTH_PAUSED_PROBES_FOR: Duration = Duration::from_secs(7 * 24 * 3_600);
/// How long a bot is probed regularly after it was seen in a competition.
pub const HEALTH_WATCH_FOR: Duration = Duration::from_secs(24 * 3_600);
/// Pieces of evidence that are kept of each bot.
pub const HEALTH_RECORDS_KEPT: usize = 20;
/// Writers that may come first before a change of a bot's health is given up: more than a bot has at the same time.
pub const HEALTH_CONFLICTS_MAX: usize = 8;
/// Probes of the sweep that run at the same time.
pub const HEALTH_PROBES_AT_ONCE: usize = 128;
/// The same of one account's bots: those that never answer delay no other account's.
pub const HEALTH_PROBES_PER_ACCOUNT: usize = 16;
/// Checks on request of one account's bots, in a minute.
pub const HEALTH_CHECKS_PER_ACCOUNT_PER_MIN: u32 = 10;
/// The same of the clients of one address, whatever their accounts.
pub const HEALTH_CHECKS_PER_ADDRESS_PER_MIN: u32 = 20;
/// The same of one host, whichever clients request them: this server must not help to flood or to scan a third party.
pub const HEALTH_CHECKS_PER_HOST_PER_MIN: u32 = 30;
/// Checks on request that run at the same time in one process.
pub const HEALTH_CHECKS_AT_ONCE: usize = 64;
/// Calls for a move that a requested check repeats on the connection of the first one, as many as fit into [`HEALTH_CALL_TIMEOUT`].
pub const HEALTH_MOVES_REPEATED: usize = 8;
/// Bytes of an answer's body that a check shows.
pub const HEALTH_BODY_BYTES_SHOWN: usize = 256;
/// Bytes of a header's value that a check shows.
pub const HEALTH_HEADER_BYTES_SHOWN: usize = 200;

const _: () =
    assert!(BOT_TIMEOUT_DEFAULT.as_millis() < HEALTH_CALL_TIMEOUT.as_millis(), "a bot in time passes its probe");
// Each call may also wait aside from its bot's time: for its name's lookup (`NAME_TURN_WAIT_MAX`, 10 s), for its account's budget
// (`CALL_BUDGET_WAIT_MAX`, 5 s), for the connection of each of four addresses (`HEALTH_CALL_TIMEOUT`, 2 s), and without a bound for its
// account's turn at an address. So a probe may take some 100 s and more; that a bot's probes never overlap is seen to by the sweep.
const _: () = assert!(
    HEALTH_RETRY_MIN.as_millis() > 4 * HEALTH_CALL_TIMEOUT.as_millis(),
    "a probe that waits for nothing ends before the next is due"
);
const _: () =
    assert!(HEALTH_PROBES_PER_ACCOUNT * 4 < HEALTH_PROBES_AT_ONCE, "several accounts' bots are probed at once");
const _: () = assert!(HEALTH_RETRY_MIN.as_millis() < HEALTH_INTERVAL.as_millis());
const _: () = assert!(HEALTH_INTERVAL.as_millis() * 4 < HEALTH_WATCH_FOR.as_millis());
const _: () = assert!(HEALTH_RETRY_MAX.as_millis() * 4 < HEALTH_PAUSED_PROBES_FOR.as_millis());
const _: () = assert!(HEALTH_BODY_BYTES_SHOWN < BOT_ANSWER_BYTES_MAX);
