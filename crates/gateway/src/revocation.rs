//! Long-lived responses and the credential that they depend on: every delivery that waits for events is registered with its credential,
//! and ends when that is revoked. A poll ends with the refusal that its next request would get, a stream with a `problem` event.

use super::auth::Principal;
use super::listener::park::{ChunkStream, LongPoll, WaitEnd};
use super::problem::{ApiError, ApiResult};
use crate::app::App;
use crate::grants::{CredentialId, Grant, Grants, Revocable, RevocationReason, RevocationWatch};
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use bytes::Bytes;
use http::Response;
use std::future::{pending, poll_fn};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

impl From<RevocationReason> for ApiError {
    fn from(reason: RevocationReason) -> Self {
        match reason {
            RevocationReason::Deleted => Self::TokenUnknown,
            RevocationReason::Expired => Self::TokenExpired,
        }
    }
}

/// The credential of a principal: none of an operator's bootstrap token, which lives as long as the process.
pub(super) fn credential_id(principal: &Principal) -> Option<CredentialId> {
    match principal {
        Principal::Account(caller) => caller.token.map(CredentialId::Token),
        Principal::Guest(guest) => Some(CredentialId::Guest { expires_at: guest.expires_at, player: guest.player }),
    }
}

/// Registers something that depends on the principal's credential, for as long as the grant lives.
pub(super) fn register_grant(app: &App, principal: &Principal, holder: Weak<dyn Revocable>) -> Option<Grant> {
    credential_id(principal).map(|credential| app.grants.register(credential, holder))
}

/// The credential of a request that may stay open.
pub(super) struct RequestGrant {
    grants: Arc<Grants>,
    credential: Option<CredentialId>,
}

impl FromRequestParts<App> for RequestGrant {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> ApiResult<Self> {
        let credential = app.auth.resolve(parts).await.into_principal()?.as_ref().and_then(credential_id);
        Ok(Self { grants: app.grants.clone(), credential })
    }
}

impl RequestGrant {
    /// Wraps a wait that ends when the credential is revoked.
    pub(super) fn until_revoked<T>(self, inner: T) -> UntilRevoked<T> {
        UntilRevoked {
            watch: self.credential.map(|credential| RevocationWatch::new(&self.grants, credential)),
            has_ended: false,
            inner,
        }
    }
}

/// A wait that ends when the credential is revoked.
pub(super) struct UntilRevoked<T> {
    /// `None` for a request without a token.
    watch: Option<RevocationWatch>,
    has_ended: bool,
    inner: T,
}

impl<T> UntilRevoked<T> {
    fn poll_revoked(&self, context: &mut Context<'_>) -> Poll<RevocationReason> {
        self.watch.as_ref().map_or(Poll::Pending, |watch| watch.poll_revoked(context))
    }
}

impl<F: Future> UntilRevoked<F> {
    /// The output of the future, or why it was revoked before.
    pub(super) async fn run(self) -> Result<F::Output, RevocationReason> {
        let Self { watch, inner, .. } = self;
        let revoked = async {
            match &watch {
                Some(watch) => poll_fn(|context| watch.poll_revoked(context)).await,
                None => pending().await,
            }
        };
        tokio::select! {
            biased;
            reason = revoked => Err(reason),
            output = inner => Ok(output),
        }
    }
}

impl<P: LongPoll> LongPoll for UntilRevoked<P> {
    fn poll_response(&mut self, context: &mut Context<'_>) -> Poll<Response<Bytes>> {
        match self.poll_revoked(context) {
            Poll::Ready(reason) => Poll::Ready(ApiError::from(reason).into_complete_response()),
            Poll::Pending => self.inner.poll_response(context),
        }
    }

    fn finish(&mut self, end: WaitEnd) -> Response<Bytes> {
        self.inner.finish(end)
    }
}

impl<S: ChunkStream> ChunkStream for UntilRevoked<S> {
    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if self.has_ended {
            return Poll::Ready(None);
        }
        match self.poll_revoked(context) {
            Poll::Ready(reason) => {
                self.has_ended = true;
                Poll::Ready(Some(problem_event(&reason.into())))
            }
            Poll::Pending => self.inner.poll_chunk(context),
        }
    }

    fn heartbeat(&mut self) -> Bytes {
        self.inner.heartbeat()
    }

    fn closing_chunk(&mut self) -> Bytes {
        self.inner.closing_chunk()
    }
}

/// The event that ends a stream: the problem that the next request gets.
fn problem_event(error: &ApiError) -> Bytes {
    let problem = serde_json::to_string(&error.to_problem()).expect("a problem holds only text and numbers");
    format!("event: problem\ndata: {problem}\n\n").into()
}
