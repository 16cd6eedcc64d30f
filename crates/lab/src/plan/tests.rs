//! The plan as rows and properties: due times, load steps, segments, and the distribution of random arrivals.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::limits::ARRIVALS_MAX;
use crate::scenario::{LoadProfile as Load, OpeningSpec, PerClientLimit};

fn phase(arrivals: Load) -> Phase {
    let in_flight_max = arrivals.concurrency().unwrap_or(100);
    let name = "p".to_owned();
    let (after, at, reconnect) = (Duration::ZERO, None, Reconnect::Request);
    Phase {
        name,
        load_profile: arrivals,
        in_flight_max,
        journey_index: 3,
        pause_before: after,
        starts_at: at,
        reconnect,
        opening_journey: None,
        resumes_phase: None,
        leaves_open: false,
    }
}

fn position(seed: u64) -> PhasePosition {
    PhasePosition { phase: 1, first_load_step: 10, start: Duration::from_secs(5), seed }
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

#[test]
fn only_missing_connections_are_opened_in_their_turn() {
    let opening = OpeningSpec { per_s: Some(10.0), inherited: 20, ..OpeningSpec::default() };
    let spec = only_load_spec(
        Load::Single(Schedule::Hold { connections: 50, opening, rate_per_s: None, lasting: ms(1000) }),
        1,
    );
    let due_ms = |number| spec.opening_due(number).map(|due| (due - spec.start).as_millis());
    assert_eq!([0, 19, 20, 21, 49, 50].map(due_ms), [Some(0), Some(0), Some(0), Some(100), Some(2900), None]);
    assert_eq!(spec.schedule.duration(), Some(ms(4000)));
}

fn only_load_spec(load: Load, seed: u64) -> LoadSpec {
    let specs = load_specs(&phase(load), position(seed));
    assert_eq!(specs.len(), 1);
    specs.into_iter().next().unwrap()
}

fn batch(batch: u64, every_ms: u64, times: u64) -> Load {
    Load::Single(Schedule::Bursts { batch, every: ms(every_ms), times })
}

fn rate(rate_per_s: f64, lasting_ms: u64) -> Load {
    Load::Single(Schedule::ConstantRate { rate_per_s, lasting: ms(lasting_ms) })
}

fn ramp(from_per_s: f64, to_per_s: f64, lasting_ms: u64) -> Load {
    Load::Single(Schedule::Ramp { from_per_s, to_per_s, lasting: ms(lasting_ms) })
}

fn poisson(rate_per_s: f64, lasting_ms: u64) -> Load {
    Load::Single(Schedule::Poisson { rate_per_s, lasting: ms(lasting_ms) })
}

fn hold(connections: u64, open_per_s: Option<f64>, rate_per_s: Option<f64>, lasting_ms: u64) -> Load {
    let opening = OpeningSpec { per_s: open_per_s, ..OpeningSpec::default() };
    Load::Single(Schedule::Hold { connections, opening, rate_per_s, lasting: ms(lasting_ms) })
}

impl LoadSpec {
    /// A load for tests of workers: the first load step of all, from the start, with one arrival in flight.
    pub(crate) fn sole(schedule: Schedule) -> Self {
        Self {
            phase_index: 0,
            journey_index: 0,
            load_step: 0,
            start: Duration::ZERO,
            schedule,
            in_flight_max: 1,
            reconnect: Reconnect::Never,
            opening_journey_index: None,
            resumes_phase: None,
            leaves_open: false,
            seed: 1,
        }
    }
}

/// Milliseconds from the start of the phase, and load steps.
#[track_caller]
fn check(load: Load, expected: &[(u64, u32)]) {
    let most = load.max_count();
    let spec = only_load_spec(load, 1);
    let found: Vec<(u64, u32)> = spec
        .arrivals(0, 1)
        .map(|arrival| ((arrival.intended - spec.start).as_millis() as u64, arrival.load_step - spec.load_step))
        .collect();
    assert_eq!(found, expected);
    assert_eq!((arrival_count(&spec), most), (Some(expected.len() as u64), Some(expected.len() as u64)));
}

/// How many arrivals a load has, if that is known in advance.
fn arrival_count(spec: &LoadSpec) -> Option<u64> {
    match spec.schedule {
        Schedule::ClosedLoop { clients, each: PerClientLimit::Requests(requests) } => Some(clients * requests),
        Schedule::Poisson { .. } | Schedule::ClosedLoop { .. } => None,
        ref timed => Some(timed.timed_count()),
    }
}

#[test]
fn due_times_and_load_steps() {
    check(batch(3, 0, 1), &[(0, 0), (0, 0), (0, 0)]);
    check(batch(2, 60_000, 3), &[(0, 0), (0, 0), (60_000, 1), (60_000, 1), (120_000, 2), (120_000, 2)]);
    check(rate(10.0, 500), &[(0, 0), (100, 0), (200, 0), (300, 0), (400, 0)]);
    // The last due time is before the end, even if the rate does not divide the duration.
    check(rate(4.0, 600), &[(0, 0), (250, 0), (500, 0)]);
    check(rate(0.5, 1000), &[(0, 0)]);
    // 0.07 a second for 100 s are seven, although the product of the two doubles is above it.
    assert_eq!(arrival_count(&only_load_spec(rate(0.07, 100_000), 1)), Some(7));
    // Four a second in the mean of two seconds, the more the later, and the other way round.
    check(ramp(0.0, 8.0, 1000), &[(0, 0), (500, 0), (707, 0), (866, 0)]);
    check(ramp(8.0, 0.0, 1000), &[(0, 0), (133, 0), (292, 0), (500, 0)]);
    check(ramp(4.0, 4.0, 1000), &[(0, 0), (250, 0), (500, 0), (750, 0)]);
    // However long they take to open: from then on it is two a second.
    check(hold(4, Some(2.0), Some(2.0), 1500), &[(0, 0), (500, 0), (1000, 0)]);
    check(hold(4, None, Some(2.0), 1000), &[(0, 0), (500, 0)]);
    check(hold(4, Some(2.0), None, 3000), &[]);
}

#[test]
fn loads_of_a_phase() {
    #[track_caller]
    fn legs_are(load: Load, expected: &[(u32, u64, Option<u64>, Option<u64>)]) {
        let specs = load_specs(&phase(load), position(1));
        let row = |spec: &LoadSpec| {
            (
                spec.load_step,
                spec.in_flight_max,
                arrival_count(spec),
                spec.schedule.duration().map(|length| length.as_secs()),
            )
        };
        assert_eq!(specs.iter().map(row).collect::<Vec<_>>(), expected);
        assert!(specs.iter().all(|spec| (spec.phase_index, spec.journey_index, spec.start.as_secs()) == (1, 3, 5)));
        assert!(specs.iter().all(|spec| spec.reconnect == Reconnect::Request));
        let seeds: BTreeSet<u64> = specs.iter().map(|spec| spec.seed).collect();
        assert_eq!(seeds.len(), specs.len(), "each load has its own seed");
    }
    let (each, lasting) = (PerClientLimit::Requests(5), PerClientLimit::Duration(ms(7000)));
    legs_are(batch(2, 60_000, 3), &[(10, 100, Some(6), Some(120))]);
    let waiting = Load::BurstsInTurn { batch: 2, times: 3 };
    legs_are(waiting, &[(10, 100, Some(2), Some(0)), (11, 100, Some(2), Some(0)), (12, 100, Some(2), Some(0))]);
    legs_are(poisson(5.0, 2000), &[(10, 100, None, Some(2))]);
    legs_are(Load::Single(Schedule::ClosedLoop { clients: 4, each }), &[(10, 4, Some(20), None)]);
    legs_are(Load::Single(Schedule::ClosedLoop { clients: 4, each: lasting }), &[(10, 4, None, Some(7))]);
    let ladder = Load::Ladder { levels: vec![10, 25], per_client: each, pause: ms(1) };
    legs_are(ladder, &[(10, 10, Some(50), None), (11, 25, Some(125), None)]);
    legs_are(hold(30, Some(10.0), None, 60_000), &[(10, 30, Some(0), Some(63))]);
    legs_are(Load::Edge(edge(false)), &[]);
}

fn edge(poisson: bool) -> EdgeSearch {
    EdgeSearch {
        from_per_s: 1.0,
        to_per_s: 2.0,
        level_duration: ms(5000),
        hold_duration: ms(1),
        precision: 0.1,
        poisson,
        latency_ms: None,
        error_share: None,
        backlog: true,
    }
}

#[test]
fn load_steps_count_over_the_whole_trial() {
    let ladder = Load::Ladder { levels: vec![1, 2, 3], per_client: PerClientLimit::Requests(1), pause: ms(0) };
    let phases = [batch(1, 1, 4), rate(1.0, 1000), ladder, Load::Edge(edge(false)), rate(1.0, 1000)].map(phase);
    let load_steps: Vec<u32> =
        (0..5).map(|at| PhasePosition::for_phase(&phases, at, Duration::ZERO, 1).first_load_step).collect();
    assert_eq!(load_steps, [0, 4, 5, 8, 72]);
}

#[test]
fn load_steps_have_labels() {
    #[track_caller]
    fn named(load: Load, expected: &[&str]) {
        let phase = phase(load);
        let specs = match &phase.load_profile {
            Load::Edge(edge) => vec![search_level(&phase, edge, position(1), 4, 1250.0, ms(5000))],
            _ => load_specs(&phase, position(1)),
        };
        let load_steps = |spec: &LoadSpec| {
            let last = spec.arrivals(0, 1).last().map_or(spec.load_step, |arrival| arrival.load_step);
            (spec.load_step..=last).map(|load_step| load_step_label(&phase, 10, spec, load_step)).collect::<Vec<_>>()
        };
        assert_eq!(specs.iter().flat_map(load_steps).collect::<Vec<_>>(), expected);
    }
    named(batch(5, 0, 1), &["p"]);
    named(batch(5, 10, 3), &["burst 1", "burst 2", "burst 3"]);
    named(Load::BurstsInTurn { batch: 5, times: 2 }, &["burst 1", "burst 2"]);
    named(
        Load::Ladder { levels: vec![1, 1500], per_client: PerClientLimit::Requests(1), pause: ms(0) },
        &["1 client", "1,500 clients"],
    );
    named(Load::Single(Schedule::ClosedLoop { clients: 9, each: PerClientLimit::Requests(1) }), &["p"]);
    named(Load::Edge(edge(true)), &["1,250/s"]);
    named(rate(10.0, 100), &["p"]);
}

#[test]
fn a_level_of_a_search_is_a_load_like_any_other() {
    let phase = phase(Load::Edge(edge(false)));
    let at = |number, poisson| search_level(&phase, &edge(poisson), position(1), number, 20.0, ms(500));
    assert_eq!(at(4, false).schedule, Schedule::ConstantRate { rate_per_s: 20.0, lasting: ms(500) });
    assert_eq!(at(4, true).schedule, Schedule::Poisson { rate_per_s: 20.0, lasting: ms(500) });
    assert_eq!((at(4, false).load_step, arrival_count(&at(4, false))), (14, Some(10)));
    assert_ne!(at(4, false).seed, at(5, false).seed);
}

#[test]
fn connections_are_opened_one_after_the_other() {
    let spec = only_load_spec(hold(3, Some(10.0), None, 1000), 1);
    let openings: Vec<Option<Duration>> = (0..4).map(|number| spec.opening_due(number)).collect();
    assert_eq!(openings, [Some(ms(5000)), Some(ms(5100)), Some(ms(5200)), None]);
    assert_eq!(only_load_spec(hold(3, None, None, 1000), 1).opening_due(2), Some(ms(5000)));
    assert_eq!(only_load_spec(rate(1.0, 1000), 1).opening_due(0), None);
}

#[test]
fn closed_loops_have_no_due_times() {
    let spec = only_load_spec(Load::Single(Schedule::ClosedLoop { clients: 4, each: PerClientLimit::Requests(5) }), 1);
    assert_eq!(spec.arrivals(0, 1).count(), 0);
    assert_eq!(spec.arrival(7, ms(9)), Arrival { intended: ms(9), load_step: 10, index: 7, seed: mix(spec.seed, 7) });
}

#[test]
fn requests_over_few_connections_stay_with_the_workers_that_hold_them() {
    let spec = only_load_spec(hold(2, None, Some(10.0), 1000), 1);
    let counts: Vec<usize> = (0..4).map(|worker| spec.arrivals(worker, 4).count()).collect();
    assert_eq!(counts, [5, 5, 0, 0]);
}

/// A hundred thousand gaps, in twenty bins that are alike for an exponential gap: Pearson's statistic for 19 degrees of
/// freedom exceeds 43.8 once in a thousand.
#[test]
fn independent_arrivals_have_exponential_gaps() {
    let arrivals: Vec<Arrival> = only_load_spec(poisson(1000.0, 100_000), 7).arrivals(0, 1).collect();
    let mut bins = [0.0_f64; 20];
    for pair in arrivals.windows(2) {
        let gap_s = (pair[1].intended - pair[0].intended).as_secs_f64();
        bins[((1.0 - (-gap_s * 1000.0).exp()) * 20.0) as usize] += 1.0;
    }
    let expected = (arrivals.len() - 1) as f64 / 20.0;
    let misfit: f64 = bins.iter().map(|found| (found - expected).powi(2) / expected).sum();
    assert!(misfit < 43.8, "{misfit}");
    // Five standard deviations of a count of 100,000.
    assert!((arrivals.len() as f64 - 100_000.0).abs() < 5.0 * 316.3, "{}", arrivals.len());
}

fn any_load() -> impl Strategy<Value = Load> {
    prop_oneof![
        (1_u64..50, 0_u64..100, 1_u64..5).prop_map(|(size, every, times)| batch(size, every, times)),
        (0.01_f64..5000.0, 1_u64..500).prop_map(|(per_s, ms)| rate(per_s, ms)),
        (0.0_f64..5000.0, 0.01_f64..5000.0, 1_u64..500).prop_map(|(from, to, ms)| ramp(from, to, ms)),
        (0.01_f64..5000.0, 0.0_f64..5000.0, 1_u64..500).prop_map(|(from, to, ms)| ramp(from, to, ms)),
        (0.01_f64..5000.0, 1_u64..500).prop_map(|(per_s, ms)| poisson(per_s, ms)),
        (1_u64..20, prop::option::of(100.0_f64..1000.0), 0.01_f64..5000.0, 201_u64..500)
            .prop_map(|(connections, open, per_s, ms)| hold(connections, open, Some(per_s), ms)),
    ]
}

proptest! {
    #[test]
    fn the_segments_of_all_workers_are_the_whole(load in any_load(), seed: u64, of in 1_u32..9) {
        let spec = only_load_spec(load, seed);
        let whole: Vec<Arrival> = spec.arrivals(0, 1).collect();
        let mut union = Vec::new();
        for worker in 0..of {
            let segment = spec.arrivals(worker, of);
            let (least, most) = segment.size_hint();
            let segment: Vec<Arrival> = segment.collect();
            prop_assert!(least <= segment.len() && most.is_none_or(|most| segment.len() <= most));
            prop_assert!(segment.is_sorted_by_key(|arrival| arrival.intended));
            union.extend(segment);
        }
        union.sort_by_key(|arrival| arrival.index);
        prop_assert_eq!(&union, &whole);
        prop_assert!(whole.iter().enumerate().all(|(at, arrival)| arrival.index == at as u64));
    }

    #[test]
    fn time_never_runs_back_and_ends_before_the_end(load in any_load(), seed: u64) {
        let spec = only_load_spec(load.clone(), seed);
        let all: Vec<Arrival> = spec.arrivals(0, 1).collect();
        prop_assert!(all.is_sorted_by_key(|arrival| arrival.intended));
        let end = spec.start + spec.schedule.duration().unwrap();
        match load {
            Load::Single(Schedule::Bursts { .. }) => prop_assert_eq!(all.last().unwrap().intended, end),
            _ => prop_assert!(all.iter().all(|arrival| arrival.intended >= spec.start && arrival.intended < end)),
        }
        prop_assert!(arrival_count(&spec).is_none_or(|count| count == all.len() as u64));
        prop_assert!(load.max_count().is_some_and(|most| most >= all.len() as u64));
        prop_assert!(load.min_duration() == spec.schedule.duration().unwrap());
    }

    #[test]
    fn a_ramp_has_the_integral_of_its_rate(from in 0.0_f64..100_000.0, to in 0.0_f64..100_000.0, s in 1_u64..3600) {
        prop_assume!(from + to > 1.0);
        let spec = only_load_spec(ramp(from, to, s * 1000), 1);
        let count = arrival_count(&spec).unwrap();
        for step in 0..50 {
            let index = count * step / 50;
            let t = due_times::due_offset(&spec.schedule, index).as_secs_f64();
            let reached = from * t + (to - from) * t * t / (2.0 * s as f64);
            // A nanosecond at the highest rate, and the last digits of the count.
            let slack = 1e-9 * from.max(to) + 1e-9 * count as f64 + 1e-6;
            prop_assert!((reached - index as f64).abs() <= slack, "{} for {}", reached, index);
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_plan_and_another_gives_another(seed: u64) {
        for load in [batch(8, 1, 2), poisson(500.0, 200)] {
            let all = |seed| only_load_spec(load.clone(), seed).arrivals(0, 1).collect::<Vec<_>>();
            prop_assert_eq!(all(seed), all(seed));
            prop_assert!(all(seed).iter().zip(all(seed ^ 1)).all(|(one, other)| one.seed != other.seed));
        }
        let moments = |seed| only_load_spec(poisson(500.0, 200), seed).arrivals(0, 1).map(|a| a.intended).collect::<Vec<_>>();
        prop_assert_ne!(moments(seed), moments(seed ^ 1));
    }
}

#[test]
fn a_load_at_its_limits_does_not_break() {
    let day = Duration::from_secs(24 * 60 * 60);
    let many = only_load_spec(
        Load::Single(Schedule::ConstantRate { rate_per_s: ARRIVALS_MAX as f64 / day.as_secs_f64(), lasting: day }),
        1,
    );
    assert_eq!(arrival_count(&many), Some(ARRIVALS_MAX));
    let last = many.arrivals(7, 8).nth(ARRIVALS_MAX as usize / 8 - 1).unwrap();
    assert!(last.index == ARRIVALS_MAX - 1 && last.intended < many.start + day, "{last:?}");
    let bursts = only_load_spec(Load::Single(Schedule::Bursts { batch: 1, every: day, times: u64::MAX }), 1);
    assert_eq!(bursts.arrival(u64::MAX - 1, day).load_step, u32::MAX);
    assert!(bursts.arrivals(0, 1).nth(1_000_000).is_some());
}
