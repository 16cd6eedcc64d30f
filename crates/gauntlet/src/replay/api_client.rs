//! Requests of the command line to a server's API: GET with a token, over HTTP or TLS. Refusals are printed as the server words them.

use super::recording::RECORDING_BYTES_MAX;
use crate::output::CliError;
use bytes::Bytes;
use engine::ids::MatchId;
use engine::limits::SEATS_MAX;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::{Request, StatusCode, Uri, header};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rustls::{ClientConfig, RootCertStore};
use serde_json::Value;
use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// Time to a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Time to the first byte of an answer, and from each part of it to the next.
const SILENCE_MAX: Duration = Duration::from_secs(60);

pub(super) struct ApiClient {
    server: String,
    authorization: Option<String>,
    http: Client<HttpsConnector<HttpConnector>, Empty<Bytes>>,
}

/// An answer that was read to its end.
struct Answer {
    status: StatusCode,
    body: Vec<u8>,
}

impl ApiClient {
    pub(super) fn new(server: &str, token: Option<&str>) -> Result<Self, CliError> {
        let server = server.trim_end_matches('/').to_owned();
        let is_http = |uri: &Uri| matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some();
        if !server.parse::<Uri>().is_ok_and(|uri| is_http(&uri)) {
            return Err(CliError::usage(format_args!(
                "--server {server}: expected a URL such as http://127.0.0.1:4000"
            )));
        }
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_connect_timeout(Some(CONNECT_TIMEOUT));
        let connector = HttpsConnector::from((tcp, Arc::new(tls_config()?)));
        let http = Client::builder(TokioExecutor::new()).build(connector);
        Ok(Self { server, authorization: token.map(|token| format!("Bearer {token}")), http })
    }

    /// The calls of a snake: in this seat, or the only one of the game that the token may see.
    pub(super) async fn calls(&self, id: MatchId, seat: Option<u8>) -> Result<Vec<u8>, CliError> {
        let seat = match seat {
            Some(seat) => seat,
            None => self.only_seat(id).await?,
        };
        let answer = self.get(&format!("/api/games/{id}/snakes/{seat}/calls")).await?;
        match answer.status {
            StatusCode::OK => Ok(answer.body),
            _ => Err(self.refused(&answer)),
        }
    }

    async fn only_seat(&self, id: MatchId) -> Result<u8, CliError> {
        let (mut seats, mut refusal) = (Vec::new(), None);
        for seat in 0..SEATS_MAX as u8 {
            let answer = self.get(&format!("/api/games/{id}/snakes/{seat}/turns?limit=0")).await?;
            match answer.status {
                StatusCode::OK => seats.push(seat),
                // Another account's snake.
                StatusCode::FORBIDDEN => refusal = Some(answer),
                // Behind the last seat, or there is no such game.
                StatusCode::NOT_FOUND if seat > 0 => break,
                _ => return Err(self.refused(&answer)),
            }
        }
        match (&seats[..], refusal) {
            ([seat], _) => Ok(*seat),
            ([], Some(refusal)) => Err(self.refused(&refusal)),
            ([], None) => Err(CliError::failed("the game has no snake")),
            (several, _) => {
                let names = several.iter().map(u8::to_string).collect::<Vec<_>>().join(", ");
                Err(CliError::usage(format_args!("seats {names} are yours: name one with --seat")))
            }
        }
    }

    async fn get(&self, path: &str) -> Result<Answer, CliError> {
        let failed = |what: &dyn Display| CliError::failed(format_args!("{}{path}: {what}", self.server));
        let mut request = Request::get(format!("{}{path}", self.server)).header(header::USER_AGENT, "gauntlet");
        if let Some(authorization) = &self.authorization {
            request = request.header(header::AUTHORIZATION, authorization);
        }
        let request = request.body(Empty::new()).map_err(|error| failed(&error))?;
        let silent = || failed(&format_args!("no answer within {} s", SILENCE_MAX.as_secs()));
        let response = timeout(SILENCE_MAX, self.http.request(request)).await.map_err(|_| silent())?;
        let response = response.map_err(|error| failed(&cause(&error)))?;
        let status = response.status();
        let mut body = Vec::new();
        let mut parts = Limited::new(response.into_body(), RECORDING_BYTES_MAX);
        while let Some(part) = timeout(SILENCE_MAX, parts.frame()).await.map_err(|_| silent())? {
            let part = part.map_err(|error| failed(&format_args!("the answer ended early: {error}")))?;
            if let Ok(data) = part.into_data() {
                body.extend_from_slice(&data);
            }
        }
        Ok(Answer { status, body })
    }

    /// A refusal as the server words it.
    fn refused(&self, answer: &Answer) -> CliError {
        let problem = serde_json::from_slice::<Value>(&answer.body).unwrap_or_default();
        let (code, detail) = (problem["code"].as_str(), problem["detail"].as_str());
        let text = match (code, detail) {
            (Some(code), Some(detail)) => format!("{code}: {detail}"),
            _ => "it is not an API of Gauntlet's".to_owned(),
        };
        let hint = match answer.status {
            StatusCode::UNAUTHORIZED => " (here: --token, or GAUNTLET_TOKEN)",
            _ => "",
        };
        let text: String = text.chars().map(|char| if char.is_control() { ' ' } else { char }).collect();
        CliError::failed(format_args!("{} answered {}: {text}{hint}", self.server, answer.status.as_u16()))
    }
}

/// The innermost reason: what hyper says around it is about hyper.
fn cause(error: &dyn std::error::Error) -> String {
    let mut inner = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    inner.to_string()
}

/// Trusts the certificate authorities that browsers trust.
fn tls_config() -> Result<ClientConfig, CliError> {
    let roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    let builder = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions()?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}
