//! The drive: takes arrivals off the plan when they are due and sends them on their journeys. An open loop: it
//! never waits for an answer before the next arrival; the only brake is the in-flight cap, and what waits there
//! is counted and keeps its intended moment. Refuses to know what the figures will say.

mod client;
mod exchange;
mod slots;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

pub use client::{Call, Client, Failure, Reply};
pub(crate) use exchange::{Answer, Exchange, excerpt, perform, target_headers};
pub use slots::{Slot, Slots};

use crate::flag::raised;
use crate::limits::INTERRUPT_GRACE;
use crate::plan::{Plan, phases::Arrival};
use crate::record::{Class, Recorder, Sample};
use crate::scenario::{Draw, Journey, Scenario, Scope};
use crate::work::Board;

/// Arrivals sent without a pause before other tasks get their turn.
const ARRIVALS_PER_TURN: u64 = 32;

/// Everything that arrivals share.
#[derive(Debug)]
pub struct Drive {
    /// The trial.
    pub scenario: Arc<Scenario>,
    /// The target.
    pub client: Client,
    /// Headers of every request.
    pub headers: HeaderMap,
    /// Values of the whole run.
    pub globals: BTreeMap<String, String>,
    /// The lists to pick from.
    pub picks: Vec<Vec<String>>,
    /// The id of the run.
    pub run_id: String,
    /// Where samples go.
    pub recorder: Arc<Recorder>,
    /// Where started work goes.
    pub board: Arc<Board>,
    /// The moment that the plan counts from.
    pub start: Instant,
}

impl Drive {
    /// Drives all phases to their end, or until `stop` says so.
    pub async fn run(self: &Arc<Self>, plans: Vec<Plan>, stop: &watch::Receiver<bool>) {
        let mut phases = JoinSet::new();
        for (phase, plan) in plans.into_iter().enumerate() {
            let (drive, stop) = (self.clone(), stop.clone());
            phases.spawn(async move { drive.run_phase(phase, plan, stop).await });
        }
        while let Some(ended) = phases.join_next().await {
            pass_panic_on(ended);
        }
    }

    async fn run_phase(self: Arc<Self>, phase: usize, mut plan: Plan, mut stop: watch::Receiver<bool>) {
        let spec = &self.scenario.phases[phase];
        let slots = Slots::new(spec.in_flight_max as usize, self.start);
        let mut journeys = JoinSet::new();
        while let Some(arrival) = plan.next() {
            let slot = tokio::select! {
                biased;
                () = raised(&mut stop) => {
                    self.count_not_sent(spec.journey, &arrival, plan);
                    break;
                }
                slot = self.await_turn(&arrival, &slots) => slot,
            };
            journeys.spawn(self.clone().run_arrival(arrival, slot));
            while let Some(ended) = journeys.try_join_next() {
                pass_panic_on(ended);
            }
            if arrival.index % ARRIVALS_PER_TURN == ARRIVALS_PER_TURN - 1 {
                tokio::task::yield_now().await;
            }
        }
        self.join(journeys, stop).await;
    }

    async fn await_turn(&self, arrival: &Arrival, slots: &Arc<Slots>) -> Slot {
        let due = self.start + arrival.intended;
        if Instant::now() < due {
            tokio::time::sleep_until(due).await;
        }
        let slot = slots.take().await;
        if slot.free_since > due {
            self.recorder.capped();
        }
        slot
    }

    fn count_not_sent(&self, journey: usize, arrival: &Arrival, rest: Plan) {
        let now = self.start.elapsed();
        let due = |arrival: &Arrival| arrival.intended <= now;
        let count = u64::from(due(arrival)) + rest.take_while(due).count() as u64;
        self.recorder.not_sent(journey, count);
    }

    /// Waits for journeys under way. After a stop they get a moment, then they are dropped and counted.
    async fn join(&self, mut journeys: JoinSet<()>, mut stop: watch::Receiver<bool>) {
        let grace = async {
            raised(&mut stop).await;
            tokio::time::sleep(INTERRUPT_GRACE).await;
        };
        tokio::pin!(grace);
        loop {
            tokio::select! {
                ended = journeys.join_next() => match ended {
                    Some(ended) => pass_panic_on(ended),
                    None => return,
                },
                () = &mut grace => {
                    self.recorder.abandoned(journeys.len() as u64);
                    return journeys.shutdown().await;
                }
            }
        }
    }

