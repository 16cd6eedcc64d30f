//! A service for the tests of the search: servers, a queue, and the arithmetic of when each request is answered.
//! Refuses to know any clock: the same level gives the same answers.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::super::level_assessment::LevelMeasurement;
use super::super::outcome::Level;
use crate::scenario::mix;

/// How long a request occupies a server.
#[derive(Clone, Copy, Debug)]
pub(super) enum Takes {
    /// Always the same.
    Constant,
    /// Evenly spread by this share around the mean.
    Jittered(f64),
    /// Exponentially distributed.
    Exponential,
}

/// A service with a known capacity: `servers / service_s` requests per second.
#[derive(Clone, Debug)]
pub(super) struct Service {
    pub(super) servers: usize,
    pub(super) service_s: f64,
    pub(super) takes: Takes,
    pub(super) seed: u64,
    /// The backlog is read wrong by up to so many requests.
    pub(super) misread: u64,
    /// In the level of this number all servers stop: from, for how long, in seconds.
    pub(super) hiccup: Option<(usize, f64, f64)>,
    /// Beyond this rate every request is an error, by the share that the rate is above it.
    pub(super) errors_above_per_s: f64,
    /// Work that outlives its request is done at this rate.
    pub(super) work_per_s: f64,
    /// The generator cannot offer more than this.
    pub(super) generator_per_s: f64,
}

impl Service {
    pub(super) fn new(servers: usize, service_ms: f64) -> Self {
        Self {
            servers,
            service_s: service_ms / 1000.0,
            takes: Takes::Constant,
            seed: 1,
            misread: 0,
            hiccup: None,
            errors_above_per_s: f64::INFINITY,
            work_per_s: f64::INFINITY,
            generator_per_s: f64::INFINITY,
        }
    }

    pub(super) fn capacity_per_s(&self) -> f64 {
        self.servers as f64 / self.service_s
    }

    /// Drives one level on an empty service.
    pub(super) fn drive(&self, level: &Level, quantile: f64) -> LevelMeasurement {
        let lasting_s = level.duration.as_secs_f64();
        let seed = mix(self.seed, level.number as u64);
        let dues: Vec<f64> =
            (0..).map(|i| f64::from(i) / level.rate_per_s).take_while(|due| *due < lasting_s).collect();
        let dones = self.answers(level, &dues, seed);
        let mut latencies_ms: Vec<f64> = dues
            .iter()
            .zip(&dones)
            .filter(|(_, done)| **done <= lasting_s)
            .map(|(due, done)| (done - due) * 1e3)
            .collect();
        latencies_ms.sort_unstable_by(f64::total_cmp);
        let answered = latencies_ms.len() as u64;
        let error_share = (1.0 - self.errors_above_per_s / level.rate_per_s).max(0.0);
        let errors = (answered as f64 * error_share) as u64;
        let at = |quantile: f64| latencies_ms.get((quantile * latencies_ms.len() as f64) as usize).copied();
        LevelMeasurement {
            lasting_s,
            due: dues.len() as u64,
            ok: answered - errors,
            errors,
            denied: 0,
            ok_late: 0,
            latency_gate_ms: at(quantile),
            latency_p50_ms: at(0.5),
            latency_p99_ms: at(0.99),
            backlog: self.backlog(&dues, dones, lasting_s, seed),
            work_waiting: self.work(level.rate_per_s, lasting_s),
            paused_share: 0.0,
            generator_behind: level.rate_per_s > self.generator_per_s,
        }
    }

    /// When each request is answered: the first free server takes the first that waits.
    fn answers(&self, level: &Level, dues: &[f64], seed: u64) -> Vec<f64> {
        let nanoseconds = |seconds: f64| (seconds * 1e9) as u64;
        let mut free: BinaryHeap<Reverse<u64>> = (0..self.servers).map(|_| Reverse(0)).collect();
        let answer = |(i, due): (usize, &f64)| {
            let Reverse(free_at) = free.pop().unwrap();
            let start = nanoseconds(*due).max(free_at) as f64 / 1e9;
            let done = self.through_hiccup(level.number, start, self.takes_s(mix(seed, i as u64)));
            free.push(Reverse(nanoseconds(done)));
            done
        };
        dues.iter().enumerate().map(answer).collect()
    }

    fn takes_s(&self, draw: u64) -> f64 {
        let uniform = (draw as f64 / u64::MAX as f64).min(1.0 - 1e-9);
        match self.takes {
            Takes::Constant => self.service_s,
            Takes::Jittered(share) => self.service_s * (1.0 + share * (2.0 * uniform - 1.0)),
            Takes::Exponential => -self.service_s * (1.0 - uniform).ln(),
        }
    }

    fn through_hiccup(&self, number: usize, start: f64, takes_s: f64) -> f64 {
        match self.hiccup.filter(|hiccup| hiccup.0 == number) {
            Some((_, from, lasting)) if start >= from && start < from + lasting => from + lasting + takes_s,
            Some((_, from, lasting)) if start < from && start + takes_s > from => start + takes_s + lasting,
            _ => start + takes_s,
        }
    }

    fn backlog(&self, dues: &[f64], mut dones: Vec<f64>, lasting_s: f64, seed: u64) -> Vec<(f64, f64)> {
        dones.sort_unstable_by(f64::total_cmp);
        let sample = |i: u32| {
            let t_s = f64::from(i) / 10.0;
            let due = dues.partition_point(|due| *due <= t_s);
            let done = dones.partition_point(|done| *done <= t_s);
            let wrong = (mix(seed ^ 0xFACE, u64::from(i)) % (2 * self.misread + 1)) as f64 - self.misread as f64;
            (t_s, ((due - done) as f64 + wrong).max(0.0))
        };
        (0..).map(sample).take_while(|sample| sample.0 <= lasting_s).collect()
    }

    fn work(&self, rate_per_s: f64, lasting_s: f64) -> Vec<(f64, f64)> {
        let growth_per_s = (rate_per_s - self.work_per_s).max(0.0);
        (0..)
            .map(|i| f64::from(i) / 2.0)
            .take_while(|t_s| *t_s <= lasting_s)
            .map(|t_s| (t_s, t_s * growth_per_s))
            .collect()
    }
}
