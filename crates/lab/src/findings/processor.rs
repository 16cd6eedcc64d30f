//! Processors: whether the target, the machine or the lab had any left, and who used them. Refuses to call a
//! processor that is used up a bottleneck while nothing waits for it.

use super::roles::Role;
use super::series::{Times, mean, sum_while, time_when_s};
use super::thresholds::{
    CORES_TOLD_MIN, CPU_FULL_SHARE, CPU_LASTING_MIN_S, CPU_OWN_SHARE, LASTING_SHARE_MIN, LATENCY_GREW_MIN,
    MACHINE_FULL_SHARE, ONE_CORE, ONE_CORE_LASTING, QUEUE_WAIT_MIN_S, REFUSED_SHARE_MIN, THROTTLED_MIN,
    THROTTLED_SHARE_MIN, WAIT_MIN_S,
};
use super::view::{GENERATOR, SERVER, View};
use super::words::{count, digits, share, time};
use super::{Candidate, Case, Rank};
use crate::aggregate::Series;
use crate::limits::{NEIGHBOUR_CORES_MIN, NEIGHBOURS_SHOWN_MAX, SAMPLER_EVERY};
use crate::report::words::{clean, first_few};

/// What the figures of programs that have nothing to do with the trial begin with, behind the machine's own name.
const NEIGHBOUR: &str = "cores_of.";

pub(super) fn candidates(view: &View<'_>) -> Vec<Candidate> {
    let cores = Cores::of(view);
    let all = [
        throttled(view, &cores),
        saturated(view, &cores),
        one_core(view, &cores),
        machine_full(view, &cores),
        behind(view, &cores),
    ];
    all.into_iter().flatten().collect()
}

/// Who used how many cores while the target was busy.
struct Cores<'a> {
    busy: Times,
    /// Of the machine.
    all: f64,
    /// That the target may use.
    allowed: f64,
    server: Option<f64>,
    generator: Option<f64>,
    /// The other processes of the trial.
    helpers: f64,
    /// By anybody.
    used: Option<f64>,
    /// Of those: taken away by the machine's own host.
    stolen: Option<f64>,
    /// Of those: in the kernel's interrupts, which are no process's.
    interrupts: Option<f64>,
    /// How many processes the target was at most, and what the busiest of them used.
    members: Option<(f64, f64)>,
    /// Programs that have nothing to do with the trial, by name, the busiest first.
    neighbours: Vec<(&'a str, f64)>,
    /// How long all of them were in use.
    full_s: f64,
}

impl<'a> Cores<'a> {
    fn of(view: &View<'a>) -> Self {
        let busy = view.busy();
        let all = view.input.machine.cores.map_or(1.0, |cores| cores as f64);
        let over = |name: &str| view.series(name).and_then(|series| mean(series, &busy));
        let mut processes: Vec<(&str, f64)> = Vec::new();
        for name in view.input.timeline.series.keys() {
            let Some(process) = name.strip_prefix("process.").and_then(|rest| rest.strip_suffix(".cpu_cores")) else {
                continue;
            };
            processes.extend(over(name).map(|cores| (process, cores)));
        }
        let sum = |is_one: &dyn Fn(&str) -> bool| {
            let found: Vec<f64> = processes.iter().filter(|(name, _)| is_one(name)).map(|(_, cores)| *cores).collect();
            (!found.is_empty()).then(|| found.iter().sum::<f64>())
        };
        let (server, generator) = (sum(&|name| name == SERVER), sum(&|name| name.starts_with(GENERATOR)));
        let helpers = sum(&|name| name != SERVER && !name.starts_with(GENERATOR)).unwrap_or(0.0);
        let share = view.series("machine.busy_share");
        let mut neighbours: Vec<(&str, f64)> = Vec::new();
        for (name, series) in &view.input.timeline.series {
            let program = name.strip_prefix("machine.").and_then(|name| name.strip_prefix(NEIGHBOUR));
            neighbours.extend(program.zip(used_over(series, &busy)).filter(|(_, cores)| *cores >= NEIGHBOUR_CORES_MIN));
        }
        neighbours.sort_by(|a, b| b.1.total_cmp(&a.1));
        let most = view.series(&format!("process.{SERVER}.processes")).and_then(Series::peak).map(|(_, most)| most);
        Self {
            all,
            allowed: view.input.limits.cpu_share.map_or(all, |share| share.min(all)),
            server,
            generator,
            helpers,
            used: share.and_then(|series| mean(series, &busy)).map(|share| share * all),
            stolen: over("machine.steal_share").map(|share| share * all),
            interrupts: over("machine.interrupt_share").map(|share| share * all),
            members: most.filter(|processes| *processes >= 2.0).zip(over(&format!("process.{SERVER}.busiest_cores"))),
            neighbours,
            full_s: share.map_or(0.0, |series| time_when_s(series, &busy, |share| share >= MACHINE_FULL_SHARE)),
            busy,
        }
    }

