//! Accounts, tokens, bots and secrets. Where nodes share the database an account's row is locked before, so what is checked
//! here stays true until the commit.

use super::{Batch, Dialect, RowStatement, Session, values};
use crate::checksums::{StoredKey, StoredKind};
use crate::columns::{self, Columns};
use crate::contract::{AccountFilter, StoreError};
use engine::commands::Outcome;
use engine::ids::{AccountId, BotId, TokenId};
use engine::limits::{BOTS_PER_ACCOUNT_MAX, TOKENS_PER_ACCOUNT_MAX};
use engine::rows::{Account, AccountCounts, Bot, CountedAccount, Token};
use engine::time::UnixMs;

static RECORD_USES: RowStatement = RowStatement::new(
    "id uuid, used_at bigint",
    "UPDATE tokens SET last_used_at = new.used_at FROM {new}
     WHERE tokens.id = new.id AND (last_used_at IS NULL OR last_used_at < new.used_at)",
);

/// After every character of a name.
const NAME_END: char = char::MAX;
/// Before every character of a name: what is behind a name begins with the name and this one, or later.
const NAME_NEXT: char = '\u{1}';

/// Accounts that are not deleted whose names are from ?1 to before ?2, at most ?3, with how much they have.
pub(crate) fn by_name<S: Dialect>() -> String {
    let name = format!("name {}", S::BY_BYTES);
    format!(
        "SELECT {}, bots, (SELECT count(*) FROM tokens WHERE tokens.account = accounts.id) FROM accounts
         WHERE {name} >= ?1 AND {name} < ?2 AND deleted_at IS NULL ORDER BY {name} LIMIT ?3",
        columns::ACCOUNT
    )
}

/// In a snapshot.
pub(super) fn page<S: Dialect>(session: &mut S, filter: &AccountFilter) -> Result<Vec<CountedAccount>, StoreError> {
    let AccountFilter { name_prefix, after, limit } = filter;
    let mut from = name_prefix.clone();
    if let Some(after) = after {
        let named = session.first("SELECT name FROM accounts WHERE id = ?1", values![*after], |row| row.text())?;
        let Some(name) = named else { return Ok(Vec::new()) };
        from = from.max(format!("{name}{NAME_NEXT}"));
    }
    let end = format!("{name_prefix}{NAME_END}");
    session.page(
        &by_name::<S>(),
        *limit,
        |limit| *values![&from, &end, limit],
        |row, _| {
            let account = columns::account(row)?;
            Ok(CountedAccount { account, counts: AccountCounts { bots: row.number()?, tokens: row.number()? } })
        },
    )
}

pub(super) fn secret(session: &mut impl Session, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
    session.first("SELECT data, checksum FROM secrets WHERE name = ?1", values![name], |row| {
        row.verified(secret_key(name))
    })
}

fn secret_key(name: &str) -> StoredKey<'_> {
    StoredKey::new(StoredKind::Secret, [0; 16]).name(name)
}

