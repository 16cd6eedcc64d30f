//! The writer: one transaction a batch, retried after a conflict with another node.

use super::Batch;
use super::appends::{KEPT, LOCK};
use super::batch_plan::{self, CommandRun, RunKind};
use super::session::Session;
use super::tables;
use crate::checksums::Damage;
use crate::columns::Columns;
use crate::contract::{Backend, StoreError};
use crate::sql::reader::SqlReader;
use crate::sql::{IdBytes, RowStatement, Session as _, Value, values};
use engine::commands::{
    AccountCommand, BanCommand, CodeCommand, Command, CompetitionCommand, LadderCommand, Outcome, WorldCommand,
};
use engine::ids::{AccountId, CompetitionId, MatchId, TableId, TokenId, WorldId};
use engine::leadership::LeaderJob;
use engine::rows::{BanTarget, CodeUse};
use engine::time::UnixMs;
use std::collections::BTreeSet;

/// The class of these advisory locks is "Keys", 0x4b657973.
static LOCK_KEYS: RowStatement = RowStatement::new(
    "player uuid, key text",
    "SELECT pg_advisory_xact_lock(1264941427, hash)::text FROM (
       SELECT DISTINCT hashtext(new.player::text || new.key) AS hash FROM {new} ORDER BY hash) AS hashes",
);
/// Invitations of all accounts are counted, and have no row in common: "Invi", 0x496e7669.
const LOCK_INVITES: &str = "SELECT pg_advisory_xact_lock(1231976041, 0)::text";
/// Whether an account or a token is the last of an admin depends on all others: "Admi", 0x41646d69.
const LOCK_ADMINS: &str = "SELECT pg_advisory_xact_lock(1097100649, 0)::text";
const REDEEMED_ACCOUNT: &str = "SELECT account FROM one_time_codes WHERE digest = ?1";
const LOCK_CODE: &str = "SELECT 1 FROM one_time_codes WHERE digest = ?1 FOR UPDATE";
/// How often a batch is retried before its callers get an error. Locks are taken in one order, so even once is rare.
const CONFLICTS_MAX: u32 = 10;

pub(super) struct PostgresWriter {
    pub(super) session: Session,
}

impl PostgresWriter {
    pub(super) fn new(session: Session) -> Self {
        Self { session }
    }

    fn try_once(&mut self, commands: &[Command]) -> Result<Vec<Outcome>, StoreError> {
        self.session.begin(if begins_with_appends(commands) { &KEPT } else { &[] })?;
        let mut batch = Batch::new(&mut self.session);
        batch.lock(commands)?;
        let outcomes = batch.apply_all(commands)?;
        batch.write_awards()?;
        batch.write_results()?;
        batch.write_counters()?;
        self.session.script("COMMIT")?;
        Ok(outcomes)
    }
}

impl Backend for PostgresWriter {
    fn commit(&mut self, commands: &[Command]) -> Result<Vec<Outcome>, StoreError> {
        let mut conflicts = 0;
        loop {
            match self.try_once(commands) {
                Ok(outcomes) => return Ok(outcomes),
                Err(_) if self.session.is_conflict && conflicts < CONFLICTS_MAX => conflicts += 1,
                Err(error) => {
                    // On a lost connection this fails too, and the database rolls back by itself.
                    let _ = self.session.script("ROLLBACK");
                    return Err(error);
                }
            }
            self.session.script("ROLLBACK")?;
        }
    }

    fn take_damages(&mut self) -> Vec<Damage> {
        std::mem::take(&mut self.session.damages)
    }

    fn probe(&mut self) -> Result<(), StoreError> {
        SqlReader::probe(&mut self.session)
    }
}

