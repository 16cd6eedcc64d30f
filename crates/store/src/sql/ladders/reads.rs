//! Queries about ladders. Each walks an index.

use crate::columns::ladders::{self as rows, GAME, entry_columns};
use crate::columns::{Columns, damage_of};
use crate::contract::{LadderReader, StoreError};
use crate::sql::competitions;
use crate::sql::reader::SqlReader;
use crate::sql::{Dialect, ID_MAX, ID_MIN, RowStatement, Session, Value, values};
use engine::competitions::{CompetitionKind, CompetitionRow};
use engine::ids::{AccountId, BotId, CompetitionId};
use engine::ladders::entry::{EntryRecord, Invitation, LadderEntry, Meeting, RatedGame, SeatCounts};
use engine::ladders::ranking::{RankingCursor, RankingFilter, RankingOrder};
use engine::ladders::recompute::StoredSeason;
use engine::ladders::season::current_season;

/// Rows of a page where all are read.
const PAGE: usize = 1_000;

const INVITED: &str = "SELECT 1 FROM ladder_invitations WHERE ladder = ?1 AND account = ?2";

static ENTRIES_OF: RowStatement = RowStatement::new(
    "ladder uuid, season bigint, bot uuid",
    concat!(
        "SELECT ",
        entry_columns!(),
        " FROM {new}, ladder_entries e WHERE e.ladder = new.ladder AND e.season = new.season AND e.bot = new.bot"
    ),
);

static BOTS_OF: RowStatement = RowStatement::new(
    "ladder uuid, season bigint, bot uuid",
    "SELECT e.bot FROM {new}, ladder_entries e WHERE e.ladder = new.ladder AND e.season = new.season AND e.bot = new.bot",
);

/// As a range of the index that begins with the bot: by "bot = ?2 AND number < ?3" SQLite, which knows nothing of how many games a ladder
/// has, walks all of them back to those of the bot.
const GAMES_OF_BOT: &str =
    "FROM ladder_games WHERE ladder = ?1 AND (bot, number) >= (?2, 0) AND (bot, number) < (?2, ?3)
    ORDER BY bot DESC, number DESC LIMIT ?4";
const GAMES_OF_RESULTS: &str =
    "FROM ladder_games WHERE ladder = ?1 AND number > ?2 AND number <= ?3 ORDER BY number, seat";
const MEETINGS_OF_BOT: &str = "
    SELECT m.bot, m.opponent, m.wins, m.losses, m.ties, coalesce(b.name, e.name) FROM ladder_meetings m
    LEFT JOIN ladder_entries e ON e.ladder = m.ladder AND e.season = m.season AND e.bot = m.opponent
    LEFT JOIN bots b ON b.id = m.opponent
    WHERE m.ladder = ?1 AND m.season = ?2 AND m.bot = ?3 AND m.opponent > ?4 ORDER BY m.opponent LIMIT ?5";
const MEETINGS: &str = "
    SELECT bot, opponent, wins, losses, ties FROM ladder_meetings
    WHERE ladder = ?1 AND season = ?2 AND (bot, opponent) > (?3, ?4) ORDER BY bot, opponent LIMIT ?5";
const SEATS: &str =
    "SELECT seat, games, first_places, places FROM ladder_seats WHERE ladder = ?1 AND season = ?2 ORDER BY seat";
const INVITATIONS: &str = "
    SELECT i.account, a.name, i.invited_at FROM ladder_invitations i LEFT JOIN accounts a ON a.id = i.account
    WHERE i.ladder = ?1 AND i.account > ?2 ORDER BY i.account LIMIT ?3";
const INVITED_TO: &str =
    "SELECT ladder FROM ladder_invitations WHERE account = ?1 AND ladder > ?2 ORDER BY ladder LIMIT ?3";

/// Entries `e`.
fn entries(rest: &str) -> String {
    format!("SELECT {} FROM ladder_entries e {rest}", entry_columns!())
}

pub(super) fn entry(
    session: &mut impl Session,
    ladder: CompetitionId,
    season: u32,
    bot: BotId,
) -> Result<Option<LadderEntry>, StoreError> {
    let mut damages = Vec::new();
    let wanted = std::iter::once(*values![ladder, season, bot]);
    let found = session.all_rows(&ENTRIES_OF, wanted, |row| rows::entry(row, &mut damages))?;
    session.note_damages(damages);
    Ok(found.into_iter().next())
}

