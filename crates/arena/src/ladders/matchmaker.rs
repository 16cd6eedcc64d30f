//! Pairs the bots of ladders, all the time: whenever fewer matches are under way than may be, it plans the next ones and puts them into the
//! queue. What it decides by is read from the store, and a commit that finds others created is refused: so a crash or a change of the leader
//! neither doubles a match nor loses one. It does not rate.

use super::pairing_state::PairingState;
use crate::environment::ArenaEnvironment;
use engine::commands::{AddMatches, Command, CompetitionCommand, Outcome};
use engine::competitions::{CompetitionKind, CompetitionStatus, MatchOrigin};
use engine::ids::{BotId, CompetitionId, MatchId};
use engine::ladders::definition::SYSTEM_ACCOUNT;
use engine::ladders::pairing::{PairingRules, plan};
use engine::limits::{
    LADDER_GAMES_AT_ONCE_PER_BOT, LADDER_GIVE_WAY_AFTER, LADDER_LINE_UPS_MAX, LADDER_TRICKLE_DIVISOR,
};
use engine::matches::spec::MatchSpec;
use engine::time::UnixMs;
use node::lease::Lease;
use rules::chance::{Chance, Purpose, Seed};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};
use store::StoreError;
use tokio::time::sleep;

/// How often ladders are looked at: results that came meanwhile are answered by one plan.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// How often it is looked which ladders there are, and which bots are paused.
const LIST_EVERY: Duration = Duration::from_secs(2);
/// Ladders without a match under way that one look reads: with more of these, each is looked at less often.
const IDLE_LADDERS_PER_LOOK: usize = 16;
/// Paused bots that are known at once: more than ladders have entries.
const PAUSED_BOTS_MAX: usize = 100_000;
/// Rows of a page of ladders.
const PAGE: usize = 500;

