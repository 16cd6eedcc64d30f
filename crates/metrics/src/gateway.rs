//! Metrics of the gateway, the spectators' streams and the background jobs: requests, connections, refusals.

use super::{BodyFigures, BudgetFigures, ByStatus, Decisions, Metrics, Overload, QuotaKind, ResponseMetrics};
use std::sync::Arc;
use std::time::Duration;

impl Metrics {
    /// The clients of an address have reached this quota.
    pub fn quota_exceeded(&self, kind: QuotaKind) {
        self.core.quota_exceeded.inc(kind);
    }

    /// A response was sent. `route` is the router's pattern, never the path that a client chose.
    pub fn http_answered(&self, route: &str, status: u16, took: Duration) {
        self.core.http_requests.inc(route, status);
        self.core.http_request.observe(took);
    }

    /// The same with a route's counters, for callers that are too frequent to look them up.
    pub fn http_answered_on_route(&self, route: &ByStatus, status: u16, took: Duration) {
        route.inc(status);
        self.core.http_request.observe(took);
    }

    /// A request that had to wait got its response.
    pub fn http_parked_answered(&self, route: Option<&ByStatus>, status: u16) {
        if let Some(route) = route {
            route.inc(status);
        }
    }

    /// The duration of a request that had to wait.
    pub fn http_held(&self, held: Duration) {
        self.core.http_held.observe(held);
    }

    /// A request is parked: only its connection is kept.
    pub fn http_parked(&self) {
        self.core.http_parked.inc();
    }

    /// A parked request has ended.
    pub fn http_unparked(&self) {
        self.core.http_parked.dec();
    }

    /// The client of a parked request disconnected.
    pub fn http_parked_left(&self) {
        self.core.http_parked_left.inc();
    }

    /// Something open was revoked with its credential.
    pub fn grant_revoked(&self) {
        self.core.grants_revoked.inc();
    }

    /// A request was forwarded to another node, and answered or not.
    pub fn forwarded(&self, is_answered: bool) {
        if is_answered { self.core.forwards.inc() } else { self.core.forwards_failed.inc() }
    }

    #[must_use]
    pub fn http_route(&self, route: &str) -> Arc<ByStatus> {
        self.core.http_requests.counters(route)
    }

    /// Decisions of the rate limiter's policies, by policy, class and outcome.
    #[must_use]
    pub fn decisions(&self) -> &Decisions {
        &self.core.limiter_decisions
    }

    pub fn limiter_decided(&self, took: Duration) {
        self.core.limiter_decision.0.observe(took);
    }

    pub fn http_connection_opened(&self) {
        self.core.http_connections_accepted.inc();
        self.core.http_connections.inc();
    }

    pub fn http_connection_closed(&self) {
        self.core.http_connections.dec();
    }

    /// A connection was refused: because the server is full, or because its address has reached its limit.
    pub fn http_connection_refused(&self, is_full: bool) {
        if is_full { self.core.http_refused_full.inc() } else { self.core.http_refused_address.inc() }
    }

    /// An idle connection was closed to make room.
    pub fn http_connection_evicted(&self) {
        self.core.http_evicted.inc();
    }

    /// Connections: how many are open, refused because the server is full, refused for their address, closed to make room.
    #[must_use]
    pub fn http_connections(&self) -> [u64; 4] {
        let metrics = &self.core;
        let open = u64::try_from(metrics.http_connections.get()).unwrap_or_default();
        [open, metrics.http_refused_full.get(), metrics.http_refused_address.get(), metrics.http_evicted.get()]
    }

    /// A connection was closed because its client was too slow.
    pub fn http_timed_out(&self) {
        self.core.http_timeouts.inc();
    }

    /// A connection could not be accepted, for lack of files or memory.
    pub fn accept_failed(&self) {
        self.core.accept_errors.inc();
    }

    /// A creation was refused because of this overload.
    pub fn shed(&self, overload: Overload) {
        self.core.shed.inc(overload);
    }

    /// Metrics of responses and replays.
    #[must_use]
    pub fn responses(&self) -> &Arc<ResponseMetrics> {
        &self.responses
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

    pub fn spectator_joined(&self) {
        self.core.spectators.inc();
    }

    pub fn spectator_left(&self) {
        self.core.spectators.dec();
    }

    pub fn job_failed(&self) {
        self.core.jobs_failed.inc();
    }

    /// A sleeping task woke this late.
    pub fn scheduler_delayed(&self, delay: Duration) {
        self.core.scheduler_delay.observe(delay);
    }
}
