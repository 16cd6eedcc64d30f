//! Running journeys: arrivals in flight. Their memory is reused, and a timeout costs no more than two links of a list,
//! because requests with the same timeout expire in the order in which they were sent. Does not know connections.

use std::time::Duration;

use super::journey::StepOutcome;
use super::pauses::PauseTracker;
use crate::generator::decoder::ResponseBody;
use crate::generator::monotonic_time::MonotonicTime;
use crate::generator::slab::{Slab, SlabKey};
use crate::plan::Arrival;
use crate::scenario::RepeatState;

/// An arrival in flight, or a client of a closed loop between two arrivals.
#[derive(Debug)]
pub(super) struct RunningJourney {
    pub(super) arrival: Arrival,
    /// The index of its load at this worker.
    pub(super) load_index: usize,
    pub(super) journey_index: usize,
    pub(super) role: Role,
    /// The held connection that it uses or opens, if the load holds connections.
    pub(super) held_index: u32,
    pub(super) step: usize,
    pub(super) step_state: StepState,
    /// The connection that it uses or used last.
    pub(super) connection: Option<SlabKey>,
    /// Whether the request of this attempt was resent because its first connection had been idle too long.
    pub(super) resent: bool,
    /// Whether any byte of this attempt was handed to the kernel.
    pub(super) has_written: bool,
    /// Retries in this step, and in all steps before.
    pub(super) retries: u64,
    pub(super) retries_before: u64,
    pub(super) status: u16,
    pub(super) times: JourneyTimes,
    pub(super) body: ResponseBody,
    pub(super) kept: KeptValues,
    /// Why a value could not be kept from the head.
    pub(super) header_failure: Option<crate::generator::Failure>,
    /// How it lost its connection during a pause, where it must not use another one.
    pub(super) connection_failure: Option<crate::generator::Failure>,
    /// The index after its last step.
    pub(super) end_step: usize,
    pub(super) rounds: RepeatState,
    /// Its background loops.
    pub(super) background: Vec<SlabKey>,
    /// How a background loop has failed.
    pub(super) background_outcome: Option<StepOutcome>,
    /// Since when it has watched for events, in microseconds of Unix time.
    pub(super) watching_since_unix_us: Option<i64>,
    /// The wake delay of the response, and the generator's own share of it.
    pub(super) wake_delay: Option<(Duration, Duration)>,
    timeout: Option<TimeoutNode>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Journey,
    /// A background loop of the journey `of`.
    Background {
        of: SlabKey,
    },
    /// Opens a held connection; it is no arrival.
    OpenConnection,
    /// Opens a held connection with its opening journey.
    OpenWithJourney,
}

/// The state of the current step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StepState {
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
    /// When its step was due, was first sent, and received the head of its response.
    pub(super) step_due: Duration,
    pub(super) step_sent: Option<Duration>,
    pub(super) step_head: Option<Duration>,
    /// The same for the whole journey.
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

/// Values that a journey keeps. Entries of an earlier journey are overwritten, so that a steady run allocates nothing.
#[derive(Debug, Default)]
pub(super) struct KeptValues {
    values: Vec<(String, String)>,
    len: usize,
}

impl KeptValues {
    /// Replaces the value that was kept under this name.
    pub(super) fn insert(&mut self, name: &str, value: &str) {
        if let Some((_, old)) = self.values[..self.len].iter_mut().find(|(known, _)| known == name) {
            old.clear();
            old.push_str(value);
            return;
        }
        match self.values.get_mut(self.len) {
            Some((old_name, old_value)) => {
                old_name.clear();
                old_name.push_str(name);
                old_value.clear();
                old_value.push_str(value);
            }
            None => self.values.push((name.to_owned(), value.to_owned())),
        }
        self.len += 1;
    }

