//! One-time codes and the sessions that they open. Where nodes share the database, a code that is redeemed and the account of a sign-in
//! link are locked before, and creations of invitations take turns, so what is checked here stays true until the commit.

use super::{Batch, Dialect, ID_MAX, Session, skip_locked, values};
use crate::checksums::StoredKind;
use crate::columns::{self, CODE, Columns};
use crate::contract::StoreError;
use engine::commands::{CodeCommand, NewSession, Outcome, RedeemCode, SignedIn};
use engine::ids::{AccountId, CodeId, TokenId};
use engine::limits::{INVITES_MAX, SIGN_IN_LINKS_PER_ACCOUNT_MAX, TOKENS_PER_ACCOUNT_MAX};
use engine::rows::{CodeUse, OneTimeCode, Role, SignedCode};
use engine::time::UnixMs;

pub(crate) const INVITES_COUNT: &str = "SELECT count(*) FROM one_time_codes WHERE account IS NULL AND expires_at > ?1";
pub(crate) const LINKS_COUNT: &str = "SELECT count(*) FROM one_time_codes WHERE account = ?1 AND expires_at > ?2";
/// With their roles: one that may do more is not ended by a code that gives less.
pub(crate) const SESSIONS: &str = "SELECT id, role FROM tokens WHERE account = ?1 AND expires_at IS NOT NULL AND (is_session IS NULL OR is_session) ORDER BY id LIMIT ?2";

pub(crate) fn by_digest() -> String {
    format!("SELECT {CODE} FROM one_time_codes WHERE digest = ?1 AND expires_at > ?2")
}

/// Invitations of all accounts.
pub(crate) fn invites_page() -> String {
    format!(
        "SELECT {CODE}, (SELECT a.name FROM accounts a WHERE a.id = one_time_codes.made_by) FROM one_time_codes
         WHERE account IS NULL AND id < ?1 AND expires_at > ?2 ORDER BY id DESC LIMIT ?3"
    )
}

/// What has expired in a table, the first first.
pub(crate) fn expired<S: Dialect>(table: &str) -> String {
    let lock = skip_locked::<S>("FOR UPDATE");
    format!("SELECT id FROM {table} WHERE expires_at <= ?1 ORDER BY expires_at, id LIMIT ?2 {lock}")
}

pub(super) fn code(
    session: &mut impl Session,
    digest: &[u8; 32],
    now: UnixMs,
) -> Result<Option<OneTimeCode>, StoreError> {
    session.first(&by_digest(), values![digest, now], |row| columns::code(row))
}

pub(super) fn invites(
    session: &mut impl Session,
    before: Option<CodeId>,
    limit: usize,
    now: UnixMs,
) -> Result<Vec<SignedCode>, StoreError> {
    let before = before.map_or(ID_MAX, CodeId::to_bytes);
    session.page(
        &invites_page(),
        limit,
        |limit| *values![before, now, limit],
        |row, damages| columns::signed_code(row, damages),
    )
}

