//! Where time goes between a request and its response: waiting for a pool's slot, in the store, for the scheduler, or
//! for a dependency. Each check blames one stage and must rule out the stage after it. Does not look at CPUs: when they
//! are used up, `cpu` reports it and everything here is a consequence.

use super::Candidate;
use super::format::{self, number, share, time};
use super::roles::{RoleSeries, RoleTiming};
use super::series::TimeRanges;
use super::thresholds::{
    CALL_GREW_MIN_S, CALL_SHARE_MIN, CALL_SLOW_S, COMMIT_CORES_MIN, COMMIT_PER_FSYNC_MAX, FSYNC_SLOW_S, GREW_MIN,
    LATE_SHARE_MIN, SCHEDULER_LATE_S, SHARE_MIN, STORE_SLOW_S, WAIT_MIN_S, WAIT_PER_USE_MIN, WRITER_BUSY_MIN,
};
use super::view::{PressureTimes, RunView};

pub(super) fn candidates(view: &RunView<'_>) -> Vec<Candidate> {
    let pools = POOLS.iter().filter_map(|pool| pool_starved(view, pool));
    let others = [store_slow(view), scheduler_late(view), dependency_slow(view)];
    pools.chain(others.into_iter().flatten()).collect()
}

/// A pool of slots that requests wait for and then hold.
struct Pool {
    wait_role: &'static str,
    hold_role: &'static str,
    /// What is waited for, in a sentence.
    resource: &'static str,
    advice: &'static str,
}

const POOLS: [Pool; 2] = [
    Pool {
        wait_role: "pool_wait",
        hold_role: "query_time",
        resource: "a connection to the store",
        advice: "Give the pool more connections, or hold each for less time.",
    },
    Pool {
        wait_role: "dependency_wait",
        hold_role: "dependency_time",
        resource: "a connection to the service that the target calls",
        advice: "Raise the limit on connections to the called service, if it can take more concurrent calls.",
    },
];

/// A role's time during one kind of pressure, and what it explains.
struct RoleImpact<'a> {
    role: RoleSeries<'a>,
    busy: RoleTiming,
    /// In calm times, if there were any.
    calm: Option<RoleTiming>,
    /// Of the time of requests, or of work items.
    share: f64,
    /// What it is a part of, in words.
    part_of: String,
}

impl RoleImpact<'_> {
    /// Whether it took much longer than in calm times.
    fn has_grown(&self) -> bool {
        self.calm.is_some_and(|calm| self.busy.mean_s >= GREW_MIN * calm.mean_s)
    }

    /// `112 ms while busy, 0.08 ms while calm`.
    fn sentence(&self) -> String {
        busy_and_calm(self.busy, self.calm)
    }
}

fn busy_and_calm(took: RoleTiming, calm: Option<RoleTiming>) -> String {
    match calm {
        Some(calm) => format!("{} on average while busy, {} while calm", time(took.mean_s), time(calm.mean_s)),
        None => format!("{} on average while busy", time(took.mean_s)),
    }
}

/// How a role spent its time, if it took at least `least_s`, as a part of requests or, if requests were not delayed by
/// it, of work items; none below a minimum share.
fn role_impact<'a>(view: &RunView<'a>, name: &str, least_s: f64, least_share: f64) -> Option<RoleImpact<'a>> {
    let role = view.role(name)?;
    let by_requests = timing_under_pressure(&role, &view.requests, least_s).and_then(|(busy, calm)| {
        let part = view.share_of_requests(busy.mean_s, &view.requests.busy)?;
        let part_of = format!("of the {} of a {}", time(part.service_s), part.op);
        Some(RoleImpact { role: role.clone(), busy, calm, share: part.share, part_of })
    });
    let by_work = timing_under_pressure(&role, &view.work, least_s).and_then(|(busy, calm)| {
        let (at_once, items) = (busy.concurrency?, view.mean_unfinished(&view.work.busy)?);
        let share = (at_once / items.max(f64::MIN_POSITIVE)).min(1.0);
        let (at_once, items) = (number(at_once), number(items));
        let part_of = format!("of the time of work items ({at_once} at the same time, {items} in progress)");
        Some(RoleImpact { role: role.clone(), busy, calm, share, part_of })
    });
    by_requests.into_iter().chain(by_work).find(|seen| seen.share >= least_share)
}

