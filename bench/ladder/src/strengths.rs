//! How strong the sample bots are that make a share of their moves without looking (`/flood/careless-0.05`).
//!
//! `bot-strengths [games]` plays games of four between bots of different shares and prints a table: share, strength, its standard
//! error, games, mean turns. `bot-strengths bots NUMBER TABLE` prints a list of so many bots, their strengths evenly spaced from the
//! weakest of the table to the strongest, as the scenarios of ladders read it.
//!
//! A strength is a Plackett-Luce parameter's logarithm: of two bots, the one that is stronger by s ends before the other with the odds
//! e^s. The weakest has 0. Estimated from the places of all games by the MM algorithm (D. R. Hunter, "MM algorithms for generalized
//! Bradley-Terry models", Annals of Statistics 32, 2004); a game in which two of its bots tied says nothing about these two.

mod games;

use rules::chance::{Chance, Dice, Purpose, Seed};

/// Shares of careless moves, the strongest first, each 1.33 times the one before.
const SHARE_MIN: f64 = 0.001;
const SHARE_STEP: f64 = 4.0 / 3.0;
const SHARES: usize = 20;
const SEATS: usize = 4;
const ROUNDS: usize = 200;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments[..] {
        [word, number, table] if word == "bots" => list_bots(number.parse().expect("a number of bots"), table),
        [games] => print_table(games.parse().expect("a number of games")),
        [] => print_table(100_000),
        _ => panic!("usage: bot-strengths [games] | bot-strengths bots NUMBER TABLE"),
    }
}

/// A game's levels by place, best first, of those who did not tie with anybody.
type Order = Vec<usize>;

fn print_table(games: u64) {
    let shares: Vec<f64> = (0..SHARES).map(|level| SHARE_MIN * SHARE_STEP.powi(level as i32)).collect();
    let mut chance = Chance::new(Seed(1), 0, Purpose::LadderPairing);
    let mut orders: Vec<Order> = Vec::new();
    let (mut turns, mut played) = (vec![0_u64; SHARES], vec![0_u64; SHARES]);
    for game in 0..games {
        let mut levels: Vec<usize> = (0..SHARES).collect();
        chance.shuffle_front(&mut levels, SEATS);
        levels.truncate(SEATS);
        let careless: Vec<f64> = levels.iter().map(|level| shares[*level]).collect();
        let (places, length) = games::play(&careless, game);
        for level in &levels {
            turns[*level] += u64::from(length);
            played[*level] += 1;
        }
        orders.push(order(&levels, &places));
    }
    let (strengths, errors) = estimate(&orders);
    println!("careless,strength,standard_error,games,turns");
    for level in 0..SHARES {
        let mean = turns[level] as f64 / played[level].max(1) as f64;
        let (share, strength, error) = (shares[level], strengths[level], errors[level]);
        println!("{share:.6},{strength:.4},{error:.4},{},{mean:.1}", played[level]);
    }
}

fn order(levels: &[usize], places: &[u8]) -> Order {
    let is_alone = |place: u8| places.iter().filter(|other| **other == place).count() == 1;
    let mut order: Vec<(u8, usize)> =
        places.iter().copied().zip(levels.iter().copied()).filter(|(place, _)| is_alone(*place)).collect();
    order.sort_unstable();
    order.into_iter().map(|(_, level)| level).collect()
}

/// Logarithms of the parameters, the least of them 0, and their standard errors (by the observed information of each alone).
fn estimate(orders: &[Order]) -> (Vec<f64>, Vec<f64>) {
    let mut strengths = [1.0_f64; SHARES];
    let mut information = vec![0.0; SHARES];
    for _ in 0..ROUNDS {
        let (mut wins, mut chances) = (vec![0.0; SHARES], vec![0.0; SHARES]);
        information = vec![0.0; SHARES];
        for order in orders {
            for place in 0..order.len().saturating_sub(1) {
                let sum: f64 = order[place..].iter().map(|level| strengths[*level]).sum();
                wins[order[place]] += 1.0;
                for level in &order[place..] {
                    let share = strengths[*level] / sum;
                    chances[*level] += 1.0 / sum;
                    information[*level] += share * (1.0 - share);
                }
            }
        }
        for level in 0..SHARES {
            strengths[level] = f64::max(wins[level], 0.5) / f64::max(chances[level], f64::MIN_POSITIVE);
        }
    }
    let weakest = strengths.iter().copied().fold(f64::INFINITY, f64::min);
    let logarithms = strengths.iter().map(|strength| libm::log(strength / weakest)).collect();
    (logarithms, information.into_iter().map(|information: f64| information.max(1e-9).sqrt().recip()).collect())
}

/// Names sort as strengths do: the strongest is number 1. The lines are in an order of which every beginning is spread evenly over the
/// strengths, so that a smaller trial may take a part of the list.
fn list_bots(bots: usize, table: &str) {
    let text = std::fs::read_to_string(table).expect("the table can be read");
    let number = |line: &str, column: usize| line.split(',').nth(column).and_then(|text| text.parse::<f64>().ok());
    let points: Vec<(f64, f64)> =
        text.lines().skip(1).filter_map(|line| Some((number(line, 1)?, number(line, 0)?))).collect();
    let (strongest, weakest) = (points[0].0, points[points.len() - 1].0);
    println!("name,path,strength");
    let mut order: Vec<usize> = (0..bots).collect();
    order.sort_unstable_by_key(|bot| bot.reverse_bits());
    for bot in order {
        let strength = strongest - (strongest - weakest) * bot as f64 / (bots.max(2) - 1) as f64;
        let share = share_of(&points, strength);
        println!("bot {:04},flood/careless-{share:.6}/seed-{bot},{strength:.4}", bot + 1);
    }
}

/// Between two rows of the table, the logarithm of the share is linear in the strength.
fn share_of(points: &[(f64, f64)], strength: f64) -> f64 {
    let after = points.iter().position(|(level, _)| *level <= strength).unwrap_or(points.len() - 1).max(1);
    let ((high, low_share), (low, high_share)) = (points[after - 1], points[after]);
    let position = if high > low { (high - strength) / (high - low) } else { 0.0 };
    low_share * libm::pow(high_share / low_share, position)
}
