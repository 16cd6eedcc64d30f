//! Everything that may be asked of what lasts, as values: a store commits a batch of [`Command`]s and gives one
//! [`Outcome`] for each, in order. Nobody is told anything before that commit.
//!
//! Commands carry the fences: a writer of a match names its `epoch` and the `version` that it expects. A refusal is an
//! outcome, never an error: an error means that nothing at all of the batch was saved, or that nobody knows.

mod tables;
mod worlds;

pub use tables::{ClaimedTable, IndexChange, OpenTable, TableAppend, TableSnapshot};
pub use worlds::{Aggregate, ClaimedWorld, HuntDelta, HunterDelta, WorldAppend, WorldCommand};

use crate::ids::{AccountId, BotId, MatchId, TableId, TokenId, WorkerId};
use crate::matches::lifecycle::MatchState;
use crate::matches::result::MatchResult;
use crate::matches::spec::MatchSpec;
use crate::rows::{Account, Bot, LimitOverride, LimitPolicy, MatchLogRow, Token, WorldOwner, WorldRow};
use crate::time::UnixMs;
use std::time::Duration;

/// One thing to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Add an account, or find the one that has this name already. → [`Outcome::Account`]
    EnsureAccount(Account),
    /// Add a token. → `Done` | `TooMany` (of the account's live tokens) | `Missing` (no such account)
    CreateToken(Token),
    /// Forget a token of this account, or of any when `account` is `None`. → `Done` | `Missing`
    DeleteToken {
        /// Which.
        id: TokenId,
        /// Whose.
        account: Option<AccountId>,
    },
    /// Register a bot. → `Done` | `Duplicate` (name taken in the account) | `TooMany` | `Missing` (no such account)
    CreateBot(Bot),
    /// Change name, URL and visibility of a bot of `bot.account`. → `Done` | `Missing` | `Duplicate`
    UpdateBot(Bot),
    /// Forget a bot of this account; matches keep their own copy of its name and URL. → `Done` | `Missing`
    DeleteBot {
        /// Which.
        id: BotId,
        /// Whose.
        account: AccountId,
    },
    /// Put matches into the queue: all or none. → `Done` | `Replayed` | `KeyReused` | `Missing` (no such account)
    CreateMatches(CreateMatches),
    /// Call off a match of this account, or of any when `account` is `None`. → `Done` | `Missing` | `WrongState`
    CancelMatch {
        /// Which.
        id: MatchId,
        /// Whose.
        account: Option<AccountId>,
        /// When.
        now: UnixMs,
    },
    /// Put a failed match back into the queue, its log kept, its attempts forgiven. → `Done` | `Missing` | `WrongState`
    RequeueMatch {
        /// Which.
        id: MatchId,
        /// When.
        now: UnixMs,
    },
    /// Write a worker's lease, new or renewed. A lease that has ended is not renewed. → `Done` | `LeaseLost`
    RenewLease {
        /// Whose.
        worker: WorkerId,
        /// Where its rooms can be reached: `host:port`.
        address: String,
        /// When this is written.
        now: UnixMs,
        /// Until when it holds; [`UnixMs::MAX`] for as long as nobody ends it.
        until: UnixMs,
    },
    /// Give a lease up; what the worker still runs is free to be taken over at once. → `Done`
    EndLease {
        /// Whose.
        worker: WorkerId,
    },
    /// End every lease there is: whoever wrote one is known to be dead. Only a database that one process has for itself can know
    /// that; a shared one refuses, and nothing changes. → `Done` | `Shared`
    EndAllLeases,
    /// Take up to `max` matches for this worker: first the orphans (running, and their worker's lease has ended), then the
    /// queue in fair order. Orphans out of attempts are failed instead, and do not count. A claim whose answer was lost is
    /// repeated under the same number and takes nothing new: its answer is what the first one took and the worker still
    /// holds. (Without that, a match would be held by a live worker that never heard of it.) A claim that took nothing leaves
    /// nothing behind, its number neither: looking for work that is not there costs no write. → [`Outcome::MatchesClaimed`] |
    /// `LeaseLost` (this worker's own lease does not hold at `now`)
    ClaimMatches {
        /// For whom.
        worker: WorkerId,
        /// The worker's own count of its claims, from 1. Each new claim has a higher number than the one before.
        number: u64,
        /// When.
        now: UnixMs,
        /// How many at most.
        max: usize,
        /// Claims without progress after which an orphan is failed.
        attempts_max: u32,
    },
    /// Add entries to a match's log. → `Done` | `Fenced` | `VersionIs`
    AppendMatch(MatchAppend),
    /// Add the last entries and end the match with its result. → `Done` | `Fenced` | `VersionIs`
    FinishMatch {
        /// The last entries (there may be none).
        append: MatchAppend,
        /// How it ended.
        result: MatchResult,
        /// The whole log, last entries included, packed for the archive (see [`crate::matches::archive`]).
        archive: Vec<u8>,
        /// When.
        now: UnixMs,
    },
    /// End the match without a result, its log kept for study. → `Done` | `Fenced`
    FailMatch {
        /// Which.
        id: MatchId,
        /// The writer's fencing token.
        epoch: u32,
        /// Why, for the reader who must act.
        reason: String,
        /// When.
        now: UnixMs,
    },
    /// Give a running match up, so that any worker may take it over at once. → `Done` | `Fenced`
    ReleaseMatch {
        /// Which.
        id: MatchId,
        /// The writer's fencing token.
        epoch: u32,
        /// Whether the attempt is given back (a drain) or stays charged (the attempt went wrong).
        is_refunded: bool,
    },
    /// Forget what is old: ended matches beyond the age or the size, oldest first, and idempotency keys past their time.
    /// At most `max` matches a call. → [`Outcome::Retired`]
    RetireMatches {
        /// When.
        now: UnixMs,
        /// Ended matches older than this are forgotten.
        keep_for: Option<Duration>,
        /// Archives together may take this many bytes; the oldest go first.
        keep_archive_bytes: Option<u64>,
        /// Matches forgotten by one call, so that nobody waits long behind it.
        max: usize,
    },
    /// Set a policy of the rate limiter, new or changed. → `Done` | `TooMany` (of all policies)
    PutLimitPolicy(LimitPolicy),
    /// Forget what was set about the policy of this name, quotas of single keys included: what the server's file says holds
    /// again. → `Done` | `Missing` (nothing was set)
    DeleteLimitPolicy {
        /// Which.
        name: String,
    },
    /// Give a key a quota of its own under a policy, new or changed. Whether there is such a policy, the server knows: it may
    /// stand in its file. → `Done` | `TooMany` (of all keys with a quota of their own)
    PutLimitOverride(LimitOverride),
    /// Forget a key's own quota. → `Done` | `Missing`
    DeleteLimitOverride {
        /// The policy's name.
        policy: String,
        /// Whose quota.
        key: Vec<u8>,
    },
    /// Open a table with its first entries, owned by this worker under epoch 1. → `Done` | `Replayed` | `KeyReused` |
    /// `Duplicate` (the id is known) | `VersionIs(0)` (the entries do not begin a log) | `LeaseLost` (before all others)
    OpenTable(OpenTable),
    /// Add entries to a table's log, and change the lists with them. → `Done` | `Fenced` | `VersionIs`
    AppendTable(TableAppend),
    /// Take one table over: it is free when nobody owns it or its owner's lease has ended. Whoever holds it already gets it
    /// again under a new epoch: so a claim whose answer was lost is simply repeated. → [`Outcome::TableClaimed`] |
    /// [`Outcome::TableElsewhere`] | `Missing` | `LeaseLost` (this worker's own lease does not hold at `now`)
    ClaimTable {
        /// Which.
        id: TableId,
        /// For whom.
        worker: WorkerId,
        /// When.
        now: UnixMs,
    },
    /// Take over up to `max` live tables that nobody owns or whose owner's lease has ended, oldest first. A repetition under
    /// the same number takes nothing new: its answer is what the first one took and the worker still holds live. One
    /// that took nothing leaves nothing behind, as with [`Command::ClaimMatches`]. → [`Outcome::TablesClaimed`] | `LeaseLost`
    ClaimTables {
        /// For whom.
        worker: WorkerId,
        /// The worker's own count of its claims of tables, from 1 and apart from that of [`Command::ClaimMatches`].
        number: u64,
        /// When.
        now: UnixMs,
        /// How many at most.
        max: usize,
    },
    /// Give a table up, so that any worker may take it over at once. Given up twice is given up. → `Done` | `Fenced`
    ReleaseTable {
        /// Which.
        id: TableId,
        /// The owner's fencing token.
        epoch: u32,
    },
    /// Forget idempotency keys of openings past their time; where an age is given, ended games of tables, oldest first, and then
    /// tables that have no game left, are not live and are owned by nobody. At most `max` games and `max` tables a call.
    /// → [`Outcome::Retired`], the games alone
    RetireGames {
        /// When.
        now: UnixMs,
        /// Games that ended longer ago than this are forgotten.
        keep_for: Option<Duration>,
        /// Games forgotten by one call, so that nobody waits long behind it.
        max: usize,
    },
    /// Keep a secret of the whole database under a name, unless there is one. → [`Outcome::Secret`]
    EnsureSecret {
        /// Its name.
        name: String,
        /// What it shall be if it is the first of its name.
        bytes: Vec<u8>,
    },
    /// Something about a world.
    World(WorldCommand),
}

