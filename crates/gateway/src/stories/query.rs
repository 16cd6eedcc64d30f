//! The query parameters that a route accepts: those in its documentation. A misspelt parameter must not be taken for an absent one.

use crate::extract::refuse_unknown_query;
use axum::extract::{MatchedPath, Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::collections::HashMap;
use std::sync::Arc;
use utoipa::openapi::path::ParameterIn;
use utoipa::openapi::{OpenApi, RefOr};

/// The parameters of each route with GET; requests that change something have bodies, and none.
#[derive(Clone, Debug)]
pub(super) struct KnownParams(Arc<HashMap<String, Vec<String>>>);

impl KnownParams {
    /// The parameters in this document.
    pub(super) fn of(document: &OpenApi) -> Self {
        let routes = document.paths.paths.iter().map(|(path, item)| {
            let parameters = item.get.iter().flat_map(|get| get.parameters.iter().flatten());
            let names = parameters.filter_map(|parameter| match parameter {
                RefOr::T(parameter) if parameter.parameter_in == ParameterIn::Query => Some(parameter.name.clone()),
                RefOr::T(_) | RefOr::Ref(_) => None,
            });
            (path.clone(), names.collect())
        });
        Self(Arc::new(routes.collect()))
    }

    fn of_route(&self, method: &Method, path: Option<&MatchedPath>) -> &[String] {
        let is_read = method.is_safe();
        path.filter(|_| is_read).and_then(|path| self.0.get(path.as_str())).map_or(&[], Vec::as_slice)
    }
}

/// Refuses a request whose query has a parameter that its route does not know. A layer for the routes.
pub(super) async fn refuse_unknown(State(known): State<KnownParams>, request: Request, next: Next) -> Response {
    let known = known.of_route(request.method(), request.extensions().get::<MatchedPath>());
    match refuse_unknown_query(request.uri(), known) {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    }
}
