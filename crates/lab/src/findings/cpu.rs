//! CPUs: whether the target, the machine or the lab had any left, and which programs used them. A CPU that is used up
//! is not a bottleneck while nothing waits for it.

use super::format::{count, moment, number, share, time};
use super::series::{TimeRanges, mean, sum_at, time_when_s};
use super::thresholds::{
    CORES_REPORTED_MIN, CPU_FULL_SHARE, CPU_SUSTAINED_MIN_S, CPU_TARGET_SHARE, LATENCY_GREW_MIN, MACHINE_FULL_SHARE,
    ONE_CORE, ONE_CORE_SHARE_MIN, OWN_WORK_MIN, QUEUE_WAIT_MIN_S, REFUSED_SHARE_MIN, SUSTAINED_SHARE_MIN,
    THROTTLED_MIN, THROTTLED_SHARE_MIN, WAIT_MIN_S,
};
use super::view::{GENERATOR, RunView, SERVER};
use super::{Candidate, FindingRank};
use crate::aggregate::Series;
use crate::format::{first_few, sanitize};
use crate::limits::{NEIGHBOUR_CORES_MIN, NEIGHBOURS_SHOWN_MAX, SAMPLER_EVERY};

/// The prefix of figures of programs that are not part of the trial.
const NEIGHBOUR_PREFIX: &str = "machine.cores_of.";

pub(super) fn candidates(view: &RunView<'_>) -> Vec<Candidate> {
    let cores = CoreUsage::from_view(view);
    let all = [
        cpu_throttled(view, &cores),
        cpu_saturated(view, &cores),
        one_core(view, &cores),
        machine_full(view, &cores),
        generator_behind(view, &cores),
    ];
    all.into_iter().flatten().collect()
}

/// What a target does that no request of the trial waits for: a finding must not charge it to the requests. How many pieces were under way, by
/// which figure, and how many pieces of the trial's own work.
struct OwnWork {
    pieces: f64,
    figure: String,
    of_trial: Option<f64>,
}

impl OwnWork {
    fn from_view(view: &RunView<'_>, busy: &TimeRanges) -> Option<Self> {
        let role = view.role("own_work")?;
        let pieces = role.mean(busy).filter(|pieces| *pieces >= OWN_WORK_MIN)?;
        Some(Self { pieces, figure: role.figure, of_trial: view.mean_unfinished(busy) })
    }

    fn sentence(&self) -> String {
        let of_trial =
            self.of_trial.map(|pieces| format!(", beside {} of the trial", number(pieces))).unwrap_or_default();
        format!(
            " It also worked by itself: {} pieces of its own work were under way on average{of_trial}. A process has one figure of CPU time: \
             how much of it went to which cannot be told apart.",
            number(self.pieces)
        )
    }
}

/// What a target that does work of its own needs, instead of a profile of its requests.
const OWN_WORK_ADVICE: &str = "Run the trial without the target's own work (for ladders: without entries) and compare: the difference is what that work used.";

/// How many cores each program used while the target was busy.
struct CoreUsage<'a> {
    busy: TimeRanges,
    /// Of the machine.
    all: f64,
    /// That the target may use.
    allowed: f64,
    server: Option<f64>,
    generator: Option<f64>,
    /// The other processes of the trial.
    helpers: f64,
    /// By all programs.
    used: Option<f64>,
    /// Of those: taken away by the machine's hypervisor.
    stolen: Option<f64>,
    /// Of those: in the kernel's interrupts, which belong to no process.
    interrupts: Option<f64>,
    /// The highest number of processes of the target, and the usage of the busiest of them.
    server_processes: Option<(f64, f64)>,
    /// Programs that are not part of the trial, by name, the busiest first.
    neighbours: Vec<(&'a str, f64)>,
    /// How long all of them were in use.
    machine_full_s: f64,
    own_work: Option<OwnWork>,
}

