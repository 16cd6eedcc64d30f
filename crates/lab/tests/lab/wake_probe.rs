//! Measures how late this machine wakes threads: the reference for tests of the generator's own schedule, which share
//! the machine with other work.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

pub(crate) fn quantile_ms(histogram: &Histogram<u64>, quantile: f64) -> f64 {
    histogram.value_at_quantile(quantile) as f64 / 1000.0
}

/// A thread that sleeps until planned times, next to the load.
pub(crate) struct WakeProbe {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Histogram<u64>>,
}

impl WakeProbe {
    pub(crate) fn start() -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let seen = over.clone();
        let thread = std::thread::spawn(move || {
            let (mut late_us, mut planned) = (lab::measurement::histogram(), Instant::now());
            while !seen.load(Ordering::Relaxed) {
                planned += Duration::from_millis(2);
                std::thread::sleep(planned.saturating_duration_since(Instant::now()));
                late_us.record(planned.elapsed().as_micros() as u64).unwrap();
            }
            late_us
        });
        Self { stop: over, thread }
    }

    pub(crate) fn finish_p99_ms(self) -> f64 {
        self.stop.store(true, Ordering::Relaxed);
        quantile_ms(&self.thread.join().unwrap(), 0.99)
    }
}
