//! Simulated duels, decided by the code that the server runs: how often is the test wrong, how long does it take, how often
//! does the interval miss the truth? `bench/duels.sh` calls it.
//!
//! `cargo run --release -p engine --example duels [DUELS]`; ends with 1 when a bar is missed.

#![allow(clippy::disallowed_macros, clippy::disallowed_methods, reason = "a program that prints")]

use engine::competitions::{CompetitionResult, ResultSummary, SeatSummary};
use engine::duels::{
    Accepted, Duel, DuelBot, DuelDefinition, DuelEnd, PAIR_SCORES, Sprt, StartedGame, score_interval, score_of,
};
use engine::ids::{BotId, MatchId};
use engine::matches::lifecycle::MatchState;
use engine::matches::settings::MatchSettings;
use engine::time::UnixMs;
use rules::chance::{Chance, Dice, Purpose, Seed};
use rules::snake::Rules;
use std::process::ExitCode;

/// Share of games without a winner.
const DRAWS: f64 = 0.02;
/// By how much the better start of a board changes the expected score of the bot that has it.
const BOARD_BIASES: [f64; 3] = [0.0, 0.1, 0.2];
const DUELS_DEFAULT: u32 = 1_000;

struct Case {
    name: &'static str,
    /// The candidate's true strength above the baseline.
    elo: f64,
    test: Sprt,
    pairs_max: u32,
    /// The verdict that is right, and how many of 1,000 duels must find it; `None` where neither hypothesis is true.
    bar: Option<(DuelEnd, Accepted, u32)>,
}

fn cases() -> Vec<Case> {
    let test = Sprt::default();
    let close = Sprt { elo0: 0.0, elo1: 20.0, ..test };
    let case = |name, elo, test, pairs_max, bar| Case { name, elo, test, pairs_max, bar };
    let (h0, h1) = ((DuelEnd::H0Accepted, Accepted::H0, 935), (DuelEnd::H1Accepted, Accepted::H1, 950));
    vec![
        case("equal bots, bounds 0 and 50", 0.0, test, 1_000, Some(h0)),
        // A test of 0 to 50 misses 5 % at +50 by its definition; the bar asks for 5 % at most, so beta is 3 %.
        case("+50 Elo, bounds 0 and 50, beta 0.03", 50.0, Sprt { beta: 0.03, ..test }, 1_000, Some(h1)),
        case("equal bots, bounds 0 and 20", 0.0, close, 5_000, Some(h0)),
        case("+25 Elo, bounds 0 and 50", 25.0, test, 1_000, None),
        case("+200 Elo, bounds 0 and 50", 200.0, test, 1_000, None),
        case("-100 Elo, bounds 0 and 50", -100.0, test, 1_000, None),
    ]
}

