//! Published figures, and laws that hold for every game.

use super::*;
use proptest::collection::vec;
use proptest::prelude::*;

#[track_caller]
fn check(players: &[((f64, f64), u8)], want: &[(f64, f64)]) {
    let players: Vec<_> = players.iter().map(|&((mu, sigma), place)| (Rating { mu, sigma }, place)).collect();
    let rated = rate(&players);
    assert_eq!(rated.len(), want.len());
    for (rated, want) in rated.iter().zip(want) {
        let is_near = (rated.mu - want.0).abs() < 1e-12 && (rated.sigma - want.1).abs() < 1e-12;
        assert!(is_near, "{rated:?}, published: {want:?}");
    }
}

const NEW: (f64, f64) = (MU_START, SIGMA_START);

/// Figures that several implementations publish in their tests.
#[test]
fn published_figures() {
    check(&[(NEW, 1)], &[NEW]);
    check(&[(NEW, 1), (NEW, 2)], &[(27.63523138347365, 8.065506316323548), (22.36476861652635, 8.065506316323548)]);
    check(&[(NEW, 2), (NEW, 1)], &[(22.36476861652635, 8.065506316323548), (27.63523138347365, 8.065506316323548)]);
    check(
        &[(NEW, 2), (NEW, 1), (NEW, 4), (NEW, 3)],
        &[
            (26.552824984374855, 8.179213704945203),
            (27.795084971874736, 8.263160757613477),
            (20.96265504062538, 8.083731307186588),
            (24.68943500312503, 8.083731307186588),
        ],
    );
    check(
        &[((29.182, 4.782), 1), ((27.174, 4.922), 2), ((16.672, 6.217), 3), (NEW, 4)],
        &[
            (30.209971908310553, 4.764898977359521),
            (27.64460833689499, 4.882789305097372),
            (17.403586731283518, 6.100723440599442),
            (19.214790707434826, 7.8542613981643985),
        ],
    );
}

#[test]
fn a_shown_score_begins_at_zero() {
    assert!(Rating::START.display_score().abs() < 1e-12);
    assert_eq!(rate(&[]), []);
}

/// A rating whose mean is so far off that an exponential of it alone would overflow.
#[test]
fn far_ratings_stay_finite() {
    let far = [(Rating { mu: 1e6, sigma: 1e-3 }, 2), (Rating { mu: -1e6, sigma: 8.0 }, 1)];
    assert!(rate(&far).iter().all(|rating| rating.mu.is_finite() && rating.sigma > 0.0));
}

fn game() -> impl Strategy<Value = Vec<(Rating, u8)>> {
    let rating = (-20.0..70.0, 0.01..SIGMA_START).prop_map(|(mu, sigma)| Rating { mu, sigma });
    vec((rating, 1u8..=16), 2..=16)
}

proptest! {
    #[test]
    fn a_game_never_makes_a_rating_less_certain(players in game()) {
        for (rated, (before, _)) in rate(&players).iter().zip(&players) {
            prop_assert!(rated.sigma <= before.sigma && rated.sigma > 0.0);
        }
    }

    #[test]
    fn the_best_alone_does_not_sink_and_the_last_does_not_rise(players in game()) {
        let best = players.iter().map(|(_, place)| *place).min();
        let last = players.iter().map(|(_, place)| *place).max();
        for (rated, (before, place)) in rate(&players).iter().zip(&players) {
            let is_alone = players.iter().filter(|(_, other)| other == place).count() == 1;
            prop_assert!(!is_alone || Some(*place) != best || rated.mu >= before.mu);
            prop_assert!(!is_alone || Some(*place) != last || rated.mu <= before.mu);
        }
    }

    /// The order of the seats changes no more than the order in which numbers are added.
    #[test]
    fn seats_do_not_matter(players in game()) {
        let mut reversed = players.clone();
        reversed.reverse();
        for (rated, other) in rate(&players).iter().zip(rate(&reversed).iter().rev()) {
            prop_assert!((rated.mu - other.mu).abs() < 1e-9 && (rated.sigma - other.sigma).abs() < 1e-9);
        }
    }

    /// Only the order of places counts, not their distance.
    #[test]
    fn gaps_between_places_do_not_matter(players in game()) {
        let spread: Vec<_> = players.iter().map(|(rating, place)| (*rating, place * 15)).collect();
        for (rated, other) in rate(&players).iter().zip(rate(&spread)) {
            prop_assert!(rated.is_identical(other));
        }
    }

    /// Players who came with equal ratings and tie leave with equal ratings.
    #[test]
    fn ties_of_equals_stay_equal(rating in (0.0..50.0, 0.1..SIGMA_START), count in 2usize..=16) {
        let rating = Rating { mu: rating.0, sigma: rating.1 };
        let rated = rate(&vec![(rating, 1); count]);
        for other in &rated {
            prop_assert!(other.is_identical(rated[0]) && (other.mu - rating.mu).abs() < 1e-9);
        }
    }
}
