//! The scenario's observers: figures of the target's own endpoints, read periodically over the control client, so that
//! they are on the timeline with the load. Does not know what they mean.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use super::run_context::RunContext;
use crate::scenario::Observer;

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
    let observers = context.scenario.observers.iter();
    tokio::select! {
        () = ended.cancelled() => {}
        _ = join_all(observers.map(|observer| read_figures(context, observer, observations))) => {}
    }
}

async fn read_figures(context: &RunContext, observer: &Observer, observations: &Observations) {
    let mut ticks = tokio::time::interval_at(context.start, observer.interval);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let timeout = observer.interval.max(Duration::from_millis(100));
    loop {
        ticks.tick().await;
        let answer = context.prepared.target.read_json(&observer.path, timeout).await;
        let read = |pointer: &String| answer.as_ref().ok()?.pointer(pointer)?.as_f64();
        let missing = observer.figures.iter().find(|(_, pointer)| read(pointer).is_none());
        if let Some((figure, pointer)) = missing {
            observations.record_failure(&format!("The observer `{}`", observer.name), || match &answer {
                Err(why) => why.clone(),
                Ok(_) => format!("the answer has no number for `{figure}` at {pointer}"),
            });
        }
        let mut latest = observations.latest();
        for (figure, pointer) in &observer.figures {
            let name = format!("{}.{figure}", observer.name);
            // What could not be read is missing from the row; it does not keep its previous value.
            match read(pointer) {
                Some(value) => latest.insert(name, value),
                None => latest.remove(&name),
            };
        }
    }
}
