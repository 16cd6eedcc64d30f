//! Leaderboard and statistics, computed from a hunt's claim log. A function of the entries: who counts them, and how
//! often counting is interrupted, changes nothing.

use crate::commands::{Aggregate, HuntDelta, HunterDelta};
use crate::ids::{PlayerId, WorldId};
use crate::pack::DecodeError;
use crate::rows::RoundRow;
use crate::time::UnixMs;
use crate::worlds::{Claim, Fact, Hunter, HunterScore, WorldLogRow};
use std::collections::BTreeMap;

/// An entry that cannot be counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CountError {
    /// It does not follow the one before.
    #[error("the log of claims goes on with entry {have} instead of {want}: entries that were not counted are gone")]
    Gap {
        /// The version expected.
        want: u32,
        /// The version found.
        have: u32,
    },
    /// It is not what a world writes.
    #[error("entry {version} of the log of claims cannot be read: {why}")]
    Unreadable { version: u32, why: DecodeError },
}

/// Sums up these entries, the first of them with version `from_version`.
///
/// # Errors | [`CountError`], for the first entry that cannot be counted.
pub fn aggregate_claims(id: WorldId, from_version: u32, rows: &[WorldLogRow]) -> Result<Aggregate, CountError> {
    let mut sums = AggregateBuilder::default();
    let mut to_version = from_version;
    for row in rows {
        if row.version != to_version {
            return Err(CountError::Gap { want: to_version, have: row.version });
        }
        let fact = Fact::from_bytes(&row.bytes).map_err(|why| CountError::Unreadable { version: row.version, why })?;
        sums.add(fact);
        to_version += 1;
    }
    let hunters = sums.hunters.into_values().collect();
    Ok(Aggregate { id, from_version, to_version, hunters, totals: sums.totals, rounds: sums.rounds })
}

#[derive(Default)]
struct AggregateBuilder {
    hunters: BTreeMap<PlayerId, HunterDelta>,
    totals: HuntDelta,
    rounds: Vec<RoundRow>,
}

impl AggregateBuilder {
    fn add(&mut self, fact: Fact) {
        match fact {
            Fact::RoundBegan { .. } => {}
            Fact::Dug { at, claim, points, .. } => {
                self.totals.chests += 1;
                self.totals.points += points;
                self.add_claim(&claim, at, |delta| {
                    delta.chests += 1;
                    delta.points += points;
                });
            }
            Fact::Grabbed { at, claim, .. } => {
                self.totals.power_ups += 1;
                self.add_claim(&claim, at, |delta| delta.power_ups += 1);
            }
            Fact::RoundEnded { number, at, scores, hunters, .. } => self.end_round(number, at, &scores, hunters),
        }
    }

    fn add_claim(&mut self, claim: &Claim, at: UnixMs, change: impl FnOnce(&mut HunterDelta)) {
        if let Some(delta) = self.hunter_mut(&claim.hunter, at) {
            change(delta);
        }
    }

    /// The hunters with the most points have won; several may share the win.
    fn end_round(&mut self, number: u32, at: UnixMs, scores: &[HunterScore], hunters: u32) {
        let points = scores.first().map_or(0, |best| best.points);
        let best = scores.first().map(|best| &best.hunter);
        let winner_name = best.map_or_else(String::new, |best| best.name.to_string());
        let winner = best.and_then(|best| best.player);
        self.rounds.push(RoundRow { number, ended_at: at, winner, winner_name, points, hunters });
        for scored in scores {
            if let Some(delta) = self.hunter_mut(&scored.hunter, at) {
                delta.rounds += 1;
                delta.rounds_won += u32::from(scored.points == points);
            }
        }
    }

    /// The sums of a signed-in hunter; `None` for a guest.
    fn hunter_mut(&mut self, hunter: &Hunter, at: UnixMs) -> Option<&mut HunterDelta> {
        let player = hunter.player?;
        let delta = self.hunters.entry(player).or_insert_with(|| empty_delta(player));
        delta.name = hunter.name.to_string();
        delta.at = delta.at.max(at);
        Some(delta)
    }
}

