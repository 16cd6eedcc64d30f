//! The quota that a request counts against: by the key of its client's address. Operators are not counted, and neither is
//! loopback unless the configuration says so.

use super::auth::Principal;
use super::client_address::ClientAddress;
use crate::app::App;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use quotas::address_key::AddressKey;
use std::convert::Infallible;

/// The quota's address, and whether the caller may take what is reserved for operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct QuotaSubject {
    pub(super) address: Option<AddressKey>,
    pub(super) is_operator: bool,
}

impl QuotaSubject {
    pub(super) async fn of(parts: &Parts, app: &App) -> Self {
        let is_operator = app.auth.resolve(parts).await.principal().is_some_and(Principal::is_operator);
        let client = parts.extensions.get::<ClientAddress>().and_then(|client| client.0);
        Self { address: app.quotas.subject_key(client).filter(|_| !is_operator), is_operator }
    }
}

impl FromRequestParts<App> for QuotaSubject {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Infallible> {
        Ok(Self::of(parts, app).await)
    }
}
