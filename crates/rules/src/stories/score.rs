//! Scoring of the votes.
//!
//! A voter is a player, not the storyteller, who voted. When some but not all voters guessed the storyteller's card,
//! the storyteller wins with those who did: 10 points, and 2 for each who did not; 5 for each who guessed, 1 for each
//! who did not. Otherwise the story was too clear or too vague: 5 points for the storyteller and for every voter, and
//! the voters win. In both cases a voter gets 2 for each other voter whom their card misled.

use super::card::Card;

/// What a player other than the storyteller did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ballot {
    /// The card that the player added to the storyteller's.
    pub picked: Option<Card>,
    /// The card that the player took for the storyteller's.
    pub vote: Option<Card>,
}

/// What a game brought one player.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlayerScore {
    /// Points; `None` for a player who did not vote: the standing does not change.
    pub points: Option<u32>,
    /// Whether the player is one of the winners.
    pub has_won: bool,
}

/// The results of all players.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GameScore {
    /// The storyteller.
    pub storyteller: PlayerScore,
    /// The others, in the order of their ballots.
    pub players: Vec<PlayerScore>,
}

const STORYTELLER_WON: u32 = 10;
const STORYTELLER_LOST: u32 = 5;
const STORYTELLER_EACH_FAILED: u32 = 2;
const PLAYER_WON: u32 = 5;
const PLAYER_FAILED: u32 = 1;
const PLAYER_EACH_MISLED: u32 = 2;

/// Counts the votes. A vote for a card that no player picked gives no points; a vote for one's own card does not
/// either.
#[must_use]
pub fn score(winner: Card, ballots: &[Ballot]) -> GameScore {
    let voters = ballots.iter().filter(|ballot| ballot.vote.is_some()).count();
    let guessed = ballots.iter().filter(|ballot| ballot.vote == Some(winner)).count();
    let is_won = 0 < guessed && guessed < voters;
    let storyteller =
        if is_won { STORYTELLER_WON + STORYTELLER_EACH_FAILED * (voters - guessed) as u32 } else { STORYTELLER_LOST };
    let player = |(seat, ballot): (usize, &Ballot)| {
        let Some(vote) = ballot.vote else { return PlayerScore::default() };
        let has_won = !is_won || vote == winner;
        let own = if has_won { PLAYER_WON } else { PLAYER_FAILED };
        let points = own + PLAYER_EACH_MISLED * misled(winner, ballots, seat);
        PlayerScore { points: Some(points), has_won }
    };
    GameScore {
        storyteller: PlayerScore { points: Some(storyteller), has_won: is_won },
        players: ballots.iter().enumerate().map(player).collect(),
    }
}

/// How many others voted for this seat's card instead of the storyteller's.
fn misled(winner: Card, ballots: &[Ballot], seat: usize) -> u32 {
    let Some(card) = ballots[seat].picked.filter(|&card| card != winner) else { return 0 };
    let others = ballots.iter().enumerate().filter(|(other, _)| *other != seat);
    others.filter(|(_, ballot)| ballot.vote == Some(card)).count() as u32
}

#[cfg(test)]
mod tests {
    use super::super::level::Level;
    use super::super::standing::Standing;
    use super::*;
    use crate::chance::Seed;
    use proptest::prelude::*;

    const WINNER: u8 = 1;

    /// Each ballot is (picked, vote), 0 for none; each result (points, has_won), the storyteller first, `None` for no points.
    #[track_caller]
    fn check(ballots: &[(u8, u8)], want: &[(Option<u32>, bool)]) {
        let card = |number: u8| (number != 0).then_some(Card(number));
        let ballots: Vec<_> =
            ballots.iter().map(|&(picked, vote)| Ballot { picked: card(picked), vote: card(vote) }).collect();
        let scored = score(Card(WINNER), &ballots);
        let have: Vec<_> =
            [scored.storyteller].iter().chain(&scored.players).map(|got| (got.points, got.has_won)).collect();
        assert_eq!(have, want);
    }

    #[test]
    fn some_guessed() {
        check(&[(2, 1), (3, 2)], &[(Some(12), true), (Some(7), true), (Some(1), false)]);
        check(&[(2, 1), (3, 2), (4, 2)], &[(Some(14), true), (Some(9), true), (Some(1), false), (Some(1), false)]);
        check(&[(2, 3), (3, 1)], &[(Some(12), true), (Some(1), false), (Some(7), true)]);
    }

