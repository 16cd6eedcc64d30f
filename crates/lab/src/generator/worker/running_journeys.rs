//! Running journeys: arrivals in flight. Their memory is reused, and a timeout costs no more than two links of a list,
//! because requests with the same timeout expire in the order in which they were sent. Does not know connections.

use std::ops::Range;
use std::time::Duration;

use slotmap::SlotMap;

use super::exchange::{Exchange, KeptValues, StepOutcome};
use super::pacer::Purpose;
use super::pauses::PauseTracker;
use crate::generator::Failure;
use crate::generator::keys::{ConnectionKey, JourneyKey};
use crate::measurement::{Class, Sample};
use crate::plan::Arrival;
use crate::scenario::RepeatState;

/// An arrival in flight, or a client of a closed loop between two arrivals.
#[derive(Debug, Default)]
pub(super) struct RunningJourney {
    pub(super) arrival: Arrival,
    /// The index of its load at this worker.
    pub(super) load_index: usize,
    pub(super) journey_index: usize,
    pub(super) purpose: Purpose,
    /// The journey beside which it runs, if it is a background loop.
    pub(super) parent: Option<JourneyKey>,
    /// The held connection that it uses or opens, if the load holds connections.
    pub(super) held_index: u32,
    pub(super) step: usize,
    pub(super) step_state: StepState,
    /// The connection that it uses or used last.
    pub(super) connection: Option<ConnectionKey>,
    /// Retries in this step, and in all steps before.
    pub(super) retries: u64,
    pub(super) retries_before: u64,
    pub(super) times: JourneyTimes,
    /// The exchange of its step.
    pub(super) exchange: Exchange,
    pub(super) kept: KeptValues,
    /// How it lost its connection during a pause, where it must not use another one.
    pub(super) connection_failure: Option<Failure>,
    /// The index after its last step.
    pub(super) end_step: usize,
    pub(super) rounds: RepeatState,
    /// Its background loops.
    pub(super) background: Vec<JourneyKey>,
    /// How a background loop has failed.
    pub(super) background_outcome: Option<StepOutcome>,
    /// Since when it has watched for events, in microseconds of Unix time.
    pub(super) watching_since_unix_us: Option<i64>,
    /// The wake delay of the response, and the generator's own share of it.
    pub(super) wake_delay: Option<(Duration, Duration)>,
    timeout: Option<TimeoutNode>,
}

/// The state of the current step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum StepState {
    #[default]
    /// Nothing is started: a client between two journeys.
    Idle,
    /// In the pause before a step, or before a retry.
    Delayed,
    /// A request is in flight.
    Exchanging,
}

/// Times of a running journey, from the start of the plan.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct JourneyTimes {
    /// Since when only the worker itself has delayed it: it was due, and its slot was free.
    pub(super) ready_since: Duration,
    /// When its step was due, and was first sent.
    pub(super) step_due: Duration,
    pub(super) step_sent: Option<Duration>,
    /// When its first step was first sent, and received the head of its response.
    pub(super) sent: Option<Duration>,
    pub(super) head: Option<Duration>,
    /// How late it was sent because of the generator.
    pub(super) lag: Duration,
    /// The same for its step, counted from when the step was due.
    pub(super) step_lag: Duration,
    /// Since when its step waits behind a pause of the worker, if it does.
    pub(super) recovering_since: Option<Duration>,
    /// The generator's own share of its time until now, and of the time before it was sent.
    pub(super) generator_delay: Duration,
    pub(super) generator_delay_unsent: Duration,
}

impl JourneyTimes {
    /// The generator's own share of a step that is over now: it was sent late or waited behind a pause, or its response
    /// was there before the worker read it.
    pub(super) fn generator_delay_of_step(&self, now: Duration, pauses: &PauseTracker) -> Duration {
        let sent = self.step_sent.unwrap_or(now);
        let direct = self.step_lag + pauses.paused_between(sent, now);
        let behind = self.recovering_since.map_or(Duration::ZERO, |since| pauses.paused_between(since, now));
        direct.max(behind).min(now.saturating_sub(self.step_due))
    }
}

