//! What must be true at every moment, checked where it would first be broken: when a bot is called, when a command is
//! acknowledged, and at the end.

use crate::bots;
use crate::world::{self, Violations};
use bot_client::view::View;
use bot_client::{BotCall, Webhook};
use engine::commands::{Command, Outcome};
use engine::ids::{AccountId, MatchId};
use engine::matches::entry::{Entry, Notice};
use engine::matches::lifecycle::MatchState;
use engine::matches::machine::{MatchMachine, NextAction};
use engine::matches::result::MatchResult;
use engine::matches::spec::MatchSpec;
use engine::rows::{MatchLogPage, MatchLogRow};
use std::collections::BTreeMap;
use std::time::Duration;

/// What was seen so far.
#[derive(Default)]
pub(crate) struct MatchOracle {
    /// Rows whose commit was acknowledged, by match and version.
    acknowledged: BTreeMap<(MatchId, u32), MatchLogRow>,
    /// Acknowledged results.
    results: BTreeMap<MatchId, MatchResult>,
    /// The epoch of the last claim of a match: no worker with a lower one may write.
    epochs: BTreeMap<MatchId, u32>,
    /// Calls that bots got.
    pub(crate) calls: u64,
    pub(crate) violations: Violations,
}

impl MatchOracle {
    /// A bot is called: what the request contains must be saved by now, and no bot is notified again after that is
    /// saved.
    pub(crate) fn on_call(&mut self, call: &BotCall, spec: &MatchSpec, saved: &MatchLogPage) {
        self.calls += 1;
        let (id, turn, snake) = bots::read(&call.body);
        let turns_saved = saved.rows.last().map_or(0, |row| row.turns);
        self.violations.check(turn <= turns_saved, || {
            format!("match {id}: a bot is called for turn {turn}, but only {turns_saved} are saved")
        });
        let notice = match call.webhook {
            Webhook::Move => return,
            Webhook::Start => Notice::Start,
            Webhook::End => Notice::End,
        };
        let is_saved = saved.rows.iter().any(|row| match Entry::decode(&row.bytes) {
            Ok(Entry::Delivered { notice: notified, seat, .. }) => {
                notified == notice && spec.snake_id(usize::from(seat)).to_string() == snake
            }
            Ok(_) | Err(_) => false,
        });
        self.violations.check(!is_saved, || {
            format!("match {id}: {snake} is notified of the {notice:?} again, though that is saved")
        });
    }

    fn check_epoch(&mut self, id: MatchId, epoch: u32) {
        let claimed = self.epochs.get(&id).copied().unwrap_or_default();
        self.violations
            .check(epoch == claimed, || format!("match {id}: epoch {epoch} wrote, though epoch {claimed} holds it"));
    }
}

impl world::Oracle for MatchOracle {
    fn committed(&mut self, _at: Duration, command: &Command, outcome: &Outcome) {
        if let Outcome::MatchesClaimed(claims) = outcome {
            self.epochs.extend(claims.iter().map(|claimed| (claimed.spec.id, claimed.epoch)));
        }
        let Outcome::Done = outcome else { return };
        match command {
            Command::AppendMatch(append) => self.check_epoch(append.id, append.epoch),
            Command::FinishMatch { append, .. } => self.check_epoch(append.id, append.epoch),
            Command::FailMatch { id, epoch, .. } | Command::ReleaseMatch { id, epoch, .. } => {
                self.check_epoch(*id, *epoch);
            }
            _ => {}
        }
    }

    fn acknowledged(&mut self, command: &Command, outcome: &Outcome) {
        let Outcome::Done = outcome else { return };
        let append = match command {
            Command::AppendMatch(append) => append,
            Command::FinishMatch { append, result, .. } => {
                let before = self.results.insert(append.id, result.clone());
                self.violations
                    .check(before.is_none(), || format!("match {}: a second result was acknowledged", append.id));
                append
            }
            _ => return,
        };
        for row in &append.rows {
            let before = self.acknowledged.insert((append.id, row.version), row.clone());
            let version = row.version;
            self.violations
                .check(before.is_none(), || format!("match {}: version {version} was acknowledged twice", append.id));
        }
    }
}

impl MatchOracle {
    /// At the end: nothing acknowledged is missing.
    pub(crate) fn check_nothing_lost(&self, id: MatchId, log: &[MatchLogRow]) {
        for ((_, version), row) in self.acknowledged.range((id, 0)..=(id, u32::MAX)) {
            assert_eq!(log.get(*version as usize), Some(row), "match {id}: an acknowledged entry is lost or changed");
        }
    }

    /// At the end: the match is the one that would have been played without any fault.
    pub(crate) fn check_same_as_undisturbed(
        &self,
        spec: &MatchSpec,
        page: &MatchLogPage,
        result: Option<&MatchResult>,
    ) {
        let (turns, mut want) = undisturbed(spec);
        // The store keeps them with the result of a competition only.
        want.silent_seats.clear();
        assert_eq!(
            page.state,
            MatchState::Finished,
            "match {} is {:?} after everything was healed",
            spec.id,
            page.state
        );
        assert_eq!(turns_of(&page.rows), turns, "match {}: its turns are not those of an undisturbed run", spec.id);
        assert_eq!(result, Some(&want), "match {}: its result is not that of an undisturbed run", spec.id);
    }
}

/// The turns and the result of a match in which nothing goes wrong, computed without runner, store or clock.
fn undisturbed(spec: &MatchSpec) -> (Vec<Vec<u8>>, MatchResult) {
    let mut machine = MatchMachine::new(spec.clone()).expect("planned matches can be played");
    let mut rows = Vec::new();
    loop {
        let step = match machine.next_action() {
            NextAction::Open => machine.record_opened(spec.seats.iter().map(|seat| bots::face(&seat.url)).collect()),
            NextAction::Notify { notice, seats } => {
                let seat = seats.iter().next().expect("a seat is to be notified");
                machine.record_delivery(notice, seat, engine::matches::entry::AnswerClass::Valid, 0)
            }
            NextAction::RequestMoves { seats } => {
                let view = View::new(&machine);
                let answer = |seat: usize| {
                    let timeout = Duration::from_millis(u64::from(spec.timeout_ms));
                    let url = spec.seats[seat].url.clone();
                    let (webhook, body, account) = (Webhook::Move, view.body(seat), AccountId(0));
                    bots::answer(&BotCall { url, webhook, body, timeout, signer: None, account, span: None }).0
                };
                let answers = (0..spec.seats.len()).map(|seat| seats.contains(seat).then(|| answer(seat)));
                machine.play_turn(answers.collect()).expect("planned matches can be played")
            }
            NextAction::Finish => return (turns_of(&rows), machine.result()),
        };
        rows.push(step.row.clone());
        machine.accept(step);
    }
}

/// The bytes of the turns of a log: everything that may not depend on what went wrong.
fn turns_of(log: &[MatchLogRow]) -> Vec<Vec<u8>> {
    let is_turn = |row: &&MatchLogRow| matches!(Entry::decode(&row.bytes), Ok(Entry::Turn { .. }));
    log.iter().filter(is_turn).map(|row| row.bytes.clone()).collect()
}
