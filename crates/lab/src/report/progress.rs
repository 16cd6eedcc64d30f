//! A trial at one moment, also as plain lines of a given width. Does not know where the figures come from and
//! where they are shown.

use std::time::Duration;

use crate::findings::CurrentOutage;
use crate::format::{count, join_fitting, mebibytes, number, sanitize};
use crate::measurement::WorkPoint;

/// The indentation below the time on the first line.
const INDENT: &str = "       ";

/// A trial at one moment.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// Since the start of the plan.
    pub elapsed: Duration,
    /// When the last arrival of the plan is due, in seconds from its start; none if the plan has no end in time.
    pub planned_s: Option<f64>,
    /// The current load step: `burst 2`, `50 clients`; none between load steps.
    pub load_step: Option<String>,
    /// Arrivals in the whole plan; 0 if unknown in advance.
    pub planned_arrivals: u64,
    /// Arrivals that are over.
    pub done: u64,
    /// Requests that are over; none if every arrival is one request.
    pub requests: Option<u64>,
    /// Successful responses in the last second; none if the lab did not run.
    pub throughput_per_s: Option<f64>,
    /// The 99th percentile of the requests' latency in the last second, from the intended moment; none without a
    /// successful response.
    pub latency_p99_ms: Option<f64>,
    /// Arrivals in flight.
    pub in_flight: u64,
    /// Arrivals that are due and wait in the lab for a free slot.
    pub queued: u64,
    /// Connections that the lab holds.
    pub connections: u64,
    /// Long polls in flight.
    pub long_polls: u64,
    /// Of those that are over: errors.
    pub errors: u64,
    /// Of those that are over: denied.
    pub denied: u64,
    pub work: Vec<(String, WorkPoint)>,
    /// The target's memory.
    pub server_rss_bytes: Option<u64>,
    /// Cores that the target used in the last second.
    pub server_cpu_cores: Option<f64>,
    /// Whether the target answers no request, or none successfully, and since when: by the rule of the findings.
    pub outage: Option<CurrentOutage>,
    /// What has just happened, such as a fault that was carried out; each is shown once.
    pub notes: Vec<String>,
}

impl Progress {
    /// One line about requests, one about their speed, one about an outage if there is one, one about each kind of work
    /// and each note.
    pub(super) fn lines_within(&self, width: usize) -> Vec<String> {
        let line = |indent: &str, parts: &[String]| {
            format!("{indent}{}", join_fitting(parts, " · ", width.saturating_sub(indent.chars().count())))
        };
        let mut lines = vec![line("", &self.requests()), line(INDENT, &self.speed())];
        lines.extend(self.outage.map(|outage| line(INDENT, &[outage.to_string()])));
        lines.extend(self.work.iter().map(|(name, point)| {
            let mut parts = state_texts(point);
            parts[0] = format!("{}: {}", sanitize(name), parts[0]);
            line(INDENT, &parts)
        }));
        let room = width.saturating_sub(INDENT.len());
        lines.extend(
            self.notes.iter().map(|note| format!("{INDENT}{}", sanitize(note).chars().take(room).collect::<String>())),
        );
        lines
    }

    fn requests(&self) -> Vec<String> {
        let denied = if self.denied > 0 { format!("denied {}", count(self.denied)) } else { String::new() };
        vec![
            format!("{:>4} s", self.elapsed.as_secs()),
            self.plan_progress(),
            format!("in flight {}", count(self.in_flight)),
            format!("errors {}", count(self.errors)),
            denied,
            self.load_step.as_deref().map(sanitize).unwrap_or_default(),
        ]
    }

    /// How much of the plan is over.
    pub(super) fn plan_progress(&self) -> String {
        let of =
            if self.planned_arrivals > 0 { format!(" of {}", count(self.planned_arrivals)) } else { String::new() };
        match self.requests {
            None => format!("sent {}{of}", count(self.done)),
            Some(requests) => format!("requests {} · journeys {}{of}", count(requests), count(self.done)),
        }
    }

    fn speed(&self) -> Vec<String> {
        let queued = if self.queued > 0 { format!("queued {}", count(self.queued)) } else { String::new() };
        let waiting = if self.long_polls > 0 { format!("waiting {}", count(self.long_polls)) } else { String::new() };
        let word = if self.requests.is_some() { "answered" } else { "ok" };
        vec![
            format!("{word} {} a second", number(self.throughput_per_s.map(f64::round))),
            waiting,
            self.latency_p99_ms.map(|ms| format!("p99 {} ms", number(Some(ms)))).unwrap_or_default(),
            queued,
            self.server().unwrap_or_default(),
        ]
    }

    /// What the target uses.
    pub(super) fn server(&self) -> Option<String> {
        let memory = self.server_rss_bytes.map(mebibytes);
        let cores = self.server_cpu_cores.map(|cores| format!("{} cores", number(Some(cores))));
        let used: Vec<String> = [memory, cores].into_iter().flatten().collect();
        (!used.is_empty()).then(|| format!("server {}", used.join(", ")))
    }
}

/// The states of one kind of work; unusual states only if they occur, but then first.
pub(super) fn state_texts(point: &WorkPoint) -> Vec<String> {
    let WorkPoint { waiting, running, finished, failed, stuck, unknown, .. } = *point;
    let odd = [("failed", failed), ("stuck", stuck), ("unknown", unknown)].into_iter().filter(|(_, n)| *n > 0);
    let usual = [("waiting", waiting), ("running", running), ("finished", finished)];
    odd.chain(usual).map(|(word, n)| format!("{word} {}", count(n))).collect()
}
