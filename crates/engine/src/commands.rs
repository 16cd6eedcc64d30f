//! Commands to a store, as values: a store commits a batch of [`Command`]s and returns one [`Outcome`] for each, in
//! order. No response is sent before that commit.
//!
//! Commands carry the fences: a writer of a match names its `epoch` and the `version` that it expects. A refusal is an
//! outcome, never an error: an error means that nothing of the batch was saved, or that it is unknown whether it was.

mod accounts;
mod audit;
mod bans;
mod codes;
mod competitions;
mod health;
mod ladders;
mod tables;
mod worlds;

pub use crate::tables::{IndexChange, TableSnapshot};
pub use crate::worlds::WorldAppend;
pub use accounts::{AccountCommand, NamesPage};
pub use audit::AuditCommand;
pub use bans::BanCommand;
pub use codes::{CodeCommand, NewSession, RedeemCode, SignedIn};
pub use competitions::{AddMatches, Advance, CompetitionCommand};
pub use health::BotCommand;
pub use ladders::{LadderCommand, RateResults, RepairRatings};
pub use tables::{ClaimedTable, OpenTable, TableAppend};
pub use worlds::{Aggregate, ClaimedWorld, HuntDelta, HunterDelta, WorldCommand};

use crate::ids::{AccountId, BotId, MatchId, PlayerId, TableId, TokenId, WorkerId};
use crate::ladders::entry::LadderEntry;
use crate::leadership::LeaderJob;
use crate::matches::lifecycle::MatchState;
use crate::matches::origin::{CompetitionKind, MatchOrigin};
use crate::matches::result::MatchResult;
use crate::matches::slots::SlotUsage;
use crate::matches::spec::MatchSpec;
use crate::rows::{Account, Bot, LimitOverride, LimitPolicy, MatchLogRow, SigningRow, Token, WorldOwner, WorldRow};
use crate::time::UnixMs;
use std::time::Duration;

