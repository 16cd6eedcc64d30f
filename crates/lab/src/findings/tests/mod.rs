//! Findings, as rows: a run that was planted with one bottleneck, and the codes that must come out, in their order; a
//! near miss beside each; runs that are healthy in their different ways, with none.

mod events;
mod healthy;
mod laws;
mod story;
mod used_up;
mod waits;

use story::Story;

/// The codes that a story's findings have, in their order.
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

/// The sentence of the first finding holds all of these.
#[track_caller]
fn check_sentence(story: &Story, words: &[&str]) {
    let found = story.findings();
    let sentence = &found.first().expect("a finding").sentence;
    words.iter().for_each(|word| assert!(sentence.contains(word), "\"{word}\" in: {sentence}"));
}
