//! Capacity and scalability, on tables that people wrote into their reports: what those said in words must come out
//! of their figures. Refuses to know the search.

use proptest::prelude::*;

use super::super::*;

/// Connections, throughput, share of errors.
const TUNED: [(f64, f64, f64); 12] = [
    (10.0, 2380.95, 0.0),
    (25.0, 5952.38, 0.0),
    (50.0, 8333.33, 0.0),
    (100.0, 5847.95, 0.0),
    (200.0, 7662.84, 0.0),
    (500.0, 11_764.71, 0.0),
    (1000.0, 11_248.59, 0.0),
    (2500.0, 13_812.15, 0.0),
    (5000.0, 16_355.9, 0.0),
    (10_000.0, 12_971.85, 0.0),
    (25_000.0, 9670.06, 0.0),
    (50_000.0, 4867.51, 0.1968),
];
const UNTUNED: [(f64, f64, f64); 7] = [
    (10.0, 2673.8, 0.0),
    (25.0, 3644.31, 0.0),
    (50.0, 3924.65, 0.0),
    (100.0, 5065.86, 0.0),
    (200.0, 5154.64, 0.0),
    (500.0, 4502.88, 0.0),
    (1000.0, 4031.93, 0.0),
];

fn ladder(rows: &[(f64, f64, f64)]) -> Vec<LevelPoint> {
    let level = |(connections, throughput_per_s, error_share): &(f64, f64, f64)| LevelPoint {
        label: format!("step {connections}"),
        load_step: 3,
        concurrency: Some(*connections),
        throughput_per_s: *throughput_per_s,
        error_share: *error_share,
        // A closed loop without pauses: latency is what Little's law leaves it.
        latency_p50_ms: Some(1000.0 * connections / throughput_per_s).filter(|latency_ms| latency_ms.is_finite()),
        latency_p99_ms: Some(2000.0 * connections / throughput_per_s).filter(|latency_ms| latency_ms.is_finite()),
        ..LevelPoint::default()
    };
    rows.iter().map(level).collect()
}

/// Offered rate, throughput, median latency, whether it was overloaded.
fn offered(rows: &[(f64, f64, f64, bool)]) -> Vec<LevelPoint> {
    let level = |(rate_per_s, throughput_per_s, latency_ms, overloaded): &(f64, f64, f64, bool)| LevelPoint {
        label: format!("{rate_per_s}/s"),
        offered_per_s: Some(*rate_per_s),
        throughput_per_s: *throughput_per_s,
        latency_p50_ms: Some(*latency_ms),
        latency_p99_ms: Some(3.0 * latency_ms),
        overloaded: Some(*overloaded),
        ..LevelPoint::default()
    };
    rows.iter().map(level).collect()
}

/// Loads: peak, range without errors, optimal range, knee, saturation with its sign.
#[derive(Debug, Default, PartialEq)]
struct CapacitySummary {
    peak: Option<f64>,
    zero_error: Option<(f64, f64)>,
    optimal: Option<(f64, f64)>,
    knee: Option<f64>,
    saturation: Option<(f64, SaturationSign)>,
}

fn summarize(capacity: &Capacity) -> CapacitySummary {
    let range = |range: &Range| range.from.load.zip(range.to.load);
    CapacitySummary {
        peak: capacity.peak.as_ref().and_then(|peak| peak.level.load),
        zero_error: capacity.zero_error_range.as_ref().and_then(range),
        optimal: capacity.optimal_range.as_ref().and_then(range),
        knee: capacity.knee.as_ref().and_then(|knee| knee.level.load),
        saturation: capacity.saturation.as_ref().and_then(|at| Some((at.level.load?, at.sign))),
    }
}

#[track_caller]
fn check(levels: &[LevelPoint], expected: &CapacitySummary) {
    let capacity = capacity(levels);
    assert_eq!(summarize(&capacity), *expected, "{capacity:#?}");
}

