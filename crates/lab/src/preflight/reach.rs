//! Checks whether a target that the lab does not start accepts a connection, before anything is sent; a refused
//! connection is not waited for. Sends no byte.

use std::net::{IpAddr, SocketAddr};

use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::format::first_few;
use crate::limits::{CONNECT_WITHIN, RESOLVE_WITHIN};
use crate::scenario::BaseUrl;

/// All addresses of a host.
///
/// # Errors
/// The sentence that says that there are none, and what to do.
pub async fn resolve(base: &BaseUrl) -> Result<Vec<IpAddr>, String> {
    Ok(resolve_sockets(base).await?.into_iter().map(|socket| socket.ip()).collect())
}

/// The same with the port.
///
/// # Errors
/// As for [`resolve`].
pub(crate) async fn resolve_sockets(base: &BaseUrl) -> Result<Vec<SocketAddr>, String> {
    let host = &base.host;
    let none =
        |reason: &str| format!("{} cannot be tried: {host} has no address ({reason}); correct the URL", base.url());
    match timeout(RESOLVE_WITHIN, names::look_up(host)).await {
        Err(_) => Err(none(&format!("no answer within {RESOLVE_WITHIN:?}"))),
        Ok(Err(error)) => Err(none(&error.to_string())),
        Ok(Ok(found)) => Ok(found.into_iter().map(|ip| SocketAddr::new(ip, base.port)).collect()),
    }
}

/// Whether one of the addresses of a service accepts a connection now.
///
/// # Errors
/// The sentence that says what was tried at which address, and what to do.
pub async fn check_reachable(base: &BaseUrl, addresses: &[SocketAddr]) -> Result<(), String> {
    let mut tried = Vec::new();
    for socket in addresses {
        match timeout(CONNECT_WITHIN, TcpStream::connect(socket)).await {
            Ok(Ok(_)) => return Ok(()),
            Ok(Err(error)) => tried.push(format!("{socket}: {error}")),
            Err(_) => tried.push(format!("{socket}: no answer within {CONNECT_WITHIN:?}")),
        }
    }
    Err(format!(
        "nothing accepts a connection at {} (tried {}): start the service, or correct the URL",
        base.url(),
        first_few(&tried, "; ")
    ))
}
