//! A tournament as its log makes it, and what is to be done next.

use crate::ids::{AccountId, BotId, MatchId};
use crate::time::UnixMs;
use crate::tournaments::decide::Judged;
use crate::tournaments::definition::{Definition, Format};
use crate::tournaments::event::{CancelReason, Event, LogEntry, NewEntrant, WithdrawalReason};
use crate::tournaments::pairing::{Decision, Game, GameEnd, Occupant, Outcome, Pairing, PairingStage, Source};
use crate::tournaments::refusal::Refusal;
use crate::tournaments::swiss::Competitor;
use crate::tournaments::{bracket, group_stage, heats, swiss};
use rules::chance::{Chance, Dice, Purpose, Seed};
use std::collections::{BTreeMap, BTreeSet};

/// A bot in the tournament.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entrant {
    pub info: NewEntrant,
    pub entered_at: UnixMs,
    /// The organizer entered it, with no regard to invitations.
    pub by_organizer: bool,
    /// From 0, the best; `u16::MAX` before the start.
    pub seed: u16,
    pub withdrawn: Option<WithdrawalReason>,
    /// Since when its games wait for it.
    pub absent_since: Option<UnixMs>,
    /// How often it was absent.
    pub absences: u8,
}

impl Entrant {
    #[must_use]
    pub fn is_withdrawn(&self) -> bool {
        self.withdrawn.is_some()
    }

    /// Whether it is in the tournament, and waited for.
    #[must_use]
    pub fn is_absent(&self) -> bool {
        self.absent_since.is_some() && !self.is_withdrawn()
    }
}

/// Where a tournament is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Bots are entered.
    Entries,
    Running,
    Finished,
    Cancelled(CancelReason),
}

/// A game to be put into the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GameOrder {
    pub pairing: u32,
    /// From 0 within the pairing.
    pub game: u16,
    /// Entrants by seat.
    pub seats: Vec<u16>,
    /// Where the chance of the game comes from.
    pub seed: Seed,
}

impl GameOrder {
    /// What a match keeps of it: the pairing and the number of the game.
    #[must_use]
    pub fn key(&self) -> u64 {
        u64::from(self.pairing) << 16 | u64::from(self.game)
    }

    /// The pairing of a key.
    #[must_use]
    pub fn pairing_of(key: u64) -> u32 {
        (key >> 16) as u32
    }
}

/// The fold over a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tournament {
    pub(super) definition: Definition,
    pub(super) entrants: Vec<Entrant>,
    pub(super) invited: BTreeSet<AccountId>,
    /// The organizer's order.
    pub(super) manual_seeds: Vec<BotId>,
    pub(super) phase: Phase,
    pub(super) pairings: Vec<Pairing>,
    /// The pairings before this one are all decided.
    first_open: usize,
    /// Entrants by seed.
    pub(super) field: Vec<u16>,
    /// Rounds that were paired, where rounds come up one after the other.
    rounds: u16,
    /// Entries of the log.
    version: u32,
    /// Of these, before the start.
    pub(super) registrations: usize,
    /// Bots in all orders of the organizer's so far.
    pub(super) seeds_named: usize,
    /// Entries that accounts have made by themselves, those of bots that left included.
    pub(super) entries_by: BTreeMap<AccountId, u16>,
    started_at: Option<UnixMs>,
    ended_at: Option<UnixMs>,
}

impl Tournament {
    /// One to which nothing has happened.
    #[must_use]
    pub fn new(definition: Definition) -> Self {
        Self {
            definition,
            entrants: Vec::new(),
            invited: BTreeSet::new(),
            manual_seeds: Vec::new(),
            phase: Phase::Entries,
            pairings: Vec::new(),
            first_open: 0,
            field: Vec::new(),
            rounds: 0,
            version: 0,
            registrations: 0,
            seeds_named: 0,
            entries_by: BTreeMap::new(),
            started_at: None,
            ended_at: None,
        }
    }

    #[must_use]
    pub fn definition(&self) -> &Definition {
        &self.definition
    }

    /// In the order of their entries, those that left included.
    #[must_use]
    pub fn entrants(&self) -> &[Entrant] {
        &self.entrants
    }

    #[must_use]
    pub fn pairings(&self) -> &[Pairing] {
        &self.pairings
    }

    #[must_use]
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Entries of its log.
    #[must_use]
    pub fn version(&self) -> u32 {
        self.version
    }

