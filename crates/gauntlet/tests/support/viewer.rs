//! A viewer at the events socket, on a thread of its own.

use super::{PATIENCE, Server};
use futures_util::StreamExt;
use serde_json::Value;
use std::sync::mpsc::{Receiver, channel};
use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite::Message;

/// What a viewer receives.
#[derive(Clone, Debug, PartialEq)]
enum ViewerEvent {
    Event(Value),
    /// The close code, when there was a close frame.
    Closed(Option<u16>),
}

/// Everything that one connection brought.
#[derive(Debug)]
pub(crate) struct ViewerRecord {
    /// The frames, in the order in which they came.
    pub(crate) frames: Vec<Value>,
    /// Whether `game_end` was the last event.
    pub(crate) has_ended: bool,
    /// The close code; `None` for a connection that broke.
    pub(crate) code: Option<u16>,
}

/// A connected viewer.
pub(crate) struct Viewer {
    events: Receiver<ViewerEvent>,
    frames: Vec<Value>,
}

impl Viewer {
    /// Begins to watch a game.
    pub(crate) fn watch(server: &Server, id: &str) -> Self {
        let url = format!("ws://{}/api/games/{id}/events", server.address());
        let (sender, events) = channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let Ok((mut socket, _)) = connect_async(url).await else { return };
                while let Some(Ok(message)) = socket.next().await {
                    let event = match message {
                        Message::Text(text) => ViewerEvent::Event(serde_json::from_str(&text).unwrap()),
                        Message::Close(close) => ViewerEvent::Closed(close.map(|close| close.code.into())),
                        _ => continue,
                    };
                    if sender.send(event).is_err() {
                        return;
                    }
                }
            });
        });
        Self { events, frames: Vec::new() }
    }

    /// Waits until this turn was shown.
    pub(crate) fn wait_for_turn(&mut self, turn: u64) {
        while self.frames.last().is_none_or(|frame| frame["Turn"].as_u64() < Some(turn)) {
            match self.events.recv_timeout(PATIENCE) {
                Ok(ViewerEvent::Event(event)) if event["Type"] == "frame" => self.frames.push(event["Data"].clone()),
                other => panic!("turn {turn} was not shown, but {other:?}"),
            }
        }
    }

    /// Receives everything until the socket is closed.
    pub(crate) fn receive_all(mut self) -> ViewerRecord {
        let mut has_ended = false;
        let code = loop {
            match self.events.recv_timeout(PATIENCE) {
                Ok(ViewerEvent::Event(event)) if event["Type"] == "frame" => {
                    assert!(!has_ended, "a frame after the end");
                    self.frames.push(event["Data"].clone());
                }
                Ok(ViewerEvent::Event(event)) if event["Type"] == "game_end" => has_ended = true,
                Ok(ViewerEvent::Event(event)) => panic!("a viewer received {event}"),
                Ok(ViewerEvent::Closed(code)) => break code,
                Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => break None,
                Err(error) => panic!("a viewer receives nothing any more: {error}"),
            }
        };
        ViewerRecord { frames: self.frames, has_ended, code }
    }
}
