//! Files that grow while a trial runs. A full disk must not end a trial, so the first error is kept and reported at the
//! end. Does not know what the rows are for.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use crate::aggregate::Timeline;
use crate::measurement::timeline::TimelineRow;

/// A file of lines, and the first error in writing it: nothing is written after that.
#[derive(Debug)]
pub(super) struct GrowingFile {
    file: BufWriter<File>,
    failed: Option<io::Error>,
}

impl GrowingFile {
    /// A new file with its heading.
    ///
    /// # Errors
    /// It cannot be created.
    pub(super) fn create(path: &Path, heading: &str) -> io::Result<Self> {
        let mut file = BufWriter::new(File::create(path)?);
        file.write_all(heading.as_bytes())?;
        Ok(Self { file, failed: None })
    }

    pub(super) fn write(&mut self, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) {
        if self.failed.is_none() {
            self.failed = write(&mut self.file).err();
        }
    }

    /// The first error, if there was one.
    pub(super) fn failure(&mut self) -> Option<io::Error> {
        self.failed.take()
    }
}

/// Every sample as a row of comma-separated values; times are in microseconds.
#[derive(Debug)]
pub struct SampleFile(GrowingFile);

impl SampleFile {
    /// A new file with its heading.
    ///
    /// # Errors
    /// It cannot be created.
    pub fn create(path: &Path) -> io::Result<Self> {
        let heading = "load_step,index,journey,step,intended_us,sent_us,first_byte_us,done_us,lag_us,retries,class\n";
        GrowingFile::create(path, heading).map(Self)
    }

    pub fn append(&mut self, rows: &str) {
        self.0.write(|out| out.write_all(rows.as_bytes()));
    }

    /// Writes what is still in memory; the first error, if there was one.
    pub fn close(&mut self) -> Option<io::Error> {
        self.0.write(io::Write::flush);
        self.0.failure()
    }
}

/// The timeline: every row goes into the file at once, and into the aggregation for the reports.
#[derive(Debug)]
pub(crate) struct TimelineLog(Mutex<(GrowingFile, Timeline)>);

impl TimelineLog {
    /// A new file.
    ///
    /// # Errors
    /// It cannot be created.
    pub(crate) fn create(path: &Path, timeline: Timeline) -> io::Result<Self> {
        Ok(Self(Mutex::new((GrowingFile::create(path, "")?, timeline))))
    }

    pub(crate) fn write(&self, row: &TimelineRow) {
        let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        log.0.write(|out| {
            serde_json::to_writer(&mut *out, row)?;
            out.write_all(b"\n")?;
            out.flush()
        });
        log.1.add(row);
    }

    /// Reads what has been aggregated so far.
    pub(crate) fn with_timeline<T>(&self, sample: impl FnOnce(&Timeline) -> T) -> T {
        sample(&self.0.lock().unwrap_or_else(PoisonError::into_inner).1)
    }

    /// What has been aggregated so far, and the error of the file, if any.
    pub(crate) fn take(&self) -> (Timeline, Option<io::Error>) {
        let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (std::mem::take(&mut log.1), log.0.failure())
    }
}
