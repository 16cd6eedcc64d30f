//! Faults: actions of the scenario on its own processes, carried out at their moments while the load runs. An exit that
//! a fault caused is not a failure; a restart is followed until the process is ready again. Does not know the effect on
//! the load.

use std::process::ExitStatus;

use rustix::process::Signal;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::ProcessSupervisor;
use super::fault_schedule::ScheduledFault;
use super::managed_process::{ManagedProcess, RestartEvent, next_exit};
use super::readiness::await_ready;
use super::running_process::Intent;
use crate::format::{first_few, round};
use crate::limits::STOP_WITHIN;
use crate::measurement::timeline::FaultRow;
use crate::scenario::FaultAction;

/// Receives each fault when it is done or cannot be done.
type FaultRecorder<'a> = dyn FnMut(&FaultRow) + Send + 'a;

/// What wakes the supervisor.
enum SupervisorEvent {
    Exited(usize, ExitStatus),
    Restart(RestartEvent),
    FaultDue,
    KillDue,
}

/// The progress of a fault.
enum FaultProgress {
    Done,
    /// A restart that is not finished.
    Pending,
}

impl ProcessSupervisor {
    /// Checks that all faults are on processes that the lab started: of others it knows neither command nor group.
    ///
    /// # Errors
    /// The first fault that is not, with the processes that the lab did start.
    pub fn check_faults(&self, faults: &[ScheduledFault]) -> Result<(), String> {
        faults.iter().try_for_each(|fault| self.index_of(&fault.process).map(drop))
    }

    /// Carries every fault out at its moment after `start`, and follows restarts to their end. Returns only with a
    /// failure: a process has exited without a fault, or did not come back after one. Each fault is recorded once, when
    /// it is done or cannot be done.
    pub async fn supervise(
        &mut self,
        start: Instant,
        faults: &[ScheduledFault],
        record: &mut FaultRecorder<'_>,
    ) -> String {
        let mut faults = faults.iter().peekable();
        loop {
            let due = faults.peek().map(|fault| start + fault.at);
            let failure = match self.next_event(due).await {
                SupervisorEvent::Exited(index, status) => self.handle_exit(index, status),
                SupervisorEvent::Restart(event) => self.handle_restart_event(event, start, record),
                SupervisorEvent::FaultDue => match faults.next() {
                    Some(fault) => self.apply_fault(fault, start, record),
                    None => None,
                },
                SupervisorEvent::KillDue => self.kill_overdue(),
            };
            if let Some(failure) = failure {
                return failure;
            }
        }
    }

    /// Every fault that was carried out until now, or could not be.
    #[must_use]
    pub fn fault_rows(&self) -> &[FaultRow] {
        &self.fault_rows
    }

    /// The run is over at `now_s`, for the reason `why`: returns the faults that were never carried out, or not
    /// followed to their end. Call it once, with the faults that were supervised.
    pub fn close_pending_faults(&mut self, faults: &[ScheduledFault], now_s: f64, why: &str) -> Vec<FaultRow> {
        let missed = faults.iter().skip(self.fault_rows.len());
        let missed = missed.map(|fault| FaultRow { t_s: now_s, failed: Some(why.to_owned()), ..fault_row(fault) });
        let missed: Vec<FaultRow> = missed.collect();
        let under_way = std::mem::take(&mut self.pending_faults);
        let unfinished = under_way.into_iter().map(|fault| {
            let row = &mut self.fault_rows[fault];
            row.failed = Some(format!("begun, and not done: {why}"));
            row.clone()
        });
        unfinished.chain(missed).collect()
    }

    /// Processes that a fault ended or stopped and that were not brought back, each in a sentence.
    pub fn down_processes(&mut self) -> Vec<String> {
        let mut last: Vec<FaultRow> = Vec::new();
        for row in self.fault_rows.iter().filter(|row| row.failed.is_none() || row.pid_after.is_some()) {
            last.retain(|earlier| earlier.process != row.process);
            last.push(row.clone());
        }
        let sentence = |row: FaultRow| {
            let became = match row.act.as_str() {
                "kill" => "killed",
                "term" if !self.is_running(&row.process) => "ended",
                "stop" => "stopped",
                _ => return None,
            };
            let back = if row.act == "stop" { "continued" } else { "started again" };
            Some(format!("{} was {became} by the fault at {} s, and not {back}", row.process, row.t_s))
        };
        last.into_iter().filter_map(sentence).collect()
    }

