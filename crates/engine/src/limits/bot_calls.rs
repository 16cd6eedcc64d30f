//! Limits of calls to hosts that do not answer as bots do, so that this server cannot be used to flood a third party.
//!
//! A bot that answers `/move` validly is called freely. Of the calls without a valid move, those that one account causes to one address, and
//! all that go to one address, are counted, and paid back over time. The sums below are what a host gets in any ten minutes at most.

use std::time::Duration;

/// The time over which counted calls are paid back, and for which the promises below hold.
pub const CALL_BUDGET_PERIOD: Duration = Duration::from_secs(10 * 60);
/// Requests without a valid move that one account may cause to one address within that time.
pub const CALLS_PER_ACCOUNT_AND_ADDRESS_MAX: u32 = 100;
/// The same of all accounts together, for a hundred of them.
pub const CALLS_PER_ADDRESS_MAX: u32 = 1_000;

/// Calls of one account to one address that may be counted at the same time …
pub const ACCOUNT_CALLS_BURST: u32 = 24;
/// … and how many of them are paid back in [`CALL_BUDGET_PERIOD`].
pub const ACCOUNT_CALLS_PAID_BACK: u32 = 36;
/// Connections of one account to one address. A bot that stops answering is noticed only after these calls.
pub const ACCOUNT_CONNECTIONS_PER_ADDRESS_MAX: u32 = 24;
/// `/start`, `/end` and `GET /` that an account's bots at an address are sent freely until one of them gives the next valid move.
pub const NOTICES_WITHOUT_MOVE_MAX: u32 = 16;

/// Calls to one address, of all accounts, that may be counted at the same time …
pub const ADDRESS_CALLS_BURST: u32 = 230;
/// … and how many of them are paid back in [`CALL_BUDGET_PERIOD`].
pub const ADDRESS_CALLS_PAID_BACK: u32 = 300;
/// Calls of an account since its last valid move at an address for which it matters little what other accounts do there: bots that share an
/// address with the target of an attack are still called.
pub const GUARANTEED_CALLS_PER_ACCOUNT: u32 = 4;
/// As many such calls may be counted beyond [`ADDRESS_CALLS_BURST`].
pub const GUARANTEED_CALLS_PER_ADDRESS: u32 = 400;
/// Connections to one address, whatever its names.
pub const CONNECTIONS_PER_BOT_ADDRESS_MAX: u32 = 64;

/// Moves in a row that a bot may fail to give before each further call is counted before it is made.
pub const FAILURES_IN_STANDING_MAX: u8 = 4;
/// How long a call waits until it may be made: after that it is not. The wait is not the bot's time.
pub const CALL_BUDGET_WAIT_MAX: Duration = Duration::from_secs(5);
/// Addresses of one name that one call tries.
pub const CONNECT_ADDRESSES_MAX: usize = 4;
/// Addresses of bots that a process remembers. At further ones no bot is called until others are forgotten.
pub const CALL_BUDGET_ADDRESSES_MAX: usize = 65_536;
/// Accounts that a process remembers, each at every address that it has bots at. Likewise.
pub const CALL_BUDGET_ACCOUNTS_MAX: usize = 262_144;
/// Bots whose standing a process remembers. Calls of further ones are counted, and paid back by each valid move.
pub const CALL_BUDGET_BOTS_MAX: usize = 262_144;
/// How long a bot's standing is remembered after its last call.
pub const STANDING_RETENTION: Duration = Duration::from_secs(3_600);
/// A match ends after this many turns in a row for which none of its bots gave a valid move, as a draw among the living. A snake that finds
/// nothing to eat starves within 100 turns.
pub const TURNS_WITHOUT_MOVE_MAX: u32 = 128;

const _: () = assert!(
    ACCOUNT_CALLS_BURST + ACCOUNT_CALLS_PAID_BACK + ACCOUNT_CONNECTIONS_PER_ADDRESS_MAX + NOTICES_WITHOUT_MOVE_MAX
        <= CALLS_PER_ACCOUNT_AND_ADDRESS_MAX,
    "what was counted, what is paid back, what is under way when a bot stops answering, and what is not counted"
);
const _: () = assert!(
    ADDRESS_CALLS_BURST
        + ADDRESS_CALLS_PAID_BACK
        + CONNECTIONS_PER_BOT_ADDRESS_MAX
        + 100 * GUARANTEED_CALLS_PER_ACCOUNT
        <= CALLS_PER_ADDRESS_MAX,
    "the same at an address, and what a hundred accounts are guaranteed there"
);
const _: () = assert!(
    ADDRESS_CALLS_BURST + GUARANTEED_CALLS_PER_ADDRESS + ADDRESS_CALLS_PAID_BACK + CONNECTIONS_PER_BOT_ADDRESS_MAX
        <= CALLS_PER_ADDRESS_MAX,
    "bots that were never seen to answer get no more, however many accounts they belong to"
);
const _: () = assert!(
    2 * ACCOUNT_CONNECTIONS_PER_ADDRESS_MAX < CONNECTIONS_PER_BOT_ADDRESS_MAX,
    "two accounts whose bots never answer leave connections to the others"
);