pub(super) fn is_invited(
    session: &mut impl Session,
    ladder: CompetitionId,
    account: AccountId,
) -> Result<bool, StoreError> {
    session.exists(INVITED, values![ladder, account])
}

fn active_count<S: Dialect>() -> String {
    format!("SELECT count(*) FROM ladder_entries WHERE ladder = ?1 AND season = ?2 AND {}", S::is_set("is_active"))
}

fn better_count<S: Dialect>() -> String {
    format!(
        "SELECT count(*) FROM ladder_entries
         WHERE ladder = ?1 AND season = ?2 AND is_ranked = ?3 AND {} AND (score, bot) > (?4, ?5)",
        S::is_set("is_active")
    )
}

fn entries_by_bot() -> String {
    entries("WHERE e.ladder = ?1 AND e.season = ?2 AND e.bot > ?3 ORDER BY e.bot LIMIT ?4")
}

fn entries_of_bot() -> String {
    entries("WHERE e.bot = ?1 LIMIT ?2")
}

/// Of ladders that have not ended, the season under way: see [`current_season`].
const LADDERS_OF_BOT: &str = concat!(
    "SELECT ",
    entry_columns!(),
    " FROM ladder_entries e
     WHERE e.bot = ?1
       AND e.season = (SELECT c.version + 1 FROM competitions c WHERE c.id = e.ladder AND c.status = 'running') LIMIT ?2"
);

fn ladders_of_bot(
    session: &mut impl Session,
    bot: BotId,
    limit: usize,
) -> Result<Vec<(CompetitionRow, LadderEntry)>, StoreError> {
    let entries = session.list(LADDERS_OF_BOT, values![bot, limit], |row, damages| rows::entry(row, damages))?;
    let ids: Vec<CompetitionId> = entries.iter().map(|entry| entry.ladder).collect();
    let ladders = competitions::of_ids(session, &ids)?;
    let of_ladder = |entry: LadderEntry| {
        let ladder = ladders.iter().find(|ladder| ladder.id == entry.ladder)?;
        Some((ladder.clone(), entry))
    };
    Ok(entries.into_iter().filter_map(of_ladder).collect())
}

fn ranking_page<S: Dialect>(order: RankingOrder) -> String {
    let column = match order {
        RankingOrder::Rating => "score",
        RankingOrder::FoodEaten => "food_eaten",
    };
    entries(&format!(
        "WHERE e.ladder = ?1 AND e.season = ?2 AND e.is_ranked = ?3 AND e.{} AND (e.{column}, e.bot) < (?4, ?5)
         ORDER BY e.{column} DESC, e.bot DESC LIMIT ?6",
        S::is_set("is_active")
    ))
}

fn active_accounts<S: Dialect>() -> String {
    let is_active = S::is_set("is_active");
    format!("SELECT count(DISTINCT account) FROM ladder_entries WHERE ladder = ?1 AND season = ?2 AND {is_active}")
}

pub(super) fn active_entries<S: Dialect>(
    session: &mut S,
    ladder: CompetitionId,
    season: u32,
) -> Result<usize, StoreError> {
    Ok(session.first(&active_count::<S>(), values![ladder, season], |row| row.number())?.unwrap_or_default())
}

fn ranking<S: Dialect>(session: &mut S, filter: &RankingFilter) -> Result<Vec<LadderEntry>, StoreError> {
    let &RankingFilter { ladder, season, order, is_ranked, after, limit } = filter;
    let sql = ranking_page::<S>(order);
    let bot = after.map_or(ID_MAX, |after| after.bot.to_bytes());
    let value = match order {
        RankingOrder::Rating => Value::Real(after.map_or(f64::INFINITY, |after| after.value)),
        RankingOrder::FoodEaten => Value::Int(after.map_or(i64::MAX, |after| after.value as i64)),
    };
    let page = |limit: usize| *values![ladder, season, is_ranked, value, bot, limit];
    session.page(&sql, limit, page, |row, damages| rows::entry(row, damages))
}

fn entries_after(
    session: &mut impl Session,
    ladder: CompetitionId,
    season: u32,
    after: Option<BotId>,
    limit: usize,
) -> Result<Vec<LadderEntry>, StoreError> {
    let after = after.map_or(ID_MIN, BotId::to_bytes);
    let page = |limit| *values![ladder, season, after, limit];
    session.page(&entries_by_bot(), limit, page, |row, damages| rows::entry(row, damages))
}