    #[test]
    fn all_or_none_guessed() {
        check(&[(2, 1), (3, 1)], &[(Some(5), false), (Some(5), true), (Some(5), true)]);
        check(&[(2, 3), (3, 2)], &[(Some(5), false), (Some(7), true), (Some(7), true)]);
    }

    #[test]
    fn no_votes() {
        check(&[(2, 0), (3, 0)], &[(Some(5), false), (None, false), (None, false)]);
        check(&[], &[(Some(5), false)]);
    }

    #[test]
    fn a_picker_who_did_not_vote_gets_nothing() {
        check(&[(2, 0), (3, 2), (4, 1)], &[(Some(12), true), (None, false), (Some(1), false), (Some(5), true)]);
    }

    #[test]
    fn a_vote_for_ones_own_card_gives_no_points() {
        check(&[(2, 2), (3, 1)], &[(Some(12), true), (Some(1), false), (Some(5), true)]);
    }

    #[test]
    fn a_vote_for_a_card_that_is_not_there_has_failed() {
        check(&[(2, 120), (3, 1)], &[(Some(12), true), (Some(1), false), (Some(5), true)]);
    }

    /// Two games of one storyteller: in each, one of two is right and the other votes for a card that is not there; a third
    /// only picks.
    #[test]
    fn the_vector_of_two_games() {
        let mut standings = [Standing::default(); 4];
        let play = |standings: &mut [Standing; 4], votes: [Option<Card>; 3]| {
            let picked = [Card(2), Card(3), Card(4)].map(Some);
            let ballots: Vec<_> = picked.into_iter().zip(votes).map(|(picked, vote)| Ballot { picked, vote }).collect();
            let scored = score(Card(WINNER), &ballots);
            for (seat, got) in [scored.storyteller].into_iter().chain(scored.players).enumerate() {
                standings[seat] = got.points.map_or(standings[seat], |points| standings[seat].award(points, Seed(9)));
            }
            [seats(standings, |standing| standing.score), seats(standings, |standing| standing.earned.len() as u64)]
        };
        let first = play(&mut standings, [Some(Card(WINNER)), Some(Card(120)), None]);
        assert_eq!(first, [[12, 5, 1, 0], [1, 1, 1, 0]]);
        assert_eq!(levels(&standings), [(2, 17, 6), (2, 17, 13), (2, 17, 17), (1, 1, 1)]);
        let second = play(&mut standings, [Some(Card(120)), Some(Card(WINNER)), None]);
        assert_eq!(second, [[24, 6, 6, 0], [2, 1, 1, 0]]);
        assert_eq!(levels(&standings), [(3, 38, 32), (2, 17, 12), (2, 17, 12), (1, 1, 1)]);
        assert_eq!(Level::of(standings[0].score_prev).level, 2);
        assert_eq!(seats(&standings, |standing| standing.earned_last.len() as u64), [1, 0, 0, 0]);
    }

    fn seats(standings: &[Standing; 4], read: fn(&Standing) -> u64) -> [u64; 4] {
        std::array::from_fn(|seat| read(&standings[seat]))
    }

    fn levels(standings: &[Standing; 4]) -> [(u32, u64, u64); 4] {
        standings.map(|standing| Level::of(standing.score)).map(|level| (level.level, level.next, level.left))
    }

    proptest! {
        /// The points of a game are bounded and only voters and the storyteller get any.
        #[test]
        fn points_go_to_voters(ballots in prop::collection::vec((2u8..20, 0u8..20), 0..12)) {
            let card = |number: u8| (number != 0).then_some(Card(number));
            let ballots: Vec<_> = ballots.into_iter().map(|(picked, vote)| Ballot { picked: card(picked), vote: card(vote) }).collect();
            let scored = score(Card(WINNER), &ballots);
            for (ballot, got) in ballots.iter().zip(&scored.players) {
                prop_assert_eq!(ballot.vote.is_some(), got.points.is_some());
                prop_assert!(!got.has_won || got.points.is_some());
            }
            let winners = scored.players.iter().filter(|got| got.has_won).count();
            let right = ballots.iter().filter(|ballot| ballot.vote == Some(Card(WINNER))).count();
            let voters = ballots.iter().filter(|ballot| ballot.vote.is_some()).count();
            prop_assert_eq!(winners, if scored.storyteller.has_won { right } else { voters });
        }
    }
}