impl<'a> CoreUsage<'a> {
    fn from_view(view: &RunView<'a>) -> Self {
        let busy = view.busy();
        let all = view.input.machine.cores.map_or(1.0, |cores| cores as f64);
        let over = |name: &str| view.series(name).and_then(|series| mean(series, &busy));
        let (mut server, mut generator, mut helpers) = (None, None, None);
        let mut neighbours: Vec<(&str, f64)> = Vec::new();
        for (name, series) in &view.input.timeline.series {
            if let Some(process) = name.strip_prefix("process.").and_then(|rest| rest.strip_suffix(".cpu_cores")) {
                let sum = match process {
                    SERVER => &mut server,
                    _ if process.starts_with(GENERATOR) => &mut generator,
                    _ => &mut helpers,
                };
                *sum = mean(series, &busy).map(|cores| sum.unwrap_or(0.0) + cores).or(*sum);
            }
            let program = name.strip_prefix(NEIGHBOUR_PREFIX).zip(mean_cores(series, &busy));
            neighbours.extend(program.filter(|(_, cores)| *cores >= NEIGHBOUR_CORES_MIN));
        }
        neighbours.sort_by(|a, b| b.1.total_cmp(&a.1));
        let share = view.series("machine.busy_share");
        let most = view.series(&format!("process.{SERVER}.processes")).and_then(Series::peak).map(|(_, most)| most);
        Self {
            all,
            allowed: view.input.limits.cpu_cores.map_or(all, |share| share.min(all)),
            server,
            generator,
            helpers: helpers.unwrap_or(0.0),
            used: share.and_then(|series| mean(series, &busy)).map(|share| share * all),
            stolen: over("machine.steal_share").map(|share| share * all),
            interrupts: over("machine.interrupt_share").map(|share| share * all),
            server_processes: most
                .filter(|processes| *processes >= 2.0)
                .zip(over(&format!("process.{SERVER}.busiest_cores"))),
            neighbours,
            own_work: OwnWork::from_view(view, &busy),
            machine_full_s: share.map_or(0.0, |series| time_when_s(series, &busy, |share| share >= MACHINE_FULL_SHARE)),
            busy,
        }
    }

    /// Whether all cores of the machine were in use for most of the time.
    fn is_machine_full(&self) -> bool {
        is_sustained(self.machine_full_s, &self.busy)
    }

    /// Whether most of the machine's CPU usage was the target's.
    fn is_mostly_server(&self) -> bool {
        self.server.zip(self.used).is_some_and(|(server, used)| server >= CPU_TARGET_SHARE * used)
    }

    /// Whether the lab had no core left for its workers.
    fn is_lab_full(&self, workers: usize) -> bool {
        let cores = (workers.max(1) as f64).min(self.all);
        self.generator.is_some_and(|used| used >= CPU_FULL_SHARE * cores)
    }

    /// Programs that are not part of the trial, as far as the lab knows, each with the cores that it used.
    fn named_neighbours(&self) -> String {
        let named = self.neighbours.iter().take(NEIGHBOURS_SHOWN_MAX);
        first_few(named.map(|(name, cores)| format!("{} {}", sanitize(name), number(*cores))), ", ")
    }

    /// What is added to a sentence about the CPU time of the target.
    fn own_work_sentence(&self) -> String {
        self.own_work.as_ref().map(OwnWork::sentence).unwrap_or_default()
    }

    /// The evidence and the advice that go with it.
    fn with_own_work(&self, case: Candidate, refuted_by: &str, advice: &str) -> Candidate {
        match &self.own_work {
            Some(work) => case
                .evidence(work.figure.clone(), format!("{} on average", number(work.pieces)))
                .with_advice(refuted_by, OWN_WORK_ADVICE),
            None => case.with_advice(refuted_by, advice),
        }
    }