#[test]
fn ladders_of_connections() {
    let expected = CapacitySummary {
        peak: Some(5000.0),
        zero_error: Some((10.0, 25_000.0)),
        optimal: Some((5000.0, 5000.0)),
        knee: Some(500.0),
        saturation: Some((10_000.0, SaturationSign::ThroughputFell)),
    };
    check(&ladder(&TUNED), &expected);
    let mut shuffled = ladder(&TUNED);
    shuffled.reverse();
    shuffled.swap(2, 7);
    check(&shuffled, &expected);
    let expected = CapacitySummary {
        peak: Some(200.0),
        zero_error: Some((10.0, 1000.0)),
        optimal: Some((100.0, 200.0)),
        knee: Some(100.0),
        saturation: Some((500.0, SaturationSign::ThroughputFell)),
    };
    check(&ladder(&UNTUNED), &expected);
    // Errors before throughput falls; and from the first level on.
    let errors = [(1.0, 100.0, 0.0), (2.0, 190.0, 0.001), (4.0, 300.0, 0.02), (8.0, 500.0, 0.5)];
    let expected = CapacitySummary {
        peak: Some(8.0),
        zero_error: Some((1.0, 1.0)),
        optimal: Some((2.0, 2.0)),
        knee: None,
        saturation: Some((4.0, SaturationSign::Errors)),
    };
    check(&ladder(&errors), &expected);
    // The last level without errors is no ceiling where it lies below the limit.
    let suggestions = capacity(&ladder(&errors)).suggestions;
    assert_eq!(suggestions[0].what, SuggestionKind::ConnectionLimit);
    assert!(
        suggestions.iter().all(|suggestion| suggestion.what != SuggestionKind::ConnectionCeiling),
        "{suggestions:?}"
    );
    check(
        &ladder(&[(1.0, 0.0, 1.0)]),
        &CapacitySummary { saturation: Some((1.0, SaturationSign::Errors)), ..CapacitySummary::default() },
    );
    // A straight line has no knee, and nothing was too much.
    let straight: Vec<(f64, f64, f64)> = (1..=8).map(|n| f64::from(n) * 10.0).map(|n| (n, 50.0 * n, 0.0)).collect();
    let expected = CapacitySummary {
        peak: Some(80.0),
        zero_error: Some((10.0, 80.0)),
        optimal: Some((80.0, 80.0)),
        ..CapacitySummary::default()
    };
    check(&ladder(&straight), &expected);
}

#[test]
fn offered_rates() {
    let rows = [
        (100.0, 100.0, 5.0, false),
        (200.0, 200.0, 5.0, false),
        (400.0, 400.0, 5.2, false),
        (760.0, 760.0, 6.0, false),
        (790.0, 790.0, 9.0, false),
        (820.0, 798.0, 260.0, true),
        (1600.0, 801.0, 2500.0, true),
    ];
    let expected = CapacitySummary {
        peak: Some(1600.0),
        zero_error: Some((100.0, 1600.0)),
        optimal: Some((760.0, 790.0)),
        knee: Some(760.0),
        saturation: Some((820.0, SaturationSign::Overloaded)),
    };
    check(&offered(&rows), &expected);
    // A lone overload that its repetition did not confirm does not stand: the later of equal loads does.
    let mut repeated = offered(&rows);
    repeated.insert(0, offered(&[(400.0, 300.0, 900.0, true)]).remove(0));
    check(&repeated, &expected);
    // Latency that grows faster than load leaves the optimal range before anything is overloaded.
    let rows = [(100.0, 100.0, 5.0, false), (200.0, 200.0, 9.0, false), (300.0, 300.0, 40.0, false)];
    let expected = CapacitySummary {
        peak: Some(300.0),
        zero_error: Some((100.0, 300.0)),
        optimal: Some((200.0, 200.0)),
        knee: Some(200.0),
        saturation: None,
    };
    check(&offered(&rows), &expected);
    // The curve was not seen to turn: power still grows, or falls from the first level on.
    let falls = [(100.0, 100.0, 5.0, false), (200.0, 200.0, 30.0, false), (300.0, 300.0, 90.0, false)];
    assert_eq!(capacity(&offered(&falls)).knee, None);
    assert_eq!(capacity(&offered(&rows[..2])).knee, None);
}

