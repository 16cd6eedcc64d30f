//! Rows about ladders.

use super::{Columns, name_of_account, part_of_list, row_of_id};
use crate::checksums::{Damage, StoredKey, StoredKind};
use crate::contract::StoreError;
use engine::ids::{AccountId, BotId, CompetitionId, EntryId, MatchId};
use engine::ladders::entry::{
    Entrant, EntryRecord, Invitation, LadderEntry, Meeting, MeetingCounts, RatedGame, SeatCounts,
};
use engine::ratings::Rating;

/// Of `ladder_entries e`, with the names of its bot and its owner, as far as there are any. The names are looked up for the rows of the
/// answer alone: a join may be carried out the other way round, over all entries or all bots.
macro_rules! entry_columns {
    () => {
        "e.bot, e.ladder, e.season, e.entry, e.account, coalesce((SELECT b.name FROM bots b WHERE b.id = e.bot), e.name), \
         (SELECT a.name FROM accounts a WHERE a.id = e.account), e.is_active, e.joined_at, e.mu, e.sigma, e.games, \
         e.first_places, e.food_eaten, e.seats, e.checksum, e.last_game_at"
    };
}
pub(crate) use entry_columns;

pub(crate) const GAME: &str = "number, seat, bot, match_id, ended_at, place, players, mu_before, sigma_before, mu_after, \
     sigma_after";

/// Without its games by seat and names where these are damaged: nothing but what they show depends on them.
pub(crate) fn entry(row: &mut impl Columns, damages: &mut Vec<Damage>) -> Result<LadderEntry, StoreError> {
    row_of_id(row, StoredKind::LadderEntry, |row, bot| entry_of_bot(row, BotId(bot), damages))
}

fn entry_of_bot(row: &mut impl Columns, bot: BotId, damages: &mut Vec<Damage>) -> Result<LadderEntry, StoreError> {
    let (ladder, season) = (CompetitionId(row.id()?), row.number()?);
    let record = record(bot, season);
    let (entry, account) = (EntryId(row.id()?), row.maybe_id()?.map(AccountId));
    let name = part_of_list(record.whole(row.text()), damages)?;
    let owner = name_of_account(row, account.unwrap_or(AccountId(0)), damages)?;
    Ok(LadderEntry {
        ladder,
        season,
        entrant: Entrant { entry, bot, account, name },
        owner,
        is_active: row.flag()?,
        joined_at: row.time()?,
        record: EntryRecord {
            rating: rating(row)?,
            games: row.number()?,
            first_places: row.number()?,
            food_eaten: row.number()?,
            seats: part_of_list(seats_of(row, record), damages)?,
            last_game_at: row.maybe_time()?,
        },
    })
}

fn seats_of(row: &mut impl Columns, key: StoredKey<'_>) -> Result<Vec<u32>, StoreError> {
    EntryRecord::decode_seats(&row.verified(key)?).map_err(|error| key.damage(error).into())
}

pub(crate) fn record(bot: BotId, season: u32) -> StoredKey<'static> {
    StoredKey::new(StoredKind::LadderEntry, bot.to_bytes()).number(season.into())
}

fn rating(row: &mut impl Columns) -> Result<Rating, StoreError> {
    Ok(Rating { mu: row.real()?, sigma: row.real()? })
}

pub(crate) fn game(row: &mut impl Columns) -> Result<RatedGame, StoreError> {
    Ok(RatedGame {
        number: row.number()?,
        seat: row.number()?,
        bot: BotId(row.id()?),
        match_id: MatchId(row.id()?),
        ended_at: row.time()?,
        place: row.number()?,
        players: row.number()?,
        before: rating(row)?,
        after: rating(row)?,
    })
}

/// `bot, opponent, wins, losses, ties`.
pub(crate) fn meeting(row: &mut impl Columns) -> Result<Meeting, StoreError> {
    let (bot, opponent) = (BotId(row.id()?), BotId(row.id()?));
    let counts = MeetingCounts { wins: row.number()?, losses: row.number()?, ties: row.number()? };
    Ok(Meeting { bot, opponent, counts })
}

/// The same with the opponent's name.
pub(crate) fn named_meeting(
    row: &mut impl Columns,
    damages: &mut Vec<Damage>,
) -> Result<(Meeting, String), StoreError> {
    let meeting = meeting(row)?;
    let opponent = StoredKey::new(StoredKind::Bot, meeting.opponent.to_bytes());
    let name = part_of_list(opponent.whole(row.maybe_text()), damages)?;
    Ok((meeting, name.unwrap_or_default()))
}

/// `seat, games, first_places, places`.
pub(crate) fn seat(row: &mut impl Columns) -> Result<(u8, SeatCounts), StoreError> {
    let seat = row.number()?;
    Ok((seat, SeatCounts { games: row.number()?, first_places: row.number()?, places: row.number()? }))
}

/// `account, name, invited_at`.
pub(crate) fn invitation(row: &mut impl Columns, damages: &mut Vec<Damage>) -> Result<Invitation, StoreError> {
    let account = AccountId(row.id()?);
    let name = name_of_account(row, account, damages)?.unwrap_or_default();
    Ok(Invitation { account, name, invited_at: row.time()? })
}
