//! Conway's life over the network: an operator puts bacteria among movers on separate connections.

use crate::client::{Open, PATIENCE, Tcp, open, step};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use tokio::time::timeout;
use wire::world::{Cell, Register, Registered, ServerMessage, Step, ViewOptions};

const SIDE: u16 = 24;
/// The four shapes of a glider that flies to the south-east, with rows and columns counted from its first ones.
const SHAPES: [[(u16, u16); 5]; 4] = [
    [(1, 0), (2, 1), (0, 2), (1, 2), (2, 2)],
    [(0, 0), (2, 0), (1, 1), (2, 1), (1, 2)],
    [(2, 0), (0, 1), (2, 1), (1, 2), (2, 2)],
    [(0, 0), (1, 1), (2, 1), (0, 2), (1, 2)],
];

async fn pond() -> Open {
    let open = open().await;
    let body = json!({"name": "pond", "width": SIDE, "height": SIDE, "tree_permille": 0, "move_min_ms": 0,
        "life": {"generation_ms": 50}});
    open.server.call("POST /api/worlds").by("operator").json(&body).check("201").await;
    open
}

fn at(x: u32, y: u32) -> Register {
    Register { world: "pond".to_owned(), at: Some(Cell { x, y }), ..Register::default() }
}

async fn alive(open: &Open) -> BTreeSet<(u16, u16)> {
    let section = open.server.call("GET /api/worlds/pond/sections").by("").check("200").await.body;
    let numbers: Vec<u16> = serde_json::from_value(section["life"].clone()).unwrap();
    numbers.as_chunks::<2>().0.iter().map(|[x, y]| (*x, *y)).collect()
}

/// Where a glider is, if the living cells are exactly one.
fn glider(alive: &BTreeSet<(u16, u16)>) -> Option<(u16, u16)> {
    let corner = (alive.iter().map(|cell| cell.0).min()?, alive.iter().map(|cell| cell.1).min()?);
    let shape: BTreeSet<_> = alive.iter().map(|(x, y)| (x - corner.0, y - corner.1)).collect();
    SHAPES.iter().any(|known| shape == known.iter().copied().collect()).then_some(corner)
}

/// Moves the walkers back and forth beside the glider's path, once in each round.
async fn walk(walkers: &mut [(Tcp, Registered)], round: u32) {
    for (client, registered) in walkers {
        let to = if round.is_multiple_of(2) { Step::N } else { Step::S };
        client.send(step(registered.next_seq + round, to)).await;
        assert!(matches!(client.next().await, Some(ServerMessage::Moved(_))));
    }
}

/// It flies until it meets the far corner, where it becomes a block of four.
#[tokio::test]
async fn a_glider_crosses_the_map_among_movers_off_its_path() {
    let open = pond().await;
    let mut walkers = Vec::new();
    for at_y in 8..24 {
        walkers.push(Tcp::enter(open.address, at(at_y - 8, at_y)).await);
        walkers.push(Tcp::enter(open.address, at(at_y, at_y - 7)).await);
    }
    let body = json!({"cells": [1, 0, 2, 1, 0, 2, 1, 2, 2, 2]});
    let sown = open.server.call("POST /api/worlds/pond/life").by("operator").json(&body).check("200").await;
    assert_eq!(sown.body, json!({"sown": 5}));
    let block: BTreeSet<_> = [(22, 22), (23, 22), (22, 23), (23, 23)].into();
    let mut seen = BTreeSet::new();
    timeout(PATIENCE, async {
        for round in 0.. {
            walk(&mut walkers, round).await;
            let alive = alive(&open).await;
            if alive == block {
                return;
            }
            if let Some(corner) = glider(&alive) {
                seen.insert(corner);
                continue;
            }
            // Before it is in the picture there is nothing; in the corner it has other shapes for a moment.
            let is_at_the_end = alive.iter().all(|(x, y)| *x > SIDE - 6 && *y > SIDE - 6);
            assert!(is_at_the_end && (seen.is_empty() == alive.is_empty()), "it broke: {alive:?}");
        }
    })
    .await
    .expect("the glider comes to the far corner");
    assert!(seen.iter().all(|(x, y)| x.abs_diff(*y) <= 1) && seen.len() > 5, "it was seen on its way: {seen:?}");
}

#[tokio::test]
async fn a_viewer_sees_the_life_around_it() {
    let open = pond().await;
    let view = Some(ViewOptions { radius_x: 4, radius_y: 4, per_s: 20 });
    let (mut watcher, _) = Tcp::enter(open.address, Register { view, ..at(8, 8) }).await;
    // A block stays as it is; bacteria are not put under a mover.
    let body = json!({"cells": [10, 10, 11, 10, 10, 11, 11, 11, 8, 8]});
    let sown = open.server.call("POST /api/worlds/pond/life").by("operator").json(&body).check("200").await;
    assert_eq!(sown.body, json!({"sown": 4}));
    let life = watcher
        .until(|message| match message {
            ServerMessage::View(view) if !view.life.is_empty() => Some(view.life.clone()),
            _ => None,
        })
        .await;
    assert_eq!(life, [10, 10, 11, 10, 10, 11, 11, 11]);
}

#[tokio::test]
async fn only_operators_sow_and_only_in_worlds_with_life() {
    let open = pond().await;
    let check = |by: &'static str, world: &str, body: Value, want: &'static str| {
        let call = open.server.call(&format!("POST /api/worlds/{world}/life")).by(by).json(&body);
        async move { call.check(want).await }
    };
    let one = json!({"cells": [1, 1]});
    check("player", "pond", one.clone(), "403 role_too_weak").await;
    check("operator", "meadow", one.clone(), "409 no_life").await;
    check("operator", "nowhere", one.clone(), "404 no_such_world").await;
    check("operator", "pond", json!({"cells": []}), "400 bad_value").await;
    check("operator", "pond", json!({"cells": [1, 1, 2]}), "400 bad_value").await;
    check("operator", "pond", json!({"cells": vec![1; 8_194]}), "400 bad_value").await;
    check("operator", "pond", json!({"cells": [1, 70_000]}), "422 bad_shape").await;
    assert_eq!(check("operator", "pond", json!({"cells": [99, 1, 1, 1]}), "200").await.body, json!({"sown": 1}));
}
