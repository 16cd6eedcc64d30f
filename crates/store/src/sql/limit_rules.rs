//! Rules of the rate limiter that were set while the server ran. Where nodes share the database the row of their counters is
//! locked before, so what is checked here stays true until the commit.

use super::{Batch, Dialect, Session, values};
use crate::columns::{self, Columns};
use crate::contract::StoreError;
use engine::commands::Outcome;
use engine::limits::{LIMIT_OVERRIDES_MAX, LIMIT_POLICY_ROWS_MAX};
use engine::rows::{LimitOverride, LimitPolicy, LimitRules};

impl<S: Dialect> Batch<'_, S> {
    pub(crate) fn put_limit_policy(&mut self, policy: &LimitPolicy) -> Result<Outcome, StoreError> {
        let changed = "UPDATE limit_policies SET definition = ?2 WHERE name = ?1";
        if self.session.run(changed, values![&policy.name, &policy.definition])? == 0 {
            let counted = "UPDATE limit_figures SET policies = policies + 1 WHERE id = 1 AND policies < ?1";
            if self.session.run(counted, values![LIMIT_POLICY_ROWS_MAX])? == 0 {
                return Ok(Outcome::LimitReached);
            }
            let added = "INSERT INTO limit_policies (name, definition) VALUES (?1, ?2)";
            self.session.run(added, values![&policy.name, &policy.definition])?;
        }
        self.limit_rules_changed()
    }

    pub(crate) fn delete_limit_policy(&mut self, name: &str) -> Result<Outcome, StoreError> {
        let policies = self.session.run("DELETE FROM limit_policies WHERE name = ?1", values![name])?;
        let overrides = self.session.run("DELETE FROM limit_overrides WHERE policy = ?1", values![name])?;
        self.limit_rules_deleted(policies, overrides)
    }

    pub(crate) fn put_limit_override(&mut self, quota: &LimitOverride) -> Result<Outcome, StoreError> {
        let row: &[_] = values![&quota.policy, &quota.key, quota.limit as i64, quota.window_ms as i64];
        let changed = "UPDATE limit_overrides SET quota = ?3, window_ms = ?4 WHERE policy = ?1 AND key = ?2";
        if self.session.run(changed, row)? == 0 {
            let counted = "UPDATE limit_figures SET overrides = overrides + 1 WHERE id = 1 AND overrides < ?1";
            if self.session.run(counted, values![LIMIT_OVERRIDES_MAX])? == 0 {
                return Ok(Outcome::LimitReached);
            }
            let added = "INSERT INTO limit_overrides (policy, key, quota, window_ms) VALUES (?1, ?2, ?3, ?4)";
            self.session.run(added, row)?;
        }
        self.limit_rules_changed()
    }

    pub(crate) fn delete_limit_override(&mut self, policy: &str, key: &[u8]) -> Result<Outcome, StoreError> {
        let sql = "DELETE FROM limit_overrides WHERE policy = ?1 AND key = ?2";
        let overrides = self.session.run(sql, values![policy, key])?;
        self.limit_rules_deleted(0, overrides)
    }

    fn limit_rules_deleted(&mut self, policies: usize, overrides: usize) -> Result<Outcome, StoreError> {
        if policies + overrides == 0 {
            return Ok(Outcome::NotFound);
        }
        let counted = "UPDATE limit_figures SET policies = policies - ?1, overrides = overrides - ?2 WHERE id = 1";
        self.session.run(counted, values![policies, overrides])?;
        self.limit_rules_changed()
    }

    fn limit_rules_changed(&mut self) -> Result<Outcome, StoreError> {
        self.session.run("UPDATE limit_figures SET version = version + 1 WHERE id = 1", &[])?;
        Ok(Outcome::Done)
    }
}

/// All rules, in the order of the bytes of their names; the session is a snapshot.
pub(super) fn rules(session: &mut impl Session) -> Result<LimitRules, StoreError> {
    let policies = format!("SELECT {} FROM limit_policies", columns::LIMIT_POLICY);
    let overrides = format!("SELECT {} FROM limit_overrides", columns::LIMIT_OVERRIDE);
    let version = version(session)?;
    let mut policies = session.list(&policies, &[], |row, _| columns::limit_policy(row))?;
    policies.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    let mut overrides = session.list(&overrides, &[], |row, _| columns::limit_override(row))?;
    overrides.sort_unstable_by(|a, b| (&a.policy, &a.key).cmp(&(&b.policy, &b.key)));
    Ok(LimitRules { version, policies, overrides })
}

pub(super) fn version(session: &mut impl Session) -> Result<u64, StoreError> {
    let version = session.first("SELECT version FROM limit_figures WHERE id = 1", &[], |row| row.number())?;
    Ok(version.unwrap_or_default())
}
