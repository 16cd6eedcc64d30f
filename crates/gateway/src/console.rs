//! The console, embedded in the program: one HTML document for every page, which its own router reads the path of, and its files. Where a
//! page stands is written once, in `console/src/shell/pages.json`, which that router reads too. Every
//! response forbids what the pages never do: scripts and styles of other origins or inline, frames around them, content sniffing.
//! The match viewer alone may be framed, and only where its URL asks for it (decision 0060).
//!
//! Where the program was built without its console, a page says how to get it. Knows nothing of what the pages show.

use super::extract::PathId;
use super::header_values::{accepts, is_not_modified};
use super::problem::ApiError;
use super::response_budget::BudgetExempt;
use crate::app::App;
use axum::extract::RawPathParams;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Router};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use engine::ids::MatchId;
use pages::Asset;
use std::collections::BTreeMap;

/// Sockets to the own origin are `'self'` (Content Security Policy Level 3, section 6.7.2.8).
const CSP: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);
/// The same for a page that any site may show in a frame. It must do nothing that a click could be stolen for: the session's
/// cookie (`SameSite=Strict`) reaches it in a frame of another port or subdomain of this host.
const CSP_FRAMED: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors *",
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

/// The document of every page.
const DOCUMENT: &str = "index.html";
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

/// The paths of all pages by their names: `{id}` in them stands for a UUID, `{name}` for a word.
const PAGES: &str = include_str!("../../../console/src/shell/pages.json");
/// The pages that have files of their own here: one may be framed, one is there without the console.
const MATCH_PAGE: &str = "match";
const HOME_PAGE: &str = "home";
/// Letters of a word in a path.
const WORD_CHARS_MAX: usize = 64;

pub(super) fn routes() -> Router<App> {
    let pages: BTreeMap<String, String> = serde_json::from_str(PAGES).expect("a file of this repository, tested");
    let others = pages.iter().filter(|(name, _)| ![MATCH_PAGE, HOME_PAGE].contains(&name.as_str()));
    others
        .fold(Router::new(), |router, (_, path)| router.route(path, get(show_page)))
        .route("/console/{*file}", get(get_file))
}

/// A page, where what its path names can exist at all.
async fn show_page(params: RawPathParams, parts: Parts) -> Response {
    let is_possible = params.iter().all(|(name, value)| if name == "id" { is_uuid(value) } else { is_word(value) });
    if is_possible { page(&parts.headers) } else { not_found(parts.uri, parts.headers).await }
}

fn is_uuid(text: &str) -> bool {
    text.parse::<MatchId>().is_ok()
}

fn is_word(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    text.len() <= WORD_CHARS_MAX
        && text.bytes().next().is_some_and(is_plain)
        && text.bytes().all(|byte| is_plain(byte) || b"_.-".contains(&byte))
}

/// Whether this program was built with its console.
pub(super) fn is_built() -> bool {
    pages::asset(DOCUMENT, false).is_some()
}

async fn get_file(PathId(name): PathId<String>, headers: HeaderMap) -> Response {
    match pages::asset(&name, takes_brotli(&headers)) {
        Some(asset) => asset_response(asset, &headers),
        None => ApiError::NoSuchRoute.into_response(),
    }
}

/// A page of the console.
pub(super) fn page(headers: &HeaderMap) -> Response {
    page_response(pages::asset(DOCUMENT, takes_brotli(headers)), headers)
}

/// A page of the console that other sites may frame.
pub(super) fn framed_page(headers: &HeaderMap) -> Response {
    let mut response = page(headers);
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, CSP_FRAMED);
    response
}

/// The answer where nothing is: to a browser that opens a page, the console's own; to programs, a problem.
pub(super) async fn not_found(uri: Uri, headers: HeaderMap) -> Response {
    let is_page = !uri.path().starts_with("/api/") && accepts(&headers, &header::ACCEPT, "text/html");
    match pages::asset(DOCUMENT, takes_brotli(&headers)).filter(|_| is_page) {
        Some(asset) => (StatusCode::NOT_FOUND, asset_response(asset, &HeaderMap::new())).into_response(),
        None => ApiError::NoSuchRoute.into_response(),
    }
}

