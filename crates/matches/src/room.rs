//! One match in its room: the single writer of its log. It does the machine's next action, saves the result, notifies spectators, and goes
//! on. It sends nothing and saves nothing once its worker's lease may have expired.

use super::environment::MatchEnvironment;
use bot_client::signing::{CallSigner, SigningKeys};
use bot_client::statistics::Presence;
use bot_client::view::View;
use bot_client::{BotCall, Webhook};
use engine::commands::{ClaimedMatch, Command, MatchAppend, Outcome};
use engine::ids::{AccountId, BotId, MatchId};
use engine::limits::FAILURE_BYTES_MAX;
use engine::matches::archive;
use engine::matches::entry::Notice;
use engine::matches::machine::{BotAnswer, MatchError, MatchMachine, NextAction, PendingStep, SeatSet};
use engine::matches::spec::SeatSpec;
use engine::rows::MatchLogRow;
use engine::time::UnixMs;
use futures_util::stream::{FuturesUnordered, StreamExt};
use node::lease::{Lease, LeaseContext};
use std::sync::Arc;
use std::time::Duration;
use store::{Damage, StoreError};
use telemetry::{Span, SpanKind};
use tokio::time::sleep;

/// How a room ended, for its worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RoomOutcome {
    /// The match has its result.
    Finished,
    /// The match is broken, and kept for study.
    Failed,
    /// Another worker has the match, or it was cancelled.
    Fenced,
    /// The worker's lease is not valid any more.
    LeaseLost,
}

/// Why a room stops before its match is over.
enum StopReason {
    Ended(RoomOutcome),
    Broken(MatchError),
    /// The log is not what was written.
    Damaged(Damage),
    /// The log is not what this room expects (a commit with an unknown outcome may have succeeded): load it again.
    Reload,
}

impl RoomOutcome {
    fn name(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Failed => "failed",
            Self::Fenced => "fenced",
            Self::LeaseLost => "lease_lost",
        }
    }
}

impl From<MatchError> for StopReason {
    fn from(broken: MatchError) -> Self {
        Self::Broken(broken)
    }
}

pub(super) async fn play<O: MatchEnvironment>(environment: O, lease: Lease, claimed: ClaimedMatch) -> RoomOutcome {
    let mut span = environment.tracer().start_match(claimed.spec.id.0);
    if let Some(span) = &mut span {
        span.set("gauntlet.match.id", claimed.spec.id.to_string());
        span.set("gauntlet.match.is_resumed", claimed.version > 0);
    }
    let outcome = play_until_stopped(&environment, &lease, &claimed, span.as_ref()).await;
    if let Some(span) = &mut span {
        span.set("gauntlet.match.outcome", outcome.name());
        if outcome == RoomOutcome::Failed {
            span.fail("the match is broken");
        }
    }
    outcome
}

async fn play_until_stopped<O: MatchEnvironment>(
    environment: &O,
    lease: &Lease,
    claimed: &ClaimedMatch,
    span: Option<&Span>,
) -> RoomOutcome {
    let mut resumes_from_log = claimed.version > 0;
    loop {
        let mut room = match Room::load(environment, lease, claimed, resumes_from_log, span).await {
            Ok(room) => room,
            Err(stop) => match resolve_stop(environment, lease, claimed, stop).await {
                Some(ending) => return ending,
                None => continue,
            },
        };
        let stop = room.run().await;
        resumes_from_log = true;
        if let Some(ending) = resolve_stop(environment, lease, claimed, stop).await {
            return ending;
        }
    }
}

/// How a stop ends the match; `None`: go on with the log as it is.
async fn resolve_stop<O: MatchEnvironment>(
    environment: &O,
    lease: &Lease,
    claimed: &ClaimedMatch,
    stop: StopReason,
) -> Option<RoomOutcome> {
    match stop {
        StopReason::Ended(ending) => Some(ending),
        StopReason::Reload => None,
        StopReason::Broken(broken) => Some(fail_match(environment, lease, claimed, broken.to_string()).await),
        StopReason::Damaged(damage) => {
            Some(fail_match(environment, lease, claimed, format!("it is damaged: {damage}")).await)
        }
    }
}

