//! `/api/account/export`: everything that an account owns, as one JSON document that is made while the client reads it. It takes the memory
//! of one page of one list, whatever the account has, and ends with its token.

use crate::app::App;
use crate::auth::Caller;
use crate::budget::{BudgetOwner, Reservation};
use crate::extract::Player;
use crate::listener::Keeps;
use crate::pagination::readable_rows;
use crate::problem::{ApiError, ApiResult, Resource};
use crate::response_budget::BudgetExempt;
use crate::{admin, duels, games, leaderboards, snakes, stories, tokens, tournaments};
use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use engine::competitions::{CompetitionKind, CompetitionRow};
use engine::ids::{AccountId, BotId, CompetitionId, MatchId, PlayerId, TokenId};
use engine::ladders::season::current_season;
use engine::limits::{EXPORT_ENTRIES_PER_BOT_MAX, EXPORT_ROWS_MAX, PAGE_MAX, REPLAY_RESPONSE_BYTES};
use engine::rows::{Bot, GameCursor, Role};
use futures_util::stream::try_unfold;
use serde::Serialize;
use store::{BotFilter, CompetitionFilter, MatchFilter, MatchList, PlayerGamesFilter, Reader, StoreError};
use wire::api::{AccountExport, ExportHead, ExportedEntry, ExportedSnake};
use wire::time::Timestamp;

/// A place in the lists of an export: the list, and the last row that was read of it.
#[derive(Clone, Copy, Debug)]
enum Position {
    Snakes(Option<BotId>),
    Games(Option<MatchId>),
    Competitions(CompetitionKind, Option<CompetitionId>),
    Stories { is_ended: bool, before: Option<GameCursor> },
}

/// The lists, in the order of the document.
const LISTS: [Position; 7] = [
    Position::Snakes(None),
    Position::Games(None),
    Position::Competitions(CompetitionKind::Duel, None),
    Position::Competitions(CompetitionKind::Tournament, None),
    Position::Competitions(CompetitionKind::Ladder, None),
    Position::Stories { is_ended: false, before: None },
    Position::Stories { is_ended: true, before: None },
];

/// Rows of one list as JSON, and where the next page begins, if there is one.
struct ExportPage {
    rows: Vec<String>,
    next: Option<Position>,
}

impl Position {
    /// The member of the document.
    fn name(self) -> &'static str {
        match self {
            Self::Snakes(_) => "snakes",
            Self::Games(_) => "games",
            Self::Competitions(CompetitionKind::Duel, _) => "duels",
            Self::Competitions(CompetitionKind::Tournament, _) => "tournaments",
            Self::Competitions(CompetitionKind::Ladder, _) => "leaderboards",
            Self::Stories { is_ended: false, .. } => "stories_live",
            Self::Stories { is_ended: true, .. } => "stories_ended",
        }
    }

    fn read(self, reader: &mut dyn Reader, account: AccountId) -> Result<ExportPage, StoreError> {
        match self {
            Self::Snakes(before) => {
                let bots = reader.bots(&BotFilter { account, before, limit: PAGE_MAX })?;
                let next = next(&bots, |bot| Self::Snakes(Some(bot.id)));
                let rows = bots.into_iter().map(|bot| snake(reader, bot).map(|snake| encode(&snake)));
                Ok(ExportPage { rows: rows.collect::<Result<_, _>>()?, next })
            }
            Self::Games(before) => {
                let filter = MatchFilter { list: MatchList::OfAccount(account), before, limit: PAGE_MAX };
                let rows = reader.matches(&filter)?;
                let next = next(&rows, |row| Self::Games(Some(row.spec.id)));
                let related = games::Related::read(reader, &rows, Some((account, Role::Player)))?;
                let rows = rows.iter().map(|row| encode(&games::summary(row, &related)));
                Ok(ExportPage { rows: rows.collect(), next })
            }
            Self::Competitions(kind, before) => {
                let filter = CompetitionFilter { kind, account: Some(account), before, limit: PAGE_MAX };
                let rows = reader.competitions(&filter)?;
                let next = next(&rows, |row| Self::Competitions(kind, Some(row.id)));
                let mut counted = Vec::with_capacity(rows.len());
                for row in &rows {
                    counted.push((row, active_entries(reader, row)?));
                }
                let rows = readable_rows(counted.into_iter().map(|(row, entries)| competition(row, entries)));
                Ok(ExportPage { rows, next })
            }
            Self::Stories { is_ended, before } => {
                let player = PlayerId::from(account);
                let filter = PlayerGamesFilter { player, is_ended, before, limit: PAGE_MAX };
                let seated = reader.story_games_of(&filter)?;
                let next = next(&seated, |seated| {
                    let before = Some(GameCursor::by_creation(&seated.game));
                    Self::Stories { is_ended, before }
                });
                let rows = seated.into_iter().map(|seated| encode(&stories::own_game_view(seated)));
                Ok(ExportPage { rows: rows.collect(), next })
            }
        }
    }
}