    fn users_sentence(&self) -> String {
        let known = self.server.unwrap_or(0.0) + self.generator.unwrap_or(0.0) + self.helpers;
        let (stolen, interrupts) = (self.stolen.unwrap_or(0.0), self.interrupts.unwrap_or(0.0));
        let others = self.used.map_or(0.0, |used| (used - known - stolen - interrupts).max(0.0));
        let members = self.server_processes.map_or_else(String::new, |(processes, busiest)| {
            format!(" (up to {} processes, the busiest of them {})", count(processes as u64), number(busiest))
        });
        let named = self.named_neighbours();
        let named = if named.is_empty() { named } else { format!(" ({named})") };
        let other_programs = match self.server {
            Some(_) => "programs outside of the trial",
            None => "all other programs, including the target,",
        };
        let users = [
            ("the target", self.server, members),
            ("the lab", self.generator, String::new()),
            ("the trial's other processes", Some(self.helpers), String::new()),
            ("the kernel's interrupts, including its network stack,", self.interrupts, String::new()),
            (other_programs, Some(others), named),
        ];
        let mut text = String::new();
        // A program that used next to nothing is no cause.
        for (who, cores, more) in users {
            let Some(cores) = cores.filter(|cores| *cores >= CORES_REPORTED_MIN) else { continue };
            text += &match text.is_empty() {
                true => format!("{who} used {} cores{more}", number(cores)),
                false => format!(", {who} {}{more}", number(cores)),
            };
        }
        if stolen >= CORES_REPORTED_MIN {
            text += &format!("; the host took {} away", number(stolen));
        }
        text
    }
}

/// Cores that a program used, over all of these times: seconds without a value count as zero.
fn mean_cores(series: &Series, times: &TimeRanges) -> Option<f64> {
    let sum = sum_at(series, |t_s| times.contains(t_s));
    (times.total_s() > 0.0).then(|| sum * SAMPLER_EVERY.as_secs_f64() / times.total_s())
}

fn is_sustained(lasting_s: f64, times: &TimeRanges) -> bool {
    lasting_s >= CPU_SUSTAINED_MIN_S && lasting_s >= SUSTAINED_SHARE_MIN * times.total_s()
}

/// The target wanted more than its share, and the kernel made it wait.
fn cpu_throttled(view: &RunView<'_>, cores: &CoreUsage<'_>) -> Option<Candidate> {
    let (limit, pressure) = (view.input.limits.cpu_cores?, view.limit_stats());
    let periods = pressure.cpu_throttled_periods.zip(pressure.cpu_periods).filter(|(_, all)| *all > 0);
    let part = periods.map(|(throttled, all)| throttled as f64 / all as f64)?;
    let waited_s = pressure.cpu_throttled_us.map(|us| us as f64 / 1e6);
    let at_once = waited_s.map(|waited_s| waited_s / cores.busy.total_s().max(1.0));
    let is_felt = at_once.is_none_or(|at_once| at_once >= THROTTLED_MIN);
    if !is_felt || part < THROTTLED_SHARE_MIN || !has_impact(view) {
        return None;
    }
    let sentence = format!(
        "The target's CPU limit was too low: of {} cores it used {}, and had to wait in {} of the periods \
         in which it wanted to run.{}",
        number(limit),
        cores.server.map_or_else(|| "an unknown number".to_owned(), number),
        share(part),
        cores.own_work_sentence()
    );
    let waited = waited_s.map(|waited_s| format!("threads waited {} in all", time(waited_s)));
    let case = Candidate::new("cpu_throttled", part, sentence)
        .evidence("server.limits_seen.cpu_throttled_periods", format!("{} of the periods", share(part)))
        .evidence("server.limits_seen.cpu_throttled_us", waited);
    let refuted_by = "With a higher limit the target uses no more CPU time and is no faster.";
    let advice = "Raise the limit ([target.limits]), or reduce the target's work per request.";
    Some(cores.with_own_work(case, refuted_by, advice))
}

/// The target used all the CPU time that it may use.
fn cpu_saturated(view: &RunView<'_>, cores: &CoreUsage<'_>) -> Option<Candidate> {
    let used = cores.server?;
    let series = view.series(&format!("process.{SERVER}.cpu_cores"))?;
    let at_limit_s = time_when_s(series, &cores.busy, |used| used >= CPU_FULL_SHARE * cores.allowed);
    let is_full = is_sustained(at_limit_s, &cores.busy) || (cores.is_machine_full() && cores.is_mostly_server());
    if !is_full || !has_impact(view) {
        return None;
    }
    let explains = at_limit_s.max(cores.machine_full_s) / cores.busy.total_s();
    let sentence = format!(
        "The target had no CPU left: it used {} of {} cores on average while it was busy.{}",
        number(used),
        number(cores.allowed),
        cores.own_work_sentence()
    );
    let case = Candidate::new("cpu_saturated", explains, sentence)
        .evidence(
            format!("process.{SERVER}.cpu_cores"),
            format!("{} for {} of {}", number(used), time(at_limit_s), time(cores.busy.total_s())),
        )
        .evidence("machine.busy_share", cores.users_sentence());
    let refuted_by = "With more cores the target uses no more of them, or uses them and is no faster.";
    let advice = "Profile the target: more cores would have to do what it does for each request.";
    Some(cores.with_own_work(case, refuted_by, advice))
}

