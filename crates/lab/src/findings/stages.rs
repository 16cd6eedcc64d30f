//! Where time goes between a request and its answer: waiting for a pool's place, in the store, for a turn of the
//! scheduler, or for somebody else. Each accuses one stage and must acquit the one behind it. Refuses to look at
//! processors: when they are used up, `processor` says so and everything here is a consequence.

use super::roles::{Role, Took};
use super::series::Times;
use super::thresholds::{
    CALL_GREW_MIN_S, CALL_SHARE_MIN, CALL_SLOW_S, COMMIT_COMPUTES_MIN, COMMIT_PER_FSYNC_MAX, FSYNC_SLOW_S, GREW_MIN,
    LATE_SHARE_MIN, SCHEDULER_LATE_S, SHARE_MIN, STORE_SLOW_S, WAIT_MIN_S, WAIT_PER_USE_MIN, WRITER_BUSY_MIN,
};
use super::view::{Pressed, View};
use super::words::{digits, share, time};
use super::{Candidate, Case};

pub(super) fn candidates(view: &View<'_>) -> Vec<Candidate> {
    let pools = POOLS.iter().filter_map(|pool| pool_starved(view, pool));
    let others = [store_slow(view), scheduler_late(view), dependency_slow(view)];
    pools.chain(others.into_iter().flatten()).collect()
}

/// A number of places that something waits for and then holds.
struct Pool {
    wait: &'static str,
    hold: &'static str,
    /// What is waited for, in a sentence.
    place: &'static str,
    advice: &'static str,
}

const POOLS: [Pool; 2] = [
    Pool {
        wait: "pool_wait",
        hold: "query_time",
        place: "a connection to the store",
        advice: "Give the pool more connections, or hold each for less time.",
    },
    Pool {
        wait: "dependency_wait",
        hold: "dependency_time",
        place: "a connection to what the target calls",
        advice: "Raise the cap on connections to what is called, if it can bear more at once.",
    },
];

/// A stage in the times of one pressure, and what it explains.
struct Seen<'a> {
    role: Role<'a>,
    took: Took,
    /// In calm times, where there were any.
    calm: Option<Took>,
    /// Of the time of requests, or of pieces.
    share: f64,
    /// What it is a part of, in words.
    part: String,
}

impl Seen<'_> {
    /// Whether it took much longer than in calm times.
    fn grew(&self) -> bool {
        self.calm.is_some_and(|calm| self.took.mean_s >= GREW_MIN * calm.mean_s)
    }

    /// `112 ms while busy, 0.08 ms while calm`.
    fn says(&self) -> String {
        compared(self.took, self.calm)
    }
}

fn compared(took: Took, calm: Option<Took>) -> String {
    match calm {
        Some(calm) => format!("{} in the mean while busy, {} while calm", time(took.mean_s), time(calm.mean_s)),
        None => format!("{} in the mean while busy", time(took.mean_s)),
    }
}

/// How a role took its time, where it took at least so long, as a part of requests or, where they were not the ones
/// that it held up, of pieces of work; none below a least share.
fn seen<'a>(view: &View<'a>, name: &str, least_s: f64, least_share: f64) -> Option<Seen<'a>> {
    let role = view.role(name)?;
    let by_requests = seen_under(&role, &view.requests, least_s).and_then(|(took, calm)| {
        let part = view.part_of_requests(took.mean_s, &view.requests.busy)?;
        let words = format!("of the {} of a {}", time(part.service_s), part.op);
        Some(Seen { role: role.clone(), took, calm, share: part.share, part: words })
    });
    let by_work = seen_under(&role, &view.work, least_s).and_then(|(took, calm)| {
        let (under_way, pieces) = (took.under_way?, view.unfinished(&view.work.busy)?);
        let share = (under_way / pieces.max(f64::MIN_POSITIVE)).min(1.0);
        let words =
            format!("of the time of pieces of work ({} at once, {} under way)", digits(under_way), digits(pieces));
        Some(Seen { role: role.clone(), took, calm, share, part: words })
    });
    by_requests.into_iter().chain(by_work).find(|seen| seen.share >= least_share)
}

