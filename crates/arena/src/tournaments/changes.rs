//! What requests change: a tournament is created, bots are entered and leave, it is started and called off.

use super::seeding::ladder_order;
use super::step::{Saved, Step};
use super::{LoadedTournament, TournamentError, Tournaments};
use crate::environment::ArenaEnvironment;
use bot_client::canonical_url;
use engine::commands::{Command, CompetitionCommand, Idempotency, Outcome};
use engine::competitions::{CompetitionKind, CompetitionRow};
use engine::digest::digest;
use engine::ids::{AccountId, BotId, CompetitionId};
use engine::limits::{TOURNAMENT_CHANGE_ATTEMPTS_MAX, TOURNAMENTS_PER_ACCOUNT_MAX};
use engine::rows::OwnedBot;
use engine::tournaments::{
    CancelReason, Definition, Event, NewEntrant, Phase, Refusal, Seeding, Tournament, WithdrawalReason,
};
use std::collections::BTreeMap;
use std::sync::Arc;
use store::StoreError;

/// A tournament to be created.
#[derive(Clone, Debug)]
pub struct NewTournament {
    /// Its organizer.
    pub account: AccountId,
    pub name: String,
    /// Whether everyone may see it.
    pub is_public: bool,
    pub definition: Definition,
}

/// A bot to be entered.
#[derive(Clone, Debug)]
pub struct BotEntry {
    pub owned: OwnedBot,
    /// Whether the organizer enters it.
    pub by_organizer: bool,
}

impl BotEntry {
    fn event(&self) -> Event {
        let Self { owned: OwnedBot { bot, owner }, by_organizer } = self;
        let entrant = NewEntrant {
            bot: bot.id,
            name: bot.name.clone(),
            account: bot.account,
            author: owner.clone(),
            url_digest: digest(&canonical_url(&bot.url)),
        };
        Event::Entered { entrant, by_organizer: *by_organizer }
    }
}

/// What came of creating a tournament.
#[derive(Clone, Debug)]
pub enum CreatedTournament {
    New(LoadedTournament),
    /// This very request was done before, with this response.
    Replayed(Vec<u8>),
}

impl<E: ArenaEnvironment> Tournaments<E> {
    /// Creates one, once for each key that `idempotency` makes of it.
    ///
    /// # Errors
    /// [`TournamentError::TooMany`] and [`TournamentError::KeyReused`]; the store's.
    pub async fn create(
        &self,
        new: NewTournament,
        idempotency: impl FnOnce(&LoadedTournament) -> Option<Idempotency> + Send,
    ) -> Result<CreatedTournament, TournamentError> {
        let environment = &self.0.environment;
        let now = environment.now();
        let id = CompetitionId::new(now, environment.random_bytes());
        let definition = new.definition.encode();
        let row = CompetitionRow {
            is_public: new.is_public,
            due_at: new.definition.starts_at,
            ..CompetitionRow::new(id, CompetitionKind::Tournament, new.account, new.name, definition, now)
        };
        let created = LoadedTournament { row: row.clone(), state: Arc::new(Tournament::new(new.definition)) };
        let idempotency = idempotency(&created);
        let create = CompetitionCommand::Create { row, live_max: TOURNAMENTS_PER_ACCOUNT_MAX, idempotency };
        match environment.commit(Command::Competition(create)).await? {
            Outcome::Done => {}
            Outcome::Replayed(response) => return Ok(CreatedTournament::Replayed(response)),
            Outcome::KeyReused => return Err(TournamentError::KeyReused),
            Outcome::LimitReached => return Err(TournamentError::TooMany),
            Outcome::NotFound => return Err(TournamentError::NoSuchAccount),
            other => return Err(TournamentError::Unexpected(format!("{other:?}"))),
        }
        environment.metrics().tournaments.created.inc();
        Ok(CreatedTournament::New(created))
    }

    /// Enters a bot. One that is entered already stays as it is.
    ///
    /// # Errors
    /// [`TournamentError::Refused`] and others.
    pub async fn enter(&self, id: CompetitionId, entry: &BotEntry) -> Result<LoadedTournament, TournamentError> {
        self.change(id, |state| match state.active().any(|(_, entrant)| entrant.info.bot == entry.owned.bot.id) {
            true => Ok(Vec::new()),
            false => Ok(vec![entry.event()]),
        })
        .await
    }

    /// Takes a bot out, before the start or in the middle.
    ///
    /// # Errors
    /// [`TournamentError::Refused`] and others.
    pub async fn withdraw(
        &self,
        id: CompetitionId,
        bot: BotId,
        reason: WithdrawalReason,
    ) -> Result<LoadedTournament, TournamentError> {
        self.change(id, |_| Ok(vec![Event::Withdrawn { bot, reason }])).await
    }

    /// Invites an account. One that is invited already stays so.
    ///
    /// # Errors
    /// [`TournamentError::Refused`] and others.
    pub async fn invite(&self, id: CompetitionId, account: AccountId) -> Result<LoadedTournament, TournamentError> {
        self.change(id, |state| match state.invited().contains(&account) {
            true => Ok(Vec::new()),
            false => Ok(vec![Event::Invited { account }]),
        })
        .await
    }