fn meetings_after(
    session: &mut impl Session,
    ladder: CompetitionId,
    season: u32,
    after: Option<(BotId, BotId)>,
    limit: usize,
) -> Result<Vec<Meeting>, StoreError> {
    let (bot, opponent) = after.map_or((ID_MIN, ID_MIN), |(bot, other)| (bot.to_bytes(), other.to_bytes()));
    session.all(MEETINGS, values![ladder, season, bot, opponent, limit], |row| rows::meeting(row))
}

fn seats(session: &mut impl Session, ladder: CompetitionId, season: u32) -> Result<Vec<(u8, SeatCounts)>, StoreError> {
    session.all(SEATS, values![ladder, season], |row| rows::seat(row))
}

/// A season of this ladder; in a snapshot.
fn stored_season(
    session: &mut impl Session,
    row: CompetitionRow,
    season: Option<u32>,
) -> Result<StoredSeason, StoreError> {
    let (ladder, season) = (row.id, season.unwrap_or_else(|| current_season(&row)));
    let mut records: Vec<(BotId, EntryRecord)> = Vec::new();
    loop {
        let page = entries_after(session, ladder, season, records.last().map(|(bot, _)| *bot), PAGE)?;
        let is_last = page.len() < PAGE;
        records.extend(page.into_iter().map(|entry| (entry.entrant.bot, entry.record)));
        if is_last {
            break;
        }
    }
    let mut meetings: Vec<Meeting> = Vec::new();
    loop {
        let after = meetings.last().map(|meeting| (meeting.bot, meeting.opponent));
        let page = meetings_after(session, ladder, season, after, PAGE)?;
        let is_last = page.len() < PAGE;
        meetings.extend(page);
        if is_last {
            break;
        }
    }
    Ok(StoredSeason { season, records, meetings, seats: seats(session, ladder, season)?, row })
}

impl<R: SqlReader> LadderReader for R {
    fn ladder_ranking(&mut self, filter: &RankingFilter) -> Result<Vec<LadderEntry>, StoreError> {
        ranking(self.session(), filter)
    }

    fn ladder_rank(&mut self, ladder: CompetitionId, season: u32, at: RankingCursor) -> Result<usize, StoreError> {
        let at = values![ladder, season, true, at.value, at.bot];
        Ok(self.session().first(&better_count::<R::Session>(), at, |row| row.number())?.unwrap_or_default())
    }

    fn ladder_active_entries(&mut self, ladder: CompetitionId, season: u32) -> Result<usize, StoreError> {
        active_entries(self.session(), ladder, season)
    }

    fn ladder_active_accounts(&mut self, ladder: CompetitionId, season: u32) -> Result<usize, StoreError> {
        let count = active_accounts::<R::Session>();
        Ok(self.session().first(&count, values![ladder, season], |row| row.number())?.unwrap_or_default())
    }

    fn ladder_entries(
        &mut self,
        ladder: CompetitionId,
        season: u32,
        after: Option<BotId>,
        limit: usize,
    ) -> Result<Vec<LadderEntry>, StoreError> {
        entries_after(self.session(), ladder, season, after, limit)
    }

    fn ladder_entries_of(
        &mut self,
        ladder: CompetitionId,
        season: u32,
        bots: &[BotId],
    ) -> Result<Vec<LadderEntry>, StoreError> {
        let wanted = bots.iter().map(|bot| *values![ladder, season, *bot]);
        let (session, mut damages) = (self.session(), Vec::new());
        let entries = session.all_rows(&ENTRIES_OF, wanted, |row| damage_of(rows::entry(row, &mut damages)))?;
        session.note_damages(damages);
        Ok(session.note_unreadable(entries))
    }

    fn ladder_bots_of(&mut self, ladder: CompetitionId, season: u32, bots: &[BotId]) -> Result<Vec<BotId>, StoreError> {
        let wanted = bots.iter().map(|bot| *values![ladder, season, *bot]);
        self.session().all_rows(&BOTS_OF, wanted, |row| row.id().map(BotId))
    }

    fn ladder_entries_of_bot(&mut self, bot: BotId, limit: usize) -> Result<Vec<LadderEntry>, StoreError> {
        let page = |limit| *values![bot, limit];
        self.session().page(&entries_of_bot(), limit, page, |row, damages| rows::entry(row, damages))
    }

    fn ladders_of_bot(&mut self, bot: BotId, limit: usize) -> Result<Vec<(CompetitionRow, LadderEntry)>, StoreError> {
        self.session().snapshot(|session| ladders_of_bot(session, bot, limit))
    }

