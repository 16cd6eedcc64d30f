//! Bans. Where nodes share the database the row of their version is locked before, so what is checked here stays true until the commit.

use super::reader::SqlReader;
use super::{Batch, Dialect, ID_MAX, Session, values};
use crate::columns::{self, BAN, Columns};
use crate::contract::{BanReader, StoreError};
use engine::commands::{BanCommand, Outcome};
use engine::ids::{AccountId, BanId, MatchId};
use engine::limits::BANS_MAX;
use engine::rows::{Ban, BanList, Role};
use engine::time::UnixMs;

/// By the index of waiting matches by account.
const WAITING_MATCHES: &str = "SELECT id FROM matches WHERE state = 'waiting' AND account = ?1 AND competition IS NULL
     ORDER BY fair_tag, id LIMIT ?2";

/// Bans that have not expired.
fn live(order: &str) -> String {
    format!("SELECT {BAN} FROM bans WHERE (expires_at IS NULL OR expires_at > ?1) AND id < ?2 {order} LIMIT ?3")
}

fn page(session: &mut impl Session, before: Option<BanId>, limit: usize, now: UnixMs) -> Result<Vec<Ban>, StoreError> {
    let before = before.map_or(ID_MAX, BanId::to_bytes);
    let page = |limit| *values![now, before, limit];
    session.page(&live("ORDER BY id DESC"), limit, page, |row, damages| columns::ban(row, damages))
}

fn version(session: &mut impl Session) -> Result<u64, StoreError> {
    let version = session.first("SELECT version FROM ban_figures WHERE id = 1", &[], |row| row.number())?;
    Ok(version.unwrap_or_default())
}

impl<R: SqlReader> BanReader for R {
    fn ban_page(&mut self, before: Option<BanId>, limit: usize, now: UnixMs) -> Result<Vec<Ban>, StoreError> {
        page(self.session(), before, limit, now)
    }

    fn ban_list(&mut self, now: UnixMs) -> Result<BanList, StoreError> {
        self.session()
            .snapshot(|session| Ok(BanList { version: version(session)?, bans: page(session, None, BANS_MAX, now)? }))
    }

    fn ban_list_version(&mut self) -> Result<u64, StoreError> {
        version(self.session())
    }

    fn waiting_matches(&mut self, account: AccountId, limit: usize) -> Result<Vec<MatchId>, StoreError> {
        self.session().all(WAITING_MATCHES, values![account, limit], |row| row.id().map(MatchId))
    }
}

impl<S: Dialect> Batch<'_, S> {
    pub(super) fn ban_command(&mut self, command: &BanCommand) -> Result<Outcome, StoreError> {
        match command {
            BanCommand::Create(ban) => self.create_ban(ban),
            BanCommand::Lift { id, now } => self.lift_ban(*id, *now),
            BanCommand::RetireExpired { now, max } => self.retire_expired_bans(*now, *max),
        }
    }

    fn create_ban(&mut self, ban: &Ban) -> Result<Outcome, StoreError> {
        let target = ban.target.to_string();
        // One that has expired leaves its target to the next.
        self.session
            .run("DELETE FROM bans WHERE target = ?1 AND expires_at <= ?2", values![target.as_str(), ban.created_at])?;
        let account = ban.target.account();
        if let Some(account) = account
            && !self.has_account(account)?
        {
            return Ok(Outcome::NotFound);
        }
        let known = "SELECT 1 FROM bans WHERE target = ?1 OR id = ?2";
        if self.session.exists(known, values![target.as_str(), ban.id])? {
            return Ok(Outcome::Duplicate);
        }
        let count = "SELECT count(*) FROM bans WHERE expires_at IS NULL OR expires_at > ?1";
        let count = self.session.first(count, values![ban.created_at], |row| row.number::<usize>())?;
        if count.unwrap_or_default() >= BANS_MAX {
            return Ok(Outcome::LimitReached);
        }
        if let Some(account) = account
            && self.is_last_admin(account, ban.created_at)?
        {
            return Ok(Outcome::LastAdmin);
        }
        let role = ban.made_by_role.map(Role::name);
        self.session.run(
            "INSERT INTO bans (id, target, reason, made_by, made_by_role, created_at, expires_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            values![ban.id, target.as_str(), ban.reason.as_str(), ban.made_by, role, ban.created_at, ban.expires_at],
        )?;
        self.bans_changed()
    }

    fn lift_ban(&mut self, id: BanId, now: UnixMs) -> Result<Outcome, StoreError> {
        let lift = "DELETE FROM bans WHERE id = ?1 AND (expires_at IS NULL OR expires_at > ?2)";
        if self.session.run(lift, values![id, now])? == 0 { Ok(Outcome::NotFound) } else { self.bans_changed() }
    }

    /// Changes no version: a node that has read one that has expired knows its end.
    fn retire_expired_bans(&mut self, now: UnixMs, max: usize) -> Result<Outcome, StoreError> {
        let expired = "SELECT id FROM bans WHERE expires_at <= ?1 ORDER BY expires_at, id LIMIT ?2";
        let retired = self.session.run(&format!("DELETE FROM bans WHERE id IN ({expired})"), values![now, max])?;
        Ok(Outcome::Retired(retired))
    }

    fn bans_changed(&mut self) -> Result<Outcome, StoreError> {
        self.session.run("UPDATE ban_figures SET version = version + 1 WHERE id = 1", &[])?;
        Ok(Outcome::Done)
    }
}
