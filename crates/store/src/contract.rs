//! The contract of a store: one writer that commits batches, and readers that see whole commits.

mod audit;
mod bans;
mod deletions;
mod ladders;

pub use audit::AuditReader;
pub use bans::BanReader;
pub use deletions::DeletionReader;
pub use ladders::LadderReader;

use crate::checksums::Damage;
use engine::commands::{Command, Outcome};
use engine::competitions::{CompetitionKind, CompetitionResult, CompetitionRow};
use engine::ids::{
    AccountId, BotId, CodeId, CompetitionId, GameId, MatchId, PlayerId, TableId, TicketId, TokenId, WorkerId, WorldId,
    WorldName,
};
use engine::leadership::LeaderJob;
use engine::matches::entry::Face;
use engine::matches::result::SeatOutcome;
use engine::rows::{
    Account, AccountCounts, AggregationLag, Bot, BotCallsRow, BotHealthRow, CountedAccount, EndedMatchCursor,
    GameCursor, GameRow, HuntCursor, HuntTotals, HunterCursor, HunterRow, LimitRules, MatchCounts, MatchLogPage,
    MatchRow, MatchStats, MatchStatus, NodeRow, OldestKept, OneTimeCode, OwnedBot, PublicActivity, RoundRow,
    SeatedGame, SignedCode, SigningRow, TableOwner, Token, WorldEntry, WorldLogPage, WorldOwner, WorldRow,
};
use engine::tables::Standing;
use engine::time::UnixMs;
use rules::snake::Map;
use std::time::Duration;

/// Why a store could not answer. A refusal is an [`Outcome`], not an error.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The disk is full, the database is gone, a lock timed out: nothing of the batch was saved, or the outcome is
    /// unknown. Try again: every write is fenced, so a repetition does no harm.
    #[error("the store cannot be reached or written: {why}")]
    Unavailable {
        /// The database's error.
        why: String,
    },
    /// More commands wait than may wait. Nothing was tried.
    #[error("the store is overloaded: more than {waiting_max} commands wait to be saved")]
    Overloaded {
        /// The limit that was reached.
        waiting_max: usize,
    },
    /// The database was written by a newer Gauntlet, or is not one of ours.
    #[error("{why}")]
    WrongSchema {
        /// What was found, what was expected, what to do.
        why: String,
    },
    /// What was read is not what we wrote.
    #[error("stored data cannot be read: {why}")]
    Corrupt {
        /// Where, and what is wrong with it.
        why: String,
    },
    /// Bytes are not what was written: a bit flipped on the disk, say. What they belong to cannot be read; everything else can.
    #[error("stored data are damaged: {0}")]
    Damaged(Box<Damage>),
}

impl From<Damage> for StoreError {
    fn from(damage: Damage) -> Self {
        Self::Damaged(Box::new(damage))
    }
}

/// The one writer. Not shared: its owner is the only one that writes through it.
pub trait Backend: Send {
    /// Saves all of `commands` in one durable commit, in order, and returns an outcome for each. Later commands see
    /// what earlier ones did. A command that is refused changes nothing and does not affect the others.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`]: nothing was saved, or (a connection lost during the commit) the outcome is unknown.
    fn commit(&mut self, commands: &[Command]) -> Result<Vec<Outcome>, StoreError>;

    /// The damage that commits passed over since this was last called: what is damaged was left out of their outcomes.
    fn take_damages(&mut self) -> Vec<Damage> {
        Vec::new()
    }

    /// Whether a commit would be saved now, found out by a small one that leaves nothing. A full disk opens well, and so does a database
    /// that only answers reads.
    ///
    /// # Errors
    /// As for [`Backend::commit`].
    fn probe(&mut self) -> Result<(), StoreError>;
}

/// Which matches there are to list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MatchList {
    /// Those of all accounts.
    #[default]
    All,
    /// Those that this account created.
    OfAccount(AccountId),
    /// Those in which this bot has a seat.
    OfBot {
        bot: BotId,
        /// Only matches that ended like this for one of its seats.
        outcome: Option<SeatOutcome>,
        /// Only matches that this account may find: public ones, and those that it created.
        viewer: Option<AccountId>,
    },
}

/// Which page of a list of matches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MatchFilter {
    pub list: MatchList,
    /// Only matches older than this one (lists are newest first): the cursor.
    pub before: Option<MatchId>,
    /// At most so many.
    pub limit: usize,
}