    /// Whether all cores of the machine were in use for most of the time.
    fn machine_is_full(&self) -> bool {
        is_lasting(self.full_s, &self.busy)
    }

    /// Whether most of what the busy machine did was the target's own.
    fn are_servers(&self) -> bool {
        self.server.zip(self.used).is_some_and(|(server, used)| server >= CPU_OWN_SHARE * used)
    }

    /// Whether the lab had no core left for its workers.
    fn lab_is_full(&self, workers: usize) -> bool {
        let cores = (workers.max(1) as f64).min(self.all);
        self.generator.is_some_and(|used| used >= CPU_FULL_SHARE * cores)
    }

    /// Programs that have nothing to do with the trial, as far as the lab knows, each with the cores that it used.
    fn named_neighbours(&self) -> String {
        let named = self.neighbours.iter().take(NEIGHBOURS_SHOWN_MAX);
        first_few(named.map(|(name, cores)| format!("{} {}", clean(name), digits(*cores))), ", ")
    }

    fn users(&self) -> String {
        let known = self.server.unwrap_or(0.0) + self.generator.unwrap_or(0.0) + self.helpers;
        let (stolen, interrupts) = (self.stolen.unwrap_or(0.0), self.interrupts.unwrap_or(0.0));
        let others = self.used.map_or(0.0, |used| (used - known - stolen - interrupts).max(0.0));
        let members = self.members.map_or_else(String::new, |(processes, busiest)| {
            format!(" (up to {} processes, the busiest of them {})", count(processes as u64), digits(busiest))
        });
        let named = self.named_neighbours();
        let named = if named.is_empty() { named } else { format!(" ({named})") };
        let strangers = if self.server.is_some() {
            "programs that have nothing to do with the trial"
        } else {
            "everybody else, the target among them,"
        };
        let users = [
            ("the target", self.server, members),
            ("the lab", self.generator, String::new()),
            ("the trial's other processes", Some(self.helpers), String::new()),
            ("the kernel's interrupts, its network among them,", self.interrupts, String::new()),
            (strangers, Some(others), named),
        ];
        let mut told = String::new();
        // Who used next to nothing is no reason.
        for (who, cores, more) in users {
            let Some(cores) = cores.filter(|cores| *cores >= CORES_TOLD_MIN) else { continue };
            told += &match told.is_empty() {
                true => format!("{who} used {} cores{more}", digits(cores)),
                false => format!(", {who} {}{more}", digits(cores)),
            };
        }
        let stolen =
            if stolen >= CORES_TOLD_MIN { format!("; the host took {} away", digits(stolen)) } else { String::new() };
        told + &stolen
    }
}

/// Cores that a program kept busy, over all of these times: in seconds without a word of it there was nothing to tell.
fn used_over(series: &Series, times: &Times) -> Option<f64> {
    let told = sum_while(series, |t_s| times.contains(t_s));
    (times.length_s() > 0.0).then(|| told * SAMPLER_EVERY.as_secs_f64() / times.length_s())
}

fn is_lasting(lasting_s: f64, times: &Times) -> bool {
    lasting_s >= CPU_LASTING_MIN_S && lasting_s >= LASTING_SHARE_MIN * times.length_s()
}

/// The target wanted more than its share, and the kernel made it wait.
fn throttled(view: &View<'_>, cores: &Cores<'_>) -> Option<Candidate> {
    let (limit, pressure) = (view.input.limits.cpu_share?, view.input.pressure);
    let periods = pressure.cpu_throttled_periods.zip(pressure.cpu_periods).filter(|(_, all)| *all > 0);
    let part = periods.map(|(throttled, all)| throttled as f64 / all as f64);
    let waited_s = pressure.cpu_throttled_us.map(|us| us as f64 / 1e6);
    let at_once = waited_s.map(|waited_s| waited_s / cores.busy.length_s().max(1.0));
    let is_felt = at_once.is_none_or(|at_once| at_once >= THROTTLED_MIN);
    if !(is_felt && part.is_some_and(|part| part >= THROTTLED_SHARE_MIN) && is_harmed(view)) {
        return None;
    }
    let part = part.unwrap_or_default();
    let sentence = format!(
        "The target's share of the processors was too small: of {} cores it used {}, and had to wait in {} of the periods \
         in which it wanted to run.",
        digits(limit),
        cores.server.map_or_else(|| "an unknown number".to_owned(), digits),
        share(part)
    );
    let case = Case::new("cpu_throttled", part, sentence)
        .evidence("server.limits_seen.cpu_throttled_periods", format!("{} of the periods", share(part)))
        .maybe(
            "server.limits_seen.cpu_throttled_us",
            waited_s.map(|waited_s| format!("threads waited {} in all", time(waited_s))),
        );
    let refuted_by = "With a greater share the target uses no more and is no faster.";
    Some(case.close(refuted_by, "Raise the share ([target.limits]), or have the target do less for each request."))
}

