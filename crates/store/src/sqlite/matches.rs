//! How matches enter the queue and are cancelled.

use super::batch::Batch;
use super::connection::OrStoreError;
use crate::columns::{self, Columns};
use crate::contract::StoreError;
use crate::semantics;
use engine::commands::{CreateMatches, Outcome};
use engine::ids::{AccountId, MatchId};
use engine::limits::IDEMPOTENCY_RETENTION;
use engine::matches::lifecycle::{MatchEvent, MatchState};
use engine::matches::spec::MatchSpec;
use engine::time::UnixMs;
use rusqlite::params;

/// What decides about a match that is called off or put back.
struct MatchOwner {
    state: MatchState,
    account: AccountId,
}

impl Batch<'_> {
    pub(super) fn create_matches(&mut self, create: &CreateMatches) -> Result<Outcome, StoreError> {
        if !self.has_account(create.account)? {
            return Ok(Outcome::NotFound);
        }
        if let Some(outcome) = self.replayed_response(create)? {
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
        self.remember_response(create)?;
        Ok(Outcome::Done)
    }

    fn replayed_response(&self, create: &CreateMatches) -> Result<Option<Outcome>, StoreError> {
        let Some(idempotency) = &create.idempotency else { return Ok(None) };
        let forgotten_before = create.now.minus(IDEMPOTENCY_RETENTION);
        self.session.first(
            "SELECT fingerprint, answer FROM idempotency_keys WHERE account = ?1 AND key = ?2 AND created_at > ?3",
            (create.account.to_bytes(), &idempotency.key, forgotten_before.0),
            |row| {
                let is_same = row.bytes()? == idempotency.fingerprint;
                Ok(if is_same { Outcome::Replayed(row.bytes()?) } else { Outcome::KeyReused })
            },
        )
    }

    fn remember_response(&self, create: &CreateMatches) -> Result<(), StoreError> {
        let Some(idempotency) = &create.idempotency else { return Ok(()) };
        self.session.run(
            "INSERT OR REPLACE INTO idempotency_keys (account, key, fingerprint, answer, created_at)
             VALUES (?1, ?2, ?3, ?4, ?5)",
            (create.account.to_bytes(), &idempotency.key, idempotency.fingerprint, &idempotency.response, create.now.0),
        )?;
        Ok(())
    }

    fn knows_any(&self, matches: &[MatchSpec]) -> Result<bool, StoreError> {
        for spec in matches {
            if self.session.exists("SELECT 1 FROM matches WHERE id = ?1", [spec.id.to_bytes()])? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn last_tag(&self, account: AccountId) -> Result<u64, StoreError> {
        let tag = "SELECT fair_tag FROM accounts WHERE id = ?1";
        Ok(self.session.first(tag, [account.to_bytes()], |row| row.number())?.unwrap_or_default())
    }

    fn set_last_tag(&self, account: AccountId, tag: u64) -> Result<(), StoreError> {
        self.session.run("UPDATE accounts SET fair_tag = ?2 WHERE id = ?1", (account.to_bytes(), tag as i64))?;
        Ok(())
    }

    fn insert(&mut self, spec: &MatchSpec, account: AccountId, tag: u64, now: UnixMs) -> Result<(), StoreError> {
        let (rules, settings) = (&spec.rules, &spec.rules.settings);
        let mut insert = self
            .session
            .db
            .prepare_cached(
                "INSERT INTO matches (id, account, ruleset, map, is_solo, food_spawn_chance, minimum_food,
                   hazard_damage_per_turn, shrink_every_n_turns, width, height, seed, timeout_ms, turns_max,
                   state, fair_tag, created_at, updated_at, enqueued_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?17, ?17)",
            )
            .or_store_error()?;
        let row = params![
            spec.id.to_bytes(),
            account.to_bytes(),
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
            now.0,
        ];
        insert.execute(row).or_store_error()?;
        self.counters.record_transition(None, Some(MatchState::Waiting));
        self.insert_seats(spec)
    }

    fn insert_seats(&self, spec: &MatchSpec) -> Result<(), StoreError> {
        for (seat, by) in spec.seats.iter().enumerate() {
            self.session.run(
                "INSERT INTO seats (match_id, seat, bot, name, url) VALUES (?1, ?2, ?3, ?4, ?5)",
                (spec.id.to_bytes(), seat as i64, by.bot.to_bytes(), &by.name, &by.url),
            )?;
        }
        Ok(())
    }

    pub(super) fn cancel(
        &mut self,
        id: MatchId,
        account: Option<AccountId>,
        now: UnixMs,
    ) -> Result<Outcome, StoreError> {
        let is_theirs = |known: &MatchOwner| account.is_none_or(|account| account == known.account);
        let Some(known) = self.match_owner(id)?.filter(is_theirs) else { return Ok(Outcome::NotFound) };
        let Some(next) = known.state.transition(MatchEvent::Cancel) else {
            return Ok(Outcome::WrongState(known.state));
        };
        let end = self.session.log_end(id)?;
        self.session.run(
            "UPDATE matches SET state = ?2, epoch = epoch + 1, worker = NULL, fair_tag = NULL, failure = NULL,
               updated_at = ?3, ended_at = ?3, version = ?4, turns = ?5, late_moves = ?6
             WHERE id = ?1",
            (id.to_bytes(), next.name(), now.0, end.version, end.turns, end.late_moves),
        )?;
        self.counters.record_transition(Some(known.state), Some(next));
        Ok(Outcome::Done)
    }

    pub(super) fn requeue(&mut self, id: MatchId, now: UnixMs) -> Result<Outcome, StoreError> {
        let Some(known) = self.match_owner(id)? else { return Ok(Outcome::NotFound) };
        let Some(next) = known.state.transition(MatchEvent::Requeue) else {
            return Ok(Outcome::WrongState(known.state));
        };
        let tag = semantics::next_fair_tag(self.virtual_time()?, self.last_tag(known.account)?);
        self.set_last_tag(known.account, tag)?;
        self.session.run(
            "UPDATE matches SET state = ?2, fair_tag = ?3, attempts_charged = 0, updated_at = ?4, enqueued_at = ?4,
               failure = NULL, ended_at = NULL, version = NULL, turns = NULL, late_moves = NULL
             WHERE id = ?1",
            (id.to_bytes(), next.name(), tag as i64, now.0),
        )?;
        self.counters.record_transition(Some(known.state), Some(next));
        Ok(Outcome::Done)
    }

    fn match_owner(&self, id: MatchId) -> Result<Option<MatchOwner>, StoreError> {
        let by_id = "SELECT state, account FROM matches WHERE id = ?1";
        self.session.first(by_id, [id.to_bytes()], |row| {
            Ok(MatchOwner { state: columns::state(row)?, account: AccountId(row.id()?) })
        })
    }
}
