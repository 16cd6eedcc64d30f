//! The limiter of a process on a clock that the test moves: rules, headers, shadow, figures, memory.

use super::headers::RateLimitHeaders;
use super::rules::{FileRules, StoredRules, parse_policies};
use super::*;
use limiter::Outcome;
use std::sync::Arc;

/// Stamps of all exact logs together.
const TIMESTAMPS_MAX: usize = 1_000;

struct TestLimiter {
    rate_limiter: RateLimiter,
    clock: LimitClock,
    metrics: Arc<Metrics>,
}

fn test_limiter(file: &str, configure: impl FnOnce(&mut RateLimitConfig)) -> TestLimiter {
    let capacity = Capacity { keys_max: 2_000_000, timestamps_max: 50_000_000 };
    let mut config = RateLimitConfig { capacity, is_shadow: false, new_seed: || Seed::new([7; 32]) };
    configure(&mut config);
    let (metrics, clock) = (Arc::new(Metrics::default()), LimitClock::manual());
    let limits = RateLimiter::with_clock(config, metrics.clone(), clock.clone());
    limits
        .replace_rules(LimitRuleSet {
            file: parse_policies(file, limits.timestamps_max()).unwrap(),
            stored: StoredRules::default(),
        })
        .unwrap();
    TestLimiter { rate_limiter: limits, clock, metrics }
}

impl TestLimiter {
    fn hit(&self, key: &str, cost: u64) -> (Outcome, RateLimitHeaders) {
        let ruling = self.rate_limiter.check(&[Hit { class: "api", key: key.as_bytes(), cost }]);
        (ruling.outcome, RateLimitHeaders::of(&ruling, self.rate_limiter.now()))
    }

    fn sample(&self, name: &str) -> Option<String> {
        let mut page = self.metrics.page();
        self.rate_limiter.write_metrics(&mut page);
        let page = page.into_text();
        page.lines().find_map(|line| line.strip_prefix(name)).map(|value| value.trim().to_owned())
    }
}

fn policy(name: &str, limit: u64, window: &str, more: &str) -> String {
    format!("[[policy]]\nname = \"{name}\"\nlimit = {limit}\nwindow = \"{window}\"\n{more}\n")
}

const LOG: &str = "algorithm = \"log\"";

/// After these costs, the headers of the last must read so: policy, limit, and seconds to wait.
#[track_caller]
fn check(file: &str, costs: &[u64], policy: &str, limit: &str, retry_after_s: Option<u64>) {
    let limiter = test_limiter(file, |_| {});
    let outcomes: Vec<_> = costs.iter().map(|cost| limiter.hit("k", *cost).1).collect();
    let last = outcomes.last().unwrap();
    assert_eq!((last.policy.as_str(), last.limit.as_str(), last.retry_after_s), (policy, limit, retry_after_s));
}

