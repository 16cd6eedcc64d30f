//! The timeline of a running trial: one log for everything that writes rows.

use std::sync::{Mutex, PoisonError};

use super::files::JsonLinesFile;
use crate::aggregate::Timeline;
use crate::measurement::timeline::TimelineRow;

/// The timeline: every row goes into the file and into the aggregation for the reports.
#[derive(Debug)]
pub(crate) struct TimelineLog(Mutex<(JsonLinesFile, Timeline)>);

impl TimelineLog {
    pub(crate) fn new(lines: JsonLinesFile, timeline: Timeline) -> Self {
        Self(Mutex::new((lines, timeline)))
    }

    pub(crate) fn write(&self, row: &TimelineRow) {
        let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        log.0.write(row);
        log.1.add(row);
    }

    /// Reads what has been aggregated so far.
    pub(crate) fn with_timeline<T>(&self, sample: impl FnOnce(&Timeline) -> T) -> T {
        sample(&self.0.lock().unwrap_or_else(PoisonError::into_inner).1)
    }

    /// What has been aggregated so far, and the error of the file, if any.
    pub(crate) fn take(&self) -> (Timeline, Option<std::io::Error>) {
        let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (std::mem::take(&mut log.1), log.0.failure())
    }
}
