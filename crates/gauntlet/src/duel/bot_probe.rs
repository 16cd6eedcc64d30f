//! Asks each bot whether it is there before a duel begins: a duel against a bot that does not answer would be decided quickly, and say
//! nothing.

use crate::output::CliError;
use bytes::Bytes;
use http_body_util::Empty;
use hyper::Request;
use hyper_util::rt::TokioExecutor;
use std::time::Duration;
use tokio::time::timeout;

const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// # Errors
/// The first bot that does not answer `GET /` with a success.
pub(super) async fn probe_all(urls: &[String]) -> Result<(), CliError> {
    for url in urls {
        probe(url).await.map_err(|reason| {
            CliError::failed(format_args!("the bot at {url} does not answer: {reason}; start it, or correct its URL"))
        })?;
    }
    Ok(())
}

async fn probe(url: &str) -> Result<(), String> {
    let connector = crate::api_client::connector().map_err(|error| format!("{error:?}"))?;
    let client = hyper_util::client::legacy::Client::builder(TokioExecutor::new()).build(connector);
    // As a match asks for a bot's colours.
    let request = Request::get(format!("{}/", url.trim_end_matches('/')))
        .body(Empty::<Bytes>::new())
        .map_err(|error| error.to_string())?;
    let response = timeout(ANSWER_TIMEOUT, client.request(request)).await;
    let response = response.map_err(|_| format!("nothing came within {} s", ANSWER_TIMEOUT.as_secs()))?;
    let status = response.map_err(|error| crate::api_client::cause(&error))?.status();
    if status.is_success() { Ok(()) } else { Err(format!("GET / is answered with {status}")) }
}
