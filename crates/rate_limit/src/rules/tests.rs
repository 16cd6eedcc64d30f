//! Files of policies, good and bad, and the book over file and store.

use super::*;
use engine::rows::{LimitOverride, LimitPolicy, LimitRules};
use limiter::{Algorithm, Policy, WhenFull};
use std::fmt::Write;
use wire::api::LimitQuota;

/// Stamps of all exact logs together.
const TIMESTAMPS_MAX: usize = 5_000;
const BURST: &str = "[[policy]]\nname = \"burst\"\nlimit = 100\nwindow = \"60s\"\n";

#[test]
fn a_policy_has_defaults_for_all_but_its_figures() {
    let rules = parse_policies(BURST, TIMESTAMPS_MAX).unwrap();
    let [policy] = rules.policies.as_slice() else { panic!("{rules:?}") };
    assert_eq!((&*policy.name, policy.class.as_str(), policy.key.as_str()), ("burst", "*", "*"));
    assert_eq!((policy.algorithm, policy.when_full, policy.is_shadow), (Algorithm::Gcra, WhenFull::Deny, false));
    assert_eq!((policy.quota.limit(), policy.quota.window_ns()), (100, 60_000_000_000));
}

#[test]
fn everything_that_a_policy_may_say_is_read() {
    let text = r#"
        [[policy]]
        name = "daily-2_x"
        class = "gateway.*.create"
        key = "token:*"
        algorithm = "log"
        limit = 1_000
        window = "24h"
        shadow = true
        when_full = "admit"
        [[policy.override]]
        key = "token:42"
        limit = 5
        window = "500ms"
    "#;
    let rules = parse_policies(text, TIMESTAMPS_MAX).unwrap();
    let policy = &rules.policies[0];
    assert_eq!((policy.class.as_str(), policy.key.as_str()), ("gateway.*.create", "token:*"));
    assert_eq!((policy.algorithm, policy.when_full, policy.is_shadow), (Algorithm::Log, WhenFull::Admit, true));
    assert_eq!((policy.quota.limit(), window_ms(policy.quota)), (1_000, 86_400_000));
    let own = rules.overrides[&("daily-2_x".into(), b"token:42".as_slice().into())];
    assert_eq!((own.limit(), own.window_ns()), (5, 500_000_000));
}

#[test]
fn a_file_without_policies_is_one() {
    assert!(parse_policies("", TIMESTAMPS_MAX).unwrap().policies.is_empty());
    assert!(parse_policies("# none yet\n", TIMESTAMPS_MAX).unwrap().policies.is_empty());
}

/// The file must be refused with exactly these errors.
#[track_caller]
fn refused(text: &str, want: &[&str]) {
    let said = parse_policies(text, TIMESTAMPS_MAX).unwrap_err().to_string();
    assert_eq!(said.lines().skip(1).map(str::trim).collect::<Vec<_>>(), want);
}