    pub(super) fn values(&self) -> &[(String, String)] {
        &self.values[..self.len]
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.values().iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    fn clear(&mut self) {
        self.len = 0;
    }
}

/// The links of a running journey in the list of its timeout.
#[derive(Clone, Copy, Debug)]
struct TimeoutNode {
    list: usize,
    deadline: MonotonicTime,
    previous: Option<SlabKey>,
    next: Option<SlabKey>,
    is_long_poll: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct TimeoutList {
    timeout: Duration,
    first: Option<SlabKey>,
    last: Option<SlabKey>,
}

#[derive(Debug, Default)]
pub(super) struct RunningJourneys {
    slab: Slab<RunningJourney>,
    spare: Vec<RunningJourney>,
    lists: Vec<TimeoutList>,
    long_poll_count: u64,
    exchanging_count: u64,
    exchanged: u64,
}

impl RunningJourney {
    fn new(load_index: usize, journey: usize, arrival: Arrival) -> Self {
        Self {
            arrival,
            load_index,
            journey_index: journey,
            role: Role::Journey,
            held_index: 0,
            step: 0,
            step_state: StepState::Idle,
            connection: None,
            resent: false,
            has_written: false,
            retries: 0,
            retries_before: 0,
            status: 0,
            times: JourneyTimes::default(),
            body: ResponseBody::default(),
            kept: KeptValues::default(),
            header_failure: None,
            connection_failure: None,
            end_step: 0,
            rounds: RepeatState::default(),
            background: Vec::new(),
            background_outcome: None,
            watching_since_unix_us: None,
            wake_delay: None,
            timeout: None,
        }
    }

    /// Starts another journey in the same memory; `own_steps` and `repeats` are counts.
    pub(super) fn restart(&mut self, arrival: Arrival, ready_since: Duration, (own_steps, repeats): (usize, usize)) {
        (self.arrival, self.role) = (arrival, Role::Journey);
        (self.end_step, self.background_outcome, self.watching_since_unix_us, self.connection_failure) =
            (own_steps, None, None, None);
        self.rounds.reset(repeats);
        self.background.clear();
        (self.step, self.retries, self.retries_before, self.status) = (0, 0, 0, 0);
        self.times = JourneyTimes { ready_since, step_due: arrival.intended, ..JourneyTimes::default() };
        self.kept.clear();
    }

    pub(super) fn start_attempt(&mut self) {
        (self.resent, self.has_written, self.status, self.header_failure, self.wake_delay) =
            (false, false, 0, None, None);
        self.times.step_head = None;
        self.step_state = StepState::Exchanging;
        self.body.clear();
    }
}

impl RunningJourneys {
    /// Empty, with one list for each timeout.
    pub(super) fn new(timeouts: &[Duration]) -> Self {
        let list = |timeout: &Duration| TimeoutList { timeout: *timeout, ..TimeoutList::default() };
        Self { lists: timeouts.iter().map(list).collect(), ..Self::default() }
    }

    /// Adds a running journey that has not started.
    pub(super) fn add(&mut self, load_index: usize, journey: usize, arrival: Arrival) -> SlabKey {
        let running = match self.spare.pop() {
            Some(old) => RunningJourney {
                load_index,
                journey_index: journey,
                step_state: StepState::Idle,
                connection: None,
                ..old
            },
            None => RunningJourney::new(load_index, journey, arrival),
        };
        self.slab.insert(running)
    }

    /// Removes a running journey; its memory is reused.
    pub(super) fn remove(&mut self, key: SlabKey) {
        self.disarm(key);
        if let Some(mut running) = self.slab.remove(key) {
            running.body.clear();
            self.spare.push(running);
        }
    }

    pub(super) fn get(&self, key: SlabKey) -> Option<&RunningJourney> {
        self.slab.get(key)
    }

    pub(super) fn get_mut(&mut self, key: SlabKey) -> Option<&mut RunningJourney> {
        self.slab.get_mut(key)
    }

    pub(super) fn keys(&self) -> Vec<SlabKey> {
        self.slab.keys()
    }

    pub(super) fn long_poll_count(&self) -> u64 {
        self.long_poll_count
    }

    /// Requests in flight.
    pub(super) fn exchanging_count(&self) -> u64 {
        self.exchanging_count
    }

    /// Requests that have ended.
    pub(super) fn exchanged(&self) -> u64 {
        self.exchanged
    }

    /// Extends the timeouts of all requests in flight, but none beyond that of a request sent now.
    pub(super) fn extend_timeouts(&mut self, time: Duration, now: MonotonicTime) {
        for at in 0..self.lists.len() {
            let TimeoutList { timeout, first: mut next, .. } = self.lists[at];
            while let Some(node) = self.node(next) {
                node.deadline = (node.deadline + time).min(now + timeout);
                next = node.next;
            }
        }
    }

