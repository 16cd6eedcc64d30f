//! The processes that a trial starts: awaited, watched, stopped and restarted as the scenario says, and ended however
//! the trial ends. Each leads its own process group, so that a Ctrl-C reaches only the lab, which then ends them in
//! order. With a [`Guard`] they also end when the lab is killed. Does not know what they do.
//!
//! Everything is started on the calling thread, and guarded processes end with that thread: the supervisor belongs to
//! the lab's main thread.

mod fault_schedule;
mod faults;
mod log_tail;
mod managed_process;
mod process_spec;
mod readiness;

use std::path::Path;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

pub use fault_schedule::{ScheduledFault, fault_schedule};

use super::TrialError;
use super::watched_process::SERVER;
use crate::cgroup::{LimitStats, LimitsApplied, TargetCgroups, TrialCgroup};
use crate::guard::{Guard, ProcessLimits};
use crate::limits::STOP_WITHIN;
use crate::measurement::timeline::FaultRow;
use crate::preflight::check_reachable;
use crate::scenario::{Command, HelperProcess, Scenario, Scope, Target, TargetLimits};
use faults::RestartEvent;
use managed_process::ManagedProcess;
use process_spec::{ProcessSpec, SpawnCommand, check_port_free};

use rustix::process::Signal;

/// Names of running processes with their process ids.
pub type ProcessList = Vec<(String, u32)>;

/// Started processes. Dropping it kills those that still run.
#[derive(Default)]
pub struct ProcessSupervisor {
    processes: Vec<ManagedProcess>,
    guard: Option<Guard>,
    /// After the members, because those are dropped first.
    trial_cgroup: Option<TrialCgroup>,
    cgroups: Option<TargetCgroups>,
    limits: LimitState,
    process_list: watch::Sender<ProcessList>,
    /// Every fault that was carried out, or could not be.
    fault_rows: Vec<FaultRow>,
    /// The indices of those that have begun and are not finished.
    pending_faults: Vec<usize>,
    restart_tasks: JoinSet<RestartEvent>,
}

/// The target's limits, and what they did.
#[derive(Default)]
struct LimitState {
    process_limits: ProcessLimits,
    applied: Option<LimitsApplied>,
    stats: Option<LimitStats>,
}

impl ProcessSupervisor {
    /// A supervisor that starts processes through a guard.
    #[must_use]
    pub fn with_guard(guard: Guard) -> Self {
        Self { guard: Some(guard), ..Self::default() }
    }

    /// Applies limits to the target; call it before the target is started.
    ///
    /// # Errors
    /// The sentence that says what this machine lacks, and what to do.
    pub fn apply_limits(&mut self, limits: &TargetLimits, run: &str) -> Result<(), TrialError> {
        if *limits == TargetLimits::default() {
            return Ok(());
        }
        if self.guard.is_none() {
            return Err(TrialError("[target.limits] need a guard, which this lab was built without".to_owned()));
        }
        self.cgroups = TargetCgroups::apply(limits, run).map_err(TrialError)?;
        let groups = self.cgroups.as_ref().map_or_else(Vec::new, TargetCgroups::procs_files);
        self.limits.process_limits = ProcessLimits { groups, open_files: limits.open_files };
        let files = LimitsApplied { open_files: limits.open_files, ..LimitsApplied::default() };
        self.limits.applied = Some(self.cgroups.as_ref().map_or(files, |confined| confined.applied().clone()));
        Ok(())
    }

    /// Makes everything that the scenario starts end with the lab, however the lab ends; call it before anything is
    /// started, and after [`ProcessSupervisor::apply_limits`]. If this machine does not allow it, returns the sentence
    /// that says what would be left running.
    #[must_use]
    pub fn create_trial_cgroup(&mut self, scenario: &Scenario, run: &str) -> Option<String> {
        let starts = scenario.target.spawn.is_some() || scenario.helpers.iter().any(|helper| helper.spawn.is_some());
        let guard = self.guard.as_ref().filter(|_| starts)?;
        let limited = self.cgroups.as_ref().map_or_else(Vec::new, TargetCgroups::unified);
        match TrialCgroup::create(run, |groups| guard.watchdog_args(groups), &limited) {
            Ok(together) => {
                // In cgroup v2 a process belongs to exactly one group.
                if limited.is_empty() {
                    self.limits.process_limits.groups.push(together.procs());
                }
                self.trial_cgroup = Some(together);
                None
            }
            Err(why) => Some(format!(
                "If the lab is killed (kill -9), what the processes of the run have started in sessions of their own stays \
                 behind: there is no control group for them ({why}). Where systemd runs, a group of the lab's own is enough: \
                 systemd-run --user --scope -p Delegate=yes gauntlet run ..."
            )),
        }
    }

    #[must_use]
    pub fn limits_applied(&self) -> Option<&LimitsApplied> {
        self.limits.applied.as_ref()
    }

    /// What the limits have done to the target until now, or until it was stopped.
    #[must_use]
    pub fn limit_stats(&self) -> Option<LimitStats> {
        self.cgroups.as_ref().map(TargetCgroups::stats).or(self.limits.stats)
    }

    /// Starts what the scenario starts, and waits until everything that it needs is ready. What the scenario does not
    /// start must be reachable at once.
    ///
    /// # Errors
    /// A port is taken; a program does not start, exits early or is not ready in time; no process listens where a
    /// service should already run. Started processes are stopped by dropping the supervisor.
    pub async fn start(&mut self, scenario: &Scenario, scope: &Scope<'_>, dir: &Path) -> Result<(), TrialError> {
        for helper in &scenario.helpers {
            let advice = format!(
                "choose another port with --set, or use the process that runs there with --set process.{}.start=false",
                helper.name
            );
            let recipe = self.helper_spec(helper, scope, dir)?;
            self.start_process(recipe, &advice).await?;
        }
        let advice = "choose another port with --set, or put the service that runs there on trial with --target";
        let recipe = self.target_spec(&scenario.target, scope, dir)?;
        self.start_process(recipe, advice).await
    }