/// A role over one pressure, where it took at least so long for long enough.
fn seen_under(role: &Role<'_>, pressed: &Pressed, least_s: f64) -> Option<(Took, Option<Took>)> {
    let took = role.took(&pressed.busy).filter(|took| took.mean_s >= least_s)?;
    let lasting_s = role.long_s(&pressed.busy, least_s);
    View::is_lasting(lasting_s, &pressed.busy).then(|| (took, role.took(&pressed.calm)))
}

/// The wait grew beyond what is waited for, and what is held meanwhile takes no longer than it should.
fn pool_starved(view: &View<'_>, pool: &Pool) -> Option<Candidate> {
    let wait = seen(view, pool.wait, WAIT_MIN_S, SHARE_MIN)?;
    let hold = view.role(pool.hold);
    let busy = view.busy();
    let held = hold.as_ref().and_then(|hold| hold.took(&busy));
    let held_calm = hold.as_ref().and_then(|hold| hold.took(&view.requests.calm));
    if held.is_some_and(|held| wait.took.mean_s < WAIT_PER_USE_MIN * held.mean_s || grew_slow(held, held_calm)) {
        return None;
    }
    let then = held.map_or_else(String::new, |held| format!(" and then held it for {}", time(held.mean_s)));
    let sentence = format!(
        "The pool was starved: whoever needed {} waited {} for it{then}. The wait was {} {}.",
        pool.place,
        time(wait.took.mean_s),
        share(wait.share),
        wait.part,
    );
    let held = hold.zip(held).map(|(hold, held)| (hold.figure, compared(held, held_calm)));
    let case = Case::new("pool_starved", wait.share, sentence).evidence(&wait.role.figure, wait.says()).maybe(
        wait.role.at_once(),
        wait.took.under_way.map(|waiting| format!("{} waited at once in the mean", digits(waiting))),
    );
    let case = match held {
        Some((figure, says)) => case.evidence(figure, says),
        None => case,
    };
    let refuted_by = "With more connections the wait stays, or the time for which each is held grows as the wait falls: \
                      then what stands behind the pool is slow.";
    Some(case.close(refuted_by, pool.advice))
}

/// Whether what stands behind a pool is itself slow, and slower than in calm times.
fn grew_slow(took: Took, calm: Option<Took>) -> bool {
    took.mean_s >= STORE_SLOW_S && calm.is_some_and(|calm| took.mean_s >= GREW_MIN * calm.mean_s)
}

fn store_slow(view: &View<'_>) -> Option<Candidate> {
    commits_slow(view).or_else(|| queries_slow(view))
}

/// Commits take far longer than a durable write took before the run, or the disk was slow then already.
fn commits_slow(view: &View<'_>) -> Option<Candidate> {
    let fsync_s = view.input.machine.fsync_ms_p50.map(|ms| ms / 1000.0);
    let (commit, explains, part) = commits(view)?;
    let took = commit.took;
    let is_long =
        fsync_s.is_some_and(|fsync_s| fsync_s >= FSYNC_SLOW_S || took.mean_s >= COMMIT_PER_FSYNC_MAX * fsync_s);
    let waits = view.server_cores().zip(took.under_way).filter(|(cores, busy)| *cores < COMMIT_COMPUTES_MIN * busy);
    if !is_long && !commit.grew() && waits.is_none() {
        return None;
    }
    let before = fsync_s.map(|fsync_s| format!("{} for 4 KiB, the median before the run", time(fsync_s)));
    let beside = before.as_ref().map_or_else(String::new, |before| format!(" (a durable write alone: {before})"));
    let sentence = format!(
        "The store was slow: a commit took {} in the mean{beside}. Commits and the wait for them were {}.",
        time(took.mean_s),
        part
    );
    let wait = view.role("commit_wait").and_then(|role| Some((role.figure.clone(), role.took(&view.busy())?)));
    let busy = took.under_way.map(|busy| format!("{} commits under way at once in the mean", digits(busy)));
    let case = Case::new("store_slow", explains, sentence)
        .evidence(&commit.role.figure, commit.says())
        .maybe(commit.role.at_once(), busy)
        .maybe(
            "process.server.cpu_cores",
            waits.map(|(cores, _)| format!("{}: commits waited, they did not compute", digits(cores))),
        )
        .maybe("machine.fsync_ms_p50", before);
    let case = match wait {
        Some((figure, wait)) => case.evidence(figure, compared(wait, None)),
        None => case,
    };
    let refuted_by = "The same load on a faster disk, or without durable writes, takes as long.";
    let advice = "Look at the disk (who else writes, what a sync costs), then at how much one commit carries.";
    Some(case.close(refuted_by, advice))
}

