//! The knee: the level from which on more load buys little. Does not know how the levels were driven, and
//! names no knee where the curve does not bend.
//!
//! Over concurrency the knee is one of throughput, found as by Satopaa, Albrecht, Irwin and Raghavan 2011, "Finding
//! a 'Kneedle' in a Haystack": with both axes scaled to one, the point that lies highest above the diagonal, if it
//! does so by more than the mean distance between neighbours (their sensitivity of 1). Only the rising part up to
//! the peak counts: else the knee would depend on how far past the peak the levels reach.
//!
//! Over an offered rate throughput follows what is offered until it cannot, and the knee is one of latency: the
//! level of the largest power, throughput over latency (Kleinrock 1979, "Power and deterministic rules of thumb").
//! Beyond it latency grows faster than throughput.

use serde::{Deserialize, Serialize};

use super::format::{number, percent};
use super::ladder::{Axis, Ladder, LevelRef};

/// Points of the rising part: its two ends, and two between them that could be the knee.
const POINTS_MIN: usize = 4;

/// How a knee was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KneeMethod {
    /// Throughput over concurrency, farthest above the diagonal.
    Kneedle,
    /// The largest throughput over latency.
    Power,
}

/// Where more load stops paying.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Knee {
    /// The level.
    pub level: LevelRef,
    /// How it was found.
    pub method: KneeMethod,
    /// What happens there, in a sentence with the figures.
    pub because: String,
}

/// The knee, where the levels show one.
pub(super) fn knee(ladder: &Ladder) -> Option<Knee> {
    match ladder.axis {
        Axis::Concurrency => throughput_knee(ladder),
        Axis::OfferedPerS => latency_knee(ladder),
        Axis::Order => None,
    }
}

fn throughput_knee(ladder: &Ladder) -> Option<Knee> {
    let peak = ladder.peak()?;
    if peak + 1 < POINTS_MIN {
        return None;
    }
    let loads: Vec<f64> = (0..=peak).map(|i| ladder.load(i)).collect::<Option<_>>()?;
    let throughputs: Vec<f64> = (0..=peak).map(|i| ladder.throughput(i)).collect();
    let least = throughputs.iter().copied().fold(f64::INFINITY, f64::min);
    let above = |i: usize| {
        let load = (loads[i] - loads[0]) / (loads[peak] - loads[0]);
        let throughput = (throughputs[i] - least) / (throughputs[peak] - least);
        throughput - load
    };
    let threshold = 1.0 / peak as f64;
    let knee = (1..peak).max_by(|a, b| above(*a).total_cmp(&above(*b))).filter(|knee| above(*knee) > threshold)?;
    let because = format!(
        "{} give {}/s, {} of the peak, with {} of the connections that the peak takes.",
        ladder.name(knee),
        number(throughputs[knee]),
        percent(throughputs[knee] / throughputs[peak]),
        percent(loads[knee] / loads[peak])
    );
    Some(Knee { level: ladder.level_ref(knee), method: KneeMethod::Kneedle, because })
}

fn latency_knee(ladder: &Ladder) -> Option<Knee> {
    let power = |i: usize| {
        let latency_ms = ladder.typical_ms(i).filter(|latency_ms| *latency_ms > 0.0)?;
        Some((i, ladder.throughput(i) / latency_ms))
    };
    let powers: Vec<(usize, f64)> = (0..ladder.levels.len()).filter_map(power).collect();
    let (knee, _) = *powers.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    // At either end the curve was not seen to turn.
    if knee == powers.first()?.0 {
        return None;
    }
    let next = powers.iter().map(|power| power.0).find(|i| *i > knee)?;
    let because = format!(
        "Up to {} throughput grows faster than latency ({} ms there); at {} latency is {} ms.",
        ladder.name(knee),
        number(ladder.typical_ms(knee)?),
        ladder.name(next),
        number(ladder.typical_ms(next)?)
    );
    Some(Knee { level: ladder.level_ref(knee), method: KneeMethod::Power, because })
}
