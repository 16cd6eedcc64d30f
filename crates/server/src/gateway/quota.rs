//! Whose quota a request counts against: the key of its client's address. Operators are not counted, nor is whoever calls from
//! loopback unless the configuration says so.

use super::admission::Client;
use super::auth::Identity;
use crate::address_key::AddressKey;
use crate::app::App;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use engine::rows::Role;
use std::convert::Infallible;

/// Whose quota it is, and whether the caller may take what is reserved for operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counted {
    pub(super) address: Option<AddressKey>,
    pub(super) is_operator: bool,
}

impl Counted {
    /// The sender of a request.
    pub(super) async fn of(parts: &Parts, app: &App) -> Self {
        let is_operator = Identity::of(parts, app).await.known().is_some_and(|caller| caller.role >= Role::Operator);
        let client = parts.extensions.get::<Client>().and_then(|client| client.0);
        Self { address: app.quotas.counted(client).filter(|_| !is_operator), is_operator }
    }
}

impl FromRequestParts<App> for Counted {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Infallible> {
        Ok(Self::of(parts, app).await)
    }
}
