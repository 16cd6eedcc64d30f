//! What the gateway, the spectators' streams and the chores record: requests, connections, refusals.

use super::{BodyFigures, BudgetFigures, ByStatus, Decisions, Metrics, Overload, ResponseMetrics};
use std::sync::Arc;
use std::time::Duration;

impl Metrics {
    /// A request was answered. `route` is the router's pattern, never the path that a client chose.
    pub fn http_answered(&self, route: &str, status: u16, took: Duration) {
        self.core.http_requests.inc(route, status);
        self.core.http_request.observe(took);
    }

    /// The same for whoever answers a route so often that looking its counters up shows.
    pub fn http_answered_on_route(&self, route: &ByStatus, status: u16, took: Duration) {
        route.inc(status);
        self.core.http_request.observe(took);
    }

    /// A request that had to wait was answered.
    pub fn http_parked_answered(&self, route: Option<&ByStatus>, status: u16) {
        if let Some(route) = route {
            route.inc(status);
        }
    }

    /// A request that had to wait was held for so long, to its end.
    pub fn http_held(&self, held: Duration) {
        self.core.http_held.observe(held);
    }

    /// A request waits, and nothing but its connection is kept.
    pub fn http_parked(&self) {
        self.core.http_parked.inc();
    }

    /// It does so no longer.
    pub fn http_unparked(&self) {
        self.core.http_parked.dec();
    }

    /// The client of a request that waited went.
    pub fn http_parked_left(&self) {
        self.core.http_parked_left.inc();
    }

    /// Something open was ended with the token that it was opened by.
    pub fn grant_revoked(&self) {
        self.core.grants_revoked.inc();
    }

    /// A request was sent on to another node, and answered or not.
    pub fn forwarded(&self, is_answered: bool) {
        if is_answered { self.core.forwards.inc() } else { self.core.forwards_failed.inc() }
    }

    /// The counters of a route.
    #[must_use]
    pub fn http_route(&self, route: &str) -> Arc<ByStatus> {
        self.core.http_requests.counters(route)
    }

    /// What the rate limiter's policies say, by policy, class and outcome.
    #[must_use]
    pub fn decisions(&self) -> &Decisions {
        &self.core.limiter_decisions
    }

    /// The rate limiter decided.
    pub fn limiter_decided(&self, took: Duration) {
        self.core.limiter_decision.0.observe(took);
    }

    /// A connection of a client was accepted.
    pub fn http_connection_opened(&self) {
        self.core.http_connections_accepted.inc();
        self.core.http_connections.inc();
    }

    /// A connection of a client was closed.
    pub fn http_connection_closed(&self) {
        self.core.http_connections.dec();
    }

    /// A connection was refused: whoever came, or because its address has enough.
    pub fn http_connection_refused(&self, is_full: bool) {
        if is_full { self.core.http_refused_full.inc() } else { self.core.http_refused_address.inc() }
    }

    /// An idle connection was closed to make room.
    pub fn http_connection_closed_for_room(&self) {
        self.core.http_closed_for_room.inc();
    }

    /// Connections: how many are open, refused for want of room, refused for their address, closed to make room.
    #[must_use]
    pub fn http_connections(&self) -> [u64; 4] {
        let figures = &self.core;
        let open = u64::try_from(figures.http_connections.get()).unwrap_or_default();
        [open, figures.http_refused_full.get(), figures.http_refused_address.get(), figures.http_closed_for_room.get()]
    }

    /// A connection was closed because its client was too slow.
    pub fn http_timed_out(&self) {
        self.core.http_timeouts.inc();
    }

    /// A connection could not be accepted, for want of files or memory.
    pub fn accept_failed(&self) {
        self.core.accept_errors.inc();
    }

    /// A creation was refused because there was too much of this to do.
    pub fn shed(&self, overload: Overload) {
        self.core.shed.inc(overload);
    }

    /// What answers and replays cost.
    #[must_use]
    pub fn responses(&self) -> &Arc<ResponseMetrics> {
        &self.responses
    }

    /// What large answers under way hold.
    pub(crate) fn answer_budget(&self) -> BudgetFigures<'_> {
        let ResponseMetrics { bytes, refused, closed_for_room, .. } = &*self.responses;
        BudgetFigures { bytes, refused, closed_for_room }
    }

    /// What large bodies under way hold.
    pub(crate) fn body_budget(&self) -> BudgetFigures<'_> {
        let BodyFigures { bytes, refused, closed_for_room } = &self.bodies;
        BudgetFigures { bytes, refused, closed_for_room }
    }

    /// A spectator came.
    pub fn spectator_joined(&self) {
        self.core.spectators.inc();
    }

    /// A spectator went.
    pub fn spectator_left(&self) {
        self.core.spectators.dec();
    }

    /// A chore failed.
    pub fn job_failed(&self) {
        self.core.jobs_failed.inc();
    }

    /// A task that slept came so late to its turn.
    pub fn scheduler_delayed(&self, delay: Duration) {
        self.core.scheduler_delay.observe(delay);
    }
}