/// The target used all the processor time that it may use.
fn saturated(view: &View<'_>, cores: &Cores<'_>) -> Option<Candidate> {
    let used = cores.server?;
    let series = view.series(&format!("process.{SERVER}.cpu_cores"))?;
    let at_limit_s = time_when_s(series, &cores.busy, |used| used >= CPU_FULL_SHARE * cores.allowed);
    let is_full = is_lasting(at_limit_s, &cores.busy) || (cores.machine_is_full() && cores.are_servers());
    if !is_full || !is_harmed(view) {
        return None;
    }
    let explains = at_limit_s.max(cores.full_s) / cores.busy.length_s();
    let sentence = format!(
        "The target had no processor left: it used {} of {} cores in the mean while it was busy.",
        digits(used),
        digits(cores.allowed)
    );
    let case = Case::new("cpu_saturated", explains, sentence)
        .evidence(
            format!("process.{SERVER}.cpu_cores"),
            format!("{} for {} of {}", digits(used), time(at_limit_s), time(cores.busy.length_s())),
        )
        .evidence("machine.busy_share", cores.users());
    let refuted_by = "With more cores the target uses no more, or uses them and is no faster.";
    Some(
        case.close(
            refuted_by,
            "Profile the target: what it does for each request is what more cores would have to do.",
        ),
    )
}

/// One thread of the target is busy all the time while other cores idle.
fn one_core(view: &View<'_>, cores: &Cores<'_>) -> Option<Candidate> {
    let series = view.series(&format!("process.{SERVER}.cpu_cores"))?;
    let at_one_s = time_when_s(series, &cores.busy, |used| ONE_CORE.contains(&used));
    let lasts = at_one_s >= CPU_LASTING_MIN_S && at_one_s >= ONE_CORE_LASTING * cores.busy.length_s();
    // Where one core is all there is, the findings above speak of it.
    if cores.allowed < 2.0 * ONE_CORE.start() || !lasts || cores.machine_is_full() || !is_harmed(view) {
        return None;
    }
    let explains = at_one_s / cores.busy.length_s();
    let sentence = format!(
        "One thread of the target was the limit: it used one core, no more and no less, for {} while {} cores were there.",
        time(at_one_s),
        digits(cores.allowed)
    );
    let used = cores.server.map(|used| format!("{} in the mean while busy", digits(used)));
    let case = Case::new("one_core", explains, sentence)
        .maybe(format!("process.{SERVER}.cpu_cores"), used)
        .evidence("machine.busy_share", cores.users());
    let refuted_by = "Several threads of the target show processor time, each a part of the one core.";
    Some(case.close(refuted_by, "Find the thread that is busy (top -H), and spread its work or start more processes."))
}

/// All cores of the machine were in use, and most of them not by the target.
fn machine_full(view: &View<'_>, cores: &Cores<'_>) -> Option<Candidate> {
    let used = cores.used?;
    // A lab that works at its own limit is told of below.
    let is_lab = cores.lab_is_full(view.input.workers) && cores.generator.unwrap_or(0.0) >= used / 2.0;
    if !cores.machine_is_full() || cores.are_servers() || is_lab || !is_harmed(view) {
        return None;
    }
    let why = if cores.server.is_some() { "and not with the target alone" } else { "and nobody can say with whom" };
    let sentence = format!("The machine was full, {why}: while requests were under way, {}.", cores.users());
    let is_doubt = cores.server.unwrap_or(0.0) < used / 2.0;
    let rank = if is_doubt { Rank::Doubt } else { Rank::Cause };
    let case = Case::new("machine_full", cores.full_s / cores.busy.length_s(), sentence).rank(rank).evidence(
        "machine.busy_share",
        format!("at least {} for {} of {}", share(MACHINE_FULL_SHARE), time(cores.full_s), time(cores.busy.length_s())),
    );
    let refuted_by = "On a machine of its own the target is no faster.";
    let advice = match (cores.server, cores.neighbours.first()) {
        (None, _) => {
            "Say which process is the target (--pid), or let the lab start it: then its share can be told.".to_owned()
        }
        (_, Some((name, used))) if *used >= cores.generator.unwrap_or(0.0) => {
            format!("End {} while measuring: it has nothing to do with the trial.", clean(name))
        }
        _ => {
            "Run the target, the lab and what helps them on different machines, or leave the machine alone.".to_owned()
        }
    };
    Some(case.close(refuted_by, &advice))
}

