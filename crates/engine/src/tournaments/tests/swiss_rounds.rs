//! Rounds of Swiss tournaments against an exhaustive search.

use crate::tournaments::swiss::{Competitor, Round, pair};
use proptest::prelude::*;

/// The fewest rematches with which these can be paired, by trying everything.
fn fewest_rematches(left: &[u16], meetings: &impl Fn(u16, u16) -> u32) -> u32 {
    let Some((first, rest)) = left.split_first() else { return 0 };
    let with = |at: usize| {
        let others: Vec<_> =
            rest.iter().copied().enumerate().filter(|(i, _)| *i != at).map(|(_, other)| other).collect();
        u32::from(meetings(*first, rest[at]) > 0) + fewest_rematches(&others, meetings)
    };
    (0..rest.len()).map(with).min().unwrap_or(0)
}

fn rematches(round: &Round, meetings: &impl Fn(u16, u16) -> u32) -> u32 {
    round.pairs.iter().map(|(one, other)| u32::from(meetings(*one, *other) > 0)).sum()
}

proptest! {
    /// Any table in which any two may have met: as few rematches as there can be, with the bye for one of those with the fewest.
    #[test]
    fn a_rematch_only_where_no_pairing_avoids_it(
        points in prop::collection::vec(0_u32..4, 2..=9),
        byes in prop::collection::vec(0_u32..2, 9),
        met in prop::collection::vec(0_u32..3, 81),
        density in 0_u32..3,
    ) {
        let mut points = points;
        points.sort_unstable_by(|a, b| b.cmp(a));
        let table: Vec<_> = (0..).zip(&points).zip(&byes)
            .map(|((entrant, points), byes)| Competitor { entrant, points: *points, byes: *byes }).collect();
        let meetings = |a: u16, b: u16| met[usize::from(a.min(b)) * 9 + usize::from(a.max(b))].saturating_sub(density);
        let round = pair(&table, meetings);

        let mut all: Vec<u16> = round.pairs.iter().flat_map(|(a, b)| [*a, *b]).chain(round.bye).collect();
        all.sort_unstable();
        prop_assert_eq!(all, (0..table.len() as u16).collect::<Vec<_>>(), "each once");

        let fewest_byes = table.iter().map(|line| line.byes).min().unwrap_or(0);
        let without = |out: Option<u16>| (0..table.len() as u16).filter(|at| Some(*at) != out).collect::<Vec<_>>();
        let best = if table.len() % 2 == 0 {
            fewest_rematches(&without(None), &meetings)
        } else {
            let may_pause = table.iter().filter(|line| line.byes == fewest_byes);
            may_pause.map(|line| fewest_rematches(&without(Some(line.entrant)), &meetings)).min().unwrap_or(0)
        };
        prop_assert_eq!(rematches(&round, &meetings), best);
        if let Some(bye) = round.bye {
            prop_assert_eq!(table[usize::from(bye)].byes, fewest_byes);
        }
    }
}

#[track_caller]
fn check(points: &[u32], met: &[(u16, u16)], want: &[(u16, u16)], bye: Option<u16>) {
    let table: Vec<_> =
        (0..).zip(points).map(|(entrant, points)| Competitor { entrant, points: *points, byes: 0 }).collect();
    let round = pair(&table, |a, b| u32::from(met.contains(&(a.min(b), a.max(b)))));
    assert_eq!((round.pairs.as_slice(), round.bye), (want, bye));
}

#[test]
fn the_upper_half_of_a_score_group_meets_the_lower() {
    check(&[0, 0, 0, 0], &[], &[(0, 2), (1, 3)], None);
    check(&[0; 8], &[], &[(0, 4), (1, 5), (2, 6), (3, 7)], None);
    check(&[0; 5], &[], &[(0, 2), (1, 3)], Some(4));
    check(&[1, 1, 0, 0], &[(0, 2), (1, 3)], &[(0, 1), (2, 3)], None);
    check(&[1, 1, 1, 1, 0, 0, 0, 0], &[(0, 4), (1, 5), (2, 6), (3, 7)], &[(0, 2), (1, 3), (4, 6), (5, 7)], None);
    // Three with two points: the lowest of them comes down.
    check(&[2, 2, 2, 1, 1, 1], &[], &[(0, 1), (2, 3), (4, 5)], None);
    // 0 and 1 would be ideal, but 2 and 3 have met: no rematch at the price of other pairs.
    check(&[1, 1, 0, 0], &[(2, 3)], &[(0, 2), (1, 3)], None);
    // After all have met, rematches are left alone.
    check(&[0, 0], &[(0, 1)], &[(0, 1)], None);
}
