//! Counters: incremented where it happens, read by `/metrics`. Knows no time; rates are the reader's business.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::fault::Fault;

/// Counters that all connections share.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) connections: AtomicU64,
    pub(crate) connections_closed: AtomicU64,
    /// Complete requests of any kind, refused ones included.
    pub(crate) requests: AtomicU64,
    /// Moves decided, faulty ones included.
    pub(crate) moves: AtomicU64,
    /// Requests answered with a status of 400 to 499.
    pub(crate) refused: AtomicU64,
    /// Moves that went wrong on purpose, by kind of fault.
    late: AtomicU64,
    garbage: AtomicU64,
    faults_refuse: AtomicU64,
    pub(crate) accept_errors: AtomicU64,
}

/// Adds one. Relaxed: nothing is ordered by these numbers.
pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Relaxed);
}

impl Counters {
    pub(crate) fn count_fault(&self, fault: Fault) {
        count(match fault {
            Fault::Late => &self.late,
            Fault::BrokenJson | Fault::NoSuchMove | Fault::Huge => &self.garbage,
            Fault::HangUp | Fault::ServerError => &self.faults_refuse,
        });
    }

    /// The Prometheus text format.
    pub(crate) fn exposition(&self) -> String {
        let value = |counter: &AtomicU64| counter.load(Relaxed);
        let connections = value(&self.connections);
        let open = connections.saturating_sub(value(&self.connections_closed));
        let mut text = String::with_capacity(1024);
        family(&mut text, "connections_open", "gauge", "Connections open now.", &[("", open)]);
        family(&mut text, "connections_total", "counter", "Connections accepted.", &[("", connections)]);
        family(&mut text, "requests_total", "counter", "Complete requests.", &[("", value(&self.requests))]);
        let moves = [("", value(&self.moves))];
        family(&mut text, "moves_total", "counter", "Moves decided, faulty ones included.", &moves);
        let refused = [("", value(&self.refused))];
        family(&mut text, "refused_total", "counter", "Requests answered with 4xx.", &refused);
        let faults = [
            ("{kind=\"late\"}", value(&self.late)),
            ("{kind=\"garbage\"}", value(&self.garbage)),
            ("{kind=\"refuse\"}", value(&self.faults_refuse)),
        ];
        family(&mut text, "faults_total", "counter", "Moves that went wrong on purpose.", &faults);
        let errors = [("", value(&self.accept_errors))];
        family(&mut text, "accept_errors_total", "counter", "Connections that could not be accepted.", &errors);
        text
    }
}

fn family(text: &mut String, name: &str, kind: &str, help: &str, samples: &[(&str, u64)]) {
    let name = format!("gauntlet_bots_{name}");
    writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}").expect("a String takes any text");
    for (labels, value) in samples {
        writeln!(text, "{name}{labels} {value}").expect("a String takes any text");
    }
}
