//! The limits of the system on a process: the number of cores, the number of open files.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use settings::Machine;
use std::num::NonZero;

/// Stands for "no limit": more than any process can use.
const OPEN_FILES_UNLIMITED: u64 = 1 << 20;

/// The limits of this machine.
#[must_use]
pub fn machine() -> Machine {
    let hard = getrlimit(Resource::Nofile).maximum.unwrap_or(OPEN_FILES_UNLIMITED).min(OPEN_FILES_UNLIMITED);
    Machine {
        cores: std::thread::available_parallelism().map_or(1, NonZero::get),
        open_files_max: usize::try_from(hard).unwrap_or(usize::MAX),
    }
}

/// Raises the number of files that this process may hold open to `wanted`, as far as the hard limit allows, and returns the resulting
/// limit. It is never lowered.
pub fn raise_file_limit(wanted: usize) -> u64 {
    let now = getrlimit(Resource::Nofile);
    let Some(current) = now.current else { return OPEN_FILES_UNLIMITED };
    let allowed = (wanted as u64).min(now.maximum.unwrap_or(u64::MAX));
    if allowed <= current {
        return current;
    }
    match setrlimit(Resource::Nofile, Rlimit { current: Some(allowed), maximum: now.maximum }) {
        Ok(()) => allowed,
        Err(error) => {
            tracing::warn!(%error, wanted, "the limit of open files could not be raised");
            current
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_rises_to_what_is_allowed_and_no_further() {
        let hard = machine().open_files_max;
        let got = raise_file_limit(usize::MAX);
        assert_eq!(got, hard as u64);
        assert_eq!(raise_file_limit(1), got, "it is never lowered");
    }
}
