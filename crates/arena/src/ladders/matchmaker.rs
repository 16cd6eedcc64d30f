//! Pairs the bots of ladders, all the time: whenever fewer matches are unapplied than may be, it plans the next ones and puts them into the
//! queue. What it decides by is read from the store, and a commit that finds others created is refused: so a crash or a change of the leader
//! neither doubles a match nor loses one. It does not rate.

use super::pairing_state::PairingState;
use crate::driver::AdvanceError;
use crate::environment::ArenaEnvironment;
use crate::retries::Retries;
use crate::step::{SaveStepError, check_saved};
use engine::commands::{AddMatches, Command, CompetitionCommand};
use engine::competitions::{CompetitionKind, CompetitionStatus, MatchOrigin};
use engine::ids::{AccountId, BotId, CompetitionId, MatchId};
use engine::ladders::definition::SYSTEM_ACCOUNT;
use engine::ladders::pairing::{PairingRules, plan};
use engine::limits::{
    LADDER_ACCOUNT_SHARE_DIVISOR, LADDER_GAMES_AT_ONCE_PER_BOT, LADDER_LINE_UPS_MAX, LADDER_PAUSED_BOTS_MAX,
    LADDERS_IDLE_PER_LOOK_MAX,
};
use engine::matches::spec::{MatchSpec, SeatSpec};
use engine::time::UnixMs;
use node::lease::Lease;
use rules::chance::{Chance, Purpose, Seed};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::time::Duration;
use store::StoreError;
use tokio::time::{Instant, sleep};

/// How often ladders are looked at: results that came meanwhile are answered by one plan.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// How often it is looked which ladders there are, and which bots are paused.
const LIST_EVERY: Duration = Duration::from_secs(2);
/// Rows of a page of ladders.
const PAGE: usize = 500;

/// The ladders of all nodes, as long as this process leads them.
pub(super) struct Matchmaker<E> {
    environment: E,
    /// Matches of all ladders together that may be unapplied at once: created, and their results not rated.
    pub(super) matches_at_once: usize,
    ladders: BTreeMap<CompetitionId, RunningLadder>,
    paused: BTreeSet<BotId>,
    listed_at: Option<Instant>,
    looks: u64,
    /// Ladders that cannot be read or filled.
    retries: Retries,
    /// The last idle ladder that was looked at: the next look begins behind it.
    last_idle: Option<CompetitionId>,
}

struct RunningLadder {
    /// Its owner.
    account: AccountId,
    /// `None`: it must be read before matches are created.
    state: Option<PairingState>,
    /// Unapplied matches as its row had it: the budget counts those of ladders that have not been read, too.
    unapplied_unread: usize,
    /// In which look it was given matches last.
    filled_in: u64,
}

impl RunningLadder {
    fn matches_unapplied(&self) -> usize {
        self.state.as_ref().map_or(self.unapplied_unread, |state| state.history.matches_unapplied())
    }

    /// Whether it has as many entries as a match has seats; one that has not been read may have.
    fn can_play(&self) -> bool {
        self.state.as_ref().is_none_or(PairingState::can_play)
    }
}

/// Pairs for as long as the lease is valid.
pub(super) async fn run<E: ArenaEnvironment>(environment: E, lease: Lease, matches_at_once: usize) {
    let mut matchmaker = Matchmaker::new(environment, matches_at_once);
    let mut is_failing = false;
    while lease.is_valid() {
        let looked = matchmaker.look().await;
        if let (Err(error), false) = (&looked, is_failing) {
            tracing::warn!(%error, "the bots of ladders cannot be paired; tried again");
        }
        is_failing = looked.is_err();
        sleep(LOOK_EVERY).await;
    }
}

impl<E: ArenaEnvironment> Matchmaker<E> {
    pub(super) fn new(environment: E, matches_at_once: usize) -> Self {
        let (ladders, paused) = (BTreeMap::new(), BTreeSet::new());
        let retries = Retries::default();
        Self { environment, matches_at_once, ladders, paused, listed_at: None, looks: 0, retries, last_idle: None }
    }

    /// Follows the ladders that are due, and creates what they may have.
    pub(super) async fn look(&mut self) -> Result<(), StoreError> {
        if self.listed_at.is_none_or(|at| at.elapsed() >= LIST_EVERY) {
            self.list().await?;
            self.listed_at = Some(Instant::now());
        }
        let mut due = self.due_ladders();
        for id in &due {
            let followed = self.follow(*id).await;
            self.note(*id, followed);
        }
        due.retain(|id| self.retries.is_due(*id, self.environment.now()));
        // Those that have least come first, and of these those that wait longest: no ladder takes the place that another waits for.
        due.sort_by_key(|id| self.ladders.get(id).map(|ladder| (ladder.matches_unapplied(), ladder.filled_in)));
        self.looks += 1;
        for id in due {
            let (own_free, share) = self.share(id);
            let free = self.matches_at_once.saturating_sub(self.matches_unapplied()).min(own_free);
            let filled = self.fill(id, free, share).await;
            match filled {
                Ok(()) => self.retries.record_success(CompetitionKind::Ladder, id),
                failed => self.note(id, failed),
            }
        }
        let metrics = &self.environment.metrics().pairing;
        metrics.matches_unapplied.set(self.matches_unapplied() as u64);
        metrics.matches_allowed.set(self.matches_at_once as u64);
        metrics.ladders_unpaired.set(self.retries.len() as u64);
        Ok(())
    }