    fn helper_spec(&self, helper: &HelperProcess, scope: &Scope<'_>, dir: &Path) -> Result<ProcessSpec, TrialError> {
        let groups = self.trial_cgroup.iter().map(TrialCgroup::procs).collect();
        let bounds = ProcessLimits { groups, open_files: None };
        let start = self.spawn_command(&helper.name, helper.spawn.as_ref(), &bounds, scope, dir)?;
        let (name, ready) = (helper.name.clone(), Some(helper.ready_path.clone()));
        Ok(ProcessSpec {
            name,
            base: helper.base.clone(),
            ready_path: ready,
            ready_timeout: helper.ready_timeout,
            command: start,
        })
    }

    fn target_spec(&self, target: &Target, scope: &Scope<'_>, dir: &Path) -> Result<ProcessSpec, TrialError> {
        let start = self.spawn_command(SERVER, target.spawn.as_ref(), &self.limits.process_limits, scope, dir)?;
        let (name, ready) = (SERVER.to_owned(), target.ready_path.clone());
        Ok(ProcessSpec {
            name,
            base: target.url.clone(),
            ready_path: ready,
            ready_timeout: target.ready_timeout,
            command: start,
        })
    }

    fn spawn_command(
        &self,
        name: &str,
        command: Option<&Command>,
        bounds: &ProcessLimits,
        scope: &Scope<'_>,
        dir: &Path,
    ) -> Result<Option<SpawnCommand>, TrialError> {
        let Some(command) = command else { return Ok(None) };
        let guard = self.guard.as_ref().map(|guard| (guard, bounds));
        let start = SpawnCommand::new(command, scope, dir.join(format!("{name}.log")), guard);
        start.map(Some).map_err(|why| start_error(name, &why))
    }

    async fn start_process(&mut self, recipe: ProcessSpec, advice: &str) -> Result<(), TrialError> {
        let Some(start) = recipe.command.clone() else {
            check_reachable(&recipe.base).await.map_err(TrialError)?;
            return self.await_ready(&recipe).await;
        };
        check_port_free(&recipe, advice)?;
        let running = start.spawn().map_err(|why| start_error(&recipe.name, &why))?;
        self.processes.push(ManagedProcess {
            spec: recipe.clone(),
            command: start,
            running: Some(running),
            restart_task: None,
        });
        self.publish_process_list();
        self.await_ready(&recipe).await
    }

    async fn await_ready(&mut self, recipe: &ProcessSpec) -> Result<(), TrialError> {
        let Some(path) = &recipe.ready_path else { return Ok(()) };
        let outcome = tokio::select! {
            biased;
            exit = self.await_unexpected_exit() => return Err(TrialError(exit)),
            outcome = readiness::await_ready(&recipe.base, path, recipe.ready_timeout) => outcome,
        };
        outcome.map_err(|why| TrialError(not_ready_message(recipe, &why)))
    }

    /// Names and process ids of running processes.
    pub fn pids(&self) -> impl Iterator<Item = (&str, u32)> {
        let running = self.processes.iter().filter_map(|member| Some((member, member.running.as_ref()?)));
        running.map(|(member, running)| (member.name(), running.pid))
    }

    /// The same, as it changes.
    #[must_use]
    pub fn process_list(&self) -> watch::Receiver<ProcessList> {
        self.process_list.subscribe()
    }

    fn publish_process_list(&self) {
        let roster = self.pids().map(|(name, pid)| (name.to_owned(), pid)).collect();
        self.process_list.send_replace(roster);
    }

    /// A sentence about the first process that has exited by itself, if one has.
    pub fn unexpected_exit(&mut self) -> Option<String> {
        self.processes.iter_mut().find_map(ManagedProcess::unexpected_exit)
    }

    /// Waits until a process exits by itself. Exits that the scenario caused do not count.
    pub async fn await_unexpected_exit(&mut self) -> String {
        self.supervise(Instant::now(), &[], &mut |_| {}).await
    }

    /// Stops everything, the last first: SIGTERM, then SIGKILL for what does not exit in time and for the remaining
    /// members of their groups.
    pub async fn stop(&mut self) {
        self.restart_tasks.shutdown().await;
        for running in self.processes.iter().rev().filter_map(|member| member.running.as_ref()) {
            running.terminate();
        }
        let deadline = Instant::now() + STOP_WITHIN;
        for mut running in self.processes.drain(..).rev().filter_map(|member| member.running) {
            if tokio::time::timeout_at(deadline, running.child.wait()).await.is_err() {
                running.signal(Signal::KILL);
                let _ = running.child.wait().await;
            }
            running.kill_group().await;
        }
        self.publish_process_list();
        self.limits.stats = self.limit_stats();
        self.trial_cgroup = None;
        self.cgroups = None;
    }
}

fn start_error(name: &str, why: &str) -> TrialError {
    TrialError(format!("{name} could not be started: {why}"))
}

fn not_ready_message(recipe: &ProcessSpec, why: &str) -> String {
    let log = recipe.command.as_ref().map_or_else(String::new, |start| log_tail::read_tail(&start.log).to_string());
    format!("{} was not ready within {:?}: {why}{log}", recipe.name, recipe.ready_timeout)
}
