//! The rate limiter over HTTP, for others to put in front of theirs. Answered at the front desk, before any router.

use super::front::AnswerBody;
use crate::app::App;
use http::{Request, Response};
use utoipa_axum::router::OpenApiRouter;

/// Where the rate limiter answers.
pub(super) struct Desk;

/// A route of the desk's. There is none yet.
pub(super) enum Route {}

impl Desk {
    pub(super) fn new(_app: &App) -> Self {
        Self
    }

    pub(super) fn route(&self, _path: &str) -> Option<Route> {
        None
    }

    pub(super) async fn answer<B>(&self, route: Route, _request: Request<B>) -> Response<AnswerBody> {
        match route {}
    }
}

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
}
