//! The record: takes what happens while it happens. Figures are folded at once, in constant memory; the timeline
//! and, on request, every sample go to files as they come, so that an interrupted run has them too. Refuses to
//! know what is good.

mod files;
pub mod hlog;
mod interval;
mod replay;
mod sample;
pub mod timeline;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

pub use files::{Lines, SampleFile};
pub use interval::{Cell, ErrorNote, Interval, Op, histogram};
pub use replay::{fold_rows, read_timeline};
pub use sample::{Class, Sample, Trouble, WorkRow};

use crate::drive::Failure;
use crate::fold::Fold;

/// Takes samples from every task.
#[derive(Debug)]
pub struct Recorder {
    fold: Mutex<Fold>,
    samples: Option<Mutex<SampleFile>>,
    in_flight: AtomicU64,
}

/// Counts an arrival as under way until it is dropped, however it ends.
#[derive(Debug)]
pub struct UnderWay<'a>(&'a AtomicU64);

impl Recorder {
    /// Folds into `fold`, and writes every sample as a row where there is a file for them.
    #[must_use]
    pub fn new(fold: Fold, samples: Option<SampleFile>) -> Self {
        Self { fold: Mutex::new(fold), samples: samples.map(Mutex::new), in_flight: AtomicU64::new(0) }
    }

    /// Takes a sample.
    pub fn sample(&self, sample: &Sample) {
        self.fold().add(sample);
        if let Some(file) = &self.samples {
            file.lock().unwrap_or_else(PoisonError::into_inner).write(sample);
        }
    }

    /// Takes the reason for an error.
    pub fn error(&self, journey: usize, step: usize, failure: &Failure) {
        self.fold().add_error(journey, step, failure.trouble, &failure.message);
    }

    /// Counts an arrival that waits for a free place in flight.
    pub fn capped(&self) {
        self.fold().add_capped();
    }

    /// Counts arrivals that were due and never sent.
    pub fn not_sent(&self, journey: usize, count: u64) {
        self.fold().add_not_sent(journey, count);
    }

    /// Counts arrivals that were sent and given up when the trial was ended.
    pub fn abandoned(&self, count: u64) {
        self.fold().add_abandoned(count);
    }

    /// Counts an arrival as under way.
    pub fn under_way(&self) -> UnderWay<'_> {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        UnderWay(&self.in_flight)
    }

    /// Arrivals under way.
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// The fold so far.
    pub fn fold(&self) -> MutexGuard<'_, Fold> {
        self.fold.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes what is still in memory, and says what went wrong with the file of samples, if anything did.
    ///
    /// # Errors
    /// The first error of the file.
    pub fn close(&self) -> std::io::Result<()> {
        match &self.samples {
            Some(file) => file.lock().unwrap_or_else(PoisonError::into_inner).close(),
            None => Ok(()),
        }
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
