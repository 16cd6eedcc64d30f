//! The server's own totals, before and after, compared with the lab's counts. A difference is a finding: either work
//! was done that was not requested, or some was lost or counted twice.

use std::collections::BTreeMap;
use std::time::Duration;

use http::HeaderMap;
use serde_json::Value;

use crate::aggregate::{TotalsFigures, WorkFigures};
use crate::generator::{ControlClient, ControlRequest, excerpt};
use crate::scenario::{Scope, Template, WorkTotals};

/// Where the server's count and the lab's differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    pub count: &'static str,
    pub lab: u64,
    /// The server's; none if it could not be read.
    pub server: Option<i64>,
}

/// The target as the lab talks to it beside the load.
#[derive(Debug)]
pub struct ControlTarget {
    /// Its connections carry no load.
    pub client: ControlClient,
    /// Headers of every request.
    pub headers: HeaderMap,
    /// Values of the whole run.
    pub globals: BTreeMap<String, String>,
}

impl ControlTarget {
    /// A JSON document of the target, if it is received in time.
    pub(crate) async fn read_json(&self, path: &Template, timeout: Duration) -> Result<Value, String> {
        let path = path.render(&Scope::for_run(&self.globals))?;
        let parsed = path.parse().map_err(|_| format!("`{path}` is not a path"))?;
        let request = ControlRequest::get(parsed, self.headers.clone(), timeout);
        let response =
            self.client.send(&request).await.map_err(|failure| format!("GET {path}: {}", failure.message))?;
        if response.status != 200 {
            return Err(format!("GET {path} answered {}: {}", response.status, excerpt(&response.body)));
        }
        serde_json::from_slice(&response.body).map_err(|error| format!("GET {path}: not JSON ({error})"))
    }
}

/// Reads the server's totals from its response. A missing number is none, not zero.
#[must_use]
pub fn read_totals(totals: &WorkTotals, response: &Value) -> TotalsFigures {
    let sum = |pointers: &[String]| {
        let numbers = pointers.iter().map(|pointer| response.pointer(pointer).and_then(Value::as_i64));
        if pointers.is_empty() { None } else { numbers.sum::<Option<i64>>() }
    };
    TotalsFigures { created: sum(&totals.created), finished: sum(&totals.finished), failed: sum(&totals.failed) }
}

impl TotalsFigures {
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        let rise = |now: Option<i64>, before: Option<i64>| Some(now? - before?);
        Self {
            created: rise(self.created, before.created),
            finished: rise(self.finished, before.finished),
            failed: rise(self.failed, before.failed),
        }
    }
}

/// Every count of `totals` that differs from the lab's.
#[must_use]
pub fn reconcile(totals: &WorkTotals, work: &WorkFigures) -> Vec<Mismatch> {
    let server = work.totals.unwrap_or_default();
    let counts = [
        ("created", &totals.created, work.created, server.created),
        ("finished", &totals.finished, work.finished, server.finished),
        ("failed", &totals.failed, work.failed, server.failed),
    ];
    let stated = counts.into_iter().filter(|(_, pointers, ..)| !pointers.is_empty());
    let differs =
        stated.filter(|(_, _, lab, server)| server.and_then(|server| u64::try_from(server).ok()) != Some(*lab));
    differs.map(|(count, _, lab, server)| Mismatch { count, lab, server }).collect()
}
