//! Invitations, sign-in links, sessions and exports: codes work once, for whom they were meant, and say nothing to strangers.

use crate::test_server::{ANN, BOOTSTRAP, Call, OTHER_OPERATOR, Reply, TestServer};
use engine::commands::{CodeCommand, Command, Outcome};
use engine::limits::{INVITES_MAX, SESSION_LIFETIME, SIGN_IN_LINKS_PER_ACCOUNT_MAX, TOKENS_PER_ACCOUNT_MAX};
use engine::time::UnixMs;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Duration;

/// A key of a client that may have to ask again.
const KEY: &str = "0123456789abcdef-key";

async fn invite(server: &TestServer, by: &str, wanted: Value, want: &str) -> Value {
    server.call("POST /api/invites").by(by).json(&wanted).check(want).await.body
}

async fn link(server: &TestServer, by: &str, wanted: Value, want: &str) -> Value {
    server.call("POST /api/sign-in-links").by(by).json(&wanted).check(want).await.body
}

/// What a browser that knows nothing sends to redeem a code.
fn redeem(server: &TestServer, what: &str, body: &Value) -> Call {
    server.call(&format!("POST /api/{what}/redeem")).by("").json(body)
}

fn text<'a>(value: &'a Value, member: &str) -> &'a str {
    value[member].as_str().unwrap_or_else(|| panic!("{member} of {value}"))
}

