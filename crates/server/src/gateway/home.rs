//! The first page: what a person sees who opens the address of a server in a browser. It says what runs here and where the
//! rest of it is.
//!
//! Knows paths, and which of them this process serves. Asks nobody anything, so that it looks the same whatever the house is up to.

use super::console::{HTML, SECURITY_HEADERS, has_world_page};
use crate::app::App;
use crate::config::ServeMode;
use axum::Router;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::get;

/// What browsers ask for by themselves wherever a page names no icon of its own: the console's.
const ICON: &[u8] = include_bytes!("../../../../console/src/icon.svg");

/// A path, and what a person finds there.
type Link = (&'static str, &'static str);

const GAMES_INTRO: &str = "This server plays games: matches of bots, worlds and hunts, and Stories.";
const LIMITER_INTRO: &str =
    "This server limits rates for others: POST to /api/limits/check says whether a key may go on.";
const WORLD_LINK: Link = ("/world", "walk through a world");
const WORLD_MISSING_LINK: Link =
    ("/world", "the page of worlds, which this program was built without; says how to get it");
const GAME_LINKS: [Link; 3] = [
    ("/api/worlds", "the worlds that there are"),
    ("/api/hunts", "the hunts that run in them"),
    ("/api/games", "the games of whoever asks, with a token"),
];
const COMMON_LINKS: [Link; 4] = [
    ("/api/openapi.json", "every route of the API, as an OpenAPI 3.1 document"),
    ("/metrics", "figures of this process, for Prometheus"),
    ("/readyz", "whether it can take work now, and why not"),
    ("/healthz", "whether it is alive"),
];

pub(super) fn routes(serves: ServeMode) -> Router<App> {
    let page = match serves {
        ServeMode::All => {
            let world = if has_world_page() { WORLD_LINK } else { WORLD_MISSING_LINK };
            render_page(GAMES_INTRO, [world].iter().chain(&GAME_LINKS).chain(&COMMON_LINKS))
        }
        ServeMode::Limiter => render_page(LIMITER_INTRO, COMMON_LINKS.iter()),
    };
    let about = [(header::CONTENT_TYPE, "image/svg+xml"), (header::CACHE_CONTROL, "public, max-age=86400")];
    Router::new()
        .route("/", get(async move || (SECURITY_HEADERS, [(header::CONTENT_TYPE, HTML)], page).into_response()))
        .route("/favicon.ico", get(async move || (SECURITY_HEADERS, about, ICON).into_response()))
}

fn render_page<'a>(what: &str, links: impl Iterator<Item = &'a Link>) -> String {
    let item = |(path, says): &Link| format!("<li><a href=\"{path}\">{path}</a>: {says}</li>\n");
    let items: String = links.map(item).collect();
    format!(
        "<!doctype html>
<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\"><meta name=\"color-scheme\" content=\"dark light\"><title>Gauntlet</title></head>
<body><h1>Gauntlet</h1>
<p>{what}</p>
<ul>
{items}</ul></body></html>
"
    )
}
