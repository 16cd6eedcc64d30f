//! Findings as rows: a run with one planted bottleneck, and the expected codes in order; a near miss for each; healthy
//! runs of different kinds, with none.

mod events;
mod healthy;
mod laws;
mod story;
mod used_up;
mod waits;

use story::Story;

/// Compares the codes of a story's findings, in order.
#[track_caller]
fn check(story: &Story, expected: &[&str]) {
    let found = story.findings();
    let codes: Vec<&str> = found.iter().map(|finding| finding.code.as_str()).collect();
    assert_eq!(codes, expected, "{found:#?}");
    for finding in &found {
        assert!(
            !finding.evidence.is_empty() && !finding.refuted_by.is_empty() && !finding.advice.is_empty(),
            "{finding:#?}"
        );
        assert!(finding.sentence.ends_with('.'), "{finding:#?}");
    }
}

/// The sentence of the first finding contains all of these.
#[track_caller]
fn check_sentence(story: &Story, words: &[&str]) {
    let found = story.findings();
    let sentence = &found.first().expect("a finding").sentence;
    words.iter().for_each(|word| assert!(sentence.contains(word), "\"{word}\" in: {sentence}"));
}
