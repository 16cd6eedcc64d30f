//! Fault injection for one server: a clock that is set, a disk that stalls. A small C library is preloaded for it
//! (`faults.c`), compiled by the compiler that the build needs as well.

use super::{Folder, Server};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::process::Command;

/// Places of the numbers in the file that the library reads.
const CLOCK_SET_S: u64 = 0;
const IS_DISK_STALLED: u64 = 1;
const WAITING: u64 = 2;
const NUMBERS: u64 = 3;

/// What is wrong with a server's system, now.
pub(crate) struct Faults {
    file: File,
}

impl Faults {
    /// A server in this folder, whose system is as it should be, for now.
    pub(crate) fn host(folder: &Folder, words: &str) -> (Self, Server) {
        let (library, numbers) = (folder.path().join("faults.so"), folder.path().join("faults"));
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/faults.c");
        let mut compiler = Command::new("cc");
        compiler.args(["-O2", "-shared", "-fPIC", "-o"]).arg(&library).arg(source);
        assert!(compiler.status().unwrap().success());
        let file = File::options().read(true).write(true).create(true).truncate(true).open(&numbers).unwrap();
        file.set_len(8 * NUMBERS).unwrap();
        let [library, numbers] = [("LD_PRELOAD", library), ("FAULTS", numbers)].map(|(name, path)| {
            let path = path.to_str().unwrap().to_owned();
            format!("{name}={path}")
        });
        let server = folder.serve_games_by(&["env", &library, &numbers], words);
        (Self { file }, server)
    }

    /// Sets the clock by so many seconds from what is right.
    pub(crate) fn set_clock(&self, by_s: i64) {
        self.write(CLOCK_SET_S, by_s);
    }

    /// From now on every write to the disk blocks, until this is undone.
    pub(crate) fn stall_disk(&self, is_stalled: bool) {
        self.write(IS_DISK_STALLED, is_stalled.into());
    }

    /// How many wait for the disk.
    pub(crate) fn waiting(&self) -> i64 {
        let mut bytes = [0; 8];
        self.file.read_exact_at(&mut bytes, 8 * WAITING).unwrap();
        i64::from_ne_bytes(bytes)
    }

    fn write(&self, place: u64, number: i64) {
        self.file.write_all_at(&number.to_ne_bytes(), 8 * place).unwrap();
    }
}
