//! Who may do what: one row a route, one column a caller.

use crate::test_server::{BOOTSTRAP, TestServer};
use utoipa::openapi::path::Paths;
use utoipa::openapi::security::SecurityRequirement;

const CALLERS: [&str; 7] = ["", "unknown", "guest", "player", "operator", "admin", BOOTSTRAP];
const ID: &str = "0190b5a4-7c1e-7000-8000-000000000001";

/// `.` is let through (whatever the route says then), `?` is 401, `x` is 403.
/// A site of the same domain may set a cookie of the same name, and it may come first.
#[tokio::test]
async fn a_bad_cookie_beside_a_good_one_logs_no_client_out() {
    let server = TestServer::open().await;
    let ask =
        |line: &str, cookie: &str| server.call(line).by("").header("cookie", cookie).header("x-requested-with", "test");
    for cookie in
        ["gauntlet_session=forged; gauntlet_session=player", "gauntlet_session=player; gauntlet_session=forged"]
    {
        ask("GET /api/session", cookie).check("200").await;
        let renewed = ask("POST /api/session", cookie).check("200").await;
        let set = renewed.headers["set-cookie"].to_str().unwrap();
        assert!(set.starts_with("gauntlet_session=player;"), "{set}");
    }
    ask("GET /api/session", "gauntlet_session=forged; gauntlet_session=other").check("401 token_unknown").await;
}