    /// What came of one ladder: one that fails does not keep the others from their matches, and is tried again later.
    fn note(&mut self, id: CompetitionId, done: Result<(), impl Display>) {
        if let Err(error) = done {
            let now = self.environment.now();
            self.retries.record_failure(CompetitionKind::Ladder, id, now, &error);
        }
    }

    /// Learns which ladders run, and which bots are paused.
    async fn list(&mut self) -> Result<(), StoreError> {
        let mut running = BTreeMap::new();
        let mut after = None;
        loop {
            let read =
                move |reader: &mut dyn store::Reader| reader.competitions_running(CompetitionKind::Ladder, after, PAGE);
            let page = self.environment.read(read).await?;
            after = page.last().map(|row| row.id);
            let is_last = page.len() < PAGE;
            running.extend(page.into_iter().map(|row| (row.id, row)));
            if is_last {
                break;
            }
        }
        let paused = self.environment.read(|reader| reader.paused_bots(LADDER_PAUSED_BOTS_MAX)).await?;
        self.paused = paused.into_iter().collect();
        self.ladders.retain(|id, _| running.contains_key(id));
        self.retries.retain(|id| running.contains_key(&id));
        for (id, row) in running {
            let unapplied_unread = usize::try_from(row.matches_unapplied()).unwrap_or(usize::MAX);
            let new = RunningLadder { account: row.account, state: None, unapplied_unread, filled_in: 0 };
            self.ladders.entry(id).or_insert(new).unapplied_unread = unapplied_unread;
        }
        Ok(())
    }

    /// Those with unapplied matches, and some of the others in turn.
    fn due_ladders(&mut self) -> Vec<CompetitionId> {
        let now = self.environment.now();
        let ladders = || self.ladders.iter().filter(|(id, _)| self.retries.is_due(**id, now));
        let plays = |ladder: &RunningLadder| ladder.state.is_some() && ladder.matches_unapplied() > 0;
        let idle = || ladders().filter(|(_, ladder)| !plays(ladder)).map(|(id, _)| *id);
        let behind = idle().filter(|id| self.last_idle.is_none_or(|last| *id > last));
        let chosen: Vec<CompetitionId> =
            behind.chain(idle()).take(LADDERS_IDLE_PER_LOOK_MAX.min(idle().count())).collect();
        let playing: Vec<CompetitionId> = ladders().filter(|(_, ladder)| plays(ladder)).map(|(id, _)| *id).collect();
        self.last_idle = chosen.last().copied().or(self.last_idle);
        playing.into_iter().chain(chosen).collect()
    }

    fn matches_unapplied(&self) -> usize {
        self.ladders.values().fold(0, |sum, ladder| sum.saturating_add(ladder.matches_unapplied()))
    }

    /// How many more matches the ladders of this one's owner may have, and how many this one may have in all: what all ladders share, and what
    /// those of one account have of it, is divided evenly among those that can play.
    fn share(&self, id: CompetitionId) -> (usize, usize) {
        let budget = self.matches_at_once;
        let Some(owner) = self.ladders.get(&id).map(|ladder| ladder.account) else { return (0, 0) };
        let evenly = |matches: usize, of: &dyn Fn(&RunningLadder) -> bool| {
            matches.div_ceil(self.ladders.values().filter(|ladder| ladder.can_play() && of(ladder)).count().max(1))
        };
        let share = evenly(budget, &|_| true);
        if owner == SYSTEM_ACCOUNT {
            return (budget, share);
        }
        let is_own = |ladder: &RunningLadder| ladder.account == owner;
        let own_max = (budget / LADDER_ACCOUNT_SHARE_DIVISOR).max(1);
        let own = self.ladders.values().filter(|ladder| is_own(ladder)).map(RunningLadder::matches_unapplied);
        let own_free = own_max.saturating_sub(own.fold(0, usize::saturating_add));
        (own_free, share.min(evenly(own_max, &is_own)))
    }

