//! The report as one JSON document of blocks: what the console's pages draw, in `report.html` and in a page of a server.
//! Pure. Does not choose the content: it writes the sections of every view. Every text in it is without control characters.

use serde::Serialize;
use serde_json::Value;

use super::content::{OverTime, Section, failing_gates, finding_sentences, findings_title, sections};
use super::headline::{Headline, headline};
use super::{Run, redact_json};
use crate::format::sanitize_lines;
use crate::verdict::Verdict;

/// The version of the document's form.
pub(crate) const FORMAT: u64 = 1;

#[derive(Serialize)]
struct Document<'a> {
    format: u64,
    kind: &'static str,
    /// The run's id.
    id: &'a str,
    title: &'a str,
    summary: &'a str,
    verdict: Verdict,
    /// The trial goes on: there is no verdict yet, and the figures are those so far.
    is_running: bool,
    target: &'a str,
    started_at: &'a str,
    duration_s: f64,
    program: &'a str,
    headline: Headline,
    /// Gates that do not hold, in words.
    failing: Vec<String>,
    findings_title: &'static str,
    /// The sentences of all findings.
    findings: Vec<String>,
    sections: Vec<Section>,
}

/// The document of a run.
#[must_use]
pub fn document(run: &Run, over_time: &OverTime, is_running: bool) -> Value {
    let mut headline = headline(run);
    if is_running {
        let holding = run.gates.iter().filter(|gate| gate.ok).count();
        headline.gate_status = format!("So far {holding} of {} gates hold", run.gates.len());
    }
    let document = Document {
        format: FORMAT,
        kind: "run",
        id: &run.id,
        title: &run.scenario.name,
        summary: &run.scenario.summary,
        verdict: run.verdict,
        is_running,
        target: &run.scenario.target,
        started_at: &run.started_at,
        duration_s: run.duration_s,
        program: &run.program,
        headline,
        failing: failing_gates(run),
        findings_title: findings_title(run),
        findings: finding_sentences(run),
        sections: sections(run, over_time),
    };
    sanitized(&document)
}

/// A document as it is written: no text in it steers a terminal or changes the direction of text.
pub(crate) fn sanitized(document: &impl Serialize) -> Value {
    let mut value = serde_json::to_value(document).expect("texts, numbers and lists of them");
    redact_json(&mut value, &sanitize_lines);
    value
}

/// JSON that may stand in a `script` element: nothing in it ends the element or begins a comment.
pub(super) fn escaped_json(value: &Value) -> String {
    let text = value.to_string();
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            // Only in strings, where they mean the same.
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => out.push_str(&format!("\\u{:04x}", u32::from(letter))),
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::report::tests::fixture::{HOSTILE, full, over_time};

    #[track_caller]
    fn check_escaped(value: &Value, expected: &str) {
        let text = escaped_json(value);
        assert_eq!(text, expected);
        assert_eq!(&serde_json::from_str::<Value>(&text).unwrap(), value);
    }

    #[test]
    fn nothing_ends_the_element_that_holds_the_data() {
        check_escaped(&json!("</script><!-- & -->"), r#""\u003c/script\u003e\u003c!-- \u0026 --\u003e""#);
        check_escaped(&json!("a\u{2028}b\u{2029}"), r#""a\u2028b\u2029""#);
        check_escaped(&json!({ "<": [1.5, null, "\"\\"] }), r#"{"\u003c":[1.5,null,"\"\\"]}"#);
    }

    fn blocks(document: &Value) -> impl Iterator<Item = &Value> {
        let sections = document["sections"].as_array().unwrap();
        sections.iter().flat_map(|section| section["blocks"].as_array().unwrap())
    }

    #[test]
    fn gates_come_first_and_every_kind_of_block_is_there() {
        let document = document(&full(), &over_time(), false);
        assert_eq!(document["format"], FORMAT);
        assert_eq!(document["sections"][0]["id"], "gates");
        let kinds: std::collections::BTreeSet<&str> =
            blocks(&document).map(|block| block["kind"].as_str().unwrap()).collect();
        assert_eq!(kinds.into_iter().collect::<Vec<_>>(), ["chart", "heading", "heatmap", "list", "table", "text"]);
    }

    #[test]
    fn a_run_that_goes_on_has_no_verdict_yet() {
        let document = document(&full(), &over_time(), true);
        assert_eq!(document["is_running"], true);
        let status = document["headline"]["gate_status"].as_str().unwrap();
        assert!(status.starts_with("So far ") && status.ends_with(" gates hold"), "{status}");
    }

    #[test]
    fn findings_stand_beside_the_chart_that_shows_them() {
        let (run, document) = (full(), document(&full(), &over_time(), false));
        let beside: Vec<&str> = blocks(&document)
            .flat_map(|block| block["content"]["findings"].as_array().into_iter().flatten())
            .map(|finding| finding.as_str().unwrap())
            .collect();
        assert!(!beside.is_empty());
        let sentences = finding_sentences(&run);
        assert!(beside.iter().all(|text| sentences.iter().any(|sentence| sentence == text)), "{beside:?}");
    }

    #[test]
    fn a_document_is_small_and_has_no_control_characters() {
        let text = escaped_json(&document(&full(), &over_time(), false));
        assert!(text.len() < 700_000, "{} bytes", text.len());
        assert!(text.contains("owned"), "the hostile text must be in it for this test to say anything");
        let escape = "\\u001b";
        assert!(HOSTILE.contains('\u{1b}') && !text.contains(escape) && !text.contains('\u{202e}'));
    }
}
