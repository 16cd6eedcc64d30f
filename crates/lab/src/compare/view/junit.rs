//! The comparison as JUnit XML, for tools that show tests: one case for each figure and gate of each side after the
//! first. A case fails if a figure is worse beyond the noise and the threshold, or a gate does not hold; it is skipped
//! if the figure is undecided. Pure.

use std::fmt::Write as _;

use super::super::figures::{ComparedFigure, OutcomeKind};
use super::super::{Comparison, Side, unique_gates};
use super::format::{format_change, format_interval, format_value, reason_sentence};
use crate::verdict::GateResult;

/// How one case ended.
enum CaseResult {
    Passed,
    Skipped(String),
    Failed { kind: &'static str, message: String, detail: String },
}

struct TestCase {
    class: String,
    name: String,
    result: CaseResult,
}

/// The XML. `threshold` is the share by which a figure must be worse before it fails.
pub(crate) fn junit(comparison: &Comparison, threshold: f64) -> String {
    let suites: Vec<(String, Vec<TestCase>)> = (0..comparison.candidates().len())
        .map(|side| (suite_name(comparison, side), cases(comparison, side, threshold)))
        .collect();
    let all = || suites.iter().flat_map(|(_, cases)| cases);
    let mut xml =
        format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"compare\" {}>\n", totals(all()));
    for (name, cases) in &suites {
        let _ = writeln!(xml, "  <testsuite name=\"{}\" {}>", escape_xml(name), totals(cases.iter()));
        cases.iter().for_each(|case| xml.push_str(&case_element(case)));
        xml.push_str("  </testsuite>\n");
    }
    xml + "</testsuites>\n"
}

fn suite_name(comparison: &Comparison, side: usize) -> String {
    let (first, second) = (&comparison.sides[0], &comparison.sides[side + 1]);
    let scenario = first.runs().next().map_or("", |run| run.scenario.name.as_str());
    format!("{scenario}: {} against {}", second.label, first.label)
}

fn cases(comparison: &Comparison, side: usize, threshold: f64) -> Vec<TestCase> {
    let unit_s = comparison.sides[0].records.first().map_or(1, |record| record.series.unit_s);
    let figures = comparison.figures.iter().map(|figure| TestCase {
        class: figure.subject.clone(),
        name: figure.name.to_owned(),
        result: figure_result(figure, side, threshold, unit_s),
    });
    let side = &comparison.sides[side + 1];
    figures.chain(unique_gates(side.runs()).into_iter().map(|gate| gate_case(side, gate))).collect()
}

fn figure_result(figure: &ComparedFigure, side: usize, threshold: f64, unit_s: u64) -> CaseResult {
    let outcome = &figure.outcomes[side];
    match outcome.kind {
        OutcomeKind::Unknown(why) => CaseResult::Skipped(reason_sentence(why, unit_s)),
        OutcomeKind::Worse if figure.worsening(side).is_some_and(|by| by > threshold) => CaseResult::Failed {
            kind: "regression",
            message: format!("worse: {} ({})", format_change(figure, outcome), format_interval(figure, outcome)),
            detail: format!(
                "before {}, after {}",
                format_value(figure, outcome.test_result.before),
                format_value(figure, outcome.test_result.after)
            ),
        },
        OutcomeKind::Worse | OutcomeKind::Better | OutcomeKind::Noise | OutcomeKind::Equal => CaseResult::Passed,
    }
}

fn gate_case(side: &Side, gate: &GateResult) -> TestCase {
    let (hold, all) = side.gate_pass_count(gate);
    let ended = match side.matching_gates(gate).find(|own| !own.ok) {
        None => CaseResult::Passed,
        Some(failing) => CaseResult::Failed {
            kind: "gate",
            message: format!("holds in {hold} of {all} runs"),
            detail: format!("found {}", failing.value),
        },
    };
    TestCase { class: "gates".to_owned(), name: format!("{} {}", gate.name, gate.limit), result: ended }
}

fn totals<'a>(cases: impl Iterator<Item = &'a TestCase> + Clone) -> String {
    let failed = cases.clone().filter(|case| matches!(case.result, CaseResult::Failed { .. })).count();
    let skipped = cases.clone().filter(|case| matches!(case.result, CaseResult::Skipped(_))).count();
    format!("tests=\"{}\" failures=\"{failed}\" errors=\"0\" skipped=\"{skipped}\"", cases.count())
}

fn case_element(case: &TestCase) -> String {
    let open = format!("    <testcase classname=\"{}\" name=\"{}\"", escape_xml(&case.class), escape_xml(&case.name));
    match &case.result {
        CaseResult::Passed => format!("{open}/>\n"),
        CaseResult::Skipped(why) => {
            format!("{open}>\n      <skipped message=\"{}\"/>\n    </testcase>\n", escape_xml(why))
        }
        CaseResult::Failed { kind, message, detail } => format!(
            "{open}>\n      <failure type=\"{kind}\" message=\"{}\">{}</failure>\n    </testcase>\n",
            escape_xml(message),
            escape_xml(detail)
        ),
    }
}

/// For attributes and text alike. What XML 1.0 cannot hold at all (section 2.2, Char) becomes a replacement character.
fn escape_xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            // A parser would turn them into spaces in an attribute.
            '\t' | '\n' | '\r' => out.push_str(&format!("&#{};", c as u32)),
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(escape_xml(text), expected);
    }

    #[test]
    fn text_from_outside_stays_text() {
        check("plain", "plain");
        check("a < b && c > \"d\"", "a &lt; b &amp;&amp; c &gt; &quot;d&quot;");
        check("it's", "it&apos;s");
        check("two\nlines\ttab", "two&#10;lines&#9;tab");
        check("bell\u{7} nothing\0", "bell\u{fffd} nothing\u{fffd}");
        check("]]>", "]]&gt;");
        check("größer ≤ 5 %", "größer ≤ 5 %");
    }

    #[test]
    fn an_element_is_closed_however_it_ended() {
        let case = |ended| TestCase { class: "a<b".to_owned(), name: "p99".to_owned(), result: ended };
        assert_eq!(case_element(&case(CaseResult::Passed)), "    <testcase classname=\"a&lt;b\" name=\"p99\"/>\n");
        for ended in [
            CaseResult::Skipped("why".to_owned()),
            CaseResult::Failed { kind: "gate", message: "m".to_owned(), detail: "d".to_owned() },
        ] {
            let text = case_element(&case(ended));
            assert!(text.contains("/>") || text.contains("</failure>"), "{text}");
            assert!(text.ends_with("</testcase>\n"), "{text}");
        }
    }
}