    /// Learns what was committed of a ladder since the last look; all of it at the first.
    async fn follow(&mut self, id: CompetitionId) -> Result<(), StoreError> {
        let now = self.environment.now();
        let known = self.take(id);
        let read = move |reader: &mut dyn store::Reader| {
            if let Some(mut state) = known
                && let Some(followed) = state.follow(reader, now)?
            {
                return Ok(Some((state, followed)));
            }
            Ok(PairingState::load(reader, id, now)?.map(|state| (state, super::pairing_state::Followed::default())))
        };
        let Some((state, followed)) = self.environment.read(read).await? else { return Ok(()) };
        let metrics = &self.environment.metrics().pairing;
        followed.first_game_ms.into_iter().for_each(|ms| metrics.first_game_wait.observe(Duration::from_millis(ms)));
        self.put(id, state);
        Ok(())
    }

    /// The state of a ladder, out of the map; what is not put back is read anew.
    fn take(&mut self, id: CompetitionId) -> Option<PairingState> {
        let ladder = self.ladders.get_mut(&id)?;
        ladder.unapplied_unread = ladder.matches_unapplied();
        ladder.state.take()
    }

    fn put(&mut self, id: CompetitionId, state: PairingState) {
        if let Some(ladder) = self.ladders.get_mut(&id) {
            ladder.state = Some(state);
        }
    }

    /// Creates at most `free` matches of a ladder, so that at most `share` are unapplied on it.
    async fn fill(&mut self, id: CompetitionId, free: usize, share: usize) -> Result<(), AdvanceError> {
        let Some(state) = self.take(id) else { return Ok(()) };
        let wanted = share.saturating_sub(state.history.matches_unapplied()).min(free).min(LADDER_LINE_UPS_MAX);
        let is_running = state.row.status == CompetitionStatus::Running;
        if !is_running || wanted == 0 {
            self.put(id, state);
            return Ok(());
        }
        let created_before = state.row.matches_created;
        let created = self.create(state, wanted).await;
        if created.is_err()
            && let Some(ladder) = self.ladders.get_mut(&id)
        {
            // They may be created nevertheless: the other ladders get none in their place before its row is read again.
            ladder.unapplied_unread = ladder.unapplied_unread.saturating_add(wanted);
        }
        if let Some(state) = created? {
            if state.row.matches_created > created_before {
                self.ladders.entry(id).and_modify(|ladder| ladder.filled_in = self.looks);
            }
            self.put(id, state);
        }
        Ok(())
    }

    /// Plans and creates matches. `None` when the state is not what is committed.
    pub(super) async fn create(
        &self,
        state: PairingState,
        wanted: usize,
    ) -> Result<Option<PairingState>, AdvanceError> {
        let began = Instant::now();
        let rules = PairingRules {
            seats: state.seats(),
            may_relatives_meet: !state.row.is_public,
            games_at_once_max: LADDER_GAMES_AT_ONCE_PER_BOT,
        };
        let seed = Seed(state.row.id.0 as u64);
        let mut chance = Chance::new(seed, state.row.matches_created as u32, Purpose::LadderPairing);
        let planned = plan(&rules, &state.pairing_entries(&self.paused), &state.history, wanted, &mut chance);
        let metrics = &self.environment.metrics().pairing;
        metrics.planning.observe(began.elapsed());
        if planned.is_empty() {
            return Ok(Some(state));
        }
        let (mut state, line_ups) = self.environment.read(move |reader| state.confirm(reader, &planned)).await?;
        if line_ups.is_empty() {
            return Ok(Some(state));
        }
        let now = self.environment.now();
        let keys = state.row.matches_created + 1..;
        let matches =
            line_ups.iter().zip(keys).map(|(seats, key)| self.spec(&state, seats.clone(), key, now)).collect();
        let add = AddMatches {
            id: state.row.id,
            account: SYSTEM_ACCOUNT,
            expected_matches_created: state.row.matches_created,
            matches,
            now,
        };
        let outcome = self.environment.commit(Command::Competition(CompetitionCommand::AddMatches(add))).await?;
        match check_saved(outcome) {
            Ok(()) => {
                state.start(&line_ups);
                metrics.matches_created.add(line_ups.len() as u64);
                self.environment.notify_queue();
                Ok(Some(state))
            }
            // Others have created matches, or the ladder has ended.
            Err(SaveStepError::Conflict | SaveStepError::NotFound) => Ok(None),
            Err(other) => Err(AdvanceError::Unexpected(other.to_string())),
        }
    }

    fn spec(&self, state: &PairingState, seats: Vec<SeatSpec>, key: u64, now: UnixMs) -> MatchSpec {
        let origin = MatchOrigin { kind: CompetitionKind::Ladder, competition: state.row.id, key };
        let id = MatchId::new(now, self.environment.random_bytes());
        let random = self.environment.random_bytes();
        let seed = Seed(random[..8].iter().fold(0, |seed, byte| seed << 8 | u64::from(*byte)));
        state.definition.settings.spec(id, seed, Some(origin), seats, state.row.is_public)
    }
}
