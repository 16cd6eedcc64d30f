//! What every commit about a ladder must keep, counted apart from the code that it is about: by the commands that were saved alone.

use super::plan::LadderPlan;
use crate::cluster::ClusterPlan;
use crate::world::{Oracle, Violations, Workload};
use engine::commands::{AddMatches, Advance, Command, CompetitionCommand, LadderCommand, Outcome, RateResults};
use engine::ids::{AccountId, BotId, CompetitionId, MatchId, WorkerId};
use engine::ladders::definition::SYSTEM_ACCOUNT;
use engine::ladders::season::SeasonEnd;
use engine::limits::{LADDER_ACCOUNT_SHARE_DIVISOR, LADDER_GAMES_AT_ONCE_PER_BOT};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// What is played for.
pub(super) struct LadderWorkload(pub(super) LadderPlan);

impl Workload for LadderWorkload {
    type Oracle = LadderOracle;

    fn cluster(&self) -> &ClusterPlan {
        &self.0.cluster
    }
}

/// What was saved of all ladders.
#[derive(Default)]
pub(super) struct LadderOracle {
    pub(super) violations: Violations,
    pub(super) ladders: BTreeMap<CompetitionId, SavedLadder>,
    pub(super) matches_at_once: usize,
    /// Commits by which a leader moved a ladder on.
    pub(super) steps: u32,
    /// Those that were refused because another process came first.
    pub(super) conflicts: u32,
    /// Processes that ever led.
    pub(super) leaders: BTreeSet<WorkerId>,
    /// Matches that were called off.
    pub(super) cancelled: u64,
    /// Notified of each step.
    pub(super) stepped: Arc<Notify>,
}

/// What was saved of one ladder.
#[derive(Default)]
pub(super) struct SavedLadder {
    /// Its owner.
    pub(super) account: Option<AccountId>,
    /// Matches that were ever created.
    pub(super) created: BTreeSet<MatchId>,
    /// Those whose results have not been rated, with their bots.
    pub(super) unapplied: BTreeMap<MatchId, Vec<BotId>>,
    /// In the order in which they ended.
    pub(super) ended: Vec<MatchId>,
    /// How many of them were rated, or passed over.
    pub(super) applied: usize,
    /// Seasons that have ended.
    pub(super) seasons: u32,
    pub(super) is_over: bool,
}

impl Oracle for LadderOracle {
    fn committed(&mut self, _at: Duration, command: &Command, outcome: &Outcome) {
        match (command, outcome) {
            (Command::Competition(CompetitionCommand::Create { row, .. }), Outcome::Done) => {
                self.ladders.entry(row.id).or_default().account = Some(row.account);
            }
            (Command::Competition(CompetitionCommand::AddMatches(add)), Outcome::Done) => self.check_new_matches(add),
            (Command::Ladder(LadderCommand::Rate(rate)), Outcome::Done) => self.check_rating(rate),
            (Command::Ladder(LadderCommand::EndSeason(advance)), Outcome::Done) => self.check_season_end(advance),
            (
                Command::Competition(CompetitionCommand::AddMatches(_))
                | Command::Ladder(LadderCommand::Rate(_) | LadderCommand::EndSeason(_)),
                Outcome::VersionConflict(_),
            ) => self.conflicts += 1,
            (Command::FinishMatch { append, .. }, Outcome::Done) => self.note_end(append.id),
            (Command::FailMatch { id, .. }, Outcome::Done) => self.note_end(*id),
            (Command::CancelMatch { id, .. }, Outcome::Done) => {
                self.cancelled += 1;
                self.note_end(*id);
            }
            (Command::AcquireLeadership { .. }, Outcome::LedBy(leader)) => drop(self.leaders.insert(leader.worker)),
            _ => {}
        }
    }

    fn acknowledged(&mut self, _command: &Command, _outcome: &Outcome) {}
}

impl LadderOracle {
    fn note_step(&mut self) {
        self.steps += 1;
        self.stepped.notify_one();
    }

