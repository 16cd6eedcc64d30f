//! Default gates, which a trial has without listing them: a verdict covers the whole run, not only what its file names.
//! Pure. Does not evaluate them.
//!
//! Work that the server does not know is lost. Errors of a phase are errors of the run: a file without any gate on
//! errors gets `total.errors = 0`, and one that has gates on the errors of some phases gets a gate for each of the
//! others. Ladders and searches for the edge continue until the target is overloaded, so errors are expected there.

use crate::scenario::{Gate, LoadProfile, Phase, Scenario};

/// The note in a report of a run whose scenario disables the gates on errors.
pub const ERRORS_UNGATED_NOTE: &str =
    "No gate judges errors that the scenario does not name: it says errors = \"off\".";

/// The gates that a scenario leaves out.
#[must_use]
pub fn default_gates(scenario: &Scenario) -> Vec<Gate> {
    let unknown = scenario.work_specs.iter().map(|work| format!("{}.unknown", work.name));
    let open = unknown.filter(|name| !scenario.gates.iter().any(|gate| gate.name == *name));
    open.chain(ungated_error_figures(scenario)).filter_map(|name| Gate::parse(&name, "= 0").ok()).collect()
}

/// How many gates a run of this scenario has, including default ones.
#[must_use]
pub fn count_gates(scenario: &Scenario) -> usize {
    let reconciled = usize::from(scenario.work_specs.iter().any(|work| work.totals.is_some()));
    let of_phases =
        |phase: &&Phase| phase.load_profile.held().is_some() || matches!(phase.load_profile, LoadProfile::Edge(_));
    let of_phases = scenario.phases.iter().filter(of_phases).count();
    let of_processes = usize::from(!scenario.faults.is_empty()) + usize::from(scenario.spawns_processes());
    scenario.gates.len() + default_gates(scenario).len() + reconciled + of_phases + of_processes
}

/// Figures of errors that no gate covers.
fn ungated_error_figures(scenario: &Scenario) -> Vec<String> {
    if !scenario.gates_other_errors {
        return Vec::new();
    }
    let (expecting, others): (Vec<&Phase>, Vec<&Phase>) =
        scenario.phases.iter().partition(|phase| expects_errors(phase));
    let ungated: Vec<&Phase> = others.iter().copied().filter(|phase| !has_error_gate(scenario, phase)).collect();
    if expecting.is_empty() && ungated.len() == others.len() {
        return vec!["total.errors".to_owned()];
    }
    ungated.iter().map(|phase| format!("{}.journey.errors", phase.name)).collect()
}

fn expects_errors(phase: &Phase) -> bool {
    matches!(phase.load_profile, LoadProfile::Ladder { .. } | LoadProfile::Edge(_))
}

/// Whether a gate is on all errors of a phase, or compares another figure with them.
fn has_error_gate(scenario: &Scenario, phase: &Phase) -> bool {
    let journey = scenario.journeys.get(phase.journey_index).map(|journey| format!("{}.errors", journey.name));
    let of_phase = format!("{}.journey.errors", phase.name);
    let covers = |figure: &str| figure == "total.errors" || figure == of_phase || Some(figure) == journey.as_deref();
    scenario
        .gates
        .iter()
        .any(|gate| covers(&gate.name) || gate.limit_formula.figure_paths().iter().any(|figure| covers(figure)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{BUILTIN_FILES, Document, builtins};

    const TWO: &str = r#"
format = 1
name = "two"
summary = "Two journeys"
[target]
url = "http://127.0.0.1:1"
[[phase]]
name = "p"
arrivals = { batch = 1 }
in_flight_max = 1
journey = "a"
[[phase]]
name = "q"
arrivals = QQ
journey = "b"
[[journey]]
name = "a"
[[journey.step]]
request = "GET /"
[[journey]]
name = "b"
[[journey.step]]
request = "GET /"
[gates]
"#;

    #[track_caller]
    fn check_arrivals(arrivals: &str, gates: &str, expected: &[&str]) {
        let text = TWO.replace("QQ", arrivals) + gates;
        let scenario = Scenario::read(&Document::parse(&text).unwrap()).unwrap_or_else(|wrong| panic!("{wrong}"));
        let found = default_gates(&scenario);
        assert_eq!(found.iter().map(|gate| gate.name.as_str()).collect::<Vec<_>>(), expected, "{gates}");
        assert!(found.iter().all(|gate| gate.limit == "= 0"));
    }

    #[track_caller]
    fn check(gates: &str, expected: &[&str]) {
        check_arrivals("{ batch = 1 }\nin_flight_max = 1", gates, expected);
    }

    #[test]
    fn ungated_errors_get_a_gate() {
        check("", &["total.errors"]);
        check("\"a.latency_ms.p99\" = \"< 5\"", &["total.errors"]);
        check("\"a.ok\" = \"> 0\"", &["total.errors"]);
        check("\"a.errors\" = \"= 0\"", &["q.journey.errors"]);
        check("\"q.journey.errors\" = \"< 9\"", &["p.journey.errors"]);
        check("\"a.errors\" = \"= 0\"\n\"b.errors\" = \"> 0\"", &[]);
        check("\"a.ok\" = \"> a.errors * 9\"", &["q.journey.errors"]);
        check("\"total.errors\" = \"< 9\"", &[]);
        check("errors = \"off\"", &[]);
        check("errors = \"off\"\n\"a.errors\" = \"= 0\"", &[]);
    }

    #[test]
    fn loads_that_provoke_errors_get_no_gate_on_them() {
        let ladder = "{ ladder = [1, 2], for = \"1s\" }";
        check_arrivals(ladder, "", &["p.journey.errors"]);
        check_arrivals(ladder, "\"a.errors\" = \"= 0\"", &[]);
    }

    /// Each of them states itself how many errors are allowed.
    #[test]
    fn built_in_trials_need_no_gate_on_errors() {
        for builtin in builtins() {
            let mut document = Document::parse(builtin.toml).unwrap();
            BUILTIN_FILES.iter().for_each(|(name, text)| document.add_file(name, text));
            document.free_port_variables().iter().for_each(|variable| document.set_port(variable, 1));
            let scenario = Scenario::read(&document).unwrap_or_else(|wrong| panic!("{}: {wrong}", builtin.name));
            let found: Vec<String> = default_gates(&scenario).into_iter().map(|gate| gate.name).collect();
            let work: Vec<String> = scenario.work_specs.iter().map(|work| format!("{}.unknown", work.name)).collect();
            assert_eq!(found, work, "{}", builtin.name);
        }
    }
}
