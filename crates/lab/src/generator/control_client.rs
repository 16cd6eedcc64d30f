//! Requests that are no load: setup, status requests, metrics. A thin pool over hyper's connections, which are kept
//! alive and reused. Does not know scenarios: it takes a method, a path, headers and bytes.

use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderValue, Method, Request, Response, header};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::Failure;
use super::tls::{Tls, Trust};
use crate::limits::ANSWER_BYTES_MAX;
use crate::measurement::{Awaited, ErrorKind};
use crate::scenario::{BaseUrl, Target};

/// A host and the idle connections to it.
#[derive(Debug)]
pub struct ControlClient {
    addresses: Vec<SocketAddr>,
    host: HeaderValue,
    tls: Option<Tls>,
    idle: Mutex<Vec<HttpConnection>>,
}

type HttpConnection = SendRequest<Full<Bytes>>;

#[derive(Clone, Debug)]
pub struct ControlRequest {
    pub method: Method,
    /// Path and query.
    pub path: PathAndQuery,
    /// Headers, without Host.
    pub headers: HeaderMap,
    pub body: Bytes,
    /// The timeout of the whole exchange.
    pub timeout: Duration,
    pub idempotent: bool,
}

impl ControlRequest {
    /// A GET without a body.
    #[must_use]
    pub fn get(path: PathAndQuery, headers: HeaderMap, timeout: Duration) -> Self {
        Self { method: Method::GET, path, headers, body: Bytes::new(), timeout, idempotent: true }
    }
}

#[derive(Clone, Debug)]
pub struct ControlResponse {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// A failed attempt over one connection.
struct AttemptError {
    failure: Failure,
    /// Whether the target cannot have received anything of the request.
    unsent: bool,
    /// Whether the peer had closed the connection in order, before the first byte of a response.
    closed: bool,
}

impl ControlClient {
    /// A client of the service under test, with the certificates that its scenario trusts.
    ///
    /// # Errors
    /// The host has no address, or the file of certificates cannot be read.
    pub async fn for_target(target: &Target) -> Result<Self, Failure> {
        Self::new(&target.url, &Trust::for_target(target)).await
    }

    /// Resolves the host, once.
    ///
    /// # Errors
    /// As for [`Self::for_target`].
    pub(crate) async fn new(base: &BaseUrl, trust: &Trust) -> Result<Self, Failure> {
        let tls = Tls::for_host(base, trust).map_err(|message| Failure::new(ErrorKind::Connect, message))?;
        let found = tokio::net::lookup_host((base.host.as_str(), base.port)).await;
        let addresses: Vec<SocketAddr> =
            found.map_err(|error| Failure::new(ErrorKind::Connect, format!("{}: {error}", base.host)))?.collect();
        let host = HeaderValue::from_str(&base.authority)
            .map_err(|error| Failure::new(ErrorKind::Request, error.to_string()))?;
        if addresses.is_empty() {
            return Err(Failure::new(ErrorKind::Connect, format!("{}: no address", base.host)));
        }
        Ok(Self { addresses, host, tls, idle: Mutex::default() })
    }

    /// Sends a request and reads the whole response.
    ///
    /// # Errors
    /// No response was received, or none that the lab can read; the status does not matter here.
    pub async fn send(&self, request: &ControlRequest) -> Result<ControlResponse, Failure> {
        let late =
            |_| Failure::new(ErrorKind::Timeout(Awaited::FirstByte), format!("no answer within {:?}", request.timeout));
        tokio::time::timeout(request.timeout, self.send_without_timeout(request)).await.map_err(late)?
    }

    /// The peer may have closed an idle connection a moment ago; that is no failure, so the request is resent once over
    /// a new one, if it is idempotent.
    async fn send_without_timeout(&self, request: &ControlRequest) -> Result<ControlResponse, Failure> {
        if let Some(connection) = self.take_idle().await {
            match self.send_on(connection, request).await {
                Err(lost) if lost.unsent || (lost.closed && request.idempotent) => {}
                done => return done.map_err(|lost| lost.failure),
            }
        }
        let connection = self.connect().await?;
        self.send_on(connection, request).await.map_err(|lost| lost.failure)
    }

    async fn take_idle(&self) -> Option<HttpConnection> {
        loop {
            let mut connection = self.lock_idle().pop()?;
            if connection.ready().await.is_ok() {
                return Some(connection);
            }
        }
    }

    fn lock_idle(&self) -> std::sync::MutexGuard<'_, Vec<HttpConnection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn connect(&self) -> Result<HttpConnection, Failure> {
        let refused = |error: &dyn std::error::Error| {
            let address = self.addresses.first().map_or_else(String::new, ToString::to_string);
            Failure::new(ErrorKind::Connect, format!("{address}: {}", root_cause(error)))
        };
        let stream = TcpStream::connect(self.addresses.as_slice()).await.map_err(|error| refused(&error))?;
        stream.set_nodelay(true).map_err(|error| refused(&error))?;
        let Some(Tls { config, name }) = &self.tls else { return http_handshake(stream).await };
        let stream = TlsConnector::from(config.clone()).connect(name.clone(), stream).await;
        http_handshake(stream.map_err(|error| refused(&error))?).await
    }

    async fn send_on(
        &self,
        mut connection: HttpConnection,
        request: &ControlRequest,
    ) -> Result<ControlResponse, AttemptError> {
        let response = connection.try_send_request(self.build_request(request)).await.map_err(|mut error| {
            let (unsent, closed) = (error.take_message().is_some(), error.error().is_incomplete_message());
            let kind = match closed {
                true => ErrorKind::Closed,
                false if error.error().is_parse() => ErrorKind::Malformed,
                false => ErrorKind::Reset,
            };
            AttemptError { unsent, closed, failure: Failure::new(kind, root_cause(error.error())) }
        })?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body =
            read_body(response).await.map_err(|failure| AttemptError { failure, unsent: false, closed: false })?;
        if !connection.is_closed() {
            self.lock_idle().push(connection);
        }
        Ok(ControlResponse { status, headers, body })
    }

    fn build_request(&self, request: &ControlRequest) -> Request<Full<Bytes>> {
        let mut built = Request::new(Full::new(request.body.clone()));
        *built.method_mut() = request.method.clone();
        *built.uri_mut() = request.path.clone().into();
        *built.headers_mut() = request.headers.clone();
        built.headers_mut().insert(header::HOST, self.host.clone());
        built
    }
}

async fn http_handshake(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
) -> Result<HttpConnection, Failure> {
    let (sender, connection) = http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|error| Failure::new(ErrorKind::Connect, root_cause(&error)))?;
    // Its errors reach the sender of the request that they concern.
    tokio::spawn(async move {
        let _ = connection.await;
    });
    Ok(sender)
}

async fn read_body(response: Response<Incoming>) -> Result<Bytes, Failure> {
    match Limited::new(response.into_body(), ANSWER_BYTES_MAX).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => {
            Err(Failure::new(ErrorKind::TooLarge, format!("an answer of more than {ANSWER_BYTES_MAX} bytes")))
        }
        Err(error) => Err(Failure::new(ErrorKind::Truncated, root_cause(error.as_ref()))),
    }
}

/// The last cause says what happened; those around it only name the library.
fn root_cause(error: &dyn std::error::Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}
