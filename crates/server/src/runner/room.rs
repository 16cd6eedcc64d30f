//! One match in its room: the single writer of its log. Does what the machine says is next, saves what came of it, tells
//! whoever watches, and goes on. It sends nothing and saves nothing once its worker's lease is not to be trusted.

use super::outside::{Call, Outside, Path};
use super::view::View;
use crate::lease::Lease;
use engine::commands::{ClaimedMatch, Command, MatchAppend, Outcome};
use engine::limits::FAILURE_BYTES_MAX;
use engine::matches::archive;
use engine::matches::entry::Notice;
use engine::matches::machine::{MatchError, MatchMachine, MoveAnswer, NextAction, PendingStep, SeatSet};
use engine::rows::MatchLogRow;
use engine::time::UnixMs;
use futures_util::stream::{FuturesUnordered, StreamExt};
use std::time::Duration;
use store::StoreError;
use tokio::time::sleep;

/// How a room ended, for its worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// The match has its result.
    Finished,
    /// The match is broken, and kept for study.
    Failed,
    /// The match is somebody else's, or was called off.
    Fenced,
    /// The worker may not act any more.
    LeaseLost,
}

/// Why a room stops before its match is over.
enum Stop {
    Ended(Ending),
    Broken(MatchError),
    /// The log is not what this room believes (an unsure commit may have succeeded): read it again.
    Reload,
}

impl From<MatchError> for Stop {
    fn from(broken: MatchError) -> Self {
        Self::Broken(broken)
    }
}

/// Plays a claimed match to its end.
pub(super) async fn play<O: Outside>(outside: O, lease: Lease, claimed: ClaimedMatch) -> Ending {
    let mut resumes_from_log = claimed.version > 0;
    loop {
        let mut room = match Room::enter(&outside, &lease, &claimed, resumes_from_log).await {
            Ok(room) => room,
            Err(stop) => match room_stopped(&outside, &lease, &claimed, stop).await {
                Some(ending) => return ending,
                None => continue,
            },
        };
        let stop = room.run().await;
        resumes_from_log = true;
        if let Some(ending) = room_stopped(&outside, &lease, &claimed, stop).await {
            return ending;
        }
    }
}

/// What a stop means for the match; `None`: go on with the log as it is.
async fn room_stopped<O: Outside>(outside: &O, lease: &Lease, claimed: &ClaimedMatch, stop: Stop) -> Option<Ending> {
    match stop {
        Stop::Ended(ending) => Some(ending),
        Stop::Reload => None,
        Stop::Broken(broken) => Some(fail(outside, lease, claimed, &broken).await),
    }
}

/// Ends a broken match, its log kept for study.
async fn fail<O: Outside>(outside: &O, lease: &Lease, claimed: &ClaimedMatch, broken: &MatchError) -> Ending {
    let id = claimed.spec.id;
    let mut reason = broken.to_string();
    reason.truncate(reason.floor_char_boundary(FAILURE_BYTES_MAX));
    tracing::error!(match.id = %id, reason, "a match is broken");
    let command = Command::FailMatch { id, epoch: claimed.epoch, reason, now: outside.now() };
    match save(outside, lease, command).await {
        Ok(Outcome::Done) => {
            outside.metrics().match_failed();
            outside.saved(id, u32::MAX);
            Ending::Failed
        }
        Ok(_) => Ending::Fenced,
        Err(ending) => ending,
    }
}

/// Saves, again and again while the store cannot be reached and the lease holds.
async fn save<O: Outside>(outside: &O, lease: &Lease, command: Command) -> Result<Outcome, Ending> {
    retry(lease, || outside.commit(command.clone())).await
}

async fn retry<T, F>(lease: &Lease, attempt: impl Fn() -> F) -> Result<T, Ending>
where
    F: Future<Output = Result<T, StoreError>>,
{
    let mut pause = Duration::from_millis(25);
    while lease.holds() {
        match attempt().await {
            Ok(done) => return Ok(done),
            Err(_) => sleep(pause).await,
        }
        pause = (pause * 2).min(Duration::from_millis(500));
    }
    Err(Ending::LeaseLost)
}

struct Room<'a, O> {
    outside: &'a O,
    lease: &'a Lease,
    epoch: u32,
    machine: MatchMachine,
    /// The log so far: packed for the archive at the end.
    log: Vec<MatchLogRow>,
    /// When the first /start was about to be sent, if this room sent it.
    started_at: Option<UnixMs>,
}

impl<'a, O: Outside> Room<'a, O> {
    async fn enter(outside: &'a O, lease: &'a Lease, claimed: &ClaimedMatch, has_log: bool) -> Result<Self, Stop> {
        let spec = claimed.spec.clone();
        let log = match has_log {
            true => retry(lease, || outside.log(spec.id)).await.map_err(Stop::Ended)?,
            false => Vec::new(),
        };
        let machine = MatchMachine::resume(spec, &log)?;
        Ok(Self { outside, lease, epoch: claimed.epoch, machine, log, started_at: None })
    }