fn takes_brotli(headers: &HeaderMap) -> bool {
    accepts(headers, &header::ACCEPT_ENCODING, "br")
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
    let asset_headers =
        [(header::CACHE_CONTROL, cache_control), (header::ETAG, &tag), (header::VARY, "accept-encoding")];
    if is_not_modified(headers, tag.as_bytes()) {
        return (StatusCode::NOT_MODIFIED, SECURITY_HEADERS, asset_headers).into_response();
    }
    let content_type = [(header::CONTENT_TYPE, asset.content_type)];
    let mut response =
        (SECURITY_HEADERS, asset_headers, content_type, Extension(BudgetExempt), asset.bytes).into_response();
    if asset.is_brotli {
        response.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static("br"));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::to_bytes;

    fn asset(is_immutable: bool) -> Asset {
        Asset { bytes: b"<p>".into(), content_type: HTML, digest: [7; 32], is_immutable, is_brotli: false }
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

    #[test]
    fn a_compressed_file_says_so() {
        let response = asset_response(Asset { is_brotli: true, ..asset(true) }, &HeaderMap::new());
        assert_eq!(response.headers().get(header::CONTENT_ENCODING).unwrap(), "br");
        assert_eq!(response.headers().get(header::VARY).unwrap(), "accept-encoding");
        assert!(asset_response(asset(true), &HeaderMap::new()).headers().get(header::CONTENT_ENCODING).is_none());
    }

    #[test]
    fn only_what_a_browser_takes_is_sent() {
        for (line, want) in [
            ("gzip, deflate, br, zstd", true),
            ("BR", true),
            ("br;q=0.5", true),
            ("gzip, br; q=0", false),
            ("br;q=0.000", false),
            ("br;q=much", false),
            ("brotli", false),
            ("*", false),
            ("", false),
        ] {
            let headers = HeaderMap::from_iter([(header::ACCEPT_ENCODING, line.parse().unwrap())]);
            assert_eq!(takes_brotli(&headers), want, "{line:?}");
        }
        assert!(!takes_brotli(&HeaderMap::new()));
    }

    #[test]
    fn pages_have_addresses_that_a_router_takes() {
        drop(routes());
        let pages: BTreeMap<String, String> = serde_json::from_str(PAGES).unwrap();
        assert!(pages.contains_key(MATCH_PAGE));
        assert_eq!(pages[HOME_PAGE], "/");
        for path in pages.values() {
            let params = path.split('/').filter(|part| part.starts_with('{'));
            assert!(params.into_iter().all(|param| ["{id}", "{name}"].contains(&param)), "{path}");
        }
    }

    #[test]
    fn words_of_paths_are_small_letters() {
        for (text, want) in [
            ("ladders", true),
            ("0060-one", true),
            ("games.md", true),
            ("", false),
            ("Up", false),
            ("-a", false),
            ("a/b", false),
        ] {
            assert_eq!(is_word(text), want, "{text}");
        }
        assert!(!is_word(&"a".repeat(WORD_CHARS_MAX + 1)));
    }

    #[test]
    fn only_a_page_that_asks_for_it_may_be_framed() {
        let ancestors = |response: Response| {
            let policy = response.headers().get(header::CONTENT_SECURITY_POLICY).unwrap().to_str().unwrap().to_owned();
            policy.split("; ").last().unwrap().to_owned()
        };
        assert_eq!(ancestors(page(&HeaderMap::new())), "frame-ancestors 'none'");
        assert_eq!(ancestors(framed_page(&HeaderMap::new())), "frame-ancestors *");
        let others = |policy: HeaderValue| policy.to_str().unwrap().rsplit_once("; ").unwrap().0.to_owned();
        assert_eq!(others(CSP), others(CSP_FRAMED), "nothing else is allowed in a frame");
    }
}
