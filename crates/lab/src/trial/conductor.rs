//! The conductor: hands legs to the crew when their time comes, listens to what the workers report, and knows when every
//! part is over. Levels of a ladder and of a search begin when the one before has ended; everything whose length is
//! known is handed over at once. Refuses to measure: the workers do.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::search;
use super::stage::Log;
use crate::drive::{Crew, Report};
use crate::edge::Outcome;
use crate::flag::raised;
use crate::limits::INTERRUPT_GRACE;
use crate::plan::{Leg, Schedule};
use crate::record::timeline::{PartRow, Row};
use crate::record::Recorder;
use crate::scenario::{Arrivals, Each, Every, Phase, Scenario, mix};
use crate::work::Board;

/// From handing a leg over to its first moment, so that every worker has it in time.
const LEAD: Duration = Duration::from_millis(20);

/// Everything that phases share.
pub(crate) struct Conductor {
    pub(crate) scenario: Arc<Scenario>,
    pub(crate) crew: Crew,
    pub(crate) workers: u32,
    pub(crate) recorder: Arc<Recorder>,
    pub(crate) board: Arc<Board>,
    pub(crate) log: Arc<Log>,
    pub(crate) start: Instant,
    pub(crate) seed: u64,
    /// Rung when a part is over.
    pub(crate) part_over: Notify,
    /// What the searches found, by phase.
    pub(crate) edges: Mutex<BTreeMap<String, Outcome>>,
}

impl Conductor {
    /// Drives all phases to their end, or until `stop` says so; then the crew goes home.
    pub(crate) async fn conduct(self: &Arc<Self>, mut stop: watch::Receiver<bool>) {
        tokio::select! {
            biased;
            () = raised(&mut stop) => {}
            () = self.phases() => {}
        }
        self.crew.stop(INTERRUPT_GRACE);
    }

