//! Connections to worlds: frames over TCP on the port of HTTP, and over WebSockets. Tens of thousands of them send something once a
//! second, so each is a socket, one small task and a [`WorldConnection`], and nothing else while idle: no buffer, no
//! timer, no channel.
//!
//! `reader` splits input into frames, `frames` encodes a world's messages, `connection` writes them; `handshake` registers a mover
//! and `mover_connection` serves it afterwards. `read`, `create` and `actors` are routes for clients without a mover. `worlds` and
//! the engine decide who may move where.

mod actors;
mod connection;
mod create;
mod disconnect;
mod frames;
mod handshake;
mod mover_connection;
pub(super) mod read;
mod reader;
mod registration;
mod socket;
#[cfg(test)]
mod tests;
mod view;
pub(super) mod viewer;

pub(super) use create::terminate_world;

use super::admission::admit_connection;
use super::listener;
use super::problem::ApiError;
use crate::app::App;
use connection::{WorldConnection, linger};
use disconnect::CloseMessage;
use handshake::{Handshake, run_handshake};
use mover_connection::ConnectionGrants;
use reader::FrameReader;
use std::net::IpAddr;
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

/// The frame sent to a refused connection that speaks frames.
pub(super) fn refusal_frame(error: &ApiError) -> Vec<u8> {
    let mut frame = Vec::new();
    let format = FrameFormat { framing: Framing::Delimited, has_reasons: true };
    encode(&CloseMessage::try_later(error).frame(), format, &mut frame);
    frame
}

/// Serves frames on a connection that does not speak HTTP.
pub(super) fn accept_raw(app: App, client: IpAddr, raw: listener::RawConnection) {
    let (reader, address) = (FrameReader::new(&raw.read_ahead), Some(client));
    let connection = Arc::new(WorldConnection::new(raw.connection, Framing::Delimited));
    let refusal = match app.bans.check(None, address) {
        Err(banned) => Some(CloseMessage::refused(&banned)),
        Ok(()) => admit_connection(&app, address).err().map(|refusal| CloseMessage::try_later(&refusal)),
    };
    if let Some(refusal) = refusal {
        connection.close_with(&refusal.into());
        tokio::spawn(linger(connection));
        return;
    }
    let grants = ConnectionGrants::connected(&app, &connection, None, address);
    let address = app.quotas.subject_key(address);
    tokio::spawn(run_handshake(Handshake { app, connection, reader, principal: None, address, world: None, grants }));
}