/// The lab did not keep to its own plan.
fn behind(view: &View<'_>, cores: &Cores<'_>) -> Option<Candidate> {
    let generator = &view.input.results.generator;
    let bound_ms = generator.lag_p99_max_ms;
    let lag_ms = generator.schedule_lag_ms.p99_or_max().filter(|lag_ms| lag_ms.is_finite() && *lag_ms > bound_ms)?;
    let is_own = cores.lab_is_full(view.input.workers);
    if !is_own && cores.machine_is_full() && !cores.are_servers() {
        return None;
    }
    let others = cores.named_neighbours();
    let others = if others.is_empty() { others } else { format!("; meanwhile other programs used {others} cores") };
    let why = match cores.generator {
        None => format!("how much of the processors its workers used is not known{others}"),
        Some(used) if is_own => format!("its workers used {} cores, all that they can{others}", digits(used)),
        Some(used) => {
            let used = digits(used);
            format!("its workers used {used} cores and had room, so something kept them from running{others}")
        }
    };
    let who = if generator.schedule_lag_ms.p99.is_some() { "1 of 100 arrivals" } else { "an arrival" };
    let sentence = format!(
        "The lab was behind its plan: {who} left more than {} late ({} are allowed); {why}.",
        time(lag_ms / 1000.0),
        time(bound_ms / 1000.0)
    );
    let peak = view.series("generator.lag_p99_ms").and_then(Series::peak);
    let case = Case::new("generator_behind", 1.0, sentence)
        .rank(Rank::Doubt)
        .evidence(
            "generator.schedule_lag_ms.p99",
            format!("{}, allowed {}", time(lag_ms / 1000.0), time(bound_ms / 1000.0)),
        )
        .maybe(
            "generator.lag_p99_ms",
            peak.map(|(t_s, ms)| {
                format!("at most {} in one second, at {}", time(ms / 1000.0), super::words::moment(t_s))
            }),
        );
    let refuted_by = "The same plan at half the rate shows the same latency.";
    let advice = match cores.neighbours.first() {
        Some((name, used)) if *used >= cores.generator.unwrap_or(0.0) => {
            format!(
                "End {} while measuring, where it is not the target itself: the lab had to wait for it.",
                clean(name)
            )
        }
        _ => "Give the lab more cores, or ask for less: figures of this run are the lab's as much as the target's."
            .to_owned(),
    };
    let case = if cores.used.is_some() { case.evidence("machine.busy_share", cores.users()) } else { case };
    Some(case.close(refuted_by, &advice))
}

/// Whether anything waited, failed or stayed below its plan, so that a full processor matters.
fn is_harmed(view: &View<'_>) -> bool {
    let arrivals = view.arrivals();
    let generator = &view.input.results.generator;
    let is_closed = view.input.parts.iter().any(|part| part.clients.is_some());
    // What a limiter denies it denies on an idle machine as well.
    let has_errors = arrivals.share(arrivals.errors) >= REFUSED_SHARE_MIN;
    let is_held_up = generator.not_sent > 0 || arrivals.share(generator.capped) >= REFUSED_SHARE_MIN;
    let is_late = generator.schedule_lag_ms.p99_or_max().is_some_and(|lag| lag > generator.lag_p99_max_ms);
    is_closed || has_errors || is_held_up || is_late || latency_grew(view) || tasks_wait(view) || work_waits(view)
}

fn latency_grew(view: &View<'_>) -> bool {
    view.ops.iter().any(|op| {
        let both = op.latency_ms(&view.requests.busy).zip(op.latency_ms(&view.requests.calm));
        both.is_some_and(|(busy, calm)| busy >= LATENCY_GREW_MIN * calm && busy - calm >= WAIT_MIN_S * 1000.0)
    })
}

fn tasks_wait(view: &View<'_>) -> bool {
    let delay = view.role("scheduler_delay");
    let took = delay.as_ref().and_then(|role: &Role<'_>| role.took(&view.busy()));
    took.is_some_and(|took| took.mean_s >= WAIT_MIN_S)
}

fn work_waits(view: &View<'_>) -> bool {
    let waits =
        |work: &crate::aggregate::WorkFigures| work.queue_wait_s.avg.is_some_and(|wait_s| wait_s >= QUEUE_WAIT_MIN_S);
    view.input.results.work.values().any(waits)
}
