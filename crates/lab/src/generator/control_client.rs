//! Requests that are no load: setup, status requests, metrics. hyper's client keeps connections alive and reuses them.
//! Does not know scenarios: it takes a method, a path, headers and bytes.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderValue, Method, Request, Uri, header};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{self, Client};
use hyper_util::rt::TokioExecutor;

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
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
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
    /// A client of the service under test, with the certificates that its scenario trusts.
    ///
    /// # Errors
    /// The file of certificates cannot be read.
    pub fn for_target(target: &Target) -> Result<Self, Failure> {
        Self::new(&target.url, &Trust::for_target(target))
    }

    /// # Errors
    /// As for [`Self::for_target`].
    pub(crate) fn new(base: &BaseUrl, trust: &Trust) -> Result<Self, Failure> {
        let tls = if base.uses_tls { client_config(trust) } else { client_config(&Trust::default()) };
        let tls = tls.map_err(|message| Failure::new(ErrorKind::Connect, message))?;
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        let client = Client::builder(TokioExecutor::new()).build(HttpsConnector::from((tcp, Arc::new(tls))));
        Ok(Self { base: base.clone(), client })
    }

    /// Sends a request and reads the whole response.
    ///
    /// # Errors
    /// No response was received, or none that the lab can read; the status does not matter here.
    pub async fn send(&self, request: &ControlRequest) -> Result<ControlResponse, Failure> {
        // The peer may have closed an idle connection a moment ago; that is no failure.
        let attempts = async {
            match self.send_once(request).await {
                Err(failure) if failure.kind == ErrorKind::Closed && request.idempotent => {
                    self.send_once(request).await
                }
                done => done,
            }
        };
        let late =
            |_| Failure::new(ErrorKind::Timeout(Awaited::FirstByte), format!("no answer within {:?}", request.timeout));
        tokio::time::timeout(request.timeout, attempts).await.map_err(late)?
    }

    async fn send_once(&self, request: &ControlRequest) -> Result<ControlResponse, Failure> {
        let built = self.build_request(request).map_err(|error| Failure::new(ErrorKind::Request, error.to_string()))?;
        let response = self.client.request(built).await.map_err(|error| self.failure(&error))?;
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

    /// Why there is no response.
    fn failure(&self, error: &legacy::Error) -> Failure {
        if error.is_connect() {
            return Failure::new(ErrorKind::Connect, format!("{}: {}", self.base.authority, root_cause(error)));
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
