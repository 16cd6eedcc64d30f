//! Counters with a label, each bounded: by a closed list, or by a number of routes beyond which all share one counter.

use super::instruments::{Counter, Gauge};
use super::text::{Exposed, FamilyKind, Page};
use engine::matches::entry::AnswerClass;
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

/// Kinds of things with a limit per address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuotaKind {
    /// Guests, created in an hour.
    Guests,
    /// Card tables, in memory or created in an hour.
    Tables,
    /// Hunts that are not over, or created in an hour.
    Hunts,
    /// Cells of hunts that are not over.
    Cells,
    /// Tickets that wait, or whose hunt is not over.
    Tickets,
    /// Worlds in memory.
    Worlds,
    /// Codes that were sent to sign in, valid or not.
    SignIns,
}

impl QuotaKind {
    pub const ALL: [Self; 7] =
        [Self::Guests, Self::Tables, Self::Hunts, Self::Cells, Self::Tickets, Self::Worlds, Self::SignIns];

    /// The name in metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Guests => "guests",
            Self::Tables => "tables",
            Self::Hunts => "hunts",
            Self::Cells => "cells",
            Self::Tickets => "tickets",
            Self::Worlds => "worlds",
            Self::SignIns => "sign_ins",
        }
    }
}

/// Bots' answers by class.
#[derive(Debug, Default)]
pub struct ByClass([Counter; AnswerClass::ALL.len()]);

impl ByClass {
    pub fn inc(&self, class: AnswerClass) {
        if let Some(at) = AnswerClass::ALL.into_iter().position(|known| known == class) {
            self.0[at].inc();
        }
    }
}

impl Exposed for ByClass {
    fn expose(&self, page: &mut Page, name: &str, help: &str) {
        page.head(name, help, FamilyKind::Counter);
        for (class, counter) in AnswerClass::ALL.into_iter().zip(&self.0) {
            if !matches!(class, AnswerClass::Valid | AnswerClass::Late | AnswerClass::ServerFault) {
                page.sample(&[("class", class.name())], counter.get());
            }
        }
    }
}

/// Refusals by quota.
#[derive(Debug, Default)]
pub struct ByKind([Counter; QuotaKind::ALL.len()]);

impl ByKind {
    pub fn inc(&self, kind: QuotaKind) {
        if let Some(at) = QuotaKind::ALL.into_iter().position(|known| known == kind) {
            self.0[at].inc();
        }
    }

    /// Refusals of all kinds.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().map(Counter::get).sum()
    }
}

impl Exposed for ByKind {
    fn expose(&self, page: &mut Page, name: &str, help: &str) {
        page.head(name, help, FamilyKind::Counter);
        for (kind, counter) in QuotaKind::ALL.into_iter().zip(&self.0) {
            page.sample(&[("kind", kind.name())], counter.get());
        }
    }
}

/// How handshakes of TLS end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handshake {
    Completed,
    /// The client refused, or what it sent was refused.
    Failed,
    /// It took too long, or the process drained.
    TimedOut,
    /// The client spoke HTTP without TLS.
    PlainText,
}

impl Handshake {
    const ALL: [(Self, &'static str); 4] = [
        (Self::Completed, "completed"),
        (Self::Failed, "failed"),
        (Self::TimedOut, "timed_out"),
        (Self::PlainText, "plain_text"),
    ];
}

/// Handshakes by outcome.
#[derive(Debug, Default)]
pub struct ByOutcome([Counter; Handshake::ALL.len()]);

impl ByOutcome {
    pub fn inc(&self, outcome: Handshake) {
        self.0[outcome as usize].inc();
    }
}

impl Exposed for ByOutcome {
    fn expose(&self, page: &mut Page, name: &str, help: &str) {
        page.head(name, help, FamilyKind::Counter);
        for ((_, outcome), counter) in Handshake::ALL.into_iter().zip(&self.0) {
            page.sample(&[("outcome", outcome)], counter.get());
        }
    }
}

/// What became of a connection on which a trusted proxy must send a header of the PROXY protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyHeaderOutcome {
    /// The header named a client.
    Client,
    /// It named none: the connection is the proxy's own.
    Local,
    /// The connection did not begin with a header.
    Missing,
    /// The header is of another version of the protocol.
    Version,
    /// What follows the version is not as specified.
    Malformed,
    /// It is longer than allowed.
    TooLong,
    /// Its checksum is not that of its bytes.
    Checksum,
    /// The connection ended within it.
    Incomplete,
    /// It did not come in time.
    TimedOut,
    /// It had not come when too many connections waited for theirs, this one for longest.
    Displaced,
}

