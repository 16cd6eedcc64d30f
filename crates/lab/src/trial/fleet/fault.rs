//! Faults: orders of the scenario to its own processes, carried out at their moments beside the load. A death that
//! was ordered is none; a restart is seen through until the process is ready again. Refuses to know what the load
//! makes of it.

use std::process::ExitStatus;

use rustix::process::Signal;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::member::{Intent, Member, exited};
use super::orders::{Order, word};
use super::ready::ready;
use super::{CouldNotRun, Fleet, not_ready};
use crate::aggregate::round;
use crate::limits::STOP_WITHIN;
use crate::record::timeline::FaultRow;
use crate::report::words::first_few;
use crate::scenario::FaultAct;

/// A part of a restart that goes on beside everything else, done. Members and faults are known by their places.
pub(super) enum Errand {
    /// The old process has gone, and its group.
    Gone { member: usize, fault: usize },
    /// The new process is ready, or was not in time.
    Ready { member: usize, fault: usize, outcome: Result<(), String> },
}

/// What wakes the fleet.
enum Event {
    Exited(usize, ExitStatus),
    Errand(Errand),
    Due,
    Overdue,
}

/// How far an order has come.
enum Progress {
    Done,
    /// A restart, of which more will be heard.
    UnderWay,
}

impl Fleet {
    /// Whether all orders are for processes that the lab started: of others it knows no command and no group.
    ///
    /// # Errors
    /// The first one that is not, and whom there is to order.
    pub fn check_orders(&self, orders: &[Order]) -> Result<(), CouldNotRun> {
        orders.iter().try_for_each(|order| self.place(&order.process).map(drop)).map_err(CouldNotRun)
    }

    /// Carries every order out at its moment after `start`, and sees restarts through. Ends only with a failure: a
    /// process has ended without an order, or did not come back after one. Each order is told once, when it is done
    /// or cannot be.
    pub async fn supervise(
        &mut self,
        start: Instant,
        orders: &[Order],
        tell: &mut (dyn FnMut(&FaultRow) + Send),
    ) -> String {
        let mut orders = orders.iter().peekable();
        loop {
            let due = orders.peek().map(|order| start + order.at);
            let failure = match self.next_event(due).await {
                Event::Exited(place, status) => self.collect(place, status),
                Event::Errand(errand) => self.run_errand(errand, start, tell),
                Event::Due => match orders.next() {
                    Some(order) => self.carry_out(order, start, tell),
                    None => None,
                },
                Event::Overdue => self.kill_overdue(),
            };
            if let Some(failure) = failure {
                return failure;
            }
        }
    }

    /// Every order that was carried out until now, or could not be.
    #[must_use]
    pub fn faults(&self) -> &[FaultRow] {
        &self.faults
    }

    /// The run is over at `now_s`, for the reason `why`: gives those of all its orders that were never carried out, or not
    /// seen through. To be called once, with the orders that were supervised.
    pub fn close_orders(&mut self, orders: &[Order], now_s: f64, why: &str) -> Vec<FaultRow> {
        let missed = orders.iter().skip(self.faults.len());
        let missed = missed.map(|order| FaultRow { t_s: now_s, failed: Some(why.to_owned()), ..row_of(order) });
        let missed: Vec<FaultRow> = missed.collect();
        let under_way = std::mem::take(&mut self.under_way);
        let unfinished = under_way.into_iter().map(|fault| {
            let row = &mut self.faults[fault];
            row.failed = Some(format!("begun, and not done: {why}"));
            row.clone()
        });
        unfinished.chain(missed).collect()
    }

    /// Processes that a fault ended or stopped, and none brought back, each in a sentence.
    pub fn left_down(&mut self) -> Vec<String> {
        let mut last: Vec<FaultRow> = Vec::new();
        for row in self.faults.iter().filter(|row| row.failed.is_none() || row.pid_after.is_some()) {
            last.retain(|earlier| earlier.process != row.process);
            last.push(row.clone());
        }
        let told = |row: FaultRow| {
            let became = match row.act.as_str() {
                "kill" => "killed",
                "term" if !self.runs(&row.process) => "ended",
                "stop" => "stopped",
                _ => return None,
            };
            let back = if row.act == "stop" { "continued" } else { "started again" };
            Some(format!("{} was {became} by the fault at {} s, and not {back}", row.process, row.t_s))
        };
        last.into_iter().filter_map(told).collect()
    }

    /// Whether a process still runs.
    fn runs(&mut self, process: &str) -> bool {
        let found = self.members.iter_mut().find(|member| member.name() == process);
        let running = found.and_then(|member| member.running.as_mut());
        running.is_some_and(|running| matches!(running.child.try_wait(), Ok(None)))
    }

    async fn next_event(&mut self, due: Option<Instant>) -> Event {
        let overdue = self.members.iter().filter_map(Member::kill_at).min();
        let (members, errands) = (&mut self.members, &mut self.errands);
        tokio::select! {
            biased;
            (place, status) = exited(members) => Event::Exited(place, status),
            errand = next_errand(errands) => Event::Errand(errand),
            () = until(due) => Event::Due,
            () = until(overdue) => Event::Overdue,
        }
    }

    /// What was told to end has ended. What was not is a failure.
    fn collect(&mut self, place: usize, status: ExitStatus) -> Option<String> {
        let member = &mut self.members[place];
        match member.running.as_ref()?.intent {
            Intent::Stay => return Some(member.ended_by_itself(status)),
            // Dropping it kills the rest of its group.
            Intent::End => member.running = None,
            Intent::Restart { fault, .. } => {
                let old = member.running.take()?;
                member.errand = Some(self.errands.spawn(async move {
                    old.sweep().await;
                    Errand::Gone { member: place, fault }
                }));
            }
        }
        self.publish();
        None
    }