fn empty_delta(player: PlayerId) -> HunterDelta {
    let (points, chests, power_ups, rounds, rounds_won) = (0, 0, 0, 0, 0);
    HunterDelta { player, name: String::new(), points, chests, power_ups, rounds, rounds_won, at: UnixMs(i64::MIN) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worlds::MoverId;
    use proptest::prelude::*;
    use rules::world::{Cell, PowerUp};

    fn hunter(player: u128) -> Hunter {
        let name = format!("hunter-{player}").into();
        Hunter { mover: MoverId(player as u32), player: (player > 0).then_some(PlayerId(player)), name }
    }

    fn claim(player: u128) -> Claim {
        Claim { hunter: hunter(player), seq: 1, round: 1, item: 1, cell: Cell { x: 1, y: 1 } }
    }

    /// Player 0 is a guest.
    fn dug(player: u128, points: u32, at: i64) -> Fact {
        Fact::Dug { at: UnixMs(at), claim: claim(player), points, score: points }
    }

    fn grabbed(player: u128, at: i64) -> Fact {
        Fact::Grabbed { at: UnixMs(at), claim: claim(player), kind: PowerUp::Magnet, until: UnixMs(at + 9) }
    }

    fn ended(number: u32, scores: &[(u128, u32)]) -> Fact {
        let scored = |&(player, points): &(u128, u32)| HunterScore { hunter: hunter(player), points };
        let (scores, hunters) = (scores.iter().map(scored).collect(), scores.len() as u32);
        Fact::RoundEnded { number, at: UnixMs(100), scores, hunters, points: 9 }
    }

    fn rows(from: u32, facts: &[Fact]) -> Vec<WorldLogRow> {
        (from..).zip(facts).map(|(version, fact)| WorldLogRow { version, bytes: fact.to_bytes() }).collect()
    }

    /// Of each hunter: player, points, chests, power-ups, rounds, rounds won, last time.
    fn hunters(facts: &[Fact]) -> Vec<(u128, [u32; 5], i64)> {
        let counted = aggregate_claims(WorldId(1), 7, &rows(7, facts)).unwrap();
        assert_eq!((counted.from_version, counted.to_version), (7, 7 + facts.len() as u32));
        let of = |h: &HunterDelta| (h.player.0, [h.points, h.chests, h.power_ups, h.rounds, h.rounds_won], h.at.0);
        counted.hunters.iter().map(of).collect()
    }

    #[test]
    fn sums_claims_of_signed_in_hunters() {
        assert_eq!(hunters(&[]), []);
        let began = Fact::RoundBegan { number: 1, at: UnixMs(0), until: UnixMs(9) };
        let facts = [began, dug(2, 5, 3), dug(1, 4, 9), grabbed(1, 2), dug(0, 9, 1), dug(1, 3, 1)];
        assert_eq!(hunters(&facts), [(1, [7, 2, 1, 0, 0], 9), (2, [5, 1, 0, 0, 0], 3)]);
        let totals = aggregate_claims(WorldId(1), 0, &rows(0, &facts)).unwrap().totals;
        assert_eq!(totals, HuntDelta { points: 21, chests: 4, power_ups: 1 });
    }

    #[test]
    fn the_best_of_a_round_win_it() {
        let facts = [ended(1, &[(0, 9), (1, 9), (2, 8)]), ended(2, &[(2, 1)]), ended(3, &[])];
        assert_eq!(hunters(&facts), [(1, [0, 0, 0, 1, 1], 100), (2, [0, 0, 0, 2, 1], 100)]);
        let rounds = aggregate_claims(WorldId(1), 0, &rows(0, &facts)).unwrap().rounds;
        let columns = |row: &RoundRow| (row.number, row.winner, row.winner_name.clone(), row.points, row.hunters);
        let want = [
            (1, None, "hunter-0".to_owned(), 9, 3),
            (2, Some(PlayerId(2)), "hunter-2".to_owned(), 1, 1),
            (3, None, String::new(), 0, 0),
        ];
        assert_eq!(rounds.iter().map(columns).collect::<Vec<_>>(), want);
    }

    #[test]
    fn what_cannot_be_counted_is_named() {
        let mut gap = rows(3, &[dug(1, 1, 1), dug(1, 1, 1), dug(1, 1, 1)]);
        assert_eq!(aggregate_claims(WorldId(1), 2, &gap), Err(CountError::Gap { want: 2, have: 3 }));
        gap.remove(1);
        assert_eq!(aggregate_claims(WorldId(1), 3, &gap), Err(CountError::Gap { want: 4, have: 5 }));
        let junk = [WorldLogRow { version: 0, bytes: vec![0xff; 3] }];
        assert!(matches!(aggregate_claims(WorldId(1), 0, &junk), Err(CountError::Unreadable { version: 0, .. })));
    }

    proptest! {
        /// Wherever counting is interrupted, the sums are the same.
        #[test]
        fn parts_add_up_to_the_whole(
            claims in prop::collection::vec((0_u128..4, 0_u32..50, 0_i64..99), 0..40),
            cut in 0_usize..40,
        ) {
            let facts: Vec<_> = claims.iter().map(|&(player, points, at)| match points {
                0 => ended(at as u32, &[(player, 3)]),
                1..10 => grabbed(player, at),
                points => dug(player, points, at),
            }).collect();
            let rows = rows(0, &facts);
            let (first, second) = rows.split_at(cut.min(rows.len()));
            let whole = aggregate_claims(WorldId(1), 0, &rows).unwrap();
            let parts = [
                aggregate_claims(WorldId(1), 0, first).unwrap(),
                aggregate_claims(WorldId(1), first.len() as u32, second).unwrap(),
            ];
            let sum = |value: fn(&HuntDelta) -> u32| parts.iter().map(|part| value(&part.totals)).sum::<u32>();
            prop_assert_eq!(whole.totals.points, sum(|totals| totals.points));
            prop_assert_eq!(whole.totals.chests, sum(|totals| totals.chests));
            prop_assert_eq!(whole.totals.power_ups, sum(|totals| totals.power_ups));
            for hunter in &whole.hunters {
                let of = || parts.iter().flat_map(|part| &part.hunters).filter(|of| of.player == hunter.player);
                prop_assert_eq!(hunter.points, of().map(|of| of.points).sum::<u32>());
                prop_assert_eq!(hunter.rounds_won, of().map(|of| of.rounds_won).sum::<u32>());
                prop_assert_eq!(Some(hunter.at), of().map(|of| of.at).max());
            }
        }
    }
}
