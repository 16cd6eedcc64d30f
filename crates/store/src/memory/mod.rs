//! The contract as plain maps: the simplest implementation, and so its executable specification. The other two stores
//! are tested against this one; the simulator runs on it. Nothing outlives the process.

mod accounts;
mod data;
mod limit_rules;
mod log;
mod queue;
mod reads;
mod retire;
mod stories;
mod worlds;

use crate::contract::{
    Backend, BotFilter, Database, MatchFilter, PlayerGamesFilter, Reader, RecordedGame, RememberedResponse, StoreError,
};
use data::MemoryData;
use engine::commands::{Command, Outcome};
use engine::ids::{
    AccountId, BotId, GameId, MatchId, PlayerId, TableId, TicketId, TokenId, WorkerId, WorldId, WorldName,
};
use engine::rows::{
    Account, AggregationLag, Bot, GameCursor, GameRow, HuntCursor, HuntTotals, HunterCursor, HunterRow, LimitRules,
    MatchCounts, MatchLogPage, MatchRow, MatchStats, MatchStatus, RoundRow, SeatedGame, TableOwner, Token, WorldEntry,
    WorldLogPage, WorldOwner, WorldRow,
};
use engine::tables::Standing;
use engine::time::UnixMs;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A database in memory. Clones are handles of the same data; [`MemoryDatabase::snapshot`] makes independent data.
#[derive(Clone, Default)]
pub struct MemoryDatabase {
    tables: Arc<Mutex<MemoryData>>,
}

impl MemoryDatabase {
    /// An empty database.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A copy of everything committed so far, on its own from here on.
    #[must_use]
    pub fn snapshot(&self) -> Self {
        Self { tables: Arc::new(Mutex::new(self.lock().clone())) }
    }

    /// A panic under this lock is a panic inside one command; the maps themselves are sound.
    fn lock(&self) -> MutexGuard<'_, MemoryData> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Database for MemoryDatabase {
    fn writer(&self) -> Result<Box<dyn Backend>, StoreError> {
        Ok(Box::new(MemoryHandle(self.clone())))
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        Ok(Box::new(MemoryHandle(self.clone())))
    }

    fn is_shared(&self) -> bool {
        false
    }

    fn kind(&self) -> &'static str {
        "memory"
    }
}

struct MemoryHandle(MemoryDatabase);

impl Backend for MemoryHandle {
    fn commit(&mut self, commands: &[Command]) -> Result<Vec<Outcome>, StoreError> {
        let mut tables = self.0.lock();
        commands.iter().map(|command| tables.apply(command)).collect()
    }
}

impl MemoryData {
    fn apply(&mut self, command: &Command) -> Result<Outcome, StoreError> {
        Ok(match command {
            Command::EnsureAccount(account) => self.ensure_account(account),
            Command::CreateToken(token) => self.create_token(token),
            Command::DeleteToken { id, account } => self.delete_token(*id, *account),
            Command::CreateBot(bot) => self.create_bot(bot),
            Command::UpdateBot(bot) => self.update_bot(bot),
            Command::DeleteBot { id, account } => self.delete_bot(*id, *account),
            Command::CreateMatches(create) => self.create_matches(create),
            Command::CancelMatch { id, account, now } => self.cancel(*id, *account, *now),
            Command::RequeueMatch { id, now } => self.requeue(*id, *now),
            Command::RenewLease { worker, address, now, until } => self.renew_lease(*worker, address, *now, *until),
            Command::EndLease { worker } => self.end_lease(*worker),
            Command::EndAllLeases => self.end_all_leases(),
            Command::ClaimMatches { worker, number, now, max, attempts_max } => {
                self.claim(*worker, *number, *now, *max, *attempts_max)
            }
            Command::AppendMatch(append) => self.append(append),
            Command::FinishMatch { append, result, archive, now } => self.finish(append, result, archive, *now)?,
            Command::FailMatch { id, epoch, reason, now } => self.fail(*id, *epoch, reason, *now),
            Command::ReleaseMatch { id, epoch, is_refunded } => self.release(*id, *epoch, *is_refunded),
            Command::RetireMatches { now, keep_for, keep_archive_bytes, max } => {
                self.retire(*now, *keep_for, *keep_archive_bytes, *max)
            }
            Command::PutLimitPolicy(policy) => self.put_limit_policy(policy),
            Command::DeleteLimitPolicy { name } => self.delete_limit_policy(name),
            Command::PutLimitOverride(quota) => self.put_limit_override(quota),
            Command::DeleteLimitOverride { policy, key } => self.delete_limit_override(policy, key),
            Command::OpenTable(open) => self.open_table(open),
            Command::AppendTable(append) => self.append_table(append),
            Command::ClaimTable { id, worker, now } => self.claim_table(*id, *worker, *now),
            Command::ClaimTables { worker, number, now, max } => self.claim_tables(*worker, *number, *now, *max),
            Command::ReleaseTable { id, epoch } => self.release_table(*id, *epoch),
            Command::RetireGames { now, keep_for, max } => self.retire_games(*now, *keep_for, *max),
            Command::EnsureSecret { name, bytes } => self.ensure_secret(name, bytes),
            Command::World(command) => self.world(command),
        })
    }
}