    #[must_use]
    pub fn started_at(&self) -> Option<UnixMs> {
        self.started_at
    }

    #[must_use]
    pub fn ended_at(&self) -> Option<UnixMs> {
        self.ended_at
    }

    #[must_use]
    pub fn invited(&self) -> &BTreeSet<AccountId> {
        &self.invited
    }

    /// The rounds that a Swiss tournament will have.
    #[must_use]
    pub fn swiss_rounds(&self) -> u16 {
        self.definition.format.swiss_rounds(self.field.len() as u16)
    }

    /// The number of a bot that was entered, also when it has left.
    #[must_use]
    pub fn entrant_of(&self, bot: BotId) -> Option<u16> {
        self.entrants.iter().position(|entrant| entrant.info.bot == bot).map(|at| at as u16)
    }

    /// Bots that are in it and have not left.
    pub fn active(&self) -> impl Iterator<Item = (u16, &Entrant)> {
        (0..).zip(&self.entrants).filter(|(_, entrant)| !entrant.is_withdrawn())
    }

    /// Adds an entry of its log. When it is refused, nothing has changed.
    ///
    /// # Errors
    /// Why it cannot happen now.
    pub fn apply(&mut self, entry: &LogEntry) -> Result<(), Refusal> {
        match &entry.event {
            Event::Invited { account } => self.invite(*account)?,
            Event::Entered { entrant, by_organizer } => self.enter(entrant, *by_organizer, entry.at)?,
            Event::Withdrawn { bot, reason } => self.withdraw(*bot, *reason)?,
            Event::SeedsSet { bots } => self.set_seeds(bots)?,
            Event::Started { seeds } => self.start(seeds, entry.at)?,
            Event::RoundPaired { pairs, bye } => self.add_swiss_round(pairs, *bye)?,
            Event::GameCreated { pairing, match_id, seats } => {
                let (match_id, seats, created_at) = (*match_id, seats.clone(), entry.at);
                let game = Game { match_id, seats, created_at, started_at: None, ended_at: None, end: None };
                self.add_game(*pairing, game)?;
            }
            Event::GameStarted { pairing, match_id, started_at } => {
                let game = self.open_game(*pairing, *match_id).filter(|game| game.started_at.is_none());
                game.ok_or(Refusal::Inconsistent("a game that is not queued"))?.started_at = Some(*started_at);
            }
            Event::GamePlayed { pairing, match_id, score } | Event::GameAdjudicated { pairing, match_id, score } => {
                self.end_game(*pairing, *match_id, GameEnd::Played(score.clone()), entry.at)?;
            }
            Event::GameVoid { pairing, match_id, reason } => {
                self.end_game(*pairing, *match_id, GameEnd::Void(*reason), entry.at)?;
            }
            Event::Cancelled { reason } => self.cancel(*reason)?,
            Event::Absent { bot } => self.begin_absence(*bot, entry.at)?,
            Event::Returned { bot } => self.end_absence(*bot)?,
        }
        self.version += 1;
        let changed = match &entry.event {
            Event::GameCreated { pairing, .. }
            | Event::GameStarted { pairing, .. }
            | Event::GamePlayed { pairing, .. }
            | Event::GameAdjudicated { pairing, .. }
            | Event::GameVoid { pairing, .. } => Some(*pairing),
            _ => None,
        };
        self.settle(changed, entry.at);
        if self.phase == Phase::Running && self.is_complete() {
            self.phase = Phase::Finished;
        }
        if matches!(self.phase, Phase::Finished | Phase::Cancelled(_)) && self.ended_at.is_none() {
            self.ended_at = Some(entry.at);
        }
        Ok(())
    }

