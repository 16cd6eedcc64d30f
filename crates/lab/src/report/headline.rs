//! The headline: how much load the target took, with which timing, and the state of its gates, in three lines. Pure.

use std::fmt::{self, Display, Formatter};

use serde::Serialize;

use super::Run;
use super::levels::{PhaseCapacity, ladders, levels};
use crate::aggregate::{JourneyFigures, OpFigures, Statistics, Total, WorkFigures, found};
use crate::format::{count, highest_of, number, pluralize, sanitize};
use crate::scenario::HeadlineFigure;
use crate::verdict::{GateResult, Verdict};

/// The two most important numbers, and the verdict in a sentence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Headline {
    /// How much load.
    pub amount: HeadlineRow,
    pub timing: HeadlineRow,
    /// The outcome of all arrivals.
    pub total: Option<String>,
    /// The state of its gates.
    pub gate_status: String,
}

/// A number in a sentence, and by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HeadlineRow {
    pub sentence: String,
    /// `2,412`
    pub value: String,
    /// `games finished a minute`
    pub label: String,
}

impl HeadlineRow {
    fn new(sentence: impl Into<String>, value: impl Into<String>, label: impl Into<String>) -> Self {
        Self { sentence: sentence.into(), value: value.into(), label: label.into() }
    }
}

/// The headline of a run: what its scenario declares, else what its search for the edge found, else its largest work,
/// else its largest journey.
#[must_use]
pub fn headline(run: &Run) -> Headline {
    let [mut amount, timing] = declared_pair(run)
        .or_else(|| ladder_pair(run))
        .or_else(|| work_pair(run))
        .or_else(|| journey_pair(run))
        .or_else(|| unwritten_pair(run))
        .unwrap_or_else(|| {
            let amount = HeadlineRow::new("Nothing was sent.", "0", "requests");
            [amount, HeadlineRow::new("Nothing was answered.", "-", "no latency")]
        });
    amount.sentence += &held_connections(run);
    Headline { amount, timing, total: total(run), gate_status: gate_status(run) }
}

/// All arrivals of the run, whatever the lines above refer to; and what was retried.
fn total(run: &Run) -> Option<String> {
    let Total { arrivals, ok, denied, errors, not_sent, retried, resent } = run.results.total?;
    let mut text = format!(
        "total: {}, {} ok, {}, {} denied",
        pluralize(arrivals, "arrival"),
        count(ok),
        pluralize(errors, "error"),
        count(denied)
    );
    if not_sent > 0 {
        text += &format!(", {} never sent", count(not_sent));
    }
    let retried = (retried > 0).then(|| format!("{} by retry", count(retried)));
    let resent = (resent > 0).then(|| format!("{} after the target had closed a kept connection", count(resent)));
    let again: Vec<String> = retried.into_iter().chain(resent).collect();
    if !again.is_empty() {
        text += &format!("; sent again: {}", again.join(", "));
    }
    Some(text)
}

/// For a run whose lab was killed before it had written any second: what it had counted.
fn unwritten_pair(run: &Run) -> Option<[HeadlineRow; 2]> {
    let Total { arrivals, ok, .. } = run.results.total.filter(|total| total.arrivals > 0)?;
    let amount = format!("{} arrivals were over, {} of them ok.", count(arrivals), count(ok));
    let timing = "How long they took was not written before the lab was ended.";
    Some([HeadlineRow::new(amount, count(arrivals), "arrivals over"), HeadlineRow::new(timing, "-", "no latency")])
}

/// The figures that the scenario declares.
fn declared_pair(run: &Run) -> Option<[HeadlineRow; 2]> {
    let results = run.results.to_json();
    let line = |leading: &HeadlineFigure| {
        let found = found(&results, &leading.figure);
        let (value, of) = (number(found.map(|found| found.value)), sanitize(&leading.of));
        let few = highest_of(found.and_then(|found| found.largest_of));
        HeadlineRow::new(format!("{value} {of}{few}"), value, of)
    };
    Some(run.scenario.headline.as_ref()?.each_ref().map(line))
}

