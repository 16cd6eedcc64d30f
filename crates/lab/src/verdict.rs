//! The verdict: gates and figures in, a verdict out. Pure. Does not know how figures were computed, with one exception:
//! what the lab itself added to them.
//!
//! A gate without a figure has failed. A failed gate is void if it holds without what the lab itself added to each
//! time: the lab was late, starved or stopped. A gate that fails without that as well has failed, whatever the lab did:
//! then both are named.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::aggregate::{HeldFigures, figure, figure_below, found};
use crate::format::round;
use crate::format::{count, number};
use crate::scenario::{Gate, Phase};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Every gate holds.
    Passed,
    /// A gate does not hold.
    Failed,
    /// A gate does not hold, and no gate fails except by what the lab itself added.
    Void,
    /// The user ended the run before it was over.
    Interrupted,
}

impl Verdict {
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Passed => 0,
            Self::Failed => 3,
            Self::Void => 4,
            Self::Interrupted => 130,
        }
    }

    /// Its name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Passed => "PASSED",
            Self::Failed => "FAILED",
            Self::Void => "VOID",
            Self::Interrupted => "INTERRUPTED",
        }
    }
}

/// The evaluation of one gate.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GateResult {
    /// The path of the figure, or the name of a gate that every trial has.
    pub name: String,
    /// The limit as the scenario states it.
    pub limit: String,
    /// The limit as a number, if the stated one is a formula.
    pub limit_value: Option<f64>,
    /// The figure: a number, a sentence, or nothing.
    pub value: Value,
    pub ok: bool,
    /// How much of the limit is used, if that is meaningful.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<f64>,
    /// Whether it does not hold only because of what the lab itself added.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub void: bool,
    /// The figure without that, if it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without_lab: Option<f64>,
    /// If the figure is a percentile with too few samples: it was evaluated by the maximum of this many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub largest_of: Option<u64>,
}

impl GateResult {
    /// A gate that every trial has, with a sentence as its figure.
    #[must_use]
    pub fn implicit(name: &str, limit: &str, value: &str, ok: bool) -> Self {
        Self {
            name: name.to_owned(),
            limit: limit.to_owned(),
            value: Value::String(value.to_owned()),
            ok,
            ..Self::default()
        }
    }

    /// The same; if it does not hold, the cause is unknown.
    #[must_use]
    pub fn void_if(self, late: bool) -> Self {
        Self { void: late && !self.ok, ..self }
    }
}

/// What the lab itself did to the figures.
#[derive(Clone, Copy, Debug)]
pub struct GeneratorEffect<'a> {
    /// The figures without what the lab itself added to each time.
    pub without_generator_delay: &'a Value,
    /// Whether the lab was late beyond its bound, or paused for longer: then what it learned by polling, such as the
    /// state of work and connections, it learned late.
    pub late: bool,
}

/// Evaluates every gate of the scenario against the results.
#[must_use]
pub fn evaluate_gates(gates: &[Gate], results: &Value) -> Vec<GateResult> {
    gates.iter().map(|gate| evaluate_gate(gate, results)).collect()
}

/// The same gates, if the lab itself may have added to the figures.
#[must_use]
pub fn evaluate_gates_with(gates: &[Gate], results: &Value, own: GeneratorEffect<'_>) -> Vec<GateResult> {
    let judge = |gate: &Gate| {
        let (judged, without) = (evaluate_gate(gate, results), evaluate_gate(gate, own.without_generator_delay));
        GateResult {
            void: !judged.ok && (without.ok || own.late && is_delayed_observation(&gate.name, results)),
            without_lab: without.value.as_f64().filter(|_| without.value != judged.value),
            ..judged
        }
    };
    gates.iter().map(judge).collect()
}

/// Whether a figure says when the lab observed something, and cannot be corrected for the lab's own delay.
fn is_delayed_observation(path: &str, results: &Value) -> bool {
    let is_of = |root: &str| results.get(root).is_some_and(|root| figure_below(root, path).is_some());
    let (first, rest) = path.split_once('.').unwrap_or((path, ""));
    // What the target lost, failed or duplicated is a fact whenever the lab observed it.
    let is_fact = ["unknown", "failed", "duplicates"].contains(&rest);
    let is_of_work = !is_fact && results.get("work").is_some_and(|work| work.get(first).is_some());
    // Whether and when connections were open, the lab learned from their responses. That the target closed one does not
    // depend on the lab.
    let is_of_opening = rest.strip_prefix("connections.").is_some_and(|figure| figure.starts_with("open"));
    !is_of("journeys") && is_of_work || is_of_opening || rest == "edge_per_s"
}