impl Reader for MemoryHandle {
    fn token(&mut self, digest: &[u8; 32]) -> Result<Option<Token>, StoreError> {
        Ok(self.0.lock().token(digest))
    }
    fn tokens(&mut self, account: AccountId) -> Result<Vec<Token>, StoreError> {
        Ok(self.0.lock().tokens_of(account))
    }
    fn existing_tokens(&mut self, ids: &[TokenId]) -> Result<Vec<TokenId>, StoreError> {
        Ok(self.0.lock().existing_tokens(ids))
    }
    fn account(&mut self, id: AccountId) -> Result<Option<Account>, StoreError> {
        Ok(self.0.lock().account(id))
    }
    fn account_named(&mut self, name: &str) -> Result<Option<Account>, StoreError> {
        Ok(self.0.lock().account_named(name))
    }
    fn bots_by_id(&mut self, ids: &[BotId]) -> Result<Vec<Bot>, StoreError> {
        Ok(self.0.lock().bots_by_id(ids))
    }
    fn bots(&mut self, filter: &BotFilter) -> Result<Vec<Bot>, StoreError> {
        Ok(self.0.lock().bots_of(filter))
    }
    fn match_by_id(&mut self, id: MatchId) -> Result<Option<MatchRow>, StoreError> {
        Ok(self.0.lock().match_by_id(id))
    }
    fn matches(&mut self, filter: &MatchFilter) -> Result<Vec<MatchRow>, StoreError> {
        Ok(self.0.lock().matches_of(filter))
    }
    fn statuses(&mut self, ids: &[MatchId]) -> Result<Vec<MatchStatus>, StoreError> {
        Ok(self.0.lock().statuses(ids))
    }
    fn match_log(&mut self, id: MatchId, from: u32, limit: usize) -> Result<Option<MatchLogPage>, StoreError> {
        self.0.lock().log_page(id, from, limit)
    }
    fn idempotent_response(&mut self, account: AccountId, key: &str) -> Result<Option<RememberedResponse>, StoreError> {
        Ok(self.0.lock().idempotent_response(account, key))
    }
    fn lease_address(&mut self, worker: WorkerId, now: UnixMs) -> Result<Option<String>, StoreError> {
        Ok(self.0.lock().lease_address(worker, now))
    }
    fn leases_at(&mut self, address: &str, now: UnixMs) -> Result<Vec<(WorkerId, UnixMs)>, StoreError> {
        Ok(self.0.lock().leases_at(address, now))
    }
    fn match_counts(&mut self) -> Result<MatchCounts, StoreError> {
        Ok(self.0.lock().counts())
    }
    fn match_stats(&mut self, now: UnixMs) -> Result<MatchStats, StoreError> {
        Ok(self.0.lock().stats(now))
    }
    fn limit_rules(&mut self) -> Result<LimitRules, StoreError> {
        Ok(self.0.lock().limit_rules())
    }
    fn limit_rules_version(&mut self) -> Result<u64, StoreError> {
        Ok(self.0.lock().limit_rules_version)
    }
    fn secret(&mut self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.0.lock().secrets.get(name).cloned())
    }
    fn table_owner(&mut self, id: TableId, now: UnixMs) -> Result<Option<TableOwner>, StoreError> {
        Ok(self.0.lock().table_owner(id, now))
    }
    fn story_game(&mut self, id: GameId) -> Result<Option<RecordedGame>, StoreError> {
        Ok(self.0.lock().stories.game(id))
    }
    fn story_games_of(&mut self, filter: &PlayerGamesFilter) -> Result<Vec<SeatedGame>, StoreError> {
        Ok(self.0.lock().stories.games_of(filter))
    }
    fn story_lobby(&mut self, before: Option<GameCursor>, limit: usize) -> Result<Vec<GameRow>, StoreError> {
        Ok(self.0.lock().stories.lobby(before, limit))
    }
    fn story_history(&mut self, before: Option<GameCursor>, limit: usize) -> Result<Vec<GameRow>, StoreError> {
        Ok(self.0.lock().stories.history(before, limit))
    }
    fn standings(&mut self, players: &[PlayerId]) -> Result<Vec<(PlayerId, Standing)>, StoreError> {
        Ok(self.0.lock().stories.standings(players))
    }
    fn story_idempotent_response(
        &mut self,
        player: PlayerId,
        key: &str,
    ) -> Result<Option<RememberedResponse>, StoreError> {
        Ok(self.0.lock().stories.idempotent_response(player, key))
    }
    fn worlds(
        &mut self,
        after: Option<WorldId>,
        limit: usize,
        viewer: Option<PlayerId>,
        now: UnixMs,
    ) -> Result<Vec<WorldEntry>, StoreError> {
        Ok(self.0.lock().world_entries(after, limit, (viewer, now)))
    }
    fn world(&mut self, id: WorldId, now: UnixMs) -> Result<Option<WorldEntry>, StoreError> {
        Ok(self.0.lock().world_entry(id, now))
    }
    fn world_named(&mut self, name: &WorldName, now: UnixMs) -> Result<Option<WorldEntry>, StoreError> {
        Ok(self.0.lock().world_named(name, now))
    }
    fn world_log(&mut self, id: WorldId, from: u32, limit: usize) -> Result<Option<WorldLogPage>, StoreError> {
        Ok(self.0.lock().worlds.log_page(id, from, limit))
    }
    fn aggregation_lags(&mut self, limit: usize) -> Result<Vec<AggregationLag>, StoreError> {
        Ok(self.0.lock().worlds.aggregation_lags(limit))
    }
    fn has_joined(&mut self, id: WorldId, player: PlayerId) -> Result<bool, StoreError> {
        Ok(self.0.lock().worlds.has_joined(id, player))
    }
    fn members(&mut self, id: WorldId, limit: usize) -> Result<Vec<PlayerId>, StoreError> {
        Ok(self.0.lock().worlds.members(id, limit))
    }
    fn hunt_lobby(
        &mut self,
        before: Option<HuntCursor>,
        limit: usize,
        now: UnixMs,
    ) -> Result<Vec<WorldEntry>, StoreError> {
        Ok(self.0.lock().hunt_lobby(before, limit, now))
    }
    fn unfinished_hunts(
        &mut self,
        after: Option<HuntCursor>,
        limit: usize,
        now: UnixMs,
    ) -> Result<Vec<WorldRow>, StoreError> {
        Ok(self.0.lock().hunts_unfinished(after, limit, now))
    }
    fn hunt_of_ticket(&mut self, ticket: TicketId, player: PlayerId) -> Result<Option<WorldRow>, StoreError> {
        Ok(self.0.lock().worlds.hunt_of_ticket(ticket, player))
    }
    fn hunt_of_player(&mut self, player: PlayerId, now: UnixMs) -> Result<Option<WorldRow>, StoreError> {
        Ok(self.0.lock().worlds.hunt_of_player(player, now))
    }
    fn hunt_leaderboard(&mut self, before: Option<HunterCursor>, limit: usize) -> Result<Vec<HunterRow>, StoreError> {
        Ok(self.0.lock().worlds.leaderboard(before, limit))
    }
    fn hunter(&mut self, player: PlayerId) -> Result<Option<HunterRow>, StoreError> {
        Ok(self.0.lock().worlds.hunter(player))
    }
    fn hunt_rounds(&mut self, id: WorldId, before: Option<u32>, limit: usize) -> Result<Vec<RoundRow>, StoreError> {
        Ok(self.0.lock().worlds.rounds(id, before, limit))
    }
    fn matchmaking_queue_owner(&mut self, now: UnixMs) -> Result<Option<WorldOwner>, StoreError> {
        Ok(self.0.lock().queue_owner(now))
    }
    fn hunt_totals(&mut self) -> Result<HuntTotals, StoreError> {
        Ok(self.0.lock().worlds.totals())
    }
    fn database_time(&mut self) -> Result<Option<UnixMs>, StoreError> {
        Ok(None)
    }
    fn probe(&mut self) -> Result<(), StoreError> {
        Ok(())
    }
}
