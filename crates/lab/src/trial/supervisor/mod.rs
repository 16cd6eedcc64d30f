//! The processes that a trial starts: awaited, watched, stopped and restarted as the scenario says, and ended however
//! the trial ends. Each leads its own process group, so that a Ctrl-C reaches only the lab, which then ends them in
//! order. With a [`Guard`] they also end when the lab is killed. Does not know what they do.
//!
//! Everything is started on the calling thread, and guarded processes end with that thread: the supervisor belongs to
//! the lab's main thread.

mod fault_schedule;
mod faults;
mod managed_process;
mod readiness;
mod running_process;

use std::net::{SocketAddr, TcpListener};
use std::path::Path;

use rustix::process::Signal;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

pub use fault_schedule::{ScheduledFault, fault_schedule};

use super::watched_process::SERVER;
use crate::cgroup::{LimitStats, LimitsApplied, TargetCgroups, TrialCgroup};
use crate::generator::Trust;
use crate::guard::{Guard, ProcessLimits};
use crate::limits::STOP_WITHIN;
use crate::measurement::timeline::FaultRow;
use crate::preflight::{check_reachable, resolve_sockets};
use crate::scenario::{BaseUrl, Command, Scenario, Scope, TargetLimits};
use managed_process::{ManagedProcess, ProcessSpec, RestartEvent};
use running_process::SpawnCommand;

/// Names of running processes with their process ids.
pub type ProcessList = Vec<(String, u32)>;

/// Started processes. Dropping it kills those that still run.
#[derive(Default)]
pub struct ProcessSupervisor {
    /// Where the target was found when the lab checked whether it may be loaded; its host is resolved if there are none.
    pub(super) target_addresses: Vec<SocketAddr>,
    processes: Vec<ManagedProcess>,
    guard: Option<Guard>,
    /// After the processes, because those are dropped first.
    trial_cgroup: Option<TrialCgroup>,
    target_cgroups: Option<TargetCgroups>,
    target_limits: ProcessLimits,
    limits_applied: Option<LimitsApplied>,
    /// What the limits had done to the target when the load began.
    limit_stats_before_load: LimitStats,
    /// What the limits did to the target, once it was stopped.
    limit_stats: Option<LimitStats>,
    process_list: watch::Sender<ProcessList>,
    /// Every fault that was carried out, or could not be.
    fault_rows: Vec<FaultRow>,
    /// The indices of those that have begun and are not finished.
    pending_faults: Vec<usize>,
    restart_tasks: JoinSet<RestartEvent>,
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
    pub fn apply_limits(&mut self, limits: &TargetLimits, run: &str) -> Result<(), String> {
        if *limits == TargetLimits::default() {
            return Ok(());
        }
        if self.guard.is_none() {
            return Err("[target.limits] need a guard, which this lab was built without".to_owned());
        }
        self.target_cgroups = TargetCgroups::apply(limits, run)?;
        let cgroups = self.target_cgroups.as_ref();
        let groups = cgroups.map_or_else(Vec::new, TargetCgroups::procs_files);
        self.target_limits = ProcessLimits { groups, open_files: limits.open_files };
        let files = LimitsApplied { open_files: limits.open_files, ..LimitsApplied::default() };
        self.limits_applied = Some(cgroups.map_or(files, |cgroups| cgroups.applied().clone()));
        Ok(())
    }