/// Where the page after a full one begins.
fn next<T>(rows: &[T], position: impl FnOnce(&T) -> Position) -> Option<Position> {
    if rows.len() < PAGE_MAX { None } else { rows.last().map(position) }
}

fn snake(reader: &mut dyn Reader, bot: Bot) -> Result<ExportedSnake, StoreError> {
    let entries = reader.ladders().ladder_entries_of_bot(bot.id, EXPORT_ENTRIES_PER_BOT_MAX)?;
    let entry = |entry: &engine::ladders::entry::LadderEntry| ExportedEntry {
        leaderboard_id: entry.ladder.to_string(),
        season: entry.season,
        joined_at: Timestamp(entry.joined_at.0),
        entry: leaderboards::entry_view(entry),
    };
    Ok(ExportedSnake { snake: snakes::view(bot, None), entries: entries.iter().map(entry).collect() })
}

/// Snakes in a ladder; of other competitions none are counted.
fn active_entries(reader: &mut dyn Reader, row: &CompetitionRow) -> Result<usize, StoreError> {
    match row.kind {
        CompetitionKind::Ladder => reader.ladders().ladder_active_entries(row.id, current_season(row)),
        CompetitionKind::Duel | CompetitionKind::Tournament => Ok(0),
    }
}

fn competition(row: &CompetitionRow, active_entries: usize) -> ApiResult<String> {
    Ok(match row.kind {
        CompetitionKind::Duel => encode(&duels::summary_for_owner(row)?),
        CompetitionKind::Tournament => encode(&tournaments::summary_of_row(row)?),
        CompetitionKind::Ladder => encode(&leaderboards::leaderboard_view(row, active_entries)?),
    })
}

fn encode(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("plain shapes always become JSON in memory")
}

/// An export in progress.
struct Export {
    app: App,
    account: AccountId,
    token: Option<TokenId>,
    /// Where the next page begins; `None` after the last list.
    position: Option<Position>,
    /// Lists that are done.
    lists_done: usize,
    /// Rows of this list so far; `None` before its first page.
    rows: Option<usize>,
    truncated: Vec<&'static str>,
    /// What goes before the next page.
    prefix: String,
    _reservation: Reservation,
}

