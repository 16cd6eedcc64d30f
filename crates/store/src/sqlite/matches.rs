//! How matches enter the queue.

use super::Batch;
use crate::columns;
use crate::contract::StoreError;
use crate::semantics;
use crate::sql::{Session as _, Value, values};
use engine::commands::{CreateMatches, Idempotency, Outcome};
use engine::ids::AccountId;
use engine::matches::lifecycle::MatchState;
use engine::matches::spec::MatchSpec;
use engine::time::UnixMs;

const KEY: &str = "SELECT fingerprint, answer, created_at FROM idempotency_keys WHERE account = ?1 AND key = ?2";
const REMEMBER: &str = "
    INSERT OR REPLACE INTO idempotency_keys (account, key, fingerprint, answer, created_at) VALUES (?1, ?2, ?3, ?4, ?5)";

impl Batch<'_> {
    pub(super) fn create_matches(&mut self, create: &CreateMatches) -> Result<Outcome, StoreError> {
        if !self.has_account(create.account)? {
            return Ok(Outcome::NotFound);
        }
        if let Some(outcome) =
            self.replayed_response(KEY, create.account.into(), create.idempotency.as_ref(), create.now)?
        {
            return Ok(outcome);
        }
        if semantics::has_repeated_id(&create.matches) || self.knows_any(&create.matches)? {
            return Ok(Outcome::Duplicate);
        }
        let mut last_tag = self.last_tag(create.account)?;
        let virtual_time = self.virtual_time()?;
        for spec in &create.matches {
            last_tag = semantics::next_fair_tag(virtual_time, last_tag);
            self.insert(spec, create.account, last_tag, create.now)?;
        }
        self.set_last_tag(create.account, last_tag)?;
        self.counters.record_created(create.matches.len(), create.now);
        self.remember_response(REMEMBER, create.account.into(), create.idempotency.as_ref(), create.now)?;
        Ok(Outcome::Done)
    }

    /// `key` looks up the key ?2 of the owner ?1.
    pub(super) fn replayed_response(
        &mut self,
        key: &str,
        owner: Value<'_>,
        request: Option<&Idempotency>,
        now: UnixMs,
    ) -> Result<Option<Outcome>, StoreError> {
        let Some(idempotency) = request else { return Ok(None) };
        let known = [owner, (&idempotency.key).into()];
        let known = self.session.first(key, &known, |row| columns::remembered_key(row))?;
        Ok(known.and_then(|known| known.outcome(idempotency, now)))
    }

    /// `remember` writes the key ?2 of the owner ?1 with its response.
    pub(super) fn remember_response(
        &mut self,
        remember: &str,
        owner: Value<'_>,
        request: Option<&Idempotency>,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        if let Some(Idempotency { key, fingerprint, response }) = request {
            self.session.run(remember, values![owner, key, fingerprint, response, now])?;
        }
        Ok(())
    }

    fn knows_any(&mut self, matches: &[MatchSpec]) -> Result<bool, StoreError> {
        for spec in matches {
            if self.session.exists("SELECT 1 FROM matches WHERE id = ?1", values![spec.id])? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn insert(&mut self, spec: &MatchSpec, account: AccountId, tag: u64, now: UnixMs) -> Result<(), StoreError> {
        let (rules, settings) = (&spec.rules, &spec.rules.settings);
        self.session.run(
            "INSERT INTO matches (id, account, ruleset, map, is_solo, food_spawn_chance, minimum_food,
               hazard_damage_per_turn, shrink_every_n_turns, width, height, seed, timeout_ms, turns_max,
               state, fair_tag, created_at, updated_at, enqueued_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?17, ?17)",
            values![
                spec.id,
                account,
                rules.ruleset.name(),
                rules.map.name(),
                rules.solo,
                settings.food_spawn_chance,
                settings.minimum_food,
                settings.hazard_damage_per_turn,
                settings.shrink_every_n_turns,
                spec.width,
                spec.height,
                spec.seed.0 as i64,
                spec.timeout_ms,
                spec.turns_max,
                MatchState::Waiting.name(),
                tag as i64,
                now,
            ],
        )?;
        self.counters.record_transition(None, Some(MatchState::Waiting));
        self.insert_seats(spec)
    }

    fn insert_seats(&mut self, spec: &MatchSpec) -> Result<(), StoreError> {
        for (seat, by) in spec.seats.iter().enumerate() {
            self.session.run(
                "INSERT INTO seats (match_id, seat, bot, name, url) VALUES (?1, ?2, ?3, ?4, ?5)",
                values![spec.id, seat, by.bot, &by.name, &by.url],
            )?;
        }
        Ok(())
    }
}