/// A role during one kind of pressure, if it took at least this long for long enough.
fn timing_under_pressure(
    role: &RoleSeries<'_>,
    pressed: &PressureTimes,
    least_s: f64,
) -> Option<(RoleTiming, Option<RoleTiming>)> {
    let took = role.timing(&pressed.busy).filter(|took| took.mean_s >= least_s)?;
    let lasting_s = role.time_above_s(&pressed.busy, least_s);
    RunView::is_sustained(lasting_s, &pressed.busy).then(|| (took, role.timing(&pressed.calm)))
}

/// The wait grew beyond the use that follows it, and the use takes no longer than it should.
fn pool_starved(view: &RunView<'_>, pool: &Pool) -> Option<Candidate> {
    let wait = role_impact(view, pool.wait_role, WAIT_MIN_S, SHARE_MIN)?;
    let hold = view.role(pool.hold_role);
    let busy = view.busy();
    let held = hold.as_ref().and_then(|hold| hold.timing(&busy));
    let held_calm = hold.as_ref().and_then(|hold| hold.timing(&view.requests.calm));
    if held.is_some_and(|held| wait.busy.mean_s < WAIT_PER_USE_MIN * held.mean_s || is_slow_and_grown(held, held_calm))
    {
        return None;
    }
    let then = held.map_or_else(String::new, |held| format!(" and then held it for {}", time(held.mean_s)));
    let sentence = format!(
        "The pool was starved: a request that needed {} waited {} for it{then}. The wait was {} {}.",
        pool.resource,
        time(wait.busy.mean_s),
        share(wait.share),
        wait.part_of,
    );
    let held = hold.zip(held).map(|(hold, held)| (hold.figure, busy_and_calm(held, held_calm)));
    let case = Candidate::new("pool_starved", wait.share, sentence)
        .evidence(&wait.role.figure, wait.sentence())
        .evidence(
            wait.role.concurrency_figure(),
            wait.busy.concurrency.map(|waiting| format!("{} waited at the same time on average", number(waiting))),
        )
        .all_evidence(held);
    let refuted_by = "With more connections the wait stays, or the time for which each is held grows as the wait \
                      falls: then what the connections lead to is slow.";
    Some(case.with_advice(refuted_by, pool.advice))
}

/// Whether what a pool's slots are used for is itself slow, and slower than in calm times.
fn is_slow_and_grown(took: RoleTiming, calm: Option<RoleTiming>) -> bool {
    took.mean_s >= STORE_SLOW_S && calm.is_some_and(|calm| took.mean_s >= GREW_MIN * calm.mean_s)
}

fn store_slow(view: &RunView<'_>) -> Option<Candidate> {
    commits_slow(view).or_else(|| queries_slow(view))
}

