//! Rounds of games of several: the best of each heat meet again, until one heat is left.

use crate::tournaments::pairing::{Pairing, PairingStage, Source};

/// The heats of a round among these, best first: as few as possible, of about equal size and strength.
pub(super) fn round(field: &[u16], round: u16, size: u8, advance: u8) -> Vec<Pairing> {
    let count = field.len().div_ceil(usize::from(size)).max(1);
    let heats = super::group_stage::split(field, count as u16);
    let is_final = count == 1;
    let heat = |players: &Vec<u16>| {
        let mut pairing =
            Pairing::new(PairingStage::Heat, round, players.iter().copied().map(Source::Entrant).collect());
        let half = players.len().div_ceil(2) as u8;
        pairing.places = if is_final { 1 } else { advance.min(half) };
        pairing
    };
    heats.iter().map(heat).collect()
}

/// Who goes on from the heats of a round, best first: the winners of all heats, then the seconds …
pub(super) fn advanced(heats: &[Pairing]) -> Vec<u16> {
    let ranking = |heat: &Pairing| heat.outcome.as_ref().map(|outcome| outcome.ranking.clone()).unwrap_or_default();
    let through: Vec<Vec<u16>> =
        heats.iter().map(|heat| ranking(heat).into_iter().take(usize::from(heat.places)).collect()).collect();
    let most = through.iter().map(Vec::len).max().unwrap_or(0);
    (0..most).flat_map(|rank| through.iter().filter_map(move |heat| heat.get(rank).copied())).collect()
}
