//! `/api/trials`: runs of load tests in a folder of this server's, for operators: listed, read, compared, started, stopped. Names are checked
//! here, before anything looks for a file.

use crate::app::App;
use crate::audit_entry;
use crate::extract::{JsonBody, Operator, PathId, QueryParams};
use crate::pagination::{ListResponse, Page, PageQuery};
use crate::problem::{ApiError, ApiResult, TrialRefusal};
use crate::trials::Trials;
use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use engine::limits::PAGE_MAX;
use serde::Deserialize;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use wire::api::{StartTrial, StartedTrial, TrialRun, Trials as TrialsView};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(get_trials))
        .routes(routes!(list_runs, start_run))
        .routes(routes!(get_run, stop_run))
        .routes(routes!(compare_runs))
}

/// Characters of a run's name.
const NAME_CHARS_MAX: usize = 64;

/// A name is no path: nothing in it leads elsewhere.
fn named(name: &str) -> ApiResult<String> {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_name = name.len() <= NAME_CHARS_MAX
        && name.bytes().next().is_some_and(is_plain)
        && name.bytes().all(|byte| is_plain(byte) || byte == b'-');
    if is_name { Ok(name.to_owned()) } else { Err(TrialRefusal::NoSuchRun.into()) }
}

fn document(bytes: Vec<u8>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], bytes)
}

/// What trials may be started here, and what runs
///
/// For operators and admins. Only where the server was started with `--trials DIR`.
#[utoipa::path(get, path = "/api/trials", tag = "trials", security(("bearer" = []), ("cookie" = [])), responses(
    (status = 200, description = "Built-in scenarios, targets, the trial that goes on.", body = TrialsView),
    (status = 404, description = "`trials_off`: the server shows no trials."),
))]
async fn get_trials(State(app): State<App>, Operator(_): Operator) -> ApiResult<Json<TrialsView>> {
    Ok(Json(app.trials.call(|trials| Ok(trials.overview())).await?))
}

/// List runs and sweeps, newest first
///
/// For operators and admins. `kind` tells a run from a sweep, which `gauntlet sweep` leaves beside its runs.
#[utoipa::path(get, path = "/api/trials/runs", tag = "trials", security(("bearer" = []), ("cookie" = [])), params(PageQuery), responses(
    (status = 200, description = "A page of runs and sweeps, 100 when no limit is given.", body = Vec<TrialRun>, headers(("Link" = String, description = "The next page's URL, if there is one"))),
    (status = 404, description = "`trials_off`: the server shows no trials."),
))]
async fn list_runs(
    State(app): State<App>,
    Operator(_): Operator,
    QueryParams(page): QueryParams<PageQuery>,
) -> ApiResult<ListResponse<TrialRun>> {
    let limit = page.limit(PAGE_MAX)?;
    let after = page.after.as_deref().map(named).transpose()?;
    let runs = app.trials.read(move |trials| trials.runs(after.as_deref(), limit + 1)).await?;
    let page = Page::new("/api/trials/runs", "", runs, limit, |run: &TrialRun| Some(run.name.clone()));
    Ok(page.response(|run| run))
}

/// The report of a run, or the table of a sweep, as a document
///
/// For operators and admins. What `report.html` of the run shows, as blocks: headings, texts, tables, charts as data; `format` is the version of
/// their form (decision 0071). `kind` is `run` or `sweep`. Of one that goes on it says what was recorded until now.
#[utoipa::path(get, path = "/api/trials/runs/{name}", tag = "trials", security(("bearer" = []), ("cookie" = [])), params(("name" = String, Path)), responses(
    (status = 200, description = "The document.", body = serde_json::Value),
    (status = 404, description = "`no_such_run`; `trials_off`: the server shows no trials."),
    (status = 409, description = "`run_unreadable`: `detail` says why; `run_too_large`: its `report.html` has it."),
))]
async fn get_run(
    State(app): State<App>,
    Operator(_): Operator,
    PathId(name): PathId<String>,
) -> ApiResult<impl IntoResponse> {
    let name = named(&name)?;
    Ok(document(app.trials.read(move |trials| trials.report(&name)).await?))
}

/// The two runs of a comparison.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
struct CompareQuery {
    /// The run that the other one is compared with.
    #[param(required)]
    first: Option<String>,
    #[param(required)]
    second: Option<String>,
}

