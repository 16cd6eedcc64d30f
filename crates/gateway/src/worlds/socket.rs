//! The WebSocket route: a request that is upgraded. The handshake is answered here (RFC 6455, section 4.2); then the connection is
//! reclaimed from hyper, and hyper's buffers are released.

use super::connection::WorldConnection;
use super::handshake::{Handshake, run_handshake};
use super::mover_connection::ConnectionGrants;
use super::reader::FrameReader;
use crate::app::App;
use crate::client_address::ClientAddress;
use crate::extract::PathId;
use crate::header_values::has_token;
use crate::listener::reclaim_connection;
use crate::problem::{ApiError, ApiResult};
use crate::quota::QuotaSubject;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use engine::ids::WorldName;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use hyper::upgrade::OnUpgrade;
use sha1::{Digest, Sha1};
use std::sync::Arc;
use wire::world::Framing;

/// Every WebSocket server appends this to a key (section 1.3).
const ACCEPT_GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const VERSION: &str = "13";
/// Bytes of a key (section 4.1).
const NONCE_BYTES: usize = 16;

/// Move in a world, over a WebSocket
///
/// Binary messages are frames of `world.proto`, text messages the same shapes as JSON; the first one decides the format of the
/// responses. The mover is identified by a page's cookie or by a token in the registration; without either it is anonymous.
#[utoipa::path(get, path = "/api/worlds/{world}/socket", operation_id = "open_world_socket", tag = "worlds", security((), ("bearer" = [])),
    params(("world" = String, Path, description = "The world's name")),
    responses(
        (status = 101, description = "A WebSocket of the frames in docs/world.md"),
        (status = 400, description = "`bad_upgrade`: the request has a body, or is not a GET"),
        (status = 426, description = "`upgrade_required`"),
    ),
)]
pub(super) async fn open_socket(
    State(app): State<App>,
    PathId(world): PathId<WorldName>,
    request: Request,
) -> ApiResult<Response> {
    let (mut parts, _) = request.into_parts();
    let principal = app.auth.resolve(&parts).await.into_principal()?;
    let address = QuotaSubject::of(&parts, &app).await.address;
    let client = parts.extensions.get::<ClientAddress>().and_then(|client| client.0);
    let accept = accept_key(&parts.headers).ok_or(ApiError::UpgradeRequired)?;
    let upgrade = parts.extensions.remove::<OnUpgrade>().ok_or(ApiError::UpgradeRequired)?;
    tokio::spawn(async move {
        // If the client disconnected before the response, there is nothing to do.
        let Some(raw) = upgrade.await.ok().and_then(reclaim_connection) else { return };
        let reader = FrameReader::new(&raw.read_ahead);
        let connection = Arc::new(WorldConnection::new(raw.connection, Framing::Binary));
        let grants = ConnectionGrants::connected(&app, &connection, principal.as_ref(), client);
        run_handshake(Handshake { app, connection, reader, principal, address, world: Some(world), grants }).await;
    });
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(header::SEC_WEBSOCKET_ACCEPT, accept);
    Ok(response)
}

/// The accept key of a handshake; `None` if the request is not a handshake.
fn accept_key(headers: &HeaderMap) -> Option<HeaderValue> {
    let is_requested =
        has_token(headers, &header::CONNECTION, "upgrade") && has_token(headers, &header::UPGRADE, "websocket");
    let is_supported = headers.get(header::SEC_WEBSOCKET_VERSION).is_some_and(|version| version == VERSION);
    let key = headers.get(header::SEC_WEBSOCKET_KEY).filter(|key| is_nonce(key))?;
    let digest = Sha1::new().chain_update(key.as_bytes()).chain_update(ACCEPT_GUID).finalize();
    let accept = HeaderValue::try_from(BASE64_STANDARD.encode(digest)).ok()?;
    (is_requested && is_supported).then_some(accept)
}

/// Sixteen bytes in base64.
fn is_nonce(key: &HeaderValue) -> bool {
    BASE64_STANDARD.decode(key.as_bytes()).is_ok_and(|bytes| bytes.len() == NONCE_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderName;

    #[track_caller]
    fn check(headers: &[(HeaderName, &'static str)], want: Option<&str>) {
        let headers: HeaderMap =
            headers.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect();
        assert_eq!(accept_key(&headers), want.map(|want| HeaderValue::from_str(want).unwrap()));
    }

    #[test]
    fn accepts_complete_handshakes_only() {
        let key = (header::SEC_WEBSOCKET_KEY, "dGhlIHNhbXBsZSBub25jZQ==");
        let version = (header::SEC_WEBSOCKET_VERSION, "13");
        let upgrade = (header::UPGRADE, "WebSocket");
        let connection = (header::CONNECTION, "keep-alive, Upgrade");
        let all = [key.clone(), version.clone(), upgrade.clone(), connection.clone()];
        // The example of the RFC.
        check(&all, Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
        for left_out in 0..all.len() {
            let rest: Vec<_> =
                all.iter().enumerate().filter(|(at, _)| *at != left_out).map(|(_, one)| one.clone()).collect();
            check(&rest, None);
        }
        check(&[key, (header::SEC_WEBSOCKET_VERSION, "8"), upgrade.clone(), connection.clone()], None);
        for no_nonce in ["", "abc", "dGhlIHNhbXBsZSBub25jZQ", "dGhlIHNhbXBsZSBub25jZSE=", "the sample nonce, as text"] {
            check(&[(header::SEC_WEBSOCKET_KEY, no_nonce), version.clone(), upgrade.clone(), connection.clone()], None);
        }
    }
}
