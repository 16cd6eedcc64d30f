//! Rankings: entries with a rank, then those in placement, in pages that go through both.

use super::{SeasonQuery, find, view};
use crate::app::App;
use crate::extract::{MaybePrincipal, PathId, QueryParams};
use crate::pagination::PageQuery;
use crate::problem::{ApiError, ApiResult};
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use engine::ids::{BotId, CompetitionId};
use engine::ladders::entry::LadderEntry;
use engine::ladders::ranking::{RankingCursor, RankingFilter, RankingOrder};
use engine::limits::{LADDER_MIN_GAMES, RANKING_PAGE_MAX};
use serde::Deserialize;
use std::fmt;
use std::str::FromStr;
use wire::api::Rankings;

#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct RankingQuery {
    /// `rating` (when absent) or `food_eaten`.
    sort: Option<String>,
    /// Entries of one page, those with a rank and those in placement together; more than 1,000 count as 1,000, and 0 and less are an empty
    /// page.
    #[param(value_type = Option<u32>, minimum = 0, maximum = 1_000)]
    limit: Option<String>,
    /// Where the page begins, as `Link: <…>; rel="next"` of the page before it says.
    after: Option<String>,
    /// Refused, as by all lists.
    #[param(ignore)]
    offset: Option<String>,
}

impl RankingQuery {
    fn order(&self) -> ApiResult<RankingOrder> {
        match self.sort.as_deref() {
            None | Some("rating") => Ok(RankingOrder::Rating),
            Some("food_eaten") => Ok(RankingOrder::FoodEaten),
            Some(_) => Err(ApiError::bad_value("sort", "sort is rating or food_eaten")),
        }
    }

    fn limit(&self) -> ApiResult<usize> {
        let page = PageQuery { limit: self.limit.clone(), after: None, offset: self.offset.clone() };
        page.limit_of(RANKING_PAGE_MAX, RANKING_PAGE_MAX)
    }

    fn after(&self) -> ApiResult<Option<Position>> {
        let parsed = self.after.as_deref().map(str::parse).transpose();
        parsed.map_err(|error: &str| ApiError::bad_value("after", format!("after is {error}")))
    }
}

/// Behind which entry a page begins.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Position {
    is_ranked: bool,
    /// Its rank; 0 in placement.
    rank: usize,
    cursor: RankingCursor,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = if self.is_ranked { "ranked" } else { "placement" };
        write!(f, "{part}.{}.{:016x}.{}", self.rank, self.cursor.value.to_bits(), self.cursor.bot)
    }
}

impl FromStr for Position {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        let parse = || {
            let mut parts = text.splitn(4, '.');
            let is_ranked = match parts.next()? {
                "ranked" => true,
                "placement" => false,
                _ => return None,
            };
            let rank = parts.next()?.parse().ok()?;
            let value = f64::from_bits(u64::from_str_radix(parts.next()?, 16).ok()?);
            let bot: BotId = parts.next()?.parse().ok()?;
            let cursor = RankingCursor { value, bot };
            (!value.is_nan()).then_some(Self { is_ranked, rank, cursor })
        };
        parse().ok_or("not a position in a ranking: use one that a page gave")
    }
}