/// The ladders of all nodes, as long as this process leads them.
pub(super) struct Matchmaker<E> {
    environment: E,
    /// Matches that may be under way at once, of all ladders together.
    matches_at_once: usize,
    /// `None`: not loaded.
    ladders: BTreeMap<CompetitionId, Option<PairingState>>,
    paused: BTreeSet<BotId>,
    listed_at: Option<Instant>,
    /// The last idle ladder that was looked at: the next look begins behind it.
    last_idle: Option<CompetitionId>,
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
        Self { environment, matches_at_once, ladders, paused, listed_at: None, last_idle: None }
    }

    /// Follows the ladders that are due, and creates what they may have.
    pub(super) async fn look(&mut self) -> Result<(), StoreError> {
        if self.listed_at.is_none_or(|at| at.elapsed() >= LIST_EVERY) {
            self.list().await?;
            self.listed_at = Some(Instant::now());
        }
        let now = self.environment.now();
        let waiting_since =
            self.environment.read(|reader| reader.next_waiting_besides(CompetitionKind::Ladder)).await?;
        let waited_ms = waiting_since.map_or(0, |since| now.0.saturating_sub(since.0).max(0));
        let gives_way = waited_ms > LADDER_GIVE_WAY_AFTER.as_millis() as i64;
        let budget =
            if gives_way { (self.matches_at_once / LADDER_TRICKLE_DIVISOR).max(1) } else { self.matches_at_once };
        let due = self.due_ladders();
        for id in &due {
            self.follow(*id).await?;
        }
        let share = budget.div_ceil(self.ladders_that_can_play().max(1));
        for id in due {
            let free = budget.saturating_sub(self.matches_under_way());
            self.fill(id, free, share).await?;
        }
        let metrics = &self.environment.metrics().pairing;
        metrics.matches_under_way.set(self.matches_under_way() as u64);
        metrics.matches_allowed.set(budget as u64);
        metrics.gives_way.set(u64::from(gives_way));
        Ok(())
    }

    /// Learns which ladders run, and which bots are paused.
    async fn list(&mut self) -> Result<(), StoreError> {
        let mut running = BTreeSet::new();
        let mut after = None;
        loop {
            let read =
                move |reader: &mut dyn store::Reader| reader.competitions_running(CompetitionKind::Ladder, after, PAGE);
            let page = self.environment.read(read).await?;
            running.extend(page.iter().map(|row| row.id));
            after = page.last().map(|row| row.id);
            if page.len() < PAGE {
                break;
            }
        }
        let paused = self.environment.read(|reader| reader.paused_bots(PAUSED_BOTS_MAX)).await?;
        self.paused = paused.into_iter().collect();
        self.ladders.retain(|id, _| running.contains(id));
        for id in running {
            self.ladders.entry(id).or_default();
        }
        Ok(())
    }

    /// Those with matches under way, and some of the others in turn.
    fn due_ladders(&mut self) -> Vec<CompetitionId> {
        let plays =
            |state: &Option<PairingState>| state.as_ref().is_some_and(|state| state.history.matches_under_way() > 0);
        let idle = || self.ladders.iter().filter(|(_, state)| !plays(state)).map(|(id, _)| *id);
        let behind = idle().filter(|id| self.last_idle.is_none_or(|last| *id > last));
        let chosen: Vec<CompetitionId> = behind.chain(idle()).take(IDLE_LADDERS_PER_LOOK.min(idle().count())).collect();
        let playing: Vec<CompetitionId> =
            self.ladders.iter().filter(|(_, state)| plays(state)).map(|(id, _)| *id).collect();
        self.last_idle = chosen.last().copied().or(self.last_idle);
        playing.into_iter().chain(chosen).collect()
    }

    fn matches_under_way(&self) -> usize {
        self.ladders.values().flatten().map(|state| state.history.matches_under_way()).sum()
    }

    fn ladders_that_can_play(&self) -> usize {
        self.ladders.values().flatten().filter(|state| state.can_play()).count()
    }

    /// Learns what was committed of a ladder since the last look; all of it at the first.
    async fn follow(&mut self, id: CompetitionId) -> Result<(), StoreError> {
        let now = self.environment.now();
        let known = self.ladders.get_mut(&id).and_then(Option::take);
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
        self.ladders.insert(id, Some(state));
        Ok(())
    }

    /// Creates at most `free` matches of a ladder, so that at most `share` are under way on it.
    async fn fill(&mut self, id: CompetitionId, free: usize, share: usize) -> Result<(), StoreError> {
        let Some(mut state) = self.ladders.get_mut(&id).and_then(Option::take) else { return Ok(()) };
        let wanted = share.saturating_sub(state.history.matches_under_way()).min(free).min(LADDER_LINE_UPS_MAX);
        let is_running = state.row.status == CompetitionStatus::Running;
        if wanted == 0 || !is_running || self.create(&mut state, wanted).await? {
            self.ladders.insert(id, Some(state));
        }
        Ok(())
    }

    /// Plans and creates matches. Whether the state still is what is committed.
    pub(super) async fn create(&self, state: &mut PairingState, wanted: usize) -> Result<bool, StoreError> {
        let began = Instant::now();
        let rules = PairingRules {
            seats: state.seats(),
            may_relatives_meet: !state.row.is_public,
            games_at_once_max: LADDER_GAMES_AT_ONCE_PER_BOT,
        };
        let seed = Seed(state.row.id.0 as u64);
        let mut chance = Chance::new(seed, state.row.matches_created as u32, Purpose::LadderPairing);
        let line_ups = plan(&rules, &state.pairing_entries(&self.paused), &state.history, wanted, &mut chance).line_ups;
        let metrics = &self.environment.metrics().pairing;
        metrics.planning.observe(began.elapsed());
        if line_ups.is_empty() {
            return Ok(true);
        }
        let now = self.environment.now();
        let keys = state.row.matches_created + 1..;
        let matches: Option<Vec<MatchSpec>> =
            line_ups.iter().zip(keys).map(|(line_up, key)| self.spec(state, line_up, key, now)).collect();
        let Some(matches) = matches else { return Ok(false) };
        let created = matches.len();
        let add = AddMatches {
            id: state.row.id,
            account: SYSTEM_ACCOUNT,
            expected_matches_created: state.row.matches_created,
            matches,
            now,
        };
        match self.environment.commit(Command::Competition(CompetitionCommand::AddMatches(add))).await? {
            Outcome::Done => {
                state.start(&line_ups);
                metrics.matches_created.add(created as u64);
                self.environment.notify_queue();
                Ok(true)
            }
            Outcome::VersionConflict(_) | Outcome::NotFound => Ok(false),
            other => {
                tracing::error!(outcome = ?other, ladder.id = %state.row.id, "the store did not take matches of a ladder");
                Ok(false)
            }
        }
    }

    fn spec(&self, state: &PairingState, line_up: &[BotId], key: u64, now: UnixMs) -> Option<MatchSpec> {
        let origin = MatchOrigin { kind: CompetitionKind::Ladder, competition: state.row.id, key };
        let id = MatchId::new(now, self.environment.random_bytes());
        let random = self.environment.random_bytes();
        let seed = Seed(random[..8].iter().fold(0, |seed, byte| seed << 8 | u64::from(*byte)));
        let seats = state.seat_specs(line_up)?;
        Some(state.definition.settings.spec(id, seed, Some(origin), seats, state.row.is_public))
    }
}
