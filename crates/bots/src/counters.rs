//! Counters: incremented where it happens, read by `/metrics` and once more at the end. Knows no time; rates are the
//! reader's business.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::fault::Fault;

/// Counters that all connections share.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) connections: AtomicU64,
    pub(crate) connections_closed: AtomicU64,
    pub(crate) requests: AtomicU64,
    pub(crate) moves: AtomicU64,
    pub(crate) refused: AtomicU64,
    late: AtomicU64,
    garbage: AtomicU64,
    faults_refuse: AtomicU64,
    pub(crate) accept_errors: AtomicU64,
}

/// What a server did in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Connections accepted.
    pub connections: u64,
    /// Complete requests of any kind, the refused ones too.
    pub requests: u64,
    /// Moves decided, the faulty ones too.
    pub moves: u64,
    /// Requests answered with a status of 400 to 499.
    pub refused: u64,
    /// Moves held back beyond their timeout on purpose.
    pub faults_late: u64,
    /// Moves answered with nonsense on purpose.
    pub faults_garbage: u64,
    /// Moves not answered, or with status 500, on purpose.
    pub faults_refuse: u64,
    /// Connections that could not be accepted.
    pub accept_errors: u64,
}

/// Adds one. Relaxed: nothing is ordered by these numbers.
pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Relaxed);
}

impl Counters {
    pub(crate) fn count_fault(&self, fault: Fault) {
        count(match fault {
            Fault::Late => &self.late,
            Fault::Garbage(_) => &self.garbage,
            Fault::Refuse(_) => &self.faults_refuse,
        });
    }

    pub(crate) fn totals(&self) -> Totals {
        Totals {
            connections: self.connections.load(Relaxed),
            requests: self.requests.load(Relaxed),
            moves: self.moves.load(Relaxed),
            refused: self.refused.load(Relaxed),
            faults_late: self.late.load(Relaxed),
            faults_garbage: self.garbage.load(Relaxed),
            faults_refuse: self.faults_refuse.load(Relaxed),
            accept_errors: self.accept_errors.load(Relaxed),
        }
    }

    /// The Prometheus text format.
    pub(crate) fn exposition(&self) -> String {
        let totals = self.totals();
        let open = totals.connections.saturating_sub(self.connections_closed.load(Relaxed));
        let mut text = String::with_capacity(1024);
        family(&mut text, "connections_open", "gauge", "Connections open now.", &[("", open)]);
        family(&mut text, "connections_total", "counter", "Connections accepted.", &[("", totals.connections)]);
        family(&mut text, "requests_total", "counter", "Complete requests.", &[("", totals.requests)]);
        family(&mut text, "moves_total", "counter", "Moves decided, faulty ones included.", &[("", totals.moves)]);
        family(&mut text, "refused_total", "counter", "Requests answered with 4xx.", &[("", totals.refused)]);
        let faults = [
            ("{kind=\"late\"}", totals.faults_late),
            ("{kind=\"garbage\"}", totals.faults_garbage),
            ("{kind=\"refuse\"}", totals.faults_refuse),
        ];
        family(&mut text, "faults_total", "counter", "Moves that went wrong on purpose.", &faults);
        let errors = [("", totals.accept_errors)];
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