    /// Sets the organizer's order of the field, best first. The one that stands already is not saved again.
    ///
    /// # Errors
    /// [`TournamentError::Refused`] and others.
    pub async fn set_seeds(&self, id: CompetitionId, bots: &[BotId]) -> Result<LoadedTournament, TournamentError> {
        self.change(id, |state| state.seed_events(bots)).await
    }

    /// Calls it off.
    ///
    /// # Errors
    /// [`TournamentError::Refused`] and others.
    pub async fn cancel(&self, id: CompetitionId) -> Result<LoadedTournament, TournamentError> {
        self.change(id, |_| Ok(vec![Event::Cancelled { reason: CancelReason::Organizer }])).await
    }

    /// Starts it by hand. Bots that are gone leave first.
    ///
    /// # Errors
    /// [`TournamentError::Refused`] with too few bots, and others.
    pub async fn start(&self, id: CompetitionId) -> Result<LoadedTournament, TournamentError> {
        let _writer = self.lock_writer(id).await;
        for _ in 0..TOURNAMENT_CHANGE_ATTEMPTS_MAX {
            let mut step = Step::new(self.load(id).await?, self.0.environment.now());
            self.start_step(&mut step).await?;
            if let Saved::Yes(saved) = self.save(step).await? {
                return Ok(saved);
            }
        }
        Err(TournamentError::Busy)
    }

    /// Adds what a start means. The games follow in the leader's next step, which is due at once.
    pub(super) async fn start_step(&self, step: &mut Step) -> Result<(), TournamentError> {
        if step.state.phase() == Phase::Entries {
            self.withdraw_gone(step).await?;
        }
        let ranked = self.ladder_order(step).await?;
        step.happen(Event::Started { seeds: step.state.seeds(&ranked) })?;
        step.due_at = Some(self.0.environment.now());
        Ok(())
    }

    /// Bots whose owners have deleted them, or have made them private although another entered them, leave.
    pub(super) async fn withdraw_gone(&self, step: &mut Step) -> Result<(), TournamentError> {
        let entered: Vec<BotId> = step.state.active().map(|(_, entrant)| entrant.info.bot).collect();
        self.withdraw_gone_of(step, entered).await.map(|_| ())
    }

    /// The same of these bots. Returns those that are there.
    pub(super) async fn withdraw_gone_of(
        &self,
        step: &mut Step,
        ids: Vec<BotId>,
    ) -> Result<BTreeMap<BotId, OwnedBot>, TournamentError> {
        let sought = ids.clone();
        let bots = self.0.environment.read(move |reader| reader.bots_with_owners(&sought)).await?;
        let bots: BTreeMap<BotId, OwnedBot> = bots.into_iter().map(|owned| (owned.bot.id, owned)).collect();
        let organizer = step.row().account;
        for id in ids {
            let reason = match bots.get(&id) {
                None => WithdrawalReason::Deleted,
                Some(OwnedBot { bot, .. })
                    if !bot.is_public && bot.account != organizer && is_guest_of(&step.state, id) =>
                {
                    WithdrawalReason::Private
                }
                Some(_) => continue,
            };
            step.happen(Event::Withdrawn { bot: id, reason })?;
        }
        Ok(bots)
    }

    /// The bots of the ladder by which the field is seeded, best first.
    async fn ladder_order(&self, step: &Step) -> Result<Vec<BotId>, StoreError> {
        match step.state.definition().seeding {
            Seeding::Random | Seeding::Manual => Ok(Vec::new()),
            Seeding::Ladder { ladder } => {
                let entered: Vec<BotId> = step.state.active().map(|(_, entrant)| entrant.info.bot).collect();
                self.0.environment.read(move |reader| ladder_order(reader, ladder, &entered)).await
            }
        }
    }

    /// Decides a change and saves it, again when another writer was first. Without events, nothing is saved.
    async fn change(
        &self,
        id: CompetitionId,
        decide: impl Fn(&Tournament) -> Result<Vec<Event>, Refusal>,
    ) -> Result<LoadedTournament, TournamentError> {
        let _writer = self.lock_writer(id).await;
        for _ in 0..TOURNAMENT_CHANGE_ATTEMPTS_MAX {
            let loaded = self.load(id).await?;
            let events = decide(&loaded.state)?;
            if events.is_empty() {
                return Ok(loaded);
            }
            let mut step = Step::new(loaded, self.0.environment.now());
            for event in events {
                step.happen(event)?;
            }
            if step.state.phase() == Phase::Running {
                // What follows for the games, the leader decides at once.
                step.due_at = Some(self.0.environment.now());
            }
            if let Saved::Yes(saved) = self.save(step).await? {
                return Ok(saved);
            }
        }
        Err(TournamentError::Busy)
    }
}

/// Whether the organizer entered this bot.
fn is_guest_of(state: &Tournament, bot: BotId) -> bool {
    state.active().any(|(_, entrant)| entrant.info.bot == bot && entrant.by_organizer)
}