/// Commits take far longer than a durable write took before the run, or the disk was slow then already.
fn commits_slow(view: &RunView<'_>) -> Option<Candidate> {
    let fsync_s = view.input.machine.fsync_ms_p50.map(|ms| ms / 1000.0);
    let commit = commits(view)?;
    let took = commit.busy;
    let is_long =
        fsync_s.is_some_and(|fsync_s| fsync_s >= FSYNC_SLOW_S || took.mean_s >= COMMIT_PER_FSYNC_MAX * fsync_s);
    let waits = view.server_cores().zip(took.concurrency).filter(|(cores, busy)| *cores < COMMIT_CORES_MIN * busy);
    if !is_long && !commit.has_grown() && waits.is_none() {
        return None;
    }
    let before = fsync_s.map(|fsync_s| format!("{} for 4 KiB, the median before the run", time(fsync_s)));
    let beside = before.as_ref().map_or_else(String::new, |before| format!(" (a durable write alone: {before})"));
    let sentence = format!(
        "The store was slow: a commit took {} on average{beside}. Commits and the wait for them were {}.",
        time(took.mean_s),
        commit.part_of
    );
    let wait = view.role("commit_wait");
    let wait = wait.and_then(|role| Some((busy_and_calm(role.timing(&view.busy())?, None), role.figure)));
    let busy = took.concurrency.map(|busy| format!("{} concurrent commits on average", number(busy)));
    let case = Candidate::new("store_slow", commit.share, sentence)
        .evidence(&commit.role.figure, commit.sentence())
        .evidence(commit.role.concurrency_figure(), busy)
        .evidence(
            "process.server.cpu_cores",
            waits.map(|(cores, _)| format!("{}: commits waited, they did not compute", number(cores))),
        )
        .evidence("machine.fsync_ms_p50", before)
        .all_evidence(wait.map(|(text, figure)| (figure, text)));
    let refuted_by = "With a faster disk, or without durable writes, the same load takes as long.";
    let advice = "Check the disk (other writers, the cost of a sync), then how much one commit contains.";
    Some(case.with_advice(refuted_by, advice))
}

/// Commits, and what they and the wait for them explain.
fn commits<'a>(view: &RunView<'a>) -> Option<RoleImpact<'a>> {
    let role = view.role("commit_time")?;
    let wait_s = view.role("commit_wait").and_then(|wait| wait.timing(&view.busy())).map_or(0.0, |wait| wait.mean_s);
    let by_requests = timing_under_pressure(&role, &view.requests, STORE_SLOW_S).and_then(|(busy, calm)| {
        // A request that is shorter than a commit contains none, however long others wait for theirs.
        let part = view.share_of_requests(busy.mean_s, &view.requests.busy).filter(|part| part.share >= SHARE_MIN)?;
        let share = (part.share * (busy.mean_s + wait_s) / busy.mean_s).min(1.0);
        let part_of = format!("{} of the time of requests, most of it in {}", format::share(share), part.op);
        Some(RoleImpact { role: role.clone(), busy, calm, share, part_of })
    });
    let by_work = timing_under_pressure(&role, &view.work, STORE_SLOW_S).and_then(|(busy, calm)| {
        let share = busy.concurrency.filter(|busy| *busy >= WRITER_BUSY_MIN)?.min(1.0);
        let part_of = format!("what work queued behind: one was in progress for {} of the time", format::share(share));
        Some(RoleImpact { role: role.clone(), busy, calm, share, part_of })
    });
    by_requests.into_iter().chain(by_work).max_by(|a, b| a.share.total_cmp(&b.share))
}

/// Reads take long: far longer than in calm times, or they are most of what requests do.
fn queries_slow(view: &RunView<'_>) -> Option<Candidate> {
    let query = role_impact(view, "query_time", STORE_SLOW_S, SHARE_MIN)?;
    let pool = view.role("pool_wait");
    let wait = pool.as_ref().and_then(|pool| pool.timing(&view.busy()));
    let is_behind_pool =
        wait.is_some_and(|wait| wait.mean_s >= WAIT_PER_USE_MIN * query.busy.mean_s) && !query.has_grown();
    let is_material = query.share >= 2.0 * SHARE_MIN || (query.has_grown() && query.share >= SHARE_MIN);
    if is_behind_pool || !is_material {
        return None;
    }
    let sentence = format!(
        "The store was slow: a read took {} in it, {} {}.",
        time(query.busy.mean_s),
        share(query.share),
        query.part_of
    );
    let wait = wait.map(|wait| {
        format!("{} on average: a request that waits for a connection waits for the previous one", time(wait.mean_s))
    });
    let case = Candidate::new("store_slow", query.share, sentence)
        .evidence(&query.role.figure, query.sentence())
        .evidence(pool.map_or_else(String::new, |pool| pool.figure), wait);
    let refuted_by =
        "The same reads take as long on an idle store: then they are expensive, and the store is not slow.";
    Some(case.with_advice(refuted_by, "Check the slowest reads and what they read, then the store's disk and memory."))
}

