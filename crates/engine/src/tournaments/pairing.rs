//! A pairing: who meets whom, in which games, and how it ended.

use crate::ids::MatchId;
use crate::time::UnixMs;
use crate::tournaments::definition::TieBreak;
use crate::tournaments::event::{GameScore, VoidReason};

/// The part of a tournament that a pairing belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PairingStage {
    /// A group, from 0, played before a bracket.
    Group(u16),
    /// Everyone against everyone.
    RoundRobin,
    Swiss,
    /// A game of several, of which some go on.
    Heat,
    /// The bracket of a single elimination; of a double one, those without a defeat.
    Winners,
    /// Those with one defeat.
    Losers,
    ThirdPlace,
    /// The final of a double elimination.
    GrandFinal,
    /// The same once more, when both have one defeat.
    FinalReset,
}

impl PairingStage {
    /// The name on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Group(_) => "group",
            Self::RoundRobin => "round_robin",
            Self::Swiss => "swiss",
            Self::Heat => "heat",
            Self::Winners => "winners",
            Self::Losers => "losers",
            Self::ThirdPlace => "third_place",
            Self::GrandFinal => "grand_final",
            Self::FinalReset => "final_reset",
        }
    }
}

/// Where a player of a pairing comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    Entrant(u16),
    /// The winner of an earlier pairing.
    WinnerOf(u32),
    /// Its loser.
    LoserOf(u32),
    /// No entrant: the other side has a bye.
    Nobody,
}

/// Who stands in a place of a pairing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occupant {
    /// Not known yet.
    Open,
    Entrant(u16),
    /// No entrant will come.
    Nobody,
}

impl Occupant {
    #[must_use]
    pub fn entrant(self) -> Option<u16> {
        match self {
            Self::Entrant(entrant) => Some(entrant),
            Self::Open | Self::Nobody => None,
        }
    }
}

/// One game of a pairing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Game {
    pub match_id: MatchId,
    /// Entrants by seat.
    pub seats: Vec<u16>,
    pub created_at: UnixMs,
    /// When it left the queue, as far as that is known.
    pub started_at: Option<UnixMs>,
    /// When its end was noted.
    pub ended_at: Option<UnixMs>,
    pub end: Option<GameEnd>,
}

/// How a game ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GameEnd {
    Played(GameScore),
    Void(VoidReason),
}

/// What decided a pairing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Its games.
    Games,
    /// A rule, after its games did not.
    TieBreak(TieBreak),
    /// All others are gone.
    Walkover,
    /// All are gone, or none answered.
    DoubleWalkover,
    /// There was no opponent.
    Bye,
    /// No entrant came up to here.
    Empty,
    /// A second final that was not needed.
    NotNeeded,
}

impl Decision {
    /// The name on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Games => "games",
            Self::TieBreak(TieBreak::Food) => "tie_break_food",
            Self::TieBreak(TieBreak::Seed) => "tie_break_seed",
            Self::TieBreak(TieBreak::Lot) => "tie_break_lot",
            Self::Walkover => "walkover",
            Self::DoubleWalkover => "double_walkover",
            Self::Bye => "bye",
            Self::Empty => "empty",
            Self::NotNeeded => "not_needed",
        }
    }
}

/// How a pairing ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub decision: Decision,
    /// Those that are still in the tournament, best first: the first has won.
    pub ranking: Vec<u16>,
}

/// Bots that meet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pairing {
    pub stage: PairingStage,
    /// From 1 within its stage.
    pub round: u16,
    pub sources: Vec<Source>,
    /// By source.
    pub players: Vec<Occupant>,
    /// How many of them matter: the winner alone, or those of a heat that go on.
    pub places: u8,
    pub games: Vec<Game>,
    pub outcome: Option<Outcome>,
    pub decided_at: Option<UnixMs>,
}

impl Pairing {
    pub(super) fn new(stage: PairingStage, round: u16, sources: Vec<Source>) -> Self {
        let players = vec![Occupant::Open; sources.len()];
        Self { stage, round, sources, players, places: 1, games: Vec::new(), outcome: None, decided_at: None }
    }

    /// Entrants that are known to play in it.
    pub fn entrants(&self) -> impl Iterator<Item = u16> {
        self.players.iter().filter_map(|player| player.entrant())
    }

    #[must_use]
    pub fn winner(&self) -> Option<u16> {
        self.outcome.as_ref().and_then(|outcome| outcome.ranking.first().copied())
    }

    /// Whether all who play in it are known.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.players.iter().all(|player| *player != Occupant::Open)
    }

    /// Games that are queued or running.
    pub fn open_games(&self) -> impl Iterator<Item = &Game> {
        self.games.iter().filter(|game| game.end.is_none())
    }

    /// Games won by this entrant: alone on the first place, or with no other entrant that answered.
    #[must_use]
    pub fn games_won(&self, entrant: u16) -> u16 {
        self.games.iter().filter(|game| game.winner() == Some(entrant)).count() as u16
    }

    pub(super) fn food(&self, entrant: u16) -> u32 {
        let eaten = self.games.iter().filter_map(|game| {
            let seat = game.seats.iter().position(|seat| *seat == entrant)?;
            game.score()?.food.get(seat).copied()
        });
        eaten.sum()
    }
}

impl Game {
    #[must_use]
    pub fn score(&self) -> Option<&GameScore> {
        match &self.end {
            Some(GameEnd::Played(score)) => Some(score),
            Some(GameEnd::Void(_)) | None => None,
        }
    }

    /// Whether it was played and no entrant answered: none has won it, none drew.
    #[must_use]
    pub fn is_silent(&self) -> bool {
        self.score().is_some_and(|score| score.silent.iter().all(|silent| *silent))
    }

    /// Place of a seat; those that answered nothing come last.
    fn place(&self, score: &GameScore, seat: usize) -> u8 {
        if score.silent[seat] { u8::MAX } else { score.places[seat] }
    }

    /// Who has won it, if one alone has.
    #[must_use]
    pub fn winner(&self) -> Option<u16> {
        let score = self.score()?;
        let places: Vec<_> = (0..self.seats.len()).map(|seat| self.place(score, seat)).collect();
        let best = places.iter().copied().min().filter(|place| *place < u8::MAX)?;
        let mut winners = self.seats.iter().zip(&places).filter(|(_, place)| **place == best);
        let (winner, _) = winners.next()?;
        winners.next().is_none().then_some(*winner)
    }

    /// Points of an entrant in a game of several: two for each that it beats, one for each with which it shares its place.
    pub(super) fn points(&self, entrant: u16) -> u32 {
        let Some(score) = self.score() else { return 0 };
        let Some(own_seat) = self.seats.iter().position(|seat| *seat == entrant) else { return 0 };
        let own = self.place(score, own_seat);
        let others = (0..self.seats.len()).filter(|seat| *seat != own_seat).map(|seat| self.place(score, seat));
        others.map(|place| u32::from(own < place) + u32::from(own <= place)).sum()
    }
}