#[test]
fn every_mistake_is_named_with_its_line() {
    refused("policy = 3", &["line 1: policy: expected tables that begin with [[policy]]"]);
    refused("[[policies]]\n", &["line 1: \"policies\": no such key: expected [[policy]]"]);
    refused(
        "[[policy]]\nname = \"a\"\nlimt = 5\n",
        &[
            "line 1: policy \"a\": limit is missing",
            "line 1: policy \"a\": window is missing",
            "line 3: policy \"a\": no such key: \"limt\"; expected name, class, key, algorithm, limit, window, shadow, when_full, override",
        ],
    );
    refused(
        "[[policy]]\nname = \"a\"\nlimit = -5\nwindow = 60\nshadow = \"yes\"\n",
        &[
            "line 3: policy \"a\": limit: expected a whole number of units, at least 1",
            "line 4: policy \"a\": window: expected a span such as \"60s\", \"500ms\", \"1m\", \"24h\" or \"30d\"",
            "line 5: policy \"a\": shadow: expected true or false",
        ],
    );
    refused(
        "[[policy]]\nname = \"A b\"\nalgorithm = \"luck\"\nlimit = 0\nwindow = \"0s\"\nkey = \"\"\nwhen_full = \"panic\"\n",
        &[
            "line 2: policy \"A b\": the name is \"A b\": expected 1 to 64 characters of a-z, 0-9, _ and -",
            "line 3: policy \"A b\": algorithm is \"luck\": expected one of gcra, log, counter",
            "line 4: policy \"A b\": the limit is 0: expected at least 1 unit a window",
            "line 5: policy \"A b\": the window is 0 ms: expected 1 to 3153600000000 milliseconds",
            "line 6: policy \"A b\": the pattern is empty; expected a text, or * for everything",
            "line 7: policy \"A b\": when_full is \"panic\": expected one of deny, admit",
        ],
    );
    refused(
        &format!("{BURST}{BURST}"),
        &["line 5: policy \"burst\": another policy has this name already: expected names that differ"],
    );
    refused(
        &format!("{BURST}[[policy.override]]\nkey = \"\"\nlimit = 1\nwindow = \"1s\"\n"),
        &["line 5: policy \"burst\", override: key has 0 bytes: expected 1 to 1024"],
    );
    refused(
        &BURST.replace("burst", "reference"),
        &[
            "line 2: policy \"reference\": the name \"reference\" is taken: /api/v1/configure sets that policy; choose another name",
        ],
    );
    for class in ["gateway.players.create", "gateway.*.reed", "gateway.player", "gateway."] {
        refused(
            &format!("{BURST}class = {class:?}\n"),
            &[&format!(
                "line 5: policy \"burst\": the class {class:?} matches no request of the gateway: expected gateway.CALLER.ACTION, with \
                 a caller of anonymous, guest, player, operator, admin, load_test, an action of create, write, read, watch, or * for either"
            )],
        );
    }
    refused(
        &BURST.replace("60s", "99999999999999999999d"),
        &["line 4: policy \"burst\": window: expected a span such as \"60s\", \"500ms\", \"1m\", \"24h\" or \"30d\""],
    );
    refused(
        &BURST.replace("60s", "36501d"),
        &["line 4: policy \"burst\": the window is 3153686400000 ms: expected 1 to 3153600000000 milliseconds"],
    );
    refused(
        &BURST.replace("100", "99999999999999999999"),
        &["line 3: policy \"burst\": limit: expected a whole number of units, at least 1"],
    );
}

#[test]
fn reports_errors_of_every_kind_together() {
    refused(
        "[[policy]]\nwindow = 60\nname = \"A\"\nlimt = 5\nalgorithm = \"gcraa\"\nlimit = 0\n\
         [[policy.override]]\nlimit = \"many\"\nkey = \"\"\nwindow = \"0s\"\n[[policy]]\nname = 7\n[burst]\n",
        &[
            "line 2: policy \"A\": window: expected a span such as \"60s\", \"500ms\", \"1m\", \"24h\" or \"30d\"",
            "line 3: policy \"A\": the name is \"A\": expected 1 to 64 characters of a-z, 0-9, _ and -",
            "line 4: policy \"A\": no such key: \"limt\"; expected name, class, key, algorithm, limit, window, shadow, when_full, override",
            "line 5: policy \"A\": algorithm is \"gcraa\": expected one of gcra, log, counter",
            "line 6: policy \"A\": the limit is 0: expected at least 1 unit a window",
            "line 7: policy \"A\", override: key has 0 bytes: expected 1 to 1024",
            "line 8: policy \"A\", override: limit: expected a whole number of units, at least 1",
            "line 10: policy \"A\", override: the window is 0 ms: expected 1 to 3153600000000 milliseconds",
            "line 11: policy: limit is missing",
            "line 11: policy: window is missing",
            "line 12: policy: name: expected text in quotes",
            "line 13: \"burst\": no such key: expected [[policy]]",
        ],
    );
}

#[test]
fn an_exact_log_must_fit_into_the_room_of_all() {
    let log = |limit: u64, rest: &str| {
        format!("[[policy]]\nname = \"a\"\nlimit = {limit}\nwindow = \"1s\"\nalgorithm = \"log\"\n{rest}")
    };
    let own = |limit: u64| log(1, &format!("[[policy.override]]\nkey = \"k\"\nlimit = {limit}\nwindow = \"1s\"\n"));
    for good in
        [log(5_000, ""), own(5_000), log(5_001, "").replace("log", "gcra"), own(5_001).replace("log", "counter")]
    {
        assert!(parse_policies(&good, TIMESTAMPS_MAX).is_ok(), "{good}");
    }
    let why = "the limit is 5001, and an exact log keeps a time stamp for each unit: expected at most 5000 \
        (limiter.timestamps_max), or another algorithm";
    refused(&log(5_001, ""), &[&format!("line 3: policy \"a\": {why}")]);
    refused(&own(5_001), &[&format!("line 8: policy \"a\", override: {why}")]);
}

