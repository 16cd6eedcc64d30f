//! The pictures of the cards: drawn once a process, the same for everybody.

use crate::app::App;
use crate::gateway::problem::{ApiError, ApiResult, Thing};
use axum::body::Bytes;
use axum::extract::Path;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use rules::stories::CARDS;
use sha2::{Digest, Sha256};
use std::sync::LazyLock;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use wire::problem::Problem;

/// A day: a card may be drawn better in the next release.
const CACHE: HeaderValue = HeaderValue::from_static("public, max-age=86400");
/// A picture opened by itself is a document: it may style itself and nothing else.
const POLICY: HeaderValue = HeaderValue::from_static("default-src 'none'; style-src 'unsafe-inline'; sandbox");

struct Picture {
    svg: Bytes,
    tag: HeaderValue,
}

static PICTURES: LazyLock<Vec<Option<Picture>>> = LazyLock::new(|| (1..=CARDS).map(picture).collect());

fn picture(number: u8) -> Option<Picture> {
    let svg = Bytes::from(cards::svg(number)?);
    let digest: String = Sha256::digest(&svg).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    Some(Picture { svg, tag: HeaderValue::try_from(format!("\"{digest}\"")).ok()? })
}

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(get_card))
}

/// The picture of a card
///
/// Anybody may look at any card at any time: which cards there are is no secret, only who holds them is.
#[utoipa::path(get, path = "/api/stories/cards/{card}", tag = "stories",
    params(("card" = String, Path, description = "The card's number and `.svg`", example = "7.svg")), responses(
    (status = 200, description = "The picture; it may be kept for a day.", content_type = "image/svg+xml"),
    (status = 304, description = "It is still what `If-None-Match` names."),
    (status = 404, description = "There is no such card.", body = Problem, content_type = "application/problem+json"),
))]
async fn get_card(Path(card): Path<String>, headers: HeaderMap) -> ApiResult<Response> {
    let picture =
        number(&card).and_then(|number| PICTURES.get(number)?.as_ref()).ok_or(ApiError::Missing(Thing::Card))?;
    let about = [(header::CACHE_CONTROL, CACHE), (header::ETAG, picture.tag.clone())];
    if is_known(&headers, &picture.tag) {
        return Ok((StatusCode::NOT_MODIFIED, about).into_response());
    }
    let kind = [
        (header::CONTENT_TYPE, HeaderValue::from_static("image/svg+xml")),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    ];
    Ok((about, kind, picture.svg.clone()).into_response())
}

/// The place of `7.svg` among the pictures. One card has one name.
fn number(name: &str) -> Option<usize> {
    let digits = name.strip_suffix(".svg")?;
    let number: usize = digits.parse().ok()?;
    if number.to_string() == digits { number.checked_sub(1) } else { None }
}

/// RFC 9110, section 13.1.2.
fn is_known(headers: &HeaderMap, tag: &HeaderValue) -> bool {
    let known = headers.get_all(header::IF_NONE_MATCH).into_iter().filter_map(|line| line.to_str().ok());
    let mut known = known.flat_map(|line| line.split(',')).map(str::trim);
    known.any(|known| known == "*" || known.strip_prefix("W/").unwrap_or(known).as_bytes() == tag.as_bytes())
}