    fn ladder_games_of(
        &mut self,
        ladder: CompetitionId,
        bot: BotId,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Vec<RatedGame>, StoreError> {
        let sql = format!("SELECT {GAME} {GAMES_OF_BOT}");
        let before = before.map_or(i64::MAX, |before| i64::try_from(before).unwrap_or(i64::MAX));
        self.session().all(&sql, values![ladder, bot, before, limit], |row| rows::game(row))
    }

    fn ladder_games(&mut self, ladder: CompetitionId, after: u64, last: u64) -> Result<Vec<RatedGame>, StoreError> {
        let sql = format!("SELECT {GAME} {GAMES_OF_RESULTS}");
        self.session().all(&sql, values![ladder, after as i64, last as i64], |row| rows::game(row))
    }

    fn ladder_meetings_of(
        &mut self,
        ladder: CompetitionId,
        season: u32,
        bot: BotId,
        after: Option<BotId>,
        limit: usize,
    ) -> Result<Vec<(Meeting, String)>, StoreError> {
        let after = after.map_or(ID_MIN, BotId::to_bytes);
        let page = values![ladder, season, bot, after, limit];
        self.session().list(MEETINGS_OF_BOT, page, |row, damages| rows::named_meeting(row, damages))
    }

    fn ladder_meetings(
        &mut self,
        ladder: CompetitionId,
        season: u32,
        after: Option<(BotId, BotId)>,
        limit: usize,
    ) -> Result<Vec<Meeting>, StoreError> {
        meetings_after(self.session(), ladder, season, after, limit)
    }

    fn ladder_seats(&mut self, ladder: CompetitionId, season: u32) -> Result<Vec<(u8, SeatCounts)>, StoreError> {
        seats(self.session(), ladder, season)
    }

    fn ladder_season(
        &mut self,
        ladder: CompetitionId,
        season: Option<u32>,
    ) -> Result<Option<StoredSeason>, StoreError> {
        self.session().snapshot(|session| {
            let row = competitions::by_id_of(session, ladder)?.filter(|row| row.kind == CompetitionKind::Ladder);
            row.map(|row| stored_season(session, row, season)).transpose()
        })
    }

    fn ladder_invitations(
        &mut self,
        ladder: CompetitionId,
        after: Option<AccountId>,
        limit: usize,
    ) -> Result<Vec<Invitation>, StoreError> {
        let after = after.map_or(ID_MIN, AccountId::to_bytes);
        let page = values![ladder, after, limit];
        self.session().list(INVITATIONS, page, |row, damages| rows::invitation(row, damages))
    }

    fn is_invited(&mut self, ladder: CompetitionId, account: AccountId) -> Result<bool, StoreError> {
        is_invited(self.session(), ladder, account)
    }

    fn ladders_invited_to(
        &mut self,
        account: AccountId,
        after: Option<CompetitionId>,
        limit: usize,
    ) -> Result<Vec<CompetitionId>, StoreError> {
        let after = after.map_or(ID_MIN, CompetitionId::to_bytes);
        self.session().all(INVITED_TO, values![account, after, limit], |row| row.id().map(CompetitionId))
    }
}

/// The queries about ladders, by name, to inspect their plans. Entries of several bots are read as SQLite does it, one by one.
#[cfg(test)]
pub(crate) fn queries<S: Dialect>() -> Vec<(&'static str, String)> {
    vec![
        ("ranking by rating", ranking_page::<S>(RankingOrder::Rating)),
        ("ranking by food", ranking_page::<S>(RankingOrder::FoodEaten)),
        ("entries that are better", better_count::<S>()),
        ("active entries", active_count::<S>()),
        ("accounts with active entries", active_accounts::<S>()),
        ("entries by bot", entries_by_bot()),
        ("entries of a bot", entries_of_bot()),
        ("entry", ENTRIES_OF.of_one_row().to_owned()),
        ("ladders of a bot", LADDERS_OF_BOT.to_owned()),
        ("rated games of a bot", format!("SELECT {GAME} {GAMES_OF_BOT}")),
        ("rated games of results", format!("SELECT {GAME} {GAMES_OF_RESULTS}")),
        ("meetings of a bot", MEETINGS_OF_BOT.to_owned()),
        ("meetings", MEETINGS.to_owned()),
        ("seats of a season", SEATS.to_owned()),
        ("invitation", INVITED.to_owned()),
        ("invitations", INVITATIONS.to_owned()),
        ("ladders to which an account is invited", INVITED_TO.to_owned()),
    ]
}
