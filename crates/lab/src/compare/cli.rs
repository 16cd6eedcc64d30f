//! The command line of a comparison: from arguments to an exit code. Handles files and the terminal, so that the other
//! modules do not have to.
//!
//! Exit codes: 0 compared · 1 a record could not be read, or a file not written · 2 usage, and runs that cannot be
//! compared · 3 a regression beyond the threshold · 4 with a threshold: no figure could be decided.

use std::path::PathBuf;
use std::process::ExitCode;

use super::{CompareOptions, Comparison, Side, compare, json, junit, load, markdown};
use crate::output::{CliError, print_stdout};

const EXIT_REGRESSION: u8 = 3;
const EXIT_INCONCLUSIVE: u8 = 4;

/// What the options alone do not say.
const HELP: &str = "\
A regression is a figure that differs significantly (its interval does not include \"equal\"), for the worse, and by more
than the threshold (its point estimate); or a verdict that changed from passed to failed; or arrivals of which at most
1 % failed before and at least half fail now, whatever the threshold and the length of the runs. Of all comparisons
between runs that do not differ, at most 5 % report a difference in any figure.

Exit codes: 0 compared, 1 a record could not be read or a file not written, 2 usage or runs that cannot be compared,
3 a regression beyond the threshold, 4 inconclusive although a threshold was given: a gate must not pass by that.";

/// Compares runs of one trial: which figures differ by more than noise
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct CompareArgs {
    /// Directories of runs: the first is the baseline. Repeats of one configuration are joined by commas:
    /// runs/a1,runs/a2 runs/b1,runs/b2
    #[arg(required = true, num_args = 2.., value_name = "RUN[,RUN...]")]
    pub sides: Vec<String>,
    /// Write the comparison as Markdown, for a pull request
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// Write the comparison as JUnit XML: one test for each figure and each gate
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Write the comparison as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Exit with 3 if any figure is worse by more than noise and by more than this, such as 5%
    #[arg(long, value_name = "PERCENT", value_parser = parse_threshold)]
    pub fail_on_regression: Option<f64>,
    /// Compare runs of different scenarios as well, with a warning on top
    #[arg(long)]
    pub across_scenarios: bool,
}

/// Compares, prints, writes.
#[must_use]
pub fn run(args: CompareArgs) -> ExitCode {
    match execute(args) {
        Ok((text, failure)) => {
            print_stdout(&text);
            failure.map_or(ExitCode::SUCCESS, |failure| failure.print_and_exit("compare"))
        }
        Err(error) => error.print_and_exit("compare"),
    }
}

/// The text of a comparison, and, with a threshold, why it failed.
fn execute(args: CompareArgs) -> Result<(String, Option<CliError>), CliError> {
    let paths: Vec<Vec<PathBuf>> = args.sides.iter().map(|side| parse_side(side)).collect::<Result<_, _>>()?;
    if paths.len() > SIDE_LABELS.len() {
        return Err(CliError::usage(format!("at most {} sides can be compared at once", SIDE_LABELS.len())));
    }
    let records = load(&paths).map_err(CliError::failed)?;
    let sides =
        SIDE_LABELS.chars().zip(records).map(|(label, records)| Side { label: label.to_string(), records }).collect();
    let options = CompareOptions { across_scenarios: args.across_scenarios };
    let comparison = compare(sides, options).map_err(|reasons| CliError::usage(reasons.join("\n")))?;
    let text = markdown(&comparison);
    write_file(args.markdown, || text.clone())?;
    write_file(args.junit, || junit(&comparison, args.fail_on_regression.unwrap_or(0.0)))?;
    write_file(args.json, || json(&comparison))?;
    let failure = args.fail_on_regression.and_then(|threshold| failure(&comparison, threshold));
    Ok((text, failure))
}

/// The labels of sides, in the order in which they are given.
const SIDE_LABELS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

fn parse_side(side: &str) -> Result<Vec<PathBuf>, CliError> {
    let parts: Vec<&str> = side.split(',').map(str::trim).collect();
    if parts.iter().any(|part| part.is_empty()) {
        let message = format!("`{side}`: expected directories of runs with single commas between them");
        return Err(CliError::usage(message));
    }
    Ok(parts.into_iter().map(PathBuf::from).collect())
}

fn write_file(path: Option<PathBuf>, text: impl FnOnce() -> String) -> Result<(), CliError> {
    let Some(path) = path else { return Ok(()) };
    std::fs::write(&path, text()).map_err(|error| CliError::failed(format!("{}: {error}", path.display())))
}

fn failure(comparison: &Comparison, threshold: f64) -> Option<CliError> {
    let percent = 100.0 * threshold;
    let figures = match comparison.regressions(threshold).count() {
        0 => None,
        1 => Some(format!("1 figure is worse by more than {percent} %, beyond the noise")),
        found => Some(format!("{found} figures are worse by more than {percent} %, beyond the noise")),
    };
    let broken = (0..comparison.candidates().len()).flat_map(|side| comparison.broken(side));
    let worse: Vec<String> = figures.into_iter().chain(broken).collect();
    if !worse.is_empty() {
        return Some(CliError { code: EXIT_REGRESSION, message: worse.join("; ") });
    }
    let nothing =
        "nothing can be concluded about these runs, so that they show no regression means nothing: run them for longer";
    comparison.is_inconclusive().then(|| CliError { code: EXIT_INCONCLUSIVE, message: nothing.to_owned() })
}