    /// Each match is new, no bot has more games than it may have at once, and no more are unapplied than may be.
    fn check_new_matches(&mut self, add: &AddMatches) {
        self.note_step();
        let id = add.id;
        let violations = &mut self.violations;
        let ladder = self.ladders.entry(id).or_default();
        let keys = add.matches.iter().map(|spec| spec.origin.map_or(0, |origin| origin.key));
        let next = ladder.created.len() as u64 + 1..;
        violations.check(keys.eq(next.take(add.matches.len())), || format!("ladder {id}: keys with gaps: {add:?}"));
        for spec in &add.matches {
            let bots: Vec<BotId> = spec.seats.iter().map(|seat| seat.bot).collect();
            let different: BTreeSet<&BotId> = bots.iter().collect();
            violations.check(different.len() == bots.len(), || format!("ladder {id}: a bot sits twice: {bots:?}"));
            violations.check(ladder.created.insert(spec.id), || format!("ladder {id}: match {} again", spec.id));
            ladder.unapplied.insert(spec.id, bots);
        }
        let mut games: BTreeMap<BotId, u32> = BTreeMap::new();
        for bot in ladder.unapplied.values().flatten() {
            *games.entry(*bot).or_default() += 1;
        }
        for (bot, games) in games.into_iter().filter(|(_, games)| *games > LADDER_GAMES_AT_ONCE_PER_BOT) {
            violations.check(false, || format!("ladder {id}: bot {bot} has {games} games at once"));
        }
        let account = ladder.account;
        self.check_budget(id, account);
    }

    /// All ladders together have no more matches than may be, and those of one account no more than its share.
    fn check_budget(&mut self, id: CompetitionId, account: Option<AccountId>) {
        let unapplied = |of: &dyn Fn(&SavedLadder) -> bool| -> usize {
            self.ladders.values().filter(|ladder| of(ladder)).map(|ladder| ladder.unapplied.len()).sum()
        };
        let (all, most) = (unapplied(&|_| true), self.matches_at_once);
        let own = unapplied(&|ladder| ladder.account == account);
        let own_most = match account == Some(SYSTEM_ACCOUNT) {
            true => most,
            false => (most / LADDER_ACCOUNT_SHARE_DIVISOR).max(1),
        };
        self.violations.check(all <= most, || format!("ladder {id}: {all} matches of all ladders, {most} may be"));
        self.violations.check(own <= own_most, || {
            format!("ladder {id}: {own} matches of the ladders of {account:?}, {own_most} may be")
        });
    }

    fn note_end(&mut self, id: MatchId) {
        let Some(ladder) = self.ladders.values_mut().find(|ladder| ladder.created.contains(&id)) else { return };
        self.violations.check(!ladder.ended.contains(&id), || format!("match {id} ended twice"));
        ladder.ended.push(id);
    }

    /// The results are the next ones, and they count for the season under way.
    fn check_rating(&mut self, rate: &RateResults) {
        self.note_step();
        let (id, last) = (rate.advance.id, rate.advance.results_applied as usize);
        let violations = &mut self.violations;
        let ladder = self.ladders.entry(id).or_default();
        let (applied, ended, read) =
            (ladder.applied, ladder.ended.len(), rate.advance.expected_results_applied as usize);
        violations
            .check(read == applied, || format!("ladder {id}: rated behind {read}, though {applied} were applied"));
        violations.check(last > applied && last <= ended, || {
            format!("ladder {id}: rated up to result {last}, with {applied} applied and {ended} there")
        });
        let season = if ladder.is_over { ladder.seasons } else { ladder.seasons + 1 };
        violations.check(rate.season == season, || format!("ladder {id}: rated in {}, not {season}", rate.season));
        let are_next = rate.changes.games.iter().all(|game| (applied + 1..=last).contains(&(game.number as usize)));
        violations.check(are_next, || format!("ladder {id}: games of other results than {applied} to {last}"));
        for id in ladder.ended.iter().take(last).skip(applied) {
            ladder.unapplied.remove(id);
        }
        ladder.applied = ladder.applied.max(last);
    }

    /// A season ends behind the last result that was rated.
    fn check_season_end(&mut self, advance: &Advance) {
        self.note_step();
        let id = advance.id;
        let violations = &mut self.violations;
        let ladder = self.ladders.entry(id).or_default();
        let [bytes] = &advance.entries[..] else {
            return violations.check(false, || format!("ladder {id}: a season ends with {advance:?}"));
        };
        let end = SeasonEnd::decode(bytes).expect("the drivers write what can be read");
        let (season, applied) = (ladder.seasons + 1, ladder.applied as u64);
        violations.check((end.season, end.last_result) == (season, applied), || {
            format!("ladder {id}: {end:?}, though season {season} is under way with {applied} results applied")
        });
        violations.check(!ladder.is_over, || format!("ladder {id}: {end:?} after its last one"));
        ladder.seasons = season;
        ladder.is_over = end.is_last;
    }
}
