//! Guests, accounts and browsers: authentication.

use crate::play::Person;
use crate::test_server::TestServer;
use serde_json::json;

#[tokio::test]
async fn a_guest_may_only_play() {
    let server = TestServer::open().await;
    let ann = Person::come(&server, "Ann").await;
    server.call("POST /api/stories/games").by(&ann.token).json(&json!({})).check("201").await;
    for line in ["GET /api/games", "GET /api/snakes", "POST /api/tokens", "GET /api/admin/stats"] {
        server.call(line).by(&ann.token).check("403 account_needed").await;
    }
    let mut forged = ann.token.clone();
    let last = if forged.pop() == Some('A') { 'B' } else { 'A' };
    forged.push(last);
    for token in [forged.as_str(), "gst_", "gst_AAAA", &ann.token[..ann.token.len() - 4]] {
        server.call("POST /api/stories/games").by(token).json(&json!({})).check("401 token_unknown").await;
        // A visitor's view must not be mistaken for a player's own, on any route.
        for line in ["GET /api/stories/lobby", "GET /api/stories/history", "GET /api/stories/my-games"] {
            server.call(line).by(token).check("401 token_unknown").await;
        }
    }
}

#[tokio::test]
async fn an_account_plays_under_its_name_and_id() {
    let server = TestServer::open().await;
    let opened = server.call("POST /api/stories/games").by("player").json(&json!({})).check("201").await;
    assert_eq!(opened.body["members"][0]["name"], "ann");
    let session = server.call("GET /api/session").by("player").check("200").await;
    assert_eq!(session.body["player"], opened.body["game"]["storyteller"]);
    // A read-only token does not act for its account.
    server.call("POST /api/stories/games").by("guest").json(&json!({})).check("403 role_too_weak").await;
}

#[tokio::test]
async fn a_browsers_cookie_counts_as_its_token() {
    let server = TestServer::open().await;
    let ann = Person::come(&server, "Ann").await;
    let begun = server.call("POST /api/session").by(&ann.token).check("200").await;
    let cookie = begun.headers["set-cookie"].to_str().unwrap();
    for part in ["HttpOnly", "SameSite=Strict", "Path=/api"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    let cookie = cookie.split(';').next().unwrap();
    let call = |line: &str| server.call(line).by("").header("cookie", cookie);
    assert_eq!(call("GET /api/session").check("200").await.body["player"], json!(ann.id));
    call("POST /api/stories/games").json(&json!({})).check("201").await;
    // What a page of another site can make a browser send.
    call("POST /api/stories/games").header("content-type", "text/plain").raw("{}").check("403 cross_site").await;
    call("GET /api/stories/my-games").header("sec-fetch-site", "cross-site").check("403 cross_site").await;
    call("GET /api/stories/my-games").header("sec-fetch-site", "same-origin").check("200").await;
    // A site is scheme, host and port.
    let from = |origin: &str| {
        call("POST /api/stories/games").json(&json!({})).header("host", "localhost:4000").header("origin", origin)
    };
    from("http://localhost:4000").check("201").await;
    for origin in ["http://evil.example", "http://localhost:9999", "https://localhost:4000", "null"] {
        from(origin).check("403 cross_site").await;
    }
    // A client's own claim of TLS does not count.
    let claimed =
        server.call("POST /api/session").by(&ann.token).header("x-forwarded-proto", "https").check("200").await;
    assert!(!claimed.headers["set-cookie"].to_str().unwrap().contains("Secure"));
    let table = format!("POST /api/stories/games/{}-1/join", ann.id);
    call(&table).check("403 cross_site").await;
    call(&table).header("x-requested-with", "fetch").check("404 no_such_game").await;
    // A token in the header takes precedence over the cookie.
    let ben = Person::come(&server, "Ben").await;
    let both = server.call("GET /api/session").by(&ben.token).header("cookie", cookie).check("200").await;
    assert_eq!(both.body["player"], json!(ben.id));
    let ended = call("DELETE /api/session").header("x-requested-with", "fetch").check("204").await;
    assert!(ended.headers["set-cookie"].to_str().unwrap().contains("Max-Age=0"));
}

#[tokio::test]
async fn guests_are_limited_by_guest_and_by_address() {
    let server = TestServer::open().await;
    let (ann, ben) = (Person::come(&server, "Ann").await, Person::come(&server, "Ben").await);
    server
        .limit(
            "[[policy]]\nname = \"guests\"\nclass = \"gateway.guest.read\"\nkey = \"guest:*\"\nalgorithm = \"log\"\nlimit = 2\nwindow = \"1h\"\n",
        )
        .await;
    let look = |person: &Person| server.call("GET /api/stories/lobby").by(&person.token);
    for person in [&ann, &ben] {
        look(person).check("200").await;
        look(person).check("200").await;
        look(person).check("429 rate_limited").await;
    }
    // Another token of the same guest counts as the same guest, and other guests at the same address share the address's limit.
    server
        .limit(
            "[[policy]]\nname = \"homes\"\nclass = \"gateway.guest.*\"\nkey = \"address:*\"\nalgorithm = \"log\"\nlimit = 2\nwindow = \"1h\"\n",
        )
        .await;
    look(&ann).check("200").await;
    look(&ben).check("200").await;
    look(&ann).check("429 rate_limited").await;
    look(&ben).from("192.0.2.9").check("200").await;
}

#[tokio::test]
async fn cards_are_cacheable_pictures() {
    let server = TestServer::open().await;
    let card = |number: u8| server.call(&format!("GET /api/stories/cards/{number}.svg")).by("");
    let mut tags = Vec::new();
    for number in 1..=rules::stories::CARDS {
        let picture = card(number).check("200").await;
        assert_eq!(picture.headers["content-type"], "image/svg+xml");
        assert!(picture.bytes.starts_with(b"<svg"), "{number}");
        let tag = picture.headers["etag"].to_str().unwrap().to_owned();
        let again = card(number).header("if-none-match", &tag).check("304").await;
        assert!(again.bytes.is_empty());
        tags.push(tag);
    }
    tags.sort();
    tags.dedup();
    assert_eq!(tags.len(), usize::from(rules::stories::CARDS), "no two cards are the same picture");
}
