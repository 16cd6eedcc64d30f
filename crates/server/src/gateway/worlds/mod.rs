//! Connections to worlds: frames over TCP on the port of HTTP, and over WebSockets. Tens of thousands of them say something once a
//! second, so that each is a socket, one small task and a [`line::Line`], and nothing else while nothing is said: no buffer, no
//! timer, no channel.
//!
//! `ears` hears what comes, `say` puts what a world tells into frames, `line` writes it; `opening` brings a mover in and `live` is
//! its connection's life. `read`, `make` and `actors` are for those who do not move. Who may move where, `crate::worlds` and the engine decide.

mod actors;
mod ears;
mod line;
mod linger;
mod live;
mod make;
mod opening;
pub(super) mod pace;
mod parting;
mod read;
mod register;
mod say;
mod show;
mod socket;
#[cfg(test)]
mod tests;
pub(super) mod viewer;

use super::admission::admit_line;
use super::listener;
use super::problem::ApiError;
use crate::app::App;
use ears::Ears;
use linger::linger;
use opening::{Grants, Opening, open};
use parting::Farewell;
use std::sync::Arc;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use wire::world::{FrameFormat, Framing, encode};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(socket::open_socket))
        .merge(read::routes())
        .merge(actors::routes())
        .merge(make::routes())
}

/// What a connection that speaks frames is told when there is no room for it.
pub(super) fn refusal_frame(why: &ApiError) -> Vec<u8> {
    let mut frame = Vec::new();
    let format = FrameFormat { framing: Framing::Delimited, has_reasons: true };
    encode(&Farewell::turned_away(why).frame(), format, &mut frame);
    frame
}

/// Speaks frames on a connection that does not speak HTTP.
pub(super) fn meet(app: App, line: listener::Line) {
    let (ears, address) = (Ears::new(&line.ahead), line.connection.stream().peer_addr().ok().map(|peer| peer.ip()));
    let line = Arc::new(line::Line::new(line.connection, Framing::Delimited));
    if let Err(refusal) = admit_line(&app, address) {
        line.part(&Farewell::turned_away(&refusal).into());
        tokio::spawn(linger(line));
        return;
    }
    let (address, grants) = (app.quotas.counted(address), Grants::default());
    tokio::spawn(open(Opening { app, line, ears, connected: None, address, world: None, grants }));
}