#[tokio::test]
async fn the_whole_table() {
    let table = [
        ("GET /api/games", "??....."),
        ("POST /api/games", "??x...."),
        ("POST /api/games/batch", "??x...."),
        ("POST /api/games/status", "??....."),
        ("GET /api/games/{id}/details", "??....."),
        ("POST /api/games/{id}/cancel", "??x...."),
        ("GET /api/games/live", "......."),
        ("GET /api/games/recent", "......."),
        ("GET /api/games/{id}/summary", ".?....."),
        ("GET /api/games/{id}", "......."),
        ("GET /api/games/{id}/frames", "......."),
        ("GET /api/games/{id}/jsonl", ".?....."),
        ("GET /api/games/{id}/snakes/0/turns", "??....."),
        ("GET /api/games/{id}/snakes/0/turns/0", "??....."),
        ("GET /api/games/{id}/snakes/0/calls", "??....."),
        ("GET /api/games/{id}/events", "......."),
        ("GET /api/snakes", "??....."),
        ("POST /api/snakes", "??x...."),
        ("GET /api/snakes/{id}", "??....."),
        ("GET /api/snakes/public", "......."),
        ("GET /api/snakes/{id}/profile", ".?....."),
        ("GET /api/snakes/{id}/games", ".?....."),
        ("PUT /api/snakes/{id}", "??x...."),
        ("DELETE /api/snakes/{id}", "??x...."),
        ("GET /api/duels", "??....."),
        ("POST /api/duels", "??x...."),
        ("GET /api/duels/{id}", ".?....."),
        ("GET /api/duels/{id}/games", ".?....."),
        ("POST /api/duels/{id}/cancel", "??x...."),
        ("POST /api/snakes/{id}/check", "??x...."),
        ("GET /api/snakes/{id}/health", "??x...."),
        ("GET /api/snakes/{id}/latency", "??x...."),
        ("POST /api/snakes/{id}/signing-secret", "??x...."),
        ("DELETE /api/snakes/{id}/signing-secret", "??x...."),
        ("GET /api/leaderboards", ".?....."),
        ("POST /api/leaderboards", "??x...."),
        ("GET /api/leaderboards/{id}", ".?....."),
        ("DELETE /api/leaderboards/{id}", "??x...."),
        ("GET /api/leaderboards/{id}/rankings", ".?....."),
        ("GET /api/leaderboards/{id}/games", ".?....."),
        ("GET /api/leaderboards/{id}/entries", "??....."),
        ("POST /api/leaderboards/{id}/entries", "??x...."),
        ("GET /api/leaderboards/{id}/entries/{id}", ".?....."),
        ("DELETE /api/leaderboards/{id}/entries/{id}", "??x...."),
        ("GET /api/leaderboards/{id}/entries/{id}/games", ".?....."),
        ("GET /api/leaderboards/{id}/entries/{id}/opponents", ".?....."),
        ("GET /api/leaderboards/{id}/seasons", ".?....."),
        ("GET /api/leaderboards/{id}/seats", ".?....."),
        ("GET /api/leaderboards/{id}/invitations", "??x...."),
        ("POST /api/leaderboards/{id}/invitations", "??x...."),
        ("DELETE /api/leaderboards/{id}/invitations/{id}", "??x...."),
        ("GET /api/tokens", "??x...."),
        ("POST /api/tokens", "??x...."),
        ("DELETE /api/tokens/{id}", "??x...."),
        ("POST /api/admin/leaderboards/{id}/recompute", "??xx..."),
        ("GET /api/admin/games/{id}", "??xx..."),
        ("POST /api/admin/games/{id}/requeue", "??xx..."),
        ("POST /api/admin/games/{id}/cancel", "??xx..."),
        ("POST /api/admin/accounts", "??xxx.."),
        ("GET /api/admin/accounts", "??xxx.."),
        ("GET /api/admin/accounts/{id}/tokens", "??xxx.."),
        ("DELETE /api/admin/accounts/{id}/tokens/{id}", "??xxx.."),
        ("POST /api/admin/tokens", "??xxx.."),
        ("GET /api/admin/stats", "??xx..."),
        ("GET /api/admin/nodes", "??xx..."),
        ("DELETE /api/admin/accounts/{id}", "??xxx.."),
        ("GET /api/admin/accounts/{id}/deletion", "??xxx.."),
        ("POST /api/admin/accounts/{id}/disable", "??xxx.."),
        ("POST /api/admin/accounts/{id}/enable", "??xxx.."),
        ("GET /api/admin/audit", "??xx..."),
        ("GET /api/admin/bans", "??xx..."),
        ("POST /api/admin/bans", "??xx..."),
        ("DELETE /api/admin/bans/{id}", "??xx..."),
        ("GET /api/admin/history/series", "??xx..."),
        ("GET /api/admin/history?series=turns", "??xx..."),
        ("GET /api/admin/config", "??xx..."),
        ("GET /api/trials", "??xx..."),
        ("GET /api/trials/runs", "??xx..."),
        ("POST /api/trials/runs", "??xx..."),
        ("GET /api/trials/runs/x", "??xx..."),
        ("DELETE /api/trials/runs/x", "??xx..."),
        ("GET /api/trials/comparison", "??xx..."),
        ("GET /api/invites", "??xx..."),
        ("POST /api/invites", "??xx..."),
        ("DELETE /api/invites/{id}", "??xx..."),
        ("POST /api/invites/inspect", "......."),
        ("POST /api/invites/redeem", "......."),
        ("POST /api/sign-in-links", "??x...."),
        ("POST /api/sign-in-links/inspect", "......."),
        ("POST /api/sign-in-links/redeem", "......."),
        ("GET /api/account/export", "??x...."),
        ("GET /api/account/deletion", "??x...."),
        ("DELETE /api/account", "??x...."),
        ("GET /api/session", ".?....."),
        ("POST /api/session", "??....."),
        ("DELETE /api/session", "......."),
        ("POST /api/stories/guests", "......."),
        ("POST /api/stories/games", "??x...."),
        ("GET /api/stories/games/{id}-1", ".?....."),
        ("GET /api/stories/games/{id}-1/history", ".?....."),
        ("POST /api/stories/games/{id}-1/join", "??x...."),
        ("POST /api/stories/games/{id}-1/leave", "??x...."),
        ("POST /api/stories/games/{id}-1/card", "??x...."),
        ("POST /api/stories/games/{id}-1/sentence", "??x...."),
        ("POST /api/stories/games/{id}-1/invite", "??x...."),
        ("POST /api/stories/games/{id}-1/pick", "??x...."),
        ("POST /api/stories/games/{id}-1/voting", "??x...."),
        ("POST /api/stories/games/{id}-1/vote", "??x...."),
        ("POST /api/stories/games/{id}-1/complete", "??x...."),
        ("POST /api/stories/games/{id}-1/countdown", "??x...."),
        ("POST /api/stories/games/{id}-1/bots", "??x...."),
        ("GET /api/stories/tables/{id}", ".?....."),
        ("DELETE /api/stories/tables/{id}", "??xx..."),
        ("POST /api/stories/tables/{id}/chat", "??x...."),
        ("GET /api/stories/tables/{id}/feed", ".?....."),
        ("GET /api/stories/tables/{id}/socket", ".?....."),
        ("GET /api/stories/my-games", "??....."),
        ("GET /api/stories/lobby", ".?....."),
        ("GET /api/stories/history", ".?....."),
        ("GET /api/stories/players/{id}", ".?....."),
        ("GET /api/stories/cards/7.svg", "......."),
        ("GET /api/hunts", ".?....."),
        ("POST /api/hunts", "??x...."),
        ("GET /api/hunts/statistics", "......."),
        ("GET /api/hunts/{id}", ".?....."),
        ("DELETE /api/hunts/{id}", "??x...."),
        ("GET /api/hunts/{id}/rounds", ".?....."),
        ("POST /api/hunts/{id}/join", "??x...."),
        ("POST /api/hunts/{id}/leave", "??x...."),
        ("POST /api/hunts/tickets", "??x...."),
        ("GET /api/hunts/tickets/{id}", "??x...."),
        ("POST /api/hunts/tickets/{id}/join", "??x...."),
        ("DELETE /api/hunts/tickets/{id}", "??x...."),
        ("GET /api/hunters", "......."),
        ("GET /api/hunters/{id}", "......."),
        ("GET /api/admin/aggregator", "??xx..."),
        ("POST /api/admin/aggregator", "??xx..."),
        ("GET /api/summary", "......."),
        ("GET /api/summary/feed", "......."),
        ("GET /api/tournaments", ".?....."),
        ("POST /api/tournaments", "??x...."),
        ("GET /api/tournaments/{id}", ".?....."),
        ("POST /api/tournaments/{id}/cancel", "??x...."),
        ("POST /api/tournaments/{id}/entries", "??x...."),
        ("DELETE /api/tournaments/{id}/entries/{id}", "??x...."),
        ("GET /api/tournaments/{id}/feed", ".?....."),
        ("POST /api/tournaments/{id}/invitations", "??x...."),
        ("PUT /api/tournaments/{id}/seeds", "??x...."),
        ("GET /api/tournaments/{id}/socket", ".?....."),
        ("POST /api/tournaments/{id}/start", "??x...."),
        ("GET /api/worlds", ".?....."),
        ("POST /api/worlds", "??xx..."),
        ("GET /api/worlds/{id}", ".?....."),
        ("DELETE /api/worlds/{id}", "??xx..."),
        ("GET /api/worlds/{id}/sections", ".?....."),
        ("GET /api/worlds/{id}/density", ".?....."),
        ("GET /api/worlds/{id}/stats", ".?....."),
        ("GET /api/worlds/{id}/socket", ".?....."),
        ("POST /api/worlds/{id}/actors", "??xx..."),
        ("POST /api/worlds/{id}/life", "??xx..."),
        ("POST /api/limits/check", "......."),
        ("POST /api/limits/check/batch", "......."),
        ("GET /api/limits/policies", "??xx..."),
        ("GET /api/limits/policies/{id}", "??xx..."),
        ("PUT /api/limits/policies/{id}", "??xx..."),
        ("DELETE /api/limits/policies/{id}", "??xx..."),
        ("GET /api/limits/policies/{id}/overrides/k", "??xx..."),
        ("PUT /api/limits/policies/{id}/overrides/k", "??xx..."),
        ("DELETE /api/limits/policies/{id}/overrides/k", "??xx..."),
        ("POST /api/admin/drain", "??xxx.."),
        ("GET /api/openapi.json", "......."),
        ("GET /metrics", "......."),
        ("GET /healthz", "......."),
        ("GET /health", "......."),
        ("GET /readyz", "......."),
    ];
    let (server, paths) = (TestServer::open().await, gateway::openapi().paths);
    for (line, want) in table {
        let mut have = String::new();
        for caller in CALLERS {
            let reply = server.call(&line.replace("{id}", ID)).by(caller).send().await;
            have.push(match reply.status.as_u16() {
                401 => '?',
                403 => 'x',
                _ => '.',
            });
        }
        assert_eq!(have, want, "{line}");
        assert_eq!(documented_security(&paths, line), &have[..2], "{line}: what the document says of a token");
    }
    let documented = paths.paths.values().map(operations).sum::<usize>();
    assert_eq!(documented, table.len(), "every documented route has a row");
}