#[test]
fn levels_with_few_figures() {
    check(&[], &CapacitySummary::default());
    let nothing = capacity(&[]);
    assert!(nothing.suggestions.is_empty() && nothing.beyond.is_none(), "{nothing:?}");
    // Without loads: the order in which they came, and no suggestion that would need one.
    let unnamed: Vec<LevelPoint> =
        ladder(&UNTUNED).into_iter().map(|level| LevelPoint { concurrency: None, ..level }).collect();
    let capacity_unnamed = capacity(&unnamed);
    assert_eq!((capacity_unnamed.axis, capacity_unnamed.knee), (Axis::Order, None));
    assert_eq!(capacity_unnamed.peak.unwrap().level.label, "step 200");
    let needs_load = |what| [SuggestionKind::ConnectionLimit, SuggestionKind::RateLimit].contains(&what);
    assert!(!capacity_unnamed.suggestions.iter().any(|suggestion| needs_load(suggestion.what)));
    // Figures that are none.
    let mut broken = ladder(&UNTUNED);
    broken[1].throughput_per_s = f64::NAN;
    broken[2].error_share = 1.5;
    broken[3].latency_p99_ms = Some(f64::INFINITY);
    let left_out = capacity(&broken).left_out;
    assert_eq!(left_out.len(), 3);
    assert!(left_out[0].starts_with("step 25 has a figure that is no finite number"), "{left_out:?}");
}

/// Every sentence and suggestion of one ladder, a line each.
fn render(levels: &[LevelPoint]) -> String {
    let capacity = capacity(levels);
    let ranges = [capacity.zero_error_range, capacity.optimal_range].into_iter().flatten().map(|range| range.because);
    let sentences = ranges
        .chain(capacity.knee.map(|knee| knee.because))
        .chain(capacity.saturation.map(|saturation| saturation.because))
        .chain(capacity.beyond.map(|beyond| beyond.sentence));
    let suggestion = |suggestion: &Suggestion| {
        format!(
            "{}: {:.2} {}. {}",
            suggestion.what.description(),
            suggestion.value,
            suggestion.unit,
            suggestion.because
        )
    };
    sentences.chain(capacity.suggestions.iter().map(suggestion)).collect::<Vec<_>>().join("\n")
}