/// `5%` or `5`: a share in percent.
fn parse_threshold(text: &str) -> Result<f64, String> {
    let number = text.trim().strip_suffix('%').unwrap_or(text).trim();
    let percent: f64 = number.parse().map_err(|_| "expected a number of percent, such as 5%".to_owned())?;
    if (0.0..=10_000.0).contains(&percent) { Ok(percent / 100.0) } else { Err("expected 0% to 10000%".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::super::tests::fixture::{TEST_RUN, TestRun};
    use super::*;

    /// Compares runs on disk, and checks the message of a failure, if there is one.
    #[track_caller]
    fn check_ended(second: &TestRun, threshold: Option<f64>, expected: Result<Option<&str>, &str>) {
        let first = TestRun { seed: 61, ..TEST_RUN };
        let dirs = [first.write(), second.write()];
        let written = |name: &str| Some(dirs[0].join(name));
        let args = CompareArgs {
            sides: dirs.iter().map(|dir| dir.display().to_string()).collect(),
            markdown: written("out.md"),
            junit: written("out.xml"),
            json: written("out.json"),
            fail_on_regression: threshold,
            across_scenarios: false,
        };
        let found = match execute(args) {
            Ok((compared, failure)) => {
                let text = std::fs::read_to_string(dirs[0].join("out.md")).unwrap();
                assert_eq!(text, compared);
                assert!(std::fs::read_to_string(dirs[0].join("out.xml")).unwrap().contains("</testsuites>"));
                assert!(std::fs::read_to_string(dirs[0].join("out.json")).unwrap().contains("\"format\": 1"));
                Ok(failure.map(|failure| format!("{}: {}", failure.code, failure.message)))
            }
            Err(error) => Err(error.message),
        };
        dirs.iter().for_each(|dir| std::fs::remove_dir_all(dir).unwrap());
        match (&found, expected) {
            (Ok(None), Ok(None)) => {}
            (Ok(Some(found)), Ok(Some(words))) | (Err(found), Err(words)) if found.contains(words) => {}
            _ => panic!("{found:?}"),
        }
    }

    #[test]
    fn only_a_regression_beyond_the_threshold_is_reported() {
        let same = TestRun { seed: 62, ..TEST_RUN };
        let stuck = TestRun { stuck: 25, ..same.clone() };
        check_ended(&same, Some(0.0), Ok(None));
        check_ended(&stuck, None, Ok(None));
        check_ended(&stuck, Some(0.05), Ok(Some("1 figure is worse by more than 5 %")));
        check_ended(&TestRun { latency_us: 24_000.0, ..same.clone() }, Some(0.05), Ok(Some("5 figures are worse")));
        check_ended(&TestRun { latency_us: 24_000.0, ..same.clone() }, Some(3.0), Ok(None));
        check_ended(&TestRun { latency_us: 6_000.0, ..same }, Some(0.05), Ok(None));
    }

    #[test]
    fn a_run_that_broke_is_a_regression_whatever_its_length() {
        let same = TestRun { seed: 62, ..TEST_RUN };
        let broke = TestRun { fails: true, seconds: 4, ..same.clone() };
        let words = "3: B failed where A passed; 100 % of the arrivals failed in B (240 of 240), 0 % in A";
        check_ended(&broke, Some(0.05), Ok(Some(words)));
        check_ended(&broke, None, Ok(None));
        check_ended(
            &TestRun { fails: true, seconds: 90, ..same.clone() },
            Some(5.0),
            Ok(Some("B failed where A passed")),
        );
        // Two short runs that are alike prove nothing, and a gate must not hold because of that.
        let short = TestRun { seconds: 4, rss_mib: 120, ..same };
        check_ended(&short, Some(0.05), Ok(Some("4: nothing can be concluded")));
    }

    #[test]
    fn incomparable_runs_are_rejected() {
        check_ended(&TestRun { seed: 61, ..TEST_RUN }, None, Err("given twice"));
    }

    #[track_caller]
    fn check(text: &str, expected: Option<f64>) {
        assert_eq!(parse_threshold(text).ok(), expected, "{text}");
    }

    #[test]
    fn thresholds() {
        check("5%", Some(0.05));
        check(" 2.5 % ", Some(0.025));
        check("0", Some(0.0));
        check("-1%", None);
        check("NaN", None);
        check("5 percent", None);
    }

    #[test]
    fn sides_are_lists() {
        let found = |side: &str| parse_side(side).ok().map(|paths| paths.len());
        assert_eq!([found("a"), found("a,b , c"), found("a,,b"), found("")], [Some(1), Some(3), None, None]);
    }
}
