//! The verdict: gates and figures in, a judgement out. Pure. Refuses to know how figures were made, except for
//! one: how late the lab itself was.
//!
//! A gate without a figure has failed. When the lab fell behind its own plan, a gate that passed still holds
//! (latency includes the lag) and one that failed is void: nobody can say whose fault it was.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::fold::{HeldFigures, figure, round};
use crate::report::words::{count, number};
use crate::scenario::{Arrivals, Gate, Phase};

/// What a run showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Every gate holds.
    Passed,
    /// A gate does not hold.
    Failed,
    /// A gate does not hold, but the lab was too slow to blame the target.
    Void,
    /// Somebody ended the run before it was over.
    Interrupted,
}

impl Verdict {
    /// The exit code of the command line.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Passed => 0,
            Self::Failed => 3,
            Self::Void => 4,
            Self::Interrupted => 130,
        }
    }

    /// The word as it stands in reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Passed => "PASSED",
            Self::Failed => "FAILED",
            Self::Void => "VOID",
            Self::Interrupted => "INTERRUPTED",
        }
    }
}

/// One gate, judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// The path of the figure, or the name of a gate that every trial has.
    pub name: String,
    /// The limit as the scenario states it.
    pub limit: String,
    /// The limit as a number, where the stated one is a formula.
    pub limit_value: Option<f64>,
    /// The figure: a number, a sentence, or nothing.
    pub value: Value,
    /// Whether it holds.
    pub ok: bool,
    /// How much of the limit is used, where that is a sensible question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<f64>,
}

impl Judged {
    /// A gate that every trial has, with a sentence as its figure.
    #[must_use]
    pub fn implicit(name: &str, limit: &str, value: &str, ok: bool) -> Self {
        Self {
            name: name.to_owned(),
            limit: limit.to_owned(),
            limit_value: None,
            value: Value::String(value.to_owned()),
            ok,
            used: None,
        }
    }
}

/// How a run ended, and whether the lab kept up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Circumstances {
    /// Somebody ended it early.
    pub interrupted: bool,
    /// The schedule lag was beyond its bound.
    pub behind: bool,
}

/// Judges every gate of the scenario against the results.
#[must_use]
pub fn judge_gates(gates: &[Gate], results: &Value) -> Vec<Judged> {
    gates.iter().map(|gate| judge_gate(gate, results)).collect()
}

/// Without all of its connections a phase is another load than the planned one; then this gate says so, and `why`. None for
/// a phase that holds none.
#[must_use]
pub(crate) fn judge_opening(phase: &Phase, held: &HeldFigures, why: &str) -> Option<Judged> {
    let Arrivals::Hold { opening, .. } = &phase.arrivals else { return None };
    let within_s = number(Some(opening.within.as_secs_f64()));
    let limit = format!("{} connections within {within_s} s", count(held.planned));
    let value = match held.opening_s {
        Some(opening_s) => {
            let beside = if held.kept > 0 { format!(", beside {} kept", count(held.kept)) } else { String::new() };
            format!("{} in {} s{beside}", count(held.opened), number(Some(opening_s)))
        }
        None => format!("{} of them{why}", count(held.stood())),
    };
    Some(Judged::implicit(&format!("{} opened", phase.name), &limit, &value, held.stood() >= held.planned))
}

fn judge_gate(gate: &Gate, results: &Value) -> Judged {
    let value = figure(results, &gate.name);
    let limit = gate.with.value(&|path| figure(results, path));
    let ok = matches!((value, limit), (Some(value), Some(limit)) if gate.op.holds(value, limit));
    let used = value.zip(limit).filter(|(_, limit)| *limit > 0.0).map(|(value, limit)| value / limit);
    Judged {
        name: gate.name.clone(),
        limit: gate.limit.clone(),
        limit_value: limit.filter(|_| !gate.with.figures().is_empty()).map(round),
        value: value.map_or(Value::Null, json_number),
        ok,
        used: used.filter(|_| matches!(gate.limit.as_bytes().first(), Some(b'<'))),
    }
}

/// Counts stay counts.
fn json_number(value: f64) -> Value {
    let whole = value.fract() == 0.0 && value.abs() < 1e15;
    if whole { Value::from(value as i64) } else { Value::from(value) }
}

/// The verdict over all gates.
#[must_use]
pub fn verdict(gates: &[Judged], circumstances: Circumstances) -> Verdict {
    let all_hold = gates.iter().all(|gate| gate.ok);
    match circumstances {
        Circumstances { interrupted: true, .. } => Verdict::Interrupted,
        _ if all_hold => Verdict::Passed,
        Circumstances { behind: true, .. } => Verdict::Void,
        Circumstances { behind: false, .. } => Verdict::Failed,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(gates: &[(&str, &str)], interrupted: bool, behind: bool, oks: &[bool], expected: Verdict) {
        let results = json!({
            "journeys": { "create": { "errors": 0, "service_ms": { "p99": 12.5 } } },
            "work": { "game": { "stuck": 2, "drain_s": 35.0, "throughput_per_min": null,
                                "figures": { "turns": { "max": 100.0 } } } },
            "generator": { "schedule_lag_ms": { "p99": 3.0 } },
        });
        let gates: Vec<Gate> = gates.iter().map(|(name, limit)| Gate::parse(name, limit).unwrap()).collect();
        let judged = judge_gates(&gates, &results);
        assert_eq!(judged.iter().map(|gate| gate.ok).collect::<Vec<_>>(), oks);
        assert_eq!(verdict(&judged, Circumstances { interrupted, behind }), expected);
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
        // Behind its plan: what passed still holds, what failed is void.
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
