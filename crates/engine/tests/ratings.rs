//! Our ratings against those of another implementation: `openskill` of PyPI, whose results `bench/ratings_vectors.py` writes.
//! `bench/ratings-oracle.sh` runs this with many more of them, in a file that `RATINGS_VECTORS` names.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros)] // a test may read its file and print its figures

use engine::ratings::{Rating, rate};

/// How far a rating may be from the other implementation's, which adds in another order.
const TOLERANCE: f64 = 1e-9;

/// One player of a result: place, rating before, rating that the other implementation gives.
fn player(field: &str) -> (u8, Rating, Rating) {
    let mut values = field.split(':');
    let place = values.next().and_then(|place| place.parse().ok()).expect("a place");
    let mut number = || values.next().and_then(|number| number.parse::<f64>().ok()).expect("a number");
    let before = Rating { mu: number(), sigma: number() };
    (place, before, Rating { mu: number(), sigma: number() })
}

/// The largest distance of a rating from the other implementation's.
fn distance(line: &str) -> f64 {
    let players: Vec<_> = line.split(' ').map(player).collect();
    let before: Vec<_> = players.iter().map(|&(place, before, _)| (before, place)).collect();
    let distances = rate(&before).into_iter().zip(&players).map(|(ours, (_, _, theirs))| {
        let distance = (ours.mu - theirs.mu).abs().max((ours.sigma - theirs.sigma).abs());
        assert!(!distance.is_nan(), "{line}");
        distance
    });
    distances.fold(0.0, f64::max)
}

#[test]
fn ratings_agree_with_another_implementation() {
    let committed = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/ratings_vectors.txt");
    let path = std::env::var("RATINGS_VECTORS").unwrap_or_else(|_| committed.to_owned());
    let vectors = std::fs::read_to_string(&path).expect("the file of vectors is there");
    let mut worst = (0.0, "");
    for line in vectors.lines() {
        let distance = distance(line);
        worst = if distance > worst.0 { (distance, line) } else { worst };
    }
    let games = vectors.lines().count();
    println!("{games} games, largest difference {:.1e}", worst.0);
    assert!(games >= 200, "{path} has {games} games");
    assert!(worst.0 <= TOLERANCE, "{} at {}", worst.0, worst.1);
}