/// Ends a broken match; its log is kept as it is, for study, or until it is mended and the match is put back into the queue.
async fn fail_match<O: MatchEnvironment>(
    environment: &O,
    lease: &Lease,
    claimed: &ClaimedMatch,
    mut reason: String,
) -> RoomOutcome {
    let id = claimed.spec.id;
    reason.truncate(reason.floor_char_boundary(FAILURE_BYTES_MAX));
    tracing::error!(match.id = %id, reason, "a match is broken");
    let command = Command::FailMatch { id, epoch: claimed.epoch, reason, now: environment.node().now() };
    match save(environment, lease, command).await {
        Ok(Outcome::Done) => {
            environment.metrics().matches.failed.inc();
            environment.notify_saved(id);
            RoomOutcome::Failed
        }
        Ok(_) => RoomOutcome::Fenced,
        Err(ending) => ending,
    }
}

/// Saves, with retries while the store cannot be reached and the lease holds.
async fn save<O: MatchEnvironment>(environment: &O, lease: &Lease, command: Command) -> Result<Outcome, RoomOutcome> {
    retry(lease, || environment.node().commit(command.clone())).await
}

async fn retry<T, F>(lease: &Lease, attempt: impl Fn() -> F) -> Result<T, RoomOutcome>
where
    F: Future<Output = Result<T, StoreError>>,
{
    let mut pause = Duration::from_millis(25);
    while lease.is_valid() {
        match attempt().await {
            Ok(done) => return Ok(done),
            Err(_) => sleep(pause).await,
        }
        pause = (pause * 2).min(Duration::from_millis(500));
    }
    Err(RoomOutcome::LeaseLost)
}

/// What is damaged is as damaged the next time.
async fn read_log<O: MatchEnvironment>(
    environment: &O,
    lease: &Lease,
    id: MatchId,
) -> Result<Vec<MatchLogRow>, StopReason> {
    let read = || async {
        match environment.read_log(id).await {
            Err(StoreError::Damaged(damage)) => Ok(Err(*damage)),
            other => other.map(Ok),
        }
    };
    retry(lease, read).await.map_err(StopReason::Ended)?.map_err(StopReason::Damaged)
}

struct Room<'a, O> {
    environment: &'a O,
    lease: &'a Lease,
    claimed: &'a ClaimedMatch,
    machine: MatchMachine,
    /// The log so far: packed for the archive at the end.
    log: Vec<MatchLogRow>,
    /// Of the bots whose calls are signed: as of the opening, or of the resume.
    keys: Vec<(BotId, Arc<SigningKeys>)>,
    /// When the first /start was about to be sent, if this room sent it.
    started_at: Option<UnixMs>,
    /// Where the match is traced.
    span: Option<&'a Span>,
}

impl<'a, O: MatchEnvironment> Room<'a, O> {
    async fn load(
        environment: &'a O,
        lease: &'a Lease,
        claimed: &'a ClaimedMatch,
        has_log: bool,
        span: Option<&'a Span>,
    ) -> Result<Self, StopReason> {
        let spec = claimed.spec.clone();
        let log = match has_log {
            true => read_log(environment, lease, spec.id).await?,
            false => Vec::new(),
        };
        let machine = MatchMachine::resume(spec, &log)?;
        let mut keys = Vec::with_capacity(claimed.signing.len());
        for &row in &claimed.signing {
            let of_bot = retry(lease, || environment.signing_keys(row)).await.map_err(StopReason::Ended)?;
            keys.push((row.bot, of_bot));
        }
        Ok(Self { environment, lease, claimed, machine, log, keys, started_at: None, span })
    }