/// One thread of the target is busy all the time while other cores are idle.
fn one_core(view: &RunView<'_>, cores: &CoreUsage<'_>) -> Option<Candidate> {
    let series = view.series(&format!("process.{SERVER}.cpu_cores"))?;
    let at_one_s = time_when_s(series, &cores.busy, |used| ONE_CORE.contains(&used));
    let lasts = at_one_s >= CPU_SUSTAINED_MIN_S && at_one_s >= ONE_CORE_SHARE_MIN * cores.busy.total_s();
    // If there is only one core, the findings above cover it.
    if cores.allowed < 2.0 * ONE_CORE.start() || !lasts || cores.is_machine_full() || !has_impact(view) {
        return None;
    }
    let explains = at_one_s / cores.busy.total_s();
    let sentence = format!(
        "One thread of the target was the limit: it used one core, no more and no less, for {} while {} cores were available.{}",
        time(at_one_s),
        number(cores.allowed),
        cores.own_work_sentence()
    );
    let used = cores.server.map(|used| format!("{} on average while busy", number(used)));
    let case = Candidate::new("one_core", explains, sentence)
        .evidence(format!("process.{SERVER}.cpu_cores"), used)
        .evidence("machine.busy_share", cores.users_sentence());
    let refuted_by = "Several threads of the target used CPU time, each a part of the one core.";
    let advice = "Find the thread that is busy (top -H), and spread its work or start more processes.";
    Some(cores.with_own_work(case, refuted_by, advice))
}

/// All cores of the machine were in use, and most of them not by the target.
fn machine_full(view: &RunView<'_>, cores: &CoreUsage<'_>) -> Option<Candidate> {
    let used = cores.used?;
    // A lab at its own limit is covered below.
    let is_lab = cores.is_lab_full(view.input.workers) && cores.generator.unwrap_or(0.0) >= used / 2.0;
    if !cores.is_machine_full() || cores.is_mostly_server() || is_lab || !has_impact(view) {
        return None;
    }
    let why = if cores.server.is_some() {
        "and not by the target alone"
    } else {
        "and it is not known which programs used it"
    };
    let sentence = format!(
        "The machine's CPUs were used up, {why}: while requests were in flight, {}.{}",
        cores.users_sentence(),
        cores.own_work_sentence()
    );
    let is_doubt = cores.server.unwrap_or(0.0) < used / 2.0;
    let rank = if is_doubt { FindingRank::Validity } else { FindingRank::Cause };
    let (full_s, busy_s) = (cores.machine_full_s, cores.busy.total_s());
    let full = format!("at least {} for {} of {}", share(MACHINE_FULL_SHARE), time(full_s), time(busy_s));
    let case =
        Candidate::new("machine_full", full_s / busy_s, sentence).rank(rank).evidence("machine.busy_share", full);
    let refuted_by = "On its own machine the target is no faster.";
    let advice = match (cores.server, cores.neighbours.first()) {
        (None, _) => {
            "Name the target's process (--pid), or let the lab start it: then its share is known.".to_owned()
        }
        (_, Some((name, used))) if *used >= cores.generator.unwrap_or(0.0) => {
            format!("End {} while measuring: it is not part of the trial.", sanitize(name))
        }
        _ => {
            "Run the target, the lab and their helper processes on different machines, or keep the machine free of other programs.".to_owned()
        }
    };
    Some(case.with_advice(refuted_by, &advice))
}