    fn start(&mut self, seeds: &[u16], at: UnixMs) -> Result<(), Refusal> {
        match self.phase {
            Phase::Entries => {}
            Phase::Running => return Err(Refusal::AlreadyStarted),
            Phase::Finished | Phase::Cancelled(_) => return Err(Refusal::Ended),
        }
        let mut sorted = seeds.to_vec();
        sorted.sort_unstable();
        if !sorted.into_iter().eq(self.active().map(|(number, _)| number)) {
            return Err(Refusal::InvalidSeeds);
        }
        let (min, entered) = (self.definition.entrants_min.max(2), seeds.len() as u16);
        if entered < min {
            return Err(Refusal::TooFewEntrants { min, entered });
        }
        for (seed, entrant) in seeds.iter().enumerate() {
            self.entrants[usize::from(*entrant)].seed = seed as u16;
        }
        self.field = seeds.to_vec();
        self.phase = Phase::Running;
        self.started_at = Some(at);
        match self.definition.format {
            Format::SingleElimination { third_place } => {
                bracket::add_single(&mut self.pairings, &self.field, third_place);
            }
            Format::DoubleElimination { final_reset } => {
                bracket::add_double(&mut self.pairings, &self.field, final_reset);
            }
            Format::RoundRobin => self.pairings = group_stage::round_robin(&self.field, PairingStage::RoundRobin),
            Format::Groups { groups, .. } => self.pairings = group_stage::pairings(&self.field, groups),
            Format::Heats { size, advance } => {
                self.rounds = 1;
                self.pairings = heats::round(&self.field, 1, size, advance);
            }
            Format::Swiss { .. } => {}
        }
        Ok(())
    }

    fn cancel(&mut self, reason: CancelReason) -> Result<(), Refusal> {
        match self.phase {
            Phase::Entries | Phase::Running => self.phase = Phase::Cancelled(reason),
            Phase::Finished | Phase::Cancelled(_) => return Err(Refusal::Ended),
        }
        Ok(())
    }

    fn add_swiss_round(&mut self, pairs: &[(u16, u16)], bye: Option<u16>) -> Result<(), Refusal> {
        if !self.is_round_due() {
            return Err(Refusal::Inconsistent("a round is not due"));
        }
        let named = pairs.iter().flat_map(|(one, other)| [*one, *other]).chain(bye);
        let mut all: Vec<_> = named.collect();
        all.sort_unstable();
        if !all.into_iter().eq(self.active().map(|(number, _)| number)) {
            return Err(Refusal::Inconsistent("a round has each entrant once"));
        }
        self.rounds += 1;
        let round = self.rounds;
        let sources = pairs.iter().map(|(one, other)| vec![Source::Entrant(*one), Source::Entrant(*other)]);
        let bye = bye.map(|entrant| vec![Source::Entrant(entrant), Source::Nobody]);
        self.pairings.extend(sources.chain(bye).map(|sources| Pairing::new(PairingStage::Swiss, round, sources)));
        Ok(())
    }

    fn add_game(&mut self, pairing: u32, game: Game) -> Result<(), Refusal> {
        let known = self.pairings.get(pairing as usize).ok_or(Refusal::Inconsistent("a game of no pairing"))?;
        let are_players = game.seats.iter().all(|seat| known.entrants().any(|entrant| entrant == *seat));
        if self.phase != Phase::Running || known.outcome.is_some() || !known.is_ready() || !are_players {
            return Err(Refusal::Inconsistent("a game that is not needed"));
        }
        self.pairings[pairing as usize].games.push(game);
        Ok(())
    }

    fn open_game(&mut self, pairing: u32, match_id: MatchId) -> Option<&mut Game> {
        let games = &mut self.pairings.get_mut(pairing as usize)?.games;
        games.iter_mut().find(|game| game.match_id == match_id && game.end.is_none())
    }

    fn end_game(&mut self, pairing: u32, match_id: MatchId, end: GameEnd, at: UnixMs) -> Result<(), Refusal> {
        let game = self.open_game(pairing, match_id).ok_or(Refusal::Inconsistent("a game that is not open"))?;
        let seats = game.seats.len();
        if let GameEnd::Played(score) = &end
            && [score.places.len(), score.food.len(), score.silent.len()] != [seats; 3]
        {
            return Err(Refusal::Inconsistent("a result of other seats"));
        }
        (game.end, game.ended_at) = (Some(end), Some(at));
        Ok(())
    }

    /// Whether this game is known and has no end: its result counts.
    #[must_use]
    pub fn is_game_open(&self, pairing: u32, match_id: MatchId) -> bool {
        let pairing = self.pairings.get(pairing as usize);
        pairing.is_some_and(|pairing| pairing.open_games().any(|game| game.match_id == match_id))
    }

    /// All games that are queued or running, of pairings that are decided too.
    pub fn open_games(&self) -> impl Iterator<Item = (u32, &Game)> {
        let numbered = (0..).zip(&self.pairings);
        numbered.flat_map(|(number, pairing)| pairing.open_games().map(move |game| (number, game)))
    }