/// Which accounts a list shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccountFilter {
    /// Only accounts whose names begin so: every name begins with nothing.
    pub name_prefix: String,
    /// Only accounts behind this one (lists are in the order of their names' bytes): the cursor. Nothing is behind an unknown one.
    pub after: Option<AccountId>,
    /// At most so many.
    pub limit: usize,
}

/// Which bots a list shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BotFilter {
    /// Bots of this account.
    pub account: AccountId,
    /// Only bots older than this one (lists are newest first): the cursor.
    pub before: Option<BotId>,
    /// At most so many.
    pub limit: usize,
}

/// A bot that is due to be probed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BotToProbe {
    pub health: BotHealthRow,
    pub bot: Bot,
}

/// Which competitions a list shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompetitionFilter {
    pub kind: CompetitionKind,
    /// All of this account; the public ones of all accounts otherwise.
    pub account: Option<AccountId>,
    /// Only competitions older than this one (lists are newest first): the cursor.
    pub before: Option<CompetitionId>,
    /// At most so many.
    pub limit: usize,
}

/// Which games of a player's a list shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlayerGamesFilter {
    /// Games in which the player has a seat, or only an invitation.
    pub player: PlayerId,
    /// Those that have ended, or those that have not.
    pub is_ended: bool,
    /// Only games opened before this place (lists are newest first).
    pub before: Option<GameCursor>,
    /// At most so many.
    pub limit: usize,
}

/// The fingerprint of a request and the answer that it got.
pub type RememberedResponse = ([u8; 32], Vec<u8>);

/// A game, and its record once it has ended.
pub type RecordedGame = (GameRow, Option<Vec<u8>>);

