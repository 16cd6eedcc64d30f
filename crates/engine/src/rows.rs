//! The rows that a store returns, free of SQL and of JSON.

mod audit;
mod bans;
mod codes;
mod health;
mod nodes;
mod public_activity;
mod public_matches;
mod retention;
mod stories;
mod worlds;

pub use crate::matches::entry::MatchLogRow;
pub use crate::tables::{GameRole, GameRow, TableLogRow};
pub use crate::worlds::WorldLogRow;
pub use audit::{AuditEntry, AuditFilter};
pub use bans::{AddressPrefix, Ban, BanList, BanTarget, ParseAddressPrefixError, ParseBanTargetError};
pub use codes::{CodeUse, OneTimeCode, SignedCode};
pub use health::{BotCallsRow, BotHealthRow, SigningRow, SigningState};
pub use nodes::{NodeHoldings, NodeRow};
pub use public_activity::{PUBLIC_ACTIVITY_WINDOW, PUBLIC_COUNT_MAX, PublicActivity};
pub use public_matches::{EndedMatchCursor, ParseEndedMatchCursorError};
pub use retention::OldestKept;
pub use stories::{GameCursor, ParseGameCursorError, SeatedGame, TableOwner};
pub use worlds::{
    Admission, AggregationLag, HuntCursor, HuntTotals, HunterCursor, HunterRow, ParseHuntCursorError, RoundRow,
    WorldEntry, WorldKind, WorldLogPage, WorldOwner, WorldRow,
};

use crate::ids::{AccountId, BotId, MatchId, TokenId, WorkerId};
use crate::ladders::definition::SYSTEM_ACCOUNT_NAME;
use crate::matches::lifecycle::MatchState;
use crate::matches::result::MatchResult;
use crate::matches::spec::{MatchSpec, SeatSpec};
use crate::time::UnixMs;
use std::str::FromStr;

/// What a token's holder may do. Each role may do what the ones below it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Look, but own nothing.
    Guest,
    /// Own bots, create and cancel matches of the own account.
    Player,
    /// See the statistics and act on all accounts' matches.
    Operator,
    /// Everything, accounts and tokens included.
    Admin,
}

impl Role {
    /// Every role, weakest first.
    pub const ALL: [Self; 4] = [Self::Guest, Self::Player, Self::Operator, Self::Admin];

    /// The name on the wire and in the store.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Guest => "guest",
            Self::Player => "player",
            Self::Operator => "operator",
            Self::Admin => "admin",
        }
    }

    /// The role of this name, if there is one.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name() == name)
    }
}

/// What a token is for. It changes nothing of what its holder may do: the gateway's limiter has classes of their own for load
/// tests, so that a trial is not cut down by policies that are meant for users.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TokenPurpose {
    /// Everyday use.
    #[default]
    Use,
    /// Finding out how far this server can be pushed.
    LoadTest,
}

impl TokenPurpose {
    /// Every purpose.
    pub const ALL: [Self; 2] = [Self::Use, Self::LoadTest];

    /// The name on the wire and in the store.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Use => "use",
            Self::LoadTest => "load_test",
        }
    }

    /// The purpose of this name, if there is one.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|purpose| purpose.name() == name)
    }
}

/// An account: who owns bots, tokens and matches, and who gets a fair share of the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    pub id: AccountId,
    pub name: String,
    /// When it was made.
    pub created_at: UnixMs,
}

/// How much an account has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccountCounts {
    pub bots: usize,
    /// Sessions included.
    pub tokens: usize,
}

/// What an account has that its deletion ends or deletes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccountHoldings {
    pub counts: AccountCounts,
    /// Matches that it created and that wait to be played, without those of competitions.
    pub waiting_matches: usize,
    /// Competitions of each kind that have not ended.
    pub duels: usize,
    pub tournaments: usize,
    pub ladders: usize,
    /// Hunts that it made and that are not over.
    pub hunts: usize,
}

/// An account, and how much it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedAccount {
    pub account: Account,
    pub counts: AccountCounts,
}

/// Who owned what is kept of a deleted account, as rows say that copied its name.
pub const DELETED_ACCOUNT_NAME: &str = "deleted account";

/// The account of the bootstrap token.
pub const BOOTSTRAP_ACCOUNT_NAME: &str = "bootstrap";

/// Whether the server gives this name itself: who had an account of it would have what the bootstrap token makes, or pass for another.
#[must_use]
pub fn is_reserved_account_name(name: &str) -> bool {
    [DELETED_ACCOUNT_NAME, BOOTSTRAP_ACCOUNT_NAME, SYSTEM_ACCOUNT_NAME].contains(&name)
}

/// A bearer token. The secret itself is nowhere: only its SHA-256 digest is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    pub id: TokenId,
    pub account: AccountId,
    /// What its holder calls it.
    pub name: String,
    /// What its holder may do.
    pub role: Role,
    pub purpose: TokenPurpose,
    /// SHA-256 of the secret.
    pub digest: [u8; 32],
    /// When it was made.
    pub created_at: UnixMs,
    /// When a request came with it last, as far as that was recorded; `None` before the first. Not written when a token is created.
    pub last_used_at: Option<UnixMs>,
    /// When it ends by itself; `None` for one that lasts until it is deleted.
    pub expires_at: Option<UnixMs>,
    /// Whether it is a browser's session, which signing out deletes.
    pub is_session: bool,
}

/// A registered bot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bot {
    pub id: BotId,
    pub account: AccountId,
    /// Unique within the account.
    pub name: String,
    /// The base URL of its webhooks.
    pub url: String,
    /// Whether other accounts may put it into matches.
    pub is_public: bool,
    /// When it was registered.
    pub created_at: UnixMs,
    /// When it was last changed.
    pub updated_at: UnixMs,
}

