//! A queue that is behind: work waits far longer than it runs, the number of running work items stays at its ceiling,
//! and each of them takes no longer than before. Then more workers would help, and a faster store would not. Does not
//! blame workers that are slowed down by something else.

use super::Candidate;
use super::format::{count, moment, number, share, time};
use super::series::{TimeRanges, area, mean, steps, time_when_s, times_when};
use super::thresholds::{
    PLATEAU_MIN, QUEUE_DEPTH_SHARE_MIN, QUEUE_WAIT_MIN_S, RUN_GROWTH_MAX, SHARE_MIN, SUSTAINED_MIN_S,
    SUSTAINED_SHARE_MIN,
};
use super::view::RunView;
use crate::aggregate::{Series, WorkFigures};

pub(super) fn candidates(view: &RunView<'_>) -> Vec<Candidate> {
    let by_work: Vec<Candidate> =
        view.input.results.work.iter().filter_map(|(name, figures)| queue_behind(view, name, figures)).collect();
    if view.input.results.work.is_empty() { queue_behind_by_metrics(view).into_iter().collect() } else { by_work }
}

/// One kind of work as the lab followed it.
struct QueueStats<'a> {
    running: &'a Series,
    /// When work items waited, without the time that belongs to faults.
    queued: TimeRanges,
    /// In the queue, on average over all work items, in seconds.
    wait_s: f64,
    /// Running, likewise.
    run_s: f64,
    peak_depth: (f64, f64),
}

impl<'a> QueueStats<'a> {
    fn from_view(view: &RunView<'a>, name: &str, figures: &WorkFigures) -> Option<Self> {
        let series = |count: &str| view.series(&format!("work.{name}.{count}"));
        let (waiting, running) = (series("waiting")?, series("running")?);
        let disturbed = TimeRanges::new(view.disturbances.iter().map(|one| one.window_s));
        let queued = times_when(waiting, |waiting| waiting >= 1.0).difference(&disturbed);
        let work_items = figures.created as f64;
        if work_items == 0.0 {
            return None;
        }
        // The area under the curve includes those that still wait at the end; the target's own times are finer.
        let per_piece = |series: &Series, own: Option<f64>| {
            let (waited_s, _) = area(series, &TimeRanges::new([(f64::MIN, f64::MAX)]).difference(&disturbed));
            own.unwrap_or(0.0).max(waited_s / work_items)
        };
        let wait_s = per_piece(waiting, figures.queue_wait_s.avg);
        let run_s = per_piece(running, figures.run_s.avg);
        Some(Self { running, queued, wait_s, run_s, peak_depth: waiting.peak()? })
    }

    /// Whether the number of running work items stays at its ceiling while others wait.
    fn is_at_ceiling(&self, ceiling: f64) -> bool {
        let at_s = time_when_s(self.running, &self.queued, |running| running >= PLATEAU_MIN * ceiling);
        at_s >= SUSTAINED_MIN_S && at_s >= SUSTAINED_SHARE_MIN * self.queued.total_s()
    }

    /// The highest number of running work items while others waited, as a mean of a sample.
    fn ceiling(&self) -> f64 {
        let inside = steps(self.running).filter(|step| self.queued.contains(step.from_s));
        inside.map(|step| step.value.mean).fold(0.0, f64::max)
    }

    /// How long a work item ran in the first and in the second half of the queue, by Little's law: those running
    /// divided by those that ended per second. Finished work items alone would be biased: the quick ones end first.
    fn run_halves_s(&self, finished: &Series) -> Option<(f64, f64)> {
        let (from_s, to_s) = (self.queued.first_s()?, self.queued.last_s()?);
        let middle_s = (from_s + to_s) / 2.0;
        let half = |from_s: f64, to_s: f64| {
            let times = TimeRanges::new([(from_s, to_s)]);
            let ended = increase(finished, from_s, to_s).filter(|ended| *ended > 0.0)?;
            Some(mean(self.running, &times)? * (to_s - from_s) / ended)
        };
        Some((half(from_s, middle_s)?, half(middle_s, to_s)?))
    }
}

