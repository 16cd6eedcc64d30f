//! Waits until a service reports that it can take requests. Does not know what started it.

use std::time::Duration;

use http::HeaderMap;
use tokio::time::Instant;

use crate::generator::{ControlClient, ControlRequest, Trust};
use crate::scenario::BaseUrl;

/// The interval between probes; also the resolution of the moment at which a restarted service was ready again.
const PROBE_EVERY: Duration = Duration::from_millis(20);

/// The timeout of one probe.
const PROBE_WITHIN: Duration = Duration::from_secs(2);

/// Probes until the path answers 2xx.
///
/// # Errors
/// The last response or failure, when the time is over.
pub(super) async fn await_ready(base: &BaseUrl, trust: &Trust, path: &str, within: Duration) -> Result<(), String> {
    let url = format!("{}{path}", base.url());
    let deadline = Instant::now() + within;
    loop {
        match probe(base, trust, path).await {
            Ok(status) if (200..300).contains(&status) => return Ok(()),
            _ if Instant::now() < deadline => tokio::time::sleep(PROBE_EVERY).await,
            Ok(status) => return Err(format!("{url} still answers {status}")),
            Err(message) => return Err(format!("{url}: {message}")),
        }
    }
}

async fn probe(base: &BaseUrl, trust: &Trust, path: &str) -> Result<u16, String> {
    let client = ControlClient::new(base, trust).map_err(|failure| failure.message)?;
    let path = path.parse().map_err(|_| "not a path".to_owned())?;
    let call = ControlRequest::get(path, HeaderMap::new(), PROBE_WITHIN);
    client.send(&call).await.map(|reply| reply.status).map_err(|failure| failure.message)
}
