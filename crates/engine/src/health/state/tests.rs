use super::*;
use proptest::prelude::*;

const START: UnixMs = UnixMs(1_000_000_000);

/// A watched bot after evidence of these letters, a second apart: `+` a probe passed, `-` a probe failed, `m` a silent match, `?` a fault
/// of the server.
fn after(evidence: &str) -> BotHealth {
    let mut health = BotHealth::default();
    health.watch(START, START.plus(Duration::from_secs(24 * 3_600)));
    for (second, letter) in evidence.chars().enumerate() {
        health.apply(record(letter, START.plus(Duration::from_secs(second as u64))), 0);
    }
    health
}

fn record(letter: char, at: UnixMs) -> HealthRecord {
    let (source, fault) = match letter {
        '+' => (EvidenceSource::Sweep, None),
        '-' => (EvidenceSource::Sweep, Some(CallFault::TooLate)),
        'm' => (EvidenceSource::Match, Some(CallFault::SilentInMatch)),
        _ => (EvidenceSource::Sweep, Some(CallFault::ServerFault)),
    };
    HealthRecord { at, source, fault, took_ms: 0 }
}

/// The status, when it began and when the next probe is due, in seconds after the start and after the last evidence.
#[track_caller]
fn check(evidence: &str, status: HealthStatus, since_s: i64, next_in_s: i64) {
    let health = after(evidence);
    let last = START.0 + 1_000 * (evidence.len() as i64 - 1);
    let next_in_ms = health.next_probe_at.map(|next| next.0 - last);
    let since_ms = health.since.0 - START.0;
    assert_eq!((health.status, since_ms, next_in_ms), (status, since_s * 1_000, Some(next_in_s * 1_000)), "{evidence}");
}

#[test]
fn three_failures_pause_and_two_successes_resume() {
    use HealthStatus::{Failing, Healthy, Paused};
    check("+", Healthy, 0, 600);
    check("++", Healthy, 0, 600);
    check("-", Failing, 0, 30);
    check("--", Failing, 0, 60);
    check("-+-+-+", Healthy, 5, 600);
    check("---", Paused, 2, 120);
    check("---+", Paused, 2, 30);
    check("---+-", Paused, 2, 30);
    check("---+-+", Paused, 2, 30);
    check("---++", Healthy, 4, 600);
    check("---++-", Failing, 5, 30);
    check("------", Paused, 2, 960);
    check("----------", Paused, 2, 3_600);
    check("--?-", Paused, 3, 120);
    check("---+?+", Healthy, 5, 600);
    check("+?", Healthy, 0, 30);
    // The next probe of a bot that passed stays where it was, or comes sooner.
    check("+m", Failing, 1, 30);
    check("-mm", Paused, 2, 28);
}

#[test]
fn reasons_follow_the_status() {
    assert_eq!(after("---").reason, Some(CallFault::TooLate));
    assert_eq!(after("---m").reason, Some(CallFault::SilentInMatch));
    assert_eq!(after("---+").reason, Some(CallFault::TooLate));
    assert_eq!(after("---++").reason, None);
    assert_eq!(after("+?").reason, None);
}

#[test]
fn transitions_are_reported_once() {
    let mut health = BotHealth::default();
    let seen: Vec<_> = "----+++".chars().map(|letter| health.apply(record(letter, START), 0)).collect();
    use HealthTransition::{Paused, Resumed, Unchanged};
    assert_eq!(seen, [Unchanged, Unchanged, Paused, Unchanged, Unchanged, Resumed, Unchanged]);
}

#[test]
fn only_bots_that_play_or_are_paused_are_probed() {
    let mut health = BotHealth::default();
    health.apply(record('+', START), 0);
    assert_eq!(health.next_probe_at, None, "a check of a bot that plays nowhere");
    for _ in 0..3 {
        health.apply(record('-', START), 0);
    }
    assert!(health.next_probe_at.is_some(), "a paused bot must be able to come back");
    health.apply(record('-', START.plus(HEALTH_PAUSED_PROBES_FOR)), 0);
    assert_eq!(health.next_probe_at, None, "one that never came back is left alone");
    health.apply(record('+', START.plus(HEALTH_PAUSED_PROBES_FOR)), 0);
    health.apply(record('+', START.plus(HEALTH_PAUSED_PROBES_FOR)), 0);
    assert_eq!(health.status, HealthStatus::Healthy, "until its owner requests checks");
}

proptest! {
    #[test]
    fn laws(evidence in "[-+m?]{0,60}", jitter: u32) {
        let mut health = BotHealth::default();
        health.watch(START, UnixMs::MAX);
        let mut at = START;
        let (mut failed_in_a_row, mut passed_in_a_row) = (0u32, 0u32);
        for letter in evidence.chars() {
            let was_paused = health.is_paused();
            at = at.plus(Duration::from_secs(1));
            health.apply(record(letter, at), jitter);
            match letter {
                '+' => (failed_in_a_row, passed_in_a_row) = (0, passed_in_a_row + 1),
                '?' => {}
                _ => (failed_in_a_row, passed_in_a_row) = (failed_in_a_row + 1, 0),
            }
            let expected = if was_paused { passed_in_a_row < 2 } else { failed_in_a_row >= 3 };
            prop_assert_eq!(health.is_paused(), expected);
            prop_assert_eq!(health.reason.is_some(), matches!(health.status, HealthStatus::Failing | HealthStatus::Paused));
            prop_assert!(health.records.len() <= HEALTH_RECORDS_KEPT);
            prop_assert!(health.since <= at);
            let next = health.next_probe_at.unwrap();
            prop_assert!(next >= at.plus(HEALTH_RETRY_MIN / 2) || letter == 'm', "never at once again");
            prop_assert!(next <= at.plus(HEALTH_RETRY_MAX.max(HEALTH_INTERVAL)));
        }
        prop_assert_eq!(BotHealth::decode_records(&health.encode_records()), Ok(health.records));
    }

    #[test]
    fn a_delay_is_shortened_by_a_fifth_at_most(delay_ms in 0u64..10_000_000, jitter: u32) {
        let delay = Duration::from_millis(delay_ms);
        let got = jittered(delay, jitter);
        prop_assert!(got <= delay && got >= delay - delay / 5);
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let _ = BotHealth::decode_records(&bytes);
    }
}