/// The links of a running journey in the list of its timeout.
#[derive(Clone, Copy, Debug)]
struct TimeoutNode {
    list: usize,
    deadline: Duration,
    previous: Option<JourneyKey>,
    next: Option<JourneyKey>,
    is_long_poll: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct TimeoutList {
    timeout: Duration,
    first: Option<JourneyKey>,
    last: Option<JourneyKey>,
}

#[derive(Debug, Default)]
pub(super) struct RunningJourneys {
    journeys: SlotMap<JourneyKey, RunningJourney>,
    spare: Vec<RunningJourney>,
    lists: Vec<TimeoutList>,
    pub(super) long_poll_count: u64,
    /// Requests in flight.
    pub(super) exchanging_count: u64,
    /// Requests that have ended.
    pub(super) exchanged: u64,
}

impl RunningJourney {
    /// Starts another journey in the same memory, which runs the `steps` of a journey with so many `repeats`.
    pub(super) fn restart(
        &mut self,
        purpose: Purpose,
        arrival: Arrival,
        ready_since: Duration,
        (steps, repeats): (Range<usize>, usize),
    ) {
        (self.purpose, self.parent, self.arrival) = (purpose, None, arrival);
        (self.step, self.end_step, self.retries, self.retries_before) = (steps.start, steps.end, 0, 0);
        (self.background_outcome, self.watching_since_unix_us, self.connection_failure) = (None, None, None);
        self.rounds.reset(repeats);
        self.background.clear();
        self.times = JourneyTimes { ready_since, step_due: arrival.intended, ..JourneyTimes::default() };
        self.kept.clear();
    }

    /// Prepares for sending the request of its step.
    pub(super) fn start_attempt(&mut self, now: Duration, pauses: &PauseTracker) {
        (self.step_state, self.wake_delay) = (StepState::Exchanging, None);
        self.exchange.start();
        let (intended, times) = (self.arrival.intended, &mut self.times);
        if times.step_sent.is_some() {
            return;
        }
        let is_first = times.sent.is_none();
        let (due, ready) = if is_first { (intended, times.ready_since) } else { (times.step_due, times.step_due) };
        let (waited, late) = (now.saturating_sub(due), now.saturating_sub(ready));
        times.step_sent = Some(now);
        times.recovering_since = pauses.recovering_since();
        times.step_lag = late.min(waited) + pauses.paused_between(due, ready.min(now));
        if is_first {
            let behind = times.recovering_since.map_or(Duration::ZERO, |since| pauses.paused_between(since, now));
            times.sent = Some(now);
            times.generator_delay_unsent = times.step_lag.max(behind).min(waited);
            times.lag = late.max(times.generator_delay_unsent);
        }
    }

    pub(super) fn is_background(&self) -> bool {
        self.parent.is_some()
    }

    /// The connection of its request in flight, which is of no use once nothing waits for the response.
    pub(super) fn take_busy_connection(&mut self) -> Option<ConnectionKey> {
        self.connection.take_if(|_| self.step_state == StepState::Exchanging)
    }

    /// How it ended, apart from its current step.
    pub(super) fn sample(&self, now: Duration, class: Class) -> Sample {
        Sample {
            index: self.arrival.index,
            journey: self.journey_index,
            step: None,
            intended: self.arrival.intended,
            sent: self.times.sent.unwrap_or(now),
            first_byte: self.times.head,
            done: now,
            lag: self.times.lag,
            generator_delay: self.times.generator_delay,
            generator_delay_service: self.times.generator_delay.saturating_sub(self.times.generator_delay_unsent),
            retries: self.retries_before + self.retries,
            class,
            is_long_poll: false,
            wake_delay: None,
            generator_delay_wake: Duration::ZERO,
        }
    }
}

impl RunningJourneys {
    /// Empty, with one list for each timeout.
    pub(super) fn new(timeouts: &[Duration]) -> Self {
        let list = |timeout: &Duration| TimeoutList { timeout: *timeout, ..TimeoutList::default() };
        Self { lists: timeouts.iter().map(list).collect(), ..Self::default() }
    }

    /// Adds a running journey that has not started.
    pub(super) fn add(&mut self, load_index: usize, journey_index: usize) -> JourneyKey {
        let spare = self.spare.pop().unwrap_or_default();
        let step_state = StepState::Idle;
        self.journeys.insert(RunningJourney { load_index, journey_index, step_state, connection: None, ..spare })
    }

    /// Removes a running journey; its memory is reused.
    pub(super) fn remove(&mut self, key: JourneyKey) {
        self.disarm(key);
        if let Some(mut running) = self.journeys.remove(key) {
            running.exchange.start();
            self.spare.push(running);
        }
    }

    pub(super) fn get(&self, key: JourneyKey) -> Option<&RunningJourney> {
        self.journeys.get(key)
    }

    pub(super) fn get_mut(&mut self, key: JourneyKey) -> Option<&mut RunningJourney> {
        self.journeys.get_mut(key)
    }

    pub(super) fn keys(&self) -> Vec<JourneyKey> {
        self.journeys.keys().collect()
    }

    /// Extends the timeouts of all requests in flight, but none beyond that of a request sent now.
    pub(super) fn extend_timeouts(&mut self, time: Duration, now: Duration) {
        for at in 0..self.lists.len() {
            let TimeoutList { timeout, first: mut next, .. } = self.lists[at];
            while let Some(node) = self.node(next) {
                node.deadline = (node.deadline + time).min(now + timeout);
                next = node.next;
            }
        }
    }

