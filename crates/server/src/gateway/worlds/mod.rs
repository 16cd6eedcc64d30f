//! Connections to worlds: frames over TCP on the port of HTTP, and over WebSockets. Tens of thousands of them say something once a
//! second, so that each is a socket, one small task and a [`line::Line`], and nothing else while nothing is said: no buffer, no
//! timer, no channel.
//!
//! `ears` hears what comes, `say` puts what a world tells into frames, `line` writes it; `opening` brings a mover in and `live` is
//! its connection's life. `read`, `make` and `actors` are for those who do not move. Who may move where, `crate::worlds` and the engine decide.

mod actors;
mod connection;
mod create;
mod disconnect;
pub(super) mod frame_rate;
mod frames;
mod handshake;
mod linger;
mod mover_connection;
mod read;
mod reader;
mod registration;
mod socket;
#[cfg(test)]
mod tests;
mod view;
pub(super) mod viewer;

use super::admission::admit_connection;
use super::listener;
use super::problem::ApiError;
use crate::app::App;
use disconnect::CloseMessage;
use handshake::{ConnectionGrants, Handshake, run_handshake};
use linger::linger;
use reader::FrameReader;
use std::sync::Arc;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use wire::world::{FrameFormat, Framing, encode};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(socket::open_socket))
        .merge(read::routes())
        .merge(actors::routes())
        .merge(create::routes())
}

/// What a connection that speaks frames is told when there is no room for it.
pub(super) fn refusal_frame(why: &ApiError) -> Vec<u8> {
    let mut frame = Vec::new();
    let format = FrameFormat { framing: Framing::Delimited, has_reasons: true };
    encode(&CloseMessage::try_later(why).frame(), format, &mut frame);
    frame
}

/// Speaks frames on a connection that does not speak HTTP.
pub(super) fn accept_raw(app: App, line: listener::RawConnection) {
    let (ears, address) =
        (FrameReader::new(&line.read_ahead), line.connection.stream().peer_addr().ok().map(|peer| peer.ip()));
    let line = Arc::new(connection::WorldConnection::new(line.connection, Framing::Delimited));
    if let Err(refusal) = admit_connection(&app, address) {
        line.close_with(&CloseMessage::try_later(&refusal).into());
        tokio::spawn(linger(line));
        return;
    }
    let (address, grants) = (app.quotas.subject_key(address), ConnectionGrants::default());
    tokio::spawn(run_handshake(Handshake {
        app,
        connection: line,
        reader: ears,
        principal: None,
        address,
        world: None,
        grants,
    }));
}