    fn is_running(&mut self, process: &str) -> bool {
        self.processes.iter_mut().any(|managed| managed.name() == process && managed.is_running())
    }

    async fn next_event(&mut self, due: Option<Instant>) -> SupervisorEvent {
        let overdue = self.processes.iter().filter_map(ManagedProcess::kill_at).min();
        let (processes, restart_tasks) = (&mut self.processes, &mut self.restart_tasks);
        tokio::select! {
            biased;
            (index, status) = next_exit(processes) => SupervisorEvent::Exited(index, status),
            event = next_restart_event(restart_tasks) => SupervisorEvent::Restart(event),
            () = wait_until(due) => SupervisorEvent::FaultDue,
            () = wait_until(overdue) => SupervisorEvent::KillDue,
        }
    }

    /// Handles an exit: expected if a fault caused it, else a failure.
    fn handle_exit(&mut self, index: usize, status: ExitStatus) -> Option<String> {
        let managed = &mut self.processes[index];
        match managed.running.as_ref()?.intent {
            Intent::KeepRunning => return Some(managed.unexpected_exit_message(status)),
            // Dropping it kills the rest of its group.
            Intent::Exit => managed.running = None,
            Intent::Restart { fault, .. } => {
                let old = managed.running.take()?;
                managed.restart_task = Some(self.restart_tasks.spawn(async move {
                    old.kill_group().await;
                    RestartEvent::OldProcessGone { process: index, fault }
                }));
            }
        }
        self.publish_process_list();
        None
    }

    fn handle_restart_event(
        &mut self,
        event: RestartEvent,
        start: Instant,
        record: &mut FaultRecorder<'_>,
    ) -> Option<String> {
        let now_s = seconds_since(start);
        let (fault, outcome) = match event {
            RestartEvent::OldProcessGone { process, fault } => {
                self.processes[process].restart_task = None;
                match self.restart(process, fault) {
                    Ok(FaultProgress::Pending) => return None,
                    Ok(FaultProgress::Done) => (fault, Ok(())),
                    Err(why) => (fault, Err(why)),
                }
            }
            RestartEvent::Ready { process, fault, outcome } => {
                self.processes[process].restart_task = None;
                self.fault_rows[fault].ready_again_s = outcome.is_ok().then_some(now_s);
                let ManagedProcess { spec, command, .. } = &self.processes[process];
                let failed =
                    |why: String| format!("after its restart, {}", spec.not_ready_message(&why, Some(&command.log)));
                (fault, outcome.map_err(failed))
            }
        };
        self.fault_rows[fault].failed = outcome.err();
        self.pending_faults.retain(|index| *index != fault);
        record(&self.fault_rows[fault]);
        self.fault_rows[fault].failed.clone()
    }

    /// What a fault could not do is recorded. It is a failure if a process stays down because of it.
    fn apply_fault(
        &mut self,
        scheduled: &ScheduledFault,
        start: Instant,
        record: &mut FaultRecorder<'_>,
    ) -> Option<String> {
        let fault = self.fault_rows.len();
        self.fault_rows.push(fault_row(scheduled));
        let progress = self.execute_action(scheduled, fault);
        self.fault_rows[fault].t_s = seconds_since(start);
        if progress.is_ok() && !matches!(scheduled.action, FaultAction::Stop | FaultAction::Continue) {
            self.settle_restarts(&scheduled.process, record);
        }
        match progress {
            Ok(FaultProgress::Pending) => {
                self.pending_faults.push(fault);
                return None;
            }
            Ok(FaultProgress::Done) => {}
            Err(why) => self.fault_rows[fault].failed = Some(why),
        }
        record(&self.fault_rows[fault]);
        let is_down = scheduled.action == FaultAction::Restart && self.is_down(&scheduled.process);
        self.fault_rows[fault].failed.clone().filter(|_| is_down)
    }

    /// A fault ends this process: a restart whose process was not ready by then is done, and the supervisor will not see it ready.
    fn settle_restarts(&mut self, process: &str, record: &mut FaultRecorder<'_>) {
        let is_settled = |fault: &mut usize| self.fault_rows[*fault].process == process;
        let settled: Vec<usize> = self.pending_faults.extract_if(.., is_settled).collect();
        for fault in settled {
            record(&self.fault_rows[fault]);
        }
    }

