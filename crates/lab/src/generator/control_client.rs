//! Requests that are no load: setup, status requests, metrics. hyper's client keeps connections alive and reuses them.
//! Does not know scenarios: it takes a method, a path, headers and bytes.

use std::collections::HashSet;
use std::convert::Infallible;
use std::error::Error;
use std::future::{Ready, ready};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::uri::PathAndQuery;
use http::{Extensions, HeaderMap, HeaderValue, Method, Request, Uri, header};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::connect::dns::Name;
use hyper_util::client::legacy::connect::{HttpConnector, HttpInfo};
use hyper_util::client::legacy::{self, Client};
use hyper_util::rt::TokioExecutor;
use tower::Service;

use super::Failure;
use super::decoder::too_large;
use super::tls::{Trust, client_config};
use crate::limits::ANSWER_BYTES_MAX;
use crate::measurement::{Awaited, ErrorKind};
use crate::scenario::{BaseUrl, Target};

/// A host and the connections to it.
#[derive(Debug)]
pub struct ControlClient {
    base: BaseUrl,
    addresses: CheckedAddresses,
    client: HyperClient,
    /// Keeps no connection: each of its requests opens one.
    unpooled: HyperClient,
    /// The local addresses of connections that have carried a response: the next request on one finds it idle. There
    /// are at most as many as ports.
    used: Mutex<HashSet<SocketAddr>>,
}

type HyperClient = Client<HttpsConnector<HttpConnector<CheckedAddresses>>, Full<Bytes>>;

/// Where the host was found before the run. The name is not resolved again: it could lead to a host that was not
/// checked.
#[derive(Clone, Debug)]
struct CheckedAddresses(Vec<SocketAddr>);

impl Service<Name> for CheckedAddresses {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Name) -> Self::Future {
        ready(Ok(self.0.clone().into_iter()))
    }
}

/// A failed attempt to send a request.
struct AttemptError {
    failure: Failure,
    /// Whether the peer closed a connection that had been idle before.
    closed_idle: bool,
}

impl From<Failure> for AttemptError {
    fn from(failure: Failure) -> Self {
        Self { failure, closed_idle: false }
    }
}

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

impl ControlClient {
    /// A client of the service under test at these addresses, with the certificates that its scenario trusts.
    ///
    /// # Errors
    /// The file of certificates cannot be read.
    pub fn for_target(target: &Target, addresses: &[SocketAddr]) -> Result<Self, Failure> {
        Self::new(&target.url, addresses, &Trust::for_target(target))
    }

    /// # Errors
    /// As for [`Self::for_target`].
    pub(crate) fn new(base: &BaseUrl, addresses: &[SocketAddr], trust: &Trust) -> Result<Self, Failure> {
        let tls = if base.uses_tls { client_config(trust) } else { client_config(&Trust::default()) };
        let tls = tls.map_err(|message| Failure::new(ErrorKind::Connect, message))?;
        let addresses = CheckedAddresses(addresses.to_vec());
        let mut tcp = HttpConnector::new_with_resolver(addresses.clone());
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        let connector = HttpsConnector::from((tcp, Arc::new(tls)));
        let client = Client::builder(TokioExecutor::new()).build(connector.clone());
        let unpooled = Client::builder(TokioExecutor::new()).pool_max_idle_per_host(0).build(connector);
        Ok(Self { base: base.clone(), addresses, client, unpooled, used: Mutex::default() })
    }

    /// Sends a request and reads the whole response.
    ///
    /// # Errors
    /// No response was received, or none that the lab can read; the status does not matter here.
    pub async fn send(&self, request: &ControlRequest) -> Result<ControlResponse, Failure> {
        // The peer may have closed an idle connection a moment ago; that is no failure, so the request is sent once more
        // over a new one, if it is idempotent. hyper itself does so only with requests of which nothing was written.
        let attempts = async {
            match self.send_once(&self.client, request).await {
                Err(lost) if lost.closed_idle && request.idempotent => self.send_once(&self.unpooled, request).await,
                done => done,
            }
            .map_err(|lost| lost.failure)
        };
        let late =
            |_| Failure::new(ErrorKind::Timeout(Awaited::FirstByte), format!("no answer within {:?}", request.timeout));
        tokio::time::timeout(request.timeout, attempts).await.map_err(late)?
    }

    async fn send_once(&self, client: &HyperClient, request: &ControlRequest) -> Result<ControlResponse, AttemptError> {
        let built = self.build_request(request).map_err(|error| Failure::new(ErrorKind::Request, error.to_string()))?;
        let response = client.request(built).await.map_err(|error| self.attempt_error(&error))?;
        self.lock_used().extend(response.extensions().get().map(HttpInfo::local_addr));
        let (head, body) = response.into_parts();
        let body = Limited::new(body, ANSWER_BYTES_MAX).collect().await.map_err(|error| {
            let is_long = error.is::<LengthLimitError>();
            if is_long { too_large() } else { Failure::new(ErrorKind::Truncated, root_cause(error.as_ref())) }
        })?;
        Ok(ControlResponse { status: head.status.as_u16(), headers: head.headers, body: body.to_bytes() })
    }

    fn build_request(&self, request: &ControlRequest) -> Result<Request<Full<Bytes>>, http::Error> {
        let uri = Uri::builder().scheme(if self.base.uses_tls { "https" } else { "http" });
        let uri = uri.authority(self.base.authority.as_str()).path_and_query(request.path.clone()).build()?;
        let mut built = Request::builder().method(&request.method).uri(uri).body(Full::new(request.body.clone()))?;
        *built.headers_mut() = request.headers.clone();
        built.headers_mut().insert(header::HOST, HeaderValue::from_str(&self.base.authority)?);
        Ok(built)
    }

    fn lock_used(&self) -> std::sync::MutexGuard<'_, HashSet<SocketAddr>> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn attempt_error(&self, error: &legacy::Error) -> AttemptError {
        let failure = self.failure(error);
        let mut connection = Extensions::new();
        error.connect_info().inspect(|info| info.get_extras(&mut connection));
        let was_used = connection.get().is_some_and(|info: &HttpInfo| self.lock_used().remove(&info.local_addr()));
        AttemptError { closed_idle: was_used && failure.kind == ErrorKind::Closed, failure }
    }

    /// Why there is no response.
    fn failure(&self, error: &legacy::Error) -> Failure {
        if error.is_connect() {
            let address = self.addresses.0.first().map_or_else(|| self.base.authority.clone(), ToString::to_string);
            return Failure::new(ErrorKind::Connect, format!("{address}: {}", root_cause(error)));
        }
        let kind = match error.source().and_then(|source| source.downcast_ref::<hyper::Error>()) {
            Some(source) if source.is_incomplete_message() => ErrorKind::Closed,
            Some(source) if source.is_parse() => ErrorKind::Malformed,
            _ => ErrorKind::Reset,
        };
        Failure::new(kind, root_cause(error))
    }
}

/// The last cause says what happened; those around it only name the library.
fn root_cause(error: &dyn Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}
