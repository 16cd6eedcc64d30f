//! Writes the commit that is built into the program, where there is one.

use std::process::Command;

fn main() {
    // The log of HEAD grows with every commit and checkout.
    println!("cargo::rerun-if-changed=../../.git/logs/HEAD");
    let commit = Command::new("git").args(["rev-parse", "--short=12", "HEAD"]).output();
    let commit = commit.ok().filter(|said| said.status.success());
    let commit =
        commit.map_or_else(|| "unknown".into(), |said| String::from_utf8_lossy(&said.stdout).trim().to_owned());
    println!("cargo::rustc-env=GAUNTLET_COMMIT={commit}");
}