    pub(super) fn judged<'a>(&'a self, number: usize, pairing: &'a Pairing) -> Judged<'a> {
        Judged { definition: &self.definition, entrants: &self.entrants, number: number as u32, pairing }
    }

    /// Lets everything follow that follows: who comes into a pairing, who has won it, which rounds come up. When only the games of
    /// one pairing have changed, `changed` is its number.
    fn settle(&mut self, changed: Option<u32>, at: UnixMs) {
        if self.phase != Phase::Running {
            return;
        }
        loop {
            for number in self.first_open..self.pairings.len() {
                let is_changed = changed.is_none_or(|changed| changed as usize == number);
                if is_changed || !self.pairings[number].is_ready() {
                    self.settle_pairing(number, at);
                }
            }
            let is_open = |pairing: &Pairing| pairing.outcome.is_none();
            let open = self.pairings[self.first_open..].iter().position(is_open);
            self.first_open = open.map_or(self.pairings.len(), |open| self.first_open + open);
            if open.is_some() || !self.add_next_round() {
                return;
            }
        }
    }

    fn settle_pairing(&mut self, number: usize, at: UnixMs) {
        if self.pairings[number].outcome.is_some() {
            return;
        }
        for place in 0..self.pairings[number].sources.len() {
            if self.pairings[number].players[place] == Occupant::Open {
                self.pairings[number].players[place] = self.resolve(self.pairings[number].sources[place]);
            }
        }
        let outcome = if self.is_reset_unneeded(&self.pairings[number]) {
            Some(Outcome { decision: Decision::NotNeeded, ranking: Vec::new() })
        } else {
            self.judged(number, &self.pairings[number]).outcome()
        };
        self.pairings[number].decided_at = outcome.as_ref().map(|_| at);
        self.pairings[number].outcome = outcome;
    }

    fn resolve(&self, source: Source) -> Occupant {
        let ranked = |number: u32, rank: usize| match &self.pairings[number as usize].outcome {
            None => Occupant::Open,
            Some(outcome) => outcome.ranking.get(rank).map_or(Occupant::Nobody, |entrant| Occupant::Entrant(*entrant)),
        };
        match source {
            Source::Entrant(entrant) => Occupant::Entrant(entrant),
            Source::Nobody => Occupant::Nobody,
            Source::WinnerOf(number) => ranked(number, 0),
            Source::LoserOf(number) => ranked(number, 1),
        }
    }

    /// The second final is played when the one without a defeat has lost the first, and both are still there.
    fn is_reset_unneeded(&self, pairing: &Pairing) -> bool {
        if pairing.stage != PairingStage::FinalReset {
            return false;
        }
        let Some(Source::WinnerOf(first)) = pairing.sources.first() else { return false };
        let first = &self.pairings[*first as usize];
        let undefeated = first.players.first().and_then(|player| player.entrant());
        first.outcome.is_some() && (first.winner() == undefeated || first.winner().is_none())
    }

    /// The next round, where it follows from the ones before; whether there is one.
    fn add_next_round(&mut self) -> bool {
        match self.definition.format {
            Format::Heats { size, advance } => {
                let last = self.heats_of(self.rounds);
                let field = heats::advanced(&last);
                if last.len() < 2 || field.len() < 2 {
                    return false;
                }
                self.rounds += 1;
                self.pairings.extend(heats::round(&field, self.rounds, size, advance));
                true
            }
            Format::Groups { groups, advance, third_place } if self.rounds == 0 => {
                self.rounds = 1;
                let ranked: Vec<_> = (0..groups).map(|group| self.group_ranking(group)).collect();
                let field = group_stage::qualified(&ranked, advance);
                if field.len() >= 2 {
                    bracket::add_single(&mut self.pairings, &field, third_place);
                }
                field.len() >= 2
            }
            _ => false,
        }
    }

    /// Whether a round of a Swiss tournament is to be paired: see [`Tournament::next_round`].
    fn is_round_due(&self) -> bool {
        matches!(self.definition.format, Format::Swiss { .. })
            && self.phase == Phase::Running
            && self.first_open == self.pairings.len()
            && self.rounds < self.swiss_rounds()
            && self.active().nth(1).is_some()
    }