#[test]
fn words_of_a_ladder() {
    insta::assert_snapshot!(render(&ladder(&TUNED)), @r"
    No error up to 25,000 connections; at 50,000 connections 19.7 % of the answers were errors.
    The best healthy level is 5,000 connections with 16,356/s; these are within 5 % of it. The next, 10,000 connections, had 12,972/s.
    500 connections give 11,765/s, 71.9 % of the peak, with 10 % of the connections that the peak takes.
    At 10,000 connections throughput had fallen by 20.7 % from its peak, to 12,972/s.
    From 5,000 connections to 50,000 connections throughput went from 16,356/s to 4,868/s (-70.2 %), errors from 0 % to 19.7 %, p99 from 611 to 20,544 ms (x 33.6).
    limit of concurrent connections: 5000.00 connections. 5,000 connections gave 16,356/s with 0 % errors; 10,000 connections, the next level, gave 12,972/s with 0 %.
    ceiling of concurrent connections: 25000.00 connections. 25,000 connections had no error; at 50,000 connections 19.7 % of the answers were errors.
    capacity of one instance: 16355.90 requests/s. 16,356/s at 5,000 connections was the least of the optimal range.
    alert on latency above: 970.91 ms p99. p99 was 611 ms at 5,000 connections, the slowest of the optimal range, and 1,542 ms at 10,000 connections, saturated: this is between.
    alert on errors above: 0.01 share. Levels below 50,000 connections had at most 0 % errors, that one 19.7 %: above 1 % it counts as saturated.
    alert on throughput below: 14565.93 requests/s. While the load is 5,000 connections or more: 16,356/s at 5,000 connections was the least of the optimal range, and 12,972/s at 10,000 connections, saturated: this is between.
    ");
}

#[test]
fn words_of_offered_rates() {
    let rows = [
        (200.0, 200.0, 5.0, false),
        (400.0, 400.0, 5.2, false),
        (790.0, 790.0, 6.0, false),
        (820.0, 760.0, 260.0, true),
    ];
    insta::assert_snapshot!(render(&offered(&rows)), @r"
    No error at any level, up to 820 requests/s.
    The best healthy level is 790 requests/s with 790/s; these are within 5 % of it. The next, 820 requests/s, was overloaded.
    Up to 790 requests/s throughput grows faster than latency (6 ms there); at 820 requests/s latency is 260 ms.
    820 requests/s was the first level judged an overload, with 760/s.
    From 790 requests/s to 820 requests/s throughput went from 790/s to 760/s (-3.8 %), errors from 0 % to 0 %, p99 from 18 to 780 ms (x 43.3).
    limit of the request rate: 790.00 requests/s. 790 requests/s gave 790/s with 0 % errors; 820 requests/s, the next level, gave 760/s with 0 %.
    capacity of one instance: 790.00 requests/s. 790/s at 790 requests/s was the least of the optimal range.
    alert on latency above: 118.49 ms p99. p99 was 18 ms at 790 requests/s, the slowest of the optimal range, and 780 ms at 820 requests/s, saturated: this is between.
    alert on errors above: 0.01 share. The worst level had 0 % errors: more than 1 % was never seen.
    alert on throughput below: 774.85 requests/s. While the load is 790 requests/s or more: 790/s at 790 requests/s was the least of the optimal range, and 760/s at 820 requests/s, saturated: this is between.
    ");
}

#[test]
fn capacity_round_trips_through_json() {
    let capacity =
        capacity(&offered(&[(100.0, 100.0, 4.0, false), (200.0, 200.0, 4.0, false), (400.0, 250.0, 9.0, true)]));
    let text = serde_json::to_string(&capacity).unwrap();
    let read: Capacity = serde_json::from_str(&text).unwrap();
    assert_eq!(summarize(&read), summarize(&capacity));
    assert_eq!(read.beyond, capacity.beyond);
}

#[test]
fn the_law_fits_what_follows_it() {
    let points = |rows: &[(f64, f64, f64)]| rows.iter().map(|row| (row.0, row.1)).collect::<Vec<_>>();
    let usl = fit(&points(&UNTUNED), 1).unwrap();
    let peak = usl.peak.unwrap();
    assert!(peak.concurrency.low < 200.0 && 200.0 < peak.concurrency.high, "{usl:?}");
    assert!(!peak.extrapolated && usl.r_squared > 0.9, "{usl:?}");
    // The points of this one lie 27 % off any curve.
    assert!(matches!(fit(&points(&TUNED), 1), Err(FitError::Scattered { .. })));
}

proptest! {
    #[test]
    fn whatever_the_levels_no_figure_is_made_up(
        rows in prop::collection::vec((0.0f64..1e5, 0.0f64..1e6, 0.0f64..1.0, 0.0f64..1e4, 0u8..8), 0..12),
    ) {
        let level = |(load, throughput_per_s, error_share, latency_ms, kind): &(f64, f64, f64, f64, u8)| LevelPoint {
            concurrency: (*kind != 0).then_some(*load),
            offered_per_s: (*kind != 1).then_some(*load),
            throughput_per_s: *throughput_per_s,
            error_share: if *kind < 4 { 0.0 } else { *error_share },
            latency_p50_ms: (*kind != 2).then_some(*latency_ms),
            latency_p99_ms: (*kind != 3).then_some(*latency_ms * 2.0),
            overloaded: Some(*kind == 7),
            ..LevelPoint::default()
        };
        let levels: Vec<LevelPoint> = rows.iter().map(level).collect();
        let capacity = capacity(&levels);
        for suggestion in &capacity.suggestions {
            prop_assert!(suggestion.value.is_finite() && suggestion.value >= 0.0, "{:?}", suggestion);
        }
        if let Some(beyond) = &capacity.beyond {
            prop_assert!(beyond.throughput_change.is_finite());
            prop_assert!(beyond.latency_factor.is_none_or(f64::is_finite));
        }
        if let Some((from, to)) = summarize(&capacity).optimal {
            prop_assert!(from <= to);
        }
        let text = serde_json::to_string(&capacity).unwrap();
        prop_assert!(!text.contains("NaN") && serde_json::from_str::<Capacity>(&text).is_ok());
    }
}
