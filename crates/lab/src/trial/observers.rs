//! The scenario's observers: figures of the target's own endpoints, read periodically over the control client, so that
//! they are on the timeline with the load. Does not know what they mean.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior};

use crate::flag::{propagate_panic, wait_until_raised};
use crate::generator::ControlClient;
use crate::scenario::Observer;
use crate::work::read_json_with_timeout;

/// The latest figures, by observer and figure.
pub(crate) type LatestFigures = Arc<Mutex<BTreeMap<String, f64>>>;

/// What every read needs.
#[derive(Clone)]
pub(crate) struct Observers {
    pub(crate) client: Arc<ControlClient>,
    pub(crate) headers: http::HeaderMap,
    pub(crate) globals: BTreeMap<String, String>,
    pub(crate) start: Instant,
    pub(crate) latest: LatestFigures,
    pub(crate) read_failures: ReadFailures,
}

/// What could not be read, by its purpose: the first reason of each.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReadFailures(Arc<Mutex<BTreeMap<String, String>>>);

impl ReadFailures {
    pub(crate) fn record(&self, what: &str, why: impl FnOnce() -> String) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !all.contains_key(what) {
            all.insert(what.to_owned(), why());
        }
    }

    /// Each in a sentence.
    pub(crate) fn sentences(&self) -> Vec<String> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().map(|(what, why)| format!("{what} could not be read at least once; the first time: {why}")).collect()
    }
}

impl Observers {
    /// Reads until the trial is over.
    pub(crate) async fn run(self, observers: &[Observer], mut ended: watch::Receiver<bool>) {
        let mut reading = JoinSet::new();
        for observe in observers {
            let (readers, observe) = (self.clone(), observe.clone());
            reading.spawn(async move { readers.read_figures(&observe).await });
        }
        tokio::select! {
            () = wait_until_raised(&mut ended) => reading.shutdown().await,
            Some(ended) = reading.join_next() => propagate_panic(ended),
        }
    }

    async fn read_figures(&self, observe: &Observer) {
        let mut ticks = tokio::time::interval_at(self.start, observe.interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let within = observe.interval.max(Duration::from_millis(100));
            let answer =
                read_json_with_timeout(&self.client, &observe.path, &self.headers, &self.globals, within).await;
            let read = |pointer: &String| answer.as_ref().ok()?.pointer(pointer)?.as_f64();
            let missing = observe.figures.iter().find(|(_, pointer)| read(pointer).is_none());
            if let Some((figure, pointer)) = missing {
                self.read_failures.record(&format!("The observer `{}`", observe.name), || match &answer {
                    Err(why) => why.clone(),
                    Ok(_) => format!("the answer has no number for `{figure}` at {pointer}"),
                });
            }
            let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
            for (figure, pointer) in &observe.figures {
                let name = format!("{}.{figure}", observe.name);
                // What could not be read is missing from the row; it does not keep its previous value.
                match read(pointer) {
                    Some(value) => latest.insert(name, value),
                    None => latest.remove(&name),
                };
            }
        }
    }
}
