//! Lists in pages: the page size, the cursor, and the `Link` header that leads to the next page.

use super::problem::{ApiError, ApiResult};
use axum::Json;
use axum::http::{HeaderMap, HeaderValue, header};
use engine::limits::PAGE_MAX;
use serde::Deserialize;
use std::fmt::{Display, Write};
use std::ops::RangeInclusive;
use std::str::FromStr;

/// The query of a list.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct PageQuery {
    /// Rows of one page; more than 100 count as 100, and 0 and less are an empty page.
    #[param(value_type = Option<u32>, minimum = 0, maximum = 100)]
    pub(super) limit: Option<String>,
    /// Only rows older than the one with this id (of games of Stories: with this cursor); `Link: <…>; rel="next"` gives the next page's.
    pub(super) after: Option<String>,
    /// Refused: no list has it, and one who is answered the first page again and again would not find out.
    #[param(ignore)]
    pub(super) offset: Option<String>,
}

impl PageQuery {
    /// The requested number of rows.
    pub(super) fn limit(&self, when_absent: usize) -> ApiResult<usize> {
        self.limit_of(PAGE_MAX, when_absent)
    }

    /// The same where a page may have so many.
    pub(super) fn limit_of(&self, most: usize, when_absent: usize) -> ApiResult<usize> {
        if let Some(offset) = self.offset.as_deref().and_then(whole_number).filter(|offset| *offset > 0) {
            let reason = format!(
                "this list has no offset (not {offset}): its next page is the URL in the header Link, or begins with after=, the \
                 cursor of the last row"
            );
            return Err(ApiError::bad_value("offset", reason));
        }
        let limit = |rows: usize| u32::try_from(rows).unwrap_or(u32::MAX);
        clamped_number("limit", self.limit.as_deref(), 0..=limit(most), limit(when_absent)).map(|limit| limit as usize)
    }

    /// The row after which the page begins.
    pub(super) fn after<T: FromStr<Err: Display>>(&self) -> ApiResult<Option<T>> {
        query_id("after", self.after.as_deref())
    }
}

/// A number in a query, brought into a range: programs for this API ask for more than there is, and before the beginning.
pub(super) fn clamped_number(
    key: &str,
    text: Option<&str>,
    range: RangeInclusive<u32>,
    when_absent: u32,
) -> ApiResult<u32> {
    let Some(text) = text else {
        return Ok(when_absent);
    };
    let number = whole_number(text).map(|number| number.clamp((*range.start()).into(), (*range.end()).into()));
    number.and_then(|number| u32::try_from(number).ok()).ok_or_else(|| {
        let (least, most) = (range.start(), range.end());
        ApiError::bad_value(
            key,
            format!("{key} must be a whole number; what is not from {least} to {most} counts as the nearest"),
        )
    })
}

/// A number too long to hold is the least or the most that can be held.
fn whole_number(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().unwrap_or(if text.starts_with('-') { i64::MIN } else { i64::MAX }))
}

/// Parses a choice of a query between yes and no, which is no when it is absent.
pub(super) fn query_flag(key: &str, text: Option<&str>) -> ApiResult<bool> {
    match text {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(other) => {
            let shown: String = other.chars().take(20).collect();
            Err(ApiError::bad_value(key, format!("{key} is true or false, not {shown}")))
        }
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

/// A text as a value of a query: all but letters, digits and `-._~` of ASCII in the form `%XX`.
pub(super) fn query_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
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
        let query = PageQuery { limit: limit.map(str::to_owned), ..PageQuery::default() };
        assert_eq!(query.limit(20).ok(), want, "{limit:?}");
    }

    #[track_caller]
    fn check_offset(offset: &str, is_taken: bool) {
        let query = PageQuery { offset: Some(offset.to_owned()), ..PageQuery::default() };
        assert_eq!(query.limit(20).is_ok(), is_taken, "{offset}");
    }

    #[test]
    fn an_offset_that_would_skip_rows_is_refused() {
        check_offset("0", true);
        check_offset("-1", true);
        check_offset("1", false);
        check_offset("99999999999999999999999999", false);
    }

    #[test]
    fn parses_limits() {
        check(None, Some(20));
        check(Some("1"), Some(1));
        check(Some("100"), Some(100));
        check(Some("101"), Some(100));
        check(Some("99999999999999999999999999"), Some(100));
        check(Some("0"), Some(0));
        check(Some("-1"), Some(0));
        check(Some("+1"), None);
        check(Some(""), None);
        check(Some("ten"), None);
        check(Some("-99999999999999999999999999"), Some(0));
    }

    #[track_caller]
    fn check_encoded(text: &str, want: &str) {
        assert_eq!(query_encoded(text), want);
    }

    #[test]
    fn values_of_queries_are_plain_ascii() {
        check_encoded("aZ9-._~", "aZ9-._~");
        check_encoded("a b&c=d%+#", "a%20b%26c%3Dd%25%2B%23");
        check_encoded("é🐍>", "%C3%A9%F0%9F%90%8D%3E");
    }

    #[track_caller]
    fn check_clamped(text: Option<&str>, want: Option<u32>) {
        assert_eq!(clamped_number("offset", text, 2..=100, 7).ok(), want, "{text:?}");
    }

    #[test]
    fn numbers_are_brought_into_their_range() {
        check_clamped(None, Some(7));
        check_clamped(Some("50"), Some(50));
        check_clamped(Some("0"), Some(2));
        check_clamped(Some("-1"), Some(2));
        check_clamped(Some("1000"), Some(100));
        check_clamped(Some("99999999999999999999999999"), Some(100));
        check_clamped(Some("-99999999999999999999999999"), Some(2));
        for bad in ["", "-", "+1", "1.5", "ten", "--1", "1-"] {
            check_clamped(Some(bad), None);
        }
    }
}