/// However the file is refused, it says this, and every mistake stays on its line.
#[track_caller]
fn check_forgery(text: &str, want: &str) {
    let said = parse_policies(text, TIMESTAMPS_MAX).unwrap_err().to_string();
    assert_eq!(said.lines().count(), 2, "{said:?}");
    assert!(said.contains(want), "{said:?}");
    assert!(!said.contains(|char: char| char.is_control() && char != '\n'), "{said:?}");
}

#[test]
fn no_mistake_forges_a_line() {
    let forged = r"2026-01-01 ERROR forged";
    let policy = |extra: &str| format!("{BURST}{extra}");
    check_forgery(&policy(&format!("\"x\\n{forged}\" = 1\n")), r"no such key");
    check_forgery(&format!("\"x\\r\\n{forged}\\u001b[2J\" = 1\n"), "no such key");
    check_forgery(&policy(&format!("algorithm = \"x\\n{forged}\"\n")), "algorithm is");
    check_forgery(&BURST.replace("burst", &format!("x\\n{forged}")), "the name is");
    let own = format!("[[policy.override]]\nkey = \"x\\n{forged}\"\nlimit = 1\nwindow = \"1s\"\n");
    check_forgery(&policy(&own.repeat(2)), "has an override already");
    check_forgery(&format!("x = \"\"\"\n{forged}\r{forged}\n"), "not TOML");
    check_forgery(&format!("a\rb\x1b = {forged}"), "not TOML");
    check_forgery(&format!("[a]\n\"x\\n{forged}\" = 1\n\"x\\n{forged}\" = 2\n"), "not TOML");
}

#[test]
fn text_that_is_not_toml_is_refused_with_its_line() {
    let said = parse_policies("[[policy]]\nname = \n", TIMESTAMPS_MAX).unwrap_err().to_string();
    assert!(said.contains("not TOML") && said.contains("line 2"), "{said}");
}

#[test]
fn reports_a_million_errors_in_a_few_lines() {
    let mut text = String::new();
    for number in 0..100_000 {
        writeln!(text, "[[policy]]\nname = \"p{number}\"").unwrap();
    }
    let said = parse_policies(&text, TIMESTAMPS_MAX).unwrap_err().to_string();
    assert!(said.starts_with("200001 errors:") && said.lines().count() == 22, "{said}");
}

fn quota_of_key(limit: u64) -> LimitQuota {
    LimitQuota { limit, window_ms: 1_000 }
}

fn stored(policies: &[(&str, &str)], overrides: &[(&str, &str, u64)]) -> StoredRules {
    let policy =
        |(name, definition): &(&str, &str)| LimitPolicy { name: (*name).into(), definition: (*definition).into() };
    let own = |(policy, key, limit): &(&str, &str, u64)| LimitOverride {
        policy: (*policy).into(),
        key: key.as_bytes().to_vec(),
        limit: *limit,
        window_ms: 1_000,
    };
    StoredRules::from_rows(LimitRules {
        version: 1,
        policies: policies.iter().map(policy).collect(),
        overrides: overrides.iter().map(own).collect(),
    })
}

/// The book's policies as `name limit` and its quotas of keys as `policy key limit`.
#[track_caller]
fn check_book(file: &str, stored: StoredRules, policies: &[&str], overrides: &[&str]) -> LimitRuleSet {
    let book = LimitRuleSet { file: parse_policies(file, TIMESTAMPS_MAX).unwrap(), stored };
    let have = book.policies().into_iter().map(|policy| format!("{} {}", policy.name, policy.quota.limit()));
    assert_eq!(have.collect::<Vec<_>>(), policies);
    let have = book.overrides();
    let have =
        have.iter().map(|((policy, key), own)| format!("{policy} {} {}", String::from_utf8_lossy(key), own.limit()));
    assert_eq!(have.collect::<Vec<_>>(), overrides);
    book
}