/// The edge that a search held, else the peak of the first ladder; and the latency there.
fn ladder_pair(run: &Run) -> Option<[HeadlineRow; 2]> {
    let mut ladders = ladders(run).into_iter().filter_map(|phase| Some((phase, PhaseCapacity::of_phase(run, phase)?)));
    let first = ladders.next()?;
    let is_edge = |(_, found): &(&str, PhaseCapacity)| found.edge_per_s().is_some();
    let (phase, found) = if is_edge(&first) { first } else { ladders.find(is_edge).unwrap_or(first) };
    let name = sanitize(phase);
    let (held, peak) = (found.edge_per_s(), found.capacity.peak);
    let per_s = held.or(peak.as_ref().map(|peak| peak.throughput_per_s))?;
    let levels = levels(run, phase);
    let level = match held {
        // The last level at the held rate is the one that held it.
        Some(held) => levels.iter().rfind(|level| level.offered_per_s == Some(held)),
        None => peak.and_then(|peak| levels.iter().find(|level| level.load_step == peak.level.load_step)),
    };
    let word = match held {
        Some(_) => "edge",
        None if found.edge.is_some() => "no edge found, peak",
        None => "peak",
    };
    let at = level.map_or_else(String::new, |level| format!(" at {}", sanitize(&level.label)));
    let value = number(Some(per_s));
    let sentence = format!("{name}: {word} {value} a second{at}");
    let amount = HeadlineRow::new(sentence, value, format!("a second, {word}"));
    // A level does not record which journey it ran.
    let paced = largest_journey(run).filter(|_| run.results.journeys.values().all(|own| own.paced));
    let timing = if let Some((journey, figures)) = paced {
        let timing = paced_timing(run, journey, figures);
        HeadlineRow { sentence: timing.sentence + ", over the whole run", ..timing }
    } else {
        let latency = level.map_or_else(OpFigures::default, |level| level.op.clone()).latency_ms;
        let (tail, p50) = (TailLatency::from_statistics(&latency, ms), ms(latency.p50));
        let sentence = format!("{name}: there latency {tail}, p50 {p50}, from the intended moment");
        HeadlineRow::new(sentence, &tail.value, format!("latency {} there", tail.name))
    };
    Some([amount, timing])
}

fn work_pair(run: &Run) -> Option<[HeadlineRow; 2]> {
    let (name, work) = run.results.work.iter().max_by_key(|(_, work)| work.created)?;
    let (done, all, rest) = (count(work.finished), count(work.created), unfinished_work(work));
    let amount = match work.throughput_per_min.map(|rate| number(Some(rate))) {
        Some(rate) => {
            let sentence = format!("{name}: {done} of {all} finished at {rate} a minute{rest}");
            HeadlineRow::new(sentence, rate, format!("{name} finished a minute"))
        }
        None => HeadlineRow::new(format!("{name}: {done} of {all} finished{rest}"), done, format!("{name} finished")),
    };
    let wait = Some(&work.queue_wait_s).filter(|wait| wait.count > 0);
    let wait = wait.map(|wait| format!("; queue wait {}", TailLatency::from_statistics(wait, seconds)));
    let (tail, p50) = (TailLatency::from_statistics(&work.completion_s, seconds), seconds(work.completion_s.p50));
    let sentence = format!("{name}: done in {tail}, p50 {p50}{}", wait.unwrap_or_default());
    Some([amount, HeadlineRow::new(sentence, &tail.value, format!("until done, {}", tail.name))])
}

fn unfinished_work(work: &WorkFigures) -> String {
    let rest = [
        ("failed", work.failed),
        ("stuck", work.stuck),
        ("unknown to the server", work.unknown),
        ("waiting", work.waiting),
        ("running", work.running),
    ];
    rest.iter().filter(|(_, n)| *n > 0).map(|(word, n)| format!(", {} {word}", count(*n))).collect()
}

fn journey_pair(run: &Run) -> Option<[HeadlineRow; 2]> {
    let (name, journey) = largest_journey(run).filter(|(_, journey)| journey.requests > 0)?;
    if journey.paced || journey.op.count == 0 {
        return Some([paced_requests(name, journey), paced_timing(run, name, journey)]);
    }
    let op = &journey.op;
    let rate = journey.throughput_per_s.map(|rate| number(Some(rate)));
    let at = rate.as_ref().map_or_else(String::new, |rate| format!(" at {rate} a second"));
    // A journey of several steps is as many requests.
    let answers = journey.answered_per_s.filter(|_| !journey.steps.is_empty());
    let answers = answers.map_or_else(String::new, |rate| format!(" ({} answers a second)", number(Some(rate))));
    let (ok, errors, denied) = (count(op.ok), pluralize(op.errors, "error"), count(op.denied));
    let sentence = format!("{name}: {ok} ok{at}{answers}, {errors}, {denied} denied");
    let amount = match rate {
        Some(rate) => HeadlineRow::new(sentence, rate, format!("{name} ok a second")),
        None => HeadlineRow::new(sentence, ok, format!("{name} ok")),
    };
    let [latency, service] = [&op.latency_ms, &op.service_ms].map(|figures| TailLatency::from_statistics(figures, ms));
    let sentence = format!("{name}: latency {latency} from the intended moment, service time {service}");
    Some([amount, HeadlineRow::new(sentence, &latency.value, format!("latency {}", latency.name))])
}

