//! The processes that a trial starts: awaited, watched, stopped and started again where the scenario says so, and
//! ended in every way out. Each leads a process group of its own, so that a Ctrl-C reaches the lab alone and the lab
//! ends them in order. With a [`Guard`] they also end when the lab is killed. Refuses to know what they do.
//!
//! Everything is started on the thread that calls, and guarded processes end with that thread: the lab's fleet
//! belongs to its main thread.

mod fault;
mod log;
mod member;
mod orders;
mod ready;
mod recipe;

use std::path::Path;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

pub use orders::{Order, orders};

use super::CouldNotRun;
use super::pulse::SERVER;
use crate::cgroup::{LimitStats, LimitsApplied, TargetCgroups, Together};
use crate::guard::{Guard, ProcessLimits};
use crate::limits::STOP_WITHIN;
use crate::preflight::check_reachable;
use crate::record::timeline::FaultRow;
use crate::scenario::{Command, Helper, Scenario, Scope, Target, TargetLimits};
use fault::Errand;
use member::Member;
use recipe::{Recipe, Start, refuse_taken_port};

use rustix::process::Signal;

/// Names of running processes with their process ids.
pub type Roster = Vec<(String, u32)>;

/// Started processes. Dropping it kills what still runs.
#[derive(Default)]
pub struct Fleet {
    members: Vec<Member>,
    guard: Option<Guard>,
    /// Behind the members, because they go first.
    together: Option<Together>,
    confined: Option<TargetCgroups>,
    limits: Limits,
    roster: watch::Sender<Roster>,
    /// Every order that was carried out, or could not be.
    faults: Vec<FaultRow>,
    /// Those of them, by place, that have begun and of which more will be heard.
    under_way: Vec<usize>,
    errands: JoinSet<Errand>,
}

/// What the target may use, and what came of it.
#[derive(Default)]
struct Limits {
    bounds: ProcessLimits,
    applied: Option<LimitsApplied>,
    seen: Option<LimitStats>,
}

impl Fleet {
    /// A fleet whose processes are started through a guard.
    #[must_use]
    pub fn guarded(guard: Guard) -> Self {
        Self { guard: Some(guard), ..Self::default() }
    }

    /// Holds the target within limits; to be called before it is started.
    ///
    /// # Errors
    /// The sentence that says what this machine lacks, and what to do.
    pub fn confine(&mut self, limits: &TargetLimits, run: &str) -> Result<(), CouldNotRun> {
        if *limits == TargetLimits::default() {
            return Ok(());
        }
        if self.guard.is_none() {
            return Err(CouldNotRun("[target.limits] need a guard, which this lab was built without".to_owned()));
        }
        self.confined = TargetCgroups::apply(limits, run).map_err(CouldNotRun)?;
        let groups = self.confined.as_ref().map_or_else(Vec::new, TargetCgroups::procs_files);
        self.limits.bounds = ProcessLimits { groups, open_files: limits.open_files };
        let files = LimitsApplied { open_files: limits.open_files, ..LimitsApplied::default() };
        self.limits.applied = Some(self.confined.as_ref().map_or(files, |confined| confined.applied().clone()));
        Ok(())
    }

    /// Has everything that the scenario starts end with the lab, however the lab ends; to be called before it is started,
    /// and after [`Fleet::confine`]. Gives the sentence that says what would stay behind, where this machine does not allow
    /// it.
    #[must_use]
    pub fn keep_together(&mut self, scenario: &Scenario, run: &str) -> Option<String> {
        let starts = scenario.target.spawn.is_some() || scenario.helpers.iter().any(|helper| helper.spawn.is_some());
        let guard = self.guard.as_ref().filter(|_| starts)?;
        let limited = self.confined.as_ref().map_or_else(Vec::new, TargetCgroups::unified);
        match Together::create(run, guard, &limited) {
            Ok(together) => {
                // A process is in one group of the second interface alone.
                if limited.is_empty() {
                    self.limits.bounds.groups.push(together.procs());
                }
                self.together = Some(together);
                None
            }
            Err(why) => Some(format!(
                "If the lab is killed (kill -9), what the processes of the run have started in sessions of their own stays \
                 behind: there is no control group for them ({why}). Where systemd runs, a group of the lab's own is enough: \
                 systemd-run --user --scope -p Delegate=yes gauntlet run ..."
            )),
        }
    }

    /// The limits that the target is held within.
    #[must_use]
    pub fn limits_applied(&self) -> Option<&LimitsApplied> {
        self.limits.applied.as_ref()
    }

    /// What the limits did to the target until now, or until it was stopped.
    #[must_use]
    pub fn limits_seen(&self) -> Option<LimitStats> {
        self.confined.as_ref().map(TargetCgroups::stats).or(self.limits.seen)
    }