/// Compare two runs, figure by figure
///
/// For operators and admins. What `gauntlet compare` says, as blocks like those of a report. Only what is beyond the noise is called a difference.
/// A sweep is not compared: two of its runs are.
#[utoipa::path(get, path = "/api/trials/comparison", tag = "trials", security(("bearer" = []), ("cookie" = [])), params(CompareQuery), responses(
    (status = 200, description = "The document.", body = serde_json::Value),
    (status = 404, description = "`no_such_run`; `trials_off`: the server shows no trials."),
    (status = 409, description = "`runs_not_comparable`, `run_unreadable`, `run_too_large`: `detail` says why."),
))]
async fn compare_runs(
    State(app): State<App>,
    Operator(_): Operator,
    QueryParams(query): QueryParams<CompareQuery>,
) -> ApiResult<impl IntoResponse> {
    let of = |field: &str, name: Option<&String>| {
        let name = name.ok_or_else(|| ApiError::bad_value(field, format!("{field} names a run")))?;
        named(name)
    };
    let (first, second) = (of("first", query.first.as_ref())?, of("second", query.second.as_ref())?);
    Ok(document(app.trials.read(move |trials| trials.comparison(&first, &second)).await?))
}

/// Start a trial
///
/// For operators and admins. A built-in scenario, as `gauntlet run` would run it, against a server of its own or one of `targets`; one at a time.
#[utoipa::path(post, path = "/api/trials/runs", tag = "trials", security(("bearer" = []), ("cookie" = [])), request_body = StartTrial, responses(
    (status = 202, description = "It begins: its run has this name.", body = StartedTrial),
    (status = 400, description = "`unknown_scenario`, `unknown_target`, `target_needed`"),
    (status = 404, description = "`trials_off`: the server shows no trials."),
    (status = 409, description = "`trial_running`: one goes on already."),
    (status = 503, description = "`trial_not_started`, `trials_unusable`: `detail` says why."),
))]
async fn start_run(
    State(app): State<App>,
    Operator(caller): Operator,
    JsonBody(request): JsonBody<StartTrial>,
) -> ApiResult<(StatusCode, Json<StartedTrial>)> {
    let StartTrial { scenario, target } = request;
    let begin = {
        let (scenario, target) = (scenario.clone(), target.clone());
        move |trials: &dyn Trials| trials.start(&scenario, target.as_deref())
    };
    let name = app.trials.call(begin).await?;
    audit_entry::set_target(format_args!("run:{name}"));
    audit_entry::add_detail(format_args!("scenario:{scenario}"));
    tracing::info!(account = %caller.account, scenario, target, run = name, "an operator started a trial");
    Ok((StatusCode::ACCEPTED, Json(StartedTrial { name })))
}

/// Stop a trial
///
/// For operators and admins. As Ctrl-C does: it ends by itself, stops what it started, and writes its report.
#[utoipa::path(delete, path = "/api/trials/runs/{name}", tag = "trials", security(("bearer" = []), ("cookie" = [])), params(("name" = String, Path)), responses(
    (status = 202, description = "It ends within seconds."),
    (status = 404, description = "`no_such_run`; `trials_off`: the server shows no trials."),
    (status = 409, description = "`trial_not_running`: it is over, or was not started here."),
))]
async fn stop_run(
    State(app): State<App>,
    Operator(caller): Operator,
    PathId(name): PathId<String>,
) -> ApiResult<StatusCode> {
    let name = named(&name)?;
    let stopped = name.clone();
    app.trials.call(move |trials| trials.stop(&stopped)).await?;
    tracing::info!(account = %caller.account, run = name, "an operator stopped a trial");
    Ok(StatusCode::ACCEPTED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, is_name: bool) {
        assert_eq!(named(name).is_ok(), is_name, "{name:?}");
    }

    #[test]
    fn names_lead_nowhere_else() {
        check("20260131-120000-ab12", true);
        check("a", true);
        for path in ["", ".", "..", "../x", "a/b", "a\\b", "/etc", "-a", ".a", "a.b", "A", "a b", "a\0", "ä", "%2e%2e"]
        {
            check(path, false);
        }
        check(&"a".repeat(NAME_CHARS_MAX), true);
        check(&"a".repeat(NAME_CHARS_MAX + 1), false);
    }
}
