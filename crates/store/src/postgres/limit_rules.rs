//! Rules of the rate limiter that were set while the server ran. The row of their counters is locked before, so what is
//! checked here stays true until the commit.

use super::batch::Batch;
use super::session::Session;
use super::statement_error::StatementError;
use crate::columns::{self, Columns};
use engine::commands::Outcome;
use engine::limits::{LIMIT_OVERRIDES_MAX, LIMIT_POLICY_ROWS_MAX};
use engine::rows::{LimitOverride, LimitPolicy, LimitRules};

impl Batch<'_> {
    pub(super) fn put_limit_policy(&mut self, policy: &LimitPolicy) -> Result<Outcome, StatementError> {
        let changed = "UPDATE limit_policies SET definition = $2 WHERE name = $1";
        if self.session.run(changed, &[&policy.name, &policy.definition])? == 0 {
            let counted = "UPDATE limit_figures SET policies = policies + 1 WHERE id = 1 AND policies < $1";
            if self.session.run(counted, &[&(LIMIT_POLICY_ROWS_MAX as i64)])? == 0 {
                return Ok(Outcome::LimitReached);
            }
            let added = "INSERT INTO limit_policies (name, definition) VALUES ($1, $2)";
            self.session.run(added, &[&policy.name, &policy.definition])?;
        }
        self.limit_rules_changed()
    }

    pub(super) fn delete_limit_policy(&mut self, name: &str) -> Result<Outcome, StatementError> {
        let policies = self.session.run("DELETE FROM limit_policies WHERE name = $1", &[&name])?;
        let overrides = self.session.run("DELETE FROM limit_overrides WHERE policy = $1", &[&name])?;
        self.limit_rules_forgotten(policies, overrides)
    }

    pub(super) fn put_limit_override(&mut self, quota: &LimitOverride) -> Result<Outcome, StatementError> {
        let (limit, window_ms) = (quota.limit as i64, quota.window_ms as i64);
        let changed = "UPDATE limit_overrides SET quota = $3, window_ms = $4 WHERE policy = $1 AND key = $2";
        if self.session.run(changed, &[&quota.policy, &quota.key, &limit, &window_ms])? == 0 {
            let counted = "UPDATE limit_figures SET overrides = overrides + 1 WHERE id = 1 AND overrides < $1";
            if self.session.run(counted, &[&(LIMIT_OVERRIDES_MAX as i64)])? == 0 {
                return Ok(Outcome::LimitReached);
            }
            let added = "INSERT INTO limit_overrides (policy, key, quota, window_ms) VALUES ($1, $2, $3, $4)";
            self.session.run(added, &[&quota.policy, &quota.key, &limit, &window_ms])?;
        }
        self.limit_rules_changed()
    }

    pub(super) fn delete_limit_override(&mut self, policy: &str, key: &[u8]) -> Result<Outcome, StatementError> {
        let forgotten = "DELETE FROM limit_overrides WHERE policy = $1 AND key = $2";
        let overrides = self.session.run(forgotten, &[&policy, &key])?;
        self.limit_rules_forgotten(0, overrides)
    }

    fn limit_rules_forgotten(&mut self, policies: u64, overrides: u64) -> Result<Outcome, StatementError> {
        if policies + overrides == 0 {
            return Ok(Outcome::NotFound);
        }
        let counted = "UPDATE limit_figures SET policies = policies - $1, overrides = overrides - $2 WHERE id = 1";
        self.session.run(counted, &[&(policies as i64), &(overrides as i64)])?;
        self.limit_rules_changed()
    }

    fn limit_rules_changed(&mut self) -> Result<Outcome, StatementError> {
        self.session.run("UPDATE limit_figures SET version = version + 1 WHERE id = 1", &[])?;
        Ok(Outcome::Done)
    }
}

/// All rules; the session is a snapshot. Names are put in the order of their bytes, as everywhere else.
pub(super) fn rules(session: &mut Session) -> Result<LimitRules, StatementError> {
    let policies = format!("SELECT {} FROM limit_policies ORDER BY name COLLATE \"C\"", columns::LIMIT_POLICY);
    let overrides =
        format!("SELECT {} FROM limit_overrides ORDER BY policy COLLATE \"C\", key", columns::LIMIT_OVERRIDE);
    Ok(LimitRules {
        version: version(session)?,
        policies: session.all(&policies, &[], |row| columns::limit_policy(row))?,
        overrides: session.all(&overrides, &[], |row| columns::limit_override(row))?,
    })
}

pub(super) fn version(session: &mut Session) -> Result<u64, StatementError> {
    let version = session.first("SELECT version FROM limit_figures WHERE id = 1", &[], |row| row.number())?;
    Ok(version.unwrap_or_default())
}
