//! Before the start: who is invited, which bots are entered and leave, in which order they will be seeded.

use crate::ids::{AccountId, BotId};
use crate::limits::{
    TOURNAMENT_ENTRIES_BY_ACCOUNT_MAX, TOURNAMENT_INVITED_MAX, TOURNAMENT_REGISTRATIONS_MAX, TOURNAMENT_SEEDS_NAMED_MAX,
};
use crate::time::UnixMs;
use crate::tournaments::definition::{EntryRule, Seeding};
use crate::tournaments::event::{Event, NewEntrant, WithdrawalReason};
use crate::tournaments::refusal::Refusal;
use crate::tournaments::tournament::{Entrant, Phase, Tournament};
use rules::chance::{Chance, Dice, Purpose};
use std::collections::{BTreeMap, BTreeSet};

impl Tournament {
    fn count_registration(&mut self) -> Result<(), Refusal> {
        if self.phase != Phase::Entries {
            return Err(Refusal::EntriesClosed);
        }
        if self.registrations >= TOURNAMENT_REGISTRATIONS_MAX {
            return Err(Refusal::TooManyChanges);
        }
        self.registrations += 1;
        Ok(())
    }

    pub(super) fn invite(&mut self, account: AccountId) -> Result<(), Refusal> {
        if self.invited.len() >= TOURNAMENT_INVITED_MAX && !self.invited.contains(&account) {
            return Err(Refusal::TooManyInvited);
        }
        self.count_registration()?;
        self.invited.insert(account);
        Ok(())
    }

    pub(super) fn enter(&mut self, new: &NewEntrant, by_organizer: bool, at: UnixMs) -> Result<(), Refusal> {
        if self.phase != Phase::Entries {
            return Err(Refusal::EntriesClosed);
        }
        let is_invited = by_organizer || self.invited.contains(&new.account);
        if self.definition.entry_rule == EntryRule::Invited && !is_invited {
            return Err(Refusal::NotInvited);
        }
        if self.active().any(|(_, entrant)| entrant.info.bot == new.bot) {
            return Err(Refusal::AlreadyEntered);
        }
        if self.active().any(|(_, entrant)| entrant.info.url_digest == new.url_digest) {
            return Err(Refusal::UrlAlreadyEntered);
        }
        let max = self.definition.entrants_max;
        if self.active().count() >= usize::from(max) {
            return Err(Refusal::Full { max });
        }
        let max = self.definition.entrants_per_account_max;
        let own = self.active().filter(|(_, entrant)| entrant.info.account == new.account).count();
        if !by_organizer && own >= usize::from(max) {
            return Err(Refusal::AccountFull { max });
        }
        let made = self.entries_by.get(&new.account).copied().unwrap_or(0);
        let most = TOURNAMENT_ENTRIES_BY_ACCOUNT_MAX.max(max);
        if !by_organizer && made >= most {
            return Err(Refusal::TooManyEntries { max: most });
        }
        self.count_registration()?;
        if !by_organizer {
            self.entries_by.insert(new.account, made + 1);
        }
        let info = new.clone();
        let entrant = Entrant {
            info,
            entered_at: at,
            by_organizer,
            seed: u16::MAX,
            withdrawn: None,
            absent_since: None,
            absences: 0,
        };
        match self.entrant_of(new.bot) {
            Some(back) => self.entrants[usize::from(back)] = entrant,
            None => self.entrants.push(entrant),
        }
        Ok(())
    }

    pub(super) fn withdraw(&mut self, bot: BotId, reason: WithdrawalReason) -> Result<(), Refusal> {
        let is_active = |at: &u16| !self.entrants[usize::from(*at)].is_withdrawn();
        let at = self.entrant_of(bot).filter(is_active).ok_or(Refusal::NotEntered)?;
        match self.phase {
            // Leaving is always possible: it takes no room in the log that the entry did not.
            Phase::Entries | Phase::Running => self.entrants[usize::from(at)].withdrawn = Some(reason),
            Phase::Finished | Phase::Cancelled(_) => return Err(Refusal::Ended),
        }
        Ok(())
    }

    pub(super) fn set_seeds(&mut self, bots: &[BotId]) -> Result<(), Refusal> {
        if self.definition.seeding != Seeding::Manual {
            return Err(Refusal::NotSeededByHand);
        }
        let active: BTreeSet<_> = self.active().map(|(_, entrant)| entrant.info.bot).collect();
        let named: BTreeSet<_> = bots.iter().copied().collect();
        if named.len() != bots.len() || !named.is_subset(&active) {
            return Err(Refusal::InvalidSeeds);
        }
        self.count_registration()?;
        self.seeds_named += bots.len();
        self.manual_seeds = bots.to_vec();
        Ok(())
    }

    /// What a new order of the field, best first, adds to the log: nothing when it is the one that stands.
    ///
    /// # Errors
    /// [`Refusal::TooManySeeds`]: the orders before it name as many bots as a log may hold.
    pub fn seed_events(&self, bots: &[BotId]) -> Result<Vec<Event>, Refusal> {
        let is_set = self.phase == Phase::Entries && self.definition.seeding == Seeding::Manual;
        if is_set && self.manual_seeds == bots {
            return Ok(Vec::new());
        }
        // Not where an event is applied: a log that has more already is read as before.
        if self.seeds_named + bots.len() > TOURNAMENT_SEEDS_NAMED_MAX {
            return Err(Refusal::TooManySeeds);
        }
        Ok(vec![Event::SeedsSet { bots: bots.to_vec() }])
    }

    /// The order of the field for its start, best first: as the definition says, by `ranked` where it says by a ladder.
    #[must_use]
    pub fn seeds(&self, ranked: &[BotId]) -> Vec<u16> {
        let mut seeds: Vec<u16> = self.active().map(|(number, _)| number).collect();
        if self.definition.seeding != Seeding::Manual {
            Chance::new(self.definition.seed, 0, Purpose::TournamentSeeds).shuffle(&mut seeds);
        }
        let order = match self.definition.seeding {
            Seeding::Random => &[],
            Seeding::Manual => &self.manual_seeds[..],
            Seeding::Ladder { .. } => ranked,
        };
        let rank_of: BTreeMap<_, _> = order.iter().zip(0..).collect();
        seeds.sort_by_key(|entrant| {
            rank_of.get(&self.entrants[usize::from(*entrant)].info.bot).copied().unwrap_or(usize::MAX)
        });
        seeds
    }
}