#[test]
fn what_the_api_set_wins_over_the_file_until_it_is_forgotten() {
    let file = format!("{BURST}[[policy.override]]\nkey = \"k\"\nlimit = 7\nwindow = \"1s\"\n");
    check_book(&file, StoredRules::default(), &["burst 100"], &["burst k 7"]);
    let definition = r#"{"limit": 9, "window_ms": 1000}"#;
    let both = stored(&[("burst", definition), ("alone", definition)], &[("burst", "k", 8), ("burst", "l", 1)]);
    let book = check_book(&file, both, &["burst 9", "alone 9"], &["burst k 8", "burst l 1"]);
    assert_eq!(
        (book.source("burst"), book.source("alone"), book.source("none")),
        (Some(RuleSource::Api), Some(RuleSource::Api), None)
    );
    let mut book = book;
    book.apply(&Change::DeleteOverride(("burst".into(), b"k".as_slice().into())));
    assert_eq!(book.override_with_source(&("burst".into(), b"k".as_slice().into())).unwrap().0, quota_of_key(7));
    book.apply(&Change::DeletePolicy("burst".into()));
    assert_eq!(book.policies().iter().map(|policy| policy.quota.limit()).collect::<Vec<_>>(), [100, 9]);
    assert!(book.stored.overrides.is_empty(), "with a policy go the quotas that were set under it");
}

#[test]
fn quotas_under_a_policy_that_is_gone_wait_for_its_return() {
    let own = stored(&[], &[("burst", "k", 8)]);
    check_book("", own.clone(), &[], &[]);
    check_book(BURST, own, &["burst 100"], &["burst k 8"]);
}

#[test]
fn a_stored_policy_that_cannot_be_read_harms_no_other() {
    let good = r#"{"limit": 9, "window_ms": 1000}"#;
    for bad in ["", "{}", r#"{"limit": 0, "window_ms": 1}"#, r#"{"limit": 1, "window_ms": 1, "algorithm": "new"}"#] {
        check_book("", stored(&[("bad", bad), ("good", good)], &[]), &["good 9"], &[]);
    }
}

#[test]
fn the_reference_policy_is_the_reference_apis_alone() {
    let stored = stored(&[("reference", r#"{"limit": 5, "window_ms": 2000}"#)], &[("reference", "\"ann\"", 3)]);
    assert_eq!(stored.reference, Some(LimitQuota { limit: 5, window_ms: 2_000 }));
    check_book("", stored, &[], &["reference \"ann\" 3"]);
}

#[test]
fn built_in_policies_are_about_people_and_strangers_at_the_gateway() {
    let rules = FileRules::built_in();
    assert_eq!(rules.policies.len(), rules.built_in.len());
    for policy in &rules.policies {
        let who = policy.class.as_str().split('.').collect::<Vec<_>>();
        assert!(matches!(who[..], ["gateway", "anonymous" | "guest" | "player", _]), "{who:?}");
        assert!(!policy.is_shadow, "{}", policy.name);
    }
}

/// The sources of policies after this file was read beside the built-in ones.
#[track_caller]
fn check_sources(file: &str, want: &[(&str, Option<RuleSource>)]) -> LimitRuleSet {
    let file = parse_policies(file, usize::MAX).unwrap().beside_built_in();
    let rules = LimitRuleSet { file, stored: StoredRules::default() };
    for (name, source) in want {
        assert_eq!(rules.source(name), *source, "{name}");
    }
    rules
}

#[test]
fn a_policy_of_the_file_takes_the_place_of_a_built_in_one_of_its_name() {
    let own = "[[policy]]\nname = \"guest\"\nlimit = 7\nwindow = \"1s\"\n[[policy]]\nname = \"mine\"\nlimit = 1\nwindow = \"1s\"\n\
               [[policy.override]]\nkey = \"k\"\nlimit = 2\nwindow = \"1s\"\n";
    let built_in = Some(RuleSource::BuiltIn);
    let count = check_sources("", &[("guest", built_in), ("mine", None)]).policies().len();
    let file = Some(RuleSource::File);
    let mut rules = check_sources(own, &[("guest", file), ("mine", file), ("player-read", built_in)]);
    assert_eq!(rules.policies().len(), count + 1);
    assert_eq!(rules.policy("guest").unwrap().quota.limit(), 7);
    assert_eq!(rules.overrides().len(), 1);
    let set = Policy { quota: rules.policy("guest").unwrap().quota, ..rules.policy("player-read").unwrap().clone() };
    rules.apply(&Change::PutPolicy(set));
    assert_eq!(rules.policy("player-read").unwrap().quota.limit(), 7);
    assert_eq!(rules.source("player-read"), Some(RuleSource::Api));
    rules.apply(&Change::DeletePolicy("player-read".into()));
    assert_eq!(rules.source("player-read"), built_in, "what was set is deleted, what is built in holds again");
}