impl Batch<'_> {
    /// Takes the locks that commands need on what they name, in one order for all nodes. What a claim or a retirement takes, it
    /// takes without waiting.
    fn lock(&mut self, commands: &[Command]) -> Result<(), StoreError> {
        let is_creation = |command: &&Command| matches!(command, Command::CreateMatches(_));
        let matches: BTreeSet<MatchId> =
            commands.iter().filter(|command| !is_creation(command)).flat_map(batch_plan::touched).collect();
        let matches: Vec<Value<'_>> = matches.into_iter().map(Value::from).collect();
        if commands.iter().any(is_about_limits) {
            self.session.run("SELECT 1 FROM limit_figures WHERE id = 1 FOR NO KEY UPDATE", &[])?;
        }
        if commands.iter().any(|command| matches!(command, Command::Ban(_)) || deletes_account(command)) {
            self.session.run("SELECT 1 FROM ban_figures WHERE id = 1 FOR NO KEY UPDATE", &[])?;
        } else if commands.iter().any(takes_name) {
            // A name becomes free, and is held by a ban, in one commit.
            self.session.run("SELECT 1 FROM ban_figures WHERE id = 1 FOR SHARE", &[])?;
        }
        if commands.iter().any(creates_invite) {
            self.session.run(LOCK_INVITES, &[])?;
        }
        if commands.iter().any(removes_admin) {
            self.session.run(LOCK_ADMINS, &[])?;
        }
        self.lock_keys(commands)?;
        self.lock_accounts(commands)?;
        if !matches.is_empty() {
            self.session.execute(LOCK, [&matches])?;
        }
        self.lock_rows("story_tables", commands.iter().filter_map(table_of).map(TableId::to_bytes))?;
        self.lock_rows("tokens", commands.iter().flat_map(used_tokens).map(|(id, _)| id.to_bytes()))?;
        self.lock_rows("worlds", commands.iter().filter_map(world_of).map(WorldId::to_bytes))?;
        let is_count = |command: &Command| matches!(command, Command::World(WorldCommand::Aggregate(_)));
        if commands.iter().any(is_count) {
            self.session.run("SELECT 1 FROM hunt_totals WHERE id = 1 FOR NO KEY UPDATE", &[])?;
        }
        for job in commands.iter().filter_map(job_of).collect::<BTreeSet<LeaderJob>>() {
            self.session.run("SELECT 1 FROM leaders WHERE job = ?1 FOR NO KEY UPDATE", values![job.name()])?;
        }
        self.lock_competitions(commands)
    }

    /// With those on whose ladders bots are that change: no season ends meanwhile.
    fn lock_competitions(&mut self, commands: &[Command]) -> Result<(), StoreError> {
        let changed = |command: &Command| match command {
            Command::UpdateBot(bot) => Some(bot.id.to_bytes()),
            Command::DeleteBot { id, .. } => Some(id.to_bytes()),
            _ => None,
        };
        let bots: Vec<IdBytes> = commands.iter().filter_map(changed).collect();
        let ladders = "SELECT ladder FROM ladder_entries WHERE is_active AND bot";
        let ladders = self.session.all_each(ladders, "", &bots, |row| row.id_bytes())?;
        let named = commands.iter().filter_map(competition_of).map(CompetitionId::to_bytes);
        self.lock_rows("competitions", named.chain(ladders))
    }

    fn lock_rows(&mut self, table: &str, ids: impl Iterator<Item = IdBytes>) -> Result<(), StoreError> {
        let ids = Vec::from_iter(BTreeSet::from_iter(ids));
        let rows = format!("SELECT 1 FROM {table} WHERE id");
        self.session.all_each(&rows, "ORDER BY id FOR NO KEY UPDATE", &ids, |_| Ok(()))?;
        Ok(())
    }

    /// A key that is not in use yet has no row to lock: two nodes with the same request at once take turns by its hash.
    fn lock_keys(&mut self, commands: &[Command]) -> Result<(), StoreError> {
        let keys = commands.iter().filter_map(|command| match command {
            Command::OpenTable(open) => open.idempotency.as_ref(),
            _ => None,
        });
        let keys = keys.map(|(player, idempotency)| *values![*player, &idempotency.key]);
        self.session.run_rows(&LOCK_KEYS, keys)?;
        Ok(())
    }

    fn lock_accounts(&mut self, commands: &[Command]) -> Result<(), StoreError> {
        let requeued = |command: &Command| match command {
            Command::RequeueMatch { id, .. } => Some(id.to_bytes()),
            _ => None,
        };
        let requeued: Vec<IdBytes> = commands.iter().filter_map(requeued).collect();
        let owners = "SELECT account FROM matches WHERE id";
        let owners = self.session.all_each(owners, "", &requeued, |row| row.id_bytes())?;
        let deleted = |command: &Command| match command {
            Command::DeleteToken { id, .. } => Some(id.to_bytes()),
            _ => None,
        };
        let deleted: Vec<IdBytes> = commands.iter().filter_map(deleted).collect();
        let holders =
            self.session.all_each("SELECT account FROM tokens WHERE id", "", &deleted, |row| row.id_bytes())?;
        let redeemed = |command: &Command| match command {
            Command::Code(CodeCommand::Redeem(redeem)) => Some(redeem.digest),
            _ => None,
        };
        let redeemed: BTreeSet<[u8; 32]> = commands.iter().filter_map(redeemed).collect();
        let mut signed_in = Vec::new();
        for digest in &redeemed {
            let account = self.session.first(REDEEMED_ACCOUNT, values![digest], |row| row.maybe_id())?;
            signed_in.extend(account.flatten().map(u128::to_be_bytes));
        }
        let named = commands.iter().filter_map(account_of).map(AccountId::to_bytes);
        self.lock_rows("accounts", named.chain(owners).chain(holders).chain(signed_in))?;
        // Behind their accounts, as whatever deletes all codes of an account has it.
        for digest in &redeemed {
            self.session.run(LOCK_CODE, values![digest])?;
        }
        Ok(())
    }

    fn apply_all(&mut self, commands: &[Command]) -> Result<Vec<Outcome>, StoreError> {
        let mut outcomes = vec![Outcome::Done; commands.len()];
        for CommandRun { kind, places } in batch_plan::plan(commands) {
            let of_run = places.iter().map(|at| &commands[*at]);
            let done = match kind {
                RunKind::One => of_run.map(|command| self.apply(command)).collect::<Result<_, _>>()?,
                RunKind::Appends => self.append_all(&of_run.filter_map(as_append).collect::<Vec<_>>())?,
                RunKind::Tables => self.write_tables(&of_run.collect::<Vec<_>>())?,
                RunKind::Creations => self.create_all(&of_run.filter_map(as_creation).collect::<Vec<_>>())?,
            };
            for (at, outcome) in places.iter().zip(done) {
                outcomes[*at] = outcome;
            }
        }
        Ok(outcomes)
    }

    /// What is not part of a run.
    fn apply(&mut self, command: &Command) -> Result<Outcome, StoreError> {
        match command {
            Command::EndAllLeases => Ok(Outcome::SharedDatabase),
            other => self.apply_common(other),
        }
    }
}