    /// Starts the timeout of a request that is sent now.
    pub(super) fn arm(&mut self, key: JourneyKey, list: usize, long_poll: bool, now: Duration) {
        self.disarm(key);
        let TimeoutList { timeout, last, .. } = self.lists[list];
        let Some(running) = self.journeys.get_mut(key) else { return };
        running.timeout =
            Some(TimeoutNode { list, deadline: now + timeout, previous: last, next: None, is_long_poll: long_poll });
        self.long_poll_count += u64::from(long_poll);
        self.exchanging_count += 1;
        match self.node(last) {
            Some(node) => node.next = Some(key),
            None => self.lists[list].first = Some(key),
        }
        self.lists[list].last = Some(key);
    }

    /// Stops the timeout.
    pub(super) fn disarm(&mut self, key: JourneyKey) {
        let node = self.journeys.get_mut(key).and_then(|running| running.timeout.take());
        let Some(TimeoutNode { list, previous: before, next: after, is_long_poll: long_poll, .. }) = node else {
            return;
        };
        self.long_poll_count -= u64::from(long_poll);
        self.exchanging_count -= 1;
        self.exchanged += 1;
        if let Some(node) = self.node(before) {
            node.next = after;
        }
        if let Some(node) = self.node(after) {
            node.previous = before;
        }
        let list = &mut self.lists[list];
        if before.is_none() {
            list.first = after;
        }
        if after.is_none() {
            list.last = before;
        }
    }

    fn node(&mut self, key: Option<JourneyKey>) -> Option<&mut TimeoutNode> {
        self.journeys.get_mut(key?)?.timeout.as_mut()
    }

    /// The running journey that times out first, and when.
    pub(super) fn next_timeout(&self) -> Option<(Duration, JourneyKey)> {
        let deadline = |key: JourneyKey| Some((self.journeys.get(key)?.timeout?.deadline, key));
        self.lists.iter().filter_map(|list| deadline(list.first?)).min()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_nearest_deadline_expires_first(
            acts in prop::collection::vec((0usize..8, 0usize..3, any::<bool>()), 0..60),
        ) {
            let timeouts = [5, 20, 30].map(Duration::from_millis);
            let mut running = RunningJourneys::new(&timeouts);
            let keys: Vec<JourneyKey> = (0..8).map(|_| running.add(0, 0)).collect();
            let mut deadlines = [None; 8];
            let mut waiting = [false; 8];
                        for (turn, (at, list, arm)) in acts.into_iter().enumerate() {
                let now = Duration::from_millis(turn as u64);
                if arm {
                    waiting[at] = list == 1;
                    running.arm(keys[at], list, waiting[at], now);
                    deadlines[at] = Some(now + timeouts[list]);
                } else {
                    running.disarm(keys[at]);
                    (deadlines[at], waiting[at]) = (None, false);
                }
                prop_assert_eq!(running.long_poll_count, waiting.iter().filter(|long_poll| **long_poll).count() as u64);
                let expected = deadlines.iter().flatten().min().copied();
                prop_assert_eq!(running.next_timeout().map(|(deadline, _)| deadline), expected);
            }
        }
    }

    #[test]
    fn a_pause_extends_timeouts_but_not_beyond_that_of_a_new_request() {
        let ms = Duration::from_millis;
        let mut running = RunningJourneys::new(&[ms(50)]);
        let keys = [0, 1, 2].map(|_| running.add(0, 0));
        running.arm(keys[0], 0, false, ms(0));
        running.arm(keys[1], 0, false, ms(40));
        // A pause of 40 ms that starts after 10 ms.
        running.extend_timeouts(ms(40), ms(50));
        running.arm(keys[2], 0, false, ms(50));
        for (key, expected) in keys.into_iter().zip([90, 100, 100]) {
            assert_eq!(running.next_timeout(), Some((ms(expected), key)));
            running.disarm(key);
        }
        assert_eq!((running.exchanging_count, running.next_timeout()), (0, None));
    }

    #[test]
    fn memory_is_reused() {
        let mut running = RunningJourneys::new(&[]);
        let key = running.add(0, 0);
        let journey = running.get_mut(key).unwrap();
        journey.kept.insert("game", "first");
        assert_eq!(journey.kept.values(), [("game".to_owned(), "first".to_owned())]);
        running.remove(key);
        let key = running.add(1, 1);
        let journey = running.get_mut(key).unwrap();
        journey.restart(Purpose::Journey, Arrival::default(), Duration::ZERO, (0..1, 0));
        assert_eq!((journey.load_index, journey.journey_index, journey.kept.values().len()), (1, 1, 0));
        journey.kept.insert("id", "second");
        journey.kept.insert("id", "third");
        assert_eq!(journey.kept.values(), [("id".to_owned(), "third".to_owned())]);
        assert_eq!((journey.kept.get("id"), journey.kept.get("game")), (Some("third"), None));
    }
}
