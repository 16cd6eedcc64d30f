//! Accounts, tokens, bots and secrets.

use super::batch::Batch;
use crate::columns::Columns;
use crate::contract::StoreError;
use engine::commands::Outcome;
use engine::ids::{AccountId, BotId, TokenId};
use engine::limits::{BOTS_PER_ACCOUNT_MAX, TOKENS_PER_ACCOUNT_MAX};
use engine::rows::{Account, Bot, Token};

impl Batch<'_> {
    pub(super) fn ensure_account(&mut self, account: &Account) -> Result<Outcome, StoreError> {
        let named = "SELECT id FROM accounts WHERE name = ?1";
        if let Some(id) = self.session.first(named, [&account.name], |row| row.id())? {
            return Ok(Outcome::Account(AccountId(id)));
        }
        let added = self.session.run(
            "INSERT INTO accounts (id, name, created_at) VALUES (?1, ?2, ?3) ON CONFLICT (id) DO NOTHING",
            (account.id.to_bytes(), &account.name, account.created_at.0),
        )?;
        Ok(if added == 1 { Outcome::Account(account.id) } else { Outcome::Duplicate })
    }

    pub(super) fn has_account(&self, id: AccountId) -> Result<bool, StoreError> {
        self.session.exists("SELECT 1 FROM accounts WHERE id = ?1", [id.to_bytes()])
    }

    pub(super) fn create_token(&mut self, token: &Token) -> Result<Outcome, StoreError> {
        if !self.has_account(token.account)? {
            return Ok(Outcome::NotFound);
        }
        let known = "SELECT 1 FROM tokens WHERE id = ?1 OR digest = ?2";
        if self.session.exists(known, (token.id.to_bytes(), token.digest))? {
            return Ok(Outcome::Duplicate);
        }
        let live = "SELECT count(*) FROM tokens WHERE account = ?1";
        let live = self.session.first(live, [token.account.to_bytes()], |row| row.number::<usize>())?;
        if live.unwrap_or_default() >= TOKENS_PER_ACCOUNT_MAX {
            return Ok(Outcome::LimitReached);
        }
        self.session.run(
            "INSERT INTO tokens (id, account, name, role, purpose, digest, created_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            (
                token.id.to_bytes(),
                token.account.to_bytes(),
                &token.name,
                token.role.name(),
                token.purpose.name(),
                token.digest,
                token.created_at.0,
            ),
        )?;
        Ok(Outcome::Done)
    }

    pub(super) fn delete_token(&mut self, id: TokenId, account: Option<AccountId>) -> Result<Outcome, StoreError> {
        let forgotten = self.session.run(
            "DELETE FROM tokens WHERE id = ?1 AND account = coalesce(?2, account)",
            (id.to_bytes(), account.map(AccountId::to_bytes)),
        )?;
        Ok(done_or_missing(forgotten))
    }

    pub(super) fn create_bot(&mut self, bot: &Bot) -> Result<Outcome, StoreError> {
        if !self.has_account(bot.account)? {
            return Ok(Outcome::NotFound);
        }
        let known = self.session.exists("SELECT 1 FROM bots WHERE id = ?1", [bot.id.to_bytes()])?;
        if known || self.is_bot_name_taken(bot)? {
            return Ok(Outcome::Duplicate);
        }
        let counted = "UPDATE accounts SET bots = bots + 1 WHERE id = ?1 AND bots < ?2";
        if self.session.run(counted, (bot.account.to_bytes(), BOTS_PER_ACCOUNT_MAX as i64))? == 0 {
            return Ok(Outcome::LimitReached);
        }
        self.session.run(
            "INSERT INTO bots (id, account, name, url, is_public, created_at, updated_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            (
                bot.id.to_bytes(),
                bot.account.to_bytes(),
                &bot.name,
                &bot.url,
                bot.is_public,
                bot.created_at.0,
                bot.updated_at.0,
            ),
        )?;
        Ok(Outcome::Done)
    }

    pub(super) fn update_bot(&mut self, bot: &Bot) -> Result<Outcome, StoreError> {
        let theirs = "SELECT 1 FROM bots WHERE id = ?1 AND account = ?2";
        if !self.session.exists(theirs, (bot.id.to_bytes(), bot.account.to_bytes()))? {
            return Ok(Outcome::NotFound);
        }
        if self.is_bot_name_taken(bot)? {
            return Ok(Outcome::Duplicate);
        }
        self.session.run(
            "UPDATE bots SET name = ?2, url = ?3, is_public = ?4, updated_at = ?5 WHERE id = ?1",
            (bot.id.to_bytes(), &bot.name, &bot.url, bot.is_public, bot.updated_at.0),
        )?;
        Ok(Outcome::Done)
    }

    pub(super) fn delete_bot(&mut self, id: BotId, account: AccountId) -> Result<Outcome, StoreError> {
        let forgotten =
            self.session.run("DELETE FROM bots WHERE id = ?1 AND account = ?2", (id.to_bytes(), account.to_bytes()))?;
        if forgotten > 0 {
            self.session.run("UPDATE accounts SET bots = bots - 1 WHERE id = ?1", [account.to_bytes()])?;
        }
        Ok(done_or_missing(forgotten))
    }

    pub(super) fn ensure_secret(&self, name: &str, bytes: &[u8]) -> Result<Outcome, StoreError> {
        if let Some(known) = super::stories::secret(self.session, name)? {
            return Ok(Outcome::Secret(known));
        }
        self.session.run("INSERT INTO secrets (name, data) VALUES (?1, ?2)", (name, bytes))?;
        Ok(Outcome::Secret(bytes.to_vec()))
    }

    fn is_bot_name_taken(&self, bot: &Bot) -> Result<bool, StoreError> {
        self.session.exists(
            "SELECT 1 FROM bots WHERE account = ?1 AND name = ?2 AND id <> ?3",
            (bot.account.to_bytes(), &bot.name, bot.id.to_bytes()),
        )
    }
}

pub(super) fn done_or_missing(changed: usize) -> Outcome {
    if changed > 0 { Outcome::Done } else { Outcome::NotFound }
}