    /// Starts the timeout of a request that is sent now.
    pub(super) fn arm(&mut self, key: SlabKey, list: usize, long_poll: bool, now: MonotonicTime) {
        self.disarm(key);
        let TimeoutList { timeout, last, .. } = self.lists[list];
        let Some(running) = self.slab.get_mut(key) else { return };
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
    pub(super) fn disarm(&mut self, key: SlabKey) {
        let node = self.slab.get_mut(key).and_then(|running| running.timeout.take());
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

    fn node(&mut self, key: Option<SlabKey>) -> Option<&mut TimeoutNode> {
        self.slab.get_mut(key?)?.timeout.as_mut()
    }

    /// The running journey that times out first, and when.
    pub(super) fn next_timeout(&self) -> Option<(MonotonicTime, SlabKey)> {
        let deadline = |key: SlabKey| Some((self.slab.get(key)?.timeout?.deadline, key));
        self.lists.iter().filter_map(|list| deadline(list.first?)).min()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn arrival() -> Arrival {
        Arrival { intended: Duration::ZERO, load_step: 0, index: 0, seed: 0 }
    }

    proptest! {
        #[test]
        fn the_nearest_deadline_expires_first(
            acts in prop::collection::vec((0usize..8, 0usize..3, any::<bool>()), 0..60),
        ) {
            let timeouts = [5, 20, 30].map(Duration::from_millis);
            let mut running = RunningJourneys::new(&timeouts);
            let keys: Vec<SlabKey> = (0..8).map(|_| running.add(0, 0, arrival())).collect();
            let mut deadlines = [None; 8];
            let mut waiting = [false; 8];
            let start = MonotonicTime::now();
            for (turn, (at, list, arm)) in acts.into_iter().enumerate() {
                let now = start + Duration::from_millis(turn as u64);
                if arm {
                    waiting[at] = list == 1;
                    running.arm(keys[at], list, waiting[at], now);
                    deadlines[at] = Some(now + timeouts[list]);
                } else {
                    running.disarm(keys[at]);
                    (deadlines[at], waiting[at]) = (None, false);
                }
                prop_assert_eq!(running.long_poll_count(), waiting.iter().filter(|long_poll| **long_poll).count() as u64);
                let expected = deadlines.iter().flatten().min().copied();
                prop_assert_eq!(running.next_timeout().map(|(deadline, _)| deadline), expected);
            }
        }
    }

    #[test]
    fn a_pause_extends_timeouts_but_not_beyond_that_of_a_new_request() {
        let (ms, start) = (Duration::from_millis, MonotonicTime::now());
        let mut running = RunningJourneys::new(&[ms(50)]);
        let keys = [0, 1, 2].map(|_| running.add(0, 0, arrival()));
        running.arm(keys[0], 0, false, start);
        running.arm(keys[1], 0, false, start + ms(40));
        // A pause of 40 ms that starts after 10 ms.
        running.extend_timeouts(ms(40), start + ms(50));
        running.arm(keys[2], 0, false, start + ms(50));
        for (key, expected) in keys.into_iter().zip([90, 100, 100]) {
            assert_eq!(running.next_timeout(), Some((start + ms(expected), key)));
            running.disarm(key);
        }
        assert_eq!((running.exchanging_count(), running.next_timeout()), (0, None));
    }

    #[test]
    fn memory_is_reused() {
        let mut running = RunningJourneys::new(&[]);
        let key = running.add(0, 0, arrival());
        let journey = running.get_mut(key).unwrap();
        journey.kept.insert("game", "first");
        assert_eq!(journey.kept.values(), [("game".to_owned(), "first".to_owned())]);
        running.remove(key);
        let key = running.add(1, 1, arrival());
        let journey = running.get_mut(key).unwrap();
        journey.restart(arrival(), Duration::ZERO, (1, 0));
        assert_eq!((journey.load_index, journey.journey_index, journey.kept.values().len()), (1, 1, 0));
        journey.kept.insert("id", "second");
        journey.kept.insert("id", "third");
        assert_eq!(journey.kept.values(), [("id".to_owned(), "third".to_owned())]);
        assert_eq!((journey.kept.get("id"), journey.kept.get("game")), (Some("third"), None));
    }
}