/// One thing to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Add an account, or find the one that has this name already. → [`Outcome::Account`]
    EnsureAccount(Account),
    /// Add a token. → `Done` | `LimitReached` (of the account's live tokens) | `NotFound` (no such account)
    CreateToken(Token),
    /// Delete a token of this account, or of any when `account` is `None`, and the sign-in links of its account: a client that had the
    /// token may have made some. → `Done` | `NotFound` | `LastAdmin` (no other token of an admin that can be used lasts)
    DeleteToken { id: TokenId, account: Option<AccountId>, now: UnixMs },
    /// Note when tokens were used last; an earlier time than the known one changes nothing, and neither does an unknown token. →
    /// `Done`
    RecordTokenUses(Vec<(TokenId, UnixMs)>),
    /// Register a bot. → `Done` | `Duplicate` (name taken in the account) | `LimitReached` | `NotFound` (no such account)
    CreateBot(Bot),
    /// Change name, URL and visibility of a bot of `bot.account`. → `Done` | `NotFound` | `Duplicate`
    UpdateBot(Bot),
    /// Delete a bot of this account; matches keep their own copy of its name and URL. → `Done` | `NotFound`
    DeleteBot { id: BotId, account: AccountId },
    /// Put matches into the queue: all or none. → `Done` | `Replayed` | `KeyReused` | `LimitReached` (the account would have more waiting than
    /// [`MATCHES_WAITING_PER_ACCOUNT_MAX`](crate::limits::MATCHES_WAITING_PER_ACCOUNT_MAX)) | `NotFound` (no such account)
    CreateMatches(CreateMatches),
    /// Cancel a match of this account, or of any when `account` is `None`. → `Done` | `NotFound` | `WrongState`
    CancelMatch { id: MatchId, account: Option<AccountId>, now: UnixMs },
    /// Put a failed match back into the queue, with its log, its attempts reset. One of a competition stays as it is: its
    /// competition has its result. → `Done` | `NotFound` | `WrongState` | `OwnerDeleted`
    RequeueMatch { id: MatchId, now: UnixMs },
    /// Write a worker's lease, new or renewed. A lease that has ended is not renewed. → `Done` | `LeaseLost`
    RenewLease {
        worker: WorkerId,
        /// Where its rooms can be reached: `host:port`.
        address: String,
        /// When this is written.
        now: UnixMs,
        /// Until when it is valid; [`UnixMs::MAX`] for as long as it is not ended.
        until: UnixMs,
    },
    /// End a lease; what the worker still runs may be taken over at once. → `Done`
    EndLease { worker: WorkerId },
    /// End every lease: their owners are known to be dead. Only a database used by a single process can know that; a
    /// shared one refuses, and nothing changes. → `Done` | `SharedDatabase`
    EndAllLeases,
    /// Take up to `max` matches for this worker: first the orphans (running, and their worker's lease has ended), then
    /// the queue in fair order, as far as the worker's slots admit it. Orphans out of attempts are failed instead, and do not count. A claim whose outcome was
    /// lost is repeated under the same number and takes nothing new: its outcome is what the first one took and the
    /// worker still holds. (Otherwise a live worker would hold a match that it does not know of.) A claim that took
    /// nothing writes nothing, not even its number: looking for work costs no write. → [`Outcome::MatchesClaimed`] |
    /// `LeaseLost` (this worker's own lease is not valid at `now`)
    ClaimMatches {
        worker: WorkerId,
        /// The worker's own count of its claims, from 1. Each new claim has a higher number than the one before.
        number: u64,
        now: UnixMs,
        max: usize,
        /// What the worker plays already: of the queue, matches of accounts that may take no further slot are passed over.
        slots: SlotUsage,
        /// Claims without progress after which an orphan is failed.
        attempts_max: u32,
    },
    /// Add entries to a match's log. → `Done` | `Fenced` | `VersionConflict`
    AppendMatch(MatchAppend),
    /// Add the last entries and end the match with its result. → `Done` | `Fenced` | `VersionConflict`
    FinishMatch {
        /// The last entries (there may be none).
        append: MatchAppend,
        /// How it ended.
        result: MatchResult,
        /// The whole log, last entries included, packed for the archive (see [`crate::matches::archive`]).
        archive: Vec<u8>,
        now: UnixMs,
    },
    /// End the match without a result, its log kept for study. → `Done` | `Fenced`
    FailMatch {
        id: MatchId,
        /// The writer's fencing token.
        epoch: u32,
        /// Why, for the reader who must act.
        reason: String,
        now: UnixMs,
    },
    /// Release a running match, so that any worker may take it over at once. → `Done` | `Fenced`
    ReleaseMatch {
        id: MatchId,
        /// The writer's fencing token.
        epoch: u32,
        /// Whether the attempt is refunded (a drain) or stays charged (the attempt went wrong).
        is_refunded: bool,
    },
    /// Delete what is old: ended matches beyond the age or the size, oldest first, and expired idempotency keys. At
    /// most `max` matches a call. → [`Outcome::Retired`]
    RetireMatches {
        now: UnixMs,
        /// Ended matches older than this are deleted.
        keep_for: Option<Duration>,
        /// Archives together may take this many bytes; the oldest go first.
        keep_archive_bytes: Option<u64>,
        /// Answers of idempotency keys older than this are deleted; none is given that is older than [`crate::limits::IDEMPOTENCY_RETENTION`].
        keep_answers_for: Duration,
        /// Matches deleted by one call, so that other commands do not wait long behind it.
        max: usize,
    },
    /// Set a policy of the rate limiter, new or changed. → `Done` | `LimitReached` (of all policies)
    PutLimitPolicy(LimitPolicy),
    /// Delete the stored policy of this name, with its quotas of single keys: the server's file applies again. → `Done`
    /// | `NotFound` (nothing was set)
    DeleteLimitPolicy { name: String },
    /// Give a key a quota of its own under a policy, new or changed. Whether there is such a policy, the server knows: it may
    /// stand in its file. → `Done` | `LimitReached` (of all keys with a quota of their own)
    PutLimitOverride(LimitOverride),
    /// Delete a key's own quota. → `Done` | `NotFound`
    DeleteLimitOverride {
        /// The policy's name.
        policy: String,
        key: Vec<u8>,
    },
    /// Open a table with its first entries, owned by this worker under epoch 1. → `Done` | `Replayed` | `KeyReused` |
    /// `Duplicate` (the id is known) | `VersionIs(0)` (the entries do not begin a log) | `LeaseLost` (before all others)
    OpenTable(OpenTable),
    /// Add entries to a table's log, and change the lists with them. → `Done` | `Fenced` | `VersionConflict`
    AppendTable(TableAppend),
    /// Take one table over: it is free when it has no owner or its owner's lease has ended. The current owner gets it
    /// again under a new epoch, so a claim whose outcome was lost is simply repeated. → [`Outcome::TableClaimed`] |
    /// [`Outcome::TableElsewhere`] | `NotFound` | `LeaseLost` (this worker's own lease is not valid at `now`)
    ClaimTable { id: TableId, worker: WorkerId, now: UnixMs },
    /// Take over up to `max` live tables that have no owner or whose owner's lease has ended, oldest first. A
    /// repetition under the same number takes nothing new: its outcome is what the first one took and the worker still
    /// holds live. One that took nothing writes nothing, as with [`Command::ClaimMatches`]. →
    /// [`Outcome::TablesClaimed`] | `LeaseLost`
    ClaimTables {
        worker: WorkerId,
        /// The worker's own count of its claims of tables, from 1 and apart from that of [`Command::ClaimMatches`].
        number: u64,
        now: UnixMs,
        max: usize,
    },
    /// Release a table, so that any worker may take it over at once. Idempotent. → `Done` | `Fenced`
    ReleaseTable {
        id: TableId,
        /// The owner's fencing token.
        epoch: u32,
    },
    /// Delete expired idempotency keys of openings; where an age is given, ended games of tables, oldest first, and
    /// then tables that have no game left, are not live and have no owner. At most `max` games and `max` tables a call.
    /// → [`Outcome::Retired`], the games alone
    RetireGames {
        now: UnixMs,
        /// Games that ended longer ago than this are deleted.
        keep_for: Option<Duration>,
        /// See [`Command::RetireMatches`].
        keep_answers_for: Duration,
        /// Games deleted by one call, so that other commands do not wait long behind it.
        max: usize,
    },
    /// Look at what is kept of players behind `after`, in the order of their ids, at most `max` of them, and delete it of guests: of those
    /// who have no account, or had one that was deleted. The ids of the server's own players have no time, and are none of these. → [`Outcome::GuestsRetired`]
    RetireGuests {
        records: GuestRecords,
        after: PlayerId,
        /// Players whose id is younger than this are left alone.
        made_before: UnixMs,
        max: usize,
    },
    /// Keep a secret of the whole database under a name, unless there is one. → [`Outcome::Secret`]
    EnsureSecret {
        name: String,
        /// What it shall be if it is the first of its name.
        bytes: Vec<u8>,
    },
    /// Lead a job: it is free when it has no leader or its leader's lease has ended, and stays with its leader otherwise. →
    /// [`Outcome::LedBy`] (this worker, or another whose lease is valid) | `LeaseLost` (this worker's own lease is not
    /// valid at `now`)
    AcquireLeadership { job: LeaderJob, worker: WorkerId, now: UnixMs },
    /// Something about a ladder, a tournament or a duel.
    Competition(CompetitionCommand),
    /// Something about a ladder.
    Ladder(LadderCommand),
    /// Something about a world.
    World(WorldCommand),
    /// Something about a bot: its health, its calls, its signing secret.
    Bot(BotCommand),
    /// Something about an invitation, a sign-in link or a browser's session.
    Code(CodeCommand),
    /// Something about the deletion of an account.
    Account(AccountCommand),
    /// Something about a ban.
    Ban(BanCommand),
    /// Something about the audit log.
    Audit(AuditCommand),
}

