//! Runs simulators: one seed (`simulate NAME SEED`), or each that a line of standard input has, with a line of JSON for each. Without
//! arguments that is what `scripts/simulate.py` uses; `simulate --list` prints the names of all simulators.

use serde_json::json;
use sim::simulators::{SIMULATORS, SeedSummary, Simulator};
use std::io::Write;
use std::panic::catch_unwind;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

/// Where the last panic was, and what it said.
static LAST_PANIC: Mutex<String> = Mutex::new(String::new());

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => run_lines(),
        ["--list"] => {
            SIMULATORS.iter().for_each(|simulator| println!("{}", simulator.name));
            ExitCode::SUCCESS
        }
        [name, seed] => match parse(name, seed) {
            Ok((simulator, seed)) => {
                println!("{:?}", (simulator.run)(seed));
                ExitCode::SUCCESS
            }
            Err(why) => usage(&why),
        },
        _ => usage("expected a simulator and a seed"),
    }
}

fn usage(why: &str) -> ExitCode {
    let names: Vec<&str> = SIMULATORS.iter().map(|simulator| simulator.name).collect();
    eprintln!(
        "simulate: {why}\nusage: simulate NAME SEED, simulate --list, or lines \"NAME SEED\" on standard input; NAME is one of {}",
        names.join(", ")
    );
    ExitCode::from(2)
}

fn parse(name: &str, seed: &str) -> Result<(&'static Simulator, u64), String> {
    let simulator = SIMULATORS.iter().find(|simulator| simulator.name == name);
    let simulator = simulator.ok_or_else(|| format!("there is no simulator {name:?}"))?;
    let seed = seed.parse().map_err(|_| format!("a seed is a number from 0 to {}, not {seed:?}", u64::MAX))?;
    Ok((simulator, seed))
}

fn run_lines() -> ExitCode {
    std::panic::set_hook(Box::new(|panic| {
        *LAST_PANIC.lock().unwrap_or_else(PoisonError::into_inner) = panic.to_string();
    }));
    for line in std::io::stdin().lines().map_while(Result::ok) {
        let (name, seed) = line.split_once(' ').unwrap_or((line.as_str(), ""));
        let (simulator, seed) = match parse(name, seed) {
            Ok(parsed) => parsed,
            Err(why) => return usage(&why),
        };
        let ended = catch_unwind(|| (simulator.run)(seed));
        println!("{}", response(ended.ok()));
        if std::io::stdout().flush().is_err() {
            break;
        }
    }
    ExitCode::SUCCESS
}

fn response(summary: Option<SeedSummary>) -> serde_json::Value {
    let Some(summary) = summary else {
        return json!({ "failure": *LAST_PANIC.lock().unwrap_or_else(PoisonError::into_inner) });
    };
    let faults: serde_json::Map<_, _> =
        summary.faults.iter().map(|(kind, count)| (kind.name().to_owned(), count.into())).collect();
    json!({ "simulated_ms": summary.simulated.as_millis() as u64, "faults": faults })
}
