//! Calls on a clock that jumps: a jump of tokio's paused clock is a stall, since every timer within fires after it.

use super::*;
use proptest::prelude::*;
use std::sync::Arc;
use tokio::time::{advance, sleep};

const TIMEOUT: Duration = Duration::from_millis(500);
/// How often the scripted probe of the scheduler wakes, in milliseconds.
const PROBE_MS: u64 = 10;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

#[track_caller]
fn check(passed_ms: u64, stalled_ms: u64, want: Judgement) {
    assert_eq!(judge(ms(passed_ms), ms(stalled_ms), TIMEOUT), want, "{passed_ms} ms, {stalled_ms} ms stalled");
}

#[test]
fn lost_time_is_given_again_and_only_a_stall_of_nearly_all_is_the_servers_fault() {
    check(500, 0, Judgement::Late);
    check(500, 100, Judgement::Wait(ms(100)));
    check(600, 100, Judgement::Late);
    check(1_999, 1_499, Judgement::Late);
    check(1_900, 1_450, Judgement::Wait(ms(50)));
    check(1_990, 1_800, Judgement::Wait(ms(10)));
    check(2_000, 1_500, Judgement::Late);
    check(2_000, 1_501, Judgement::Stalled);
    check(9_000, 8_900, Judgement::Stalled);
    // A timeout that any stall would exceed has a second all the same.
    assert_eq!(judge(ms(500), ms(495), ms(10)), Judgement::Wait(ms(5)));
    assert_eq!(judge(ms(1_010), ms(1_005), ms(10)), Judgement::Stalled);
}

/// One call beside a process that runs and stalls for these times in turn, in milliseconds: its outcome, the latency, and what has passed.
/// The answer comes at this time of the wall's clock, or never.
fn play(script: Vec<(u64, u64)>, answer_ms: Option<u64>) -> (Result<(), CallFault>, Duration, Duration) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let metrics = Arc::new(Metrics::default());
        let probe = tokio::spawn({
            let metrics = metrics.clone();
            async move {
                loop {
                    let due = Instant::now() + ms(PROBE_MS);
                    let wake = metrics.stalls.expect_wake(due.into_std());
                    tokio::time::sleep_until(due).await;
                    metrics.record_wake(wake, Instant::now().into_std());
                }
            }
        });
        let stalls = tokio::spawn(async move {
            for (run, stall) in script {
                sleep(ms(run)).await;
                advance(ms(stall)).await;
            }
        });
        let clock = CallClock::start(&metrics, TIMEOUT);
        let answer = async {
            match answer_ms {
                Some(answer_ms) => sleep(ms(answer_ms)).await,
                None => std::future::pending().await,
            }
        };
        let begun = Instant::now();
        let outcome = clock.run(answer).await;
        let figures = (outcome, clock.elapsed(), begun.elapsed());
        probe.abort();
        stalls.abort();
        figures
    })
}

#[test]
fn a_silent_bot_is_late_however_the_server_is_slowed() {
    for (run, stall) in [(1_000, 0), (10, 40), (20, 200), (100, 300), (200, 360), (450, 1_000)] {
        let (outcome, _, passed) = play(vec![(run, stall); 100], None);
        assert_eq!(outcome, Err(CallFault::TooLate), "{run} ms run, {stall} ms stalled");
        assert!(passed >= TIMEOUT && passed <= TIMEOUT * BOT_STALL_TIMEOUTS_MAX + ms(stall), "{passed:?}");
    }
    // Three quarters of the time in pauses of more than 375 ms.
    assert_eq!(play(vec![(50, 450); 100], None).0, Err(CallFault::ServerFault));
    assert_eq!(play(vec![(50, 60_000)], None).0, Err(CallFault::ServerFault));
}

#[test]
fn an_answer_that_lay_in_the_socket_counts_and_its_latency_has_no_stall() {
    let (outcome, latency, _) = play(vec![(30, 3_000)], Some(60));
    assert_eq!(outcome, Ok(()));
    assert!(latency <= ms(60), "{latency:?}");
    let (outcome, latency, _) = play(vec![(450, 400)], Some(700));
    assert_eq!(outcome, Ok(()), "the bot was called late, and has its time");
    assert!(latency <= TIMEOUT, "{latency:?}");
}

fn scripts() -> impl Strategy<Value = Vec<(u64, u64)>> {
    prop::collection::vec((1_u64..400, 0_u64..1_200), 0..20)
}

proptest! {
    /// Whatever stalls: an answer within the timeout by the wall's clock counts, and none takes longer than it took.
    #[test]
    fn an_answer_in_time_is_never_lost(script in scripts(), answer_ms in 0_u64..499) {
        let (outcome, latency, passed) = play(script, Some(answer_ms));
        prop_assert_eq!(outcome, Ok(()));
        prop_assert!(latency <= TIMEOUT && latency <= passed);
    }

    /// A call ends within its bound, apart from the stall that is under way then; without an answer it is no success; and it is the
    /// server's fault only if this process was stalled for three quarters of the bound.
    #[test]
    fn a_silent_bot_is_judged_in_bounded_time(script in scripts()) {
        let longest = script.iter().map(|(_, stall)| *stall).max().unwrap_or(0);
        let stalled: u64 = script.iter().map(|(_, stall)| *stall).sum();
        let (outcome, latency, passed) = play(script, None);
        prop_assert!(passed <= TIMEOUT * BOT_STALL_TIMEOUTS_MAX + ms(longest + 2));
        prop_assert!(latency <= TIMEOUT);
        match outcome {
            Err(CallFault::TooLate) => {}
            Err(CallFault::ServerFault) => {
                prop_assert!(ms(stalled) >= TIMEOUT * (BOT_STALL_TIMEOUTS_MAX - 1), "{stalled} ms");
                prop_assert!(ms(longest) * BOT_STALLS_PER_CALL >= TIMEOUT * (BOT_STALL_TIMEOUTS_MAX - 1));
            }
            other => prop_assert!(false, "{:?}", other),
        }
    }
}
