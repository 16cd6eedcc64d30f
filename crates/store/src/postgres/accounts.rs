//! Accounts, tokens, bots and secrets. The account's row is locked before, so what is checked here stays true until the commit.

use super::batch::Batch;
use super::session::PgId;
use super::statement_error::StatementError;
use crate::columns::Columns;
use engine::commands::Outcome;
use engine::ids::{AccountId, BotId, TokenId};
use engine::limits::{BOTS_PER_ACCOUNT_MAX, TOKENS_PER_ACCOUNT_MAX};
use engine::rows::{Account, Bot, Token};

impl Batch<'_> {
    pub(super) fn ensure_account(&mut self, account: &Account) -> Result<Outcome, StatementError> {
        self.session.run(
            "INSERT INTO accounts (id, name, created_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
            &[&PgId(account.id.0), &account.name, &account.created_at.0],
        )?;
        let named = "SELECT id FROM accounts WHERE name = $1";
        let id = self.session.first(named, &[&account.name], |row| row.id())?;
        Ok(id.map_or(Outcome::Duplicate, |id| Outcome::Account(AccountId(id))))
    }

    fn has_account(&mut self, id: AccountId) -> Result<bool, StatementError> {
        self.session.exists("SELECT 1 FROM accounts WHERE id = $1", &[&PgId(id.0)])
    }

    pub(super) fn create_token(&mut self, token: &Token) -> Result<Outcome, StatementError> {
        if !self.has_account(token.account)? {
            return Ok(Outcome::NotFound);
        }
        let digest = token.digest.as_slice();
        let known = "SELECT 1 FROM tokens WHERE id = $1 OR digest = $2";
        if self.session.exists(known, &[&PgId(token.id.0), &digest])? {
            return Ok(Outcome::Duplicate);
        }
        let live = "SELECT count(*) FROM tokens WHERE account = $1";
        let live = self.session.first(live, &[&PgId(token.account.0)], |row| row.number::<usize>())?;
        if live.unwrap_or_default() >= TOKENS_PER_ACCOUNT_MAX {
            return Ok(Outcome::LimitReached);
        }
        self.session.run(
            "INSERT INTO tokens (id, account, name, role, purpose, digest, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7)",
            &[
                &PgId(token.id.0),
                &PgId(token.account.0),
                &token.name,
                &token.role.name(),
                &token.purpose.name(),
                &digest,
                &token.created_at.0,
            ],
        )?;
        Ok(Outcome::Done)
    }

    pub(super) fn delete_token(&mut self, id: TokenId, account: Option<AccountId>) -> Result<Outcome, StatementError> {
        let account = account.map(|account| PgId(account.0));
        let sql = "DELETE FROM tokens WHERE id = $1 AND account = coalesce($2, account)";
        let forgotten = self.session.run(sql, &[&PgId(id.0), &account])?;
        Ok(if forgotten > 0 { Outcome::Done } else { Outcome::NotFound })
    }

    pub(super) fn create_bot(&mut self, bot: &Bot) -> Result<Outcome, StatementError> {
        let known = "SELECT bots, EXISTS (SELECT 1 FROM bots WHERE id = $2 OR (account = $1 AND name = $3))
                     FROM accounts WHERE id = $1";
        let known = self.session.first(known, &[&PgId(bot.account.0), &PgId(bot.id.0), &bot.name], |row| {
            Ok((row.number::<usize>()?, row.flag()?))
        })?;
        match known {
            None => return Ok(Outcome::NotFound),
            Some((_, true)) => return Ok(Outcome::Duplicate),
            Some((BOTS_PER_ACCOUNT_MAX.., false)) => return Ok(Outcome::LimitReached),
            Some((_, false)) => {}
        }
        self.session.run(
            "WITH counted AS (UPDATE accounts SET bots = bots + 1 WHERE id = $2)
             INSERT INTO bots (id, account, name, url, is_public, created_at, updated_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7)",
            &[
                &PgId(bot.id.0),
                &PgId(bot.account.0),
                &bot.name,
                &bot.url,
                &bot.is_public,
                &bot.created_at.0,
                &bot.updated_at.0,
            ],
        )?;
        Ok(Outcome::Done)
    }

    pub(super) fn update_bot(&mut self, bot: &Bot) -> Result<Outcome, StatementError> {
        let theirs = "SELECT 1 FROM bots WHERE id = $1 AND account = $2";
        if !self.session.exists(theirs, &[&PgId(bot.id.0), &PgId(bot.account.0)])? {
            return Ok(Outcome::NotFound);
        }
        let rival = "SELECT 1 FROM bots WHERE account = $1 AND name = $2 AND id <> $3";
        if self.session.exists(rival, &[&PgId(bot.account.0), &bot.name, &PgId(bot.id.0)])? {
            return Ok(Outcome::Duplicate);
        }
        self.session.run(
            "UPDATE bots SET name = $2, url = $3, is_public = $4, updated_at = $5 WHERE id = $1",
            &[&PgId(bot.id.0), &bot.name, &bot.url, &bot.is_public, &bot.updated_at.0],
        )?;
        Ok(Outcome::Done)
    }

    pub(super) fn delete_bot(&mut self, id: BotId, account: AccountId) -> Result<Outcome, StatementError> {
        let sql = "DELETE FROM bots WHERE id = $1 AND account = $2";
        if self.session.run(sql, &[&PgId(id.0), &PgId(account.0)])? == 0 {
            return Ok(Outcome::NotFound);
        }
        self.session.run("UPDATE accounts SET bots = bots - 1 WHERE id = $1", &[&PgId(account.0)])?;
        Ok(Outcome::Done)
    }

    /// Who comes second waits for the first one's commit, and finds what that one kept.
    pub(super) fn ensure_secret(&mut self, name: &str, bytes: &[u8]) -> Result<Outcome, StatementError> {
        let keep = "INSERT INTO secrets (name, data) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING";
        self.session.run(keep, &[&name, &bytes])?;
        let kept = super::stories::secret(self.session, name)?;
        Ok(Outcome::Secret(kept.unwrap_or_default()))
    }
}
