//! Follows a duel on a server that may be restarted, be full or be out of reach for a while: the duel does not end with it.

use crate::api_client::{ApiClient, RequestFailure, Retry};
use crate::output::{CliError, print_note};
use hyper::StatusCode;
use serde_json::json;
use std::time::Duration;
use tokio::time::{Instant, sleep};
use wire::api::DuelDetails;

/// How long another server may be out of reach.
const OUTAGE_MAX: Duration = Duration::from_secs(300);
/// The same for the server of this process, which no supervisor restarts.
const OWN_OUTAGE_MAX: Duration = Duration::from_secs(10);
/// The shortest and the longest time between two attempts, where the server asks for none.
const RETRY_AFTER: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(15));

/// A duel that was created.
pub(super) struct Follower<'a> {
    client: &'a ApiClient,
    id: String,
    /// Whether the duel goes on when this process ends.
    is_elsewhere: bool,
}

impl<'a> Follower<'a> {
    pub(super) fn new(client: &'a ApiClient, id: &str, is_elsewhere: bool) -> Self {
        Self { client, id: id.to_owned(), is_elsewhere }
    }

    /// The duel as it is now.
    ///
    /// # Errors
    /// The server refused for good, or was out of reach for too long.
    pub(super) async fn look(&self) -> Result<DuelDetails, CliError> {
        let path = format!("/api/duels/{}", self.id);
        self.insist(|| self.client.get(&path)).await
    }

    /// Calls the duel off.
    ///
    /// # Errors
    /// As for [`Self::look`].
    pub(super) async fn cancel(&self) -> Result<DuelDetails, CliError> {
        let path = format!("/api/duels/{}/cancel", self.id);
        let nothing = json!({});
        // A duel that is over stays as it is, so that this may be repeated.
        self.insist(|| self.client.post(&path, &nothing, StatusCode::OK)).await
    }

    /// Sends a request until it is answered, or refused for good.
    async fn insist<F: Future<Output = Result<DuelDetails, RequestFailure>>>(
        &self,
        mut send: impl FnMut() -> F,
    ) -> Result<DuelDetails, CliError> {
        let begun = Instant::now();
        let outage_max = if self.is_elsewhere { OUTAGE_MAX } else { OWN_OUTAGE_MAX };
        let mut attempt = 0_u32;
        loop {
            let failure = match send().await {
                Ok(duel) => return Ok(duel),
                Err(failure) => failure,
            };
            let Some(pause) = pause(failure.retry, attempt, begun.elapsed(), outage_max) else {
                return Err(self.lost(failure.error));
            };
            if attempt == 0 && self.is_elsewhere {
                let (error, limit_s) = (failure.error.text(), outage_max.as_secs());
                print_note(format_args!("{error}; the duel goes on, and for {limit_s} s it is tried again"));
            }
            sleep(pause).await;
            attempt = attempt.saturating_add(1);
        }
    }

    /// What is left to do when a duel cannot be followed.
    fn lost(&self, error: CliError) -> CliError {
        if !self.is_elsewhere {
            return error;
        }
        let (server, id) = (self.client.server(), &self.id);
        error.with(format_args!(
            "the duel goes on without this command: its page is {server}/duels/{id}; all numbers, as --json has them: \
             curl -H \"Authorization: Bearer $GAUNTLET_TOKEN\" {server}/api/duels/{id}"
        ))
    }
}

/// How long to wait for the next attempt; `None`: there is no next one.
fn pause(retry: Option<Retry>, attempt: u32, elapsed: Duration, outage_max: Duration) -> Option<Duration> {
    let left = outage_max.checked_sub(elapsed).filter(|left| !left.is_zero())?;
    let (shortest, longest) = RETRY_AFTER;
    let own = shortest.saturating_mul(1 << attempt.min(8)).min(longest);
    let wanted = retry?.after.map_or(own, |after| after.max(shortest));
    // Who would have to wait longer than the outage may last is told so now.
    (wanted <= left).then_some(wanted)
}

#[cfg(test)]
mod tests {
    use super::super::report::tests::duel;
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    #[track_caller]
    fn check(retry: Option<Option<u64>>, attempt: u32, elapsed_s: u64, want_ms: Option<u64>) {
        let retry = retry.map(|after_s| Retry { after: after_s.map(Duration::from_secs) });
        let got = pause(retry, attempt, Duration::from_secs(elapsed_s), OUTAGE_MAX);
        assert_eq!(got, want_ms.map(Duration::from_millis), "{retry:?} {attempt} {elapsed_s}");
    }

    #[test]
    fn attempts_back_off_and_end() {
        check(Some(None), 0, 0, Some(500));
        check(Some(None), 3, 10, Some(4_000));
        check(Some(None), 40, 200, Some(15_000));
        check(Some(Some(30)), 0, 0, Some(30_000));
        // No server may have itself asked without a pause.
        check(Some(Some(0)), 9, 0, Some(500));
        check(Some(Some(301)), 0, 0, None);
        check(Some(None), 40, 290, None);
        check(Some(None), 0, 300, None);
        check(Some(None), 0, 301, None);
        check(None, 0, 0, None);
    }

    /// Follows a duel on a server that answers one request on each connection, with these heads; an empty one closes it.
    async fn look_at(answers: &[&str]) -> Result<DuelDetails, CliError> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = format!("http://{}", listener.local_addr().unwrap());
        let client = ApiClient::new(&server, None).unwrap_or_else(|error| panic!("{}", error.text()));
        let serve = async {
            for head in answers {
                let (mut stream, _) = listener.accept().await.unwrap();
                let _ = stream.read(&mut [0; 4_096]).await.unwrap();
                let body =
                    if head.starts_with("200") { serde_json::to_string(&duel()).unwrap() } else { String::new() };
                let length = body.len();
                if !head.is_empty() {
                    let answer =
                        format!("HTTP/1.1 {head}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}");
                    stream.write_all(answer.as_bytes()).await.unwrap();
                }
            }
        };
        let follower = Follower::new(&client, "7", true);
        tokio::join!(follower.look(), serve).0
    }

    #[tokio::test]
    async fn an_outage_does_not_end_a_duel() {
        let seen = look_at(&["503 Full\r\nretry-after: 1", "429 Wait", "", "200 OK"]).await;
        assert_eq!(seen.map_err(|error| error.text().to_owned()), Ok(duel()));
    }

    #[tokio::test]
    async fn what_is_refused_for_good_is_not_tried_again() {
        for head in ["404 Not Found", "401 Unauthorized", "503 Full\r\nretry-after: 3600"] {
            let error = look_at(&[head]).await.expect_err("a refusal");
            let text = error.text();
            assert!(text.contains("the duel goes on") && text.contains("/duels/7;"), "{head}: {text}");
        }
    }
}