impl<S: Dialect> Batch<'_, S> {
    pub(crate) fn ensure_account(&mut self, account: &Account) -> Result<Outcome, StoreError> {
        if self.is_name_held(&account.name, account.created_at)? {
            return Ok(Outcome::Duplicate);
        }
        self.session.run(
            "INSERT INTO accounts (id, name, created_at) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
            values![account.id, &account.name, account.created_at],
        )?;
        let named = "SELECT id FROM accounts WHERE name = ?1";
        let id = self.session.first(named, values![&account.name], |row| row.id())?;
        Ok(id.map_or(Outcome::Duplicate, |id| Outcome::Account(AccountId(id))))
    }

    /// That can be used: one that was deleted cannot.
    pub(crate) fn has_account(&mut self, id: AccountId) -> Result<bool, StoreError> {
        self.session.exists("SELECT 1 FROM accounts WHERE id = ?1 AND deleted_at IS NULL", values![id])
    }

    pub(crate) fn create_token(&mut self, token: &Token) -> Result<Outcome, StoreError> {
        if !self.has_account(token.account)? {
            return Ok(Outcome::NotFound);
        }
        let known = "SELECT 1 FROM tokens WHERE id = ?1 OR digest = ?2";
        if self.session.exists(known, values![token.id, &token.digest])? {
            return Ok(Outcome::Duplicate);
        }
        if self.token_count(token.account)? >= TOKENS_PER_ACCOUNT_MAX {
            return Ok(Outcome::LimitReached);
        }
        self.session.run(
            "INSERT INTO tokens (id, account, name, role, purpose, digest, created_at, expires_at, is_session)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            values![
                token.id,
                token.account,
                &token.name,
                token.role.name(),
                token.purpose.name(),
                &token.digest,
                token.created_at,
                token.expires_at,
                token.is_session,
            ],
        )?;
        Ok(Outcome::Done)
    }

    /// Tokens of an account, sessions included.
    pub(super) fn token_count(&mut self, account: AccountId) -> Result<usize, StoreError> {
        let sql = "SELECT count(*) FROM tokens WHERE account = ?1";
        Ok(self.session.first(sql, values![account], |row| row.number())?.unwrap_or_default())
    }

    pub(crate) fn delete_token(
        &mut self,
        id: TokenId,
        account: Option<AccountId>,
        now: UnixMs,
    ) -> Result<Outcome, StoreError> {
        let owner = "SELECT account FROM tokens WHERE id = ?1 AND account = coalesce(?2, account)";
        let Some(owner) = self.session.first(owner, values![id, account], |row| row.id().map(AccountId))? else {
            return Ok(Outcome::NotFound);
        };
        if self.is_last_token(id, owner, now)? {
            return Ok(Outcome::LastAdmin);
        }
        self.session.run("DELETE FROM tokens WHERE id = ?1", values![id])?;
        self.session.run("DELETE FROM one_time_codes WHERE account = ?1", values![owner])?;
        Ok(Outcome::Done)
    }

    pub(crate) fn record_token_uses(&mut self, uses: &[(TokenId, UnixMs)]) -> Result<Outcome, StoreError> {
        self.session.run_rows(&RECORD_USES, uses.iter().map(|(id, used_at)| *values![*id, *used_at]))?;
        Ok(Outcome::Done)
    }

    pub(crate) fn create_bot(&mut self, bot: &Bot) -> Result<Outcome, StoreError> {
        let added = self.session.run(
            "INSERT INTO bots (id, account, name, url, is_public, created_at, updated_at)
             SELECT ?1, id, ?3, ?4, ?5, ?6, ?7 FROM accounts
             WHERE id = ?2 AND deleted_at IS NULL AND bots < ?8 ON CONFLICT DO NOTHING",
            values![
                bot.id,
                bot.account,
                &bot.name,
                &bot.url,
                bot.is_public,
                bot.created_at,
                bot.updated_at,
                BOTS_PER_ACCOUNT_MAX,
            ],
        )?;
        if added == 1 {
            self.session.run("UPDATE accounts SET bots = bots + 1 WHERE id = ?1", values![bot.account])?;
            return Ok(Outcome::Done);
        }
        let known = "SELECT EXISTS (SELECT 1 FROM bots WHERE id = ?2 OR (account = ?1 AND name = ?3))
                     FROM accounts WHERE id = ?1 AND deleted_at IS NULL";
        let is_known = self.session.first(known, values![bot.account, bot.id, &bot.name], |row| row.flag())?;
        Ok(match is_known {
            None => Outcome::NotFound,
            Some(true) => Outcome::Duplicate,
            Some(false) => Outcome::LimitReached,
        })
    }

    pub(crate) fn update_bot(&mut self, bot: &Bot) -> Result<Outcome, StoreError> {
        let theirs = "SELECT 1 FROM bots WHERE id = ?1 AND account = ?2";
        if !self.session.exists(theirs, values![bot.id, bot.account])? {
            return Ok(Outcome::NotFound);
        }
        let rival = "SELECT 1 FROM bots WHERE account = ?1 AND name = ?2 AND id <> ?3";
        if self.session.exists(rival, values![bot.account, &bot.name, bot.id])? {
            return Ok(Outcome::Duplicate);
        }
        self.probe_soon_if_moved(bot.id, &bot.url, bot.updated_at)?;
        self.session.run(
            "UPDATE bots SET name = ?2, url = ?3, is_public = ?4, updated_at = ?5 WHERE id = ?1",
            values![bot.id, &bot.name, &bot.url, bot.is_public, bot.updated_at],
        )?;
        if !bot.is_public {
            self.leave_all_ladders(bot.id)?;
        }
        Ok(Outcome::Done)
    }

    pub(crate) fn delete_bot(&mut self, id: BotId, account: AccountId) -> Result<Outcome, StoreError> {
        self.keep_bot_name(id, account)?;
        let sql = "DELETE FROM bots WHERE id = ?1 AND account = ?2";
        if self.session.run(sql, values![id, account])? == 0 {
            return Ok(Outcome::NotFound);
        }
        self.leave_all_ladders(id)?;
        self.session.run("UPDATE accounts SET bots = bots - 1 WHERE id = ?1", values![account])?;
        self.delete_kept_of_bot(id)?;
        Ok(Outcome::Done)
    }

    /// A node that comes second waits for the first one's commit, and finds what that one kept.
    pub(crate) fn ensure_secret(&mut self, name: &str, bytes: &[u8]) -> Result<Outcome, StoreError> {
        let keep = "INSERT INTO secrets (name, data, checksum) VALUES (?1, ?2, ?3) ON CONFLICT (name) DO NOTHING";
        self.session.run(keep, values![name, bytes, secret_key(name).checksum(bytes)])?;
        Ok(Outcome::Secret(secret(self.session, name)?.unwrap_or_default()))
    }
}
