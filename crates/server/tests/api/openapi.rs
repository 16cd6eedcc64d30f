//! The OpenAPI document: committed as `docs/openapi.json`, served as committed, and true to the server's limits.

use crate::test_server::TestServer;
use engine::limits;
use rules::world::WorldSettings as Rules;
use serde_json::{Value, json};

const COMMITTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");

fn generated() -> Value {
    serde_json::to_value(gateway::openapi()).unwrap()
}

#[test]
fn the_committed_document_is_the_generated_one() {
    let generated = format!("{:#}\n", generated());
    if std::env::var_os("UPDATE_OPENAPI").is_some() {
        std::fs::write(COMMITTED, &generated).unwrap();
    }
    let committed = std::fs::read_to_string(COMMITTED).unwrap_or_default();
    let first_difference = committed.lines().zip(generated.lines()).position(|(old, new)| old != new);
    assert!(
        committed == generated,
        "docs/openapi.json is not what the handlers say (first different line: {first_difference:?}). If the change of the API \
         is meant, renew it with `UPDATE_OPENAPI=1 cargo test -p server --test api openapi` and review the difference."
    );
}

/// Clients are generated from the document: two operations of one name are one function to them, with the shape of the last.
#[test]
fn every_operation_has_a_name_of_its_own() {
    let document = generated();
    let paths = document["paths"].as_object().unwrap().values();
    let operations = paths.flat_map(|path| path.as_object().unwrap().values());
    let mut names: Vec<&str> = operations.filter_map(|operation| operation["operationId"].as_str()).collect();
    names.sort_unstable();
    let twice: Vec<_> = names.windows(2).filter(|pair| pair[0] == pair[1]).collect();
    assert!(twice.is_empty(), "{twice:?}");
}

#[tokio::test]
async fn the_served_document_is_the_generated_one() {
    let served = TestServer::open().await.call("GET /api/openapi.json").by("").check("200").await;
    assert_eq!(served.body, generated());
    assert_eq!(served.body["openapi"], "3.1.0");
}

#[tokio::test]
async fn clients_that_take_zstd_get_an_eighth_of_it_at_most() {
    let server = TestServer::open().await;
    let plain = server.call("GET /api/openapi.json").by("").check("200").await;
    assert!(!plain.headers.contains_key("content-encoding"));
    let packed =
        server.call("GET /api/openapi.json").by("").header("accept-encoding", "gzip, br, zstd").check("200").await;
    assert_eq!(packed.headers["content-encoding"], "zstd");
    assert_eq!(packed.headers["vary"], "accept-encoding");
    assert!(packed.bytes.len() * 8 < plain.bytes.len(), "{}", packed.bytes.len());
    assert_eq!(zstd::bulk::decompress(&packed.bytes, plain.bytes.len()).unwrap(), plain.bytes);
}

#[test]
fn every_operation_has_a_summary_and_says_how_it_is_refused() {
    for (path, item) in generated()["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            assert!(operation["summary"].is_string(), "{method} {path} has no summary");
            let security = operation["security"].as_array();
            let is_optional = security.is_some_and(|security| security.contains(&json!({})));
            // Where none is needed, a bad token is refused all the same.
            for (status, want) in [("401", security.is_some()), ("403", security.is_some() && !is_optional)] {
                assert_eq!(operation["responses"][status].is_object(), want, "{method} {path} {status}");
            }
            let has_body = operation["requestBody"].is_object();
            for status in ["413", "415", "422"] {
                assert_eq!(operation["responses"][status].is_object(), has_body, "{method} {path} {status}");
            }
        }
    }
}

/// Two shapes of one name would silently become one.
#[test]
fn snakes_in_frames_and_registered_snakes_are_two_shapes() {
    let document = generated();
    for (schema, member) in [("Snake", "Body"), ("RegisteredSnake", "url")] {
        let pointer = format!("/components/schemas/{schema}/properties/{member}");
        assert!(document.pointer(&pointer).is_some(), "{pointer}");
    }
}

#[track_caller]
fn check(document: &Value, pointer: &str, want: impl Into<Value>) {
    let pointer = format!("/components/schemas/{pointer}");
    assert_eq!(document.pointer(&pointer), Some(&want.into()), "{pointer}");
}