/// Commits, what they and the wait for them explain, and of what.
fn commits<'a>(view: &View<'a>) -> Option<(Seen<'a>, f64, String)> {
    let role = view.role("commit_time")?;
    let wait_s = view.role("commit_wait").and_then(|wait| wait.took(&view.busy())).map_or(0.0, |wait| wait.mean_s);
    let by_requests = seen_under(&role, &view.requests, STORE_SLOW_S).and_then(|(took, calm)| {
        let busy = &view.requests.busy;
        // A request that is shorter than a commit has none in it, however long others wait for theirs.
        let part = view.part_of_requests(took.mean_s, busy).filter(|part| part.share >= SHARE_MIN)?;
        let explained = (part.share * (took.mean_s + wait_s) / took.mean_s).min(1.0);
        let words = format!("{} of the time of requests, most of it in {}", share(explained), part.op);
        Some((Seen { role: role.clone(), took, calm, share: part.share, part: String::new() }, explained, words))
    });
    let by_work = seen_under(&role, &view.work, STORE_SLOW_S).and_then(|(took, calm)| {
        let busy = took.under_way.filter(|busy| *busy >= WRITER_BUSY_MIN)?.min(1.0);
        let words = format!("what work queued behind: one was under way for {} of the time", share(busy));
        Some((Seen { role: role.clone(), took, calm, share: busy, part: String::new() }, busy, words))
    });
    by_requests.into_iter().chain(by_work).max_by(|a, b| a.1.total_cmp(&b.1))
}

/// Reads take long: far longer than in calm times, or they are most of what requests do.
fn queries_slow(view: &View<'_>) -> Option<Candidate> {
    let query = seen(view, "query_time", STORE_SLOW_S, SHARE_MIN)?;
    let pool = view.role("pool_wait");
    let wait = pool.as_ref().and_then(|pool| pool.took(&view.busy()));
    let is_behind_pool = wait.is_some_and(|wait| wait.mean_s >= WAIT_PER_USE_MIN * query.took.mean_s) && !query.grew();
    let is_material = query.share >= 2.0 * SHARE_MIN || (query.grew() && query.share >= SHARE_MIN);
    if is_behind_pool || !is_material {
        return None;
    }
    let sentence = format!(
        "The store was slow: a read took {} in it, {} {}.",
        time(query.took.mean_s),
        share(query.share),
        query.part
    );
    let wait = wait
        .map(|wait| format!("{} in the mean: what waits for a connection waits for the one before", time(wait.mean_s)));
    let case = Case::new("store_slow", query.share, sentence)
        .evidence(&query.role.figure, query.says())
        .maybe(pool.map_or_else(String::new, |pool| pool.figure), wait);
    let refuted_by = "The same reads take as long on an idle store: then they are heavy and not slow.";
    Some(
        case.close(refuted_by, "Look at the slowest reads and at what they read, then at the store's disk and memory."),
    )
}

