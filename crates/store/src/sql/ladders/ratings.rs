//! Ratings of ladders: the commit that moves a ladder over results has everything that they change. Rows are written in one order of their
//! keys, and the ladder's row is locked: no two transactions write a ladder's ratings at the same time.

use crate::columns::ladders as rows;
use crate::contract::StoreError;
use crate::sql::{Batch, Dialect, RowStatement, Value, values};
use engine::commands::{Advance, Outcome, RateResults, RepairRatings};
use engine::ids::{BotId, CompetitionId};
use engine::ladders::entry::{Entrant, EntryRecord, Meeting, RatedGame};
use engine::time::UnixMs;

/// From now on, what was computed from the records as they were is refused.
const COUNT_REPAIR: &str = "UPDATE competitions SET repairs = repairs + 1 WHERE id = ?1";
static NEW_ENTRIES: RowStatement = RowStatement::new(
    "ladder uuid, season bigint, bot uuid, entry uuid, account uuid, name text, is_active boolean, joined_at bigint, \
     mu double precision, sigma double precision, score double precision, is_ranked boolean, games bigint, \
     first_places bigint, food_eaten bigint, seats bytea, checksum bigint",
    "INSERT INTO ladder_entries (ladder, season, bot, entry, account, name, is_active, joined_at, mu, sigma, score, is_ranked,
       games, first_places, food_eaten, seats, checksum)
     SELECT new.* FROM {new} WHERE true ON CONFLICT (ladder, season, bot) DO NOTHING",
);
static RECORDS: RowStatement = RowStatement::new(
    "ladder uuid, season bigint, bot uuid, mu double precision, sigma double precision, score double precision, \
     is_ranked boolean, games bigint, first_places bigint, food_eaten bigint, seats bytea, checksum bigint, last_game_at bigint",
    "UPDATE ladder_entries AS e SET mu = new.mu, sigma = new.sigma, score = new.score, is_ranked = new.is_ranked,
       games = new.games, first_places = new.first_places, food_eaten = new.food_eaten, seats = coalesce(new.seats, e.seats),
       checksum = coalesce(new.checksum, e.checksum), last_game_at = new.last_game_at
     FROM {new} WHERE e.ladder = new.ladder AND e.season = new.season AND e.bot = new.bot",
);
static GAMES: RowStatement = RowStatement::new(
    "ladder uuid, number bigint, seat bigint, bot uuid, match_id uuid, ended_at bigint, place bigint, players bigint, \
     mu_before double precision, sigma_before double precision, mu_after double precision, sigma_after double precision",
    "INSERT INTO ladder_games (ladder, number, seat, bot, match_id, ended_at, place, players, mu_before, sigma_before, mu_after,
       sigma_after)
     SELECT new.* FROM {new} WHERE true ON CONFLICT (ladder, number, seat) DO UPDATE SET bot = excluded.bot,
       match_id = excluded.match_id, ended_at = excluded.ended_at, place = excluded.place, players = excluded.players,
       mu_before = excluded.mu_before, sigma_before = excluded.sigma_before, mu_after = excluded.mu_after,
       sigma_after = excluded.sigma_after",
);
static REMOVED_GAMES: RowStatement = RowStatement::new(
    "ladder uuid, number bigint, seat bigint",
    "DELETE FROM ladder_games AS g USING {new} WHERE g.ladder = new.ladder AND g.number = new.number AND g.seat = new.seat",
);
static MORE_MEETINGS: RowStatement = RowStatement::new(
    "ladder uuid, season bigint, bot uuid, opponent uuid, wins bigint, losses bigint, ties bigint",
    "INSERT INTO ladder_meetings AS m (ladder, season, bot, opponent, wins, losses, ties)
     SELECT new.* FROM {new} WHERE true ON CONFLICT (ladder, season, bot, opponent) DO UPDATE SET
       wins = m.wins + excluded.wins, losses = m.losses + excluded.losses, ties = m.ties + excluded.ties",
);
static MEETINGS: RowStatement = RowStatement::new(
    "ladder uuid, season bigint, bot uuid, opponent uuid, wins bigint, losses bigint, ties bigint",
    "INSERT INTO ladder_meetings (ladder, season, bot, opponent, wins, losses, ties)
     SELECT new.* FROM {new} WHERE true ON CONFLICT (ladder, season, bot, opponent) DO UPDATE SET
       wins = excluded.wins, losses = excluded.losses, ties = excluded.ties",
);
static MORE_SEATS: RowStatement = RowStatement::new(
    "ladder uuid, season bigint, seat bigint, games bigint, first_places bigint, places bigint",
    "INSERT INTO ladder_seats AS s (ladder, season, seat, games, first_places, places)
     SELECT new.* FROM {new} WHERE true ON CONFLICT (ladder, season, seat) DO UPDATE SET
       games = s.games + excluded.games, first_places = s.first_places + excluded.first_places,
       places = s.places + excluded.places",
);
static SEATS: RowStatement = RowStatement::new(
    "ladder uuid, season bigint, seat bigint, games bigint, first_places bigint, places bigint",
    "INSERT INTO ladder_seats (ladder, season, seat, games, first_places, places)
     SELECT new.* FROM {new} WHERE true ON CONFLICT (ladder, season, seat) DO UPDATE SET
       games = excluded.games, first_places = excluded.first_places, places = excluded.places",
);

