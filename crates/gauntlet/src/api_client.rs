//! Requests of the command line to a server's API: with a token, over HTTP or TLS. Refusals are printed as the server words them.

use crate::output::{CliError, printable};
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::http::uri::Authority;
use hyper::{Method, Request, StatusCode, Uri, header};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::Name;
use hyper_util::rt::TokioExecutor;
use rustls::{ClientConfig, RootCertStore};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fmt::Display;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::timeout;
use tower::Service;

/// Time to a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Time to the first byte of an answer, and from each part of it to the next.
const SILENCE_MAX: Duration = Duration::from_secs(60);
/// Longest JSON answer that is read.
pub(crate) const JSON_BYTES_MAX: usize = 16 * 1024 * 1024;

pub(crate) struct ApiClient {
    server: String,
    authorization: Option<String>,
    http: Client<HttpsConnector<HttpConnector<SystemNames>>, Full<Bytes>>,
}

/// An answer that was read to its end.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    /// When to try again, if the server says so in seconds.
    retry_after: Option<Duration>,
    pub(crate) body: Vec<u8>,
}

/// Why there is no answer to a request.
pub(crate) struct RequestFailure {
    pub(crate) error: CliError,
    /// What may help; `None`: the same request would be refused again.
    pub(crate) retry: Option<Retry>,
}

/// A request that may be sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Retry {
    /// As long as the server asked for.
    pub(crate) after: Option<Duration>,
}

impl From<RequestFailure> for CliError {
    fn from(failure: RequestFailure) -> Self {
        failure.error
    }
}

/// Whether this is the URL of a host, perhaps with a port and a path, to which paths can be appended.
pub(crate) fn is_base_url(text: &str) -> bool {
    // A fragment is not part of what is parsed.
    let Some(uri) = text.parse::<Uri>().ok().filter(|_| !text.contains(['?', '#'])) else { return false };
    // What is no port counts as absent.
    let has_good_port = |authority: &Authority| {
        authority.port_u16().is_some_and(|port| port > 0) || authority.as_str().ends_with(authority.host())
    };
    matches!(uri.scheme_str(), Some("http" | "https"))
        && uri.host().is_some_and(|host| !host.is_empty())
        && uri.authority().is_some_and(has_good_port)
}

impl ApiClient {
    pub(crate) fn new(server: &str, token: Option<&str>) -> Result<Self, CliError> {
        let server = server.trim_end_matches('/').to_owned();
        if !is_base_url(&server) {
            return Err(CliError::usage(format_args!(
                "--server {server}: expected a URL such as http://127.0.0.1:4000"
            )));
        }
        let http = Client::builder(TokioExecutor::new()).build(connector()?);
        Ok(Self { server, authorization: token.map(|token| format!("Bearer {token}")), http })
    }

    /// The server's base URL.
    pub(crate) fn server(&self) -> &str {
        &self.server
    }

    /// What a GET is answered with.
    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, RequestFailure> {
        self.exchange(Method::GET, path, None, StatusCode::OK).await
    }

