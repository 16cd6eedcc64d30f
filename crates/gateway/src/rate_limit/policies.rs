//! `/api/limits/policies`: the rules of the rate limiter, for operators. What is set here lasts in the store, is in force on all
//! nodes within a second, and wins over the file of policies until it is deleted.

use crate::app::App;
use crate::audit_entry;
use crate::extract::{JsonBody, Operator, PathId};
use crate::problem::{ApiError, ApiResult, Resource};
use axum::Json;
use axum::extract::{FromRequestParts, Path, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use engine::limits::LIMIT_KEY_BYTES_MAX;
use limiter::{Algorithm, Policy};
use rate_limit::rules::{self, Change, ChangeError, InvalidMember, LimitRuleSet, OverrideKey};
use rate_limit::{RateLimiter, SCOPE};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use wire::api::{LimitOverrideView, LimitPolicies, LimitPolicyDefinition, LimitPolicyView, LimitQuota};

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list_policies))
        .routes(routes!(get_policy, put_policy, delete_policy))
        .routes(routes!(get_override, put_override, delete_override))
}

/// List the policies of the rate limiter that are in force
///
/// Counts are per process: each node of several counts for itself.
#[utoipa::path(get, path = "/api/limits/policies", tag = "limits", security(("bearer" = [])), responses(
    (status = 200, description = "All policies, those of the file first.", body = LimitPolicies),
))]
async fn list_policies(State(app): State<App>, Operator(_): Operator) -> Json<LimitPolicies> {
    let keys = app.limits.keys_by_policy();
    let policies = app.limits.with_rules(|rule_set| {
        let view = |policy: &Policy| view(rule_set, policy, keys.get(&policy.name).copied());
        rule_set.policies().iter().map(view).collect()
    });
    Json(LimitPolicies { scope: SCOPE.to_owned(), shadow: app.limits.is_shadow(), policies })
}

/// Get a policy
#[utoipa::path(get, path = "/api/limits/policies/{name}", tag = "limits", security(("bearer" = [])), params(("name" = String, Path)), responses(
    (status = 200, description = "The policy in force.", body = LimitPolicyView),
    (status = 404, description = "There is no such policy."),
))]
async fn get_policy(
    State(app): State<App>,
    Operator(_): Operator,
    PathId(name): PathId<String>,
) -> ApiResult<Json<LimitPolicyView>> {
    policy_view(&app.limits, &name).map(Json)
}

/// Set a policy, new or changed
///
/// What keys have used stays used, unless the algorithm changes. It is durable before the response.
#[utoipa::path(put, path = "/api/limits/policies/{name}", tag = "limits", security(("bearer" = [])), params(("name" = String, Path)), request_body = LimitPolicyDefinition, responses(
    (status = 200, description = "The changed policy.", body = LimitPolicyView),
    (status = 201, description = "The new policy.", body = LimitPolicyView),
    (status = 409, description = "There are as many policies as allowed."),
))]
async fn put_policy(
    State(app): State<App>,
    Operator(_): Operator,
    PathId(name): PathId<String>,
    JsonBody(definition): JsonBody<LimitPolicyDefinition>,
) -> ApiResult<(StatusCode, Json<LimitPolicyView>)> {
    let policy = rules::parse_policy(&name, &definition).map_err(invalid_definition)?;
    check_log_capacity(&app.limits, policy.algorithm, policy.quota.limit())?;
    let is_known = app.limits.with_rules(|rule_set| rule_set.source(&name).is_some());
    commit_change(&app, Change::PutPolicy(policy), Resource::Policy).await?;
    let status = if is_known { StatusCode::OK } else { StatusCode::CREATED };
    Ok((status, Json(policy_view(&app.limits, &name)?)))
}

/// Delete the setting of a policy
///
/// The quotas of single keys that were set under it are deleted as well. The file of policies applies again.
#[utoipa::path(delete, path = "/api/limits/policies/{name}", tag = "limits", security(("bearer" = [])), params(("name" = String, Path)), responses(
    (status = 204, description = "It is deleted."),
    (status = 404, description = "There is no such policy."),
    (status = 409, description = "It is in the file of policies, and has no setting of its own."),
))]
async fn delete_policy(
    State(app): State<App>,
    Operator(_): Operator,
    PathId(name): PathId<String>,
) -> ApiResult<StatusCode> {
    // The reference API's own settings go by its own routes.
    if name == rules::REFERENCE {
        return Err(ApiError::NotFound(Resource::Policy));
    }
    commit_change(&app, Change::DeletePolicy(name.into()), Resource::Policy).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Get a key's own quota
#[utoipa::path(get, path = "/api/limits/policies/{name}/overrides/{key}", tag = "limits", security(("bearer" = [])), params(("name" = String, Path), ("key" = String, Path, description = "Percent-encoded.")), responses(
    (status = 200, description = "The quota in force.", body = LimitOverrideView),
    (status = 404, description = "There is no such policy, or the key has no quota of its own."),
))]
async fn get_override(
    State(app): State<App>,
    Operator(_): Operator,
    OverridePath(key): OverridePath,
) -> ApiResult<Json<LimitOverrideView>> {
    override_view(&app.limits, &key).map(Json)
}