/// Tasks that are ready to run are scheduled late.
fn scheduler_late(view: &RunView<'_>) -> Option<Candidate> {
    let role = view.role("scheduler_delay")?;
    let pressures = [&view.requests, &view.work];
    let late = pressures.iter().filter_map(|pressed| {
        let (took, calm) = timing_under_pressure(&role, pressed, SCHEDULER_LATE_S)?;
        let is_new = calm.is_none_or(|calm| took.mean_s >= GREW_MIN * calm.mean_s);
        is_new.then_some((took, calm, &pressed.busy))
    });
    let (took, calm, busy) = late.max_by(|a, b| a.0.mean_s.total_cmp(&b.0.mean_s))?;
    // How often a request waits for the scheduler is not known; at least once.
    let part = view.share_of_requests(took.mean_s, busy);
    let explains = part.as_ref().map_or(SHARE_MIN, |part| part.share.max(SHARE_MIN));
    let beside =
        part.map_or_else(String::new, |part| format!(", beside the {} of a {}", time(part.service_s), part.op));
    let sentence = format!(
        "The scheduler was late: a task that was ready to run waited {} to be scheduled{beside}.",
        time(took.mean_s)
    );
    let case = Candidate::new("scheduler_late", explains, sentence).evidence(&role.figure, busy_and_calm(took, calm));
    let refuted_by = "The CPUs were used up after all, by a program that was not watched: then tasks wait for them.";
    let advice = "Look for tasks that hold their thread: blocking calls, long computations, locks.";
    Some(case.with_advice(refuted_by, advice))
}

/// Calls to a dependency take long or are answered late, while nothing of the target's own does.
fn dependency_slow(view: &RunView<'_>) -> Option<Candidate> {
    let calls = role_impact(view, "dependency_time", WAIT_MIN_S, CALL_SHARE_MIN)?;
    let busy = view.busy();
    let late = late_share(view, &calls, &busy).filter(|late| *late >= LATE_SHARE_MIN);
    let looks_s = calls.role.sample_means_s(&busy);
    let grew = change_during_run(&looks_s);
    if late.is_none() && grew.is_none() && calls.busy.mean_s < CALL_SLOW_S {
        return None;
    }
    let lateness =
        late.map_or_else(String::new, |late| format!(", and {} of them had no response in time", share(late)));
    let sentence = format!(
        "A service that the target calls was slow: a call took {} on average{lateness}. Calls were {} {}.",
        time(calls.busy.mean_s),
        share(calls.share),
        calls.part_of
    );
    let growth =
        grew.map(|(quick, slow)| format!("{} in the fastest samples, {} in the slowest", time(quick), time(slow)));
    let late = late.zip(view.role("dependency_late"));
    let case = Candidate::new("dependency_slow", calls.share, sentence)
        .evidence(&calls.role.figure, calls.sentence())
        .evidence("calls over time", growth)
        .all_evidence(late.map(|(late, role)| (role.figure, format!("{} of the calls", share(late)))));
    let refuted_by = "The called service answers other clients as quickly as ever: then the time is spent in the network, or in the target.";
    let advice = "Check the called service; limit how long the target waits for it, and how much of the target one call can block.";
    Some(case.with_advice(refuted_by, advice))
}

fn late_share(view: &RunView<'_>, calls: &RoleImpact<'_>, busy: &TimeRanges) -> Option<f64> {
    let late_per_s = view.role("dependency_late")?.per_s(busy)?;
    let per_s = calls.role.timing(busy)?.per_s.filter(|per_s| *per_s > 0.0)?;
    Some((late_per_s / per_s).min(1.0))
}

/// The quicker and the slower fifth of the samples, if calls got much slower or quicker during the run.
fn change_during_run(looks_s: &[f64]) -> Option<(f64, f64)> {
    let fifth = looks_s.len() / 5;
    let (quick, slow) = (*looks_s.get(fifth)?, *looks_s.get(looks_s.len().checked_sub(1 + fifth)?)?);
    (slow >= CALL_GREW_MIN_S && slow >= GREW_MIN * quick).then_some((quick, slow))
}