    /// Whether nothing is left to play.
    fn is_complete(&self) -> bool {
        self.first_open == self.pairings.len() && !self.is_round_due()
    }

    /// The next round of a Swiss tournament, when all of the one before is decided.
    #[must_use]
    pub fn next_round(&self) -> Option<Event> {
        if !self.is_round_due() {
            return None;
        }
        let standings = self.standings();
        let active = standings.iter().filter(|standing| !self.entrants[usize::from(standing.entrant)].is_withdrawn());
        let competitor = |standing: &crate::tournaments::Standing| Competitor {
            entrant: standing.entrant,
            points: standing.points,
            byes: standing.byes,
        };
        let table: Vec<_> = active.map(competitor).collect();
        let mut met: BTreeMap<(u16, u16), u32> = BTreeMap::new();
        for pairing in &self.pairings {
            if let [Occupant::Entrant(one), Occupant::Entrant(other)] = pairing.players[..] {
                *met.entry((one.min(other), one.max(other))).or_default() += 1;
            }
        }
        let meetings = |one: u16, other: u16| met.get(&(one.min(other), one.max(other))).copied().unwrap_or(0);
        let swiss::Round { pairs, bye } = swiss::pair(&table, meetings);
        Some(Event::RoundPaired { pairs, bye })
    }

    /// The games to be put into the queue now: as many as are certainly needed and as may be open at once.
    #[must_use]
    pub fn next_games(&self) -> Vec<GameOrder> {
        let mut orders = Vec::new();
        if self.phase != Phase::Running {
            return orders;
        }
        let undecided = || self.pairings.iter().enumerate().skip(self.first_open).filter(|(_, p)| p.outcome.is_none());
        let open: usize = undecided().map(|(_, pairing)| pairing.open_games().count()).sum();
        let room = usize::from(self.definition.rules.games_at_once).saturating_sub(open);
        for (number, pairing) in undecided().filter(|(_, pairing)| !self.is_held_up(pairing)) {
            let judged = self.judged(number, pairing);
            for _ in 0..judged.games_needed() {
                if orders.len() >= room {
                    return orders;
                }
                let ahead = orders.iter().filter(|order: &&GameOrder| order.pairing == number as u32).count();
                let game = pairing.games.len() + ahead;
                let seed = self.game_seed(number as u32, game);
                orders.push(GameOrder { pairing: number as u32, game: game as u16, seats: judged.seats(game), seed });
            }
        }
        orders
    }

    /// The seed of a game: the same in every life of this tournament.
    fn game_seed(&self, pairing: u32, game: usize) -> Seed {
        const HALF: u32 = 1 << 31;
        let mut chance = Chance::new(self.definition.seed, pairing, Purpose::TournamentGames);
        let mut seed = 0;
        for _ in 0..=game {
            seed = u64::from(chance.below(HALF)) << 31 | u64::from(chance.below(HALF));
        }
        Seed(seed)
    }

    /// Who has won it, once it is finished. No entrant, when all who still could have left.
    #[must_use]
    pub fn champion(&self) -> Option<u16> {
        if self.phase != Phase::Finished {
            return None;
        }
        let best = match self.definition.format {
            Format::SingleElimination { .. } | Format::DoubleElimination { .. } => self.last_winner(),
            Format::Heats { .. } => heats::advanced(&self.heats_of(self.rounds)).first().copied(),
            Format::Groups { .. } if self.pairings.iter().any(|pairing| pairing.stage == PairingStage::Winners) => {
                self.last_winner()
            }
            Format::Swiss { .. } | Format::RoundRobin | Format::Groups { .. } => {
                self.standings().first().map(|standing| standing.entrant)
            }
        };
        best.filter(|entrant| !self.entrants[usize::from(*entrant)].is_withdrawn())
    }

    fn heats_of(&self, round: u16) -> Vec<Pairing> {
        self.pairings.iter().filter(|heat| heat.round == round).cloned().collect()
    }

    /// The winner of the last pairing that was played for the first place.
    fn last_winner(&self) -> Option<u16> {
        let is_final = |pairing: &&Pairing| {
            pairing.stage != PairingStage::ThirdPlace
                && pairing.outcome.as_ref().is_some_and(|outcome| outcome.decision != Decision::NotNeeded)
        };
        self.pairings.iter().rev().find(is_final).and_then(Pairing::winner)
    }
}
