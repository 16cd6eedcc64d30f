//! The audit log: each request by which an operator or admin changes something leaves one entry, in the commit of the change where the store makes
//! it, and otherwise directly after it.
//!
//! Admission passes every such request through `record`, so that no route can be forgotten: all writes below `/api/admin`, and [`OPERATIONS`]. Of
//! others only the deletion of the own account leaves an entry. The
//! action is the name of the operation, the target what its path names. What a handler adds to it, and how it saves its change with it, stands in
//! `audit_entry`.

use super::app::App;
use super::audit_entry::PendingEntry;
use super::auth::{Caller, Identity, Principal, hex};
use super::client_address::ClientAddress;
use super::credentials::SECRET_PREFIXES;
use axum::extract::{FromRequestParts, MatchedPath, RawPathParams, Request};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use engine::commands::{AuditCommand, Command, Outcome};
use engine::digest::digest;
use engine::ids::AuditId;
use engine::rows::{AuditEntry, Role};
use futures_util::FutureExt;
use node::clock::random_bytes;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::sync::{Arc, LazyLock};
use tracing::{Instrument, Span};

/// Every write below it is recorded.
const ADMIN_PATH: &str = "/api/admin/";
/// What operators and admins may also do to others, or to this server, by routes that are not theirs alone; their writes here are recorded, be they
/// about their own things or not.
pub const OPERATIONS: [&str; 25] = [
    "cancel_ticket",
    "cancel_tournament",
    "close_table",
    "create_invite",
    "create_sign_in_link",
    "create_token",
    "delete_entry",
    "delete_invitation",
    "delete_invite",
    OWN_DELETION,
    "delete_override",
    "delete_policy",
    "delete_token",
    "end_hunt",
    "end_leaderboard",
    "end_world",
    "invite_account",
    "put_override",
    "put_policy",
    "set_actors",
    "set_seeds",
    "start_run",
    "start_tournament",
    "stop_run",
    "withdraw",
];
/// Recorded whatever the caller's role: the account cannot be asked afterwards.
const OWN_DELETION: &str = "delete_own_account";
/// How keys of the limiter begin that are no secrets: those that this server makes itself. Others are a service's, which may use a secret.
const PUBLIC_KEYS: [&str; 4] = ["account:", "address:", "guest:", "token:"];

/// Names of the operations that are recorded, by method and route.
static ACTIONS: LazyLock<HashMap<String, Vec<(Method, String)>>> = LazyLock::new(|| {
    let mut actions: HashMap<String, Vec<(Method, String)>> = HashMap::new();
    for (path, item) in super::openapi().paths.paths {
        let operations = [(Method::POST, item.post), (Method::PUT, item.put), (Method::DELETE, item.delete)];
        for (method, operation) in operations.into_iter().chain([(Method::PATCH, item.patch)]) {
            let Some(name) = operation.and_then(|operation| operation.operation_id) else { continue };
            if path.starts_with(ADMIN_PATH) || OPERATIONS.contains(&name.as_str()) {
                actions.entry(path.clone()).or_default().push((method, name));
            }
        }
    }
    actions
});

/// Handles an admitted request; if it is one of those, it leaves an entry, and is handled to its end even if its client leaves.
pub(super) async fn record(app: &App, request: Request, next: Next) -> Response {
    let Some((caller, action)) = audited(&request) else { return next.run(request).await };
    let (mut parts, body) = request.into_parts();
    let is_operator = caller.role >= Role::Operator;
    let entry = new_entry(app, caller, action, &mut parts).await;
    let pending = Arc::new(PendingEntry::new(entry));
    let (request, app) = (Request::from_parts(parts, body), app.clone());
    let handle = async move {
        let handled = pending.collect(AssertUnwindSafe(next.run(request)).catch_unwind()).await;
        let status = handled.as_ref().ok().map(Response::status);
        // What others are refused leaves no entry: they could fill the log with it.
        if is_operator || status.is_some_and(|status| status.is_success()) {
            finish(&app, &pending, status).await;
        }
        handled
    };
    match tokio::spawn(handle.instrument(Span::current())).await {
        Ok(Ok(response)) => response,
        Ok(Err(panic)) => resume_unwind(panic),
        Err(error) => match error.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            // The runtime ends, and this task with it.
            Err(_) => std::future::pending().await,
        },
    }
}

