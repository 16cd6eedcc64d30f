//! Creations of a batch in few round trips, however many they are: read accounts, keys and ids, decide here, write
//! everything.

use super::Batch;
use super::remembered_keys::{OF_ACCOUNTS, RememberedKeys};
use super::session::PgId;
use crate::columns::Columns;
use crate::contract::StoreError;
use crate::semantics;
use engine::commands::{CreateMatches, Outcome};
use engine::ids::{AccountId, MatchId};
use engine::matches::spec::MatchSpec;
use engine::time::UnixMs;
use std::collections::{BTreeMap, BTreeSet};

/// What decides about creations; it follows them as they are accepted.
struct CreationState<'a> {
    last_tags: BTreeMap<AccountId, u64>,
    keys: RememberedKeys<'a>,
    ids: BTreeSet<MatchId>,
    virtual_time: u64,
}

/// A match to be written.
struct AcceptedMatch<'a> {
    spec: &'a MatchSpec,
    account: AccountId,
    tag: u64,
    now: UnixMs,
}

impl Batch<'_> {
    pub(super) fn create_all(&mut self, creations: &[&CreateMatches]) -> Result<Vec<Outcome>, StoreError> {
        let mut state = self.load_creation_state(creations)?;
        let mut accepted = Vec::new();
        let outcomes = creations.iter().map(|create| {
            let outcome = state.decide(create);
            if outcome == Outcome::Done {
                accepted.extend(state.accept(create));
                self.counters.record_created(create.matches.len(), create.now);
            }
            outcome
        });
        let outcomes = outcomes.collect();
        self.write_matches(&accepted)?;
        self.write_seats(&accepted)?;
        self.write_tags(&state.last_tags)?;
        self.write_keys(&state.keys)?;
        Ok(outcomes)
    }

    fn load_creation_state<'a>(&mut self, creations: &[&'a CreateMatches]) -> Result<CreationState<'a>, StoreError> {
        let accounts: Vec<PgId> = creations.iter().map(|create| PgId(create.account.0)).collect();
        let tags = "SELECT id, fair_tag FROM accounts WHERE id = ANY ($1)";
        let last_tags = self.session.query(tags, &[&accounts], |row| Ok((AccountId(row.id()?), row.number()?)))?;
        let specs = creations.iter().flat_map(|create| &create.matches);
        let ids: Vec<PgId> = specs.map(|spec| PgId(spec.id.0)).collect();
        let known = "SELECT id FROM matches WHERE id = ANY ($1)";
        let ids = self.session.query(known, &[&ids], |row| row.id().map(MatchId))?;
        let keyed = creations.iter().filter_map(|create| Some((PgId(create.account.0), create.idempotency.as_ref()?)));
        Ok(CreationState {
            last_tags: last_tags.into_iter().collect(),
            keys: self.load_keys(OF_ACCOUNTS, keyed)?,
            ids: ids.into_iter().collect(),
            virtual_time: self.virtual_time()?,
        })
    }

    fn write_matches(&mut self, accepted: &[AcceptedMatch<'_>]) -> Result<(), StoreError> {
        if accepted.is_empty() {
            return Ok(());
        }
        let ids: Vec<_> = accepted.iter().map(|a| PgId(a.spec.id.0)).collect();
        let accounts: Vec<_> = accepted.iter().map(|a| PgId(a.account.0)).collect();
        let rulesets: Vec<_> = accepted.iter().map(|a| a.spec.rules.ruleset.name()).collect();
        let maps: Vec<_> = accepted.iter().map(|a| a.spec.rules.map.name()).collect();
        let solos: Vec<_> = accepted.iter().map(|a| a.spec.rules.solo).collect();
        let column = |number: fn(&AcceptedMatch<'_>) -> i64| accepted.iter().map(number).collect::<Vec<i64>>();
        self.session.execute(
            "INSERT INTO matches (id, account, ruleset, map, is_solo, food_spawn_chance, minimum_food,
               hazard_damage_per_turn, shrink_every_n_turns, width, height, seed, timeout_ms, turns_max,
               state, fair_tag, created_at, updated_at, enqueued_at)
             SELECT id, account, ruleset, map, is_solo, food, minimum, hazard, shrink, width, height, seed, timeout, turns,
               'waiting', tag, now, now, now
             FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::bool[], $6::bigint[], $7::bigint[],
               $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[],
               $15::bigint[], $16::bigint[])
               AS new (id, account, ruleset, map, is_solo, food, minimum, hazard, shrink, width, height, seed, timeout,
               turns, tag, now)",
            &[
                &ids,
                &accounts,
                &rulesets,
                &maps,
                &solos,
                &column(|a| a.spec.rules.settings.food_spawn_chance.into()),
                &column(|a| a.spec.rules.settings.minimum_food.into()),
                &column(|a| a.spec.rules.settings.hazard_damage_per_turn.into()),
                &column(|a| a.spec.rules.settings.shrink_every_n_turns.into()),
                &column(|a| a.spec.width.into()),
                &column(|a| a.spec.height.into()),
                &column(|a| a.spec.seed.0 as i64),
                &column(|a| a.spec.timeout_ms.into()),
                &column(|a| a.spec.turns_max.into()),
                &column(|a| a.tag as i64),
                &column(|a| a.now.0),
            ],
        )?;
        for _ in accepted {
            self.counters.record_transition(None, Some(engine::matches::lifecycle::MatchState::Waiting));
        }
        Ok(())
    }

    fn write_seats(&mut self, accepted: &[AcceptedMatch<'_>]) -> Result<(), StoreError> {
        let seats =
            accepted.iter().flat_map(|a| a.spec.seats.iter().enumerate().map(|(seat, by)| (a.spec.id, seat, by)));
        let seats: Vec<_> = seats.collect();
        if seats.is_empty() {
            return Ok(());
        }
        let ids: Vec<_> = seats.iter().map(|(id, ..)| PgId(id.0)).collect();
        let places: Vec<_> = seats.iter().map(|(_, seat, _)| *seat as i64).collect();
        let bots: Vec<_> = seats.iter().map(|(.., by)| PgId(by.bot.0)).collect();
        let names: Vec<_> = seats.iter().map(|(.., by)| by.name.as_str()).collect();
        let urls: Vec<_> = seats.iter().map(|(.., by)| by.url.as_str()).collect();
        self.session.execute(
            "INSERT INTO seats (match_id, seat, bot, name, url)
             SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::uuid[], $4::text[], $5::text[])",
            &[&ids, &places, &bots, &names, &urls],
        )?;
        Ok(())
    }

    fn write_tags(&mut self, last_tags: &BTreeMap<AccountId, u64>) -> Result<(), StoreError> {
        let (ids, tags): (Vec<PgId>, Vec<i64>) = last_tags.iter().map(|(id, tag)| (PgId(id.0), *tag as i64)).unzip();
        self.session.execute(
            "UPDATE accounts SET fair_tag = tag FROM unnest($1::uuid[], $2::bigint[]) AS last (account, tag)
             WHERE id = account AND fair_tag <> tag",
            &[&ids, &tags],
        )?;
        Ok(())
    }
}

