//! Files that grow while a trial runs. A full disk must not end a trial, so the first error is kept and reported at the
//! end. Does not know what the rows are for.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::Path;

use serde::Serialize;

/// One JSON object per line, written at once: a few rows a second.
#[derive(Debug)]
pub struct JsonLinesFile {
    file: File,
    failed: Option<io::Error>,
}

impl JsonLinesFile {
    /// A new file.
    ///
    /// # Errors
    /// It cannot be created.
    pub fn create(path: &Path) -> io::Result<Self> {
        Ok(Self { file: File::create(path)?, failed: None })
    }

    pub fn write(&mut self, row: &impl Serialize) {
        if self.failed.is_some() {
            return;
        }
        let written = serde_json::to_vec(row).map_err(io::Error::from).and_then(|mut line| {
            line.push(b'\n');
            self.file.write_all(&line)
        });
        self.failed = written.err();
    }

    /// The first error, if there was one.
    pub fn failure(&mut self) -> Option<io::Error> {
        self.failed.take()
    }
}

/// Every sample as a row of comma-separated values; times are in microseconds.
#[derive(Debug)]
pub struct SampleFile {
    file: BufWriter<File>,
    failed: Option<io::Error>,
}

impl SampleFile {
    /// A new file with its heading.
    ///
    /// # Errors
    /// It cannot be created.
    pub fn create(path: &Path) -> io::Result<Self> {
        let mut file = BufWriter::new(File::create(path)?);
        writeln!(file, "load_step,index,journey,step,intended_us,sent_us,first_byte_us,done_us,lag_us,retries,class")?;
        Ok(Self { file, failed: None })
    }

    pub fn append(&mut self, rows: &[u8]) {
        if self.failed.is_none() {
            self.failed = self.file.write_all(rows).err();
        }
    }

    /// Writes what is still in memory.
    ///
    /// # Errors
    /// The first error of this file.
    pub fn close(&mut self) -> io::Result<()> {
        match self.failed.take() {
            Some(error) => Err(error),
            None => self.file.flush(),
        }
    }
}