impl Export {
    /// The next piece; `None` after the last one.
    async fn next_piece(&mut self) -> Result<Option<Bytes>, StoreError> {
        let Some(position) = self.position else { return Ok(None) };
        let (account, token) = (self.account, self.token);
        let page = self.app.node.store.read(move |reader| {
            let is_valid = match token {
                Some(token) => !reader.existing_tokens(&[token])?.is_empty(),
                None => true,
            };
            if is_valid { position.read(reader, account).map(Some) } else { Ok(None) }
        });
        let Some(ExportPage { rows, next }) = page.await? else {
            return Err(StoreError::Unavailable { why: "its token was deleted".to_owned() });
        };
        let mut piece = std::mem::take(&mut self.prefix);
        if self.rows.is_none() {
            piece += &format!(",\"{}\":[", position.name());
        }
        let mut count = self.rows.unwrap_or_default();
        for row in rows {
            if count > 0 {
                piece.push(',');
            }
            piece += &row;
            count += 1;
        }
        self.rows = Some(count);
        self.advance(position, next, count >= EXPORT_ROWS_MAX, &mut piece);
        Ok(Some(piece.into()))
    }

    /// Goes on in this list, to the next one, or to the end.
    fn advance(&mut self, position: Position, next: Option<Position>, is_full: bool, piece: &mut String) {
        if next.is_some() && !is_full {
            self.position = next;
            return;
        }
        if next.is_some() {
            self.truncated.push(position.name());
        }
        piece.push(']');
        self.lists_done += 1;
        self.rows = None;
        self.position = LISTS.get(self.lists_done).copied();
        if self.position.is_none() {
            *piece += &format!(",\"truncated\":{}}}", encode(&self.truncated));
        }
    }
}

/// Export everything that your account owns
///
/// One JSON document: the account, its tokens and snakes without their secrets, their entries on leaderboards, the games that it created with
/// their results, its duels, tournaments and leaderboards, and its games of Stories. Each list is newest first and ends after 100,000 rows.
/// Not in it: turns and evidence of games (`/api/games/{id}/jsonl`), chat, entries of snakes that were deleted, what was counted of hunts
/// (`/api/hunters/{player}`), hunts and worlds, and what the server's log says. The document ends early if the token is deleted meanwhile.
#[utoipa::path(get, path = "/api/account/export", tag = "accounts", security(("bearer" = []), ("cookie" = [])), responses(
    (status = 200, description = "The document. It is made while it is read, and not JSON if the connection ends before.", body = AccountExport),
    (status = 404, description = "`no_such_account`: the account of the server's own token was not made yet."),
    (status = 429, description = "`too_many_responses`: this address has as many large answers under way as it may have"),
    (status = 503, description = "`responses_full`: as many large answers are under way as may be"),
))]
pub(super) async fn export_account(
    State(app): State<App>,
    Player(caller): Player,
    owner: BudgetOwner,
) -> ApiResult<Response> {
    let reservation = app.response_budgets.reserve_replay(&owner)?;
    let Caller { account: id, token, .. } = caller;
    let found = app.node.store.read(move |reader| Ok((reader.account(id)?, reader.tokens(id)?)));
    let (account, tokens) = found.await?;
    let head = ExportHead {
        exported_at: Timestamp(app.node.clock.now().0),
        account: admin::view(account.ok_or(ApiError::NotFound(Resource::Account))?),
        tokens: tokens.iter().map(tokens::view).collect(),
    };
    let mut prefix = encode(&head);
    prefix.pop();
    let export = Export {
        app,
        account: id,
        token,
        position: Some(LISTS[0]),
        lists_done: 0,
        rows: None,
        truncated: Vec::new(),
        prefix,
        _reservation: reservation,
    };
    let body = Body::from_stream(try_unfold(export, next_piece));
    let headers = [
        (header::CONTENT_TYPE, "application/json"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"gauntlet-account.json\""),
        (header::CACHE_CONTROL, "no-store"),
    ];
    Ok((headers, Extension(BudgetExempt), Extension(Keeps(REPLAY_RESPONSE_BYTES)), body).into_response())
}

async fn next_piece(mut export: Export) -> Result<Option<(Bytes, Export)>, StoreError> {
    match export.next_piece().await {
        Ok(piece) => Ok(piece.map(|piece| (piece, export))),
        Err(error) => {
            tracing::warn!(account = %export.account, %error, "the export of an account is cut off");
            Err(error)
        }
    }
}
