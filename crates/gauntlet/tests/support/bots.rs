//! Bots on a port of their own that record every call, and delay answers on request.

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::routing::{get, post};
use bots::Character;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use wire::webhook::Request;

/// A call: its name (`start`, `move`, `end`), the game, the snake, the turn.
pub(crate) type Call = (String, String, String, u32);

/// What follows `--` in a bot's name makes it another program that plays the same.
///
/// The bots, under `/circle`, `/last-<turn>`, `/page`, `/shy`, `/stuck`, `/hungry` and `/flood`. They end when this is dropped.
///
/// `circle` runs in a circle of four cells and never looks, so that its games depend on nothing but their seeds. `last-9` does
/// the same, and from turn 9 on runs upwards until it dies. `page` answers with a web page. `shy`
/// does the same, but while starts are held it does not answer /start; `stuck` does the same, but does not answer /move
/// from the turn on from which moves are held. The others play as their names say.
pub(crate) struct Bots {
    runtime: Option<Runtime>,
    address: SocketAddr,
    memory: Arc<Memory>,
}

struct Memory {
    calls: Mutex<BTreeMap<Call, u32>>,
    are_starts_held: watch::Sender<bool>,
    moves_held_from: watch::Sender<u32>,
    think: Duration,
}

impl Bots {
    /// Bots that think for this long about a move.
    pub(crate) fn start(think: Duration) -> Self {
        let memory = Arc::new(Memory {
            calls: Mutex::default(),
            are_starts_held: watch::Sender::new(false),
            moves_held_from: watch::Sender::new(u32::MAX),
            think,
        });
        let router = Router::new()
            .route("/{bot}/", get(async || r##"{"apiversion":"1","color":"#0a0b0c"}"##))
            .route("/{bot}/{call}", post(answer))
            .with_state(memory.clone());
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        runtime.spawn(async move { axum::serve(listener, router).await });
        Self { runtime: Some(runtime), address, memory }
    }

    /// This bot's URL.
    pub(crate) fn url(&self, bot: &str) -> String {
        format!("http://{}/{bot}", self.address)
    }

    /// From now on `shy` keeps /start to itself.
    pub(crate) fn hold_starts(&self) {
        self.memory.are_starts_held.send_replace(true);
    }

    /// From now on `stuck` keeps moves of this turn and later ones to itself, for as long as the server has patience: its
    /// games stand still after so many turns.
    pub(crate) fn hold_moves_from(&self, turn: u32) {
        self.memory.moves_held_from.send_replace(turn);
    }

    /// Nothing is held any more.
    pub(crate) fn release(&self) {
        self.hold_moves_from(u32::MAX);
        self.memory.are_starts_held.send_replace(false);
    }

    /// Every call so far, and how often it came.
    pub(crate) fn calls(&self) -> BTreeMap<Call, u32> {
        self.memory.calls.lock().unwrap().clone()
    }
}

impl Drop for Bots {
    fn drop(&mut self) {
        self.runtime.take().unwrap().shutdown_background();
    }
}

async fn answer(State(memory): State<Arc<Memory>>, Path((bot, call)): Path<(String, String)>, body: Bytes) -> String {
    let bot = bot.split_once("--").map_or(bot.clone(), |(plays_as, _)| plays_as.to_owned());
    let request: Request<'_> = serde_json::from_slice(&body).unwrap();
    let key = (call.clone(), request.game.id.to_string(), request.you.id.to_string(), request.turn);
    *memory.calls.lock().unwrap().entry(key).or_default() += 1;
    match (bot.as_str(), call.as_str()) {
        ("shy", "start") => drop(memory.are_starts_held.subscribe().wait_for(|are_held| !are_held).await),
        ("stuck", "move") => drop(memory.moves_held_from.subscribe().wait_for(|turn| request.turn < *turn).await),
        _ => {}
    }
    if bot == "page" {
        return "<!doctype html><title>Welcome</title>".to_owned();
    }
    if call != "move" {
        return "{}".to_owned();
    }
    tokio::time::sleep(memory.think).await;
    let direction = match Character::from_name(&bot) {
        Some(character) => character.decide(&request, 1).direction.name(),
        None if last_turn(&bot).is_some_and(|last| request.turn >= last) => "up",
        None => ["up", "right", "down", "left"][request.turn as usize % 4],
    };
    format!(r#"{{"move":"{direction}","shout":"turn {}"}}"#, request.turn)
}

/// The turn from which a bot of this name runs to its death.
fn last_turn(bot: &str) -> Option<u32> {
    bot.strip_prefix("last-")?.parse().ok()
}