    /// Takes reports until the whole crew is gone.
    ///
    /// # Errors
    /// The sentence of a worker that cannot go on.
    pub(crate) async fn listen(&self, mut reports: mpsc::UnboundedReceiver<Report>) -> Result<(), String> {
        let mut ended = 0;
        while let Some(report) = reports.recv().await {
            match report {
                Report::Interval(interval) => self.recorder.take(&interval),
                Report::Started(begun) => {
                    for piece in begun {
                        self.board.tracker(piece.work).started(&piece.id, piece.intended, piece.done);
                    }
                }
                Report::Over { part, at, not_sent, .. } => self.note_over(part, at, not_sent),
                Report::Broken { message, .. } => return Err(message),
                Report::Ended { .. } => {
                    ended += 1;
                    if ended == self.workers {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    fn note_over(&self, part: u32, at: Duration, not_sent: u64) {
        if !self.recorder.book(|book| book.over(part, self.workers, at, not_sent)) {
            return;
        }
        if let Some(figures) = self.recorder.book(|book| book.figures(part)) {
            self.log.write(&Row::Part(PartRow {
                t_s: figures.start_s + figures.length_s,
                part,
                phase: figures.phase,
                label: figures.label,
                over: true,
            }));
        }
        self.part_over.notify_waiters();
    }

    /// Phases one after the other; those with a moment of their own beside them.
    async fn phases(self: &Arc<Self>) {
        let mut beside = JoinSet::new();
        let mut next = Duration::ZERO;
        let mut open = Vec::new();
        for (place, phase) in self.scenario.phases.iter().enumerate() {
            match phase.at {
                Some(at) => {
                    let conductor = self.clone();
                    beside.spawn(async move {
                        let (parts, _) = conductor.phase(place, at).await;
                        conductor.await_over(&parts).await;
                    });
                }
                None => {
                    let (parts, end) = self.phase(place, next + phase.after).await;
                    open.extend(parts);
                    next = end;
                }
            }
        }
        self.await_over(&open).await;
        while let Some(ended) = beside.join_next().await {
            crate::flag::pass_panic_on(ended);
        }
    }

    /// Hands a phase over; gives its parts, and the moment from which the next one counts.
    async fn phase(&self, place: usize, start: Duration) -> (Vec<u32>, Duration) {
        let phase = &self.scenario.phases[place];
        let first = self.first_part(place);
        match &phase.arrivals {
            Arrivals::Batch { batch, every: Every::Done, times } => {
                let burst = Schedule::Bursts { batch: *batch, every: Duration::ZERO, times: 1 };
                self.in_turn(place, start, Duration::ZERO, (0..*times).map(|_| burst.clone())).await
            }
            Arrivals::Ladder { levels, each, pause } => {
                let levels = levels.iter().map(|clients| Schedule::Clients { clients: *clients, each: *each });
                self.in_turn(place, start, *pause, levels).await
            }
            Arrivals::Edge(edge) => {
                self.sleep_until(start).await;
                let (parts, outcome) = search::search(self, place, first, edge).await;
                match outcome {
                    Ok(outcome) => {
                        self.edges.lock().unwrap_or_else(PoisonError::into_inner).insert(phase.name.clone(), outcome);
                    }
                    Err(mistakes) => mistakes.into_iter().for_each(|mistake| self.note(mistake)),
                }
                (parts, self.start.elapsed())
            }
            known => match known.schedule() {
                Some(schedule) => {
                    let leg = self.leg(place, first, start, schedule);
                    let parts = self.hand_over(leg.clone());
                    match leg.length() {
                        Some(length) => (parts, start + length),
                        None => {
                            self.await_over(&parts).await;
                            (parts, self.start.elapsed())
                        }
                    }
                }
                None => (Vec::new(), start),
            },
        }
    }

    /// One leg after another, each when the one before is over.
    async fn in_turn(
        &self,
        place: usize,
        start: Duration,
        pause: Duration,
        schedules: impl Iterator<Item = Schedule>,
    ) -> (Vec<u32>, Duration) {
        let mut parts = Vec::new();
        let mut start = start;
        for (number, schedule) in schedules.enumerate() {
            self.sleep_until(start).await;
            let leg = self.leg(place, self.first_part(place) + number as u32, start, schedule);
            let part = self.hand_over(leg);
            self.await_over(&part).await;
            parts.extend(part);
            start = self.start.elapsed() + pause + LEAD;
        }
        (parts, self.start.elapsed())
    }

    /// Hands a leg to every worker, and opens the book for its parts.
    pub(crate) fn hand_over(&self, leg: Leg) -> Vec<u32> {
        let phase = &self.scenario.phases[leg.phase];
        let specs = part_specs(&leg, phase);
        let parts = specs.iter().map(|spec| spec.part).collect();
        for spec in specs {
            self.log.write(&Row::Part(PartRow {
                t_s: spec.start.as_secs_f64(),
                part: spec.part,
                phase: spec.phase.clone(),
                label: spec.label.clone(),
                over: false,
            }));
            self.recorder.book(|book| book.begin(spec));
        }
        self.crew.send(leg);
        parts
    }

    pub(crate) fn leg(&self, place: usize, part: u32, start: Duration, schedule: Schedule) -> Leg {
        let phase = &self.scenario.phases[place];
        Leg {
            phase: place,
            journey: phase.journey,
            part,
            start,
            schedule,
            in_flight_max: phase.in_flight_max,
            reconnect: phase.reconnect,
            seed: mix(mix(self.seed, place as u64 + 1), u64::from(part)),
        }
    }

    pub(crate) async fn await_over(&self, parts: &[u32]) {
        loop {
            // Registered before looking: a part that ends in between wakes us.
            let over = self.part_over.notified();
            tokio::pin!(over);
            over.as_mut().enable();
            if self.recorder.book(|book| parts.iter().all(|part| book.is_over(*part))) {
                return;
            }
            over.await;
        }
    }

    pub(crate) async fn sleep_until(&self, moment: Duration) {
        tokio::time::sleep_until((self.start + moment).checked_sub(LEAD).unwrap_or(self.start)).await;
    }

    /// What the searches found.
    pub(crate) fn take_edges(&self) -> BTreeMap<String, Outcome> {
        std::mem::take(&mut *self.edges.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Parts of a phase number on from those of the phases before it.
    fn first_part(&self, place: usize) -> u32 {
        self.scenario.phases[..place].iter().map(|phase| phase.arrivals.parts()).sum()
    }
}
