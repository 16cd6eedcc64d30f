//! The disk below a directory: how long a durable write takes, and how much space is left. Does not assess either.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

/// The number of syncs for the median.
const SYNCS: usize = 31;

/// A slow disk must not delay the trial.
const SYNCS_WITHIN: Duration = Duration::from_secs(2);

/// The median time, in milliseconds, of writing 4 KiB durably into this directory.
///
/// # Errors
/// The directory cannot be written to.
pub fn fsync_ms_p50(dir: &Path) -> io::Result<f64> {
    let path = dir.join("fsync.tmp");
    let mut file = File::create(&path)?;
    let (block, begin) = ([0x5a_u8; 4096], Instant::now());
    let mut took = Vec::with_capacity(SYNCS);
    while took.len() < SYNCS && begin.elapsed() < SYNCS_WITHIN {
        let start = Instant::now();
        file.write_all(&block)?;
        file.sync_data()?;
        took.push(start.elapsed());
    }
    drop(file);
    fs::remove_file(path)?;
    took.sort();
    Ok(crate::format::round(took[took.len() / 2].as_secs_f64() * 1000.0))
}

/// Bytes that this process may still write to the file system of this directory.
#[must_use]
pub fn free_bytes(dir: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(dir).ok()?;
    found.f_bavail.checked_mul(found.f_frsize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_has_a_disk_and_a_missing_one_has_none() {
        let dir = std::env::temp_dir();
        assert!(free_bytes(&dir).is_some_and(|bytes| bytes > 0));
        assert_eq!(free_bytes(&dir.join("no-such-directory-anywhere")), None);
        fsync_ms_p50(&dir.join("no-such-directory-anywhere")).unwrap_err();
    }
}