/// What is kept of players, account or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuestRecords {
    /// Points, levels and cards of Stories.
    Standings,
    /// Rows of the leaderboard of hunts.
    Hunters,
}

impl GuestRecords {
    pub const ALL: [Self; 2] = [Self::Standings, Self::Hunters];
}

/// Matches to be created, all or none, and the answer to repeat should the same request come again.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateMatches {
    pub account: AccountId,
    /// What to remember about the request, when it came with an idempotency key.
    pub idempotency: Option<Idempotency>,
    /// The matches, in the order in which they join the queue.
    pub matches: Vec<MatchSpec>,
    pub now: UnixMs,
}

/// An idempotency key with what it stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Idempotency {
    /// The client's key, unique per account.
    pub key: String,
    /// A digest of the request: the same key with another request is the client's error.
    pub fingerprint: [u8; 32],
    /// The answer, to be given again as it was.
    pub response: Vec<u8>,
}

/// Entries for a match's log, and the two fences that guard it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatchAppend {
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
    /// Who created it, and whose share of the slots it takes.
    pub account: AccountId,
    /// What is played.
    pub spec: MatchSpec,
    /// The fencing token of this claim.
    pub epoch: u32,
    /// Entries in its log: 0 for a fresh match.
    pub version: u32,
    /// Claims without progress, this one included.
    pub attempts_charged: u32,
    /// Those of its bots whose calls are signed.
    pub signing: Vec<SigningRow>,
    /// By seat, whose the bot was when the match was created; of a bot that is not registered, the match's account.
    pub seat_accounts: Vec<AccountId>,
}