    fn is_down(&self, process: &str) -> bool {
        let is_down = |managed: &ManagedProcess| managed.running.is_none() && managed.restart_task.is_none();
        self.processes.iter().any(|managed| managed.name() == process && is_down(managed))
    }

    fn execute_action(&mut self, scheduled: &ScheduledFault, fault: usize) -> Result<FaultProgress, String> {
        let index = self.index_of(&scheduled.process)?;
        let managed = &mut self.processes[index];
        if let Some(exit) = managed.unexpected_exit() {
            return Err(exit);
        }
        if managed.is_restarting() {
            return Err(format!("{} is being restarted already", scheduled.process));
        }
        let Some(running) = &mut managed.running else {
            return match scheduled.action {
                FaultAction::Restart => self.restart(index, fault),
                _ => Err(format!("{} does not run at that moment", scheduled.process)),
            };
        };
        self.fault_rows[fault].pid_before = Some(running.pid);
        match scheduled.action {
            FaultAction::Kill => running.end_with(Signal::KILL),
            FaultAction::Term => running.end_with(Signal::TERM),
            FaultAction::Stop => running.signal(Signal::STOP),
            FaultAction::Continue => running.signal(Signal::CONT),
            FaultAction::Restart => {
                running.intent = Intent::Restart { fault, kill_at: Instant::now() + STOP_WITHIN };
                running.terminate();
            }
        }
        match scheduled.action {
            FaultAction::Stop | FaultAction::Continue => self.fault_rows[fault].pid_after = Some(running.pid),
            FaultAction::Kill | FaultAction::Term | FaultAction::Restart => managed.cancel_restart(),
        }
        Ok(if scheduled.action == FaultAction::Restart { FaultProgress::Pending } else { FaultProgress::Done })
    }

    /// Starts the same command again, and awaits its readiness in the background.
    fn restart(&mut self, index: usize, fault: usize) -> Result<FaultProgress, String> {
        let managed = &mut self.processes[index];
        let running = managed.command.spawn();
        let running = running.map_err(|why| format!("{} could not be started again: {why}", managed.name()))?;
        self.fault_rows[fault].pid_after = Some(running.pid);
        managed.running = Some(running);
        let spec = managed.spec.clone();
        let progress = match spec.ready_path.clone() {
            None => FaultProgress::Done,
            Some(path) => {
                managed.restart_task = Some(self.restart_tasks.spawn(async move {
                    let outcome = await_ready(&spec, &path).await;
                    RestartEvent::Ready { process: index, fault, outcome }
                }));
                FaultProgress::Pending
            }
        };
        self.publish_process_list();
        Ok(progress)
    }

    fn kill_overdue(&mut self) -> Option<String> {
        let now = Instant::now();
        for managed in self.processes.iter_mut().filter(|managed| managed.kill_at().is_some_and(|at| at <= now)) {
            if let Some(running) = &mut managed.running {
                running.signal(Signal::KILL);
                running.postpone_kill(now + STOP_WITHIN);
            }
        }
        None
    }

    fn index_of(&self, process: &str) -> Result<usize, String> {
        let index = self.processes.iter().position(|managed| managed.name() == process);
        index.ok_or_else(|| {
            let names = first_few(self.processes.iter().map(ManagedProcess::name), ", ");
            let names = if names.is_empty() { "nothing" } else { &names };
            format!("a fault needs a process that the lab starts: it starts {names}, but not {process}")
        })
    }
}

/// What is known of a fault before it is carried out.
fn fault_row(scheduled: &ScheduledFault) -> FaultRow {
    FaultRow {
        planned_s: round(scheduled.at.as_secs_f64()),
        process: scheduled.process.clone(),
        act: scheduled.action.name().to_owned(),
        ..FaultRow::default()
    }
}

async fn next_restart_event(restart_tasks: &mut JoinSet<RestartEvent>) -> RestartEvent {
    loop {
        match restart_tasks.join_next().await {
            Some(Ok(event)) => return event,
            Some(Err(error)) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            // The step was cancelled.
            Some(Err(_)) => {}
            None => std::future::pending().await,
        }
    }
}

async fn wait_until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

fn seconds_since(start: Instant) -> f64 {
    round(start.elapsed().as_secs_f64())
}
