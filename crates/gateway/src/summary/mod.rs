//! What goes on at this server, for everyone: one summary, and the feed of it. It is public and the same for every client, so that it is
//! rendered once for all of them, at most once a second, and only while a viewer looks.

mod featured;
mod feed;
mod figures;

use crate::app::App;
use crate::client_address::ClientAddress;
use crate::event_stream;
use crate::listener::park::{MaybePark, ParkMarker};
use crate::problem::{ApiError, ApiResult};
use crate::revocation::PublicGrant;
use crate::spectate::spectator_refusal;
use crate::summaries::{SUMMARY_INTERVAL, Subscription};
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, Method, header};
use axum::response::{IntoResponse, Response};
use engine::limits::FEED_HEARTBEAT_INTERVAL;
use feed::SummaryStream;
use tokio::time::sleep;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use wire::api::Summary;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(get_summary)).routes(routes!(get_feed))
}

/// What goes on here
///
/// Public, and of public things alone. At most a second old. All figures are of all nodes, but for the server's health, and the movers of a
/// world, which the node alone knows that has the world.
#[utoipa::path(get, path = "/api/summary", tag = "summary", responses(
    (status = 200, description = "The summary.", body = Summary),
    (status = 503, description = "The store cannot be reached"),
))]
async fn get_summary(State(app): State<App>) -> ApiResult<Response> {
    let newest = app.summaries.newest(figures::read(&app)).await?;
    let headers = [(header::CONTENT_TYPE, JSON), (header::CACHE_CONTROL, NO_STORE)];
    Ok((headers, Body::from(newest.json.clone())).into_response())
}

/// What goes on here, as it changes
///
/// Server-Sent Events: the summary at once, then each new one, at most once a second; the same again after ten seconds without a change.
/// Slow readers get the newest only.
#[utoipa::path(get, path = "/api/summary/feed", operation_id = "get_summary_feed", tag = "summary", responses(
    (status = 200, description = "An event stream, whose data is a `Summary`.", body = Summary, content_type = "text/event-stream"),
    (status = 429, description = "`too_many_spectators`: from this address; or a rate limit. `Retry-After` says when to try again."),
    (status = 503, description = "`too_many_spectators`; or the store cannot be reached"),
))]
async fn get_feed(
    State(app): State<App>,
    client: ClientAddress,
    PublicGrant(grant): PublicGrant,
    method: Method,
    MaybePark(park_token): MaybePark,
) -> ApiResult<Response> {
    let Some(park_token) = park_token else {
        return match method {
            Method::HEAD => Ok(event_stream::head().map(|()| Body::empty())),
            _ => Err(ApiError::bad_value("body", "a stream is requested by a GET without a body")),
        };
    };
    let permit = app.spectators.acquire(client.address_key()).map_err(spectator_refusal)?;
    let stream = SummaryStream::new(subscribe(&app).await?, permit);
    Ok(ParkMarker::stream(park_token, event_stream::head(), FEED_HEARTBEAT_INTERVAL, grant.until_revoked(stream)))
}

/// What is newest now, and what follows.
async fn subscribe(app: &App) -> ApiResult<Subscription> {
    app.summaries.newest(figures::read(app)).await?;
    let (subscription, needs_task) = app.summaries.subscribe();
    if needs_task {
        tokio::spawn(make_while_subscribed(app.clone()));
    }
    Ok(subscription)
}

async fn make_while_subscribed(app: App) {
    let task = RunningTask(app);
    let app = &task.0;
    while !app.summaries.is_over() {
        sleep(SUMMARY_INTERVAL).await;
        if let Err(error) = app.summaries.newest(figures::read(app)).await {
            tracing::debug!(%error, "no summary");
        }
    }
}

/// After a panic, the next subscriber starts the task again.
struct RunningTask(App);

impl Drop for RunningTask {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.summaries.task_failed();
        }
    }
}
