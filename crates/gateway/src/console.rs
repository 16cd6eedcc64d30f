//! The pages for people, embedded in the program. Every response forbids what these pages never do: scripts and styles of other
//! origins or inline, frames around them, content sniffing.
//!
//! Where the program was built without its console, a page says how to get it. Knows nothing of what the pages show.

use super::header_values::is_not_modified;
use super::response_budget::BudgetExempt;
use crate::app::App;
use axum::extract::Path;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Router};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use pages::Asset;

/// Sockets to the own origin are `'self'` (Content Security Policy Level 3, section 6.7.2.8).
const CSP: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);
/// Sent with every page.
pub(super) const SECURITY_HEADERS: [(HeaderName, HeaderValue); 4] = [
    (header::CONTENT_SECURITY_POLICY, CSP),
    (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin")),
];
/// Revalidated each time, and sent again only if it changed.
const CACHE_REVALIDATE: &str = "no-cache";
/// A year: the content of a name never changes.
const CACHE_IMMUTABLE: &str = "public, max-age=31536000, immutable";

const WORLD_PAGE: &str = "world.html";
/// The content type of a page.
pub(super) const HTML: &str = "text/html; charset=utf-8";
const MISSING_PAGE: &str = "<!doctype html>
<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\"><meta name=\"color-scheme\" content=\"dark light\"><title>Gauntlet</title></head>
<body><h1>This gauntlet was built without its pages</h1>
<p>The server works; only the console is missing. To get it, install Node.js 20.19 or newer with npm, and then, where the source is:</p>
<pre>make console
cargo build --release -p gauntlet</pre>
<p>Then start the new program, and come back to this address.</p></body></html>
";

pub(super) fn routes() -> Router<App> {
    Router::new()
        .route("/world", get(async |headers: HeaderMap| page_response(pages::asset(WORLD_PAGE), &headers)))
        .route("/console/{*file}", get(get_file))
}

/// Whether this program was built with the page of worlds.
pub(super) fn has_world_page() -> bool {
    pages::asset(WORLD_PAGE).is_some()
}

async fn get_file(Path(name): Path<String>, headers: HeaderMap) -> Response {
    match pages::asset(&name) {
        Some(asset) => asset_response(asset, &headers),
        None => super::problem::ApiError::NoSuchRoute.into_response(),
    }
}

fn page_response(asset: Option<Asset>, headers: &HeaderMap) -> Response {
    match asset {
        Some(asset) => asset_response(asset, headers),
        None => (StatusCode::NOT_FOUND, SECURITY_HEADERS, [(header::CONTENT_TYPE, HTML)], MISSING_PAGE).into_response(),
    }
}

/// The file, or 304 if the browser has it already.
fn asset_response(asset: Asset, headers: &HeaderMap) -> Response {
    let tag = format!("\"{}\"", BASE64_URL_SAFE_NO_PAD.encode(asset.digest));
    let cache_control = if asset.is_immutable { CACHE_IMMUTABLE } else { CACHE_REVALIDATE };
    let asset_headers = [(header::CACHE_CONTROL, cache_control), (header::ETAG, &tag)];
    if is_not_modified(headers, tag.as_bytes()) {
        return (StatusCode::NOT_MODIFIED, SECURITY_HEADERS, asset_headers).into_response();
    }
    (
        SECURITY_HEADERS,
        asset_headers,
        [(header::CONTENT_TYPE, asset.content_type)],
        Extension(BudgetExempt),
        asset.bytes,
    )
        .into_response()
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::to_bytes;

    fn asset(is_immutable: bool) -> Asset {
        Asset { bytes: b"<p>".into(), content_type: HTML, digest: [7; 32], is_immutable }
    }

    #[track_caller]
    fn check(response: Response, status: u16, cache: Option<&str>, body: &str) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (head, content) = response.into_parts();
        let header = |name| head.headers.get(name).map(|value: &HeaderValue| value.to_str().unwrap().to_owned());
        assert_eq!(head.status.as_u16(), status);
        assert_eq!(header(header::CACHE_CONTROL).as_deref(), cache);
        assert!(header(header::CONTENT_SECURITY_POLICY).unwrap().contains("script-src 'self';"));
        assert_eq!(header(header::X_CONTENT_TYPE_OPTIONS).as_deref(), Some("nosniff"));
        let content = runtime.block_on(to_bytes(content, 4_096)).unwrap();
        assert!(String::from_utf8_lossy(&content).contains(body));
        assert_eq!(content.is_empty(), body.is_empty());
    }

    fn knows(tag: &str) -> HeaderMap {
        HeaderMap::from_iter([(header::IF_NONE_MATCH, tag.parse().unwrap())])
    }

    #[test]
    fn files_are_sent_once() {
        let tag = format!("\"{}\"", BASE64_URL_SAFE_NO_PAD.encode([7; 32]));
        let nothing = HeaderMap::new();
        check(asset_response(asset(false), &nothing), 200, Some(CACHE_REVALIDATE), "<p>");
        check(asset_response(asset(true), &nothing), 200, Some(CACHE_IMMUTABLE), "<p>");
        check(asset_response(asset(false), &knows(&tag)), 304, Some(CACHE_REVALIDATE), "");
        check(asset_response(asset(false), &knows(&format!("\"old\", W/{tag}"))), 304, Some(CACHE_REVALIDATE), "");
        check(asset_response(asset(false), &knows("\"old\"")), 200, Some(CACHE_REVALIDATE), "<p>");
    }

    #[test]
    fn a_program_without_pages_says_how_to_get_them() {
        check(page_response(None, &HeaderMap::new()), 404, None, "make console");
        check(page_response(Some(asset(false)), &HeaderMap::new()), 200, Some(CACHE_REVALIDATE), "<p>");
    }
}
