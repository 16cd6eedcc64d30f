//! Metrics of the gateway, the spectators' streams and the background jobs: requests, connections, refusals.

use super::{BodyFigures, BudgetFigures, ByStatus, Metrics, ResponseMetrics};
use std::time::Duration;

impl Metrics {
    /// A response was sent. `route` is the router's pattern, never the path that a client chose.
    pub fn http_answered(&self, route: &str, status: u16, took: Duration) {
        self.process.http_requests.inc(route, status);
        self.process.http_request.observe(took);
    }

    /// The same with a route's counters, for callers that are too frequent to look them up.
    pub fn http_answered_on_route(&self, route: &ByStatus, status: u16, took: Duration) {
        route.inc(status);
        self.process.http_request.observe(took);
    }

    /// A request that had to wait got its response.
    pub fn http_parked_answered(&self, route: Option<&ByStatus>, status: u16) {
        if let Some(route) = route {
            route.inc(status);
        }
    }

    /// A request was forwarded to another node, and answered or not.
    pub fn forwarded(&self, is_answered: bool) {
        if is_answered { self.process.forwards.inc() } else { self.process.forwards_failed.inc() }
    }

    pub fn http_connection_opened(&self) {
        self.process.http_connections_accepted.inc();
        self.process.http_connections.inc();
    }

    /// A connection was refused: because the server is full, or because its address has reached its limit.
    pub fn http_connection_refused(&self, is_full: bool) {
        if is_full { self.process.http_refused_full.inc() } else { self.process.http_refused_address.inc() }
    }

    /// Connections: how many are open, refused because the server is full, refused for their address, closed to make room.
    #[must_use]
    pub fn http_connections(&self) -> [u64; 4] {
        let metrics = &self.process;
        let open = u64::try_from(metrics.http_connections.get()).unwrap_or_default();
        [open, metrics.http_refused_full.get(), metrics.http_refused_address.get(), metrics.http_evicted.get()]
    }

    /// Metrics of large responses in flight.
    pub fn answer_budget(&self) -> BudgetFigures<'_> {
        let ResponseMetrics { bytes, refused, evicted, .. } = &*self.responses;
        BudgetFigures { bytes, refused, evicted }
    }

    /// Metrics of large bodies in flight.
    pub fn body_budget(&self) -> BudgetFigures<'_> {
        let BodyFigures { bytes, refused, evicted } = &self.bodies;
        BudgetFigures { bytes, refused, evicted }
    }
}
