//! The comparison as JUnit XML, for machines that show tests: one case for each figure and gate of each side after the
//! first. A case fails where a figure is worse beyond the noise and the threshold, or a gate does not hold; it is
//! skipped where there is no telling. Pure.

use std::fmt::Write as _;

use super::super::figures::{Figure, Sense};
use super::super::{Comparison, Side, gates};
use super::texts::{change, interval, reason, value};
use crate::verdict::Judged;

/// How one case ended.
enum Ended {
    Passed,
    Skipped(String),
    Failed { kind: &'static str, message: String, detail: String },
}

struct Case {
    class: String,
    name: String,
    ended: Ended,
}

/// The XML. `threshold` is the share by which a figure must be worse before it fails.
#[must_use]
pub fn junit(comparison: &Comparison, threshold: f64) -> String {
    let suites: Vec<(String, Vec<Case>)> = (0..comparison.challengers().len())
        .map(|side| (suite_name(comparison, side), cases(comparison, side, threshold)))
        .collect();
    let all = || suites.iter().flat_map(|(_, cases)| cases);
    let mut xml =
        format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"compare\" {}>\n", totals(all()));
    for (name, cases) in &suites {
        let _ = writeln!(xml, "  <testsuite name=\"{}\" {}>", escaped(name), totals(cases.iter()));
        cases.iter().for_each(|case| xml.push_str(&element(case)));
        xml.push_str("  </testsuite>\n");
    }
    xml + "</testsuites>\n"
}

fn suite_name(comparison: &Comparison, side: usize) -> String {
    let (first, second) = (&comparison.sides[0], &comparison.sides[side + 1]);
    let scenario = first.runs().next().map_or("", |run| run.scenario.name.as_str());
    format!("{scenario}: {} against {}", second.label, first.label)
}

fn cases(comparison: &Comparison, side: usize, threshold: f64) -> Vec<Case> {
    let unit_s = comparison.sides[0].records.first().map_or(1, |record| record.times.unit_s);
    let figures = comparison.figures.iter().map(|figure| Case {
        class: figure.subject.clone(),
        name: figure.name.to_owned(),
        ended: of_figure(figure, side, threshold, unit_s),
    });
    let side = &comparison.sides[side + 1];
    figures.chain(gates(side.runs()).into_iter().map(|gate| of_gate(side, gate))).collect()
}

fn of_figure(figure: &Figure, side: usize, threshold: f64, unit_s: u64) -> Ended {
    let outcome = &figure.outcomes[side];
    match outcome.sense {
        Sense::Unknown(why) => Ended::Skipped(reason(why, unit_s)),
        Sense::Worse if figure.worsening(side).is_some_and(|by| by > threshold) => Ended::Failed {
            kind: "regression",
            message: format!("worse: {} ({})", change(figure, outcome), interval(figure, outcome)),
            detail: format!(
                "before {}, after {}",
                value(figure, outcome.answer.before),
                value(figure, outcome.answer.after)
            ),
        },
        Sense::Worse | Sense::Better | Sense::Noise | Sense::Equal => Ended::Passed,
    }
}

fn of_gate(side: &Side, gate: &Judged) -> Case {
    let (hold, all) = side.gate_holds(gate);
    let ended = match side.same_gates(gate).find(|own| !own.ok) {
        None => Ended::Passed,
        Some(failing) => Ended::Failed {
            kind: "gate",
            message: format!("holds in {hold} of {all} runs"),
            detail: format!("found {}", failing.value),
        },
    };
    Case { class: "gates".to_owned(), name: format!("{} {}", gate.name, gate.limit), ended }
}

fn totals<'a>(cases: impl Iterator<Item = &'a Case> + Clone) -> String {
    let failed = cases.clone().filter(|case| matches!(case.ended, Ended::Failed { .. })).count();
    let skipped = cases.clone().filter(|case| matches!(case.ended, Ended::Skipped(_))).count();
    format!("tests=\"{}\" failures=\"{failed}\" errors=\"0\" skipped=\"{skipped}\"", cases.count())
}

fn element(case: &Case) -> String {
    let open = format!("    <testcase classname=\"{}\" name=\"{}\"", escaped(&case.class), escaped(&case.name));
    match &case.ended {
        Ended::Passed => format!("{open}/>\n"),
        Ended::Skipped(why) => format!("{open}>\n      <skipped message=\"{}\"/>\n    </testcase>\n", escaped(why)),
        Ended::Failed { kind, message, detail } => format!(
            "{open}>\n      <failure type=\"{kind}\" message=\"{}\">{}</failure>\n    </testcase>\n",
            escaped(message),
            escaped(detail)
        ),
    }
}

/// For attributes and text alike. What XML 1.0 cannot hold at all (section 2.2, Char) becomes a replacement character.
fn escaped(text: &str) -> String {
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
        assert_eq!(escaped(text), expected);
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
        let case = |ended| Case { class: "a<b".to_owned(), name: "p99".to_owned(), ended };
        assert_eq!(element(&case(Ended::Passed)), "    <testcase classname=\"a&lt;b\" name=\"p99\"/>\n");
        for ended in [
            Ended::Skipped("why".to_owned()),
            Ended::Failed { kind: "gate", message: "m".to_owned(), detail: "d".to_owned() },
        ] {
            let text = element(&case(ended));
            assert!(text.contains("/>") || text.contains("</failure>"), "{text}");
            assert!(text.ends_with("</testcase>\n"), "{text}");
        }
    }
}