    async fn run_arrival(self: Arc<Self>, arrival: Arrival, slot: Slot) {
        let _under_way = self.recorder.under_way();
        let index = self.scenario.phases[arrival.phase].journey;
        let journey = &self.scenario.journeys[index];
        let (whole, error) = self.take_journey(index, journey, arrival, &slot).await;
        if let Some((step, failure)) = error {
            self.recorder.error(index, step, &failure);
        }
        self.recorder.sample(&whole);
    }

    /// Takes every step until one does not go well; gives the sample of the whole.
    async fn take_journey(
        &self,
        index: usize,
        journey: &Journey,
        arrival: Arrival,
        slot: &Slot,
    ) -> (Sample, Option<(usize, Failure)>) {
        let due = self.start + arrival.intended;
        let draw = Draw { run_id: &self.run_id, part: arrival.phase as u32, index: arrival.index, seed: arrival.seed };
        let mut kept = Vec::new();
        let mut whole: Option<Sample> = None;
        let mut step_due = arrival.intended;
        for (number, step) in journey.steps.iter().enumerate() {
            let scope = Scope { globals: &self.globals, kept: &kept, picks: &self.picks, feeds: &[], draw: Some(draw) };
            let exchange = perform(&self.client, step, &self.headers, &scope).await;
            let mut sample = self.sample(&exchange, arrival, index);
            sample.intended = step_due;
            sample.lag = match number {
                0 => exchange.sent.saturating_duration_since(due.max(slot.free_since)),
                _ => sample.sent.saturating_sub(step_due),
            };
            if journey.steps.len() > 1 {
                self.recorder.sample(&Sample { step: Some(number), ..sample });
            }
            step_due = sample.done;
            let so_far = match whole {
                None => sample,
                Some(first) => {
                    Sample { done: sample.done, class: sample.class, retries: first.retries + sample.retries, ..first }
                }
            };
            whole = Some(so_far);
            match exchange.outcome {
                Ok(Answer::Ok(new)) => kept.extend(new),
                Ok(Answer::Denied) => break,
                Err(failure) => return (so_far, Some((number, failure))),
            }
            self.note_work(step.starts.as_deref(), &kept, arrival.intended, sample.done);
        }
        let never = || self.nothing(arrival, index);
        (whole.unwrap_or_else(never), None)
    }

    fn note_work(&self, starts: Option<&str>, kept: &[(String, String)], intended: Duration, done: Duration) {
        let Some(work) = starts else { return };
        if let Some((_, id)) = kept.iter().rev().find(|(name, _)| name == work) {
            self.board.started(work, id, intended, done);
        }
    }

    fn sample(&self, exchange: &Exchange, arrival: Arrival, journey: usize) -> Sample {
        let since = |at: Instant| at.saturating_duration_since(self.start);
        Sample {
            sent: since(exchange.sent),
            first_byte: exchange.first_byte.map(since),
            done: since(exchange.done),
            retries: exchange.retries,
            class: match &exchange.outcome {
                Ok(Answer::Ok(_)) => Class::Ok,
                Ok(Answer::Denied) => Class::Denied,
                Err(failure) => Class::Error(failure.trouble),
            },
            ..self.nothing(arrival, journey)
        }
    }

    /// The sample of a journey without steps, which no scenario can state.
    fn nothing(&self, arrival: Arrival, journey: usize) -> Sample {
        let now = self.start.elapsed();
        Sample {
            phase: arrival.phase,
            index: arrival.index,
            journey,
            step: None,
            intended: arrival.intended,
            sent: now,
            first_byte: None,
            done: now,
            lag: Duration::ZERO,
            retries: 0,
            class: Class::Ok,
        }
    }
}

/// A panic in a task is a defect of the lab: it ends the trial instead of a sample.
fn pass_panic_on(ended: Result<(), tokio::task::JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        std::panic::resume_unwind(error.into_panic());
    }
}