impl ProxyHeaderOutcome {
    const ALL: [(Self, &'static str); 10] = [
        (Self::Client, "client"),
        (Self::Local, "local"),
        (Self::Missing, "missing"),
        (Self::Version, "version"),
        (Self::Malformed, "malformed"),
        (Self::TooLong, "too_long"),
        (Self::Checksum, "checksum"),
        (Self::Incomplete, "incomplete"),
        (Self::TimedOut, "timed_out"),
        (Self::Displaced, "displaced"),
    ];
}

/// Headers of the PROXY protocol by outcome.
#[derive(Debug, Default)]
pub struct ProxyHeaders([Counter; ProxyHeaderOutcome::ALL.len()]);

impl ProxyHeaders {
    pub fn inc(&self, outcome: ProxyHeaderOutcome) {
        self.0[outcome as usize].inc();
    }
}

impl Exposed for ProxyHeaders {
    fn expose(&self, page: &mut Page, name: &str, help: &str) {
        page.head(name, help, FamilyKind::Counter);
        for ((_, outcome), counter) in ProxyHeaderOutcome::ALL.into_iter().zip(&self.0) {
            page.sample(&[("outcome", outcome)], counter.get());
        }
    }
}

/// What is deleted by itself because it is old.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetiredKind {
    Matches,
    StoryGames,
    /// One-time codes and sessions.
    Codes,
    Hunts,
    Bans,
    AuditEntries,
    /// Duels and tournaments.
    Competitions,
    /// Standings of Stories and hunters of guests who cannot come back.
    Guests,
    /// What deleted accounts had.
    Accounts,
}

impl RetiredKind {
    pub const ALL: [Self; 9] = [
        Self::Matches,
        Self::StoryGames,
        Self::Codes,
        Self::Hunts,
        Self::Bans,
        Self::AuditEntries,
        Self::Competitions,
        Self::Guests,
        Self::Accounts,
    ];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Matches => "matches",
            Self::StoryGames => "story_games",
            Self::Codes => "codes",
            Self::Hunts => "hunts",
            Self::Bans => "bans",
            Self::AuditEntries => "audit_entries",
            Self::Competitions => "competitions",
            Self::Guests => "guests",
            Self::Accounts => "accounts",
        }
    }
}

/// What was deleted, by kind.
#[derive(Debug, Default)]
pub struct RetiredByKind([Counter; RetiredKind::ALL.len()]);

impl RetiredByKind {
    pub fn add(&self, kind: RetiredKind, count: usize) {
        self.0[kind as usize].add(count as u64);
    }
}

impl Exposed for RetiredByKind {
    fn expose(&self, page: &mut Page, name: &str, help: &str) {
        page.head(name, help, FamilyKind::Counter);
        for (kind, counter) in RetiredKind::ALL.into_iter().zip(&self.0) {
            page.sample(&[("kind", kind.name())], counter.get());
        }
    }
}

/// By how many seconds what is oldest is older than it should get, by kind.
#[derive(Debug, Default)]
pub struct RetentionLag([Gauge; RetentionLag::KINDS.len()]);

impl RetentionLag {
    /// The kinds whose rows know when they ended.
    pub const KINDS: [RetiredKind; 4] =
        [RetiredKind::Matches, RetiredKind::StoryGames, RetiredKind::Hunts, RetiredKind::Competitions];

    /// In the order of [`Self::KINDS`].
    pub fn set(&self, lags_s: [u64; Self::KINDS.len()]) {
        for (gauge, lag_s) in self.0.iter().zip(lags_s) {
            gauge.set(lag_s);
        }
    }
}

