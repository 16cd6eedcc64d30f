//! Stories played alone: a stand-in for a person beside bots that tell, at each difficulty. How often is a vote right?
//! `bench/solo-stories.sh` calls it.
//!
//! `cargo run --release -p engine --example solo_stories [GAMES]`; ends with 1 when a bar is missed.

#![allow(clippy::disallowed_macros, clippy::disallowed_methods, reason = "a program that prints")]

#[path = "../tests/solo_stories/bars.rs"]
mod bars;
#[path = "../tests/solo_stories/guesser.rs"]
mod guesser;
#[path = "../tests/solo_stories/table.rs"]
mod table;

use engine::tables::Difficulty;
use std::process::ExitCode;
use table::{SoloTable, Votes};

const GAMES_DEFAULT: u64 = 1_000;
/// Games of one table: an evening.
const EVENING: u32 = 20;

fn main() -> ExitCode {
    let games = std::env::args().nth(1).and_then(|games| games.parse().ok()).unwrap_or(GAMES_DEFAULT);
    println!("Two sentences of each difficulty, from the first tables:");
    for difficulty in Difficulty::ALL {
        let mut table = SoloTable::open(1, difficulty);
        table.play(2);
        println!("  {:<9} {}", difficulty.name(), table.sentences.join("  "));
    }
    println!(
        "\nA game is one that a bot told; seeds are fixed. An evening is the first {EVENING} games of one table.\n"
    );
    println!("| difficulty | games | right | random | bots right | right of an evening | seconds a game |");
    println!("|---|---|---|---|---|---|---|");
    let all = Difficulty::ALL.map(|difficulty| {
        let evening = bars::votes(difficulty, 1..2, EVENING);
        let votes = bars::votes(difficulty, 1..1 + games.div_ceil(u64::from(EVENING)), EVENING);
        print_row(difficulty, &votes, &evening);
        votes
    });
    let missed = bars::missed(&all);
    for bar in &missed {
        println!("\nMissed: {bar}");
    }
    if missed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn print_row(difficulty: Difficulty, votes: &Votes, evening: &Votes) {
    println!(
        "| {} | {} | {:.1} % | {:.1} % | {:.1} % | {} of {} | {:.0} |",
        difficulty.name(),
        votes.games,
        votes.right_percent(),
        votes.random_percent(),
        votes.bots_percent(),
        evening.right,
        evening.games,
        votes.played.as_secs_f64() / f64::from(votes.games),
    );
}
