//! Everyone against everyone: a round robin, and groups of which the best go on into a bracket.

use crate::tournaments::bracket::seed_order;
use crate::tournaments::pairing::{Pairing, PairingStage, Source};

/// Everyone of the field against everyone once, round by round: no entrant plays twice in a round.
///
/// The circle method: the first stays, all others move on by one place after each round; who faces the empty place of an odd
/// field pauses.
pub(super) fn round_robin(field: &[u16], stage: PairingStage) -> Vec<Pairing> {
    let mut circle: Vec<Option<u16>> = field.iter().copied().map(Some).collect();
    if circle.len() % 2 == 1 {
        circle.push(None);
    }
    let half = circle.len() / 2;
    let mut pairings = Vec::new();
    for round in 1..circle.len() {
        for at in 0..half {
            if let (Some(one), Some(other)) = (circle[at], circle[circle.len() - 1 - at]) {
                let sources = vec![Source::Entrant(one), Source::Entrant(other)];
                pairings.push(Pairing::new(stage, round as u16, sources));
            }
        }
        circle[1..].rotate_right(1);
    }
    pairings
}

/// The field, best seed first, in groups of about equal strength: forwards and backwards in turns.
pub(super) fn split(field: &[u16], groups: u16) -> Vec<Vec<u16>> {
    let count = usize::from(groups.max(1));
    let mut split = vec![Vec::new(); count];
    for (at, entrant) in field.iter().enumerate() {
        let (row, column) = (at / count, at % count);
        let group = if row % 2 == 0 { column } else { count - 1 - column };
        split[group].push(*entrant);
    }
    split
}

/// All pairings of the groups, round by round.
pub(super) fn pairings(field: &[u16], groups: u16) -> Vec<Pairing> {
    let split = split(field, groups);
    let mut pairings: Vec<_> =
        split.iter().zip(0..).flat_map(|(group, number)| round_robin(group, PairingStage::Group(number))).collect();
    pairings.sort_by_key(|pairing| (pairing.round, pairing.stage));
    pairings
}

/// Who goes on, best seed first: the winners of all groups, then the seconds …; `ranked` has each group, best first. Where two of
/// one group would meet in the first round, the lower of them changes places with another who came in on the same rank.
pub(super) fn qualified(ranked: &[Vec<u16>], advance: u8) -> Vec<u16> {
    let rank_of =
        |rank: usize| ranked.iter().enumerate().filter_map(move |(group, best)| Some((*best.get(rank)?, group)));
    let mut seeds: Vec<(u16, usize)> = Vec::new();
    let mut ranks = Vec::new();
    for rank in 0..usize::from(advance) {
        seeds.extend(rank_of(rank));
        ranks.resize(seeds.len(), rank);
    }
    let order = seed_order(seeds.len().max(2).next_power_of_two());
    let opponent = |seed: usize| {
        let place = order.iter().position(|other| *other == seed);
        place.and_then(|place| order.get(place ^ 1).copied())
    };
    let clashes = |seeds: &[(u16, usize)], seed: usize| {
        let facing = opponent(seed).and_then(|other| seeds.get(other));
        facing.is_some_and(|(_, group)| *group == seeds[seed].1)
    };
    for seed in 0..seeds.len() {
        if !clashes(&seeds, seed) {
            continue;
        }
        let lower = opponent(seed).map_or(seed, |other| other.max(seed));
        let swap = (0..seeds.len()).rev().find(|other| {
            let mut swapped = seeds.clone();
            swapped.swap(lower, *other);
            ranks[lower] == ranks[*other] && !clashes(&swapped, lower) && !clashes(&swapped, *other)
        });
        if let Some(other) = swap {
            seeds.swap(lower, other);
        }
    }
    seeds.into_iter().map(|(entrant, _)| entrant).collect()
}
