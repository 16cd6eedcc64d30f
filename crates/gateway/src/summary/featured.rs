//! Which running match the home page shows.

use crate::games::game_type;
use engine::competitions::{CompetitionKind, CompetitionRow};
use engine::ids::{BotId, CompetitionId, MatchId};
use engine::ladders::season::current_season;
use engine::rows::MatchRow;
use std::collections::BTreeMap;
use store::{Reader, StoreError};
use wire::api::{FeaturedGame, FeaturedLeaderboard, FeaturedSnake};
use wire::time::Timestamp;

/// Running matches that are compared: the newest.
const COMPARED_MAX: usize = 32;

/// A running match, and what is known of its ladder if that is public.
struct Candidate {
    row: MatchRow,
    ladder: Option<CompetitionRow>,
    /// Of its bots there, by seat.
    scores: Vec<Option<f64>>,
}

impl Candidate {
    /// The better match has the greater one.
    fn rank(&self) -> Rank {
        let mut scores: Vec<f64> = self.scores.iter().copied().flatten().collect();
        scores.sort_unstable_by(|a, b| b.total_cmp(a));
        Rank {
            pair: scores.get(1).map(|second| scores[0] + second),
            snakes: self.row.spec.seats.len(),
            id: self.row.spec.id,
        }
    }
}

/// First by the scores of its best two bots, then by its snakes; of equals the newest.
struct Rank {
    pair: Option<f64>,
    snakes: usize,
    id: MatchId,
}

impl Rank {
    fn is_less(&self, other: &Self) -> bool {
        let pair = |rank: &Self| rank.pair.unwrap_or(f64::NEG_INFINITY);
        pair(self).total_cmp(&pair(other)).then(self.snakes.cmp(&other.snakes)).then(self.id.cmp(&other.id)).is_lt()
    }
}

pub(super) fn find(reader: &mut dyn Reader) -> Result<Option<FeaturedGame>, StoreError> {
    let rows = reader.running_public_matches(None, None, COMPARED_MAX)?;
    let mut ladders = BTreeMap::<CompetitionId, Option<CompetitionRow>>::new();
    let mut best: Option<Candidate> = None;
    for row in rows {
        let origin = row.spec.origin.filter(|origin| origin.kind == CompetitionKind::Ladder);
        let ladder = match origin.map(|origin| origin.competition) {
            Some(id) => match ladders.get(&id) {
                Some(known) => known.clone(),
                // Public bots may play for a private ladder: of that, nothing is said.
                None => {
                    let ladder = reader.competitions_by_id(&[id])?.pop().filter(|ladder| ladder.is_public);
                    ladders.entry(id).or_insert(ladder).clone()
                }
            },
            None => None,
        };
        let scores = scores(reader, ladder.as_ref(), &row)?;
        let candidate = Candidate { row, ladder, scores };
        if best.as_ref().is_none_or(|best| best.rank().is_less(&candidate.rank())) {
            best = Some(candidate);
        }
    }
    Ok(best.map(view))
}

fn scores(
    reader: &mut dyn Reader,
    ladder: Option<&CompetitionRow>,
    row: &MatchRow,
) -> Result<Vec<Option<f64>>, StoreError> {
    let bots: Vec<BotId> = row.spec.seats.iter().map(|seat| seat.bot).collect();
    let Some(ladder) = ladder else { return Ok(vec![None; bots.len()]) };
    let entries = reader.ladders().ladder_entries_of(ladder.id, current_season(ladder), &bots)?;
    let scores: BTreeMap<BotId, f64> =
        entries.iter().map(|entry| (entry.entrant.bot, entry.record.rating.display_score())).collect();
    Ok(bots.iter().map(|bot| scores.get(bot).copied()).collect())
}

fn view(Candidate { row, ladder, scores }: Candidate) -> FeaturedGame {
    let (spec, status) = (row.spec, row.status);
    let snake =
        |(seat, rating): (engine::matches::spec::SeatSpec, Option<f64>)| FeaturedSnake { name: seat.name, rating };
    FeaturedGame {
        id: spec.id.to_string(),
        game_type: game_type(&spec.rules).to_owned(),
        map: spec.rules.map.name().to_owned(),
        board: format!("{}x{}", spec.width, spec.height),
        turns: status.turns,
        started_at: status.started_at.map(|at| Timestamp(at.0)),
        snakes: spec.seats.into_iter().zip(scores).map(snake).collect(),
        leaderboard: ladder.map(|ladder| FeaturedLeaderboard { id: ladder.id.to_string(), name: ladder.name }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Matches by their best pair and their snakes; the one with the greater index is newer.
    #[track_caller]
    fn check(matches: &[(Option<f64>, usize)], want: usize) {
        let rank =
            |(at, &(pair, snakes)): (usize, &(Option<f64>, usize))| Rank { pair, snakes, id: MatchId(at as u128) };
        let mut ranks = matches.iter().enumerate().map(rank);
        let first = ranks.next().unwrap();
        let best = ranks.fold(first, |best, rank| if best.is_less(&rank) { rank } else { best });
        assert_eq!(best.id.0, want as u128, "{matches:?}");
    }

    #[test]
    fn the_best_pair_comes_first_then_the_most_snakes_then_the_newest() {
        check(&[(None, 2)], 0);
        check(&[(None, 2), (None, 8), (None, 4)], 1);
        check(&[(None, 4), (None, 4)], 1);
        check(&[(None, 16), (Some(-3.0), 2)], 1);
        check(&[(Some(50.0), 2), (Some(60.0), 2), (Some(55.0), 8)], 1);
        check(&[(Some(50.0), 4), (Some(50.0), 2)], 0);
        check(&[(Some(50.0), 2), (Some(50.0), 2)], 1);
    }
}
