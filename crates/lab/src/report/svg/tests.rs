//! Drawings: a small one in full, and laws that hold for all of them.

use proptest::prelude::*;

use super::*;

fn layer(name: &str, colour: usize, form: LayerStyle, dots: &[(f64, f64)]) -> Layer {
    Layer::new(name, colour, form, dots.iter().map(|(x, y)| ChartPoint::new(*x, *y)).collect())
}

fn curves(layers: Vec<Layer>) -> SeriesChart {
    SeriesChart {
        title: "create <game>: latency".to_owned(),
        caption: String::new(),
        x: ChartAxis { unit: Unit::Time, log: false, reaches_at_least: 60.0 },
        y: ChartAxis { unit: Unit::number("ms"), log: true, reaches_at_least: 0.0 },
        layers,
        bands: vec![Band { from: 0.0, to: 30.0, label: "burst 1".to_owned() }],
        marks: vec![Mark { x: 42.0, label: "kill server".to_owned(), is_fault: true }],
        thresholds: vec![Threshold { y: 50.0, label: "gate: < 50".to_owned() }],
    }
}

#[test]
fn a_small_chart() {
    let layers = vec![
        layer("latency p99", 0, LayerStyle::Line, &[(0.0, 3.0), (20.0, 30.0), (40.0, 300.0), (60.0, 12.0)]),
        layer("level", 1, LayerStyle::Points, &[(30.0, 20.0)]),
    ];
    let chart = curves(layers).non_empty().unwrap();
    let text = chart.draw().into_string().replace("><", ">\n<");
    insta::assert_snapshot!("small_chart", text);
    assert_eq!(chart.layers[1].class(), "dots c1");
}

#[test]
fn small_bars() {
    let bars = |name: &str, colour: usize, heights: [(f64, f64); 2]| {
        let point = |(x, (low, high))| ChartPoint { low, high, ..ChartPoint::new(x, high) };
        Layer::new(name, colour, LayerStyle::Bars, [1.0, 2.0].into_iter().zip(heights).map(point).collect())
    };
    let items = Unit::Items(["burst 1", "burst 2"].map(str::to_owned).to_vec());
    let chart = SeriesChart {
        title: "How every part ended".to_owned(),
        x: ChartAxis { unit: items, log: false, reaches_at_least: 3.0 },
        y: ChartAxis { unit: Unit::count("requests"), ..ChartAxis::default() },
        layers: vec![
            bars("ok", 2, [(0.0, 2167.0), (0.0, 2167.0)]),
            bars("errors", 1, [(2167.0, 2167.0), (2167.0, 2168.0)]),
        ],
        ..SeriesChart::default()
    };
    insta::assert_snapshot!("small_bars", chart.draw().into_string().replace("><", ">\n<"));
}

#[test]
fn what_has_no_figure_has_no_chart() {
    assert!(curves(Vec::new()).non_empty().is_none());
    assert!(
        curves(vec![layer("a", 0, LayerStyle::Line, &[(0.0, f64::NAN), (f64::INFINITY, 1.0)])]).non_empty().is_none()
    );
    let some = curves(vec![layer("a", 0, LayerStyle::Line, &[]), layer("b", 0, LayerStyle::Line, &[(1.0, 1.0)])])
        .non_empty()
        .unwrap();
    assert_eq!(some.layers.len(), 1);
}

#[test]
fn a_spread_shows_what_a_mean_hides() {
    let dots = [0.0, 1.0, 2.0].map(|x| ChartPoint { x, y: 10.0, low: 5.0, high: 90.0, until: None }).to_vec();
    let drawn = |dots: Vec<ChartPoint>| {
        let layers = vec![Layer { name: "p99".to_owned(), colour: 2, style: LayerStyle::Line, points: dots }];
        curves(layers).draw().into_string()
    };
    assert!(drawn(dots.clone()).contains("class=\"spread c2\""));
    assert!(drawn(dots.clone()).contains("p99: 10 ms (highest 90 ms)"));
    assert!(!drawn(dots.iter().map(|dot| ChartPoint::new(dot.x, dot.y)).collect()).contains("spread"));
}

/// Every number of every coordinate of the paths and rectangles.
fn coordinates(svg: &str) -> Vec<f64> {
    let attribute = |name: &str| svg.split(name).skip(1).filter_map(|rest| rest.split('"').next()).collect::<Vec<_>>();
    let texts = [" d=\"", " x=\"", " y=\"", " cx=\"", " cy=\""].map(attribute).concat();
    let numbers = texts.iter().flat_map(|text| text.split(|c: char| !(c.is_ascii_digit() || c == '.' || c == '-')));
    numbers.filter(|number| !number.is_empty()).map(|number| number.parse().unwrap()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn whatever_is_drawn_lies_on_the_drawing(
        dots in prop::collection::vec((0.0..1e5_f64, -1e3..1e9_f64), 1..40),
        log_x in any::<bool>(), log_y in any::<bool>(), form in 0usize..6,
    ) {
        let form = [LayerStyle::Line, LayerStyle::Dashed, LayerStyle::Area, LayerStyle::Points, LayerStyle::Fitted,
                    LayerStyle::Bars][form];
        let mut dots = dots;
        dots.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut curves = curves(vec![layer("a", 9, form, &dots)]);
        (curves.x.log, curves.y.log) = (log_x, log_y);
        let svg = curves.draw().into_string();
        prop_assert!(!svg.contains("NaN") && !svg.contains("inf"), "{}", svg);
        for number in coordinates(&svg) {
            prop_assert!((-0.1..=WIDTH + 0.1).contains(&number), "{number} in {}", svg);
        }
    }
}