/// A view of what is committed. Each call is one snapshot. What is asked for alone and is damaged is an error; what is one of many is left out,
/// and its damage is taken with [`Reader::take_damages`].
pub trait Reader: Send {
    /// The damage that lists passed over since this was last called.
    fn take_damages(&mut self) -> Vec<Damage> {
        Vec::new()
    }
    /// The schema version of the program that made the store; 0 where that did not write it down yet.
    fn created_with(&mut self) -> Result<i64, StoreError>;
    /// The token whose secret has this SHA-256 digest.
    fn token(&mut self, digest: &[u8; 32]) -> Result<Option<Token>, StoreError>;
    /// All tokens of an account, newest first.
    fn tokens(&mut self, account: AccountId) -> Result<Vec<Token>, StoreError>;
    /// Which of these tokens exist, in any order: checked repeatedly for tokens of open feeds and connections.
    fn existing_tokens(&mut self, ids: &[TokenId]) -> Result<Vec<TokenId>, StoreError>;
    /// The code with this SHA-256 digest, unless it has expired by `now`.
    fn one_time_code(&mut self, digest: &[u8; 32], now: UnixMs) -> Result<Option<OneTimeCode>, StoreError>;
    /// Invitations that have not expired by `now`, newest first, with the names of those who made them.
    fn invites(&mut self, before: Option<CodeId>, limit: usize, now: UnixMs) -> Result<Vec<SignedCode>, StoreError>;
    fn account(&mut self, id: AccountId) -> Result<Option<Account>, StoreError>;
    /// How much an account has; nothing of an unknown one.
    fn account_counts(&mut self, id: AccountId) -> Result<AccountCounts, StoreError>;
    fn account_named(&mut self, name: &str) -> Result<Option<Account>, StoreError>;
    /// Accounts by their names.
    fn accounts(&mut self, filter: &AccountFilter) -> Result<Vec<CountedAccount>, StoreError>;
    /// These bots, in any order; unknown ids are left out.
    fn bots_by_id(&mut self, ids: &[BotId]) -> Result<Vec<Bot>, StoreError>;
    /// The same with the names of their accounts.
    fn bots_with_owners(&mut self, ids: &[BotId]) -> Result<Vec<OwnedBot>, StoreError>;
    /// Bots of an account, newest first.
    fn bots(&mut self, filter: &BotFilter) -> Result<Vec<Bot>, StoreError>;
    /// Public bots of all accounts, with the names of these, newest first.
    fn public_bots(&mut self, before: Option<BotId>, limit: usize) -> Result<Vec<OwnedBot>, StoreError>;
    /// How these bots looked in their last matches, in any order; those that are not known are left out.
    fn bot_faces(&mut self, bots: &[BotId]) -> Result<Vec<(BotId, Face)>, StoreError>;
    fn match_by_id(&mut self, id: MatchId) -> Result<Option<MatchRow>, StoreError>;
    /// Matches, newest first.
    fn matches(&mut self, filter: &MatchFilter) -> Result<Vec<MatchRow>, StoreError>;
    /// Public matches that run, of all maps or of one, newest first.
    fn running_public_matches(
        &mut self,
        map: Option<Map>,
        before: Option<MatchId>,
        limit: usize,
    ) -> Result<Vec<MatchRow>, StoreError>;
    /// Public matches that have ended, whatever their end, of all maps or of one, the last ended first.
    fn ended_public_matches(
        &mut self,
        map: Option<Map>,
        before: Option<EndedMatchCursor>,
        limit: usize,
    ) -> Result<Vec<MatchRow>, StoreError>;
    /// The status of these matches, in the order of `ids`; unknown ids are left out.
    fn statuses(&mut self, ids: &[MatchId]) -> Result<Vec<MatchStatus>, StoreError>;
    /// The entries of a match's log from version `from` on, at most `limit`, with the state at the same moment; `None` for
    /// an unknown match. Running, archived and failed matches read alike.
    fn match_log(&mut self, id: MatchId, from: u32, limit: usize) -> Result<Option<MatchLogPage>, StoreError>;
    /// The answer remembered for an idempotency key with its request's fingerprint.
    fn idempotent_response(&mut self, account: AccountId, key: &str) -> Result<Option<RememberedResponse>, StoreError>;
    /// The address in a worker's lease, if the lease holds at `now`.
    fn lease_address(&mut self, worker: WorkerId, now: UnixMs) -> Result<Option<String>, StoreError>;
    /// The workers with a valid lease at `now` and this address, with the end of each lease: a handful.
    fn leases_at(&mut self, address: &str, now: UnixMs) -> Result<Vec<(WorkerId, UnixMs)>, StoreError>;
    /// The nodes that have leases, or had some not long ago, with what they hold at `now`: those that live first, by their addresses, then
    /// the others, the last one to go first. A few small tables and indexes of what is under way, cheap enough for a page that is looked at.
    fn nodes(&mut self, now: UnixMs, limit: usize) -> Result<Vec<NodeRow>, StoreError>;
    /// Matches by state: a handful of counters, cheap enough to be read every second.
    fn match_counts(&mut self) -> Result<MatchCounts, StoreError>;
    /// Statistics for operators. Counters and indexes only: no count over all matches.
    fn match_stats(&mut self, now: UnixMs) -> Result<MatchStats, StoreError>;
    /// How much goes on in public, of all nodes. Walks of indexes with bounds, cheap enough to be made every second.
    fn public_activity(&mut self, now: UnixMs) -> Result<PublicActivity, StoreError>;
    /// Everything that was set about rate limits.
    fn limit_rules(&mut self) -> Result<LimitRules, StoreError>;
    /// [`LimitRules::version`] alone: one row, so that nodes on one database can check often for changes.
    fn limit_rules_version(&mut self) -> Result<u64, StoreError>;
    /// The secret of this name, if it exists.
    fn secret(&mut self, name: &str) -> Result<Option<Vec<u8>>, StoreError>;
    /// Who answers for a table at `now`; `None` for an unknown table.
    fn table_owner(&mut self, id: TableId, now: UnixMs) -> Result<Option<TableOwner>, StoreError>;
    /// A game with its record, which it has once it has ended.
    fn story_game(&mut self, id: GameId) -> Result<Option<RecordedGame>, StoreError>;
    /// Games of a player, the last opened first.
    fn story_games_of(&mut self, filter: &PlayerGamesFilter) -> Result<Vec<SeatedGame>, StoreError>;
    /// Games that can still be joined: in creation or invitation, with a free seat. The last opened first.
    fn story_lobby(&mut self, before: Option<GameCursor>, limit: usize) -> Result<Vec<GameRow>, StoreError>;
    /// Ended games of all players, the last ended first.
    fn story_history(&mut self, before: Option<GameCursor>, limit: usize) -> Result<Vec<GameRow>, StoreError>;
    /// The standings of these players, by id; who was never scored is left out.
    fn standings(&mut self, players: &[PlayerId]) -> Result<Vec<(PlayerId, Standing)>, StoreError>;
    /// The answer remembered for a player's idempotency key with its request's fingerprint.
    fn story_idempotent_response(
        &mut self,
        player: PlayerId,
        key: &str,
    ) -> Result<Option<RememberedResponse>, StoreError>;
    /// Worlds that are not over at `now` and that the viewer may enter, with their owners, in the order of their ids.
    fn worlds(
        &mut self,
        after: Option<WorldId>,
        limit: usize,
        viewer: Option<PlayerId>,
        now: UnixMs,
    ) -> Result<Vec<WorldEntry>, StoreError>;
    fn world(&mut self, id: WorldId, now: UnixMs) -> Result<Option<WorldEntry>, StoreError>;
    fn world_named(&mut self, name: &WorldName, now: UnixMs) -> Result<Option<WorldEntry>, StoreError>;
    /// The entries of a world's claim log from version `from` on, at most `limit`, as far as they are kept; `None` for an
    /// unknown world.
    fn world_log(&mut self, id: WorldId, from: u32, limit: usize) -> Result<Option<WorldLogPage>, StoreError>;
    /// Worlds whose logs have entries that are not counted yet.
    fn aggregation_lags(&mut self, limit: usize) -> Result<Vec<AggregationLag>, StoreError>;
    /// Whether a player has joined a world.
    fn has_joined(&mut self, id: WorldId, player: PlayerId) -> Result<bool, StoreError>;
    /// Those who have joined a world, in the order of their ids.
    fn members(&mut self, id: WorldId, limit: usize) -> Result<Vec<PlayerId>, StoreError>;
    /// Hunts that are not over at `now`, the one that ends last first; those of matched players only where they are wanted.
    fn hunt_lobby(
        &mut self,
        before: Option<HuntCursor>,
        limit: usize,
        with_matched: bool,
        now: UnixMs,
    ) -> Result<Vec<WorldEntry>, StoreError>;
    /// Hunts that were over by `now`, were played, and whose last owner neither finished them nor holds them: the earliest end first.
    fn unfinished_hunts(
        &mut self,
        after: Option<HuntCursor>,
        limit: usize,
        now: UnixMs,
    ) -> Result<Vec<WorldRow>, StoreError>;
    /// The hunt into which a player came by a ticket, for as long as they have not left it and it is kept.
    fn hunt_of_ticket(&mut self, ticket: TicketId, player: PlayerId) -> Result<Option<WorldRow>, StoreError>;
    /// A hunt that is not over at `now`, into which this player was matched and which they have not left.
    fn hunt_of_player(&mut self, player: PlayerId, now: UnixMs) -> Result<Option<WorldRow>, StoreError>;
    /// Hunters, most points first.
    fn hunt_leaderboard(&mut self, before: Option<HunterCursor>, limit: usize) -> Result<Vec<HunterRow>, StoreError>;
    /// What was counted of one player, if anything was.
    fn hunter(&mut self, player: PlayerId) -> Result<Option<HunterRow>, StoreError>;
    /// Rounds of a hunt that have ended and were counted, the last first.
    fn hunt_rounds(&mut self, id: WorldId, before: Option<u32>, limit: usize) -> Result<Vec<RoundRow>, StoreError>;
    /// Everything that was counted, together: one row.
    fn hunt_totals(&mut self) -> Result<HuntTotals, StoreError>;
    /// What ended first before `now`, of what is still there.
    fn oldest_kept(&mut self, now: UnixMs) -> Result<OldestKept, StoreError>;
    /// The process that leads a job at `now`.
    fn leader(&mut self, job: LeaderJob, now: UnixMs) -> Result<Option<WorldOwner>, StoreError>;
    /// What is read of ladders alone.
    fn ladders(&mut self) -> &mut dyn LadderReader;
    /// What can be read of the audit log.
    fn audit(&mut self) -> &mut dyn AuditReader;
    /// What can be read of bans.
    fn bans(&mut self) -> &mut dyn BanReader;
    /// What can be read of accounts that are deleted.
    fn deletions(&mut self) -> &mut dyn DeletionReader;
    fn competition(&mut self, id: CompetitionId) -> Result<Option<CompetitionRow>, StoreError>;
    /// These competitions, in the order of their ids, once each; unknown ones are left out.
    fn competitions_by_id(&mut self, ids: &[CompetitionId]) -> Result<Vec<CompetitionRow>, StoreError>;
    /// Competitions, newest first.
    fn competitions(&mut self, filter: &CompetitionFilter) -> Result<Vec<CompetitionRow>, StoreError>;
    /// Competitions that have results which are not applied, in the order of their ids.
    fn competitions_unapplied(
        &mut self,
        kind: CompetitionKind,
        after: Option<CompetitionId>,
        limit: usize,
    ) -> Result<Vec<CompetitionRow>, StoreError>;
    /// Competitions that are due at `now`, in the order of that time and their ids, behind this one.
    fn competitions_due(
        &mut self,
        kind: CompetitionKind,
        now: UnixMs,
        after: Option<(UnixMs, CompetitionId)>,
        limit: usize,
    ) -> Result<Vec<CompetitionRow>, StoreError>;
    /// Running competitions of a kind, in the order of their ids.
    fn competitions_running(
        &mut self,
        kind: CompetitionKind,
        after: Option<CompetitionId>,
        limit: usize,
    ) -> Result<Vec<CompetitionRow>, StoreError>;
    /// The entries of a competition's log from version `from` on, at most `limit`.
    fn competition_log(&mut self, id: CompetitionId, from: u32, limit: usize) -> Result<Vec<Vec<u8>>, StoreError>;
    /// Matches of competitions of this kind that have not ended and have a seat of a registered bot that was deleted; at most `limit`, in
    /// no order.
    fn matches_of_deleted_bots(&mut self, kind: CompetitionKind, limit: usize) -> Result<Vec<MatchId>, StoreError>;
    /// Matches of a competition that are kept, newest first; all of them, or those that have not ended.
    fn competition_matches(
        &mut self,
        id: CompetitionId,
        is_live: bool,
        before: Option<MatchId>,
        limit: usize,
    ) -> Result<Vec<MatchRow>, StoreError>;
    /// The results of a competition after the one of number `after`, in their order, at most `limit`.
    fn competition_results(
        &mut self,
        id: CompetitionId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<CompetitionResult>, StoreError>;
    /// The health of these bots, in any order; those without evidence are left out.
    fn bot_health(&mut self, bots: &[BotId]) -> Result<Vec<BotHealthRow>, StoreError>;
    /// Bots that are paused, at most `limit`, in the order of their ids: matchmakers leave them out.
    fn paused_bots(&mut self, limit: usize) -> Result<Vec<BotId>, StoreError>;
    /// Bots whose next probe is due at `now`, those that wait longest first, at most `limit`, without those of these accounts, of which there
    /// are as many as can have all probes that run at once.
    fn bots_to_probe(
        &mut self,
        now: UnixMs,
        besides: &[AccountId],
        limit: usize,
    ) -> Result<Vec<BotToProbe>, StoreError>;
    /// How a bot answered from this hour on, by hour; several rows of one hour are to be added.
    fn bot_calls(&mut self, bot: BotId, from_hour: u32) -> Result<Vec<BotCallsRow>, StoreError>;
    /// With which secrets the calls of a bot are signed; `None` if they are not.
    fn signing(&mut self, bot: BotId) -> Result<Option<SigningRow>, StoreError>;
    /// The database's own clock, where it has one that several nodes share (PostgreSQL); `None` where this process's clock is
    /// the only one.
    fn database_time(&mut self) -> Result<Option<UnixMs>, StoreError>;
    /// Whether a small write would succeed now, for `/readyz`. Leaves no trace.
    fn probe(&mut self) -> Result<(), StoreError>;
}

/// Where a store's writer and readers come from; kept to open them again after a loss.
pub trait Database: Send + Sync {
    /// Opens the writer; migrates the schema on the way.
    ///
    /// # Errors
    /// [`StoreError::WrongSchema`] for a database from the future, [`StoreError::Unavailable`] otherwise.
    fn writer(&self) -> Result<Box<dyn Backend>, StoreError>;
    /// Opens a reader.
    ///
    /// # Errors
    /// As for [`Database::writer`].
    fn reader(&self) -> Result<Box<dyn Reader>, StoreError>;
    /// Whether other processes may share this database: their commits do not notify watchers of this process, so those
    /// must poll.
    fn is_shared(&self) -> bool;
    /// What to call it in logs and reports, without secrets: `sqlite`, `postgres`.
    fn kind(&self) -> &'static str;
}

/// Who wants to know how long the store's callers waited and how long the database took, kept apart.
pub trait Observer: Send + Sync {
    /// A batch was committed (or not): its size, the longest wait of its commands before the batch began, and the time in
    /// the database.
    fn committed(&self, commands: usize, queue_wait_max: Duration, took: Duration, is_ok: bool);
    /// A read was answered (or not): the wait for a free reader, and the time in the database.
    fn read(&self, pool_wait: Duration, took: Duration, is_ok: bool);
    /// Damage was met that was not known to this process. The observer of the store itself gets that of all readers.
    fn damaged(&self, _: &Damage) {}
}
