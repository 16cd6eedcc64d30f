//! Whether sides may be compared. Pure. Does not look at figures: a wrong comparison does not become right because its
//! numbers look good.

use std::collections::BTreeSet;

use super::{CompareOptions, Side};
use crate::limits::COMPARE_RUNS_MAX;
use crate::machine::Machine;
use crate::report::Run;
use crate::verdict::Verdict;

/// Checks whether these sides may be compared; returns warnings if that was requested in spite of a difference.
///
/// # Errors
/// Every reason why they cannot be compared, each a sentence that says what to do.
pub(crate) fn check_comparable(sides: &[Side], options: CompareOptions) -> Result<Vec<String>, Vec<String>> {
    let mut refusals = Vec::new();
    refusals.extend(check_counts(sides));
    refusals.extend(duplicate_run(sides));
    refusals.extend(sides.iter().flat_map(|side| side.runs().filter_map(|run| unfit_reason(&side.label, run))));
    refusals.extend(sides.iter().filter_map(mixed_side_reason));
    let pairs = || sides.iter().skip(1).filter_map(|side| Some((sides.first()?, side)));
    refusals.extend(pairs().filter_map(|(first, side)| machine_difference(first, side)));
    let mut warnings: Vec<String> = pairs().filter_map(|(first, side)| scenario_difference(first, side)).collect();
    if !options.across_scenarios {
        let advice = "Compare runs of one scenario, or add --across-scenarios to compare them all the same.";
        refusals.extend(warnings.drain(..).map(|warning| format!("{warning} {advice}")));
    }
    if refusals.is_empty() { Ok(warnings) } else { Err(refusals) }
}

fn check_counts(sides: &[Side]) -> Option<String> {
    let runs: usize = sides.iter().map(|side| side.records.len()).sum();
    match (sides.len(), runs) {
        (0 | 1, _) => Some("A comparison needs two sides: give a second run.".to_owned()),
        (_, runs) if runs > COMPARE_RUNS_MAX => Some(format!(
            "{runs} runs are too many for one comparison; at most {COMPARE_RUNS_MAX} can be read at once."
        )),
        _ => None,
    }
}

fn duplicate_run(sides: &[Side]) -> Option<String> {
    let mut seen = BTreeSet::new();
    let found = sides.iter().flat_map(Side::runs).find(|run| !seen.insert(run.id.as_str()))?;
    Some(format!("The run {} is given twice, and held against itself it has no noise: give another one.", found.id))
}

/// Why a run is no evidence.
fn unfit_reason(label: &str, run: &Run) -> Option<String> {
    let why = match run.verdict {
        Verdict::Passed | Verdict::Failed => return None,
        Verdict::Void => "is void: the lab fell behind its own plan, so its figures say nothing about the target",
        Verdict::Interrupted => "was interrupted before it was over",
    };
    Some(format!("{label}: the run {} {why}. Run the trial again, and compare that run.", run.id))
}

/// Runs of one side must be repeats of each other.
fn mixed_side_reason(side: &Side) -> Option<String> {
    let mut runs = side.runs();
    let first = runs.next()?;
    let other =
        runs.find(|run| run.scenario.hash != first.scenario.hash || !is_same_machine(&run.machine, &first.machine))?;
    Some(format!(
        "{}: the runs {} and {} are no repeats of each other: scenario, settings or machine differ. Give them as \
         different sides.",
        side.label, first.id, other.id
    ))
}

fn machine_difference(first: &Side, side: &Side) -> Option<String> {
    let (a, b) = (first.runs().next()?, side.runs().next()?);
    (!is_same_machine(&a.machine, &b.machine)).then(|| {
        format!(
            "{} ran on {}, {} on {}: the difference would be the machines'. Run both on one machine.",
            first.label,
            describe_machine(&a.machine),
            side.label,
            describe_machine(&b.machine)
        )
    })
}

fn is_same_machine(a: &Machine, b: &Machine) -> bool {
    (a.cores, &a.cpu_model) == (b.cores, &b.cpu_model)
}

/// `2 cores of Some Processor`.
pub(super) fn describe_machine(machine: &Machine) -> String {
    let cores = machine.cores.map_or_else(|| "?".to_owned(), |cores| cores.to_string());
    format!("{cores} cores of {}", machine.cpu_model.as_deref().unwrap_or("an unknown processor"))
}

/// Settings of the command line may differ: a comparison is made for them. The scenario may not.
fn scenario_difference(first: &Side, side: &Side) -> Option<String> {
    let (a, b) = (&first.runs().next()?.scenario, &side.runs().next()?.scenario);
    if a.name != b.name {
        return Some(format!("{} ran the scenario {}, {} ran {}.", first.label, a.name, side.label, b.name));
    }
    // Older records have only the hash over text and settings together.
    let differ = if a.text_hash.is_empty() || b.text_hash.is_empty() {
        a.settings == b.settings && a.hash != b.hash
    } else {
        a.text_hash != b.text_hash
    };
    differ.then(|| {
        format!("The scenario {} was another text when {} ran than when {} ran.", a.name, first.label, side.label)
    })
}