impl<S: Dialect> Batch<'_, S> {
    pub(super) fn code_command(&mut self, command: &CodeCommand) -> Result<Outcome, StoreError> {
        match command {
            CodeCommand::Create(code) => self.create_code(code),
            CodeCommand::WithdrawInvite { id, now } => self.withdraw_invite(*id, *now),
            CodeCommand::Redeem(redeem) => self.redeem_code(redeem),
            CodeCommand::EndSession { token } => self.end_session(*token),
            CodeCommand::RetireExpired { now, max } => self.retire_expired(*now, *max),
        }
    }

    fn create_code(&mut self, code: &OneTimeCode) -> Result<Outcome, StoreError> {
        let known = "SELECT 1 FROM one_time_codes WHERE id = ?1 OR digest = ?2";
        if self.session.exists(known, values![code.id, &code.digest])? {
            return Ok(Outcome::Duplicate);
        }
        // Its maker's token may be in the cache of another node still.
        if let Some(maker) = code.made_by
            && self.is_deleted(maker)?
        {
            return Ok(Outcome::NotFound);
        }
        let now = code.created_at;
        let (account, name, live, max) = match &code.used_for {
            CodeUse::Invite { name } => {
                let live = self.session.first(INVITES_COUNT, values![now], |row| row.number::<usize>())?;
                (None, name.as_deref(), live, INVITES_MAX)
            }
            CodeUse::SignIn { account } => {
                if !self.has_account(*account)? {
                    return Ok(Outcome::NotFound);
                }
                let live = self.session.first(LINKS_COUNT, values![*account, now], |row| row.number::<usize>())?;
                (Some(*account), None, live, SIGN_IN_LINKS_PER_ACCOUNT_MAX)
            }
        };
        if live.unwrap_or_default() >= max {
            return Ok(Outcome::LimitReached);
        }
        let sql = format!("INSERT INTO one_time_codes ({CODE}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)");
        let role = code.role.name();
        let row = values![code.id, account, name, role, &code.digest, code.made_by, code.created_at, code.expires_at];
        self.session.run(&sql, row)?;
        Ok(Outcome::Done)
    }

    fn withdraw_invite(&mut self, id: CodeId, now: UnixMs) -> Result<Outcome, StoreError> {
        let sql = "DELETE FROM one_time_codes WHERE id = ?1 AND account IS NULL AND expires_at > ?2";
        let deleted = self.session.run(sql, values![id, now])?;
        Ok(if deleted > 0 { Outcome::Done } else { Outcome::NotFound })
    }

    fn redeem_code(&mut self, redeem: &RedeemCode) -> Result<Outcome, StoreError> {
        let Some(code) = code(self.session, &redeem.digest, redeem.now)? else { return Ok(Outcome::NotFound) };
        let account = match (&code.used_for, &redeem.new_account) {
            (CodeUse::Invite { .. }, Some(new)) => {
                if self.is_name_held(&new.name, redeem.now)? {
                    return Ok(Outcome::Duplicate);
                }
                // Waits for another node that is about to take the name.
                let sql = "INSERT INTO accounts (id, name, created_at) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING";
                if self.session.run(sql, values![new.id, &new.name, new.created_at])? == 0 {
                    return Ok(Outcome::Duplicate);
                }
                new.id
            }
            (CodeUse::SignIn { account }, None) => *account,
            // A code of the other kind.
            _ => return Ok(Outcome::NotFound),
        };
        if !self.make_room_for_session(account, code.role)? {
            return Ok(Outcome::LimitReached);
        }
        self.session.run("DELETE FROM one_time_codes WHERE id = ?1", values![code.id])?;
        let NewSession { token, name, digest, expires_at } = &redeem.session;
        self.session.run(
            "INSERT INTO tokens (id, account, name, role, purpose, digest, created_at, expires_at, is_session)
             VALUES (?1, ?2, ?3, ?4, 'use', ?5, ?6, ?7, ?8)",
            values![*token, account, name, code.role.name(), digest, redeem.now, *expires_at, true],
        )?;
        Ok(Outcome::SignedIn(SignedIn { account, code: code.id }))
    }

    /// Whether the account may have another token, once its oldest session with no more rights has ended if need be.
    fn make_room_for_session(&mut self, account: AccountId, role: Role) -> Result<bool, StoreError> {
        if self.token_count(account)? < TOKENS_PER_ACCOUNT_MAX {
            return Ok(true);
        }
        let sessions = self.session.list(SESSIONS, values![account, TOKENS_PER_ACCOUNT_MAX], |row, _| {
            columns::row_of_id(row, StoredKind::Token, |row, id| {
                Ok((id.to_be_bytes(), row.named("role", Role::from_name)?))
            })
        })?;
        let Some((oldest, _)) = sessions.into_iter().find(|(_, of_session)| *of_session <= role) else {
            return Ok(false);
        };
        self.session.run("DELETE FROM tokens WHERE id = ?1", values![oldest])?;
        Ok(true)
    }

    fn end_session(&mut self, token: TokenId) -> Result<Outcome, StoreError> {
        let sql = "DELETE FROM tokens WHERE id = ?1 AND expires_at IS NOT NULL AND (is_session IS NULL OR is_session)";
        let deleted = self.session.run(sql, values![token])?;
        Ok(if deleted > 0 { Outcome::Done } else { Outcome::NotFound })
    }

    fn retire_expired(&mut self, now: UnixMs, max: usize) -> Result<Outcome, StoreError> {
        let codes = format!("DELETE FROM one_time_codes WHERE id IN ({})", expired::<S>("one_time_codes"));
        let codes = self.session.run(&codes, values![now, max])?;
        let sessions = format!("DELETE FROM tokens WHERE id IN ({})", expired::<S>("tokens"));
        let sessions = self.session.run(&sessions, values![now, max])?;
        Ok(Outcome::Retired(codes.max(sessions)))
    }
}
