//! A match played without a runner: its log is written entry by entry, without notifications.

use super::test_server::TestServer;
use engine::commands::{ClaimedMatch, Command, MatchAppend, Outcome};
use engine::ids::WorkerId;
use engine::matches::archive;
use engine::matches::entry::AnswerClass;
use engine::matches::machine::{BotAnswer, MatchMachine, NextAction, PendingStep};
use engine::matches::slots::SlotUsage;
use engine::rows::MatchLogRow;
use rules::snake::{Move, Point};
use std::time::Duration;

/// The worker that writes.
const WORKER: WorkerId = WorkerId(0xf);

pub(crate) struct Scribe<'a> {
    server: &'a TestServer,
    epoch: u32,
    machine: MatchMachine,
    log: Vec<MatchLogRow>,
}

impl<'a> Scribe<'a> {
    /// Claims the only waiting match.
    pub(crate) async fn take(server: &'a TestServer) -> Self {
        let now = server.app.node.clock.now();
        let (worker, until) = (WORKER, now.plus(Duration::from_secs(600)));
        let lease = Command::RenewLease { worker, address: "127.0.0.1:1".to_owned(), now, until };
        assert_eq!(server.app.node.store.commit(lease).await, Ok(Outcome::Done));
        let claim = Command::ClaimMatches { worker, number: 1, now, max: 1, slots: SlotUsage::new(1), attempts_max: 5 };
        let Ok(Outcome::MatchesClaimed(mut claimed)) = server.app.node.store.commit(claim).await else {
            panic!("no claim")
        };
        let ClaimedMatch { spec, epoch, .. } = claimed.remove(0);
        Self { server, epoch, machine: MatchMachine::new(spec).unwrap(), log: Vec::new() }
    }

    /// Plays this many further turns; all snakes go in circles.
    pub(crate) async fn play(&mut self, turns: u32) {
        let end = self.machine.turns() + turns;
        while self.machine.turns() < end && !self.machine.is_over() {
            self.write_next().await;
        }
    }

    /// Plays this many turns of a single snake, and saves them at once.
    pub(crate) async fn play_round(&mut self, turns: u32) {
        let expected_version = self.machine.version();
        while self.machine.turns() < turns && !self.machine.is_over() {
            let step = self.next_step();
            self.log.push(step.row.clone());
            self.machine.accept(step);
        }
        assert_eq!(self.machine.turns(), turns, "the snake lives so long");
        let started_at = Some(self.server.app.node.clock.now());
        let (id, epoch, rows) = (self.machine.spec().id, self.epoch, self.log.clone());
        self.commit(Command::AppendMatch(MatchAppend { id, epoch, rows, expected_version, started_at })).await;
    }

    /// Plays to the end.
    pub(crate) async fn finish(mut self) {
        while self.machine.next_action() != NextAction::Finish {
            self.write_next().await;
        }
        let (result, archive, now) =
            (self.machine.result(), archive::pack(&self.log), self.server.app.node.clock.now());
        let append = self.append(Vec::new());
        self.commit(Command::FinishMatch { append, result, archive, now }).await;
    }

    /// Gives the match up, for any worker to go on with.
    pub(crate) async fn leave(self) {
        self.commit(Command::EndLease { worker: WORKER }).await;
    }

    /// Fails the match.
    pub(crate) async fn fail(self) {
        let (id, now) = (self.machine.spec().id, self.server.app.node.clock.now());
        self.commit(Command::FailMatch { id, epoch: self.epoch, reason: "poison".to_owned(), now }).await;
    }

    /// Writes an invalid entry.
    pub(crate) async fn scrawl(&mut self) {
        let row = MatchLogRow {
            version: self.machine.version(),
            turns: self.machine.turns(),
            late_moves: 0,
            bytes: vec![0xff],
        };
        self.commit(Command::AppendMatch(self.append(vec![row]))).await;
    }

    async fn write_next(&mut self) {
        let step = self.next_step();
        self.commit(Command::AppendMatch(self.append(vec![step.row.clone()]))).await;
        self.log.push(step.row.clone());
        self.machine.accept(step);
    }

    fn next_step(&self) -> PendingStep {
        match self.machine.next_action() {
            NextAction::Open => self.machine.record_opened(Vec::new()),
            NextAction::Notify { notice, seats } => {
                self.machine.record_delivery(notice, seats.iter().next().unwrap(), AnswerClass::Valid, 1)
            }
            NextAction::RequestMoves { .. } => {
                let spec = self.machine.spec();
                let mv = match spec.seats.len() {
                    1 => around(self.machine.board().snakes[0].body[0], spec.width as i8, spec.height as i8),
                    _ => [Move::Up, Move::Right, Move::Down, Move::Left][self.machine.turns() as usize % 4],
                };
                let received = BotAnswer {
                    class: AnswerClass::Valid,
                    mv: Some(mv),
                    latency_ms: 1,
                    shout: String::new(),
                    response: None,
                };
                self.machine.play_turn(vec![Some(received); self.machine.spec().seats.len()]).unwrap()
            }
            NextAction::Finish => panic!("nothing comes after the end"),
        }
    }

    fn append(&self, rows: Vec<MatchLogRow>) -> MatchAppend {
        let (id, expected_version) = (self.machine.spec().id, self.machine.version());
        let started_at = (expected_version == 0).then(|| self.server.app.node.clock.now());
        MatchAppend { id, epoch: self.epoch, rows, expected_version, started_at }
    }

    async fn commit(&self, command: Command) {
        assert_eq!(self.server.app.node.store.commit(command).await, Ok(Outcome::Done));
    }
}

/// The next step of a path through every cell of a board of even width, and back to its beginning.
fn around(Point { x, y }: Point, width: i8, height: i8) -> Move {
    match (y, x % 2) {
        (0, _) if x > 0 => Move::Left,
        (_, 0) if y < height - 1 => Move::Up,
        (_, 0) => Move::Right,
        (1, _) if x < width - 1 => Move::Right,
        _ => Move::Down,
    }
}
