//! Synthetic runs for tests: with the noise of real services (drift that neighbours in time share, stalls, heavy tails,
//! unequal numbers of responses), and no planted difference unless a test adds one.

use std::sync::LazyLock;

use crate::compare::stats::{
    ComparisonScale, Distribution, Estimator, EventCount, Family, PairResampling, Quantile, Ratio, UndecidedReason,
    ValueCounts,
};
use crate::scenario::mix;

/// A seeded random number generator.
pub(crate) struct TestRng {
    seed: u64,
    draw_count: u64,
}

impl TestRng {
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed: mix(seed, 0xD1CE), draw_count: 0 }
    }

    /// Between 0 and 1.
    pub(crate) fn uniform(&mut self) -> f64 {
        self.draw_count += 1;
        (mix(self.seed, self.draw_count) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Of mean 0 and variance 1 (Box & Muller).
    pub(crate) fn normal(&mut self) -> f64 {
        let (radius, angle) = (1.0 - self.uniform(), self.uniform());
        (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    }

    /// About `mean` events.
    pub(crate) fn events(&mut self, mean: f64) -> u64 {
        (mean + mean.sqrt() * self.normal()).round().max(0.0) as u64
    }
}

/// Drift of mean 0 and variance 1: a first-order autoregression.
pub(crate) fn drift(rng: &mut TestRng, length: usize, coefficient: f64) -> Vec<f64> {
    let mut level = rng.normal();
    let step = (1.0 - coefficient * coefficient).sqrt();
    (0..length)
        .map(|_| {
            level = coefficient * level + step * rng.normal();
            level
        })
        .collect()
}

/// How a service behaves.
#[derive(Clone, Copy)]
pub(crate) struct SyntheticService {
    pub(crate) seconds: usize,
    pub(crate) answers_per_s: f64,
    /// A typical latency.
    pub(crate) latency_us: f64,
    /// How much of a latency's logarithm drifts over time.
    pub(crate) drift: f64,
    /// How much of the drift is left after a second.
    pub(crate) coefficient: f64,
    /// The chance of a stall in any second; it lasts one to three.
    pub(crate) stalls: f64,
    /// Whether the plan drives it from a fifth of its rate to nearly twice as much, with growing latencies.
    pub(crate) ramp: bool,
}

pub(crate) const SERVICE: SyntheticService = SyntheticService {
    seconds: 120,
    answers_per_s: 60.0,
    latency_us: 12_000.0,
    drift: 0.05,
    coefficient: 0.7,
    stalls: 0.01,
    ramp: false,
};

/// Steps of a logarithm between distinct values: 0.8 %, coarser than a histogram.
const STEPS: f64 = 120.0;

/// What was recorded of one run.
pub(crate) struct SyntheticRun {
    seed: u64,
    count: Vec<f64>,
    ok: Vec<f64>,
    errors: Vec<f64>,
    denied: Vec<f64>,
    latency_counts: Vec<ValueCounts>,
    service_counts: Vec<ValueCounts>,
    cpu: Vec<f64>,
    finished: Vec<f64>,
    failed: EventCount,
}

/// The state of one second.
#[derive(Clone, Copy)]
struct SyntheticSecond {
    rate: f64,
    pace: f64,
    stalled: bool,
}

/// Simulates a run of such a service.
pub(crate) fn simulate_run(seed: u64, service: &SyntheticService) -> SyntheticRun {
    let rng = &mut TestRng::new(seed);
    let n = service.seconds;
    let levels = drift(rng, n, service.coefficient);
    let loads = drift(rng, n, 0.5);
    let mut stalled = 0;
    let mut recorded = SyntheticRun {
        seed,
        count: Vec::new(),
        ok: Vec::new(),
        errors: Vec::new(),
        denied: Vec::new(),
        latency_counts: Vec::new(),
        service_counts: Vec::new(),
        cpu: Vec::new(),
        finished: Vec::new(),
        failed: EventCount { events: rng.events(9.0), exposure: 1000.0 },
    };
    for second in 0..n {
        stalled = match stalled {
            0 if rng.uniform() < service.stalls => 1 + (rng.uniform() * 3.0) as u64,
            0 => 0,
            left => left - 1,
        };
        let planned = if service.ramp { second as f64 / n as f64 } else { 0.0 };
        let rate = service.answers_per_s * if service.ramp { 0.2 + 1.6 * planned } else { 1.0 };
        let noise = (service.drift * levels[second]).exp() * if stalled > 0 { 4.0 } else { 1.0 };
        let at = SyntheticSecond {
            rate: rate * (0.05 * loads[second]).exp(),
            pace: noise * (1.0 + planned),
            stalled: stalled > 0,
        };
        recorded.second(rng, service.latency_us, at);
    }
    recorded
}

impl SyntheticRun {
    fn second(&mut self, rng: &mut TestRng, latency_us: f64, at: SyntheticSecond) {
        let SyntheticSecond { rate, pace, stalled } = at;
        let count = rng.events(rate);
        // Errors come in bursts, and with stalls.
        let errors = if stalled { rng.events(3.0).min(count / 4) } else { u64::from(rng.uniform() < 0.02) };
        let denied = rng.events(1.5).min(count / 4);
        let ok = count - (errors + denied).min(count);
        let pace_steps = ((latency_us * pace).ln() * STEPS).round() as i32;
        let (mut latencies, mut services) = (Vec::new(), Vec::new());
        for _ in 0..ok {
            let (latency, served) = LATENCY_POOL[(rng.uniform() * LATENCY_POOL.len() as f64) as usize];
            latencies.push(latency + pace_steps);
            services.push(served + pace_steps);
        }
        self.count.push(count as f64);
        self.ok.push(ok as f64);
        self.errors.push(errors as f64);
        self.denied.push(denied as f64);
        self.latency_counts.push(count_values(&latencies));
        self.service_counts.push(count_values(&services));
        self.cpu.push(0.01 * ok as f64 * pace.sqrt() * (1.0 + 0.05 * rng.normal()));
        self.finished.push(rng.events(8.0 / pace) as f64);
    }
}

/// Latencies and service times for a typical latency of one, as steps of their logarithm.
static LATENCY_POOL: LazyLock<Vec<(i32, i32)>> = LazyLock::new(latency_pool);

/// A skewed bulk, a queue before it, and two in a hundred five times as slow.
fn latency_pool() -> Vec<(i32, i32)> {
    let rng = &mut TestRng::new(0);
    let mut one = || {
        let tail = if rng.uniform() < 0.02 { 5.0 } else { 1.0 };
        let served = tail * (0.35 * rng.normal()).exp();
        let latency = served - 0.5 * (1.0 - rng.uniform()).ln();
        [latency, served].map(|value| (value.ln() * STEPS).round() as i32).into()
    };
    (0..8_192).map(|_| one()).collect()
}

/// Steps of a value's logarithm, counted as a histogram would.
fn count_values(steps: &[i32]) -> ValueCounts {
    let lowest = steps.iter().copied().min().unwrap_or(0);
    let highest = steps.iter().copied().max().unwrap_or(0);
    let mut counts = vec![0; (highest - lowest) as usize + 1];
    steps.iter().for_each(|step| counts[(step - lowest) as usize] += 1);
    let value = |step: i32| (f64::from(step) / STEPS).exp().round() as u64;
    (lowest..).zip(counts).filter(|(_, count)| *count > 0).map(|(step, count)| (value(step), count)).collect()
}

/// How two runs are resampled.
pub(crate) fn resampling(before: &SyntheticRun, after: &SyntheticRun) -> Result<PairResampling, UndecidedReason> {
    PairResampling::new(&before.count, &after.count, [before.seed, after.seed])
}

/// Numerator and denominator over time.
type RatioSeries = (Vec<f64>, Vec<f64>);

/// The ten figures of a comparison, in this order: latency p50, p90, p99, service p50, p99, throughput, errors, denied,
/// CPU time, finished work; and failed work as an eleventh.
pub(crate) fn add_figures(family: &mut Family, before: &SyntheticRun, after: &SyntheticRun) {
    let frame = match resampling(before, after) {
        Ok(frame) => frame,
        Err(reason) => return (0..10).for_each(|_| family.add_undecided(None, None, reason)),
    };
    for (side, quantiles) in [(0, &[0.5, 0.9, 0.99][..]), (1, &[0.5, 0.99])] {
        let of = |run: &SyntheticRun, lane| {
            Distribution::new(lane, if side == 0 { &run.latency_counts } else { &run.service_counts })
        };
        let (first, second) = (of(before, &frame.before), of(after, &frame.after));
        for quantile in quantiles {
            let sides: [&dyn Estimator; 2] =
                [&Quantile::new(&first, *quantile, 1.0), &Quantile::new(&second, *quantile, 1.0)];
            family.add_series(&frame, ComparisonScale::Ratio, sides, 0.002);
        }
    }
    let ones = vec![1.0; before.count.len().max(after.count.len())];
    let mut ratio = |scale, of: &dyn Fn(&SyntheticRun) -> RatioSeries| {
        let side = |run: &SyntheticRun, lane| {
            let (top, bottom) = of(run);
            Ratio::new(lane, &top, &bottom)
        };
        let sides: [&dyn Estimator; 2] = [&side(before, &frame.before), &side(after, &frame.after)];
        family.add_series(&frame, scale, sides, 0.0);
    };
    let per_second = |values: &[f64]| (values.to_vec(), ones[..values.len()].to_vec());
    ratio(ComparisonScale::Ratio, &|run| per_second(&run.ok));
    ratio(ComparisonScale::Difference, &|run| (run.errors.clone(), run.count.clone()));
    ratio(ComparisonScale::Difference, &|run| (run.denied.clone(), run.count.clone()));
    ratio(ComparisonScale::Ratio, &|run| (run.cpu.clone(), run.ok.clone()));
    ratio(ComparisonScale::Ratio, &|run| per_second(&run.finished));
    family.add_counts(before.failed, after.failed);
}
