//! The OpenAPI 3.1 document: generated from the handlers, completed with what applies to every route, served as generated.

use super::credentials::SESSION_COOKIE;
use super::header_values::accepts;
use super::response_budget::BudgetExempt;
use super::{ops, rate_limit};
use crate::app::App;
use axum::Extension;
use axum::body::Bytes;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use std::sync::{Arc, OnceLock};
use utoipa::openapi::path::{Operation, PathItem};
use utoipa::openapi::security::{ApiKey, ApiKeyValue, Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{ContentBuilder, Ref, RefOr, ResponseBuilder};
use utoipa::{OpenApi, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use wire::problem::{PROBLEM_JSON, Problem};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Gauntlet",
        description = "Bot matches over HTTP: register snakes, create games, follow them. Every error is a problem detail (RFC 9457) with a stable `code`.",
        license(name = "MIT", identifier = "MIT"),
    ),
    components(schemas(Problem)),
    tags(
        (name = "games", description = "Create games, list them, follow their state."),
        (name = "duels", description = "Which of two bots is better: paired games and a sequential test. docs/duels.md shows it by example."),
        (name = "snakes", description = "Register the bots that play."),
        (name = "leaderboards", description = "Ladders: enter snakes, follow their ratings. docs/ladders.md shows it by example."),
        (name = "accounts", description = "Invitations, sign-in links, the export of an account. docs/accounts.md shows them by example."),
        (name = "tokens", description = "Bearer tokens of your account."),
        (name = "stories", description = "Stories: hidden hands, one feed per viewer. docs/stories.md shows a whole game by example."),
        (name = "hunts", description = "Around the hunt: lobby, matchmaking, leaderboard. docs/hunt.md shows it by example."),
        (name = "tournaments", description = "Brackets, rounds and tables of bots. docs/tournaments.md shows them by example."),
        (name = "worlds", description = "Worlds and the players in them. Players move in a world over frames: docs/world.md."),
        (name = "limits", description = "The rate limiter: single and batch checks, and the policies behind them. Clients of the reference limiter use `/api/v1`: docs/limiter.md."),
        (name = "spectators", description = "Public: the board viewer's engine API."),
        (name = "evidence", description = "What your bot was sent and what became of its answers, turn by turn. docs/replay.md shows how to find out why a bot lost."),
        (name = "summary", description = "Public: what goes on at this server, in numbers."),
        (name = "trials", description = "Runs of load tests in a folder of the server's, for operators: listed, read, compared, started, stopped. docs/console.md says how."),
        (name = "admin", description = "For operators and admins."),
        (name = "ops", description = "Health, metrics and this document."),
    ),
)]
struct BaseDocument;

/// The only route under `/api` that needs no store.
const DOCUMENT_PATH: &str = "/api/openapi.json";
/// Looks for its world only once it is a WebSocket.
const WORLD_SOCKET: &str = "/api/worlds/{world}/socket";
/// The code of a 404, by how the path begins.
const NOT_FOUND: [(&str, &str); 8] = [
    ("/api/duels/{id}", "`no_such_duel`"),
    ("/api/games/{id}", "`no_such_game`"),
    ("/api/hunts/{name}", "`no_such_hunt`"),
    ("/api/leaderboards/{id}", "`no_such_leaderboard`"),
    ("/api/stories/games/{game}", "`no_such_game`"),
    ("/api/stories/tables/{table}", "`no_such_table`"),
    ("/api/tournaments/{id}", "`no_such_tournament`"),
    ("/api/worlds/{world}", "`no_such_world`"),
];

/// Higher levels take several times as long for some percent less.
const ZSTD_LEVEL: i32 = 9;

/// The document as it is served.
#[derive(Clone)]
pub(super) struct Document {
    plain: Bytes,
    /// A ninth of it, for clients that take it (RFC 8878): made for the first of them.
    zstd: Arc<OnceLock<Bytes>>,
}

impl Document {
    pub(super) fn new(complete: &utoipa::openapi::OpenApi) -> Self {
        let text = complete.to_json().expect("the document holds only text and numbers");
        Self { plain: text.into(), zstd: Arc::default() }
    }

    fn zstd(&self) -> Bytes {
        let compress = || zstd::bulk::compress(&self.plain, ZSTD_LEVEL).expect("its buffer is large enough").into();
        self.zstd.get_or_init(compress).clone()
    }
}

/// The router that the gateway's routes are merged into: the base document and its own route.
pub(super) fn router() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(BaseDocument::openapi()).routes(routes!(get_openapi))
}