/// Without all of its connections a phase does not have the planned load; then this gate reports it with the reason
/// `why`. None for a phase that holds none.
#[must_use]
pub(crate) fn evaluate_opening(phase: &Phase, held: &HeldFigures, why: &str) -> Option<GateResult> {
    let (_, opening) = phase.load_profile.held()?;
    let within_s = number(Some(opening.timeout.as_secs_f64()));
    let limit = format!("{} connections within {within_s} s", count(held.planned));
    let value = match held.opening_s {
        Some(opening_s) => {
            let beside =
                if held.counts.kept > 0 { format!(", beside {} kept", count(held.counts.kept)) } else { String::new() };
            format!("{} in {} s{beside}", count(held.counts.opened), number(Some(opening_s)))
        }
        None => format!("{} of them{why}", count(held.counts.opened_or_kept())),
    };
    Some(GateResult::implicit(
        &format!("{} opened", phase.name),
        &limit,
        &value,
        held.counts.opened_or_kept() >= held.planned,
    ))
}

fn evaluate_gate(gate: &Gate, results: &Value) -> GateResult {
    let found = found(results, &gate.name);
    let value = found.map(|found| found.value);
    let limit = gate.limit_formula.evaluate(&|path| figure(results, path));
    let ok = matches!((value, limit), (Some(value), Some(limit)) if gate.op.holds(value, limit));
    let used = value.zip(limit).filter(|(_, limit)| *limit > 0.0).map(|(value, limit)| value / limit);
    GateResult {
        name: gate.name.clone(),
        limit: gate.limit.clone(),
        limit_value: limit.filter(|_| !gate.limit_formula.figure_paths().is_empty()).map(round),
        value: value.map_or(Value::Null, json_number),
        ok,
        used: used.filter(|_| matches!(gate.limit.as_bytes().first(), Some(b'<'))).map(round),
        largest_of: found.and_then(|found| found.largest_of),
        ..GateResult::default()
    }
}

/// Counts stay counts.
fn json_number(value: f64) -> Value {
    let whole = value.fract() == 0.0 && value.abs() < 1e15;
    if whole { Value::from(value as i64) } else { Value::from(value) }
}

