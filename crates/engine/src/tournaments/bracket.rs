//! Brackets of single and double elimination.
//!
//! Seeds stand as in every bracket: the first can meet the second in the final only, and who has no opponent in the first round is
//! among the best seeds.

use crate::tournaments::pairing::{Pairing, PairingStage, Source};

/// Seeds, from 0, in the order of the places of a bracket with `size` places, which is a power of two: neighbours meet.
pub(super) fn seed_order(size: usize) -> Vec<usize> {
    let mut order = vec![0];
    while order.len() < size {
        let last = order.len() * 2 - 1;
        order = order.into_iter().flat_map(|seed| [seed, last - seed]).collect();
    }
    order
}

/// Appends the bracket of these entrants, best seed first, in which one defeat is the end.
pub(super) fn add_single(pairings: &mut Vec<Pairing>, field: &[u16], third_place: bool) {
    let rounds = add_winners(pairings, field);
    let (last, before) = (rounds.len() - 1, rounds.len().checked_sub(2));
    if let Some(before) = before.filter(|_| third_place) {
        let losers = rounds[before].iter().map(|number| Source::LoserOf(*number)).collect();
        let game = Pairing::new(PairingStage::ThirdPlace, last as u16 + 1, losers);
        pairings.push(game);
    }
}

/// Appends the brackets of these entrants in which the second defeat is the end.
pub(super) fn add_double(pairings: &mut Vec<Pairing>, field: &[u16], final_reset: bool) {
    let winners = add_winners(pairings, field);
    let losers_final = add_losers(pairings, &winners);
    let winners_final = winners[winners.len() - 1][0];
    // In a field of two, the loser of the only pairing is at once the last one of those with a defeat.
    let challenger = losers_final.map_or(Source::LoserOf(winners_final), Source::WinnerOf);
    let grand_final = pairings.len() as u32;
    pairings.push(Pairing::new(PairingStage::GrandFinal, 1, vec![Source::WinnerOf(winners_final), challenger]));
    if final_reset {
        let same = vec![Source::WinnerOf(grand_final), Source::LoserOf(grand_final)];
        pairings.push(Pairing::new(PairingStage::FinalReset, 1, same));
    }
}

/// Appends the rounds of those without a defeat; the numbers of the pairings, by round.
fn add_winners(pairings: &mut Vec<Pairing>, field: &[u16]) -> Vec<Vec<u32>> {
    let size = field.len().max(2).next_power_of_two();
    let source = |seed: usize| field.get(seed).map_or(Source::Nobody, |entrant| Source::Entrant(*entrant));
    let mut sources: Vec<_> = seed_order(size).into_iter().map(source).collect();
    let mut rounds = Vec::new();
    while sources.len() > 1 {
        let numbers = add_round(pairings, PairingStage::Winners, rounds.len() as u16 + 1, &sources);
        sources = numbers.iter().map(|number| Source::WinnerOf(*number)).collect();
        rounds.push(numbers);
    }
    rounds
}

/// Appends the rounds of those with one defeat; the number of the last pairing.
///
/// Each round of the winners sends its losers down once. Those of the first round play each other; those of a later one play who
/// is left here, and those who are left then play each other. The losers of the second round come in reverse order, so that they
/// do not meet at once those whom their own conquerors have beaten.
fn add_losers(pairings: &mut Vec<Pairing>, winners: &[Vec<u32>]) -> Option<u32> {
    let (first, later) = winners.split_first()?;
    let mut left: Vec<_> = first.iter().map(|number| Source::LoserOf(*number)).collect();
    let mut round = 0;
    let mut last = None;
    for (turn, numbers) in later.iter().enumerate() {
        round += 1;
        let inner = add_round(pairings, PairingStage::Losers, round, &left);
        let mut coming: Vec<_> = numbers.iter().map(|number| Source::LoserOf(*number)).collect();
        if turn % 2 == 0 {
            coming.reverse();
        }
        let survivors = inner.into_iter().map(Source::WinnerOf);
        let sources: Vec<_> = survivors.zip(coming).flat_map(|(survivor, coming)| [survivor, coming]).collect();
        round += 1;
        let outer = add_round(pairings, PairingStage::Losers, round, &sources);
        last = outer.last().copied();
        left = outer.into_iter().map(Source::WinnerOf).collect();
    }
    last
}

/// Appends one round, in which neighbours meet; the numbers of its pairings.
fn add_round(pairings: &mut Vec<Pairing>, stage: PairingStage, round: u16, sources: &[Source]) -> Vec<u32> {
    let add = |pair: &[Source]| {
        pairings.push(Pairing::new(stage, round, pair.to_vec()));
        pairings.len() as u32 - 1
    };
    sources.chunks(2).map(add).collect()
}
