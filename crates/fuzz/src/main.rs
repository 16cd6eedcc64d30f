//! What libFuzzer drives: the target that `FUZZ_TARGET` names. With `FUZZ_LIST`, writes the names of all targets and ends; with
//! `FUZZ_SEEDS`, writes the target's seeds into that folder first. `scripts/fuzz.py` builds and runs it.
#![no_main]

use fuzz::{PLANTED, TARGETS, Target};
use libfuzzer_sys::fuzz_target;
use std::path::Path;
use std::process::exit;
use std::sync::OnceLock;
use std::{env, fs};

static TARGET: OnceLock<&'static Target> = OnceLock::new();

fuzz_target!(init: prepare(), |bytes: &[u8]| {
    if let Some(target) = TARGET.get() {
        target.run(bytes);
    }
});

fn prepare() {
    if env::var_os("FUZZ_LIST").is_some() {
        TARGETS.iter().chain(PLANTED).for_each(|target| println!("{}", target.name));
        exit(0);
    }
    let name = env::var("FUZZ_TARGET").unwrap_or_default();
    let Some(target) = fuzz::find(&name) else {
        eprintln!("FUZZ_TARGET is {name:?}: expected a target, which FUZZ_LIST=1 lists");
        exit(2);
    };
    TARGET.get_or_init(|| target);
    if let Some(folder) = env::var_os("FUZZ_SEEDS") {
        for (at, seed) in (target.seeds)().iter().enumerate() {
            let file = Path::new(&folder).join(format!("seed-{at}"));
            fs::write(&file, seed).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        }
    }
}