/// This document
#[utoipa::path(get, path = "/api/openapi.json", tag = "ops", responses((status = 200, description = "OpenAPI 3.1", content_type = "application/json")))]
async fn get_openapi(headers: HeaderMap, Extension(document): Extension<Document>) -> Response {
    let common = [(header::CONTENT_TYPE, "application/json"), (header::VARY, "accept-encoding")];
    if accepts(&headers, &header::ACCEPT_ENCODING, "zstd") {
        return (common, [(header::CONTENT_ENCODING, "zstd")], Extension(BudgetExempt), document.zstd())
            .into_response();
    }
    (common, Extension(BudgetExempt), document.plain).into_response()
}

/// Adds the routes that no router of the API has, and the refusals that apply to every route.
pub(super) fn complete(mut api: utoipa::openapi::OpenApi) -> utoipa::openapi::OpenApi {
    api.merge(rate_limit::openapi());
    api.merge(ops::openapi());
    let components = api.components.get_or_insert_default();
    components.add_security_scheme("bearer", SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer)));
    let cookie = ApiKeyValue::with_description(
        SESSION_COOKIE,
        "The same token, kept by a browser after `POST /api/session`. Requests that change something must send `Content-Type: application/json` or `X-Requested-With`.",
    );
    components.add_security_scheme("cookie", SecurityScheme::ApiKey(ApiKey::Cookie(cookie)));
    for (path, item) in &mut api.paths.paths {
        for operation in operations(item) {
            add_common_refusals(path, operation);
            add_problems(operation);
        }
    }
    api
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    let PathItem { get, put, post, delete, patch, .. } = item;
    [get, put, post, delete, patch].into_iter().filter_map(Option::as_mut)
}

fn add_common_refusals(path: &str, operation: &mut Operation) {
    let security = operation.security.as_deref().unwrap_or_default();
    // An empty requirement among others: a token is optional.
    let may_have_token = security.contains(&SecurityRequirement::default());
    let has_security = !security.is_empty() && !may_have_token;
    let has_body = operation.request_body.is_some();
    let has_input = has_body || operation.parameters.as_ref().is_some_and(|parameters| !parameters.is_empty());
    let is_about_a_table = is_about_a_table(path);
    let missing = NOT_FOUND.iter().find(|(begin, _)| path.starts_with(begin)).map(|(_, code)| *code);
    let common = [
        ("400", has_input, "Something in the request is invalid; `code` and `detail` say what."),
        ("401", has_security, "No token, or an unknown one."),
        ("401", may_have_token, "The token is unknown or expired. A token is optional."),
        ("403", has_security, "The token's role is too weak."),
        ("404", missing.is_some() && path != WORLD_SOCKET, missing.unwrap_or_default()),
        ("413", has_body, "The body is too long."),
        ("415", has_body, "The body is not declared as JSON."),
        ("422", has_body, "The body is JSON of another shape: a member is missing or has another type."),
        (
            "429",
            path.starts_with("/api/"),
            "A rate limit is used up: `RateLimit` names it, `Retry-After` says when to try again. Nothing was done.",
        ),
        (
            "503",
            is_about_a_table,
            "`tables_not_served`, `table_elsewhere`, `table_busy`, `too_many_tables`, `draining`: this node cannot do it now; or the store cannot be reached, or the server is overloaded. Try again after `Retry-After`.",
        ),
        (
            "504",
            is_about_a_table,
            "`table_silent`: the node that owns the table did not answer, and it is unknown whether the request was done. Check before trying again.",
        ),
        (
            "503",
            path.starts_with("/api/") && path != DOCUMENT_PATH,
            "The store cannot be reached, or the server is overloaded (`overloaded`); try again after `Retry-After`.",
        ),
    ];
    for (status, _, description) in common.into_iter().filter(|(_, applies, _)| *applies) {
        let refusal = || ResponseBuilder::new().description(description).build().into();
        operation.responses.responses.entry(status.to_owned()).or_insert_with(refusal);
    }
}

/// A refusal whose body is not described is a problem.
fn add_problems(operation: &mut Operation) {
    for (status, response) in &mut operation.responses.responses {
        if let RefOr::T(response) = response
            && status.starts_with(['4', '5'])
            && response.content.is_empty()
        {
            let schema = Ref::from_schema_name(Problem::name());
            response.content.insert(PROBLEM_JSON.to_owned(), ContentBuilder::new().schema(Some(schema)).build().into());
        }
    }
}

/// Whether a route needs a table, which may be on any node; a game's history is in the store.
fn is_about_a_table(path: &str) -> bool {
    ["/api/stories/games", "/api/stories/tables"].iter().any(|begin| path.starts_with(begin))
        && !path.ends_with("/history")
}
