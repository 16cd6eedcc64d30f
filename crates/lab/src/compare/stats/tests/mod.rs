//! The promises of a comparison, on synthetic runs: it reports no difference where there is none, finds a planted one,
//! and says when there is too little data.

pub(crate) mod synthetic;

use super::{ComparisonScale, Decision, Family, TestResult, UndecidedReason};
use synthetic::{SERVICE, SyntheticRun, SyntheticService, TestRng, add_figures, resampling, simulate_run};

impl Decision {
    /// Whether a difference was found.
    pub(crate) fn is_different(self) -> bool {
        matches!(self, Self::Higher | Self::Lower)
    }
}

/// Fewer than in production: these tests check the procedure many times over, unoptimised.
const RESAMPLES: usize = 240;

fn compare(before: &SyntheticRun, after: &SyntheticRun) -> Vec<TestResult> {
    let mut family = Family::with_resamples(RESAMPLES);
    add_figures(&mut family, before, after);
    family.decide()
}

/// How many of the comparisons of two runs of the same service report any difference.
fn false_alarms(seeds: std::ops::Range<u64>, first: &SyntheticService, second: &SyntheticService) -> usize {
    let alarm = |seed: &u64| {
        let answers = compare(&simulate_run(2 * seed, first), &simulate_run(2 * seed + 1, second));
        answers.iter().any(|answer| answer.decision.is_different())
    };
    seeds.filter(alarm).count()
}

#[test]
fn two_hundred_comparisons_without_a_difference_call_one_in_at_most_five_percent() {
    // Sides of unequal length; short runs; slow drift; many stalls; a plan that both sides follow.
    let (longer, short) = (SyntheticService { seconds: 150, ..SERVICE }, SyntheticService { seconds: 60, ..SERVICE });
    let drifting = SyntheticService { coefficient: 0.9, drift: 0.08, ..SERVICE };
    let (stalling, ramp) = (SyntheticService { stalls: 0.05, ..SERVICE }, SyntheticService { ramp: true, ..SERVICE });
    let found = [
        false_alarms(0..40, &SERVICE, &longer),
        false_alarms(40..80, &short, &short),
        false_alarms(80..120, &drifting, &drifting),
        false_alarms(120..160, &stalling, &stalling),
        false_alarms(160..200, &ramp, &ramp),
    ];
    assert!(found.iter().sum::<usize>() <= 10, "{found:?} of 40 each");
}

/// How often a slowdown by five percent is found in any of the five latencies, out of fifty.
#[track_caller]
fn check_found(service: &SyntheticService, least: usize) {
    let slower = SyntheticService { latency_us: service.latency_us * 1.05, ..*service };
    let is_found = |seed: &u64| {
        let answers = compare(&simulate_run(2 * seed, service), &simulate_run(2 * seed + 1, &slower));
        answers[..5].iter().any(|answer| answer.decision == Decision::Higher)
    };
    let found = (1000..1050u64).filter(is_found).count();
    assert!(found >= least, "{found} of 50");
}

#[test]
fn a_slowdown_of_five_percent_is_found_in_a_minute_of_a_steady_service() {
    let steady =
        SyntheticService { seconds: 60, drift: 0.01, coefficient: 0.5, stalls: 0.001, answers_per_s: 300.0, ..SERVICE };
    check_found(&steady, 45);
}

#[test]
fn a_slowdown_of_five_percent_is_found_in_two_minutes_of_a_noisier_one() {
    let noisier = SyntheticService { drift: 0.02, coefficient: 0.5, stalls: 0.002, answers_per_s: 200.0, ..SERVICE };
    check_found(&noisier, 45);
    check_found(&SyntheticService { ramp: true, seconds: 180, ..noisier }, 45);
}

#[test]
fn a_slowdown_of_five_percent_is_found_in_five_minutes_of_one_that_drifts() {
    check_found(&SyntheticService { seconds: 300, drift: 0.03, stalls: 0.005, answers_per_s: 100.0, ..SERVICE }, 45);
}

#[test]
fn a_run_of_a_few_seconds_is_too_short_to_tell() {
    for seconds in [0, 1, 12, 29] {
        let short = SyntheticService { seconds, ..SERVICE };
        let much_slower = SyntheticService { latency_us: 10.0 * SERVICE.latency_us, ..short };
        let answers = compare(&simulate_run(1, &short), &simulate_run(2, &much_slower));
        assert!(
            answers[..10].iter().all(|answer| answer.decision == Decision::Unknown(UndecidedReason::TooShort)),
            "{answers:?}"
        );
    }
}

#[test]
fn runs_of_one_plan_are_drawn_together() {
    let ramp = SyntheticService { ramp: true, ..SERVICE };
    let paired = |first: &SyntheticService, second: &SyntheticService| {
        resampling(&simulate_run(1, first), &simulate_run(2, second)).unwrap().paired
    };
    assert!(paired(&ramp, &ramp));
    assert!(!paired(&SERVICE, &SERVICE));
    assert!(!paired(&ramp, &SyntheticService { seconds: 200, ..ramp }));
}

#[test]
fn the_same_runs_give_the_same_answers() {
    let runs = || [simulate_run(5, &SERVICE), simulate_run(6, &SyntheticService { seconds: 90, ..SERVICE })];
    let ([a, b], [again_a, again_b]) = (runs(), runs());
    assert_eq!(compare(&a, &b), compare(&again_a, &again_b));
    assert_eq!(compare(&a, &a).iter().filter(|answer| answer.decision.is_different()).count(), 0);
}

#[test]
fn repeats_without_a_difference_call_one_in_at_most_five_percent() {
    let rng = &mut TestRng::new(77);
    let alarm = |_: &u32| {
        let mut family = Family::default();
        for _ in 0..10 {
            let side = |rng: &mut TestRng| -> Vec<f64> { (0..3).map(|_| 20.0 * (0.03 * rng.normal()).exp()).collect() };
            let (before, after) = (side(rng), side(rng));
            family.add_runs(ComparisonScale::Ratio, [&before, &after], 0.001, 0.0);
        }
        family.decide().iter().any(|answer| answer.decision.is_different())
    };
    let found = (0..200u32).filter(alarm).count();
    assert!(found <= 10, "{found} of 200");
}