/// Who sends it and what it is called, if it is to be recorded.
fn audited(request: &Request) -> Option<(Caller, &'static str)> {
    if request.method().is_safe() {
        return None;
    }
    let extensions = request.extensions();
    let Some(Principal::Account(caller)) = extensions.get::<Identity>()?.principal() else { return None };
    let actions = ACTIONS.get(extensions.get::<MatchedPath>()?.as_str())?;
    let action = actions.iter().find(|(method, _)| method == request.method());
    let action = action.map(|(_, action)| action.as_str())?;
    (caller.role >= Role::Operator || action == OWN_DELETION).then_some((*caller, action))
}

async fn new_entry(app: &App, caller: Caller, action: &str, parts: &mut Parts) -> AuditEntry {
    let mut named = named_in_path(app, parts).await.into_iter();
    let target = named.next();
    let rest: Vec<String> = named.collect();
    AuditEntry {
        id: AuditId::new(app.node.clock.now(), random_bytes()),
        account: Some(caller.account),
        token: caller.token,
        address: parts.extensions.get::<ClientAddress>().and_then(|client| client.0),
        action: action.to_owned(),
        target,
        detail: (!rest.is_empty()).then(|| rest.join(" ")),
        reason: None,
        outcome: AuditEntry::DONE.to_owned(),
    }
}

/// What the path names, each as `kind:ID`.
async fn named_in_path(app: &App, parts: &mut Parts) -> Vec<String> {
    let Ok(params) = RawPathParams::from_request_parts(parts, app).await else { return Vec::new() };
    let template = parts.extensions.get::<MatchedPath>().map(MatchedPath::as_str).unwrap_or_default();
    let segments: Vec<&str> = template.split('/').collect();
    let kinds = segments.windows(2).filter(|pair| pair[1].starts_with('{')).map(|pair| singular(pair[0]));
    kinds.zip(&params).map(|(kind, (_, value))| format!("{kind}:{}", public(&kind, value))).collect()
}

/// `accounts` → `account`, `policies` → `policy`.
fn singular(plural: &str) -> String {
    match plural.strip_suffix("ies") {
        Some(stem) => format!("{stem}y"),
        None => plural.strip_suffix('s').unwrap_or(plural).to_owned(),
    }
}

/// What of a path may be kept.
fn public(kind: &str, value: &str) -> String {
    let begins_with = |prefixes: &[&str]| prefixes.iter().any(|prefix| value.starts_with(prefix));
    if begins_with(&SECRET_PREFIXES) || (kind == "override" && !begins_with(&PUBLIC_KEYS)) {
        format!("sha256={}", hex(&digest(value)[..8]))
    } else {
        value.to_owned()
    }
}

/// Records what is not recorded yet: what changed without a commit of the handler's own, and refusals.
async fn finish(app: &App, pending: &PendingEntry, status: Option<StatusCode>) {
    let Some((entry, refusal)) = pending.unsaved() else { return };
    let outcome = match status {
        Some(status) if !status.is_client_error() && !status.is_server_error() => AuditEntry::DONE.to_owned(),
        Some(status) => refusal.map_or_else(|| format!("status_{}", status.as_u16()), str::to_owned),
        None => "internal".to_owned(),
    };
    let entry = AuditEntry { outcome, ..entry }.bounded();
    let recorded = app.node.store.commit(Command::Audit(AuditCommand::Record(entry.clone()))).await;
    match recorded {
        // Known already: the commit of the change was made, and its answer was lost.
        Ok(Outcome::Done | Outcome::Duplicate) => {}
        failed => {
            app.metrics.process.audit_lost.inc();
            tracing::error!(?entry, ?failed, "an entry of the audit log could not be saved: this line is all there is");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_is_one_of_the_document() {
        let recorded: Vec<&String> = ACTIONS.values().flatten().map(|(_, name)| name).collect();
        let unknown: Vec<_> =
            OPERATIONS.iter().filter(|name| !recorded.iter().any(|recorded| recorded == *name)).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }

    #[test]
    fn kinds_are_named_by_the_path() {
        for (plural, want) in [("accounts", "account"), ("policies", "policy"), ("entries", "entry"), ("x", "x")] {
            assert_eq!(singular(plural), want);
        }
    }

    #[track_caller]
    fn check(kind: &str, value: &str, is_kept: bool) {
        let public = public(kind, value);
        assert_eq!(public == value, is_kept, "{public}");
        assert!(is_kept || public.starts_with("sha256=") && public.len() == 7 + 16, "{public}");
    }

    #[test]
    fn no_secret_is_kept() {
        check("ban", "0190b5a4-7c1e-7000-8000-000000000001", true);
        check("ban", "gnt_0123", false);
        check("token", "gst_0123", false);
        check("invite", "gni_0123", false);
        check("invite", "gns_0123", false);
        check("policy", "api", true);
        check("override", "address:192.0.2.7", true);
        check("override", "sk_live_0123", false);
    }
}