/// Set a key's own quota
#[utoipa::path(put, path = "/api/limits/policies/{name}/overrides/{key}", tag = "limits", security(("bearer" = [])), params(("name" = String, Path), ("key" = String, Path, description = "Percent-encoded.")), request_body = LimitQuota, responses(
    (status = 200, description = "The quota in force.", body = LimitOverrideView),
    (status = 404, description = "There is no such policy."),
    (status = 409, description = "As many keys as allowed have a quota of their own."),
))]
async fn put_override(
    State(app): State<App>,
    Operator(_): Operator,
    OverridePath(key): OverridePath,
    JsonBody(quota): JsonBody<LimitQuota>,
) -> ApiResult<Json<LimitOverrideView>> {
    rules::parse_quota(&quota).map_err(invalid_definition)?;
    let algorithm = app.limits.with_rules(|rule_set| rule_set.policy(&key.0).map(|policy| policy.algorithm));
    algorithm.map_or(Ok(()), |algorithm| check_log_capacity(&app.limits, algorithm, quota.limit))?;
    commit_change(&app, Change::PutOverride(key.clone(), quota), Resource::Override).await?;
    override_view(&app.limits, &key).map(Json)
}

/// Delete a key's own quota
///
/// The file of policies applies to the key again.
#[utoipa::path(delete, path = "/api/limits/policies/{name}/overrides/{key}", tag = "limits", security(("bearer" = [])), params(("name" = String, Path), ("key" = String, Path, description = "Percent-encoded.")), responses(
    (status = 204, description = "It is deleted."),
    (status = 404, description = "There is no such policy, or the key has no quota of its own."),
    (status = 409, description = "It is in the file of policies."),
))]
async fn delete_override(
    State(app): State<App>,
    Operator(_): Operator,
    OverridePath(key): OverridePath,
) -> ApiResult<StatusCode> {
    commit_change(&app, Change::DeleteOverride(key), Resource::Override).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn check_log_capacity(limits: &RateLimiter, algorithm: Algorithm, limit: u64) -> ApiResult<()> {
    rules::check_log_capacity(algorithm, limit, limits.timestamps_max())
        .map_err(|wrong| invalid_definition(vec![wrong]))
}

async fn commit_change(app: &App, change: Change, thing: Resource) -> ApiResult<()> {
    app.limits.change_with(change, audit_entry::unsaved()).await.map_err(|error| match error {
        ChangeError::NoSuchPolicy => ApiError::NotFound(Resource::Policy),
        ChangeError::NotSet(Some(_)) => ApiError::SetInFile(thing),
        ChangeError::NotSet(None) => ApiError::NotFound(thing),
        ChangeError::TooMany => ApiError::TotalReached(thing),
        ChangeError::Store(error) => error.into(),
        ChangeError::Internal(what) => ApiError::Internal(what),
    })?;
    audit_entry::mark_saved();
    Ok(())
}

fn invalid_definition(wrong: Vec<InvalidMember>) -> ApiError {
    let field = wrong.first().map_or_else(String::new, |wrong| format!("/{}", wrong.member));
    let whys: Vec<_> = wrong.into_iter().map(|wrong| wrong.reason).collect();
    ApiError::bad_value(field, whys.join("; "))
}

fn policy_view(limits: &RateLimiter, name: &str) -> ApiResult<LimitPolicyView> {
    let keys = limits.keys_by_policy().get(name).copied();
    limits.with_rules(|rule_set| {
        let policy = rule_set.policies().into_iter().find(|policy| &*policy.name == name);
        policy.map(|policy| view(rule_set, &policy, keys)).ok_or(ApiError::NotFound(Resource::Policy))
    })
}

fn view(rule_set: &LimitRuleSet, policy: &Policy, keys: Option<u64>) -> LimitPolicyView {
    LimitPolicyView {
        name: policy.name.to_string(),
        definition: rules::definition(policy),
        source: rule_set.source(&policy.name).map_or("", rules::RuleSource::name).to_owned(),
        keys: keys.unwrap_or_default(),
        overrides: rule_set.override_count(&policy.name) as u64,
    }
}

fn override_view(limits: &RateLimiter, override_key: &OverrideKey) -> ApiResult<LimitOverrideView> {
    limits.with_rules(|rule_set| {
        rule_set.source(&override_key.0).ok_or(ApiError::NotFound(Resource::Policy))?;
        let (quota, origin) =
            rule_set.override_with_source(override_key).ok_or(ApiError::NotFound(Resource::Override))?;
        let key = String::from_utf8_lossy(&override_key.1).into_owned();
        Ok(LimitOverrideView { policy: override_key.0.to_string(), key, quota, source: origin.name().to_owned() })
    })
}

/// The policy's name and the key in the path.
struct OverridePath(OverrideKey);

impl FromRequestParts<App> for OverridePath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> ApiResult<Self> {
        let path = Path::<(String, String)>::from_request_parts(parts, app).await;
        let Path((name, key)) = path.map_err(|_| ApiError::BadPath)?;
        if !(1..=LIMIT_KEY_BYTES_MAX).contains(&key.len()) {
            let why = format!("the key has {} bytes: expected 1 to {LIMIT_KEY_BYTES_MAX}", key.len());
            return Err(ApiError::bad_value("key", why));
        }
        if name == rules::REFERENCE {
            return Err(ApiError::NotFound(Resource::Policy));
        }
        Ok(Self((name.into(), key.into_bytes().into())))
    }
}
