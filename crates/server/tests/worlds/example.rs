//! Plays the worked example of docs/world.md exactly as written.

use crate::client::{Tcp, open};
use serde_json::Value;
use wire::world::ServerMessage;

const PAGE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/world.md"));

/// The lines of the example.
fn lines() -> Vec<&'static str> {
    let (_, example) = PAGE.split_once("## Worked example").unwrap();
    example.lines().filter(|line| line.starts_with(['<', '>'])).collect()
}

/// Whether all expected values are there; more may be.
fn holds(have: &Value, want: &Value) -> bool {
    match (have, want) {
        (Value::Object(have), Value::Object(want)) => {
            want.iter().all(|(name, want)| have.get(name).is_some_and(|have| holds(have, want)))
        }
        (have, want) => have == want,
    }
}

#[tokio::test]
async fn the_example_is_correct() {
    let open = open().await;
    let mut client = Tcp::connect(open.address).await;
    let lines = lines();
    assert!(lines.len() >= 7, "{lines:?}");
    for line in lines {
        let (who, what) = line.split_at(2);
        if who == "> " {
            let hex: String = what.split('#').next().unwrap().split_whitespace().collect();
            let bytes: Vec<u8> =
                (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect();
            client.send_bytes(&bytes).await;
            continue;
        }
        let want: Value = serde_json::from_str(what).unwrap();
        let message: ServerMessage = client.next().await.expect("the connection goes on");
        let have = serde_json::to_value(&message).unwrap();
        assert!(holds(&have, &want), "{have}\nis not {want}");
    }
}