/// Matches to be created, all or none, and the answer to repeat should the same request come again.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateMatches {
    /// Who asks.
    pub account: AccountId,
    /// What to remember about the request, when it came with an idempotency key.
    pub idempotency: Option<Idempotency>,
    /// The matches, in the order in which they join the queue.
    pub matches: Vec<MatchSpec>,
    /// When.
    pub now: UnixMs,
}

/// An idempotency key with what it stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Idempotency {
    /// The caller's key, unique among his own.
    pub key: String,
    /// A digest of the request: the same key with another request is a mistake of the caller's.
    pub fingerprint: [u8; 32],
    /// The answer, to be given again as it was.
    pub response: Vec<u8>,
}

/// Entries for a match's log, and the two fences that guard it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatchAppend {
    /// Which match.
    pub id: MatchId,
    /// The writer's fencing token: a later claim makes it void.
    pub epoch: u32,
    /// The entries, in order; the first one's version is what the log must hold now.
    pub rows: Vec<MatchLogRow>,
    /// How many entries the log holds before these.
    pub expected_version: u32,
    /// Set with the first entry: when the first /start is about to be sent.
    pub started_at: Option<UnixMs>,
}

/// A match in a worker's hands.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimedMatch {
    /// What is played.
    pub spec: MatchSpec,
    /// The fencing token of this claim.
    pub epoch: u32,
    /// Entries in its log: 0 for a fresh match.
    pub version: u32,
    /// Claims without progress, this one included.
    pub attempts_charged: u32,
}

