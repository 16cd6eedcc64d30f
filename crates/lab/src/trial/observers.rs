//! The scenario's observers: figures of the target's own endpoints, read periodically over the control client, so that
//! they are on the timeline with the load. Does not know what they mean.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::Value;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use super::run_context::RunContext;
use crate::scenario::{KnownValues, ORDER_FIGURES, Observer, spearman};

/// What was read from the target, and what could not be.
#[derive(Default)]
pub(super) struct Observations {
    /// The latest figures, by observer and figure.
    latest: Mutex<BTreeMap<String, f64>>,
    /// The first reason of each failure, by the purpose of the read.
    failures: Mutex<BTreeMap<String, String>>,
}

impl Observations {
    pub(super) fn latest(&self) -> MutexGuard<'_, BTreeMap<String, f64>> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn record_failure(&self, what: &str, why: impl FnOnce() -> String) {
        let mut all = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        if !all.contains_key(what) {
            all.insert(what.to_owned(), why());
        }
    }

    /// Each failure in a sentence.
    pub(super) fn failure_notes(&self) -> Vec<String> {
        let all = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().map(|(what, why)| format!("{what} could not be read at least once; the first time: {why}")).collect()
    }
}

/// Reads until the trial is over.
pub(super) async fn observe(context: &RunContext, observations: &Observations, ended: &CancellationToken) {
    let observers = context.scenario.observers.iter().zip(&context.known_values);
    tokio::select! {
        () = ended.cancelled() => {}
        _ = join_all(observers.map(|(observer, known)| read_figures(context, observer, known, observations))) => {}
    }
}

async fn read_figures(context: &RunContext, observer: &Observer, known: &KnownValues, observations: &Observations) {
    let mut ticks = tokio::time::interval_at(context.start, observer.interval);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let figures = match Reading::of(context, observer, known).await {
            Ok(reading) => reading.figures(observer),
            Err(why) => observer.figure_names().map(|figure| (figure, Err(why.clone()))).collect(),
        };
        if let Some((_, Err(why))) = figures.iter().find(|(_, figure)| figure.is_err()) {
            observations.record_failure(&format!("The observer `{}`", observer.name), || why.clone());
        }
        let mut latest = observations.latest();
        for (figure, value) in figures {
            let name = format!("{}.{figure}", observer.name);
            // What could not be read is missing from the row; it does not keep its previous value.
            match value {
                Ok(value) => latest.insert(name, value),
                Err(_) => latest.remove(&name),
            };
        }
    }
}

/// What an observer read once.
struct Reading {
    document: Value,
    /// The true values of what is listed, in the order of the lists.
    listed: Vec<f64>,
}

impl Reading {
    async fn of(context: &RunContext, observer: &Observer, known: &KnownValues) -> Result<Self, String> {
        let timeout = observer.interval.max(Duration::from_millis(100));
        let document = context.prepared.target.read_json(&observer.path, timeout).await?;
        let listed = observer.order.as_ref().map(|order| order.listed(&document, known)).unwrap_or_default();
        Ok(Self { document, listed })
    }

    fn figures<'o>(&self, observer: &'o Observer) -> Vec<(&'o str, Result<f64, String>)> {
        let read = |(figure, pointer): &'o (String, String)| {
            let value = self.document.pointer(pointer).and_then(Value::as_f64);
            (figure.as_str(), value.ok_or_else(|| format!("the answer has no number for `{figure}` at {pointer}")))
        };
        let mut figures: Vec<_> = observer.figures.iter().map(read).collect();
        if observer.order.is_some() {
            let correlation = spearman(&self.listed);
            let why = || format!("an order of {} things of known value says nothing", self.listed.len());
            figures.push((ORDER_FIGURES[0], correlation.ok_or_else(why)));
            figures.push((ORDER_FIGURES[1], Ok(self.listed.len() as f64)));
        }
        figures
    }
}
