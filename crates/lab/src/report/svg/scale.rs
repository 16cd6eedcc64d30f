//! Maps figures to positions on a drawing, linearly or by logarithm, with the ticks of the axis. Does not know the
//! direction of the axis.

use super::unit::{Unit, round_step};

/// Maps figures to positions.
#[derive(Clone, Debug)]
pub(super) struct AxisScale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    log: bool,
    pub(super) ticks: Vec<(f64, String)>,
    /// The name of the unit.
    pub(super) name: String,
}

/// Which figures an axis has to hold, and how.
pub(super) struct Extent<'a> {
    pub(super) unit: &'a Unit,
    pub(super) lowest: f64,
    pub(super) highest: f64,
    pub(super) log: bool,
    /// The axis may end where the figures end, instead of at the next tick.
    pub(super) exact: bool,
    pub(super) ticks_max: usize,
}

impl AxisScale {
    /// A scale from `from` to `to` on the drawing.
    pub(super) fn new(extent: &Extent<'_>, from: f64, to: f64) -> Self {
        let (factor, name) = extent.unit.scale(extent.highest);
        let log = extent.log && extent.highest > 0.0 && extent.lowest > 0.0;
        let (low, high, ticks) = if log { log_ticks(extent, factor) } else { linear_ticks(extent, factor) };
        Self { low, high, from, to, log, ticks, name: name.to_owned() }
    }

    /// The position of a figure; beyond the ends it is clamped.
    pub(super) fn position(&self, value: f64) -> f64 {
        let value = value.clamp(self.low, self.high);
        let share = if self.log {
            (value / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        self.from + share * (self.to - self.from)
    }

    /// The figure at a fraction of the axis, from 0 to 1.
    pub(super) fn value_at(&self, share: f64) -> f64 {
        if self.log { self.low * (self.high / self.low).powf(share) } else { self.low + share * (self.high - self.low) }
    }

    /// Characters of the longest tick.
    pub(super) fn widest_tick(&self) -> usize {
        self.ticks.iter().map(|(_, text)| text.chars().count()).max().unwrap_or(0)
    }
}

type Ticks = Vec<(f64, String)>;

fn linear_ticks(extent: &Extent<'_>, factor: f64) -> (f64, f64, Ticks) {
    let low = extent.lowest.min(0.0);
    let high = if extent.highest > low { extent.highest } else { low + factor };
    let step = extent.unit.step(factor, high - low, extent.ticks_max);
    let (first, last) = ((low / step).floor(), (high / step).ceil());
    let (first, last) = if extent.exact { (first, (high / step + 1e-9).floor()) } else { (first, last) };
    let ticks = (0..=(last - first) as usize).map(|i| (first + i as f64) * step);
    let ticks = ticks.map(|value| (value, extent.unit.tick(factor, value, step))).collect();
    (first * step, if extent.exact { high } else { last * step }, ticks)
}

fn log_ticks(extent: &Extent<'_>, factor: f64) -> (f64, f64, Ticks) {
    let (lowest, highest) = (extent.lowest / factor, extent.highest / factor);
    // Three ticks per decade, if that is not many more than requested.
    let fine = (highest / lowest).log10() * 3.0 <= extent.ticks_max as f64 + 3.0;
    let (low, high) = if fine { (round_down(lowest), round_step(highest)) } else { decades(lowest, highest) };
    let (low, high) = if extent.exact { (lowest, highest) } else { (low, high) };
    let high = if high > low { high } else { low * 10.0 };
    let every = ((high / low).log10().ceil() as i32 / extent.ticks_max.max(1) as i32).max(1);
    let first = low.log10().floor() as i32;
    let steps: &[f64] = if fine { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let powers = (first..=high.log10().ceil() as i32).filter(|power| (power - first) % every == 0);
    let values = powers.flat_map(|power| steps.iter().map(move |step| step * 10_f64.powi(power)));
    let within = values.filter(|value| *value >= low * (1.0 - 1e-9) && *value <= high * (1.0 + 1e-9));
    let ticks = within.map(|value| (value * factor, extent.unit.tick(factor, value * factor, value)));
    let ticks = ticks.collect();
    (low * factor, high * factor, ticks)
}

fn decades(lowest: f64, highest: f64) -> (f64, f64) {
    (10_f64.powf(lowest.log10().floor()), 10_f64.powf(highest.log10().ceil()))
}

/// 1, 2 or 5 times a power of ten, at most `value`.
fn round_down(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    [5.0, 2.0, 1.0].into_iter().map(|step| step * power).find(|step| *step <= value).unwrap_or(power)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn extent(unit: &Unit, lowest: f64, highest: f64, log: bool, exact: bool) -> Extent<'_> {
        Extent { unit, lowest, highest, log, exact, ticks_max: 5 }
    }

    #[track_caller]
    fn check(extent: &Extent<'_>, ticks: &[&str], low: f64, high: f64) {
        let scale = AxisScale::new(extent, 0.0, 100.0);
        assert_eq!(scale.ticks.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>(), ticks);
        assert!((scale.low - low).abs() < 1e-6 && (scale.high - high).abs() < 1e-6, "{} {}", scale.low, scale.high);
    }

    #[test]
    fn ticks() {
        let ms = Unit::number("ms");
        check(&extent(&ms, 0.0, 412.0, false, false), &["0", "100", "200", "300", "400", "500"], 0.0, 500.0);
        check(&extent(&ms, 6.0, 412.0, true, false), &["5", "10", "20", "50", "100", "200", "500"], 5.0, 500.0);
        check(&extent(&ms, 0.3, 9000.0, true, false), &["0.1", "1", "10", "100", "1,000", "10,000"], 0.1, 10_000.0);
        // No figure, one figure, only zeros: there is an axis all the same.
        check(&extent(&ms, 0.0, 0.0, false, false), &["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"], 0.0, 1.0);
        check(&extent(&ms, 5.0, 5.0, true, false), &["5", "10", "20", "50"], 5.0, 50.0);
        check(&extent(&ms, 0.0, 7.0, true, false), &["0", "2", "4", "6", "8"], 0.0, 8.0);
        // A time axis ends where the figures end.
        check(&extent(&Unit::Time, 0.0, 171.2, false, true), &["0:00", "1:00", "2:00"], 0.0, 171.2);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn larger_figures_lie_further_and_all_lie_inside(
            lowest in 0.001..1e6_f64, factor in 1.0..1e6_f64, log in any::<bool>(), exact in any::<bool>(),
        ) {
            let unit = Unit::number("ms");
            let highest = lowest * factor;
            let scale = AxisScale::new(&extent(&unit, lowest, highest, log, exact), 10.0, 110.0);
            let places: Vec<f64> = (0..=10).map(|i| scale.position(lowest + (highest - lowest) * f64::from(i) / 10.0)).collect();
            prop_assert!(places.is_sorted());
            prop_assert!(places.iter().all(|place| (9.999..=110.001).contains(place)));
            prop_assert!(scale.ticks.len() <= 12, "{:?}", scale.ticks);
            for (value, _) in &scale.ticks {
                prop_assert!((9.999..=110.001).contains(&scale.position(*value)));
            }
            for share in [0.0, 0.3, 1.0] {
                prop_assert!((scale.position(scale.value_at(share)) - (10.0 + share * 100.0)).abs() < 1e-6);
            }
        }
    }
}
