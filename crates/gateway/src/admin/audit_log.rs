//! `GET /api/admin/audit`: what operators and admins changed.

use crate::app::App;
use crate::extract::{Operator, QueryParams};
use crate::pagination::{ListResponse, Page, PageQuery, query_encoded, query_id};
use crate::problem::{ApiError, ApiResult};
use axum::extract::State;
use engine::ids::AccountId;
use engine::limits::{AUDIT_TEXT_CHARS_MAX, PAGE_DEFAULT};
use engine::rows::{AuditEntry, AuditFilter};
use engine::time::UnixMs;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use wire::api::AuditEntryView;
use wire::time::Timestamp;

/// Which entries the list shows: those for which all of these hold.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct AuditQuery {
    /// The id of the account that did it.
    account: Option<String>,
    /// What was done, such as `create_ban`.
    action: Option<String>,
    /// On whom or what, such as `account:ID`, as entries show it.
    target: Option<String>,
    /// Not before this time.
    from: Option<Timestamp>,
    /// Before this time.
    until: Option<Timestamp>,
}

impl AuditQuery {
    /// The filter of a page, and what of the query the next page's link repeats.
    fn parse(self, page: &PageQuery, limit: usize) -> ApiResult<(AuditFilter, String)> {
        let account: Option<AccountId> = query_id("account", self.account.as_deref())?;
        for (key, text) in [("action", &self.action), ("target", &self.target)] {
            let is_too_long = text.as_ref().is_some_and(|text| text.chars().count() > AUDIT_TEXT_CHARS_MAX);
            // PostgreSQL keeps no text with this character.
            if is_too_long || text.as_ref().is_some_and(|text| text.contains('\0')) {
                let reason =
                    format!("no {key} is so: expected at most {AUDIT_TEXT_CHARS_MAX} characters, as entries show them");
                return Err(ApiError::bad_value(key, reason));
            }
        }
        let time = |time: Option<Timestamp>| time.map(|time| UnixMs(time.0));
        let mut link = String::new();
        let mut repeat = |key: &str, value: Option<&dyn Display>| {
            value.into_iter().for_each(|value| link.push_str(&format!("{key}={}&", query_encoded(&value.to_string()))));
        };
        repeat("account", account.as_ref().map(|id| id as &dyn Display));
        repeat("action", self.action.as_ref().map(|text| text as &dyn Display));
        repeat("target", self.target.as_ref().map(|text| text as &dyn Display));
        repeat("from", self.from.as_ref().map(|time| time as &dyn Display));
        repeat("until", self.until.as_ref().map(|time| time as &dyn Display));
        let filter = AuditFilter {
            account,
            action: self.action,
            target: self.target,
            from: time(self.from),
            until: time(self.until),
            before: page.after()?,
            limit: limit + 1,
        };
        Ok((filter, link))
    }
}

/// List what operators and admins changed, newest first
///
/// For operators and admins. Every request with such a token that changes something for others or for this server is here, also one that was refused, and
/// so are changes by `gauntlet ban` and `gauntlet token`. Entries of one millisecond stand in no order; they are kept for `audit.keep_for`.
#[utoipa::path(get, path = "/api/admin/audit", tag = "admin", security(("bearer" = []), ("cookie" = [])), params(AuditQuery, PageQuery), responses(
    (status = 200, description = "A page of entries, 20 when no limit is given.", body = Vec<AuditEntryView>, headers(("Link" = String, description = "The next page's URL, if there is one"))),
))]
pub(super) async fn list_audit(
    State(app): State<App>,
    Operator(_): Operator,
    QueryParams(query): QueryParams<AuditQuery>,
    QueryParams(page): QueryParams<PageQuery>,
) -> ApiResult<ListResponse<AuditEntryView>> {
    let limit = page.limit(PAGE_DEFAULT)?;
    let (filter, link_filter) = query.parse(&page, limit)?;
    let read = app.node.store.read(move |reader| {
        let entries = reader.audit().audit_page(&filter)?;
        let mut names = BTreeMap::new();
        for id in entries.iter().filter_map(|entry| entry.account).collect::<BTreeSet<_>>() {
            names.insert(id, reader.account(id)?.map(|account| account.name));
        }
        Ok((entries, names))
    });
    let (entries, names) = read.await?;
    let page = Page::new("/api/admin/audit", &link_filter, entries, limit, |entry: &AuditEntry| Some(entry.id));
    Ok(page.response(|entry| {
        let name = entry.account.and_then(|id| names.get(&id).cloned().flatten());
        view(entry, name)
    }))
}

fn view(entry: AuditEntry, account_name: Option<String>) -> AuditEntryView {
    AuditEntryView {
        at: Timestamp(entry.id.created_at().0),
        id: entry.id.to_string(),
        account: entry.account.map(|id| id.to_string()),
        account_name,
        token: entry.token.map(|id| id.to_string()),
        address: entry.address.map(|address| address.to_string()),
        action: entry.action,
        target: entry.target,
        detail: entry.detail,
        reason: entry.reason,
        outcome: entry.outcome,
    }
}
