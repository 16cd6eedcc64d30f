//! The images of the cards: generated once per process, the same for every client.

use crate::app::App;
use crate::extract::PathId;
use crate::header_values::is_not_modified;
use crate::problem::{ApiError, ApiResult, Resource};
use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use rules::stories::CARDS;
use sha2::{Digest, Sha256};
use std::sync::LazyLock;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// A day: a card's image may change in the next release.
const CACHE_ONE_DAY: HeaderValue = HeaderValue::from_static("public, max-age=86400");
/// An image opened by itself is a document: it may style itself and nothing else.
const CSP: HeaderValue = HeaderValue::from_static("default-src 'none'; style-src 'unsafe-inline'; sandbox");

struct CardImage {
    svg: Bytes,
    tag: HeaderValue,
}

static CARD_IMAGES: LazyLock<Vec<Option<CardImage>>> = LazyLock::new(|| (1..=CARDS).map(card_image).collect());

fn card_image(number: u8) -> Option<CardImage> {
    let svg = Bytes::from(cards::svg(number)?);
    let digest: String = Sha256::digest(&svg).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    Some(CardImage { svg, tag: HeaderValue::try_from(format!("\"{digest}\"")).ok()? })
}

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(get_card))
}

/// The image of a card
///
/// Public: which cards exist is no secret, only who holds them is.
#[utoipa::path(get, path = "/api/stories/cards/{card}", tag = "stories",
    params(("card" = String, Path, description = "The card's number and `.svg`", example = "7.svg")), responses(
    (status = 200, description = "The image; it may be cached for a day.", content_type = "image/svg+xml"),
    (status = 304, description = "Unchanged since the version in `If-None-Match`."),
    (status = 404, description = "There is no such card."),
))]
async fn get_card(PathId(card): PathId<String>, headers: HeaderMap) -> ApiResult<Response> {
    let image = card_index(&card)
        .and_then(|number| CARD_IMAGES.get(number)?.as_ref())
        .ok_or(ApiError::NotFound(Resource::Card))?;
    let cache_headers = [(header::CACHE_CONTROL, CACHE_ONE_DAY), (header::ETAG, image.tag.clone())];
    if is_not_modified(&headers, image.tag.as_bytes()) {
        return Ok((StatusCode::NOT_MODIFIED, cache_headers).into_response());
    }
    let content_headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("image/svg+xml")),
        (header::CONTENT_SECURITY_POLICY, CSP),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    ];
    Ok((cache_headers, content_headers, image.svg.clone()).into_response())
}

/// The index of `7.svg` among the images. One card has one name.
fn card_index(name: &str) -> Option<usize> {
    let digits = name.strip_suffix(".svg")?;
    let number: usize = digits.parse().ok()?;
    if number.to_string() == digits { number.checked_sub(1) } else { None }
}