    /// Makes everything that the scenario starts end with the lab, however the lab ends; call it before anything is
    /// started, and after [`ProcessSupervisor::apply_limits`]. If this machine does not allow it, returns the sentence
    /// that says what would be left running.
    #[must_use]
    pub fn create_trial_cgroup(&mut self, scenario: &Scenario, run: &str) -> Option<String> {
        let guard = self.guard.as_ref().filter(|_| scenario.spawns_processes())?;
        let limited = self.target_cgroups.as_ref().map_or_else(Vec::new, TargetCgroups::unified);
        match TrialCgroup::create(run, |groups| guard.watchdog_args(groups), &limited) {
            Ok(cgroup) => {
                // In cgroup v2 a process belongs to exactly one group.
                if limited.is_empty() {
                    self.target_limits.groups.push(cgroup.procs());
                }
                self.trial_cgroup = Some(cgroup);
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
        self.limits_applied.as_ref()
    }

    /// The load begins: that a starting target waited for its processor explains nothing of what comes.
    pub fn begin_load(&mut self) {
        self.limit_stats_before_load = self.target_cgroups.as_ref().map(TargetCgroups::stats).unwrap_or_default();
    }

    /// What the limits have done to the target until now, or until it was stopped.
    #[must_use]
    pub fn limit_stats(&self) -> Option<LimitStats> {
        let counted = self.target_cgroups.as_ref().map(|groups| groups.stats().since(self.limit_stats_before_load));
        counted.or(self.limit_stats)
    }

    /// Starts what the scenario starts, and waits until everything that it needs is ready. What the scenario does not
    /// start must be reachable at once.
    ///
    /// # Errors
    /// A port is taken; a program does not start, exits early or is not ready in time; no process listens where a
    /// service should already run. Started processes are stopped by dropping the supervisor.
    pub async fn start(&mut self, scenario: &Scenario, scope: &Scope<'_>, dir: &Path) -> Result<(), String> {
        let groups = self.trial_cgroup.iter().map(TrialCgroup::procs).collect();
        let helper_limits = ProcessLimits { groups, open_files: None };
        for helper in &scenario.helpers {
            let advice = format!(
                "choose another port with --set, or use the process that runs there with --set process.{}.start=false",
                helper.name
            );
            let spec = ProcessSpec {
                name: helper.name.clone(),
                base: helper.base.clone(),
                addresses: resolve_sockets(&helper.base).await?,
                trust: Trust::default(),
                ready_path: Some(helper.ready_path.clone()),
                ready_timeout: helper.ready_timeout,
            };
            let command = self.spawn_command(&spec.name, helper.spawn.as_ref(), &helper_limits, scope, dir)?;
            self.start_process(spec, command, &advice).await?;
        }
        let target = &scenario.target;
        let advice = "choose another port with --set, or put the service that runs there on trial with --target";
        let addresses = match self.target_addresses.as_slice() {
            [] => resolve_sockets(&target.url).await?,
            checked => checked.to_vec(),
        };
        let spec = ProcessSpec {
            name: SERVER.to_owned(),
            base: target.url.clone(),
            addresses,
            trust: Trust::for_target(target),
            ready_path: target.ready_path.clone(),
            ready_timeout: target.ready_timeout,
        };
        let command = self.spawn_command(SERVER, target.spawn.as_ref(), &self.target_limits, scope, dir)?;
        self.start_process(spec, command, advice).await
    }

    fn spawn_command(
        &self,
        name: &str,
        command: Option<&Command>,
        limits: &ProcessLimits,
        scope: &Scope<'_>,
        dir: &Path,
    ) -> Result<Option<SpawnCommand>, String> {
        let guard = self.guard.as_ref().map(|guard| (guard, limits));
        let filled = |command| SpawnCommand::new(command, scope, dir.join(format!("{name}.log")), guard);
        command.map(filled).transpose().map_err(|why| start_error(name, &why))
    }

    async fn start_process(
        &mut self,
        spec: ProcessSpec,
        command: Option<SpawnCommand>,
        advice: &str,
    ) -> Result<(), String> {
        let log = command.as_ref().map(|command| command.log.clone());
        match command {
            None => check_reachable(&spec.base, &spec.addresses).await?,
            Some(command) => {
                check_port_free(&spec, advice)?;
                let running = command.spawn().map_err(|why| start_error(&spec.name, &why))?;
                let (spec, running, restart_task) = (spec.clone(), Some(running), None);
                self.processes.push(ManagedProcess { spec, command, running, restart_task });
                self.publish_process_list();
            }
        }
        let Some(path) = &spec.ready_path else { return Ok(()) };
        let outcome = tokio::select! {
            biased;
            exit = self.await_unexpected_exit() => return Err(exit),
            outcome = readiness::await_ready(&spec, path) => outcome,
        };
        outcome.map_err(|why| spec.not_ready_message(&why, log.as_deref()))
    }

    /// Names and process ids of running processes.
    pub fn pids(&self) -> impl Iterator<Item = (&str, u32)> {
        self.processes.iter().filter_map(|process| Some((process.name(), process.running.as_ref()?.pid)))
    }

    /// The same, as it changes.
    #[must_use]
    pub fn process_list(&self) -> watch::Receiver<ProcessList> {
        self.process_list.subscribe()
    }

    fn publish_process_list(&self) {
        let list = self.pids().map(|(name, pid)| (name.to_owned(), pid)).collect();
        self.process_list.send_replace(list);
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
        for running in self.processes.iter().rev().filter_map(|process| process.running.as_ref()) {
            running.terminate();
        }
        let deadline = Instant::now() + STOP_WITHIN;
        for mut running in self.processes.drain(..).rev().filter_map(|process| process.running) {
            if tokio::time::timeout_at(deadline, running.child.wait()).await.is_err() {
                running.signal(Signal::KILL);
                let _ = running.child.wait().await;
            }
            running.kill_group().await;
        }
        self.publish_process_list();
        self.limit_stats = self.limit_stats();
        self.trial_cgroup = None;
        self.target_cgroups = None;
    }
}

fn start_error(name: &str, why: &str) -> String {
    format!("{name} could not be started: {why}")
}

/// If another process already listens on the port, that process would look ready.
fn check_port_free(spec: &ProcessSpec, advice: &str) -> Result<(), String> {
    let BaseUrl { host, port, .. } = &spec.base;
    let bound = TcpListener::bind((host.as_str(), *port));
    bound.map(drop).map_err(|error| format!("{} cannot be started on {host}:{port} ({error}): {advice}", spec.name))
}