/// Whether a batch appends, and locks nothing but matches: what it sends first are the statements of appends.
fn begins_with_appends(commands: &[Command]) -> bool {
    let locks_more = |command: &Command| {
        !matches!(
            command,
            Command::AppendMatch(_)
                | Command::FinishMatch { .. }
                | Command::FailMatch { .. }
                | Command::ReleaseMatch { .. }
                | Command::RenewLease { .. }
                | Command::ClaimMatches { .. }
        )
    };
    commands.iter().any(|command| as_append(command).is_some()) && !commands.iter().any(locks_more)
}

/// The tokens whose uses a command records: several nodes may record the same ones.
fn used_tokens(command: &Command) -> &[(TokenId, UnixMs)] {
    match command {
        Command::RecordTokenUses(uses) => uses,
        _ => &[],
    }
}

/// The table whose row a command decides by.
fn table_of(command: &Command) -> Option<TableId> {
    match command {
        Command::ClaimTable { id, .. } => Some(*id),
        other => tables::written_table(other),
    }
}

/// The world whose row a command decides by.
fn world_of(command: &Command) -> Option<WorldId> {
    let Command::World(command) = command else { return None };
    match command {
        WorldCommand::Claim { id, .. }
        | WorldCommand::Snapshot { id, .. }
        | WorldCommand::Release { id, .. }
        | WorldCommand::Join { id, .. }
        | WorldCommand::Leave { id, .. }
        | WorldCommand::End { id, .. } => Some(*id),
        WorldCommand::Append(append) => Some(append.id),
        WorldCommand::Aggregate(aggregate) => Some(aggregate.id),
        WorldCommand::Ensure { .. }
        | WorldCommand::CreateMatchedHunt { .. }
        | WorldCommand::EndUnjoined { .. }
        | WorldCommand::Retire { .. } => None,
    }
}