/// By how much a count rose between two moments.
fn increase(series: &Series, from_s: f64, to_s: f64) -> Option<f64> {
    let at = |t_s: f64| super::series::value_at(series, t_s);
    Some(at(to_s)? - at(from_s).unwrap_or(0.0))
}

fn queue_behind(view: &RunView<'_>, name: &str, figures: &WorkFigures) -> Option<Candidate> {
    let queue = QueueStats::from_view(view, name, figures)?;
    let explains = queue.wait_s / (queue.wait_s + queue.run_s);
    let (deepest_s, deepest) = queue.peak_depth;
    let is_deep = deepest >= QUEUE_DEPTH_SHARE_MIN * figures.created as f64;
    let is_material = queue.wait_s >= QUEUE_WAIT_MIN_S && explains >= SHARE_MIN;
    let ceiling = queue.ceiling();
    if !is_deep || !is_material || !queue.is_at_ceiling(ceiling) {
        return None;
    }
    let finished = view.series(&format!("work.{name}.finished"));
    let halves = finished.and_then(|finished| queue.run_halves_s(finished));
    if halves.is_some_and(|(first_s, second_s)| second_s > RUN_GROWTH_MAX * first_s) {
        return None;
    }
    let sentence = format!(
        "The queue was behind: a {name} waited {} and then ran for {}. Never more than {} ran at the same time, \
         while {} waited at {}.",
        time(queue.wait_s),
        time(queue.run_s),
        count(ceiling.round() as u64),
        count(deepest as u64),
        moment(deepest_s)
    );
    let halves = halves.map(|(first_s, second_s)| {
        format!("{} in the first half of the queue, {} in the second", time(first_s), time(second_s))
    });
    let still = figures.waiting;
    let case = Candidate::new("queue_behind", explains, sentence)
        .evidence(
            format!("work.{name}.waiting"),
            format!("{} of a work item's time; {} still waited at the end", share(explains), count(still)),
        )
        .evidence(
            format!("work.{name}.running"),
            format!("{} on average while others waited", number(mean(queue.running, &queue.queued).unwrap_or(0.0))),
        )
        .evidence("run time", halves);
    Some(case.with_advice(REFUTED_BY, ADVICE))
}

const REFUTED_BY: &str = "With more workers as many work items end per minute, and each runs longer: then a resource that they share is the limit.";

const ADVICE: &str =
    "Give the queue more workers, or let each do more at the same time: no resource that they share was scarce.";

/// The same for a target whose work the lab does not follow, by the target's own metrics.
fn queue_behind_by_metrics(view: &RunView<'_>) -> Option<Candidate> {
    let busy = view.busy();
    let (wait, run) = (view.role("queue_wait")?, view.role("run_time")?);
    let (waited, ran) = (wait.timing(&busy)?, run.timing(&busy)?);
    let explains = waited.mean_s / (waited.mean_s + ran.mean_s);
    let calm = run.timing(&view.requests.calm);
    let is_flat = calm.is_none_or(|calm| ran.mean_s <= RUN_GROWTH_MAX * calm.mean_s);
    let lasting_s = wait.time_above_s(&busy, QUEUE_WAIT_MIN_S);
    let is_material = waited.mean_s >= QUEUE_WAIT_MIN_S && explains >= SHARE_MIN;
    if !is_material || !is_flat || !RunView::is_sustained(lasting_s, &busy) {
        return None;
    }
    let sentence =
        format!("The queue was behind: work waited {} and then ran for {}.", time(waited.mean_s), time(ran.mean_s));
    let deepest = view.role("queue_depth").and_then(|depth| {
        let (t_s, deepest) = depth.gauge()?.peak()?;
        Some((depth.figure, format!("{} at {}", number(deepest), moment(t_s))))
    });
    let case = Candidate::new("queue_behind", explains, sentence)
        .evidence(&wait.figure, format!("{} on average while busy", time(waited.mean_s)))
        .evidence(&run.figure, format!("{} on average while busy", time(ran.mean_s)))
        .all_evidence(deepest);
    Some(case.with_advice(REFUTED_BY, ADVICE))
}
