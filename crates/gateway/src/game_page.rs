//! `/games/{id}`: the address that programs for this API open in a browser when they have created a game. The console's match viewer;
//! where the program was built without it, a page says where the game can be watched and read.
//!
//! Knows paths and this site's own address. Reads no state, so that it tells no visitor whether there is such a game.

use super::console::{self, HTML, SECURITY_HEADERS};
use super::origin::RequestSource;
use crate::app::App;
use axum::Router;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::request::Parts;
use axum::http::{Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use engine::ids::MatchId;

/// The official board viewer, which reads games of any server that it is told.
const VIEWER: &str = "https://board.battlesnake.com/";

pub(super) fn routes() -> Router<App> {
    Router::new().route("/games/{id}", get(show))
}

async fn show(State(app): State<App>, id: Result<Path<String>, PathRejection>, parts: Parts) -> Response {
    let Some(id) = id.ok().and_then(|Path(id)| id.parse::<MatchId>().ok()) else {
        return console::not_found(parts.uri, parts.headers).await;
    };
    if !console::is_built() {
        let site = RequestSource::of(&parts, &app.config).site().filter(|site| site.chars().all(is_plain));
        return (SECURITY_HEADERS, [(header::CONTENT_TYPE, HTML)], render(id, site.as_deref())).into_response();
    }
    if is_embedded(&parts.uri, id) { console::framed_page(&parts.headers) } else { console::page(&parts.headers) }
}

/// Whether the URL asks for the page without its frame of the console, to stand in a frame of another site: `?embed`. Only in the spelling that
/// the console knows for this page: under any other one it shows its menu, which no other site may frame.
fn is_embedded(uri: &Uri, id: MatchId) -> bool {
    let is_asked = uri.query().unwrap_or_default().split('&').any(|pair| pair.split('=').next() == Some("embed"));
    is_asked && uri.path() == format!("/games/{id}")
}

/// What needs no escape in HTML, nor in the value of a query: the name comes from the request.
fn is_plain(character: char) -> bool {
    character.is_ascii_alphanumeric() || ":/.-_[]".contains(character)
}

fn render(id: MatchId, site: Option<&str>) -> String {
    let viewer = site.map(|site| {
        let url = format!("{VIEWER}?engine={site}/api&amp;game={id}");
        format!("<li><a href=\"{url}\">watch it</a> in the official board viewer, live or again</li>\n")
    });
    let viewer = viewer.unwrap_or_default();
    format!(
        "<!doctype html>
<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\"><meta name=\"color-scheme\" content=\"dark light\"><title>Game {id}</title></head>
<body><h1>Game {id}</h1>
<ul>
{viewer}<li><a href=\"/api/games/{id}/summary\">status and winner</a>, if all of its snakes are public</li>
<li><a href=\"/api/games/{id}/frames\">the first frames</a></li>
</ul></body></html>
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_viewer_is_linked_where_the_site_is_known() {
        let page = render(MatchId(10), Some("http://[::1]:4000"));
        let link = "?engine=http://[::1]:4000/api&amp;game=00000000-0000-0000-0000-00000000000a\"";
        assert!(page.contains(link), "{page}");
        assert!(!render(MatchId(10), None).contains(VIEWER));
    }

    #[test]
    fn a_name_that_could_leave_its_place_is_not_plain() {
        for name in ["http://a\"b", "http://a<b", "http://a&b", "http://a'b", "http://ä", "http://a%22"] {
            assert!(!name.chars().all(is_plain), "{name}");
        }
        assert!("https://play-1.example:8443".chars().all(is_plain));
    }

    #[test]
    fn embedding_is_asked_for() {
        let id = MatchId(10);
        for (rest, want) in [
            ("?embed", true),
            ("?turn=3&embed=1", true),
            ("?embed&turn=3", true),
            ("?embedded", false),
            ("?turn=embed", false),
            ("?", false),
            ("", false),
        ] {
            let uri = format!("/games/{id}{rest}").parse().unwrap();
            assert_eq!(is_embedded(&uri, id), want, "{rest:?}");
        }
        for path in [
            "/games/%300000000-0000-0000-0000-00000000000a",
            "/games/00000000-0000-0000-0000-00000000000A",
            "/games/0000000000000000000000000000000a",
        ] {
            assert!(!is_embedded(&format!("{path}?embed").parse().unwrap(), id), "{path}");
        }
    }
}