impl<S: Dialect> Batch<'_, S> {
    pub(super) fn rate(&mut self, rate: &RateResults) -> Result<Outcome, StoreError> {
        let RateResults { advance, season, changes, strangers } = rate;
        if self.ladder_row(advance.id)?.is_none() {
            return Ok(Outcome::NotFound);
        }
        let outcome = self.advance_competition(advance)?;
        if outcome != Outcome::Done {
            return Ok(outcome);
        }
        let (ladder, season) = (advance.id, *season);
        self.write_records(ladder, season, &changes.records.iter().collect::<Vec<_>>(), (strangers, advance.now))?;
        self.write_games(ladder, &changes.games)?;
        let meetings = changes.meeting_rows().map(|meeting| meeting_values(ladder, season, &meeting));
        self.session.run_rows(&MORE_MEETINGS, meetings)?;
        let seats = changes.seats.iter().enumerate().map(|(seat, counts)| {
            let (games, first_places) = (counts.games as i64, counts.first_places as i64);
            *values![ladder, season, seat, games, first_places, counts.places as i64]
        });
        self.session.run_rows(&MORE_SEATS, seats)?;
        Ok(Outcome::Done)
    }

    /// Records of entries as they are now; those of strangers are made, not active.
    fn write_records(
        &mut self,
        ladder: CompetitionId,
        season: u32,
        records: &[(&BotId, &EntryRecord)],
        (strangers, now): (&[Entrant], UnixMs),
    ) -> Result<(), StoreError> {
        let new = EntryRecord::default();
        let no_seats = new.encode_seats();
        let made = strangers.iter().map(|stranger| {
            let (score, sigma) = (new.rating.display_score(), new.rating.sigma);
            *values![
                ladder,
                season,
                stranger.bot,
                stranger.entry,
                stranger.account,
                &stranger.name,
                false,
                now,
                new.rating.mu,
                sigma,
                score,
                false,
                0,
                0,
                0,
                &no_seats,
                rows::record(stranger.bot, season).checksum(&no_seats)
            ]
        });
        self.session.run_rows(&NEW_ENTRIES, made)?;
        // Nothing is written over games by seat that are damaged: what follows from them is not known either.
        let seats = records.iter().map(|(_, record)| record.has_seats().then(|| record.encode_seats()));
        let seats: Vec<Option<Vec<u8>>> = seats.collect();
        let written = records.iter().zip(&seats).map(|((bot, record), seats)| {
            *values![
                ladder,
                season,
                **bot,
                record.rating.mu,
                record.rating.sigma,
                record.rating.display_score(),
                record.is_ranked(),
                record.games,
                record.first_places,
                record.food_eaten as i64,
                seats.as_ref(),
                seats.as_ref().map(|seats| rows::record(**bot, season).checksum(seats)),
                record.last_game_at
            ]
        });
        self.session.run_rows(&RECORDS, written)?;
        Ok(())
    }

    fn write_games(&mut self, ladder: CompetitionId, games: &[RatedGame]) -> Result<(), StoreError> {
        let games = games.iter().map(|game| {
            *values![
                ladder,
                game.number as i64,
                game.seat,
                game.bot,
                game.match_id,
                game.ended_at,
                game.place,
                game.players,
                game.before.mu,
                game.before.sigma,
                game.after.mu,
                game.after.sigma
            ]
        });
        self.session.run_rows(&GAMES, games)?;
        Ok(())
    }

    pub(super) fn end_season(&mut self, advance: &Advance) -> Result<Outcome, StoreError> {
        let Some(row) = self.ladder_row(advance.id)? else { return Ok(Outcome::NotFound) };
        let outcome = self.advance_competition(advance)?;
        if outcome != Outcome::Done || advance.status.is_ended() {
            return Ok(outcome);
        }
        let record = EntryRecord::default();
        let no_seats = record.encode_seats();
        let season = engine::ladders::season::current_season(&row);
        let begin = format!(
            "INSERT INTO ladder_entries (ladder, season, bot, entry, account, name, is_active, joined_at, mu, sigma, score,
               is_ranked, games, first_places, food_eaten, seats)
             SELECT ladder, season + 1, bot, entry, account, name, is_active, joined_at, ?3, ?4, ?5, ?6, 0, 0, 0, ?7
             FROM ladder_entries WHERE ladder = ?1 AND season = ?2 AND {}",
            S::is_set("is_active")
        );
        let score = record.rating.display_score();
        self.session.run(
            &begin,
            values![advance.id, season, record.rating.mu, record.rating.sigma, score, record.is_ranked(), &no_seats],
        )?;
        Ok(Outcome::Done)
    }

    pub(super) fn repair_ratings(&mut self, repair: &RepairRatings) -> Result<Outcome, StoreError> {
        let (ladder, season) = (repair.ladder, repair.season);
        let Some(row) = self.ladder_row(ladder)? else { return Ok(Outcome::NotFound) };
        if row.results_applied != repair.expected_results_applied {
            return Ok(Outcome::VersionConflict(row.version));
        }
        let records: Vec<_> = repair.records.iter().map(|(bot, record)| (bot, record)).collect();
        self.write_records(ladder, season, &records, (&repair.strangers, repair.now))?;
        self.write_games(ladder, &repair.games)?;
        let removed = repair.games_removed.iter().map(|(number, seat)| *values![ladder, *number as i64, *seat]);
        self.session.run_rows(&REMOVED_GAMES, removed)?;
        let meetings = repair.meetings.iter().map(|meeting| meeting_values(ladder, season, meeting));
        self.session.run_rows(&MEETINGS, meetings)?;
        let seats = repair.seats.iter().map(|(seat, counts)| {
            let (games, first_places) = (counts.games as i64, counts.first_places as i64);
            *values![ladder, season, *seat, games, first_places, counts.places as i64]
        });
        self.session.run_rows(&SEATS, seats)?;
        self.session.run(COUNT_REPAIR, values![ladder])?;
        Ok(Outcome::Done)
    }
}

fn meeting_values(ladder: CompetitionId, season: u32, meeting: &Meeting) -> [Value<'static>; 7] {
    let Meeting { bot, opponent, counts } = *meeting;
    *values![ladder, season, bot, opponent, counts.wins, counts.losses, counts.ties]
}
