//! The gates, each with its limit and its value. Does not evaluate them.

use super::{ContentBlock, Section, Table, TableCell, Tone};
use crate::format::{count, first_few, highest_of, number, sanitize};
use crate::report::Run;
use crate::verdict::GateResult;

/// Failing gates at the head of a report; the table has all of them.
const FAILING_MAX: usize = 8;

pub(super) fn section(run: &Run) -> Section {
    // Readers look for the failing ones.
    let (holding, failing): (Vec<&GateResult>, Vec<&GateResult>) = run.gates.iter().partition(|gate| gate.ok);
    let rows = failing.into_iter().chain(holding).map(row).collect();
    let formulas = run.gates.iter().filter(|gate| gate.limit_value.is_some());
    let formulas = formulas.map(|gate| format!("The limit of {} is a formula: {}.", gate.name, gate.limit));
    let few = run.gates.iter().filter_map(|gate| Some(format!("{} of {}", gate.name, count(gate.largest_of?))));
    let few = first_few(few, ", ");
    let needs = "p90 needs 10, p95 needs 20, p99 needs 100, p999 needs 1,000";
    let thin = (!few.is_empty())
        .then(|| format!("A value with * is the highest of too few for the percentile: {few}; {needs}."));
    let table = Table::new(4, &["", "gate", "limit", "value", "used", "without the lab's own share"], rows)
        .with_name_column(1)
        .with_notes(formulas.chain(thin).collect());
    Section::new("gates", "Gates", [ContentBlock::Table(table.without_empty_columns())])
}

fn row(gate: &GateResult) -> Vec<TableCell> {
    let state = match (gate.ok, gate.void) {
        (true, _) => TableCell::with_tone("ok", Tone::Good),
        (false, true) => TableCell::with_tone("void", Tone::Doubtful),
        (false, false) => TableCell::with_tone("FAIL", Tone::Bad),
    };
    let sign = gate.limit.split(|c: char| !"=!<>".contains(c)).next().unwrap_or_default();
    let limit = match gate.limit_value {
        Some(value) => format!("{sign} {}", number(Some(value))),
        None => gate.limit.clone(),
    };
    let used = gate.used.map_or_else(|| "-".to_owned(), share_used);
    let value = match gate.largest_of {
        Some(_) => number(gate.value.as_f64()) + "*",
        None => found_value(gate),
    };
    vec![state, gate.name.as_str().into(), limit.into(), value.into(), used.into(), gate.without_lab.into()]
}

/// The used share of a limit, above twice the limit as a factor.
fn share_used(used: f64) -> String {
    if used < 2.0 { format!("{:.0} %", used * 100.0) } else { format!("{} times", number(Some(used))) }
}

/// The failing gates, each with its limit and its value: the first of them, and how many more there are.
pub(in crate::report) fn failing_gates(run: &Run) -> Vec<String> {
    // Failed gates come before void ones.
    let failing = || {
        let of = |void: bool| run.gates.iter().filter(move |gate| !gate.ok && gate.void == void);
        of(false).chain(of(true))
    };
    let texts = failing().take(FAILING_MAX).map(|gate| {
        let void = if gate.void { "void: " } else { "" };
        let without = gate.without_lab.filter(|_| gate.void);
        let without = without.map(|value| format!(", without the lab's own share {}", number(Some(value))));
        format!("{void}{} {}: found {}{}", gate.name, gate.limit, found_value(gate), without.unwrap_or_default())
    });
    let more = failing().count().saturating_sub(FAILING_MAX);
    texts.chain((more > 0).then(|| format!("and {more} more"))).collect()
}

/// The value of a gate, in words.
fn found_value(gate: &GateResult) -> String {
    match (&gate.value, gate.value.as_f64()) {
        (_, Some(value)) => number(Some(value)) + &highest_of(gate.largest_of),
        (serde_json::Value::String(text), None) => sanitize(text),
        (_, None) => "no figure".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn far_beyond_a_limit_is_shown_as_a_factor() {
        let told = [0.0, 0.204, 1.0, 1.99, 2.0, 36.23].map(share_used);
        assert_eq!(told, ["0 %", "20 %", "100 %", "199 %", "2 times", "36.2 times"]);
    }
}
