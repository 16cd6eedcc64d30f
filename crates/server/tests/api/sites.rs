//! What a page of another site can make a browser send changes nothing here, on any route; programs, and pages of this site, are not
//! held up.

use crate::test_server::{Call, TestServer};
use axum::http::Method;
use serde_json::json;

const ID: &str = "0190b5a4-7c1e-7000-8000-000000000001";
const HERE: &str = "localhost:4000";

/// Every route that changes something: those of the document, and those of the reference API, which no document has.
fn changes() -> Vec<String> {
    let document = serde_json::to_value(gateway::openapi()).unwrap();
    let mut lines = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        let methods =
            item.as_object().unwrap().keys().filter_map(|method| method.to_uppercase().parse::<Method>().ok());
        for method in methods.filter(|method| !method.is_safe()) {
            let segments = path.split('/').map(|segment| if segment.starts_with('{') { ID } else { segment });
            lines.push(format!("{method} {}", segments.collect::<Vec<_>>().join("/")));
        }
    }
    let reference = [
        "POST /api/v1/ratelimit?client_id=a",
        "POST /api/v1/configure?window_seconds=1&request_per_window=1",
        "POST /api/v1/configure-client?client_id=a&window_seconds=1&request_per_window=1",
        "DELETE /api/v1/client-config/a",
        "POST /api/v1/nowhere",
        "POST /nowhere",
    ];
    lines.extend(reference.map(str::to_owned));
    lines
}

#[tokio::test]
async fn no_route_lets_a_page_of_another_site_change_anything() {
    let server = TestServer::open().await;
    let lines = changes();
    assert!(lines.len() > 40, "{lines:?}");
    for line in lines {
        let call = || server.call(&line).by("").header("host", HERE);
        for origin in ["http://evil.example", "http://localhost:9999", "https://localhost:4000", "null"] {
            call().header("origin", origin).check("403 cross_site").await;
            // Who asks comes before what is wrong with the request.
            call().header("origin", origin).header("upgrade", "websocket").check("403 cross_site").await;
        }
        for site in ["cross-site", "same-site"] {
            call().header("sec-fetch-site", site).check("403 cross_site").await;
        }
        let is_let_in = async |call: Call| {
            let reply = call.send().await;
            assert_ne!(reply.body["code"], "cross_site", "{line}");
        };
        is_let_in(call()).await;
        is_let_in(call().header("origin", "http://localhost:4000").header("sec-fetch-site", "same-origin")).await;
        is_let_in(call().by("unknown").header("origin", "http://evil.example")).await;
    }
}

/// A form, as a page of another site posts it without being asked.
#[tokio::test]
async fn a_form_of_another_site_configures_nothing() {
    let server = TestServer::open().await;
    let form = |origin: Option<&str>| {
        let call = server.call("POST /api/v1/configure").by("").header("host", HERE);
        let call = call.header("content-type", "application/x-www-form-urlencoded");
        let call = origin.into_iter().fold(call, |call, origin| call.header("origin", origin));
        call.raw("window_seconds=60&request_per_window=7")
    };
    form(Some("http://evil.example")).check("403 cross_site").await;
    assert_eq!(form(None).send().await.status, 200, "programs post forms");
    assert_eq!(form(Some("http://localhost:4000")).send().await.status, 200);
}

/// Its name leads to this machine, so that the browser takes both for one site.
#[tokio::test]
async fn a_name_that_was_made_to_lead_here_is_another_site() {
    let server = TestServer::open().await;
    let come = |host: &str| {
        let origin = format!("http://{host}");
        let call = server.call("POST /api/stories/guests").by("").header("host", host).header("origin", &origin);
        call.header("sec-fetch-site", "same-origin").json(&json!({ "name": "Ann" }))
    };
    come("evil.example:4000").check("403 cross_site").await;
    come("evil.example:4000").by("unknown").check("403 cross_site").await;
    for host in ["localhost:4000", "127.0.0.1:4000", "[::1]:4000"] {
        come(host).check("201").await;
    }
}

/// A page may say that it has a token. On a route that needs none, that alone must not let it in.
#[tokio::test]
async fn an_invalid_token_opens_nothing_to_a_page_of_another_site() {
    let server = TestServer::open().await;
    let guest = |by: &str| {
        let call = server.call("POST /api/stories/guests").by(by).header("host", HERE);
        call.header("origin", "http://evil.example").json(&json!({ "name": "Ann" }))
    };
    guest("").check("403 cross_site").await;
    guest("unknown").check("401 token_unknown").await;
    guest("gst_forged").check("401 token_unknown").await;
    guest("player").check("201").await;
    let beside_a_cookie = guest("unknown").header("cookie", "gauntlet_session=player");
    beside_a_cookie.check("401 token_unknown").await;
    let with_a_cookie_alone =
        guest("").header("authorization", "Basic YTpi").header("cookie", "gauntlet_session=player");
    with_a_cookie_alone.check("403 cross_site").await;
}

#[tokio::test]
async fn only_viewers_at_other_sites_may_open_sockets() {
    let server = TestServer::open().await;
    let open = |path: &str, origin: &str| {
        let call = server.call(&format!("GET {path}")).by("").header("host", HERE).header("origin", origin);
        call.header("upgrade", "websocket").header("connection", "upgrade")
    };
    for path in ["/api/worlds/plaza/socket", &format!("/api/stories/tables/{ID}/socket")] {
        open(path, "http://evil.example").check("403 cross_site").await;
        let own = open(path, "http://localhost:4000").send().await;
        assert_ne!(own.body["code"], "cross_site", "{path}");
    }
    let game = format!("/api/games/{}/events", server.game().await);
    open(&game, "https://board.example").check("426 upgrade_required").await;
}