    /// Plays until something stops it.
    async fn run(&mut self) -> StopReason {
        loop {
            if !self.lease.is_valid() {
                return StopReason::Ended(RoomOutcome::LeaseLost);
            }
            let done = match self.machine.next_action() {
                NextAction::Open => self.open().await,
                NextAction::Notify { notice, seats } => self.notify(notice, seats).await,
                NextAction::RequestMoves { seats } => self.request_moves(seats).await,
                NextAction::Finish => return self.finish().await,
            };
            if let Err(stop) = done {
                return stop;
            }
        }
    }

    async fn open(&mut self) -> Result<(), StopReason> {
        let seats = self.machine.spec().seats.iter().enumerate();
        let fetch = |(seat, of): (usize, &SeatSpec)| {
            self.environment.fetch_face(of.url.clone(), self.signer(of.bot), self.claimed.calling_account(seat))
        };
        let faces = futures_util::future::join_all(seats.map(fetch)).await;
        let step = self.machine.record_opened(faces);
        let started_at = self.environment.node().now();
        self.append(step, Some(started_at)).await?;
        self.started_at = Some(started_at);
        for (of, face) in self.machine.spec().seats.iter().zip(self.machine.faces()) {
            self.environment.record_face(of.bot, face);
        }
        self.environment.metrics().matches.queue_wait.observe(started_at.since(self.machine.spec().id.created_at()));
        Ok(())
    }

    /// Notifies bots of the start or the end; each answer is saved as it comes, so that no bot is notified twice.
    async fn notify(&mut self, notice: Notice, seats: SeatSet) -> Result<(), StopReason> {
        let path = match notice {
            Notice::Start => Webhook::Start,
            Notice::End => Webhook::End,
        };
        let environment = self.environment;
        let step_span = self.span.map(|span| span.child(path.segment(), SpanKind::Internal));
        let calls = self.calls(seats, path, step_span.as_ref()).into_iter();
        let mut answers: FuturesUnordered<_> =
            calls.map(|(seat, call)| async move { (seat, environment.call(call).await) }).collect();
        while let Some((seat, answer)) = answers.next().await {
            let step = self.machine.record_delivery(notice, seat, answer.class, answer.latency_ms);
            self.append(step, None).await?;
        }
        Ok(())
    }

    /// Requests the moves of the living snakes and plays the turn.
    async fn request_moves(&mut self, seats: SeatSet) -> Result<(), StopReason> {
        let mut answers_by_seat: Vec<Option<BotAnswer>> = vec![None; self.machine.spec().seats.len()];
        let environment = self.environment;
        let turn_span = self.span.map(|span| {
            let mut turn_span = span.child("turn", SpanKind::Internal);
            turn_span.set("gauntlet.turn", u64::from(self.machine.turns()));
            turn_span
        });
        let calls = self.calls(seats, Webhook::Move, turn_span.as_ref()).into_iter();
        let calls = calls.map(|(seat, call)| async move { (seat, environment.call(call).await) });
        let mut ended = Vec::with_capacity(answers_by_seat.len());
        for (seat, answer) in futures_util::future::join_all(calls).await {
            self.environment.metrics().matches.record_answer(answer.class, answer.latency_ms);
            ended.push((seat, answer.class, answer.latency_ms));
            answers_by_seat[seat] = Some(answer);
        }
        let step = self.machine.play_turn(answers_by_seat)?;
        let late = step.row.late_moves - self.machine.late_moves();
        self.append(step, None).await?;
        for (seat, class, latency_ms) in ended {
            self.environment.record_call(self.machine.spec().seats[seat].bot, class, latency_ms);
        }
        self.environment.metrics().matches.record_turn(late);
        Ok(())
    }

