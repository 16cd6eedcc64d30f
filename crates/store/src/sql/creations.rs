//! Creations of a batch in few statements, however many they are: read accounts, keys and ids, decide here, write everything.
//! Where nodes share the database, the accounts' rows are locked before.

use super::remembered_keys::{OF_ACCOUNTS, RememberedKeys};
use super::{Batch, Dialect, IdBytes, RowStatement, values};
use crate::columns::Columns;
use crate::contract::StoreError;
use crate::semantics;
use engine::commands::{CreateMatches, Outcome};
use engine::ids::{AccountId, MatchId};
use engine::limits::MATCHES_WAITING_PER_ACCOUNT_MAX;
use engine::matches::lifecycle::MatchState;
use engine::matches::spec::MatchSpec;
use engine::time::UnixMs;
use std::collections::{BTreeMap, BTreeSet};

static MATCHES: RowStatement = RowStatement::new(
    "id uuid, account uuid, ruleset text, map text, solo bool, food bigint, minimum bigint, hazard bigint, shrink bigint, \
     width bigint, height bigint, seed bigint, timeout bigint, turns bigint, is_public bool, kind text, \
     competition uuid, competition_key bigint, tag bigint, now bigint",
    "INSERT INTO matches (id, account, ruleset, map, is_solo, food_spawn_chance, minimum_food, hazard_damage_per_turn,
       shrink_every_n_turns, width, height, seed, timeout_ms, turns_max, is_public, competition_kind, competition, competition_key,
       fair_tag, created_at, updated_at, enqueued_at, state)
     SELECT new.*, new.now, new.now, 'waiting' FROM {new}",
);
static SEATS: RowStatement = RowStatement::new(
    "match_id uuid, seat bigint, bot uuid, name text, owner text, url text, private_to uuid",
    "INSERT INTO seats (match_id, seat, bot, name, owner, url, private_to, account)
     SELECT new.*, (SELECT account FROM bots WHERE bots.id = new.bot) FROM {new}",
);
static TAGS: RowStatement = RowStatement::new(
    "account uuid, tag bigint",
    "UPDATE accounts SET fair_tag = new.tag FROM {new} WHERE accounts.id = new.account AND accounts.fair_tag <> new.tag",
);

/// Waiting matches, which the column of an account follows.
pub(crate) const WAITING_COUNT: &str = "SELECT account, count(*) FROM matches WHERE state = 'waiting' AND account";

/// Whether a competition creates these, and not its owner's request.
fn is_of_competition(create: &CreateMatches) -> bool {
    create.matches.iter().all(|spec| spec.origin.is_some())
}

/// What decides about creations; it follows them as they are accepted.
struct CreationState<'a> {
    last_tags: BTreeMap<AccountId, u64>,
    /// Accounts whose competitions alone go on, until they are ended.
    deleted: BTreeSet<AccountId>,
    keys: RememberedKeys<'a>,
    ids: BTreeSet<MatchId>,
    /// Matches that wait, of the accounts that create some themselves.
    waiting: BTreeMap<AccountId, usize>,
    virtual_time: u64,
}

/// A match to be written.
struct AcceptedMatch<'a> {
    spec: &'a MatchSpec,
    account: AccountId,
    tag: u64,
    now: UnixMs,
}