/// A bot with the name of its account: what a seat in a match is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedBot {
    pub bot: Bot,
    /// The name of `bot.account`.
    pub owner: String,
}

impl OwnedBot {
    /// The seat of this bot in a match that is created now.
    #[must_use]
    pub fn seat(&self) -> SeatSpec {
        let Bot { id, name, url, .. } = &self.bot;
        SeatSpec { bot: *id, name: name.clone(), owner: self.owner.clone(), url: url.clone() }
    }
}

/// A match as it is listed and looked up.
#[derive(Clone, Debug, PartialEq)]
pub struct MatchRow {
    /// What is played, by whom.
    pub spec: MatchSpec,
    /// The account that created it.
    pub account: AccountId,
    /// By seat, the account that its bot belonged to when the match was created; `None` for a bot that was not registered.
    pub seat_accounts: Vec<Option<AccountId>>,
    /// Where it is and how far it got.
    pub status: MatchStatus,
    /// How it ended; present exactly when the state is finished.
    pub result: Option<MatchResult>,
}

/// The status of a match: what pollers request, in bulk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatchStatus {
    pub id: MatchId,
    /// Its state of life.
    pub state: MatchState,
    pub created_at: UnixMs,
    /// When its state last changed.
    pub updated_at: UnixMs,
    /// When it (last) entered the queue.
    pub enqueued_at: UnixMs,
    /// When the first /start was about to be sent.
    pub started_at: Option<UnixMs>,
    /// When it finished, failed or was cancelled; present exactly in those states.
    pub ended_at: Option<UnixMs>,
    /// Turns played and saved.
    pub turns: u32,
    /// Moves, over all seats, that came after the deadline or never.
    pub late_moves: u32,
    /// Entries in its log.
    pub version: u32,
    /// Claims since it last made progress.
    pub attempts_charged: u32,
    /// The fencing token of the last claim; 0 before the first.
    pub epoch: u32,
    /// Why it failed; present exactly when the state is failed.
    pub failure: Option<String>,
    /// The worker that runs it, while one does.
    pub worker: Option<WorkerId>,
    /// The node that runs it or ran it last: the address in the lease of the worker that claimed it, kept when both are over.
    /// `None` before the first claim.
    pub node: Option<String>,
}

/// A part of a match's log with the state that it was read with, in one snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatchLogPage {
    /// The state of the match at that moment.
    pub state: MatchState,
    /// Entries in the log at that moment, this page's or not.
    pub version: u32,
    /// The requested rows, in order.
    pub rows: Vec<MatchLogRow>,
}

/// Matches by state, kept as counters: reading them never counts rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MatchCounts {
    /// In the queue.
    pub waiting: u64,
    /// Claimed by a worker, alive or not.
    pub running: u64,
    /// Ended with a result.
    pub finished: u64,
    /// Ended without one.
    pub failed: u64,
    /// Called off.
    pub cancelled: u64,
}

impl MatchCounts {
    /// All matches that are known.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.waiting + self.running + self.finished + self.failed + self.cancelled
    }
}

/// How many matches were created or finished in recent windows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WindowCounts {
    pub last_hour: u64,
    /// In the last 24 hours.
    pub last_24h: u64,
    /// In the last 7 days.
    pub last_7d: u64,
}

/// A failure that an operator should look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecentFailure {
    /// How many matches failed for this reason in the last 24 hours.
    pub count: u64,
    /// The reason, as [`MatchStatus::failure`] gives it.
    pub message: String,
    /// When it last happened.
    pub last_at: UnixMs,
}

/// What `/api/admin/stats` is made of.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MatchStats {
    /// Matches by state.
    pub counts: MatchCounts,
    /// Running matches whose worker's lease has ended: they wait to be taken over.
    pub orphaned: u64,
    /// Competitions that want to be advanced at a later time.
    pub scheduled: u64,
    /// Bots that are to be probed, those that are due already included.
    pub probes: u64,
    /// Matches created.
    pub created: WindowCounts,
    /// Matches finished.
    pub finished: WindowCounts,
    /// Mean time from `started_at` to `ended_at` of matches finished in the last 24 hours, in milliseconds.
    pub duration_ms_avg: Option<f64>,
    /// The commonest failures of the last 24 hours, at most ten.
    pub failures: Vec<RecentFailure>,
}

/// A policy of the rate limiter that was set while the server ran, and wins over one of the same name in the server's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitPolicy {
    pub name: String,
    /// Its definition, in the server's own format: nothing here reads it. Without the character U+0000, which
    /// PostgreSQL's texts cannot hold.
    pub definition: String,
}

/// A quota of one key's own under a policy, be that policy one of the file or one of [`LimitPolicy`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitOverride {
    /// The policy's name.
    pub policy: String,
    /// Whose quota: any bytes.
    pub key: Vec<u8>,
    /// Units a window.
    pub limit: u64,
    /// The window, in milliseconds.
    pub window_ms: u64,
}

/// All rules of the rate limiter that were set while the server ran, as of one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LimitRules {
    /// Rises with every change, so a reader that has this version is up to date. 0 before the first change.
    pub version: u64,
    /// Policies by name.
    pub policies: Vec<LimitPolicy>,
    /// Quotas of keys, by policy and key.
    pub overrides: Vec<LimitOverride>,
}

/// The two parts of a cursor's text: the number that its list is ordered by, and an id.
fn parse_cursor<N: FromStr, I: FromStr>(text: &str) -> Option<(N, I)> {
    let (number, id) = text.split_once('_')?;
    Some((number.parse().ok()?, id.parse().ok()?))
}
