//! Which snake of which game a path names, and who may see its evidence: the account that owned the snake when the game was created, and
//! operators. The creator of the game may not, and neither may a later owner: a bot's URL and answers are its owner's.

use crate::app::App;
use crate::auth::Caller;
use crate::problem::{ApiError, ApiResult, Resource};
use crate::spectate::ReplayRequest;
use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use engine::ids::{BotId, MatchId};
use engine::matches::spec::MatchSpec;
use engine::rows::{MatchRow, Role};
use matches::evidence::CallFilter;
use std::str::FromStr;

/// A game and one of its snakes, as the path names them.
pub(super) struct SnakePath {
    pub(super) id: MatchId,
    snake: SnakeRef,
}

/// A snake in a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SnakeRef {
    Seat(usize),
    /// Its id in frames, or that of the registered snake.
    Id(u128),
}

/// A call in a path: `start`, `end`, or the turn of a request for a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallRef {
    Start,
    Move(u32),
    End,
}

impl CallRef {
    pub(super) fn filter(self) -> CallFilter {
        match self {
            Self::Start => CallFilter::Start,
            Self::Move(turn) => CallFilter::Moves(turn..turn.saturating_add(1)),
            Self::End => CallFilter::End,
        }
    }
}

impl FromStr for CallRef {
    type Err = ApiError;

    fn from_str(text: &str) -> Result<Self, ApiError> {
        match text {
            "start" => Ok(Self::Start),
            "end" => Ok(Self::End),
            number => parse_number(number)
                .map(Self::Move)
                .ok_or_else(|| ApiError::BadPathId("not a turn: expected its number, `start` or `end`".to_owned())),
        }
    }
}

/// A number without a sign.
fn parse_number<T: FromStr>(text: &str) -> Option<T> {
    text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))
}

impl SnakePath {
    fn parse(game: &str, snake: &str) -> ApiResult<Self> {
        let id = game.parse().map_err(|error| ApiError::BadPathId(format!("{error}")))?;
        let snake = match parse_number(snake) {
            Some(seat) => SnakeRef::Seat(seat),
            None => SnakeRef::Id(snake.parse::<BotId>().map_err(|_| bad_snake())?.0),
        };
        Ok(Self { id, snake })
    }

    /// The game and the seat that is meant, if the caller may see its evidence.
    ///
    /// # Errors
    /// There is no such snake in this game, the path could mean two of its seats, or the caller may not see it.
    pub(super) async fn find(&self, wanted: &ReplayRequest, caller: &Caller) -> ApiResult<(MatchRow, usize)> {
        let row = wanted.find(self.id).await?;
        let seat = self.snake.seat(&row.spec)?;
        let is_allowed = caller.role >= Role::Operator || row.seat_accounts[seat] == Some(caller.account);
        if is_allowed { Ok((row, seat)) } else { Err(ApiError::NotYourSnake) }
    }
}

impl SnakeRef {
    fn seat(self, spec: &MatchSpec) -> ApiResult<usize> {
        let id = match self {
            Self::Seat(seat) if seat < spec.seats.len() => return Ok(seat),
            Self::Seat(_) => return Err(ApiError::NoSuchSeat { last: spec.seats.len().saturating_sub(1) }),
            Self::Id(id) => id,
        };
        let is_meant = |seat: &usize| spec.snake_id(*seat).0 == id || spec.seats[*seat].bot.0 == id;
        let seats: Vec<usize> = (0..spec.seats.len()).filter(is_meant).collect();
        match seats[..] {
            [] => Err(ApiError::NotFound(Resource::Snake)),
            [seat] => Ok(seat),
            _ => {
                let seats = seats.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
                let reason = format!("that of a snake which sits in several seats of this game: name one of {seats}");
                Err(ApiError::BadPathId(reason))
            }
        }
    }
}

fn bad_snake() -> ApiError {
    ApiError::BadPathId("not a snake of a game: expected a seat from 0, or the snake's id".to_owned())
}

impl FromRequestParts<App> for SnakePath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> ApiResult<Self> {
        let path = Path::<(String, String)>::from_request_parts(parts, app).await;
        let Path((game, snake)) = path.map_err(|_| ApiError::BadPath)?;
        Self::parse(&game, &snake)
    }
}

/// One call to a snake's bot, as the path names it.
pub(super) struct CallPath {
    pub(super) of: SnakePath,
    pub(super) call: CallRef,
}

impl FromRequestParts<App> for CallPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> ApiResult<Self> {
        let path = Path::<(String, String, String)>::from_request_parts(parts, app).await;
        let Path((game, snake, call)) = path.map_err(|_| ApiError::BadPath)?;
        Ok(Self { of: SnakePath::parse(&game, &snake)?, call: call.parse()? })
    }
}
