//! The state of the server: health, readiness, metrics, configuration.
//!
//! `/metrics`, `/healthz` and `/readyz` are open to every client and disclose nothing about individual matches; `/api/admin/*` is for
//! operators.

mod ready;
mod stats;

use super::listener::park::{ParkMarker, Waited};
use super::problem::ApiResult;
use crate::app::App;
use crate::extract::Operator;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderName, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Json, Router};
use engine::rows::MatchCounts;
use metrics::{AllocatorStats, CONTENT_TYPE, FamilyKind, Metrics, Page, ProcessUsage};
use ready::Probe;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::timeout;
use utoipa::OpenApi;
use wire::api::{AdminStats, ConfigEntry, ConfigView, Readiness};

/// The header of `/healthz` that distinguishes this process from every other, also from an earlier one at the same address.
pub const PROCESS_ID: HeaderName = HeaderName::from_static("x-gauntlet-process-id");

/// `/metrics` does not wait longer than this for the store.
const STORE_STATS_WAIT: Duration = Duration::from_millis(500);

#[derive(OpenApi)]
#[openapi(paths(get_metrics, get_health, get_health_alias, get_readiness, get_stats, get_config))]
struct OpsDocument;

#[must_use]
pub fn openapi() -> utoipa::openapi::OpenApi {
    OpsDocument::openapi()
}

pub fn routes() -> Router<App> {
    Router::new()
        .route("/metrics", get(get_metrics))
        .route("/healthz", get(get_health))
        .route("/health", get(get_health_alias))
        .route("/readyz", get(get_readiness))
        .route("/api/admin/stats", get(get_stats))
        .route("/api/admin/config", get(get_config))
        .layer(Extension(Probe::default()))
}

/// Counts and times every request by its route. A layer for the whole router.
pub async fn measure(State(metrics): State<Arc<Metrics>>, request: Request, next: Next) -> Response {
    let began = Instant::now();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let response = next.run(request).await;
    let route = route.as_ref().map_or("none", MatchedPath::as_str);
    // The time for which a client waited for an event says nothing about the speed of the server.
    if let Some(park) = response.extensions().get::<ParkMarker>() {
        park.set_counters(metrics.process.http_requests.counters(route));
    } else if response.extensions().get::<Waited>().is_some() {
        metrics.http_parked_answered(Some(&metrics.process.http_requests.counters(route)), response.status().as_u16());
        metrics.process.http_held.observe(began.elapsed());
    } else {
        metrics.http_answered(route, response.status().as_u16(), began.elapsed());
    }
    response
}

/// All metrics of this process, for Prometheus
#[utoipa::path(get, path = "/metrics", tag = "ops", responses(
    (status = 200, description = "Metrics in Prometheus' text format.", body = String, content_type = "text/plain"),
))]
async fn get_metrics(State(app): State<App>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, CONTENT_TYPE)], metrics_page(&app).await.into_text())
}

/// All metrics of this process, with those of its store and of the system.
pub async fn metrics_page(app: &App) -> Page {
    let mut page = app.metrics.page();
    let waiting = Some(app.node.store.commands_waiting());
    page.number(
        "gauntlet_store_commands_waiting",
        "Commands that wait for the store's writer.",
        FamilyKind::Gauge,
        waiting,
    );
    let is_refusing = u64::from(app.node.store.refusal().is_some());
    page.number(
        "gauntlet_store_refusing",
        "Whether the store was lost, and every change is refused until it can be opened again.",
        FamilyKind::Gauge,
        Some(is_refusing),
    );
    let missing = app.node.store.missing_readers().map_or(0, |(count, _)| count);
    page.number(
        "gauntlet_store_readers_missing",
        "Readers of the store that cannot be opened now.",
        FamilyKind::Gauge,
        Some(missing),
    );
    let now = app.node.clock.now();
    let stats = timeout(STORE_STATS_WAIT, app.node.store.read(move |reader| reader.match_stats(now))).await;
    if let Ok(Ok(stats)) = stats {
        write_store_metrics(&mut page, &stats.counts, stats.orphaned);
    }
    write_process_metrics(&mut page, app);
    app.limits.write_metrics(&mut page);
    page
}

