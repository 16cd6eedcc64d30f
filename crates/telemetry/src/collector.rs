//! Sends messages to a collector: POST over one HTTP/1.1 connection that is kept, with one deadline for connect, request and response.
//!
//! A message that is not taken is given up: what it held is counted by the caller. Only the first failure of a streak and the recovery are
//! logged.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HOST, HeaderMap, USER_AGENT};
use http::{HeaderValue, Request, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use metrics::Metrics;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

/// Longest response that is read, in bytes: it says how much was not taken.
const RESPONSE_BYTES_MAX: usize = 64 * 1024;

/// Where the collector is.
#[derive(Clone)]
pub struct CollectorConfig {
    pub is_tls: bool,
    /// `HOST` or `HOST:PORT`, IPv6 in brackets.
    pub authority: String,
    /// What precedes `/v1/traces`: empty, or a path without a slash at its end.
    pub path: String,
    /// Sent with every request; their values may be secret.
    pub headers: HeaderMap,
    /// For connect, request and response together.
    pub timeout: Duration,
}

#[derive(Debug, thiserror::Error)]
enum CollectorError {
    #[error("it did not answer within {0:?}")]
    TooLate(Duration),
    #[error("{0}")]
    NotConnected(#[from] io::Error),
    #[error("{0}")]
    Http(#[from] hyper::Error),
    #[error("it answered {0}")]
    Refused(StatusCode),
    #[error("its response could not be read: {0}")]
    BadResponse(String),
}

pub(crate) struct Collector {
    config: CollectorConfig,
    metrics: Arc<Metrics>,
    connection: Option<SendRequest<Full<Bytes>>>,
    is_failing: bool,
}

impl Collector {
    pub(crate) fn new(config: CollectorConfig, metrics: Arc<Metrics>) -> Self {
        Self { config, metrics, connection: None, is_failing: false }
    }

    /// Sends a message; the body of the response, or `None` where it was not taken.
    pub(crate) async fn post(&mut self, signal: &str, message: Vec<u8>) -> Option<Bytes> {
        let wait_max = self.config.timeout;
        let result = timeout(wait_max, self.exchange(signal, message.into())).await;
        let result = result.unwrap_or(Err(CollectorError::TooLate(wait_max)));
        if result.is_err() {
            self.connection = None;
            self.metrics.telemetry.exports_failed.inc();
        }
        self.log(result.as_ref().err());
        result.ok()
    }

    fn log(&mut self, error: Option<&CollectorError>) {
        let was_failing = std::mem::replace(&mut self.is_failing, error.is_some());
        let collector = &self.config.authority;
        match error {
            Some(error) if !was_failing => {
                tracing::warn!(collector, %error, "the collector takes no telemetry; what is not taken is counted");
            }
            None if was_failing => tracing::info!(collector, "the collector takes telemetry again"),
            _ => {}
        }
    }

    async fn exchange(&mut self, signal: &str, message: Bytes) -> Result<Bytes, CollectorError> {
        if let Some(mut kept) = self.connection.take().filter(|kept| !kept.is_closed()) {
            match self.send(&mut kept, signal, message.clone()).await {
                // It may have closed the connection meanwhile. A span that it gets twice is one span.
                Err(CollectorError::Http(_)) => {}
                sent => {
                    self.connection = Some(kept);
                    return sent;
                }
            }
        }
        let mut connection = self.connect().await?;
        let sent = self.send(&mut connection, signal, message).await;
        self.connection = Some(connection);
        sent
    }

    async fn send(
        &self,
        connection: &mut SendRequest<Full<Bytes>>,
        signal: &str,
        message: Bytes,
    ) -> Result<Bytes, CollectorError> {
        connection.ready().await?;
        let request = Request::post(format!("{}/v1/{signal}", self.config.path)).body(Full::new(message));
        let mut request = request.map_err(|error| CollectorError::BadResponse(error.to_string()))?;
        let headers = request.headers_mut();
        headers.extend(self.config.headers.clone());
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-protobuf"));
        headers.insert(USER_AGENT, HeaderValue::from_static(concat!("gauntlet/", env!("CARGO_PKG_VERSION"))));
        let host = HeaderValue::from_str(&self.config.authority);
        headers.insert(HOST, host.map_err(|error| CollectorError::BadResponse(error.to_string()))?);
        let (head, body) = connection.send_request(request).await?.into_parts();
        let body = Limited::new(body, RESPONSE_BYTES_MAX).collect().await;
        let body = body.map_err(|error| CollectorError::BadResponse(error.to_string()))?.to_bytes();
        if head.status.is_success() { Ok(body) } else { Err(CollectorError::Refused(head.status)) }
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>, CollectorError> {
        let CollectorConfig { authority, is_tls, .. } = &self.config;
        let has_port = authority.rsplit_once(':').is_some_and(|(host, _)| !host.contains(':') || host.ends_with(']'));
        let port = if *is_tls { 443 } else { 80 };
        let address = if has_port { authority.clone() } else { format!("{authority}:{port}") };
        let stream = names::connect(&address).await?;
        let _ = stream.set_nodelay(true);
        if !is_tls {
            return handshake(stream).await;
        }
        let (host, _) = address.rsplit_once(':').unwrap_or_default();
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let name = ServerName::try_from(host).map_err(io::Error::other)?;
        handshake(TlsConnector::from(tls_config()).connect(name, stream).await?).await
    }
}

async fn handshake<S>(stream: S) -> Result<SendRequest<Full<Bytes>>, CollectorError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    // Ends when the sender is dropped; the sender sees its error.
    tokio::spawn(async move { drop(connection.await) });
    Ok(sender)
}

/// Trusts the certificate authorities that browsers trust.
fn tls_config() -> Arc<ClientConfig> {
    let roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider supports the default versions of TLS");
    Arc::new(builder.with_root_certificates(roots).with_no_client_auth())
}
