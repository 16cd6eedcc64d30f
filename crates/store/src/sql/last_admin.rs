//! The last admin stays: what would leave no account with an admin's token that never ends is refused. Where nodes share the database, commands that
//! ask for this take turns, so that two admins who remove each other do not both succeed.

use super::{Batch, Dialect, ID_MIN, values};
use crate::columns::Columns;
use crate::contract::StoreError;
use engine::ids::{AccountId, TokenId};
use engine::rows::BanTarget;
use engine::time::UnixMs;

/// Of all accounts behind ?1. Without this bound PostgreSQL reads all tokens while its statistics say that there are none.
pub(crate) const LASTING_TOKENS: &str =
    "SELECT account, id FROM tokens WHERE role = 'admin' AND account > ?1 AND expires_at IS NULL ORDER BY account, id";
/// Of account ?1 at ?2, also those that end.
pub(crate) const ADMIN_TOKEN: &str =
    "SELECT 1 FROM tokens WHERE role = 'admin' AND account = ?1 AND (expires_at IS NULL OR expires_at > ?2)";
pub(crate) const LIVE_BANS: &str =
    "SELECT 1 FROM bans WHERE target IN (?1, ?2) AND (expires_at IS NULL OR expires_at > ?3)";

/// The texts of the targets by which an account is shut out.
pub(super) fn targets(id: AccountId) -> [String; 2] {
    [BanTarget::Account(id).to_string(), BanTarget::Disabled(id).to_string()]
}

impl<S: Dialect> Batch<'_, S> {
    /// Whether this account is one of an admin that can be used, and without it no admin would last.
    pub(super) fn is_last_admin(&mut self, id: AccountId, now: UnixMs) -> Result<bool, StoreError> {
        if !self.session.exists(ADMIN_TOKEN, values![id, now])? || self.is_banned(id, now)? {
            return Ok(false);
        }
        Ok(!self.has_lasting_admin(now, |account, _| account != id)?)
    }

    /// Whether this token of an account is the last one of an admin that lasts and can be used.
    pub(super) fn is_last_token(&mut self, id: TokenId, account: AccountId, now: UnixMs) -> Result<bool, StoreError> {
        let lasting = "SELECT 1 FROM tokens WHERE id = ?1 AND role = 'admin' AND expires_at IS NULL";
        if !self.session.exists(lasting, values![id])? || self.is_banned(account, now)? {
            return Ok(false);
        }
        Ok(!self.has_lasting_admin(now, |_, token| token != id)?)
    }

    fn has_lasting_admin(
        &mut self,
        now: UnixMs,
        counts: impl Fn(AccountId, TokenId) -> bool,
    ) -> Result<bool, StoreError> {
        let tokens =
            self.session.all(LASTING_TOKENS, values![ID_MIN], |row| Ok((AccountId(row.id()?), TokenId(row.id()?))))?;
        let mut accounts: Vec<AccountId> =
            tokens.into_iter().filter(|(account, id)| counts(*account, *id)).map(|(account, _)| account).collect();
        accounts.dedup();
        for account in accounts {
            if !self.is_banned(account, now)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn is_banned(&mut self, id: AccountId, now: UnixMs) -> Result<bool, StoreError> {
        let [banned, disabled] = targets(id);
        self.session.exists(LIVE_BANS, values![banned.as_str(), disabled.as_str(), now])
    }
}