/// The wire's shapes repeat the engine's limits as literals, because the wire does not know the engine.
#[test]
fn the_documents_figures_are_the_engines_limits() {
    let document = generated();
    check(&document, "CreateGame/properties/snakes/maxItems", limits::SEATS_MAX);
    check(&document, "CreateGame/properties/timeout_ms/minimum", limits::BOT_TIMEOUT_MIN.as_millis() as u64);
    check(&document, "CreateGame/properties/timeout_ms/maximum", limits::BOT_TIMEOUT_MAX.as_millis() as u64);
    check(&document, "CreateGame/properties/timeout_ms/default", limits::BOT_TIMEOUT_DEFAULT.as_millis() as u64);
    check(&document, "CreateBatch/properties/games/maxItems", limits::BULK_GAMES_MAX);
    check(&document, "StatusRequest/properties/game_ids/maxItems", limits::STATUS_IDS_MAX);
    check(&document, "CreateSnake/properties/name/maxLength", limits::BOT_NAME_CHARS_MAX);
    check(&document, "CreateSnake/properties/url/maxLength", limits::URL_BYTES_MAX);
    check(&document, "CreateGuest/properties/name/maxLength", limits::GUEST_NAME_CHARS_MAX);
    check(&document, "CreateHunt/properties/name/maxLength", limits::WORLD_NAME_BYTES_MAX);
    check(&document, "CreateHunt/properties/players_max/maximum", limits::HUNT_PLAYERS_MAX);
    check(&document, "CreateHunt/properties/open_ms/minimum", limits::HUNT_OPEN_MIN.as_millis() as u64);
    check(&document, "CreateHunt/properties/open_ms/maximum", limits::HUNT_OPEN_MAX.as_millis() as u64);
    check(&document, "CreateWorld/properties/name/maxLength", limits::WORLD_NAME_BYTES_MAX);
    check(&document, "CreateWorld/properties/width/minimum", Rules::SIDE_MIN);
    check(&document, "CreateWorld/properties/height/maximum", Rules::SIDE_MAX);
    check(&document, "CreateWorld/properties/tree_permille/maximum", Rules::TREE_PERMILLE_MAX);
    check(&document, "CreateWorld/properties/width/default", Rules::default().size.width);
    check(&document, "CreateWorld/properties/tree_permille/default", Rules::default().tree_permille);
    check(&document, "CreateWorld/properties/move_min_ms/default", Rules::default().move_min.as_millis() as u64);
    check(&document, "CreateWorld/properties/open_ms/maximum", limits::HUNT_OPEN_MAX.as_millis() as u64);
    check(&document, "SowLife/properties/cells/maxItems", 2 * limits::WORLD_SOW_CELLS_MAX);
    check(&document, "CreateTicket/properties/party_size/maximum", limits::PARTY_MAX);
    check(&document, "CreateTicket/properties/players/minimum", limits::TICKET_PLAYERS_MIN);
    check(&document, "CreateTicket/properties/players/maximum", limits::TICKET_PLAYERS_MAX);
    check(&document, "CreateTicket/properties/region/maxLength", limits::REGION_BYTES_MAX);
    check(&document, "CreateTicket/properties/rating/maximum", limits::RATING_MAX);
    check(&document, "CreateTicket/properties/wait_ms/minimum", limits::TICKET_WAIT_MIN.as_millis() as u64);
    check(&document, "CreateTicket/properties/wait_ms/maximum", limits::TICKET_WAIT_MAX.as_millis() as u64);
    check(&document, "CreateTicket/properties/wait_ms/default", limits::TICKET_WAIT_DEFAULT.as_millis() as u64);
    check(&document, "ShowCard/properties/card/maximum", rules::stories::CARDS);
    let settings = engine::tables::TableSettings::default();
    let defaults = [
        ("players_max", u64::from(settings.rules.players_max)),
        ("hand", settings.rules.hand.into()),
        ("deck", settings.rules.deck.into()),
        ("picked_min", settings.rules.picked_min.into()),
        ("voted_min", settings.rules.voted_min.into()),
        ("countdown_ms", settings.countdown.as_millis() as u64),
        ("game_timeout_ms", settings.game_timeout.as_millis() as u64),
        ("next_storyteller_timeout_ms", settings.next_storyteller_timeout.as_millis() as u64),
    ];
    for (setting, default) in defaults {
        check(&document, &format!("StorySettings/properties/{setting}/default"), default);
    }
    let key = document.pointer("/paths/~1api~1games/post/parameters/0").unwrap();
    assert_eq!(key["schema"]["maxLength"], json!(limits::IDEMPOTENCY_KEY_BYTES_MAX), "{key}");
}