    /// Plays until something stops it.
    async fn run(&mut self) -> Stop {
        loop {
            if !self.lease.holds() {
                return Stop::Ended(Ending::LeaseLost);
            }
            let done = match self.machine.next_action() {
                NextAction::Open => self.open().await,
                NextAction::Notify { notice, seats } => self.notify(notice, seats).await,
                NextAction::RequestMoves { seats } => self.ask(seats).await,
                NextAction::Finish => return self.finish().await,
            };
            if let Err(stop) = done {
                return stop;
            }
        }
    }

    async fn open(&mut self) -> Result<(), Stop> {
        let seats = self.machine.spec().seats.iter();
        let faces = futures_util::future::join_all(seats.map(|seat| self.outside.face(seat.url.clone()))).await;
        let step = self.machine.record_opened(faces);
        let started_at = self.outside.now();
        self.append(step, Some(started_at)).await?;
        self.started_at = Some(started_at);
        self.outside.metrics().match_started(started_at.since(self.machine.spec().id.created_at()));
        Ok(())
    }

    /// Tells bots of the start or the end; each answer is saved as it comes, so that no bot is told twice.
    async fn notify(&mut self, notice: Notice, seats: SeatSet) -> Result<(), Stop> {
        let path = match notice {
            Notice::Start => Path::Start,
            Notice::End => Path::End,
        };
        let outside = self.outside;
        let calls = self.calls(seats, path).into_iter();
        let mut answers: FuturesUnordered<_> =
            calls.map(|(seat, call)| async move { (seat, outside.call(call).await) }).collect();
        while let Some((seat, answer)) = answers.next().await {
            let step = self.machine.record_delivery(notice, seat, answer.class, answer.latency_ms);
            self.append(step, None).await?;
        }
        Ok(())
    }

    /// Asks the living for their moves and plays the turn.
    async fn ask(&mut self, seats: SeatSet) -> Result<(), Stop> {
        let mut heard: Vec<Option<MoveAnswer>> = vec![None; self.machine.spec().seats.len()];
        let outside = self.outside;
        let calls = self.calls(seats, Path::Move).into_iter();
        let calls = calls.map(|(seat, call)| async move { (seat, outside.call(call).await) });
        for (seat, answer) in futures_util::future::join_all(calls).await {
            self.outside.metrics().answered(answer.class, answer.latency_ms);
            heard[seat] = Some(answer.into());
        }
        let step = self.machine.play_turn(heard)?;
        let late = step.row.late_moves - self.machine.late_moves();
        self.append(step, None).await?;
        self.outside.metrics().turn_saved(late);
        Ok(())
    }

    async fn finish(&mut self) -> Stop {
        let spec = self.machine.spec();
        let now = self.outside.now();
        let finish = Command::FinishMatch {
            append: self.append_command(Vec::new(), None),
            result: self.machine.result(),
            archive: archive::pack(&self.log),
            now,
        };
        match save(self.outside, self.lease, finish).await {
            Ok(Outcome::Done) => {
                self.outside.metrics().match_finished();
                if let Some(started_at) = self.started_at {
                    self.outside.metrics().match_ran(now.since(started_at));
                }
                self.outside.saved(spec.id, u32::MAX);
                Stop::Ended(Ending::Finished)
            }
            Ok(Outcome::VersionConflict(_)) => Stop::Reload,
            Ok(_) => Stop::Ended(Ending::Fenced),
            Err(ending) => Stop::Ended(ending),
        }
    }

    /// Save, then tell, then go on.
    async fn append(&mut self, step: PendingStep, started_at: Option<UnixMs>) -> Result<(), Stop> {
        let command = Command::AppendMatch(self.append_command(vec![step.row.clone()], started_at));
        match save(self.outside, self.lease, command).await {
            Ok(Outcome::Done) => {
                self.log.push(step.row.clone());
                self.machine.accept(step);
                self.outside.saved(self.machine.spec().id, self.machine.version());
                Ok(())
            }
            Ok(Outcome::VersionConflict(_)) => Err(Stop::Reload),
            Ok(_) => Err(Stop::Ended(Ending::Fenced)),
            Err(ending) => Err(Stop::Ended(ending)),
        }
    }

    fn append_command(&self, rows: Vec<MatchLogRow>, started_at: Option<UnixMs>) -> MatchAppend {
        let expected_version = self.machine.version();
        MatchAppend { id: self.machine.spec().id, epoch: self.epoch, rows, expected_version, started_at }
    }

    fn calls(&self, seats: SeatSet, path: Path) -> Vec<(usize, Call)> {
        let view = View::new(&self.machine);
        let spec = self.machine.spec();
        let timeout = Duration::from_millis(u64::from(spec.timeout_ms));
        let call = |seat: usize| Call { url: spec.seats[seat].url.clone(), path, body: view.body(seat), timeout };
        seats.iter().map(|seat| (seat, call(seat))).collect()
    }
}
