//! Names of hosts to addresses, by the system's files and DNS servers and without the C library: its lookup loads shared libraries, which a
//! static binary does not have (docs/decisions/0081). Names that strangers choose are looked up by `bot_client`, over the same
//! [`Sources`] with a cache and limits by domain; this is for the few names that an operator writes down: a database, nodes, a target.

mod sources;

pub use sources::{Bounds, Sources, Stamps};

use std::io::{Error, ErrorKind, Result};
use std::net::{IpAddr, SocketAddr};
use std::thread;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// The whole lookup of a name.
pub const LOOKUP_TIMEOUT: Duration = Duration::from_secs(10);
const BOUNDS: Bounds = Bounds { query_timeout: Duration::from_secs(3), queries_at_once: 4 };

/// The addresses of a host, which is a name or an address (IPv6 with or without brackets): at least one, each once.
///
/// # Errors
/// The name has none, or nothing answered in time.
pub async fn look_up(host: &str) -> Result<Vec<IpAddr>> {
    look_up_in(&Sources::system(), host).await
}

/// The same for threads that may wait.
///
/// # Errors
/// As for [`look_up`].
pub fn look_up_blocking(host: &str) -> Result<Vec<IpAddr>> {
    if let Some(address) = literal(host) {
        return Ok(vec![address]);
    }
    // A thread of its own: the caller's may be driving a runtime, which refuses a second one.
    let look = || tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(look_up(host));
    thread::scope(|scope| {
        let looking = thread::Builder::new().name("names".into()).spawn_scoped(scope, look)?;
        looking.join().unwrap_or_else(|_| Err(Error::other("the lookup has ended by a defect")))
    })
}

/// Connects to `HOST:PORT`, trying each address of the host in turn.
///
/// # Errors
/// The last attempt's, or why there is no address.
pub async fn connect(address: &str) -> Result<TcpStream> {
    let (host, port) = split(address)
        .ok_or_else(|| Error::new(ErrorKind::InvalidInput, format!("{address:?} is no address; expected HOST:PORT")))?;
    let mut last = None;
    for ip in look_up(host).await? {
        match TcpStream::connect(SocketAddr::new(ip, port)).await {
            Ok(stream) => return Ok(stream),
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| unknown(host, &"the name has no address")))
}

async fn look_up_in(sources: &Sources, host: &str) -> Result<Vec<IpAddr>> {
    if let Some(address) = literal(host) {
        return Ok(vec![address]);
    }
    let resolver = sources.resolver(BOUNDS).ok_or_else(|| unknown(host, &"no resolver could be started"))?;
    let found = timeout(LOOKUP_TIMEOUT, resolver.lookup_ip(host)).await;
    let found = found.map_err(|_| Error::new(ErrorKind::TimedOut, format!("{host} cannot be looked up in time")))?;
    let found = found.map_err(|error| unknown(host, &error))?;
    let mut addresses: Vec<IpAddr> = Vec::new();
    for address in found.iter() {
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    if addresses.is_empty() { Err(unknown(host, &"the name has no address")) } else { Ok(addresses) }
}

fn literal(host: &str) -> Option<IpAddr> {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    bare.unwrap_or(host).parse().ok()
}

fn split(address: &str) -> Option<(&str, u16)> {
    let (host, port) = address.rsplit_once(':')?;
    let is_whole = !host.is_empty() && (!host.contains(':') || literal(host).is_some_and(|_| host.starts_with('[')));
    Some((host, port.parse().ok()?)).filter(|_| is_whole)
}

fn unknown(host: &str, reason: &dyn std::fmt::Display) -> Error {
    let text = format!("{host} is not known to /etc/hosts or the DNS servers of /etc/resolv.conf: {reason}");
    Error::new(ErrorKind::NotFound, text)
}

#[cfg(test)]
mod tests;