impl ClaimedMatch {
    /// Whose the bot of a seat was when the match was created; the match's account if the bot is not registered.
    #[must_use]
    pub fn owner(&self, seat: usize) -> AccountId {
        self.seat_accounts.get(seat).copied().unwrap_or(self.account)
    }

    /// On whose behalf the bot of a seat is called, whose budget of calls it uses: that of the match's creator. Those of ladders are
    /// created by this server for the owners who entered their bots.
    #[must_use]
    pub fn calling_account(&self, seat: usize) -> AccountId {
        match self.spec.origin {
            Some(MatchOrigin { kind: CompetitionKind::Ladder, .. }) => self.owner(seat),
            _ => self.account,
        }
    }
}

/// What became of a command.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    Done,
    /// The account of that name has this id.
    Account(AccountId),
    /// The same request was answered before; this was the answer.
    Replayed(Vec<u8>),
    /// The key was used before, for another request.
    KeyReused,
    /// These matches are the worker's now, in the order in which they should start.
    MatchesClaimed(Vec<ClaimedMatch>),
    /// So many matches, games or competitions were deleted.
    Retired(usize),
    /// So many guests' rows were deleted; behind this player there may be more, if there is one.
    GuestsRetired {
        count: usize,
        next: Option<PlayerId>,
    },
    /// The account is deleted; these were its tokens.
    AccountDeleted(Vec<TokenId>),
    /// The name was taken out of a page of rows; where the next one begins. `None`: that was the last one, and nothing is left.
    NamesForgotten(Option<NamesPage>),
    /// No account would be left with an admin's token that never ends and can be used.
    LastAdmin,
    /// The account of a match, or of a bot in it, was deleted.
    OwnerDeleted,
    /// There is no such thing (or not for this account).
    NotFound,
    /// The name is taken.
    Duplicate,
    /// The account, or the server, has as many as it may have.
    LimitReached,
    /// The total limit is reached, though this caller may be below its own.
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
    /// The calls of the bot are signed like this now.
    Signing(SigningRow),
    /// The leader of the job.
    LedBy(WorldOwner),
    /// The entry of a ladder, as it is now.
    LadderEntry(Box<LadderEntry>),
    /// It is over: it takes no entries any more, or (a hunt) only matched players may join.
    NotOpen,
    /// The code is used up, and its session is open.
    SignedIn(SignedIn),
}

#[cfg(test)]
mod tests;