/// The job whose leader a command decides by.
fn job_of(command: &Command) -> Option<LeaderJob> {
    match command {
        Command::AcquireLeadership { job, .. } => Some(*job),
        Command::World(WorldCommand::CreateMatchedHunt { .. }) => Some(LeaderJob::MatchmakingQueue),
        _ => None,
    }
}

/// The competition whose row a command decides by.
fn competition_of(command: &Command) -> Option<CompetitionId> {
    match command {
        Command::Competition(CompetitionCommand::Advance(advance)) => Some(advance.id),
        Command::Competition(CompetitionCommand::AddMatches(add)) => Some(add.id),
        Command::Ladder(command) => Some(ladder_of(command)),
        _ => None,
    }
}

fn ladder_of(command: &LadderCommand) -> CompetitionId {
    match command {
        LadderCommand::Enter { ladder, .. }
        | LadderCommand::Leave { ladder, .. }
        | LadderCommand::Invite { ladder, .. }
        | LadderCommand::Uninvite { ladder, .. } => *ladder,
        LadderCommand::Rate(rate) => rate.advance.id,
        LadderCommand::EndSeason(advance) => advance.id,
        LadderCommand::Repair(repair) => repair.ladder,
    }
}

/// The account whose row a command decides by.
fn account_of(command: &Command) -> Option<AccountId> {
    match command {
        Command::CreateToken(token) => Some(token.account),
        Command::Code(CodeCommand::Create(code)) => match code.used_for {
            CodeUse::SignIn { account } => Some(account),
            CodeUse::Invite { .. } => code.made_by,
        },
        Command::CreateBot(bot) | Command::UpdateBot(bot) => Some(bot.account),
        Command::DeleteBot { account, .. } | Command::Ladder(LadderCommand::Enter { account, .. }) => Some(*account),
        Command::CreateMatches(create) => Some(create.account),
        Command::Account(
            AccountCommand::Delete { id, .. }
            | AccountCommand::Clear { id, .. }
            | AccountCommand::ForgetNames { id, .. },
        ) => Some(*id),
        Command::Competition(CompetitionCommand::Create { row, .. }) => Some(row.account),
        Command::Competition(CompetitionCommand::Advance(advance)) => Some(advance.account),
        Command::Competition(CompetitionCommand::AddMatches(add)) => Some(add.account),
        _ => None,
    }
}

fn deletes_account(command: &Command) -> bool {
    matches!(command, Command::Account(AccountCommand::Delete { .. }))
}

/// Whether a command gives an account a name.
fn takes_name(command: &Command) -> bool {
    match command {
        Command::EnsureAccount(_) => true,
        Command::Code(CodeCommand::Redeem(redeem)) => redeem.new_account.is_some(),
        _ => false,
    }
}

/// Whether an admin may lose its power by a command.
fn removes_admin(command: &Command) -> bool {
    match command {
        Command::Ban(BanCommand::Create(ban)) => matches!(ban.target, BanTarget::Account(_) | BanTarget::Disabled(_)),
        Command::DeleteToken { .. } => true,
        other => deletes_account(other),
    }
}

fn creates_invite(command: &Command) -> bool {
    matches!(command, Command::Code(CodeCommand::Create(code)) if matches!(code.used_for, CodeUse::Invite { .. }))
}

/// Whether a command depends on the counters of the limiter's rules.
fn is_about_limits(command: &Command) -> bool {
    matches!(
        command,
        Command::PutLimitPolicy(_)
            | Command::DeleteLimitPolicy { .. }
            | Command::PutLimitOverride(_)
            | Command::DeleteLimitOverride { .. }
    )
}

fn as_append(command: &Command) -> Option<&engine::commands::MatchAppend> {
    if let Command::AppendMatch(append) = command { Some(append) } else { None }
}

fn as_creation(command: &Command) -> Option<&engine::commands::CreateMatches> {
    if let Command::CreateMatches(create) = command { Some(create) } else { None }
}