fn largest_journey(run: &Run) -> Option<(&String, &JourneyFigures)> {
    run.results.journeys.iter().max_by_key(|(_, journey)| journey.requests)
}

/// The most connections that a phase held, and how many of all were lost: the requests over them show neither.
fn held_connections(run: &Run) -> String {
    let phases = || run.results.phases.iter().filter_map(|(name, phase)| Some((name, phase.connections.as_ref()?)));
    let Some((name, most)) = phases().max_by_key(|(_, held)| held.counts.opened_or_kept()) else {
        return String::new();
    };
    let lost: u64 = phases().map(|(_, held)| held.counts.closed + held.counts.dropped + held.counts.lost_after()).sum();
    let lost = if lost > 0 { format!(", {} lost", count(lost)) } else { String::new() };
    format!("; {} connections held ({}){lost}", count(most.counts.opened_or_kept()), sanitize(name))
}

/// Requests of journeys whose own count means little: journeys in progress are not in it.
fn paced_requests(name: &str, journey: &JourneyFigures) -> HeadlineRow {
    let rate = journey.answered_per_s.map(|rate| number(Some(rate)));
    let at = rate.as_ref().map_or_else(String::new, |rate| format!(", {rate} successful responses a second"));
    let requests = count(journey.requests);
    // A journey in progress has not failed, but its request has.
    let failed = journey.steps.values().map(|step| step.errors).sum::<u64>().max(journey.op.errors);
    let (over, failed) = (count(journey.op.count), count(failed));
    let sentence = format!("{name}: {requests} requests{at}; journeys over: {over}; errors: {failed}");
    match rate {
        Some(rate) => HeadlineRow::new(sentence, rate, format!("{name} answers a second")),
        None => HeadlineRow::new(sentence, requests, format!("{name} requests")),
    }
}

/// The most relevant timing, if the duration of a journey depends on the journey itself: the figure of its tightest
/// gate on a time, else the delay of its events, else its slowest step.
fn paced_timing(run: &Run, name: &str, journey: &JourneyFigures) -> HeadlineRow {
    let of_gate = || {
        let prefix = format!("{name}.steps.");
        let timed = run.gates.iter().filter(|gate| gate.name.starts_with(&prefix) && gate.name.contains("_ms."));
        let gate = tightest_gate(timed)?;
        let what = gate.name.strip_prefix(&prefix)?.replace("_ms.", " ").replace('.', " ");
        let value = ms(gate.value.as_f64());
        let sentence = format!("{name}: {what} {value}, and the gate is {} ms", sanitize(&gate.limit));
        Some(HeadlineRow::new(sentence, value, what))
    };
    let high = |figures: &Statistics| figures.p99_or_max().unwrap_or(-1.0);
    let of_steps = |word: &str, figures: &dyn Fn(&OpFigures) -> Option<Statistics>| {
        let timed = journey.steps.iter().filter_map(|(step, op)| Some((step, figures(op)?)));
        let (step, slowest) = timed.max_by(|a, b| high(&a.1).total_cmp(&high(&b.1)))?;
        slowest.p99_or_max()?;
        let tail = TailLatency::from_statistics(&slowest, ms);
        let label = format!("{step} {word} {}", tail.name);
        Some(HeadlineRow::new(format!("{name}: {step} {word} {tail}"), &tail.value, label))
    };
    let wake = || of_steps("wake", &|op| op.wake_ms.clone());
    let latency = || of_steps("latency", &|op| op.waited_ms.is_none().then(|| op.latency_ms.clone()));
    // A journey of one step has no figures of steps: its request counts from the moment at which it was sent.
    let service = || {
        let service = &journey.op.service_ms;
        service.p99_or_max()?;
        let tail = TailLatency::from_statistics(service, ms);
        let sentence = format!("{name}: service time {tail}, p50 {}", ms(service.p50));
        Some(HeadlineRow::new(sentence, &tail.value, format!("service time {}", tail.name)))
    };
    let none = || HeadlineRow::new(format!("{name}: no request has a time yet"), "-", "no latency");
    of_gate().or_else(wake).or_else(latency).or_else(service).unwrap_or_else(none)
}

