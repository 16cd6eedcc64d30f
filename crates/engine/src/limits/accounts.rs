//! Limits of signing in: invitations, sign-in links, sessions, the export of an account.

use std::time::Duration;

/// Bans in force at the same time. Every node holds them all in memory.
pub const BANS_MAX: usize = 10_000;
/// Shortest prefix of a banned network of IPv4, in bits: a wider one keeps out so many that it is a mistake …
pub const BAN_PREFIX_BITS_MIN_IPV4: u8 = 8;
/// … and of IPv6.
pub const BAN_PREFIX_BITS_MIN_IPV6: u8 = 16;
/// Longest reason of a ban, in characters.
pub const BAN_REASON_CHARS_MAX: usize = 200;
/// Longest time that a ban with an end may last.
pub const BAN_LIFETIME_MAX: Duration = Duration::from_secs(10 * 365 * 24 * 3_600);
/// Longest text of one column of the audit log, in characters: what is longer is cut.
pub const AUDIT_TEXT_CHARS_MAX: usize = 400;
/// Shortest time after which a token may end by itself …
pub const TOKEN_LIFETIME_MIN: Duration = Duration::from_secs(60);
/// … and the longest.
pub const TOKEN_LIFETIME_MAX: Duration = Duration::from_secs(10 * 365 * 24 * 3_600);
/// Invitations that are neither used nor expired, of all who may invite together.
pub const INVITES_MAX: usize = 1_000;
/// How long an invitation is valid when its maker names no time …
pub const INVITE_LIFETIME_DEFAULT: Duration = Duration::from_secs(7 * 24 * 3_600);
/// … and at most.
pub const INVITE_LIFETIME_MAX: Duration = Duration::from_secs(30 * 24 * 3_600);
/// Sign-in links of one account that are neither used nor expired.
pub const SIGN_IN_LINKS_PER_ACCOUNT_MAX: usize = 16;
/// How long a sign-in link is valid when its maker names no time …
pub const SIGN_IN_LINK_LIFETIME_DEFAULT: Duration = Duration::from_secs(10 * 60);
/// … and at most: it signs in any client that has it.
pub const SIGN_IN_LINK_LIFETIME_MAX: Duration = Duration::from_secs(24 * 3_600);
/// Shortest lifetime of both: a person needs some seconds.
pub const ONE_TIME_CODE_LIFETIME_MIN: Duration = Duration::from_secs(60);
/// How long the answer of a redemption can be asked for again, by the same Idempotency-Key.
pub const REDEMPTION_REPEAT_MAX: Duration = Duration::from_secs(10 * 60);
/// Shortest Idempotency-Key of a redemption, in bytes: a client that knows it and the used code gets the session, so it must not be
/// guessable.
pub const REDEMPTION_KEY_BYTES_MIN: usize = 16;
/// Rows of one list of an export.
pub const EXPORT_ROWS_MAX: usize = 100_000;
/// Entries on leaderboards that an export has of one bot.
pub const EXPORT_ENTRIES_PER_BOT_MAX: usize = 1_000;

const _: () = assert!(INVITE_LIFETIME_DEFAULT.as_secs() <= INVITE_LIFETIME_MAX.as_secs());
const _: () = assert!(SIGN_IN_LINK_LIFETIME_DEFAULT.as_secs() <= SIGN_IN_LINK_LIFETIME_MAX.as_secs());
const _: () = assert!(ONE_TIME_CODE_LIFETIME_MIN.as_secs() <= SIGN_IN_LINK_LIFETIME_DEFAULT.as_secs());
const _: () = assert!(SIGN_IN_LINKS_PER_ACCOUNT_MAX < super::TOKENS_PER_ACCOUNT_MAX);
const _: () = assert!(REDEMPTION_KEY_BYTES_MIN <= super::IDEMPOTENCY_KEY_BYTES_MAX);