    /// What a POST of this JSON is answered with, where the answer has the status `want`.
    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &Value,
        want: StatusCode,
    ) -> Result<T, RequestFailure> {
        self.exchange(Method::POST, path, Some(body), want).await
    }

    async fn exchange<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        want: StatusCode,
    ) -> Result<T, RequestFailure> {
        let answer = self.request(method, path, body, JSON_BYTES_MAX).await;
        let answer = answer.map_err(|error| RequestFailure { error, retry: Some(Retry { after: None }) })?;
        if answer.status != want {
            return Err(RequestFailure { error: self.refused(&answer), retry: retry(&answer) });
        }
        serde_json::from_slice(&answer.body).map_err(|error| {
            let error = self.failed(path, &format_args!("the answer is not what this version expects: {error}"));
            RequestFailure { error, retry: None }
        })
    }

    /// What a GET is answered with, whatever its status and content, up to this length.
    pub(crate) async fn get_bytes(&self, path: &str, bytes_max: usize) -> Result<Answer, CliError> {
        self.request(Method::GET, path, None, bytes_max).await
    }

    async fn request(
        &self,
        method: Method,
        path: &str,
        json: Option<&Value>,
        bytes_max: usize,
    ) -> Result<Answer, CliError> {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.server))
            .header(header::USER_AGENT, "gauntlet");
        if let Some(authorization) = &self.authorization {
            request = request.header(header::AUTHORIZATION, authorization);
        }
        if json.is_some() {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        let json = json.map(|json| Bytes::from(json.to_string())).unwrap_or_default();
        let request = request.body(Full::new(json)).map_err(|error| self.failed(path, &error))?;
        let silent = || self.failed(path, &format_args!("no answer within {} s", SILENCE_MAX.as_secs()));
        let response = timeout(SILENCE_MAX, self.http.request(request)).await.map_err(|_| silent())?;
        let response = response.map_err(|error| self.failed(path, &cause(&error)))?;
        let status = response.status();
        let retry_after =
            response.headers().get(header::RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
        let mut body = Vec::new();
        let mut parts = Limited::new(response.into_body(), bytes_max);
        while let Some(part) = timeout(SILENCE_MAX, parts.frame()).await.map_err(|_| silent())? {
            let part = part.map_err(|error| self.failed(path, &format_args!("the answer ended early: {error}")))?;
            if let Ok(data) = part.into_data() {
                body.extend_from_slice(&data);
            }
        }
        Ok(Answer { status, retry_after: retry_after.map(Duration::from_secs), body })
    }

    fn failed(&self, path: &str, reason: &dyn Display) -> CliError {
        CliError::failed(printable(&format!("{}{path}: {reason}", self.server)))
    }

    /// A refusal as the server words it.
    pub(crate) fn refused(&self, answer: &Answer) -> CliError {
        let problem = serde_json::from_slice::<Value>(&answer.body).unwrap_or_default();
        let text = match (problem["code"].as_str(), problem["detail"].as_str()) {
            (Some(code), Some(detail)) => format!("{code}: {detail}"),
            _ if answer.status.is_server_error() => {
                "not in the words of Gauntlet: probably a proxy before it; check that the server behind it runs"
                    .to_owned()
            }
            _ => "not in the words of Gauntlet: check the URL of --server, and what else listens there".to_owned(),
        };
        let hint = if answer.status == StatusCode::UNAUTHORIZED { " (here: --token, or GAUNTLET_TOKEN)" } else { "" };
        let text = printable(&text);
        CliError::failed(format_args!("{} answered {}: {text}{hint}", self.server, answer.status.as_u16()))
    }
}

/// Whether an answer is one of now, and later there may be another one.
fn retry(answer: &Answer) -> Option<Retry> {
    let is_of_now = answer.status == StatusCode::TOO_MANY_REQUESTS || answer.status.is_server_error();
    is_of_now.then_some(Retry { after: answer.retry_after })
}

/// Connections over HTTP, and over TLS to servers whose certificates browsers trust.
pub(crate) fn connector() -> Result<HttpsConnector<HttpConnector<SystemNames>>, CliError> {
    let roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    let builder = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions()?;
    let tls = builder.with_root_certificates(roots).with_no_client_auth();
    let mut tcp = HttpConnector::new_with_resolver(SystemNames);
    tcp.enforce_http(false);
    tcp.set_connect_timeout(Some(CONNECT_TIMEOUT));
    Ok(HttpsConnector::from((tcp, Arc::new(tls))))
}

/// Names of servers, as the connector asks for them.
#[derive(Clone)]
pub(crate) struct SystemNames;

impl Service<Name> for SystemNames {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        Box::pin(async move {
            let addresses: Vec<_> =
                names::look_up(name.as_str()).await?.into_iter().map(|ip| SocketAddr::new(ip, 0)).collect();
            Ok(addresses.into_iter())
        })
    }
}

/// The innermost reason: what hyper says around it is about hyper.
pub(crate) fn cause(error: &dyn std::error::Error) -> String {
    let mut inner = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    inner.to_string()
}