fn main() -> ExitCode {
    let duels = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(DUELS_DEFAULT);
    println!(
        "{duels} duels a case; games that end in any order, a pair's board favours one start by up to 20 points in 100"
    );
    let is_good =
        cases().iter().enumerate().fold(true, |is_good, (number, case)| run(case, number as u64, duels) && is_good);
    if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Plays all duels of a case, and says whether its bars hold.
fn run(case: &Case, number: u64, duels: u32) -> bool {
    let (mut ends, mut lengths, mut misses) = ([0_u32; DuelEnd::ALL.len()], Vec::new(), 0_u32);
    for at in 0..duels {
        let duel = play(case, Seed(number << 32 | u64::from(at)));
        let counts = duel.pairings()[0].counts();
        let (low, high) = score_interval(counts);
        misses += u32::from(!(low..=high).contains(&score_of(case.elo)));
        lengths.push(counts.pairs());
        ends[duel.end().map_or(0, |end| end as usize)] += 1;
    }
    lengths.sort_unstable();
    let median = lengths[lengths.len() / 2];
    let mean = lengths.iter().copied().map(f64::from).sum::<f64>() / f64::from(duels);
    let named = DuelEnd::ALL.into_iter().zip(ends).filter(|(_, count)| *count > 0);
    let named: Vec<String> = named.map(|(end, count)| format!("{} {count}", end.name())).collect();
    println!("\n{}\n  {}", case.name, named.join(", "));
    println!("  pairs: median {median}, mean {mean:.1}; intervals that miss the truth: {misses} of {duels}");
    let mut is_good = check("intervals that miss, of 1,000", f64::from(misses) * 1_000.0 / f64::from(duels), 50.0);
    if let Some((right, truth, least)) = case.bar {
        let wrong = f64::from(duels - ends[right as usize]) * 1_000.0 / f64::from(duels);
        is_good &= check("wrong or no verdicts, of 1,000", wrong, f64::from(1_000 - least));
        let expected = case.test.expected_pairs(&probabilities(case.elo), truth);
        println!("  Wald expects {expected:.1} pairs");
        is_good &= check("median by Wald's expectation", f64::from(median) / expected, 1.2);
    }
    is_good
}

fn check(what: &str, value: f64, most: f64) -> bool {
    let is_good = value <= most;
    println!("  {} {what}: {value:.2}, at most {most:.2}", if is_good { "good" } else { "BAD " });
    is_good
}

fn play(case: &Case, seed: Seed) -> Duel {
    let mut chance = Chance::new(seed, 0, Purpose::StartPositions);
    let (mut duel, mut ids, mut number) = (Duel::new(definition(case, seed)), 0, 0);
    let mut results = Vec::new();
    loop {
        duel = duel
            .advance(&results, &[], false, || {
                ids += 1;
                MatchId(ids)
            })
            .duel;
        if duel.end().is_some() {
            return duel;
        }
        let playing: Vec<StartedGame> = duel.games_in_flight().collect();
        let game = playing[chance.below(playing.len() as u32) as usize];
        number += 1;
        results = vec![result(number, game, places(case.elo, seed, game))];
    }
}

fn definition(case: &Case, seed: Seed) -> DuelDefinition {
    let bot = |number| DuelBot {
        bot: BotId(number),
        name: String::new(),
        owner: String::new(),
        url: String::new(),
        is_registered: false,
    };
    DuelDefinition {
        bots: vec![bot(1), bot(2)],
        settings: MatchSettings { rules: Rules::default(), width: 11, height: 11, timeout_ms: 500, turns_max: 1_000 },
        seed,
        test: Some(case.test),
        pairs_max: case.pairs_max,
        pairs_at_once: 4,
        is_public: false,
    }
}

/// The expected scores of the candidate in both games of a pair, by the board's bias: their mean is what its strength says.
fn scores(elo: f64, bias: f64) -> [f64; 2] {
    let score = score_of(elo);
    let bias = bias.min(score - DRAWS / 2.0).min(1.0 - DRAWS / 2.0 - score).max(0.0);
    [score + bias, score - bias]
}

/// Loss, draw, win of a game with this expected score.
fn outcomes(score: f64) -> [f64; 3] {
    let win = score - DRAWS / 2.0;
    [1.0 - DRAWS - win, DRAWS, win]
}

/// Of the five scores of a pair.
fn probabilities(elo: f64) -> [f64; PAIR_SCORES] {
    let mut sums = [0.0; PAIR_SCORES];
    for bias in BOARD_BIASES {
        let [one, other] = scores(elo, bias).map(outcomes);
        for (at, probability) in one.iter().enumerate() {
            for (then, other) in other.iter().enumerate() {
                sums[at + then] += probability * other / BOARD_BIASES.len() as f64;
            }
        }
    }
    sums
}

/// The places by seat.
fn places(elo: f64, seed: Seed, game: StartedGame) -> [u8; 2] {
    let board = BOARD_BIASES[Chance::new(seed, game.key.pair, Purpose::StartFood).below(3) as usize];
    let mut chance = Chance::new(seed, game.key.pair * 2 + u32::from(game.key.game), Purpose::Food);
    let drawn = f64::from(chance.below(u32::MAX)) / f64::from(u32::MAX);
    let [loss, draw, _] = outcomes(scores(elo, board)[usize::from(game.key.game)]);
    let candidate_first = match drawn {
        drawn if drawn < loss => [2, 1],
        drawn if drawn < loss + draw => [1, 1],
        _ => [1, 2],
    };
    if game.key.game == 0 { [candidate_first[1], candidate_first[0]] } else { candidate_first }
}

fn result(number: u64, game: StartedGame, places: [u8; 2]) -> CompetitionResult {
    let seat = |place| SeatSummary { bot: BotId(1), place, cause: None, food_eaten: 0, is_silent: false };
    let summary = ResultSummary {
        is_draw: places == [1, 1],
        is_server_fault: false,
        turns: 100,
        seats: places.map(seat).to_vec(),
    };
    CompetitionResult {
        number,
        match_id: game.match_id,
        key: game.key.to_u64(),
        ended_at: UnixMs(0),
        ending: MatchState::Finished,
        summary,
    }
}