    fn run_errand(
        &mut self,
        errand: Errand,
        start: Instant,
        tell: &mut (dyn FnMut(&FaultRow) + Send),
    ) -> Option<String> {
        let now_s = seconds_since(start);
        let (fault, outcome) = match errand {
            Errand::Gone { member, fault } => {
                self.members[member].errand = None;
                match self.start_again(member, fault) {
                    Ok(Progress::UnderWay) => return None,
                    Ok(Progress::Done) => (fault, Ok(())),
                    Err(why) => (fault, Err(why)),
                }
            }
            Errand::Ready { member, fault, outcome } => {
                self.members[member].errand = None;
                self.faults[fault].ready_again_s = outcome.is_ok().then_some(now_s);
                let recipe = &self.members[member].recipe;
                (fault, outcome.map_err(|why| format!("after its restart, {}", not_ready(recipe, &why))))
            }
        };
        self.faults[fault].failed = outcome.err();
        self.under_way.retain(|place| *place != fault);
        tell(&self.faults[fault]);
        self.faults[fault].failed.clone()
    }

    /// What an order could not do is told. It is a failure where a process stays down for it.
    fn carry_out(&mut self, order: &Order, start: Instant, tell: &mut (dyn FnMut(&FaultRow) + Send)) -> Option<String> {
        let fault = self.faults.len();
        self.faults.push(row_of(order));
        let progress = self.obey(order, fault);
        self.faults[fault].t_s = seconds_since(start);
        match progress {
            Ok(Progress::UnderWay) => {
                self.under_way.push(fault);
                return None;
            }
            Ok(Progress::Done) => {}
            Err(why) => self.faults[fault].failed = Some(why),
        }
        tell(&self.faults[fault]);
        let is_down = order.act == FaultAct::Restart && self.is_down(&order.process);
        self.faults[fault].failed.clone().filter(|_| is_down)
    }

    fn is_down(&self, process: &str) -> bool {
        let found = self.members.iter().find(|member| member.name() == process);
        found.is_some_and(|member| member.running.is_none() && member.errand.is_none())
    }

    fn obey(&mut self, order: &Order, fault: usize) -> Result<Progress, String> {
        let place = self.place(&order.process)?;
        let member = &mut self.members[place];
        if let Some(death) = member.death() {
            return Err(death);
        }
        if member.is_restarting() {
            return Err(format!("{} is being restarted already", order.process));
        }
        let Some(running) = &mut member.running else {
            return match order.act {
                FaultAct::Restart => self.start_again(place, fault),
                _ => Err(format!("{} does not run at that moment", order.process)),
            };
        };
        self.faults[fault].pid_before = Some(running.pid);
        match order.act {
            FaultAct::Kill => running.end_by(Signal::KILL),
            FaultAct::Term => running.end_by(Signal::TERM),
            FaultAct::Stop => running.signal(Signal::STOP),
            FaultAct::Continue => running.signal(Signal::CONT),
            FaultAct::Restart => {
                running.intent = Intent::Restart { fault, kill_at: Instant::now() + STOP_WITHIN };
                running.ask_to_end();
            }
        }
        match order.act {
            FaultAct::Stop | FaultAct::Continue => self.faults[fault].pid_after = Some(running.pid),
            FaultAct::Kill | FaultAct::Term | FaultAct::Restart => member.drop_errand(),
        }
        Ok(if order.act == FaultAct::Restart { Progress::UnderWay } else { Progress::Done })
    }

    /// The same command again, and its readiness awaited beside everything else.
    fn start_again(&mut self, place: usize, fault: usize) -> Result<Progress, String> {
        let member = &mut self.members[place];
        let running = member.start.spawn();
        let running = running.map_err(|why| format!("{} could not be started again: {why}", member.name()))?;
        self.faults[fault].pid_after = Some(running.pid);
        member.running = Some(running);
        let recipe = member.recipe.clone();
        let progress = match recipe.ready {
            None => Progress::Done,
            Some(path) => {
                member.errand = Some(self.errands.spawn(async move {
                    let outcome = ready(&recipe.base, &path, recipe.within).await;
                    Errand::Ready { member: place, fault, outcome }
                }));
                Progress::UnderWay
            }
        };
        self.publish();
        Ok(progress)
    }

    fn kill_overdue(&mut self) -> Option<String> {
        let now = Instant::now();
        for member in self.members.iter_mut().filter(|member| member.kill_at().is_some_and(|at| at <= now)) {
            if let Some(running) = &mut member.running {
                running.signal(Signal::KILL);
                running.put_off_killing(now + STOP_WITHIN);
            }
        }
        None
    }

    fn place(&self, process: &str) -> Result<usize, String> {
        let place = self.members.iter().position(|member| member.name() == process);
        place.ok_or_else(|| {
            let names = first_few(self.members.iter().map(Member::name), ", ");
            let names = if names.is_empty() { "nothing" } else { &names };
            format!("a fault needs a process that the lab starts: it starts {names}, but not {process}")
        })
    }
}

/// What is known of an order before it is carried out.
fn row_of(order: &Order) -> FaultRow {
    FaultRow {
        planned_s: round(order.at.as_secs_f64()),
        process: order.process.clone(),
        act: word(order.act).to_owned(),
        ..FaultRow::default()
    }
}

async fn next_errand(errands: &mut JoinSet<Errand>) -> Errand {
    loop {
        match errands.join_next().await {
            Some(Ok(errand)) => return errand,
            Some(Err(error)) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            // It was dropped.
            Some(Err(_)) => {}
            None => std::future::pending().await,
        }
    }
}

async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

fn seconds_since(start: Instant) -> f64 {
    round(start.elapsed().as_secs_f64())
}
