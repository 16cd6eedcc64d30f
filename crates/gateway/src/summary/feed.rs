//! The event stream of one reader: whatever is newest when it can take more. It has no timer and renders nothing.

use crate::event_stream::{CLOSING_COMMENT, HEARTBEAT, RETRY_FIELD};
use crate::listener::park::ChunkStream;
use crate::summaries::Subscription;
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use matches::spectate::SpectatorPermit;
use std::task::{Context, Poll};

pub(super) struct SummaryStream {
    state: StreamState,
    _permit: SpectatorPermit,
}

enum StreamState {
    First(Subscription),
    /// The next event, and what comes behind it.
    Waiting(BoxFuture<'static, Option<(Bytes, Subscription)>>),
    Ended,
}

impl SummaryStream {
    pub(super) fn new(subscription: Subscription, permit: SpectatorPermit) -> Self {
        Self { state: StreamState::First(subscription), _permit: permit }
    }
}

async fn next(mut subscription: Subscription) -> Option<(Bytes, Subscription)> {
    subscription.changed().await.ok()?;
    Some((newest(&mut subscription), subscription))
}

fn newest(subscription: &mut Subscription) -> Bytes {
    subscription.borrow_and_update().as_ref().map(|newest| newest.event.clone()).unwrap_or_default()
}

impl ChunkStream for SummaryStream {
    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        match std::mem::replace(&mut self.state, StreamState::Ended) {
            StreamState::Ended => Poll::Ready(None),
            StreamState::First(mut subscription) => {
                let first = [RETRY_FIELD, &newest(&mut subscription)].concat();
                self.state = StreamState::Waiting(next(subscription).boxed());
                Poll::Ready(Some(first.into()))
            }
            StreamState::Waiting(mut waiting) => match waiting.poll_unpin(context) {
                Poll::Ready(Some((event, subscription))) => {
                    self.state = StreamState::Waiting(next(subscription).boxed());
                    Poll::Ready(Some(event))
                }
                Poll::Ready(None) => Poll::Ready(None),
                Poll::Pending => {
                    self.state = StreamState::Waiting(waiting);
                    Poll::Pending
                }
            },
        }
    }

    fn heartbeat(&mut self) -> Bytes {
        Bytes::from_static(HEARTBEAT)
    }

    fn closing_chunk(&mut self) -> Bytes {
        Bytes::from_static(CLOSING_COMMENT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summaries::tests::rendered;
    use futures_util::task::noop_waker_ref;
    use matches::spectate::SpectatorPermits;
    use tokio::sync::watch;

    #[track_caller]
    fn check(stream: &mut SummaryStream, want: Option<&str>) {
        let polled = stream.poll_chunk(&mut Context::from_waker(noop_waker_ref()));
        let chunk = match polled {
            Poll::Ready(chunk) => Some(String::from_utf8(chunk.expect("it goes on").into()).unwrap()),
            Poll::Pending => None,
        };
        let ids = chunk.map(|chunk| chunk.lines().filter_map(|line| line.strip_prefix("id: ")).collect::<String>());
        assert_eq!(ids.as_deref(), want);
    }

    #[test]
    fn a_slow_reader_gets_the_newest_only_and_each_once() {
        let newest = watch::Sender::new(Some(rendered(1)));
        let permits = SpectatorPermits::new(1, 1);
        let mut stream = SummaryStream::new(newest.subscribe(), permits.acquire(None).unwrap());
        newest.send_replace(Some(rendered(2)));
        check(&mut stream, Some("2"));
        check(&mut stream, None);
        for number in 3..6 {
            newest.send_replace(Some(rendered(number)));
        }
        check(&mut stream, Some("5"));
        check(&mut stream, None);
        assert!(permits.acquire(None).is_err());
        drop(stream);
        assert!(permits.acquire(None).is_ok());
    }
}