/// Tasks that are ready to run come late to their turn.
fn scheduler_late(view: &View<'_>) -> Option<Candidate> {
    let role = view.role("scheduler_delay")?;
    let pressures = [&view.requests, &view.work];
    let late = pressures.iter().filter_map(|pressed| {
        let (took, calm) = seen_under(&role, pressed, SCHEDULER_LATE_S)?;
        let is_new = calm.is_none_or(|calm| took.mean_s >= GREW_MIN * calm.mean_s);
        is_new.then_some((took, calm, &pressed.busy))
    });
    let (took, calm, busy) = late.max_by(|a, b| a.0.mean_s.total_cmp(&b.0.mean_s))?;
    // How often a request waits for its turn is not told; once, at least.
    let part = view.part_of_requests(took.mean_s, busy);
    let explains = part.as_ref().map_or(SHARE_MIN, |part| part.share.max(SHARE_MIN));
    let beside =
        part.map_or_else(String::new, |part| format!(", beside the {} of a {}", time(part.service_s), part.op));
    let sentence =
        format!("The scheduler was late: a task that was ready came {} late to its turn{beside}.", time(took.mean_s));
    let case = Case::new("scheduler_late", explains, sentence).evidence(&role.figure, compared(took, calm));
    let refuted_by =
        "The processors were used up after all, by something that nobody watched: then tasks wait for them.";
    let advice = "Look for tasks that hold their thread: blocking calls, long computations, locks.";
    Some(case.close(refuted_by, advice))
}

/// What is called takes long or answers late, while nothing of the target's own does.
fn dependency_slow(view: &View<'_>) -> Option<Candidate> {
    let calls = seen(view, "dependency_time", WAIT_MIN_S, CALL_SHARE_MIN)?;
    let busy = view.busy();
    let late = late_share(view, &calls, &busy).filter(|late| *late >= LATE_SHARE_MIN);
    let looks_s = calls.role.looks_s(&busy);
    let grew = grew_meanwhile(&looks_s);
    if late.is_none() && grew.is_none() && calls.took.mean_s < CALL_SLOW_S {
        return None;
    }
    let lateness = late.map_or_else(String::new, |late| format!(", and {} of them had no answer in time", share(late)));
    let sentence = format!(
        "What the target calls was slow: a call took {} in the mean{lateness}. Calls were {} {}.",
        time(calls.took.mean_s),
        share(calls.share),
        calls.part
    );
    let growth =
        grew.map(|(quick, slow)| format!("{} at the quickest looks, {} at the slowest", time(quick), time(slow)));
    let case = Case::new("dependency_slow", calls.share, sentence)
        .evidence(&calls.role.figure, calls.says())
        .maybe("calls over time", growth);
    let late = late.zip(view.role("dependency_late"));
    let case = match late {
        Some((late, role)) => case.evidence(role.figure, format!("{} of the calls", share(late))),
        None => case,
    };
    let refuted_by =
        "What is called answers others as quickly as ever: then the time passes on the way, or in the target.";
    let advice = "Look at what is called; bound how long the target waits for it, and how much of it one can hold up.";
    Some(case.close(refuted_by, advice))
}

fn late_share(view: &View<'_>, calls: &Seen<'_>, busy: &Times) -> Option<f64> {
    let late_per_s = view.role("dependency_late")?.per_s(busy)?;
    let per_s = calls.role.took(busy)?.per_s.filter(|per_s| *per_s > 0.0)?;
    Some((late_per_s / per_s).min(1.0))
}

/// The quicker and the slower fifth of the looks, where calls got much slower or quicker during the run.
fn grew_meanwhile(looks_s: &[f64]) -> Option<(f64, f64)> {
    let fifth = looks_s.len() / 5;
    let (quick, slow) = (*looks_s.get(fifth)?, *looks_s.get(looks_s.len().checked_sub(1 + fifth)?)?);
    (slow >= CALL_GREW_MIN_S && slow >= GREW_MIN * quick).then_some((quick, slow))
}
