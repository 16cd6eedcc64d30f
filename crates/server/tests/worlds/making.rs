//! Worlds that operators create, and their settings.

use crate::client::{Tcp, open, step};
use engine::rows::WorldKind;
use engine::time::UnixMs;
use engine::worlds::settings_from_bytes;
use rules::world::{LifeSettings, Sharing, Size, WorldSettings};
use serde_json::{Value, json};
use std::time::Duration;
use wire::world::{Cell, Register, ServerMessage, Step};

#[tokio::test]
async fn the_chosen_settings_are_stored() {
    let open = open().await;
    let body = json!({"name": "pond", "width": 60, "height": 40, "tree_permille": 7, "is_shared": false, "move_min_ms": 0,
        "life": {"generation_ms": 80, "start_permille": 5}, "open_ms": 60_000});
    let made = open.server.call("POST /api/worlds").by("operator").json(&body).check("201").await;
    assert_eq!(made.headers["location"], "/api/worlds/pond");
    assert_eq!(
        (&made.body["kind"], &made.body["has_life"], &made.body["is_shared"]),
        (&json!("world"), &json!(true), &json!(false))
    );
    let name = "pond".parse().unwrap();
    let entry = open.server.app.node.store.read(move |reader| reader.world_named(&name, UnixMs(0))).await;
    let row = entry.unwrap().unwrap().row;
    let want = WorldSettings {
        size: Size { width: 60, height: 40 },
        tree_permille: 7,
        sharing: Sharing::One,
        life: Some(LifeSettings { generation: Duration::from_millis(80), start_permille: 5 }),
        hunt: None,
        move_min: Duration::ZERO,
    };
    assert_eq!((row.kind, settings_from_bytes(&row.settings)), (WorldKind::World, Ok(want)));
    assert_eq!(row.ends_at, Some(row.created_at.plus(Duration::from_secs(60))));
}

#[tokio::test]
async fn clients_without_the_role_and_invalid_settings_are_refused() {
    let open = open().await;
    let check = |by: &'static str, body: Value, want: &'static str| {
        let call = open.server.call("POST /api/worlds").by(by).json(&body);
        async move { call.check(want).await.body }
    };
    check("", json!({"name": "pond"}), "401 token_missing").await;
    check("player", json!({"name": "pond"}), "403 role_too_weak").await;
    check("operator", json!({}), "422 bad_shape").await;
    check("operator", json!({"name": "pond", "hunt": true}), "422 bad_shape").await;
    check("operator", json!({"name": "meadow"}), "409 duplicate_name").await;
    for (body, field) in [
        (json!({"name": "No name"}), "/name"),
        (json!({"name": "pond", "width": 7}), "/width"),
        (json!({"name": "pond", "height": 70_000}), "/height"),
        (json!({"name": "pond", "tree_permille": -1}), "/tree_permille"),
        (json!({"name": "pond", "move_min_ms": -1}), "/move_min_ms"),
        (json!({"name": "pond", "life": {"generation_ms": 49}}), "/generation_ms"),
        (json!({"name": "pond", "life": {"start_permille": 1_001}}), "/start_permille"),
        (json!({"name": "pond", "open_ms": 59_999}), "/open_ms"),
    ] {
        assert_eq!(check("operator", body, "400 bad_value").await["field"], field);
    }
}

#[tokio::test]
async fn with_exclusive_cells_an_occupied_cell_is_refused() {
    let open = open().await;
    let body = json!({"name": "narrow", "width": 8, "height": 8, "tree_permille": 0, "is_shared": false});
    open.server.call("POST /api/worlds").by("operator").json(&body).check("201").await;
    let at = |x| Register { world: "narrow".to_owned(), at: Some(Cell { x, y: 4 }), ..Register::default() };
    let (_first, _) = Tcp::enter(open.address, at(3)).await;
    let (mut second, registered) = Tcp::enter(open.address, at(4)).await;
    second.send(step(registered.next_seq, Step::W)).await;
    match second.next().await {
        Some(ServerMessage::Refused(refused)) => assert_eq!(refused.code, "occupied"),
        other => panic!("not refused: {other:?}"),
    }
}
