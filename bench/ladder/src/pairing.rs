//! How good the pairings of a ladder are: `ladder-pairing [bots] [games a bot]` plays ladders of bots whose strength is known, prints a
//! figure a line as `name value`, and judges nothing (`bench/ladder-pairing.sh` does).

mod ladder;

use ladder::{Ladder, LadderParams, ranks};
use rules::chance::{Chance, Dice, Purpose, Seed};

fn main() {
    let argument = |at: usize, usual| std::env::args().nth(at).and_then(|text| text.parse().ok()).unwrap_or(usual);
    let (bots, games) = (argument(1, 1_000), argument(2, 50));
    let usual = LadderParams { bots, seats: 4, matches_at_once: 64, first_seat_bonus: 0.0, seed: 1 };
    for (name, params) in [
        ("four", usual),
        ("two", LadderParams { seats: 2, ..usual }),
        ("eight", LadderParams { seats: 8, ..usual }),
        ("bias", LadderParams { first_seat_bonus: 1.0, ..usual }),
        ("idle", LadderParams { matches_at_once: 1, ..usual }),
        ("large", LadderParams { bots: bots * 10, matches_at_once: 256, ..usual }),
    ] {
        report(name, params, games);
    }
    seats(LadderParams { bots: 200, seats: 4, ..usual }, 50_000);
}

/// Plays until the bots have so many games on average.
fn report(name: &str, params: LadderParams, games: usize) {
    let mut ladder = Ladder::new(params);
    let (mut gaps, mut random_gaps, mut rank_gaps) = (Vec::new(), Vec::new(), Vec::new());
    let mut lots = Chance::new(Seed(params.seed), u32::MAX, Purpose::LadderPairing);
    let mut mark = 5;
    while ladder.ended < matches(params, games) {
        let line_ups = ladder.step();
        // New bots are equal, and any pairing of them is near.
        if ladder.ended > matches(params, 10) {
            let mu: Vec<f64> = ladder.entries.iter().map(|entry| entry.rating.mu).collect();
            let rank = if line_ups.is_empty() { Vec::new() } else { ranks(&mu) };
            for (a, b) in line_ups.iter().flat_map(|line_up| pairs(line_up)) {
                gaps.push((mu[a] - mu[b]).abs());
                rank_gaps.push((rank[a] - rank[b]).abs());
                let mut any = || lots.below(params.bots as u32) as usize;
                random_gaps.push((mu[any()] - mu[any()]).abs());
            }
        }
        if ladder.ended >= matches(params, mark) {
            println!("{name}.spearman_after_{mark} {:.4}", ladder.spearman());
            mark = if mark < 10 { 10 } else { mark + 10 };
        }
    }
    println!("{name}.spearman {:.4}", ladder.spearman());
    println!("{name}.gap_of_random {:.3}", median(gaps) / median(random_gaps));
    println!("{name}.rank_gap_median {:.1}", median(rank_gaps));
    shares(name, &ladder);
    println!("{name}.plan_us_per_match {:.1}", ladder.planning.as_secs_f64() * 1e6 / ladder.created as f64);
    println!("{name}.plan_ms_max {:.2}", ladder.planning_max.as_secs_f64() * 1e3);
}

fn matches(params: LadderParams, games: usize) -> u64 {
    (params.bots * games / params.seats) as u64
}

fn pairs(line_up: &[usize]) -> Vec<(usize, usize)> {
    line_up.iter().enumerate().flat_map(|(at, &a)| line_up[at + 1..].iter().map(move |&b| (a, b))).collect()
}

/// Games of the strongest hundredth, and of everybody, against the median bot's.
fn shares(name: &str, ladder: &Ladder) {
    let games: Vec<f64> = ladder.games().into_iter().map(f64::from).collect();
    let middle = median(games.clone());
    let mut by_strength: Vec<usize> = (0..games.len()).collect();
    by_strength.sort_unstable_by(|&a, &b| ladder.strengths[b].total_cmp(&ladder.strengths[a]));
    let top = &by_strength[..games.len().div_ceil(100)];
    let top_mean = top.iter().map(|&bot| games[bot]).sum::<f64>() / top.len() as f64;
    println!("{name}.top_share {:.4}", top_mean / middle);
    println!("{name}.share_min {:.3}", games.iter().copied().fold(f64::INFINITY, f64::min) / middle);
    println!("{name}.share_max {:.3}", games.iter().copied().fold(0.0, f64::max) / middle);
}

/// So many games, whose first seat is worth something: how even the seats of each bot are, and what the seat does to the order.
fn seats(params: LadderParams, matches: u64) {
    let mut ladder = Ladder::new(LadderParams { first_seat_bonus: 1.0, ..params });
    while ladder.ended < matches {
        ladder.step();
    }
    let even = 1.0 / params.seats as f64;
    let worst = ladder.entries.iter().flat_map(|entry| {
        let games = f64::from(entry.seats.iter().sum::<u32>());
        entry.seats.iter().map(move |&had| (f64::from(had) / games - even).abs() * 100.0)
    });
    println!("seats.points_off_max {:.4}", worst.fold(0.0, f64::max));
    println!("seats.first_of_first_seat {:.4}", ladder.firsts[0] as f64 / ladder.ended as f64);
    println!("seats.spearman {:.4}", ladder.spearman());
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
