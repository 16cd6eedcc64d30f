//! What to say when there is room for three lines: how much it took, how long that took, and where it stands
//! against its gates. Pure.

use super::Run;
use super::words::{count, number};
use crate::fold::WorkFigures;
use crate::verdict::{Judged, Verdict};

/// The two most important numbers, and the verdict in a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Headline {
    /// How much it took.
    pub took: String,
    /// How long that took.
    pub lasted: String,
    /// Where it stands against its gates.
    pub stands: String,
}

/// The headline of a run: of its largest work where it has any, else of its largest journey.
#[must_use]
pub fn headline(run: &Run) -> Headline {
    let (took, lasted) = of_work(run).or_else(|| of_journey(run)).unwrap_or_default();
    Headline { took, lasted, stands: stands(run) }
}

fn of_work(run: &Run) -> Option<(String, String)> {
    let (name, work) = run.results.work.iter().max_by_key(|(_, work)| work.created)?;
    let rate = work.throughput_per_min.map_or_else(String::new, |rate| format!(" at {} a minute", number(Some(rate))));
    let took = format!("{name}: {} of {} finished{rate}{}", count(work.finished), count(work.created), lost(work));
    let seconds =
        |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{} s", number(Some(value))));
    let (done, wait) = (&work.completion_s, &work.queue_wait_s);
    let wait = wait.p99.map_or_else(String::new, |p99| format!("; queue wait p99 {}", seconds(Some(p99))));
    Some((took, format!("{name}: done in p99 {}, p50 {}{wait}", seconds(done.p99), seconds(done.p50))))
}

fn lost(work: &WorkFigures) -> String {
    let rest = [("failed", work.failed), ("stuck", work.stuck), ("waiting", work.waiting), ("running", work.running)];
    rest.iter().filter(|(_, n)| *n > 0).map(|(word, n)| format!(", {} {word}", count(*n))).collect()
}

fn of_journey(run: &Run) -> Option<(String, String)> {
    let (name, journey) = run.results.journeys.iter().max_by_key(|(_, journey)| journey.op.count)?;
    let op = &journey.op;
    let took = format!("{name}: {} ok, {} errors, {} denied", count(op.ok), count(op.errors), count(op.denied));
    let ms = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{} ms", number(Some(value))));
    let (latency, service) = (ms(op.latency_ms.p99), ms(op.service_ms.p99));
    Some((took, format!("{name}: latency p99 {latency} from the intended moment, service time p99 {service}")))
}

fn stands(run: &Run) -> String {
    let holding = run.gates.iter().filter(|gate| gate.ok).count();
    let word = run.verdict.word();
    let gates = match run.gates.len() {
        0 => "no gates".to_owned(),
        all => format!("{holding} of {all} gates hold"),
    };
    let detail = match run.verdict {
        Verdict::Passed => tightest(&run.gates).map_or_else(String::new, |gate| {
            format!(", the tightest is {} at {:.0} % of its limit", gate.name, gate.used.unwrap_or(0.0) * 100.0)
        }),
        Verdict::Failed => String::new(),
        Verdict::Void => {
            ", but the lab fell behind its own plan, so the others say nothing about the target".to_owned()
        }
        Verdict::Interrupted => "; the trial was ended before it was over".to_owned(),
    };
    format!("{word}: {gates}{detail}")
}

fn tightest(gates: &[Judged]) -> Option<&Judged> {
    let bounded = gates.iter().filter(|gate| gate.used.is_some());
    bounded.max_by(|a, b| a.used.unwrap_or(0.0).total_cmp(&b.used.unwrap_or(0.0)))
}