/// The session's cookie as the browser sends it.
fn cookie(reply: &Reply) -> String {
    reply.headers["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned()
}

/// A request of the page that the session belongs to.
fn of_session(server: &TestServer, line: &str, cookie: &str) -> Call {
    server.call(line).by("").header("cookie", cookie).header("x-requested-with", "page")
}

fn advance(server: &TestServer, by: Duration) {
    let clock = &server.app.node.clock;
    clock.correct(clock.now().plus(by), clock.raw());
}

#[tokio::test]
async fn an_invitation_makes_one_account_with_one_session() {
    let server = TestServer::open().await;
    let made = invite(&server, "operator", json!({"name": " eve "}), "201").await;
    let (id, code) = (text(&made, "id"), text(&made, "code"));
    assert_eq!((text(&made, "role"), text(&made, "name"), text(&made, "made_by")), ("player", "eve", "ann"));
    assert_eq!(text(&made, "path"), format!("/join#{code}"));
    let listed = server.call("GET /api/invites").by(OTHER_OPERATOR).check("200").await;
    assert_eq!(listed.body.as_array().unwrap().len(), 1);
    assert_eq!((text(&listed.body[0], "id"), text(&listed.body[0], "made_by")), (id, "ann"));
    assert!(!listed.body.to_string().contains(code), "a code is shown once");

    let offer = server.call("POST /api/invites/inspect").by("").json(&json!({"code": code})).check("200").await.body;
    assert_eq!((text(&offer, "role"), text(&offer, "name"), text(&offer, "made_by")), ("player", "eve", "ann"));

    // Who had an account of these names would own what the bootstrap token makes, or pass for the server.
    for name in ["bob", "bootstrap", " bootstrap ", "deleted account", "(this server)"] {
        redeem(&server, "invites", &json!({"code": code, "name": name})).check("409 duplicate_name").await;
    }
    server
        .call("POST /api/admin/accounts")
        .by("admin")
        .json(&json!({"name": "bootstrap"}))
        .check("409 duplicate_name")
        .await;
    let joined = redeem(&server, "invites", &json!({"code": code, "name": "Eve"})).check("201").await;
    assert_eq!((text(&joined.body, "name"), text(&joined.body, "role")), ("Eve", "player"));
    let set = joined.headers["set-cookie"].to_str().unwrap();
    for part in ["gauntlet_session=gnt_", "HttpOnly", "SameSite=Strict", "Path=/api;", "Max-Age=259"] {
        assert!(set.contains(part), "{set}");
    }
    assert!(!joined.body.to_string().contains("gnt_"), "the secret is in the cookie alone");

    let cookie = cookie(&joined);
    let session = of_session(&server, "GET /api/session", &cookie).check("200").await.body;
    assert_eq!(session, joined.body);
    assert_eq!((&session["account"]["snakes"], &session["account"]["tokens"]), (&json!(0), &json!(1)));
    let tokens = of_session(&server, "GET /api/tokens", &cookie).check("200").await.body;
    assert_eq!((text(&tokens[0], "name"), &tokens[0]["id"]), ("browser", &session["token"]));
    assert_eq!(tokens[0]["expires_at"], session["expires_at"]);
    of_session(&server, "POST /api/invites", &cookie).json(&json!({})).check("403 role_too_weak").await;
    server.call("DELETE /api/invites/none").by("operator").check("400 bad_id").await;
    server.call(&format!("DELETE /api/invites/{id}")).by("operator").check("404 no_such_invite").await;
    assert_eq!(server.call("GET /api/invites").by("operator").check("200").await.body, json!([]));
}

/// A stranger learns nothing about codes that were, will be or never have been.
#[tokio::test]
async fn every_code_that_cannot_be_redeemed_is_answered_alike() {
    let server = TestServer::open().await;
    let code = async |wanted: Value| text(&invite(&server, "admin", wanted, "201").await, "code").to_owned();
    let [used, late, withdrawn, live] = [
        code(json!({})).await,
        code(json!({"expires_in_s": 60})).await,
        code(json!({"name": "withdrawn"})).await,
        code(json!({})).await,
    ];
    redeem(&server, "invites", &json!({"code": used, "name": "first"})).check("201").await;
    let invites = server.call("GET /api/invites").by("admin").check("200").await.body;
    let id = text(invites.as_array().unwrap().iter().find(|invite| invite["name"] == "withdrawn").unwrap(), "id");
    server.call(&format!("DELETE /api/invites/{id}")).by("operator").check("204").await;
    let sign_in = link(&server, "player", json!({}), "201").await;
    advance(&server, Duration::from_secs(61));
    let never = used.replace(|digit: char| digit.is_ascii_digit(), "a");
    let mut answers = BTreeSet::new();
    for gone in [&used, &late, &withdrawn, &never, text(&sign_in, "code"), "", "x", &"y".repeat(5_000)] {
        // Also where the name is taken.
        for name in ["second", "ann"] {
            let reply = redeem(&server, "invites", &json!({"code": gone, "name": name})).check("410 invite_gone").await;
            assert!(!reply.headers.contains_key("set-cookie"));
            answers.insert(reply.body.to_string());
        }
        let inspect = server.call("POST /api/invites/inspect").by("").json(&json!({"code": gone}));
        answers.insert(inspect.check("410 invite_gone").await.body.to_string());
        if gone != text(&sign_in, "code") {
            let body = json!({"code": gone});
            redeem(&server, "sign-in-links", &body).check("410 sign_in_link_gone").await;
            let inspect = server.call("POST /api/sign-in-links/inspect").by("").json(&body);
            inspect.check("410 sign_in_link_gone").await;
        }
    }
    assert_eq!(answers.len(), 1, "{answers:?}");
    redeem(&server, "invites", &json!({"code": live, "name": "second"})).check("201").await;
}

#[tokio::test]
async fn what_is_not_a_redemption_of_this_site_is_refused() {
    let server = TestServer::open().await;
    let invites = text(&invite(&server, "admin", json!({}), "201").await, "code").to_owned();
    let links = text(&link(&server, "player", json!({}), "201").await, "code").to_owned();
    for (what, body) in [("invites", json!({"code": invites, "name": "n"})), ("sign-in-links", json!({"code": links}))]
    {
        let call = || server.call(&format!("POST /api/{what}/redeem")).by("").header("host", "localhost:4000");
        let json = |body: &Value| call().json(body);
        call().raw(body.to_string()).check("415 not_json").await;
        call().header("content-type", "text/plain").raw(body.to_string()).check("415 not_json").await;
        json(&body).header("origin", "https://evil.example").check("403 cross_site").await;
        json(&body).header("sec-fetch-site", "cross-site").check("403 cross_site").await;
        json(&json!([])).check("422 bad_shape").await;
        json(&json!({"name": "n"})).check("422 bad_shape").await;
        json(&json!({"code": 7, "name": "n"})).check("422 bad_shape").await;
        for key in ["short", "fifteen-letters"] {
            json(&body).header("idempotency-key", key).check("400 bad_idempotency_key").await;
        }
        server.call(&format!("GET /api/{what}/redeem")).check("405 method_not_allowed").await;
    }
    for name in ["", "  ", "two\nlines", &"x".repeat(101)] {
        redeem(&server, "invites", &json!({"code": invites, "name": name})).check("400 bad_value /name").await;
    }
    // None of it used a code up, and a token that came along changes nothing.
    let body = json!({"code": invites, "name": "n"});
    redeem(&server, "invites", &body)
        .header("origin", "http://localhost:4000")
        .header("host", "localhost:4000")
        .check("201")
        .await;
    redeem(&server, "sign-in-links", &json!({"code": links})).by("bob").check("200").await;
}

#[tokio::test]
async fn no_caller_invites_to_more_than_their_own_role() {
    let server = TestServer::open().await;
    for (by, wanted, want) in [
        ("player", json!({}), "403 role_too_weak"),
        ("operator", json!({"role": "guest"}), "201"),
        ("operator", json!({"role": "operator"}), "201"),
        ("operator", json!({"role": "admin"}), "403 role_too_weak"),
        ("admin", json!({"role": "admin"}), "201"),
        (BOOTSTRAP, json!({"role": "admin"}), "201"),
        ("admin", json!({"role": "king"}), "400 bad_value /role"),
        ("admin", json!({"name": ""}), "400 bad_value /name"),
        ("admin", json!({"expires_in_s": 59}), "400 bad_value /expires_in_s"),
        ("admin", json!({"expires_in_s": 2_592_001}), "400 bad_value /expires_in_s"),
        ("admin", json!({"expires_in_s": -1}), "422 bad_shape"),
    ] {
        invite(&server, by, wanted, want).await;
    }
    let made = invite(&server, "admin", json!({"role": "operator"}), "201").await;
    let joined = redeem(&server, "invites", &json!({"code": made["code"], "name": "op"})).check("201").await;
    assert_eq!(text(&joined.body, "role"), "operator");
    of_session(&server, "GET /api/admin/stats", &cookie(&joined)).check("200").await;
}

#[tokio::test]
async fn so_many_invitations_are_open() {
    let server = TestServer::open().await;
    for _ in 0..INVITES_MAX {
        invite(&server, "operator", json!({}), "201").await;
    }
    invite(&server, "admin", json!({}), "409 too_many_invites").await;
    let page = server.call("GET /api/invites").by("operator").check("200").await;
    assert_eq!(page.body.as_array().unwrap().len(), 100);
    assert!(page.headers["link"].to_str().unwrap().contains("/api/invites?limit=100&after="));
    server.call(&format!("DELETE /api/invites/{}", text(&page.body[7], "id"))).by("operator").check("204").await;
    invite(&server, "admin", json!({}), "201").await;
}

#[tokio::test]
async fn a_link_is_for_an_account_of_no_higher_role() {
    let server = TestServer::open().await;
    invite(&server, "admin", json!({"name": "carl"}), "201").await;
    for (by, wanted, want, role) in [
        ("player", json!({}), "201", "player"),
        ("operator", json!({}), "201", "operator"),
        ("operator", json!({"role": "player"}), "201", "player"),
        ("player", json!({"account": "ann"}), "201", "player"),
        ("player", json!({"role": "operator"}), "403 role_too_weak", ""),
        ("guest", json!({}), "403 role_too_weak", ""),
        // Whether there is an account of a name is no business of callers below operators.
        ("player", json!({"account": "bob"}), "403 role_too_weak", ""),
        ("player", json!({"account": "nobody"}), "403 role_too_weak", ""),
        ("operator", json!({"account": "nobody"}), "404 no_such_account", ""),
        ("operator", json!({"account": "bob"}), "201", "player"),
        ("operator", json!({"account": "bob", "role": "operator"}), "201", "operator"),
        ("operator", json!({"account": "bob", "role": "admin"}), "403 role_too_weak", ""),
        // Ann has an admin's token, and the server's own account its bootstrap token.
        (OTHER_OPERATOR, json!({"account": "ann"}), "403 role_too_weak", ""),
        ("operator", json!({"account": "server"}), "403 role_too_weak", ""),
        ("admin", json!({"account": "server"}), "201", "player"),
        ("admin", json!({"expires_in_s": 86_401}), "400 bad_value /expires_in_s", ""),
    ] {
        let made = link(&server, by, wanted.clone(), want).await;
        if !role.is_empty() {
            assert_eq!(text(&made, "role"), role, "{by} {wanted}");
            assert_eq!(text(&made, "path"), format!("/sign-in#{}", text(&made, "code")));
        }
    }
}

#[tokio::test]
async fn a_link_signs_in_once_and_signing_out_ends_its_token() {
    let server = TestServer::open().await;
    let made = link(&server, "bob", json!({}), "201").await;
    let body = json!({"code": made["code"]});
    let offer = server.call("POST /api/sign-in-links/inspect").by("").json(&body).check("200").await.body;
    assert_eq!((text(&offer, "account"), text(&offer, "role")), ("bob", "player"));
    let signed_in = redeem(&server, "sign-in-links", &body).check("200").await;
    redeem(&server, "sign-in-links", &body).check("410 sign_in_link_gone").await;
    let (own, other) = (cookie(&signed_in), link(&server, "bob", json!({}), "201").await);
    let other = cookie(&redeem(&server, "sign-in-links", &json!({"code": other["code"]})).check("200").await);
    let renewed = of_session(&server, "POST /api/session", &own).check("200").await;
    assert_eq!((cookie(&renewed), &renewed.body["expires_at"]), (own.clone(), &signed_in.body["expires_at"]));
    let ended = of_session(&server, "DELETE /api/session", &own).check("204").await;
    assert!(ended.headers["set-cookie"].to_str().unwrap().contains("Max-Age=0"));
    of_session(&server, "GET /api/session", &own).check("401 token_unknown").await;
    of_session(&server, "DELETE /api/session", &own).check("204").await;
    of_session(&server, "GET /api/session", &other).check("200").await;
    // Two cookies of one browser, and a page of another site.
    of_session(&server, "DELETE /api/session", &other)
        .header("sec-fetch-site", "cross-site")
        .check("403 cross_site")
        .await;
    of_session(&server, "DELETE /api/session", &format!("gauntlet_session=forged; {other}")).check("204").await;
    of_session(&server, "GET /api/session", &other).check("401 token_unknown").await;
    // A token that was made and kept elsewhere stays.
    of_session(&server, "DELETE /api/session", "gauntlet_session=bob").check("204").await;
    server.call("DELETE /api/session").by("bob").check("204").await;
    server.call("GET /api/tokens").by("bob").check("200").await;
}

/// The answer of a redemption may be lost: the same request again, by the same client, gets the same.
#[tokio::test]
async fn a_lost_answer_can_be_had_again_by_its_client_alone() {
    let server = TestServer::open().await;
    let invited = invite(&server, "admin", json!({}), "201").await;
    let linked = link(&server, "bob", json!({}), "201").await;
    for (what, body, again, gone) in [
        ("invites", json!({"code": invited["code"], "name": "dora"}), "201", "410 invite_gone"),
        ("sign-in-links", json!({"code": linked["code"]}), "200", "410 sign_in_link_gone"),
    ] {
        let first = redeem(&server, what, &body).header("idempotency-key", KEY).check(again).await;
        let second = redeem(&server, what, &body).header("idempotency-key", KEY).check(again).await;
        assert_eq!((cookie(&second), &second.body), (cookie(&first), &first.body));
        redeem(&server, what, &body).check(gone).await;
        redeem(&server, what, &body).header("idempotency-key", "0123456789abcdef-kez").check(gone).await;
        let tokens = of_session(&server, "GET /api/tokens", &cookie(&first)).check("200").await.body;
        let sessions = tokens.as_array().unwrap().iter().filter(|token| token["name"] == "browser");
        assert_eq!(sessions.count(), 1, "{tokens}");
        // A session that was ended does not come back.
        if what == "sign-in-links" {
            of_session(&server, "DELETE /api/session", &cookie(&first)).check("204").await;
            redeem(&server, what, &body).header("idempotency-key", KEY).check(gone).await;
        }
    }
    advance(&server, Duration::from_secs(601));
    let late = redeem(&server, "invites", &json!({"code": invited["code"], "name": "dora"}));
    late.header("idempotency-key", KEY).check("410 invite_gone").await;
}

#[tokio::test]
async fn so_many_links_of_an_account_are_open_until_a_token_is_deleted() {
    let server = TestServer::open().await;
    let mut codes = Vec::new();
    for _ in 0..SIGN_IN_LINKS_PER_ACCOUNT_MAX {
        codes.push(link(&server, "bob", json!({}), "201").await["code"].clone());
    }
    link(&server, "bob", json!({}), "409 too_many_sign_in_links").await;
    link(&server, "admin", json!({"account": "bob"}), "409 too_many_sign_in_links").await;
    link(&server, "player", json!({}), "201").await;
    // A client that had the deleted token may have made them.
    let token = server.call("POST /api/tokens").by("bob").json(&json!({"name": "stolen"})).check("201").await.body;
    server.call(&format!("DELETE /api/tokens/{}", text(&token, "id"))).by("bob").check("204").await;
    redeem(&server, "sign-in-links", &json!({"code": codes[0]})).check("410 sign_in_link_gone").await;
    link(&server, "bob", json!({}), "201").await;
}

#[tokio::test]
async fn an_account_full_of_tokens_keeps_its_link() {
    let server = TestServer::open().await;
    let linked = link(&server, "bob", json!({}), "201").await;
    let token = |n: usize| server.call("POST /api/tokens").by("bob").json(&json!({"name": format!("t{n}")}));
    for n in 1..TOKENS_PER_ACCOUNT_MAX {
        token(n).check("201").await;
    }
    let body = json!({"code": linked["code"]});
    redeem(&server, "sign-in-links", &body).check("409 too_many").await;
    let inspect = server.call("POST /api/sign-in-links/inspect").by("").json(&body);
    inspect.check("200").await;
}

#[tokio::test]
async fn a_session_ends_by_itself() {
    let server = TestServer::open().await;
    let linked = link(&server, "bob", json!({}), "201").await;
    let signed_in = redeem(&server, "sign-in-links", &json!({"code": linked["code"]})).check("200").await;
    let cookie = cookie(&signed_in);
    advance(&server, SESSION_LIFETIME.checked_sub(Duration::from_secs(60)).unwrap());
    of_session(&server, "GET /api/session", &cookie).check("200").await;
    advance(&server, Duration::from_secs(61));
    of_session(&server, "GET /api/session", &cookie).check("401 token_unknown").await;
    let now: UnixMs = server.app.node.clock.now();
    let retired = server.commit(Command::Code(CodeCommand::RetireExpired { now, max: 9 })).await;
    assert_eq!(retired, Outcome::Retired(1));
    server.call("GET /api/session").by("bob").check("200").await;
}

/// Clients on this machine are not counted. A client that comes through a proxy is none, whatever the proxy says.
#[tokio::test]
async fn no_client_comes_from_loopback_through_a_proxy() {
    let configure = |config: &mut settings::Config| {
        config.quotas_sign_ins_per_hour = 1;
        config.http_trusted_proxies = settings::Networks::parse("10.0.0.0/8, 127.0.0.9").unwrap();
    };
    let server = TestServer::open_with(std::sync::Arc::new(store::testing::MemoryDatabase::new()), configure).await;
    let attempt = |peer: &str| server.call("POST /api/invites/inspect").by("").from(peer).json(&json!({"code": "x"}));
    for (peer, named) in [("10.0.0.1", "127.0.0.1"), ("127.0.0.9", "::1"), ("10.0.0.1", "192.0.2.1")] {
        attempt(peer).header("x-forwarded-for", named).check("410 invite_gone").await;
        attempt(peer).header("x-forwarded-for", named).check("429 address_quota").await;
    }
    for _ in 0..3 {
        attempt("127.0.0.1").check("410 invite_gone").await;
    }
}

#[tokio::test]
async fn attempts_with_codes_that_are_not_there_are_counted_by_address() {
    let configure = |config: &mut settings::Config| config.quotas_sign_ins_per_hour = 3;
    let server = TestServer::open_with(std::sync::Arc::new(store::testing::MemoryDatabase::new()), configure).await;
    let made = invite(&server, "admin", json!({}), "201").await;
    let attempt = |line: &str, from: &str| server.call(line).by("").from(from).json(&json!({"code": "x", "name": "n"}));
    let [inspect, redeem] = ["inspect", "redeem"].map(|what| format!("POST /api/invites/{what}"));
    attempt(&inspect, "192.0.2.1").check("410 invite_gone").await;
    attempt(&redeem, "192.0.2.1").check("410 invite_gone").await;
    attempt("POST /api/sign-in-links/redeem", "192.0.2.1").check("410 sign_in_link_gone").await;
    let refused = attempt(&redeem, "192.0.2.1").check("429 address_quota").await;
    assert!(refused.headers["retry-after"].to_str().unwrap().parse::<u64>().unwrap() > 60);
    attempt("POST /api/sign-in-links/inspect", "192.0.2.1").check("429 address_quota").await;
    assert_eq!(server.sample("gauntlet_quota_exceeded_total{kind=\"sign_ins\"}"), 2);
    // A client that guesses does not keep those who have a link from using it, behind the same address or not.
    let good = json!({"code": made["code"], "name": "n"});
    server.call(&redeem).by("").from("192.0.2.1").json(&good).check("201").await;
}

/// The members of a shape in the API's document that must be there.
fn required(schema: &str) -> BTreeSet<String> {
    let document = serde_json::to_value(gateway::openapi()).unwrap();
    let members = &document["components"]["schemas"][schema]["required"];
    members.as_array().unwrap().iter().map(|member| member.as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn an_export_has_everything_that_the_account_owns_and_no_secret() {
    let server = TestServer::open().await;
    for _ in 0..2 {
        let games = json!({"games": vec![json!({"snakes": [crate::test_server::ANNS.to_string()]}); 101]});
        server.call("POST /api/games/batch").json(&games).check("200").await;
    }
    let snake = json!({"name": "public", "url": "http://127.0.0.1:9/", "is_public": true});
    let snake = server.call("POST /api/snakes").json(&snake).check("201").await.body;
    let secret = server.call(&format!("POST /api/snakes/{}/signing-secret", text(&snake, "id"))).send().await.body;
    server.call("POST /api/stories/games").json(&json!({})).check("201").await;
    link(&server, "player", json!({}), "201").await;
    let reply = server.call("GET /api/account/export").check("200").await;
    assert_eq!(reply.headers["content-type"], "application/json");
    assert_eq!(reply.headers["cache-control"], "no-store");
    assert!(reply.headers["content-disposition"].to_str().unwrap().starts_with("attachment"));
    let export = reply.body.as_object().unwrap();
    assert_eq!(export.keys().cloned().collect::<BTreeSet<_>>(), required("AccountExport"));
    assert_eq!(text(&export["account"], "id"), ANN.to_string());
    let count = |list: &str| export[list].as_array().unwrap().len();
    let counts = ["tokens", "snakes", "games", "duels", "tournaments", "leaderboards", "stories_live", "stories_ended"];
    assert_eq!(counts.map(count), [5, 2, 202, 0, 0, 0, 1, 0]);
    assert_eq!(export["truncated"], json!([]));
    assert_eq!(export["snakes"][0]["name"], "public");
    let listed = server.call("GET /api/games?limit=100").check("200").await.body;
    assert_eq!(export["games"].as_array().unwrap()[..100], listed.as_array().unwrap()[..]);
    let ids: BTreeSet<&str> = export["games"].as_array().unwrap().iter().map(|game| text(game, "id")).collect();
    assert_eq!(ids.len(), 202, "no game twice");
    let secret = secret.as_object().unwrap().values().find_map(|value| value.as_str().filter(|text| text.len() > 40));
    assert!(!reply.body.to_string().contains(secret.unwrap()));
    // Nothing of another account.
    let others = server.call("GET /api/account/export").by("bob").check("200").await.body;
    assert_eq!((text(&others["account"], "name"), others["games"].as_array().unwrap().len()), ("bob", 0));
}