/// The lab did not keep to its own plan.
fn generator_behind(view: &RunView<'_>, cores: &CoreUsage<'_>) -> Option<Candidate> {
    let generator = &view.input.results.generator;
    let bound_ms = generator.lag_p99_max_ms;
    let lag_ms = generator.schedule_lag_ms.p99_or_max().filter(|lag_ms| lag_ms.is_finite() && *lag_ms > bound_ms)?;
    let is_own = cores.is_lab_full(view.input.workers);
    if !is_own && cores.is_machine_full() && !cores.is_mostly_server() {
        return None;
    }
    let others = cores.named_neighbours();
    let others = if others.is_empty() { others } else { format!("; meanwhile other programs used {others} cores") };
    let why = match cores.generator {
        None => format!("how much CPU time its workers used is not known{others}"),
        Some(used) if is_own => format!("its workers used {} cores, the most that they can{others}", number(used)),
        Some(used) => format!(
            "its workers used {} cores and could have used more, so something kept them from running{others}",
            number(used)
        ),
    };
    let who = if generator.schedule_lag_ms.p99.is_some() { "1 of 100 arrivals" } else { "an arrival" };
    let sentence = format!(
        "The lab was behind its plan: {who} was sent more than {} late ({} are allowed); {why}.",
        time(lag_ms / 1000.0),
        time(bound_ms / 1000.0)
    );
    let peak = view.series("generator.lag_p99_ms").and_then(Series::peak);
    let peak = peak.map(|(t_s, ms)| format!("at most {} in one second, at {}", time(ms / 1000.0), moment(t_s)));
    let case = Candidate::new("generator_behind", 1.0, sentence)
        .rank(FindingRank::Validity)
        .evidence(
            "generator.schedule_lag_ms.p99",
            format!("{}, allowed {}", time(lag_ms / 1000.0), time(bound_ms / 1000.0)),
        )
        .evidence("generator.lag_p99_ms", peak)
        .evidence("machine.busy_share", cores.used.map(|_| cores.users_sentence()));
    let refuted_by = "The same plan at half the rate shows the same latency.";
    let advice = match cores.neighbours.first() {
        Some((name, used)) if *used >= cores.generator.unwrap_or(0.0) => {
            format!(
                "End {} while measuring, where it is not the target itself: the lab had to wait for it.",
                sanitize(name)
            )
        }
        _ => "Give the lab more cores, or reduce the load: the figures of this run depend on the lab as much as on the target."
            .to_owned(),
    };
    Some(case.with_advice(refuted_by, &advice))
}

/// Whether anything waited, failed or stayed below its plan, so that a full CPU matters.
fn has_impact(view: &RunView<'_>) -> bool {
    let arrivals = view.arrivals();
    let generator = &view.input.results.generator;
    let is_closed = view.input.load_steps.iter().any(|part| part.clients.is_some());
    // A limiter denies on an idle machine as well.
    let has_errors = arrivals.share(arrivals.errors) >= REFUSED_SHARE_MIN;
    let is_held_up = generator.not_sent > 0 || arrivals.share(generator.capped) >= REFUSED_SHARE_MIN;
    let is_late = generator.schedule_lag_ms.p99_or_max().is_some_and(|lag| lag > generator.lag_p99_max_ms);
    is_closed
        || has_errors
        || is_held_up
        || is_late
        || has_latency_grown(view)
        || has_waiting_tasks(view)
        || has_waiting_work(view)
}

fn has_latency_grown(view: &RunView<'_>) -> bool {
    view.ops.iter().any(|op| {
        let both = op.latency_ms(&view.requests.busy).zip(op.latency_ms(&view.requests.calm));
        both.is_some_and(|(busy, calm)| busy >= LATENCY_GREW_MIN * calm && busy - calm >= WAIT_MIN_S * 1000.0)
    })
}

fn has_waiting_tasks(view: &RunView<'_>) -> bool {
    let took = view.role("scheduler_delay").and_then(|role| role.timing(&view.busy()));
    took.is_some_and(|took| took.mean_s >= WAIT_MIN_S)
}

fn has_waiting_work(view: &RunView<'_>) -> bool {
    let mut waits_s = view.input.results.work.values().filter_map(|work| work.queue_wait_s.avg);
    waits_s.any(|wait_s| wait_s >= QUEUE_WAIT_MIN_S)
}