/// What the document says of a request without a token and of one with an unknown token, as in the table.
fn documented_security(paths: &Paths, line: &str) -> &'static str {
    let (method, path) = line.split_once(' ').unwrap();
    let path = path.split_once('?').map_or(path, |(path, _)| path);
    let segments: Vec<&str> = path.split('/').collect();
    let is_same = |(have, want): (&str, &&str)| have == *want || have.contains('{');
    let is_meant =
        |path: &&String| path.split('/').count() == segments.len() && path.split('/').zip(&segments).all(is_same);
    let paths = &paths.paths;
    // A path without a placeholder goes before one with it, as in the router.
    let path = paths.keys().filter(is_meant).min_by_key(|path| path.matches('{').count());
    let item = &paths[path.unwrap_or_else(|| panic!("{line} is not documented"))];
    let operation = match method {
        "GET" => &item.get,
        "PUT" => &item.put,
        "POST" => &item.post,
        _ => &item.delete,
    };
    let operation = operation.as_ref().unwrap_or_else(|| panic!("{line} is not documented"));
    match operation.security.as_deref() {
        None | Some([]) => "..",
        Some(security) if security.contains(&SecurityRequirement::default()) => ".?",
        Some(_) => "??",
    }
}

fn operations(item: &utoipa::openapi::path::PathItem) -> usize {
    [&item.get, &item.put, &item.post, &item.delete].into_iter().flatten().count()
}

#[tokio::test]
async fn refusals_say_what_to_send() {
    let server = TestServer::open().await;
    let reply = server.call("GET /api/games").by("").check("401 token_missing").await;
    assert_eq!(reply.headers["www-authenticate"], "Bearer");
    server.call("GET /api/games").by("unknown").check("401 token_unknown").await;
    server.call("GET /api/games").by("").header("authorization", "Basic YTpi").check("401 token_missing").await;
    let reply = server.call("POST /api/admin/accounts").check("403 role_too_weak").await;
    assert!(reply.body["detail"].as_str().is_some_and(|detail| detail.contains("admin") && detail.contains("player")));
}
