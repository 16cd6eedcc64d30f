//! Lists in pages: the page size, the cursor, and the `Link` header that leads to the next page.

use super::problem::{ApiError, ApiResult};
use axum::Json;
use axum::http::{HeaderMap, HeaderValue, header};
use engine::limits::PAGE_MAX;
use serde::Deserialize;
use std::fmt::Display;
use std::str::FromStr;

/// The query of a list.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct PageQuery {
    /// Rows of one page; more than 100 count as 100.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 100)]
    pub(super) limit: Option<String>,
    /// Only rows older than the one with this id (of games of Stories: with this cursor); `Link: <…>; rel="next"` gives the next page's.
    pub(super) after: Option<String>,
}

impl PageQuery {
    /// The requested number of rows.
    pub(super) fn limit(&self, when_absent: usize) -> ApiResult<usize> {
        let Some(text) = &self.limit else {
            return Ok(when_absent);
        };
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        // A number too long to hold is still a number above the maximum.
        match if is_number { text.parse().unwrap_or(PAGE_MAX) } else { 0 } {
            0 => Err(ApiError::bad_value("limit", format!("limit must be a whole number from 1 to {PAGE_MAX}"))),
            limit => Ok(limit.min(PAGE_MAX)),
        }
    }

    /// The row after which the page begins.
    pub(super) fn after<T: FromStr<Err: Display>>(&self) -> ApiResult<Option<T>> {
        query_id("after", self.after.as_deref())
    }
}

/// Parses an id in a query.
pub(super) fn query_id<T: FromStr<Err: Display>>(key: &str, text: Option<&str>) -> ApiResult<Option<T>> {
    text.map(|text| text.parse().map_err(|error| ApiError::bad_value(key, format!("{key} is {error}")))).transpose()
}

/// The response of a list: the rows' views, and the header with the next page's URL.
pub(super) type ListResponse<V> = (HeaderMap, Json<Vec<V>>);

/// One page of a list.
pub(super) struct Page<T> {
    pub(super) rows: Vec<T>,
    pub(super) link: HeaderMap,
}

impl<T> Page<T> {
    /// The page of rows that were read with one more than requested, and its link to the next one, which begins after the cursor of the last
    /// row. `path` and `filter` must be plain ASCII.
    pub(super) fn new<C: Display>(
        path: &str,
        filter: &str,
        mut rows: Vec<T>,
        limit: usize,
        cursor: impl FnOnce(&T) -> Option<C>,
    ) -> Self {
        let has_more = rows.len() > limit;
        rows.truncate(limit);
        let last = rows.last().filter(|_| has_more).and_then(cursor);
        Self { rows, link: next_page_link(path, filter, limit, last) }
    }

    pub(super) fn response<V>(self, view: impl FnMut(T) -> V) -> ListResponse<V> {
        (self.link, Json(self.rows.into_iter().map(view).collect()))
    }
}

/// The rows that can be read: a damaged row is left out and logged.
pub(super) fn readable_rows<T>(rows: impl Iterator<Item = ApiResult<T>>) -> Vec<T> {
    rows.filter_map(|row| row.inspect_err(ApiError::log).ok()).collect()
}

fn next_page_link(path: &str, filter: &str, limit: usize, last: Option<impl Display>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let next = last.map(|last| format!("<{path}?{filter}limit={limit}&after={last}>; rel=\"next\""));
    if let Some(Ok(link)) = next.map(HeaderValue::try_from) {
        headers.insert(header::LINK, link);
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(limit: Option<&str>, want: Option<usize>) {
        let query = PageQuery { limit: limit.map(str::to_owned), after: None };
        assert_eq!(query.limit(20).ok(), want, "{limit:?}");
    }

    #[test]
    fn parses_limits() {
        check(None, Some(20));
        check(Some("1"), Some(1));
        check(Some("100"), Some(100));
        check(Some("101"), Some(100));
        check(Some("99999999999999999999999999"), Some(100));
        check(Some("0"), None);
        check(Some("-1"), None);
        check(Some("+1"), None);
        check(Some(""), None);
        check(Some("ten"), None);
    }
}
