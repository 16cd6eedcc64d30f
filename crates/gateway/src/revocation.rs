//! Long-lived responses and the credential that they depend on: every delivery that waits for events is registered with its credential,
//! and ends when that is revoked. A poll ends with the refusal that its next request would get, a stream with a `problem` event.

use super::auth::Principal;
use super::bans::BanSubject;
use super::client_address::ClientAddress;
use super::listener::park::{ChunkStream, LongPoll, WaitEnd};
use super::problem::{ApiError, ApiResult};
use crate::app::App;
use crate::grants::{CredentialId, Grant, Grants, Revocable, RevocationReason, RevocationWatch};
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use bytes::Bytes;
use http::Response;
use std::convert::Infallible;
use std::future::poll_fn;
use std::net::IpAddr;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

impl From<RevocationReason> for ApiError {
    fn from(reason: RevocationReason) -> Self {
        match reason {
            RevocationReason::Deleted => Self::TokenUnknown,
            RevocationReason::Expired => Self::TokenExpired,
            RevocationReason::Banned(ban) => Self::Banned(ban),
        }
    }
}

/// Longest reason of a close frame, in bytes (RFC 6455, section 5.5.1).
const CLOSE_REASON_BYTES_MAX: usize = 123;

impl RevocationReason {
    /// The reason of the close frame that ends a WebSocket: the code, and of a ban its reason too.
    pub(super) fn close_reason(self) -> String {
        let reason = if let Self::Banned(ban) = &self { format!(": {}", ban.reason) } else { String::new() };
        let mut text = format!("{}{reason}", ApiError::from(self).status_and_code().1);
        text.truncate(text.floor_char_boundary(CLOSE_REASON_BYTES_MAX));
        text
    }
}

/// The credential of a principal: none of an operator's bootstrap token, which lives as long as the process.
fn credential_id(principal: Option<&Principal>) -> CredentialId {
    match principal {
        Some(Principal::Account(caller)) => caller.token.map_or(CredentialId::None, CredentialId::Token),
        Some(Principal::Guest(guest)) => CredentialId::Guest { expires_at: guest.expires_at, player: guest.player },
        None => CredentialId::None,
    }
}

/// Registers something that ends with the principal's credential, and when it or the address is banned, for as long as the grant lives.
pub(super) fn register_grant(
    app: &App,
    principal: Option<&Principal>,
    address: Option<IpAddr>,
    holder: Weak<dyn Revocable>,
) -> Grant {
    app.grants.register(credential_id(principal), BanSubject::new(principal, address), holder)
}

/// The credential and the address of a request that may stay open.
pub(super) struct RequestGrant {
    grants: Arc<Grants>,
    credential: CredentialId,
    subject: BanSubject,
}

impl FromRequestParts<App> for RequestGrant {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> ApiResult<Self> {
        let principal = app.auth.resolve(parts).await.into_principal()?;
        let ClientAddress(address) = client_address_of(parts);
        let subject = BanSubject::new(principal.as_ref(), address);
        Ok(Self { grants: app.grants.clone(), credential: credential_id(principal.as_ref()), subject })
    }
}

/// The same of a request to a public route that may stay open: its token does not matter, and only a ban ends it.
pub(super) struct PublicGrant(pub(super) RequestGrant);

impl FromRequestParts<App> for PublicGrant {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Infallible> {
        let identity = app.auth.resolve(parts).await;
        let subject = BanSubject::new(identity.principal(), client_address_of(parts).0);
        Ok(Self(RequestGrant { grants: app.grants.clone(), credential: CredentialId::None, subject }))
    }
}

/// A request that bypassed admission has no address.
fn client_address_of(parts: &Parts) -> ClientAddress {
    parts.extensions.get().copied().unwrap_or(ClientAddress(None))
}

impl RequestGrant {
    /// Wraps a wait that ends when the credential is revoked.
    pub(super) fn until_revoked<T>(self, inner: T) -> UntilRevoked<T> {
        UntilRevoked {
            watch: RevocationWatch::new(&self.grants, self.credential, self.subject),
            has_ended: false,
            inner,
        }
    }
}

/// A wait that ends when the credential is revoked.
pub(super) struct UntilRevoked<T> {
    watch: RevocationWatch,
    has_ended: bool,
    inner: T,
}

impl<T> UntilRevoked<T> {
    fn poll_revoked(&self, context: &mut Context<'_>) -> Poll<RevocationReason> {
        self.watch.poll_revoked(context)
    }
}

impl<F: Future> UntilRevoked<F> {
    /// The output of the future, or why it was revoked before.
    pub(super) async fn run(self) -> Result<F::Output, RevocationReason> {
        let Self { watch, inner, .. } = self;
        let revoked = poll_fn(|context| watch.poll_revoked(context));
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