impl Exposed for RetentionLag {
    fn expose(&self, page: &mut Page, name: &str, help: &str) {
        page.head(name, help, FamilyKind::Gauge);
        for (kind, gauge) in Self::KINDS.into_iter().zip(&self.0) {
            page.sample(&[("kind", kind.name())], gauge.get());
        }
    }
}

/// Routes that are counted separately. The gateway has fewer; further ones share [`OTHER`].
const ROUTES_MAX: usize = 256;
const OTHER: &str = "other";
const STATUSES: [&str; 6] = ["other", "1xx", "2xx", "3xx", "4xx", "5xx"];

/// The requests of one route, by class of status.
#[derive(Debug, Default)]
pub struct ByStatus([Counter; STATUSES.len()]);

impl ByStatus {
    pub fn inc(&self, status: u16) {
        let class = usize::from(status / 100);
        self.0[if class < STATUSES.len() { class } else { 0 }].inc();
    }
}

/// Requests by route and class of status.
#[derive(Debug, Default)]
pub struct ByRoute(RwLock<BTreeMap<Box<str>, Arc<ByStatus>>>);

impl ByRoute {
    /// `route` is a pattern of the router, never a path that a client chose.
    pub fn inc(&self, route: &str, status: u16) {
        if let Some(counters) = self.0.read().unwrap_or_else(PoisonError::into_inner).get(route) {
            return counters.inc(status);
        }
        self.counters(route).inc(status);
    }

    /// How many requests of all routes had a status of this class: 2 for 2xx, and so on.
    #[must_use]
    pub fn total(&self, class: usize) -> u64 {
        let routes = self.0.read().unwrap_or_else(PoisonError::into_inner);
        routes.values().filter_map(|counters| counters.0.get(class)).map(Counter::get).sum()
    }

    /// The counters of a route, for callers that count later, or too often to look them up.
    pub fn counters(&self, route: &str) -> Arc<ByStatus> {
        if let Some(counters) = self.0.read().unwrap_or_else(PoisonError::into_inner).get(route) {
            return counters.clone();
        }
        let mut routes = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let route = if routes.len() < ROUTES_MAX || routes.contains_key(route) { route } else { OTHER };
        routes.entry(route.into()).or_default().clone()
    }
}

impl Exposed for ByRoute {
    fn expose(&self, page: &mut Page, name: &str, help: &str) {
        page.head(name, help, FamilyKind::Counter);
        for (route, counters) in &*self.0.read().unwrap_or_else(PoisonError::into_inner) {
            let seen = STATUSES.iter().zip(&counters.0).filter(|(_, counter)| counter.get() > 0);
            seen.for_each(|(status, counter)| {
                page.sample(&[("route", route), ("status", status)], counter.get());
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the samples after these requests.
    #[track_caller]
    fn check(requests: &[(&str, u16)], want: &[&str]) {
        let by_route = ByRoute::default();
        requests.iter().for_each(|(route, status)| by_route.inc(route, *status));
        let mut page = Page::default();
        by_route.expose(&mut page, "r", "Requests.");
        assert_eq!(page.into_text().lines().skip(2).collect::<Vec<_>>(), want);
    }

    #[test]
    fn requests_are_counted_by_route_and_class_of_status() {
        check(&[], &[]);
        check(
            &[("/b", 200), ("/a", 404), ("/a", 400), ("/a", 201), ("/a", 999)],
            &[
                r#"r{route="/a",status="other"} 1"#,
                r#"r{route="/a",status="2xx"} 1"#,
                r#"r{route="/a",status="4xx"} 2"#,
                r#"r{route="/b",status="2xx"} 1"#,
            ],
        );
    }

    #[test]
    fn further_routes_take_no_more_memory() {
        let by_route = ByRoute::default();
        (0..10_000).for_each(|route| by_route.inc(&format!("/{route}"), 200));
        let routes = by_route.0.read().unwrap();
        assert_eq!((routes.len(), routes[OTHER].0[2].get()), (ROUTES_MAX + 1, 10_000 - ROUTES_MAX as u64));
    }
}