    /// Starts what the scenario starts, and waits until everything that it needs is ready. What the scenario does
    /// not start must be there at once.
    ///
    /// # Errors
    /// A port is taken, a program does not start, ends early or is not ready in time; nobody listens where a
    /// service should run already. What was started is stopped by dropping the fleet.
    pub async fn start(&mut self, scenario: &Scenario, scope: &Scope<'_>, dir: &Path) -> Result<(), CouldNotRun> {
        for helper in &scenario.helpers {
            let advice = format!(
                "choose another port with --set, or use the process that runs there with --set process.{}.start=false",
                helper.name
            );
            let recipe = self.recipe_of_helper(helper, scope, dir)?;
            self.bring_up(recipe, &advice).await?;
        }
        let advice = "choose another port with --set, or put the service that runs there on trial with --target";
        let recipe = self.recipe_of_target(&scenario.target, scope, dir)?;
        self.bring_up(recipe, advice).await
    }

    fn recipe_of_helper(&self, helper: &Helper, scope: &Scope<'_>, dir: &Path) -> Result<Recipe, CouldNotRun> {
        let groups = self.together.iter().map(Together::procs).collect();
        let bounds = ProcessLimits { groups, open_files: None };
        let start = self.start_of(&helper.name, helper.spawn.as_ref(), &bounds, scope, dir)?;
        let (name, ready) = (helper.name.clone(), Some(helper.ready.clone()));
        Ok(Recipe { name, base: helper.base.clone(), ready, within: helper.ready_within, start })
    }

    fn recipe_of_target(&self, target: &Target, scope: &Scope<'_>, dir: &Path) -> Result<Recipe, CouldNotRun> {
        let start = self.start_of(SERVER, target.spawn.as_ref(), &self.limits.bounds, scope, dir)?;
        let (name, ready) = (SERVER.to_owned(), target.ready.clone());
        Ok(Recipe { name, base: target.url.clone(), ready, within: target.ready_within, start })
    }

    fn start_of(
        &self,
        name: &str,
        command: Option<&Command>,
        bounds: &ProcessLimits,
        scope: &Scope<'_>,
        dir: &Path,
    ) -> Result<Option<Start>, CouldNotRun> {
        let Some(command) = command else { return Ok(None) };
        let guard = self.guard.as_ref().map(|guard| (guard, bounds));
        let start = Start::new(command, scope, dir.join(format!("{name}.log")), guard);
        start.map(Some).map_err(|why| not_started(name, &why))
    }

    async fn bring_up(&mut self, recipe: Recipe, advice: &str) -> Result<(), CouldNotRun> {
        let Some(start) = recipe.start.clone() else {
            check_reachable(&recipe.base).await.map_err(CouldNotRun)?;
            return self.await_ready(&recipe).await;
        };
        refuse_taken_port(&recipe, advice)?;
        let running = start.spawn().map_err(|why| not_started(&recipe.name, &why))?;
        self.members.push(Member { recipe: recipe.clone(), start, running: Some(running), errand: None });
        self.publish();
        self.await_ready(&recipe).await
    }

    async fn await_ready(&mut self, recipe: &Recipe) -> Result<(), CouldNotRun> {
        let Some(path) = &recipe.ready else { return Ok(()) };
        let outcome = tokio::select! {
            biased;
            death = self.first_death() => return Err(CouldNotRun(death)),
            outcome = ready::ready(&recipe.base, path, recipe.within) => outcome,
        };
        outcome.map_err(|why| CouldNotRun(not_ready(recipe, &why)))
    }

    /// Names and process ids of what runs.
    pub fn pids(&self) -> impl Iterator<Item = (&str, u32)> {
        let running = self.members.iter().filter_map(|member| Some((member, member.running.as_ref()?)));
        running.map(|(member, running)| (member.name(), running.pid))
    }

    /// The same, as it changes.
    #[must_use]
    pub fn roster(&self) -> watch::Receiver<Roster> {
        self.roster.subscribe()
    }

    fn publish(&self) {
        let roster = self.pids().map(|(name, pid)| (name.to_owned(), pid)).collect();
        self.roster.send_replace(roster);
    }

    /// A sentence about the first process that has ended by itself, if one has.
    pub fn death(&mut self) -> Option<String> {
        self.members.iter_mut().find_map(Member::death)
    }

    /// Waits until a process ends by itself. What the scenario ended does not count.
    pub async fn first_death(&mut self) -> String {
        self.supervise(Instant::now(), &[], &mut |_| {}).await
    }

    /// Stops everything, the last first: SIGTERM, and SIGKILL for what does not end in time and for whatever the
    /// ended ones leave behind.
    pub async fn stop(&mut self) {
        self.errands.shutdown().await;
        for running in self.members.iter().rev().filter_map(|member| member.running.as_ref()) {
            running.ask_to_end();
        }
        let deadline = Instant::now() + STOP_WITHIN;
        for mut running in self.members.drain(..).rev().filter_map(|member| member.running) {
            if tokio::time::timeout_at(deadline, running.child.wait()).await.is_err() {
                running.signal(Signal::KILL);
                let _ = running.child.wait().await;
            }
            running.sweep().await;
        }
        self.publish();
        self.limits.seen = self.limits_seen();
        self.together = None;
        self.confined = None;
    }
}

fn not_started(name: &str, why: &str) -> CouldNotRun {
    CouldNotRun(format!("{name} could not be started: {why}"))
}

fn not_ready(recipe: &Recipe, why: &str) -> String {
    let log = recipe.start.as_ref().map_or_else(String::new, |start| log::tail(&start.log).to_string());
    format!("{} was not ready within {:?}: {why}{log}", recipe.name, recipe.within)
}
