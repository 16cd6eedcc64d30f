//! What a person sees who opens the address of a server in a browser: the console's home page, or where there is none, a list of what
//! this process serves.
//!
//! Knows paths, and which of them this process serves. Reads no state, so that it is the same whatever the server does.

use super::console::{self, HTML, SECURITY_HEADERS, is_built};
use crate::app::App;
use axum::Router;
use axum::http::{HeaderMap, header};
use axum::response::IntoResponse;
use axum::routing::get;
use settings::ServeMode;

/// The icon that browsers request where a page names none: the console's.
const ICON: &[u8] = include_bytes!("../../../console/src/icon.svg");

/// A path, and its description.
type Link = (&'static str, &'static str);

const GAMES_INTRO: &str = "This server plays games: matches of bots, worlds and hunts, and Stories.";
const LIMITER_INTRO: &str =
    "This server limits rates for other services: POST to /api/limits/check tells whether a key may proceed.";
const GAME_LINKS: [Link; 7] = [
    ("/world", "the page of worlds, which this program was built without; says how to get it"),
    ("/api/summary", "what goes on here, in numbers"),
    ("/api/worlds", "all worlds"),
    ("/api/hunts", "the hunts in them"),
    ("/api/games/live", "public matches of bots that are being played"),
    ("/api/games/recent", "public matches of bots that are over"),
    ("/api/games", "the caller's games, with a token"),
];
const COMMON_LINKS: [Link; 4] = [
    ("/api/openapi.json", "every route of the API, as an OpenAPI 3.1 document"),
    ("/metrics", "metrics of this process, for Prometheus"),
    ("/readyz", "whether it is ready for work, and if not, why"),
    ("/healthz", "whether it is alive"),
];

pub(super) fn routes(serve_mode: ServeMode) -> Router<App> {
    let list = match serve_mode {
        ServeMode::All => render_list(GAMES_INTRO, GAME_LINKS.iter().chain(&COMMON_LINKS)),
        ServeMode::Limiter => render_list(LIMITER_INTRO, COMMON_LINKS.iter()),
    };
    let has_page = serve_mode == ServeMode::All && is_built();
    let home = async move |headers: HeaderMap| match has_page {
        true => console::page(&headers),
        false => (SECURITY_HEADERS, [(header::CONTENT_TYPE, HTML)], list).into_response(),
    };
    let icon_headers = [(header::CONTENT_TYPE, "image/svg+xml"), (header::CACHE_CONTROL, "public, max-age=86400")];
    Router::new()
        .route("/", get(home))
        .route("/favicon.ico", get(async move || (SECURITY_HEADERS, icon_headers, ICON).into_response()))
}

fn render_list<'a>(intro: &str, links: impl Iterator<Item = &'a Link>) -> String {
    let item = |(path, description): &Link| format!("<li><a href=\"{path}\">{path}</a>: {description}</li>\n");
    let items: String = links.map(item).collect();
    format!(
        "<!doctype html>
<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\"><meta name=\"color-scheme\" content=\"dark light\"><title>Gauntlet</title></head>
<body><h1>Gauntlet</h1>
<p>{intro}</p>
<ul>
{items}</ul></body></html>
"
    )
}