impl<S: Dialect> Batch<'_, S> {
    pub(crate) fn create_all(&mut self, creations: &[&CreateMatches]) -> Result<Vec<Outcome>, StoreError> {
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
        self.session.run_rows(&TAGS, state.last_tags.iter().map(|(id, tag)| *values![*id, *tag as i64]))?;
        self.write_keys(&state.keys)?;
        Ok(outcomes)
    }

    fn load_creation_state<'a>(&mut self, creations: &[&'a CreateMatches]) -> Result<CreationState<'a>, StoreError> {
        let accounts: Vec<IdBytes> = creations.iter().map(|create| create.account.to_bytes()).collect();
        let tags = "SELECT id, fair_tag, deleted_at FROM accounts WHERE id";
        let known = self.session.all_each(tags, "", &accounts, |row| {
            Ok((AccountId(row.id()?), row.number::<u64>()?, row.maybe_time()?.is_some()))
        })?;
        let specs = creations.iter().flat_map(|create| &create.matches);
        let ids: Vec<IdBytes> = specs.map(|spec| spec.id.to_bytes()).collect();
        let ids = self.session.all_each("SELECT id FROM matches WHERE id", "", &ids, |row| row.id().map(MatchId))?;
        let keyed =
            creations.iter().filter_map(|create| Some((create.account.to_bytes(), create.idempotency.as_ref()?)));
        let own: BTreeSet<IdBytes> = creations
            .iter()
            .filter(|create| !is_of_competition(create))
            .map(|create| create.account.to_bytes())
            .collect();
        let own: Vec<IdBytes> = own.into_iter().collect();
        let waiting = self
            .session
            .all_each(WAITING_COUNT, "GROUP BY account", &own, |row| Ok((AccountId(row.id()?), row.number()?)))?;
        Ok(CreationState {
            waiting: waiting.into_iter().collect(),
            last_tags: known.iter().map(|(account, tag, _)| (*account, *tag)).collect(),
            deleted: known.iter().filter(|known| known.2).map(|known| known.0).collect(),
            keys: self.load_keys(&OF_ACCOUNTS, keyed)?,
            ids: ids.into_iter().collect(),
            virtual_time: self.virtual_time()?,
        })
    }

    fn write_matches(&mut self, accepted: &[AcceptedMatch<'_>]) -> Result<(), StoreError> {
        let matches = accepted.iter().map(|AcceptedMatch { spec, account, tag, now }| {
            let (rules, settings) = (&spec.rules, &spec.rules.settings);
            *values![
                spec.id,
                *account,
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
                spec.is_public,
                spec.origin.map(|origin| origin.kind.name()),
                spec.origin.map(|origin| origin.competition),
                spec.origin.map(|origin| origin.key as i64),
                *tag as i64,
                *now,
            ]
        });
        self.session.run_rows(&MATCHES, matches)?;
        let seats = accepted.iter().flat_map(|accepted| {
            let AcceptedMatch { spec, account, .. } = accepted;
            let private_to = (!spec.is_public).then_some(*account);
            let seats = spec.seats.iter().enumerate();
            seats.map(move |(seat, by)| *values![spec.id, seat, by.bot, &by.name, &by.owner, &by.url, private_to])
        });
        self.session.run_rows(&SEATS, seats)?;
        for _ in accepted {
            self.counters.record_transition(None, Some(MatchState::Waiting));
        }
        Ok(())
    }
}

impl<'a> CreationState<'a> {
    fn decide(&self, create: &CreateMatches) -> Outcome {
        let is_deleted = || self.deleted.contains(&create.account) && !is_of_competition(create);
        if !self.last_tags.contains_key(&create.account) || is_deleted() {
            return Outcome::NotFound;
        }
        let replayed = create.idempotency.as_ref();
        let replayed = replayed.and_then(|request| self.keys.outcome(create.account.to_bytes(), request, create.now));
        if let Some(outcome) = replayed {
            return outcome;
        }
        let is_known = |spec: &MatchSpec| self.ids.contains(&spec.id);
        if semantics::has_repeated_id(&create.matches) || create.matches.iter().any(is_known) {
            return Outcome::Duplicate;
        }
        let waiting = self.waiting.get(&create.account).copied().unwrap_or_default();
        if !is_of_competition(create) && waiting + create.matches.len() > MATCHES_WAITING_PER_ACCOUNT_MAX {
            return Outcome::LimitReached;
        }
        Outcome::Done
    }

    fn accept(&mut self, create: &'a CreateMatches) -> Vec<AcceptedMatch<'a>> {
        let &CreateMatches { account, now, .. } = create;
        if let Some(idempotency) = &create.idempotency {
            self.keys.remember(account.to_bytes(), idempotency, now);
        }
        let virtual_time = self.virtual_time;
        *self.waiting.entry(account).or_default() += create.matches.len();
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