impl<'a> CreationState<'a> {
    fn decide(&self, create: &CreateMatches) -> Outcome {
        if !self.last_tags.contains_key(&create.account) {
            return Outcome::NotFound;
        }
        let replayed = create.idempotency.as_ref();
        let replayed = replayed.and_then(|request| self.keys.outcome(PgId(create.account.0), request, create.now));
        if let Some(outcome) = replayed {
            return outcome;
        }
        let is_known = |spec: &MatchSpec| self.ids.contains(&spec.id);
        if semantics::has_repeated_id(&create.matches) || create.matches.iter().any(is_known) {
            return Outcome::Duplicate;
        }
        Outcome::Done
    }

    fn accept(&mut self, create: &'a CreateMatches) -> Vec<AcceptedMatch<'a>> {
        let &CreateMatches { account, now, .. } = create;
        if let Some(idempotency) = &create.idempotency {
            self.keys.remember(PgId(account.0), idempotency, now);
        }
        let virtual_time = self.virtual_time;
        let last_tag = self.last_tags.entry(account).or_default();
        let ids = &mut self.ids;
        let accepted = create.matches.iter().map(|spec| {
            *last_tag = semantics::next_fair_tag(virtual_time, *last_tag);
            ids.insert(spec.id);
            AcceptedMatch { spec, account, tag: *last_tag, now }
        });
        accepted.collect()
    }
}