#[test]
fn headers_say_what_is_left_and_when() {
    let burst = policy("burst", 3, "60s", LOG);
    check("", &[1], "", "", None);
    check(&burst, &[1], r#""burst";q=3;w=60"#, r#""burst";r=2;t=60"#, None);
    check(&burst, &[1, 1, 1], r#""burst";q=3;w=60"#, r#""burst";r=0;t=60"#, None);
    check(&burst, &[1, 1, 1, 1], r#""burst";q=3;w=60"#, r#""burst";r=0;t=60"#, Some(60));
    check(&burst, &[4], r#""burst";q=3;w=60"#, "", None);
    // A part of a second is a second: a client that comes back then may pass.
    check(&policy("p", 1, "1500ms", LOG), &[1, 1], r#""p";q=1;w=2"#, r#""p";r=0;t=2"#, Some(2));
    let two = policy("daily", 100, "24h", LOG) + &burst;
    check(&two, &[1], r#""burst";q=3;w=60, "daily";q=100;w=86400"#, r#""burst";r=2;t=60, "daily";r=99;t=86400"#, None);
    // Of a refusal only who refused: what else there is may come back later than the caller may.
    check(&two, &[3, 1], r#""burst";q=3;w=60, "daily";q=100;w=86400"#, r#""burst";r=0;t=60"#, Some(60));
    check(
        &(policy("seen", 1, "1s", "shadow = true") + &burst),
        &[3],
        r#""burst";q=3;w=60"#,
        r#""burst";r=0;t=60"#,
        None,
    );
}

#[test]
fn a_head_stays_short_however_many_policies_there_are() {
    let file: String = (1..=100).map(|number| policy(&format!("p{number}"), number, "1s", LOG)).collect();
    let limiter = test_limiter(&file, |_| {});
    let headers = limiter.hit("k", 1).1;
    assert_eq!((headers.policy.matches(";q=").count(), headers.limit.matches(";r=").count()), (8, 8));
    assert!(headers.limit.starts_with(r#""p1";r=0"#), "the tightest is named: {headers:?}");
}

#[test]
fn a_window_slides_at_the_millisecond() {
    let limiter = test_limiter(&policy("burst", 2, "60s", LOG), |_| {});
    let may = || limiter.hit("k", 1).0 == Outcome::Allowed;
    assert!(may());
    limiter.clock.advance(Duration::from_millis(10));
    assert!(may() && !may());
    limiter.clock.advance(Duration::from_millis(59_989));
    assert!(!may(), "a millisecond before the first unit is a window old");
    limiter.clock.advance(Duration::from_millis(1));
    assert!(may() && !may(), "the first unit is back, the second is not");
    limiter.clock.advance(Duration::from_millis(9));
    assert!(!may());
    limiter.clock.advance(Duration::from_millis(1));
    assert!(may() && !may());
}

#[test]
fn decisions_are_counted_by_what_each_policy_said() {
    let file = policy("burst", 1, "60s", "") + &policy("seen", 1, "60s", "shadow = true");
    let limiter = test_limiter(&file, |_| {});
    assert_eq!(limiter.hit("k", 1).0, Outcome::Allowed);
    assert!(matches!(limiter.hit("k", 1).0, Outcome::NotUntil(_)));
    assert_eq!(limiter.hit("k", 2).0, Outcome::Never);
    let of = |policy: &str, outcome: &str| {
        let labels = format!(r#"{{policy="{policy}",class="api",outcome="{outcome}"}}"#);
        limiter.sample(&format!("gauntlet_limiter_decisions_total{labels}"))
    };
    assert_eq!(of("burst", "allowed").as_deref(), Some("1"));
    assert_eq!(of("burst", "denied").as_deref(), Some("1"));
    assert_eq!(of("burst", "cost_exceeds_limit").as_deref(), Some("1"));
    assert_eq!((of("seen", "allowed").as_deref(), of("seen", "denied")), (Some("1"), None));
    assert_eq!(of("seen", "shadow").as_deref(), Some("2"));
    assert_eq!(limiter.sample("gauntlet_limiter_decision_seconds_count").as_deref(), Some("3"));
    assert_eq!(limiter.sample(r#"gauntlet_limiter_keys{policy="burst"}"#).as_deref(), Some("1"));
}

#[test]
fn a_limiter_in_shadow_refuses_no_hit_and_says_what_it_would_have() {
    let limiter = test_limiter(&policy("burst", 1, "60s", ""), |config| config.is_shadow = true);
    for _ in 0..3 {
        assert_eq!(limiter.hit("k", 1).0, Outcome::Allowed);
    }
    let labels = r#"{policy="burst",class="api",outcome="shadow"}"#;
    assert_eq!(limiter.sample(&format!("gauntlet_limiter_decisions_total{labels}")).as_deref(), Some("2"));
    for _ in 0..101 {
        assert!(matches!(limiter.rate_limiter.check_reference(b"ann"), ReferenceDecision::Allowed { .. }));
    }
    let labels = r#"{policy="reference",class="api.v1",outcome="shadow"}"#;
    assert_eq!(limiter.sample(&format!("gauntlet_limiter_decisions_total{labels}")).as_deref(), Some("1"));
}

#[test]
fn an_edit_keeps_what_was_used_and_a_refused_book_changes_nothing() {
    let limiter = test_limiter(&policy("burst", 2, "60s", ""), |_| {});
    let adopt =
        |file: FileRules| limiter.rate_limiter.replace_rules(LimitRuleSet { file, stored: StoredRules::default() });
    assert!(matches!((limiter.hit("k", 2).0, limiter.hit("k", 1).0), (Outcome::Allowed, Outcome::NotUntil(_))));
    adopt(parse_policies(&policy("burst", 3, "60s", ""), TIMESTAMPS_MAX).unwrap()).unwrap();
    assert!(matches!((limiter.hit("k", 1).0, limiter.hit("k", 1).0), (Outcome::Allowed, Outcome::NotUntil(_))));
    let mut twice = parse_policies(&policy("burst", 9, "60s", ""), TIMESTAMPS_MAX).unwrap();
    twice.policies.extend(twice.policies.clone());
    adopt(twice).unwrap_err();
    assert!(matches!(limiter.hit("k", 1).0, Outcome::NotUntil(_)));
    adopt(FileRules::default()).unwrap();
    assert_eq!(limiter.hit("k", 1_000).0, Outcome::Allowed, "without policies nothing is limited");
}

#[test]
fn a_quota_of_a_keys_own_comes_and_goes() {
    let own = "[[policy.override]]\nkey = \"vip\"\nlimit = 5\nwindow = \"60s\"";
    let limiter = test_limiter(&policy("burst", 1, "60s", own), |_| {});
    assert_eq!((limiter.hit("vip", 5).0, limiter.hit("other", 5).0), (Outcome::Allowed, Outcome::Never));
    let place: rules::OverrideKey = ("burst".into(), b"other".as_slice().into());
    limiter.rate_limiter.apply_change(&Change::PutOverride(place.clone(), LimitQuota { limit: 7, window_ms: 60_000 }));
    assert_eq!(limiter.hit("other", 7).0, Outcome::Allowed);
    limiter.rate_limiter.apply_change(&Change::DeleteOverride(place));
    assert_eq!(limiter.hit("other", 7).0, Outcome::Never);
    limiter
        .rate_limiter
        .replace_rules(LimitRuleSet {
            file: parse_policies(&policy("burst", 1, "60s", ""), TIMESTAMPS_MAX).unwrap(),
            stored: StoredRules::default(),
        })
        .unwrap();
    assert_eq!(limiter.hit("vip", 5).0, Outcome::Never, "what is in the file no more is in force no more");
}

#[test]
fn memory_comes_back_within_a_round_without_traffic() {
    let limiter = test_limiter(&policy("burst", 5, "1s", ""), |config| config.capacity.keys_max = 100_000);
    for number in 0..50_000 {
        limiter.hit(&format!("key-{number}"), 1);
        limiter.rate_limiter.check_reference(format!("key-{number}").as_bytes());
    }
    let keys = |policy: &str| limiter.sample(&format!(r#"gauntlet_limiter_keys{{policy="{policy}"}}"#)).unwrap();
    assert_eq!((keys("burst"), keys("reference")), ("50000".to_owned(), "50000".to_owned()));
    limiter.clock.advance(Duration::from_secs(61));
    limiter.rate_limiter.sweep_all();
    assert_eq!((keys("burst"), keys("reference")), ("0".to_owned(), "0".to_owned()));
    assert_eq!(limiter.sample(r#"gauntlet_limiter_timestamps{policy="reference"}"#).as_deref(), Some("0"));
}

#[test]
fn a_full_limiter_says_so() {
    let limiter = test_limiter(&policy("burst", 5, "60s", LOG), |config| config.capacity.keys_max = 1_024);
    let outcomes: Vec<_> = (0..1_025).map(|number| limiter.hit(&format!("key-{number}"), 1).0).collect();
    assert_eq!((outcomes[1_023], outcomes[1_024]), (Outcome::Allowed, Outcome::Full));
    assert_eq!(limiter.hit("key-new", 1).1.retry_after_s, Some(10));
    // The reference API's clients have room of their own.
    for number in 0..1_024_u32 {
        assert_eq!(
            limiter.rate_limiter.check_reference(&number.to_le_bytes()),
            ReferenceDecision::Allowed { remaining: 99 }
        );
    }
    assert_eq!(limiter.rate_limiter.check_reference(b"ann"), ReferenceDecision::Denied { retry_after_s: 10 });
}

/// Whether the gateway lets one more through, for this key.
fn is_allowed_by_gateway(limiter: &TestLimiter, key: &str) -> bool {
    let hit = Hit { class: "gateway.player.read", key: key.as_bytes(), cost: 1 };
    limiter.rate_limiter.check(&[hit]).outcome == Outcome::Allowed
}

#[test]
fn no_caller_outside_uses_up_what_the_gateway_counts() {
    let file = policy("door", 2, "60s", "class = \"gateway.*\"") + &policy("all", 1, "60s", "");
    let limiter = test_limiter(&file, |config| config.capacity.keys_max = 1_024);
    for key in 0..2_000 {
        let _ = limiter.hit(&format!("token:{key}"), 1);
    }
    assert_eq!(limiter.hit("new", 1).0, Outcome::Full, "the room outside is used up");
    assert!(
        is_allowed_by_gateway(&limiter, "token:1") && is_allowed_by_gateway(&limiter, "token:1"),
        "a policy for all is not the gateway's"
    );
    assert!(!is_allowed_by_gateway(&limiter, "token:1"));
    assert_eq!(limiter.rate_limiter.keys_by_policy()["door"], 1);
}

#[test]
fn a_limiter_in_shadow_tells_no_client_to_slow_down() {
    let limiter = test_limiter(&policy("burst", 1, "60s", ""), |config| config.is_shadow = true);
    for _ in 0..2 {
        assert_eq!(limiter.hit("k", 1), (Outcome::Allowed, RateLimitHeaders::default()));
    }
    let shadowed = r#"gauntlet_limiter_decisions_total{policy="burst",class="api",outcome="shadow"}"#;
    assert_eq!(limiter.sample(shadowed).as_deref(), Some("1"));
}