/// The 99th percentile, or the maximum if there are too few samples for one.
struct TailLatency {
    name: &'static str,
    value: String,
    /// The number of samples if it is the maximum.
    sample_count: Option<u64>,
}

impl TailLatency {
    fn from_statistics(figures: &Statistics, unit: fn(Option<f64>) -> String) -> Self {
        let few = Some(figures.count).filter(|count| *count > 0 && figures.p99.is_none());
        let name = if few.is_some() { "max" } else { "p99" };
        Self { name, value: unit(figures.p99_or_max()), sample_count: few }
    }
}

impl Display for TailLatency {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}{}", self.name, self.value, highest_of(self.sample_count))
    }
}

fn ms(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{} ms", number(Some(value))))
}

fn seconds(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{} s", number(Some(value))))
}

fn gate_status(run: &Run) -> String {
    let holding = run.gates.iter().filter(|gate| gate.ok).count();
    let word = run.verdict.name();
    let gates = match run.gates.len() {
        0 => "no gates".to_owned(),
        all => format!("{holding} of {all} gates hold"),
    };
    let void = run.gates.iter().filter(|gate| !gate.ok && gate.void).count();
    let gates = match run.gates.len() - holding - void {
        failed if run.verdict == Verdict::Failed && void > 0 => format!("{gates}, {failed} failed, {void} void"),
        _ => gates,
    };
    let detail = match run.verdict {
        Verdict::Passed => tightest_gate(run.gates.iter()).map_or_else(String::new, |gate| {
            format!(", the tightest is {} at {:.0} % of its limit", gate.name, gate.used.unwrap_or(0.0) * 100.0)
        }),
        Verdict::Failed => failed_reason(run),
        Verdict::Void => void_reason(run),
        Verdict::Interrupted => "; the trial was ended before it was over".to_owned(),
    };
    format!("{word}: {gates}{detail}")
}

/// The share of a figure from which the delay that the lab itself caused is mentioned.
const OWN_SHARE_SHOWN_MIN: f64 = 0.1;

/// Mentions a pause of the lab if it made a difference and a gate fails without it as well.
fn failed_reason(run: &Run) -> String {
    let matters = |gate: &&GateResult| {
        let share =
            gate.without_lab.zip(gate.value.as_f64()).map(|(without, value)| (value - without).abs() / value.abs());
        share.is_some_and(|share| share >= OWN_SHARE_SHOWN_MIN)
    };
    let gate = run.gates.iter().filter(|gate| !gate.ok && !gate.void).find(matters);
    let text = |gate: &GateResult| {
        let (name, without) = (sanitize(&gate.name), number(gate.without_lab));
        format!(
            "; the lab itself was late as well{}, but without that {name} is {without}, which fails too",
            longest_pause(run)
        )
    };
    gate.map_or_else(String::new, text)
}

/// What is void, why, and what would help.
fn void_reason(run: &Run) -> String {
    let (generator, failing) = (&run.results.generator, run.gates.iter().filter(|gate| !gate.ok).count());
    let others = if failing == 1 { "the other one is".to_owned() } else { format!("the other {failing} are") };
    let how = match longest_pause(run) {
        paused if !paused.is_empty() => paused,
        _ => format!(
            ": {} left more than {} after it was due (bound {})",
            if generator.schedule_lag_ms.p99.is_some() { "1 of 100 arrivals" } else { "an arrival" },
            ms(generator.schedule_lag_ms.p99_or_max()),
            ms(Some(generator.lag_p99_max_ms)),
        ),
    };
    format!(
        "; {others} void, because the lab itself was late{how}. Ask for less, or give the lab processors of its own"
    )
}

/// The longest pause of the lab, if there was one.
fn longest_pause(run: &Run) -> String {
    let text = |pauses: &crate::aggregate::PauseFigures| {
        format!(" (it did not run for {} at {})", seconds(Some(pauses.longest_s)), seconds(Some(pauses.longest_at_s)))
    };
    run.results.generator.pauses.as_ref().map_or_else(String::new, text)
}

fn tightest_gate<'a>(gates: impl Iterator<Item = &'a GateResult>) -> Option<&'a GateResult> {
    let bounded = gates.filter(|gate| gate.used.is_some());
    bounded.max_by(|a, b| a.used.unwrap_or(0.0).total_cmp(&b.used.unwrap_or(0.0)))
}
