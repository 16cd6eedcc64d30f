//! `POST /api/admin/drain`: this process leaves, as after SIGTERM.

use crate::app::App;
use crate::audit_entry;
use crate::extract::{Admin, QueryParams};
use crate::problem::{ApiError, ApiResult};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use engine::limits::DRAIN_MAX;
use node::lease::LeaseContext;
use serde::Deserialize;
use wire::api::DrainStarted;

/// Which server is meant.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct DrainQuery {
    /// The node that is meant, as the list of nodes has it: behind a proxy another one may answer, which then refuses with `bad_value`.
    address: Option<String>,
}

/// Drain the server that answers
///
/// For admins. It does what SIGTERM does: after `server.drain_delay_ms`, in which it only says that it is not ready, this process takes no new work, answers what is under way, releases its matches, tables and worlds,
/// and ends. Other nodes go on with these at once, or the next process where it left off. The supervisor of the process starts it again,
/// or does not. It cannot be called off, and repeating it changes nothing.
#[utoipa::path(post, path = "/api/admin/drain", tag = "admin", security(("bearer" = []), ("cookie" = [])), params(DrainQuery), responses(
    (status = 202, description = "It drains, whether it did before or not; `ends_within_ms` counts from the first time.", body = DrainStarted),
))]
pub(super) async fn drain(
    State(app): State<App>,
    Admin(caller): Admin,
    QueryParams(query): QueryParams<DrainQuery>,
) -> ApiResult<(StatusCode, Json<DrainStarted>)> {
    let own = app.node.address();
    audit_entry::set_target(format_args!("node:{own}"));
    if query.address.is_some_and(|address| address != own) {
        let reason = format!(
            "the node that answers is {own}, and not the one that was named: send it to that one's own address"
        );
        return Err(ApiError::bad_value("address", reason));
    }
    if !app.drain.is_announced() {
        tracing::warn!(asked_by = %caller.account, "an admin asked this process to leave");
    }
    app.drain.announce();
    let ends_within_ms = (app.config.drain_delay + DRAIN_MAX).as_millis() as u64;
    Ok((StatusCode::ACCEPTED, Json(DrainStarted { address: own, ends_within_ms })))
}