/// Get a ranking
///
/// Active entries: those with a rank first, then those in placement, which have played fewer than `min_games`. A page has 1,000 entries
/// when no limit is given. `season` reads the final standings of a season that has ended.
#[utoipa::path(get, path = "/api/leaderboards/{id}/rankings", tag = "leaderboards", security((), ("bearer" = [])), params(("id" = String, Path), RankingQuery, SeasonQuery), responses(
    (status = 200, description = "A page of the ranking.", body = Rankings, headers(("Link" = String, description = "The next page's URL, if there is one"))),
    (status = 404, description = "`no_such_leaderboard`, `no_such_season`"),
))]
pub(super) async fn rankings(
    State(app): State<App>,
    MaybePrincipal(caller): MaybePrincipal,
    PathId(id): PathId<CompetitionId>,
    QueryParams(query): QueryParams<RankingQuery>,
    QueryParams(season): QueryParams<SeasonQuery>,
) -> ApiResult<(HeaderMap, Json<Rankings>)> {
    let (order, limit, after) = (query.order()?, query.limit()?, query.after()?);
    let row = find(&app, caller.as_ref(), id).await?;
    let season = season.of(&row)?;
    let filter = RankingFilter { ladder: id, season, order, is_ranked: true, after: None, limit: limit + 1 };
    let (mut ranked, mut placement) = app.node.store.read(move |reader| read(reader, &filter, after)).await?;
    let has_more = ranked.len() + placement.len() > limit;
    ranked.truncate(limit);
    placement.truncate(limit - ranked.len());
    let first_rank = after.filter(|after| after.is_ranked).map_or(1, |after| after.rank.saturating_add(1));
    let ranked: Vec<(usize, LadderEntry)> = (first_rank..).zip(ranked).collect();

    let last = match (placement.last(), ranked.last()) {
        (Some(entry), _) => Some((false, 0, entry)),
        (None, Some((rank, entry))) => Some((true, *rank, entry)),
        (None, None) => None,
    };
    let next = last.filter(|_| has_more).map(|(is_ranked, rank, entry)| Position {
        is_ranked,
        rank,
        cursor: RankingCursor::of(entry, order),
    });
    let body = Rankings {
        leaderboard_id: id.to_string(),
        leaderboard_name: row.name,
        season,
        min_games: LADDER_MIN_GAMES,
        ranked: ranked.iter().map(|(rank, entry)| view::ranking_entry(entry, *rank)).collect(),
        placement: placement.iter().map(|entry| view::ranking_entry(entry, 0)).collect(),
    };
    Ok((link(id, order, season, limit, next), Json(body)))
}

/// Entries of a page that begins behind `after`: with a rank as far as there are any, then in placement; one of the two sorts at least is
/// complete, or both together are more than the limit.
fn read(
    reader: &mut dyn store::Reader,
    filter: &RankingFilter,
    after: Option<Position>,
) -> Result<(Vec<LadderEntry>, Vec<LadderEntry>), store::StoreError> {
    let is_in_placement = after.is_some_and(|after| !after.is_ranked);
    let ranked = if is_in_placement {
        Vec::new()
    } else {
        let after = after.map(|after| after.cursor);
        reader.ladders().ladder_ranking(&RankingFilter { after, ..filter.clone() })?
    };
    let after = after.filter(|_| is_in_placement).map(|after| after.cursor);
    let limit = filter.limit - ranked.len();
    let rest = RankingFilter { is_ranked: false, after, limit, ..filter.clone() };
    let placement = if limit == 0 { Vec::new() } else { reader.ladders().ladder_ranking(&rest)? };
    Ok((ranked, placement))
}

fn link(id: CompetitionId, order: RankingOrder, season: u32, limit: usize, next: Option<Position>) -> HeaderMap {
    let sort = match order {
        RankingOrder::Rating => "rating",
        RankingOrder::FoodEaten => "food_eaten",
    };
    let mut headers = HeaderMap::new();
    let next = next.map(|next| {
        format!(
            "</api/leaderboards/{id}/rankings?sort={sort}&season={season}&limit={limit}&after={next}>; rel=\"next\""
        )
    });
    if let Some(Ok(next)) = next.map(HeaderValue::try_from) {
        headers.insert(header::LINK, next);
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, is_good: bool) {
        let parsed = text.parse::<Position>();
        assert_eq!(parsed.is_ok(), is_good, "{text}");
        assert!(parsed.is_err() || parsed.is_ok_and(|position| position.to_string() == text));
    }

    #[test]
    fn positions_are_read_back() {
        let bot = "00000000-0000-0000-0000-00000000000a";
        check(&format!("ranked.17.4039000000000000.{bot}"), true);
        check(&format!("placement.0.c039000000000000.{bot}"), true);
        check(&format!("placement.0.fff8000000000000.{bot}"), false);
        check(&format!("other.0.c039000000000000.{bot}"), false);
        check(&format!("ranked.x.c039000000000000.{bot}"), false);
        check("ranked.1.c039000000000000.bot", false);
        check("ranked.1", false);
        check("", false);
    }
}
