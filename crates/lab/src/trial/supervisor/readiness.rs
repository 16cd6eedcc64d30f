//! Waits until a service reports that it can take requests. Does not know what started it.

use std::time::Duration;

use http::HeaderMap;
use tokio::time::Instant;

use super::managed_process::ProcessSpec;
use crate::generator::{ControlClient, ControlRequest};

/// The interval between probes; also the resolution of the moment at which a restarted service was ready again.
const PROBE_EVERY: Duration = Duration::from_millis(20);

/// The timeout of one probe.
const PROBE_WITHIN: Duration = Duration::from_secs(2);

/// Probes until the path answers 2xx.
///
/// # Errors
/// The last response or failure, when the time is over.
pub(super) async fn await_ready(spec: &ProcessSpec, path: &str) -> Result<(), String> {
    let url = format!("{}{path}", spec.base.url());
    let deadline = Instant::now() + spec.ready_timeout;
    let mut client = None;
    loop {
        match probe(&mut client, spec, path).await {
            Ok(status) if (200..300).contains(&status) => return Ok(()),
            _ if Instant::now() < deadline => tokio::time::sleep(PROBE_EVERY).await,
            Ok(status) => return Err(format!("{url} still answers {status}")),
            Err(message) => return Err(format!("{url}: {message}")),
        }
    }
}

/// The first probe makes the client of all; a later one, if the service writes its certificates only when it starts.
async fn probe(client: &mut Option<ControlClient>, spec: &ProcessSpec, path: &str) -> Result<u16, String> {
    let client = match client {
        Some(client) => client,
        None => {
            client.insert(ControlClient::new(&spec.base, &spec.addresses, &spec.trust).map_err(|error| error.message)?)
        }
    };
    let path = path.parse().map_err(|_| "not a path".to_owned())?;
    let call = ControlRequest::get(path, HeaderMap::new(), PROBE_WITHIN);
    client.send(&call).await.map(|reply| reply.status).map_err(|failure| failure.message)
}
