//! Bots on a separate port: simple ones that record their requests.

use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use futures_util::StreamExt;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::TcpListener;

/// A request to a bot: its name, the call, the body.
pub(crate) type BotRequest = (String, String, Value);
/// The same with the body as it arrived.
pub(crate) type RawBotRequest = (String, String, Bytes);

/// Bots under `/circle`, `/up`, `/hostile`, `/drip-<milliseconds>`, `/html`, `/sideways` and `/broken`.
///
/// `hostile` goes up, with a face and shouts that are meant to break what shows them.
/// `circle` runs in a circle of four cells, `up` into the wall; `drip` goes up too, but pauses in the middle of the body of its answers. The
/// others never give a move: a page, a move that there is not, a status with bytes that are no text.
pub(crate) struct Bots {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<RawBotRequest>>>,
}

impl Bots {
    pub(crate) async fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::default();
        let router = Router::new().route("/{bot}/{call}", post(response)).route("/{bot}/", get(index));
        let router = router.with_state(Arc::clone(&requests));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { address, requests }
    }

    pub(crate) fn urls(&self, bots: &[&str]) -> Vec<String> {
        bots.iter().map(|bot| format!("http://{}/{bot}", self.address)).collect()
    }

    /// All requests so far.
    pub(crate) fn requests(&self) -> Vec<BotRequest> {
        let parsed = |(bot, call, body): RawBotRequest| (bot, call, serde_json::from_slice(&body).unwrap());
        self.raw_requests().into_iter().map(parsed).collect()
    }

    /// All requests so far, as they arrived.
    pub(crate) fn raw_requests(&self) -> Vec<RawBotRequest> {
        self.requests.lock().unwrap().clone()
    }
}

/// What a hostile bot says of itself, and shouts.
pub(crate) const HOSTILE_FACE: [&str; 3] = ["red;}</style><script>", "../../secret", "\u{202e}tluafed"];
pub(crate) fn hostile_shout() -> String {
    format!("</script>\0\u{1b}[2J\n\u{202e}evil o{}", "\u{301}".repeat(10_000))
}

async fn index(Path(bot): Path<String>) -> Response {
    let [color, head, tail] = HOSTILE_FACE;
    match bot.as_str() {
        "hostile" => Json(json!({"apiversion": "1", "color": color, "head": head, "tail": tail})).into_response(),
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

async fn response(
    State(requests): State<Arc<Mutex<Vec<RawBotRequest>>>>,
    Path((bot, call)): Path<(String, String)>,
    body: Bytes,
) -> Response {
    let request: Value = serde_json::from_slice(&body).unwrap();
    let turn = request["turn"].as_u64().unwrap();
    requests.lock().unwrap().push((bot.clone(), call.clone(), body));
    if call != "move" {
        return "{}".into_response();
    }
    match (bot.as_str(), bot.strip_prefix("drip-")) {
        (_, Some(pause_ms)) => drip(Duration::from_millis(pause_ms.parse().unwrap())),
        ("hostile", _) => Json(json!({"move": "up", "shout": hostile_shout()})).into_response(),
        ("circle", _) => move_to(["up", "right", "down", "left"][turn as usize % 4], turn),
        ("html", _) => format!("<html>{}</html>", "x".repeat(600)).into_response(),
        ("sideways", _) => move_to("sideways", turn),
        ("broken", _) => (StatusCode::IM_A_TEAPOT, b"\x1b[2Jsecret \xff".as_slice()).into_response(),
        _ => move_to("up", turn),
    }
}

fn move_to(direction: &str, turn: u64) -> Response {
    format!(r#"{{"move":"{direction}","shout":"turn {turn}"}}"#).into_response()
}

/// Sends the head and half of the body at once, the other half after the pause.
fn drip(pause: Duration) -> Response {
    let parts = futures_util::stream::iter([Duration::ZERO, pause].into_iter().zip([r#"{"move":"#, r#""up"}"#]));
    Body::from_stream(parts.then(async |(pause, part)| {
        tokio::time::sleep(pause).await;
        Ok::<_, Infallible>(Bytes::from(part))
    }))
    .into_response()
}
