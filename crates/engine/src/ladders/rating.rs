//! What results change about a ladder: ratings one after the other in the order of the results, and every count beside them. The same
//! function rates as they come and recomputes, so both give the same bits.
//!
//! A result rates when its match was played to its end, no fault of this server was in it, and each of its bots gave a valid move. Bots that
//! left meanwhile are rated as all others in the game that was played.

use super::entry::{EntryRecord, Meeting, MeetingCounts, RatedGame, SeatCounts};
use crate::competitions::CompetitionResult;
use crate::ids::BotId;
use crate::ratings::{Rating, rate};
use std::collections::{BTreeMap, BTreeSet};

/// What a run of results adds to a ladder: entries as they are afterwards, everything else as what is to be added.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RatingChanges {
    /// Results that rated.
    pub rated: u64,
    /// Of each bot that played in them, its record afterwards.
    pub records: BTreeMap<BotId, EntryRecord>,
    /// In the order of the results and seats.
    pub games: Vec<RatedGame>,
    /// By bot and opponent, both ways.
    pub meetings: BTreeMap<(BotId, BotId), MeetingCounts>,
    /// By seat.
    pub seats: Vec<SeatCounts>,
}

impl RatingChanges {
    /// The bots whose records must be known before these results can be applied.
    #[must_use]
    pub fn bots_of(results: &[CompetitionResult]) -> BTreeSet<BotId> {
        let rated = results.iter().filter(|result| is_rated(result));
        rated.flat_map(|result| result.summary.seats.iter().map(|seat| seat.bot)).collect()
    }

    /// Begins with the records as they are.
    #[must_use]
    pub fn from_records(records: BTreeMap<BotId, EntryRecord>) -> Self {
        Self { records, ..Self::default() }
    }

    /// Applies one result.
    pub fn apply(&mut self, result: &CompetitionResult) {
        if !is_rated(result) {
            return;
        }
        let seats = &result.summary.seats;
        let before: Vec<Rating> = seats
            .iter()
            .map(|seat| self.records.get(&seat.bot).map_or(Rating::START, |record| record.rating))
            .collect();
        let players: Vec<(Rating, u8)> = before.iter().copied().zip(seats.iter().map(|seat| seat.place)).collect();
        for (at, (after, summary)) in rate(&players).into_iter().zip(seats).enumerate() {
            let is_first = summary.place == 1;
            let record = self.records.entry(summary.bot).or_default();
            record.rating = after;
            record.first_places = record.first_places.saturating_add(u32::from(is_first));
            record.food_eaten = record.food_eaten.saturating_add(u64::from(summary.food_eaten));
            record.count_game(at, seats.len());
            record.last_game_at = Some(result.ended_at);
            self.games.push(RatedGame {
                number: result.number,
                seat: at as u8,
                bot: summary.bot,
                match_id: result.match_id,
                ended_at: result.ended_at,
                place: summary.place,
                players: seats.len() as u8,
                before: before[at],
                after,
            });
            self.count_seat(at, SeatCounts { games: 1, first_places: is_first.into(), places: summary.place.into() });
        }
        self.count_meetings(result);
        self.rated += 1;
    }

    fn count_seat(&mut self, seat: usize, counts: SeatCounts) {
        self.seats.resize(self.seats.len().max(seat + 1), SeatCounts::default());
        self.seats[seat].add(counts);
    }

    fn count_meetings(&mut self, result: &CompetitionResult) {
        let seats = &result.summary.seats;
        let pairs = seats.iter().flat_map(|bot| seats.iter().map(move |opponent| (bot, opponent)));
        for (bot, opponent) in pairs.filter(|(bot, opponent)| bot.bot != opponent.bot) {
            let counts = MeetingCounts {
                wins: u32::from(bot.place < opponent.place),
                losses: u32::from(bot.place > opponent.place),
                ties: u32::from(bot.place == opponent.place),
            };
            self.meetings.entry((bot.bot, opponent.bot)).or_default().add(counts);
        }
    }

    /// The meetings as rows.
    pub fn meeting_rows(&self) -> impl Iterator<Item = Meeting> {
        self.meetings.iter().map(|(&(bot, opponent), &counts)| Meeting { bot, opponent, counts })
    }
}

/// Whether a result changes ratings. A game in which a bot sat twice, or alone, says nothing about it against others.
fn is_rated(result: &CompetitionResult) -> bool {
    let bots: BTreeSet<BotId> = result.summary.seats.iter().map(|seat| seat.bot).collect();
    result.is_rated() && bots.len() == result.summary.seats.len() && bots.len() > 1
}

#[cfg(test)]
mod tests;
