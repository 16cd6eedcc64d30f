//! Which texts a pattern matches.
#![expect(clippy::unwrap_used, reason = "a test tells what is wrong by failing")]

use limiter::limits::PATTERN_BYTES_MAX;
use limiter::{Pattern, PatternError};
use proptest::prelude::*;

#[track_caller]
fn check(pattern: &str, matching: &[&str], others: &[&str]) {
    let pattern = Pattern::new(pattern).unwrap();
    for text in matching {
        assert!(pattern.matches(text.as_bytes()), "{} is for {text:?}", pattern.as_str());
    }
    for text in others {
        assert!(!pattern.matches(text.as_bytes()), "{} is not for {text:?}", pattern.as_str());
    }
}

#[test]
fn rows() {
    check("*", &["", "a", "a/b", "*"], &[]);
    check("read", &["read"], &["", "rea", "reads", "read*", "Read"]);
    check("user:*", &["user:", "user:1", "user:*"], &["user", "xuser:1", "host:1"]);
    check("*.write", &[".write", "a.write", ".write.write"], &["write", "a.writes"]);
    check("a*b", &["ab", "aab", "abb", "a*b", "a-b"], &["a", "b", "ba", "abc"]);
    check("a*a", &["aa", "aaa"], &["a", ""]);
    check("*ab*ab*", &["abab", "xabyabz", "ababab"], &["ab", "aab", "abba"]);
    check("**", &["", "a"], &[]);
    check("a**b", &["ab", "axb"], &["a"]);
    check("?", &["?"], &["a", ""]);
    check("[a-z]", &["[a-z]"], &["a"]);
}

#[test]
fn bytes_need_not_be_text() {
    assert!(Pattern::new("user:*").unwrap().matches(b"user:\xff\x00"));
    assert!(!Pattern::new("é").unwrap().matches(b"\xc3"));
}

#[test]
fn empty_and_too_long_patterns_are_refused() {
    assert_eq!(Pattern::new(""), Err(PatternError::Empty));
    assert!(Pattern::new(&"*".repeat(PATTERN_BYTES_MAX)).is_ok());
    let bytes = PATTERN_BYTES_MAX + 1;
    assert_eq!(Pattern::new(&"a".repeat(bytes)), Err(PatternError::TooLong { bytes }));
}

/// The same by a table of every prefix against every prefix.
fn matches_slowly(pattern: &[u8], text: &[u8]) -> bool {
    let mut fits = vec![false; text.len() + 1];
    fits[0] = true;
    for byte in pattern {
        let before = fits.clone();
        for at in 0..=text.len() {
            fits[at] = match byte {
                b'*' => before[at] || (at > 0 && fits[at - 1]),
                byte => at > 0 && before[at - 1] && text[at - 1] == *byte,
            };
        }
    }
    fits[text.len()]
}

proptest! {
    #[test]
    fn matching_is_that_of_the_table(pattern in "[ab*]{1,12}", text in "[ab*]{0,16}") {
        let fast = Pattern::new(&pattern).unwrap().matches(text.as_bytes());
        prop_assert_eq!(fast, matches_slowly(pattern.as_bytes(), text.as_bytes()));
    }
}