/// The verdict over all gates, of a run that was interrupted or not.
#[must_use]
pub fn overall_verdict(gates: &[GateResult], interrupted: bool) -> Verdict {
    let failing = || gates.iter().filter(|gate| !gate.ok);
    if interrupted {
        Verdict::Interrupted
    } else if failing().next().is_none() {
        Verdict::Passed
    } else if failing().all(|gate| gate.void) {
        Verdict::Void
    } else {
        Verdict::Failed
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(gates: &[(&str, &str)], interrupted: bool, late: bool, oks: &[bool], expected: Verdict) {
        let results = json!({
            "journeys": { "create": { "errors": 0, "service_ms": { "p99": 12.5 } } },
            "work": { "game": { "stuck": 2, "drain_s": 35.0, "throughput_per_min": null,
                                "figures": { "turns": { "max": 100.0 } } } },
            "generator": { "schedule_lag_ms": { "p99": 3.0 } },
        });
        let gates: Vec<Gate> = gates.iter().map(|(name, limit)| Gate::parse(name, limit).unwrap()).collect();
        let judged = evaluate_gates_with(&gates, &results, GeneratorEffect { without_generator_delay: &results, late });
        assert_eq!(judged.iter().map(|gate| gate.ok).collect::<Vec<_>>(), oks);
        assert_eq!(overall_verdict(&judged, interrupted), expected);
    }

    /// A gate, its figure as measured and without what the lab added.
    #[track_caller]
    fn check_without_delay(limit: &str, measured: f64, without_lab: f64, expected: Verdict) {
        let of = |p99: f64| json!({ "journeys": { "get": { "latency_ms": { "p99": p99 } } } });
        let gate = Gate::parse("get.latency_ms.p99", limit).unwrap();
        for late in [false, true] {
            let own = GeneratorEffect { without_generator_delay: &of(without_lab), late };
            let judged = evaluate_gates_with(std::slice::from_ref(&gate), &of(measured), own);
            assert_eq!(overall_verdict(&judged, false), expected, "{limit}: {measured} and {without_lab}");
            assert_eq!(judged[0].without_lab.is_some(), measured != without_lab);
            // Another gate that has failed without doubt decides.
            let dead = GateResult::implicit("alive", "until the end", "no", false).void_if(false);
            assert_eq!(overall_verdict(&[judged[0].clone(), dead], false), Verdict::Failed);
        }
    }

    #[test]
    fn how_much_of_a_limit_is_used_has_three_digits() {
        let results = json!({ "journeys": { "get": { "latency_ms": { "p99": 2947.071 } } } });
        let used = |limit: &str| evaluate_gate(&Gate::parse("get.latency_ms.p99", limit).unwrap(), &results).used;
        assert_eq!([used("< 20"), used("< 3000"), used("> 20")], [Some(147.354), Some(0.982), None]);
    }

    #[test]
    fn a_failed_gate_is_void_exactly_when_it_holds_without_the_lab() {
        use Verdict::{Failed, Passed, Void};
        check_without_delay("<= 20", 12.0, 12.0, Passed);
        check_without_delay("<= 20", 12.0, 1.0, Passed);
        check_without_delay("<= 20", 134.0, 1.0, Void);
        check_without_delay("<= 20", 134.0, 20.0, Void);
        check_without_delay("<= 20", 2134.0, 134.0, Failed);
        check_without_delay("<= 20", 134.0, 134.0, Failed);
        check_without_delay(">= 400", 300.0, 500.0, Void);
        check_without_delay(">= 400", 300.0, 399.0, Failed);
    }

    #[test]
    fn late_observations_are_void_and_the_targets_own_figures_are_not() {
        let own = |path: &str, late: bool| {
            let results = json!({
                "journeys": { "create": { "errors": 3 } },
                "work": { "game": { "drain_s": 35.0, "unknown": 2 }, "create": { "stuck": 9 } },
                "phases": { "hold": { "connections": {
                    "opening_s": 9.0, "opening_ms": { "p99": 2.0 }, "closed": 21, "dropped": 1, "reopened": 3, "failed": 1,
                    "kept": 5, "left": 5, "closed_after": 1, "dropped_after": 1 }, "edge_per_s": 7.0 } },
                "server": { "rss_bytes": { "peak": 9 } },
            });
            let gate = Gate::parse(path, "< 1").unwrap();
            overall_verdict(
                &evaluate_gates_with(&[gate], &results, GeneratorEffect { without_generator_delay: &results, late }),
                false,
            )
        };
        for path in [
            "game.drain_s",
            "create.stuck",
            "hold.connections.opening_s",
            "hold.connections.opening_ms.p99",
            "hold.edge_per_s",
        ] {
            assert_eq!((own(path, false), own(path, true)), (Verdict::Failed, Verdict::Void), "{path}");
        }
        let lost = ["closed", "dropped", "reopened", "failed", "kept", "left", "closed_after", "dropped_after"];
        let lost = lost.map(|figure| format!("hold.connections.{figure}"));
        for path in ["create.errors", "server.rss_bytes.peak", "game.unknown"]
            .into_iter()
            .chain(lost.iter().map(String::as_str))
        {
            assert_eq!((own(path, false), own(path, true)), (Verdict::Failed, Verdict::Failed), "{path}");
        }
    }

    #[test]
    fn verdicts() {
        use Verdict::{Failed, Interrupted, Passed, Void};
        check(&[], false, false, &[], Passed);
        check(&[("create.errors", "= 0")], false, false, &[true], Passed);
        check(&[("create.errors", "> 0")], false, false, &[false], Failed);
        check(&[("create.service_ms.p99", "< 12.5")], false, false, &[false], Failed);
        check(&[("create.service_ms.p99", "<= 12.5")], false, false, &[true], Passed);
        check(&[("generator.schedule_lag_ms.p99", "< 5")], false, false, &[true], Passed);
        // A formula over another figure.
        check(&[("game.drain_s", "<= game.figures.turns.max * 0.2 + 15")], false, false, &[true], Passed);
        check(&[("game.drain_s", "< game.figures.turns.max * 0.2 + 15")], false, false, &[false], Failed);
        // No figure, on either side: failed, whatever the comparison.
        check(&[("game.throughput_per_min", ">= 0")], false, false, &[false], Failed);
        check(&[("game.missing", "!= 7")], false, false, &[false], Failed);
        check(&[("game.stuck", "!= game.nothing")], false, false, &[false], Failed);
        // Late: what passed still holds, and what it observed late is void.
        check(&[("create.errors", "= 0")], false, true, &[true], Passed);
        check(&[("create.errors", "= 0"), ("game.stuck", "= 0")], false, true, &[true, false], Void);
        check(&[("create.errors", "= 0")], true, false, &[true], Interrupted);
        check(&[("game.stuck", "= 0")], true, true, &[false], Interrupted);
    }

    #[test]
    fn exit_codes() {
        use Verdict::{Failed, Interrupted, Passed, Void};
        assert_eq!([Passed, Failed, Void, Interrupted].map(Verdict::exit_code), [0, 3, 4, 130]);
    }
}