/// What became of a command.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It was done.
    Done,
    /// The account of that name has this id.
    Account(AccountId),
    /// The same request was answered before; this was the answer.
    Replayed(Vec<u8>),
    /// The key was used before, for another request.
    KeyReused,
    /// These matches are the worker's now, in the order in which they should start.
    MatchesClaimed(Vec<ClaimedMatch>),
    /// So many matches, or games, were forgotten.
    Retired(usize),
    /// There is no such thing (or not for this account).
    NotFound,
    /// The name is taken.
    Duplicate,
    /// The account, or the house, has as many as it may have.
    LimitReached,
    /// There are as many as there may be, whoever asks; the asker may have fewer than his share.
    Full,
    /// The match is in a state in which this cannot happen.
    WrongState(MatchState),
    /// The match is not this writer's any more: a later epoch, or no longer running.
    Fenced,
    /// The log holds this many entries, not the expected number.
    VersionConflict(u32),
    /// The worker's lease has ended: it must stop and begin a new life.
    LeaseLost,
    /// Other processes may share this database, and be alive.
    SharedDatabase,
    /// The table is the worker's now.
    TableClaimed(ClaimedTable),
    /// The table is another worker's, whose lease holds.
    TableElsewhere {
        /// Where that worker can be reached.
        address: String,
    },
    /// These tables are the worker's now, in the order of their ids.
    TablesClaimed(Vec<ClaimedTable>),
    /// The secret of that name.
    Secret(Vec<u8>),
    /// The world of that name.
    World(Box<WorldRow>),
    /// The world is the worker's now.
    WorldClaimed(Box<ClaimedWorld>),
    /// The world is another worker's, whose lease holds.
    WorldElsewhere {
        /// Where that worker can be reached.
        address: String,
    },
    /// Who keeps the matchmakers' desk now.
    QueueOwnedBy(WorldOwner),
    /// Nobody can join: it is over, or only those come in who were matched.
    NotOpen,
}