fn write_store_metrics(page: &mut Page, counts: &MatchCounts, orphaned: u64) {
    let by_state = [
        ("waiting", counts.waiting),
        ("running", counts.running),
        ("finished", counts.finished),
        ("failed", counts.failed),
        ("cancelled", counts.cancelled),
    ];
    page.gauges("gauntlet_matches", "Matches that the store knows, by state.", "state", by_state);
    let help = "Running matches whose worker's lease has ended.";
    page.number("gauntlet_matches_orphaned", help, FamilyKind::Gauge, Some(orphaned));
}

fn write_process_metrics(page: &mut Page, app: &App) {
    let own = ProcessUsage::read();
    let uptime_s = app.metrics.uptime(Instant::now()).as_secs_f64();
    page.number("process_resident_memory_bytes", "Memory in use, in bytes.", FamilyKind::Gauge, own.rss_bytes);
    page.number("process_cpu_seconds_total", "Processor time used, in seconds.", FamilyKind::Counter, own.cpu_s);
    page.number("process_threads", "Threads.", FamilyKind::Gauge, own.threads);
    page.number("process_open_fds", "Open files and sockets.", FamilyKind::Gauge, own.open_files);
    page.number(
        "process_max_fds",
        "Files and sockets that may be open.",
        FamilyKind::Gauge,
        Some(app.config.open_files_max),
    );
    if let Some(allocator) = AllocatorStats::read() {
        allocator.expose(page);
    }
    page.number(
        "process_uptime_seconds",
        "Time since the process began, in seconds.",
        FamilyKind::Gauge,
        Some(uptime_s),
    );
}

/// Whether this process is alive
#[utoipa::path(get, path = "/healthz", tag = "ops", responses(
    (status = 200, description = "It is alive.", body = String, content_type = "text/plain",
            headers(("x-gauntlet-process-id" = String, description = "A random number that distinguishes this process from every other"))),
))]
async fn get_health(State(app): State<App>) -> impl IntoResponse {
    ([(PROCESS_ID, format!("{:032x}", app.process_id))], "alive\n")
}

/// The same under the name that programs for this API ask for
#[utoipa::path(get, path = "/health", tag = "ops", responses(
    (status = 200, description = "It is alive.", body = String, content_type = "text/plain"),
))]
async fn get_health_alias(app: State<App>) -> impl IntoResponse {
    get_health(app).await
}

/// Whether this process is ready for work
#[utoipa::path(get, path = "/readyz", tag = "ops", responses(
    (status = 200, description = "It is ready.", body = Readiness),
    (status = 503, description = "It is not ready; the failed checks say why.", body = Readiness),
))]
async fn get_readiness(State(app): State<App>, Extension(probe): Extension<Probe>) -> (StatusCode, Json<Readiness>) {
    let readiness = ready::check_readiness(&app, &probe).await;
    let status = if readiness.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(readiness))
}

/// Statistics of this server
#[utoipa::path(get, path = "/api/admin/stats", tag = "admin", security(("bearer" = []), ("cookie" = [])), responses(
    (status = 200, description = "The statistics.", body = AdminStats),
))]
async fn get_stats(State(app): State<App>, Operator(_): Operator) -> ApiResult<Json<AdminStats>> {
    let now = app.node.clock.now();
    let stats = app.node.store.read(move |reader| reader.match_stats(now)).await?;
    Ok(Json(stats::view(&stats, &app, ProcessUsage::read(), Instant::now())))
}

/// The effective configuration, secrets masked
#[utoipa::path(get, path = "/api/admin/config", tag = "admin", security(("bearer" = []), ("cookie" = [])), responses(
    (status = 200, description = "Every setting, its value, and its source.", body = ConfigView),
))]
async fn get_config(State(app): State<App>, Operator(_): Operator) -> Json<ConfigView> {
    let entries = app.config.entries().into_iter();
    let entries =
        entries.map(|entry| ConfigEntry { key: entry.key.to_owned(), value: entry.value, source: entry.source });
    Json(ConfigView { entries: entries.collect() })
}