    async fn finish(&mut self) -> StopReason {
        let spec = self.machine.spec();
        let now = self.environment.node().now();
        let finish = Command::FinishMatch {
            append: self.append_command(Vec::new(), None),
            result: self.machine.result(),
            archive: archive::pack(&self.log),
            now,
        };
        match save(self.environment, self.lease, finish).await {
            Ok(Outcome::Done) => {
                self.environment.metrics().matches.finished.inc();
                self.record_bots();
                if let Some(started_at) = self.started_at {
                    self.environment.metrics().matches.run_time.observe(now.since(started_at));
                }
                self.environment.notify_saved(spec.id);
                StopReason::Ended(RoomOutcome::Finished)
            }
            Ok(Outcome::VersionConflict(_)) => StopReason::Reload,
            Ok(_) => StopReason::Ended(RoomOutcome::Fenced),
            Err(ending) => StopReason::Ended(ending),
        }
    }

    /// Whether the bots played at all. A bot with several seats is counted for each.
    fn record_bots(&self) {
        let spec = self.machine.spec();
        for (seat, of) in spec.seats.iter().enumerate() {
            let is_silent = self.machine.is_silent(seat);
            let presence = presence(is_silent, self.claimed.owner(seat), self.claimed.calling_account(seat));
            self.environment.record_match(of.bot, presence, spec.origin.is_some());
        }
    }

    fn signer(&self, bot: BotId) -> Option<CallSigner> {
        let keys = self.keys.iter().find(|(signed, _)| *signed == bot).map(|(_, keys)| keys.clone())?;
        Some(CallSigner { keys, at: self.environment.node().now() })
    }

    /// Save, then notify, then go on.
    async fn append(&mut self, step: PendingStep, started_at: Option<UnixMs>) -> Result<(), StopReason> {
        let command = Command::AppendMatch(self.append_command(vec![step.row.clone()], started_at));
        match save(self.environment, self.lease, command).await {
            Ok(Outcome::Done) => {
                self.log.push(step.row.clone());
                self.machine.accept(step);
                self.environment.notify_saved(self.machine.spec().id);
                Ok(())
            }
            Ok(Outcome::VersionConflict(_)) => Err(StopReason::Reload),
            Ok(_) => Err(StopReason::Ended(RoomOutcome::Fenced)),
            Err(ending) => Err(StopReason::Ended(ending)),
        }
    }

    fn append_command(&self, rows: Vec<MatchLogRow>, started_at: Option<UnixMs>) -> MatchAppend {
        let expected_version = self.machine.version();
        MatchAppend { id: self.machine.spec().id, epoch: self.claimed.epoch, rows, expected_version, started_at }
    }

    fn calls(&self, seats: SeatSet, path: Webhook, parent: Option<&Span>) -> Vec<(usize, BotCall)> {
        let view = View::new(&self.machine);
        let spec = self.machine.spec();
        let timeout = Duration::from_millis(u64::from(spec.timeout_ms));
        let call = |seat: usize| {
            let SeatSpec { bot, url, .. } = &spec.seats[seat];
            let signer = self.signer(*bot);
            let account = self.claimed.calling_account(seat);
            let span = parent.map(|parent| {
                let mut span = parent.child(format!("POST {}", path.segment()), SpanKind::Client);
                span.set("gauntlet.bot.id", bot.to_string());
                span
            });
            BotCall { url: url.clone(), webhook: path, body: view.body(seat), timeout, signer, account, span }
        };
        seats.iter().map(|seat| (seat, call(seat))).collect()
    }
}

/// Silence counts against a bot only where its owner wanted the match: others may give it no time to answer, as often as they like.
fn presence(is_silent: bool, owner: AccountId, caller: AccountId) -> Presence {
    match is_silent {
        false => Presence::Played,
        true if owner == caller => Presence::Silent,
        true => Presence::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_counts_in_matches_of_the_bots_owner() {
        let (ann, ben) = (AccountId(1), AccountId(2));
        for (is_silent, caller, want) in [
            (false, ann, Presence::Played),
            (false, ben, Presence::Played),
            (true, ann, Presence::Silent),
            (true, ben, Presence::Unknown),
        ] {
            assert_eq!(presence(is_silent, ann, caller), want, "{is_silent} {caller}");
        }
    }
}
