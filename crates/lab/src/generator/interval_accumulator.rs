//! A worker's accumulator: what ended in this second, by load step and operation. Histograms are reused from second to
//! second; a copy is handed over once the second is over and the worker's turn has come. No lock, no channel and no
//! allocation for a single exchange. Does not know what is reported.

use std::collections::VecDeque;
use std::time::Duration;

use super::failure::Failure;
use crate::limits::{ERROR_GROUPS_MAX, GENERATOR_DELAY_MIN, INTERVALS_SPREAD, SPARE_OPS_MAX};
use crate::measurement::{
    Class, ErrorKind, ErrorStats, HeldCounts, HeldStats, Interval, OpId, OpKey, OpStats, PushStats, Sample,
    TimeHistogram, keep_sample,
};

/// What one worker has measured in the current second.
#[derive(Debug)]
pub(crate) struct IntervalAccumulator {
    current: Interval,
    lag: TimeHistogram,
    /// How long after the end of a second its interval is handed over.
    handover_delay: Duration,
    /// Intervals of seconds that are over, the oldest first.
    closed: VecDeque<Interval>,
    /// Emptied statistics of earlier seconds, for reuse.
    spare_ops: Vec<OpStats>,
    /// An emptied histogram of an earlier second, for reuse.
    spare_lag: Option<TimeHistogram>,
    /// The entry that was written to last: usually the next one as well.
    last_op_index: usize,
    /// Frames that were pushed in this second, by push; each keeps its index and its memory.
    pushes: Vec<PushStats>,
    writes_rows: bool,
    /// Whether the interval contains anything yet.
    dirty: bool,
}

impl IntervalAccumulator {
    /// Empty, for worker number `worker` of `of`.
    pub(crate) fn new(worker: u32, of: u32, rows: bool) -> Self {
        let interval = Interval { worker, ..Interval::default() };
        Self {
            current: interval,
            lag: TimeHistogram::default(),
            handover_delay: INTERVALS_SPREAD * worker / of.max(1),
            closed: VecDeque::new(),
            spare_ops: Vec::new(),
            spare_lag: None,
            last_op_index: 0,
            pushes: Vec::new(),
            writes_rows: rows,
            dirty: false,
        }
    }

    /// When the next interval is handed over, if one contains anything.
    pub(crate) fn next_handover(&self) -> Option<Duration> {
        let second = self.closed.front().map(|interval| interval.second).or(self.dirty.then_some(self.current.second));
        second.map(|second| self.handover_at(second))
    }

    fn handover_at(&self, second: u64) -> Duration {
        Duration::from_secs(second + 1) + self.handover_delay
    }

    /// Closes the interval when its second is over.
    pub(crate) fn advance_to(&mut self, now: Duration) {
        let second = now.as_secs();
        if second > self.current.second {
            self.close_interval();
            self.current.second = second;
        }
    }

    /// The oldest interval whose second is over, if its handover is due.
    pub(crate) fn take_due(&mut self, now: Duration) -> Option<Interval> {
        self.advance_to(now);
        let second = self.closed.front()?.second;
        if self.handover_at(second) <= now { self.take_oldest() } else { None }
    }

    /// Starts an empty interval of the same second. Nothing is copied: this happens in all workers at once.
    pub(crate) fn close_interval(&mut self) {
        if !std::mem::take(&mut self.dirty) {
            return;
        }
        let empty = Interval { second: self.current.second, worker: self.current.worker, ..Interval::default() };
        let mut interval = std::mem::replace(&mut self.current, empty);
        if !self.lag.is_empty() {
            let fresh = self.spare_lag.take().unwrap_or_default();
            interval.lag = Some(std::mem::replace(&mut self.lag, fresh));
        }
        let seconds = Some((interval.second, interval.second));
        let pushed = self.pushes.iter().enumerate().filter(|(_, pushed)| pushed.frames > 0);
        interval.pushes = pushed.map(|(push, pushed)| (push, PushStats { seconds, ..pushed.clone() })).collect();
        self.pushes.iter_mut().for_each(PushStats::reset);
        self.closed.push_back(interval);
    }

    /// A copy of the oldest closed interval; its memory is reused.
    pub(crate) fn take_oldest(&mut self) -> Option<Interval> {
        let mut interval = self.closed.pop_front()?;
        let (all_stats, lag) = (std::mem::take(&mut interval.ops), interval.lag.take());
        (interval.ops, interval.lag) = (all_stats.clone(), lag.clone());
        for (_, mut stats) in all_stats {
            if self.spare_ops.len() < SPARE_OPS_MAX {
                stats.reset();
                self.spare_ops.push(stats);
            }
        }
        if let Some(mut lag) = lag {
            lag.reset();
            self.spare_lag = Some(lag);
        }
        Some(interval)
    }

    /// Records a sample in the interval of the second in which it ended.
    pub(crate) fn record_sample(&mut self, load_step: u32, sample: &Sample) {
        self.advance_to(sample.done);
        self.dirty = true;
        let op = OpId { journey: sample.journey, step: sample.step };
        let stats = self.op_stats_mut(OpKey { load_step, op });
        stats.retries += sample.retries;
        let is_delayed = sample.generator_delay.max(sample.generator_delay_wake) >= GENERATOR_DELAY_MIN;
        let own = |delay: Duration| is_delayed.then_some(delay);
        let latency = sample.done.saturating_sub(sample.intended);
        let service = sample.done.saturating_sub(sample.sent);
        match sample.class {
            Class::Ok if sample.is_long_poll => {
                stats.counts.ok += 1;
                let long_polls = stats.long_polls.get_or_insert_default();
                long_polls.waited.record(service, own(sample.generator_delay_service));
                if let Some(wake_delay) = sample.wake_delay {
                    long_polls.wake_delay.record(wake_delay, own(sample.generator_delay_wake));
                }
            }
            Class::Ok => {
                stats.counts.ok += 1;
                stats.latency.record(latency, own(sample.generator_delay));
                stats.service.record(service, own(sample.generator_delay_service));
            }
            Class::Denied => {
                stats.counts.denied += 1;
                stats.failed.record(latency, own(sample.generator_delay));
            }
            Class::Error(_) => {
                stats.counts.errors += 1;
                stats.failed.record(latency, own(sample.generator_delay));
            }
        }
        if sample.step.is_none() {
            self.lag.record(sample.lag, None);
        }
        if self.writes_rows {
            sample.write_row(load_step, &mut self.current.rows);
        }
    }

    /// The interval of this second, to count in.
    pub(crate) fn current(&mut self) -> &mut Interval {
        self.dirty = true;
        &mut self.current
    }

    /// What happens to the held connections of a load step, in the interval of this second.
    pub(crate) fn held(&mut self, load_step: u32, now: Duration) -> &mut HeldStats {
        // A worker that only holds connections may have recorded nothing for a long time.
        self.advance_to(now);
        self.dirty = true;
        let held = &mut self.current.held;
        let index = held.iter().position(|(known, _)| *known == load_step).unwrap_or_else(|| {
            held.push((load_step, HeldStats::default()));
            held.len() - 1
        });
        &mut held[index].1
    }

    /// Records a connection that is open for the first time: how long after it was due, and the generator's own share
    /// of that.
    pub(crate) fn record_opened(&mut self, load_step: u32, took: Duration, generator_delay: Duration, now: Duration) {
        let held = self.held(load_step, now);
        held.counts.opened += 1;
        held.opening.record(took, own_share(generator_delay));
    }

    /// Counts a held connection that is gone: closed by the peer in order, or lost otherwise.
    pub(crate) fn count_loss(&mut self, load_step: u32, in_order: bool, now: Duration) {
        let counts = &mut self.held(load_step, now).counts;
        *(if in_order { &mut counts.closed } else { &mut counts.dropped }) += 1;
    }

    /// Counts a connection that is gone after its load step was over, and before a later one resumed it.
    pub(crate) fn count_loss_after(&mut self, load_step: u32, in_order: bool, now: Duration) {
        let (closed_after, dropped_after) = (u64::from(in_order), u64::from(!in_order));
        let lost = HeldCounts { closed_after, dropped_after, ..HeldCounts::default() };
        self.held(load_step, now).count_in_second(now.as_secs(), lost);
    }

    pub(crate) fn record_error(&mut self, journey: usize, step: usize, failure: &Failure) {
        self.dirty = true;
        let errors = &mut self.current.errors;
        let same = |note: &ErrorStats| (note.journey, note.step, note.kind) == (journey, step, failure.kind);
        let rest = |note: &ErrorStats| note.kind == ErrorKind::Other;
        let known = errors.iter().position(same).or_else(|| errors.iter().position(rest));
        let index = known.unwrap_or_else(|| {
            // The last entry collects all further kinds.
            let kind = if errors.len() + 1 < ERROR_GROUPS_MAX { failure.kind } else { ErrorKind::Other };
            errors.push(ErrorStats { journey, step, kind, count: 0, samples: Vec::new() });
            errors.len() - 1
        });
        errors[index].count += 1;
        keep_sample(&mut errors[index].samples, &failure.message);
    }

    /// Counts a pushed frame. `delay` is how late it was received and the generator's own share of that, if the frame
    /// says when its event happened.
    pub(crate) fn record_push(&mut self, push: usize, bytes: usize, delay: Option<(Duration, Duration)>) {
        self.dirty = true;
        if self.pushes.len() <= push {
            self.pushes.resize_with(push + 1, PushStats::default);
        }
        let pushed = &mut self.pushes[push];
        pushed.frames += 1;
        pushed.bytes += bytes as u64;
        if let Some((delay, generator_delay)) = delay {
            pushed.delay.record(delay, own_share(generator_delay));
        }
    }

    pub(crate) fn record_pause(&mut self, from: Duration, to: Duration) {
        self.advance_to(to);
        self.dirty = true;
        self.current.pauses.push((from, to));
    }

    /// Counts arrivals that were due and will never be sent.
    pub(crate) fn count_not_sent(&mut self, journey: usize, count: u64) {
        self.dirty |= count > 0;
        add_count(&mut self.current.not_sent, journey, count);
    }

    /// Counts those of them that a pause of the worker held up.
    pub(crate) fn count_not_sent_behind_pause(&mut self, journey: usize, count: u64) {
        add_count(&mut self.current.not_sent_behind_pauses, journey, count);
    }

    fn op_stats_mut(&mut self, key: OpKey) -> &mut OpStats {
        let all_stats = &mut self.current.ops;
        let is_it = |(known, _): &(OpKey, OpStats)| *known == key;
        if !all_stats.get(self.last_op_index).is_some_and(is_it) {
            self.last_op_index = all_stats.iter().position(is_it).unwrap_or_else(|| {
                all_stats.push((key, self.spare_ops.pop().unwrap_or_default()));
                all_stats.len() - 1
            });
        }
        &mut all_stats[self.last_op_index].1
    }
}

fn add_count(counts: &mut Vec<(usize, u64)>, journey: usize, count: u64) {
    match counts.iter_mut().find(|(known, _)| *known == journey) {
        Some((_, sum)) => *sum += count,
        None if count > 0 => counts.push((journey, count)),
        None => {}
    }
}

/// The generator's own share of a time, if it matters.
fn own_share(generator_delay: Duration) -> Option<Duration> {
    (generator_delay >= GENERATOR_DELAY_MIN).then_some(generator_delay)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::{ERROR_SAMPLES_MAX, SAMPLE_CHARS_MAX};
    use crate::measurement::{Awaited, OutcomeCounts};

    fn sample(step: Option<usize>, done_ms: u64, class: Class) -> Sample {
        let ms = Duration::from_millis;
        Sample {
            index: 4,
            journey: 1,
            step,
            intended: ms(100),
            sent: ms(110),
            first_byte: None,
            done: ms(done_ms),
            lag: ms(2),
            generator_delay: ms(0),
            generator_delay_service: ms(0),
            retries: 1,
            class,
            is_long_poll: false,
            wake_delay: None,
            generator_delay_wake: ms(0),
        }
    }

    fn counts((key, stats): &(OpKey, OpStats)) -> (u32, Option<usize>, u64, u64, u64, u64) {
        let OutcomeCounts { ok, denied, errors } = stats.counts;
        (key.load_step, key.op.step, ok, denied, errors, stats.retries)
    }

    fn max_us(times: &TimeHistogram) -> u64 {
        times.measured().max()
    }

    #[test]
    fn an_interval_has_its_second_and_the_next_starts_empty() {
        let mut accumulator = IntervalAccumulator::new(3, 5, true);
        accumulator.record_sample(7, &sample(None, 150, Class::Ok));
        accumulator.record_sample(7, &sample(Some(1), 160, Class::Denied));
        accumulator.record_sample(8, &sample(None, 400, Class::Error(ErrorKind::Status(500))));
        accumulator.record_sample(7, &sample(None, 170, Class::Ok));
        // The second plus three fifths of half a second: the other workers have their turns before and after.
        assert_eq!(accumulator.next_handover(), Some(Duration::from_millis(1300)));
        assert!(accumulator.take_due(Duration::from_millis(999)).is_none());
        // A later sample belongs to a later interval.
        accumulator.record_sample(7, &sample(None, 1200, Class::Ok));
        assert!(accumulator.take_due(Duration::from_millis(1299)).is_none());
        assert_eq!(accumulator.next_handover(), Some(Duration::from_millis(1300)));
        let interval = accumulator.take_due(Duration::from_millis(1300)).unwrap();
        assert_eq!(accumulator.next_handover(), Some(Duration::from_millis(2300)));
        let all_stats: Vec<_> = interval.ops.iter().map(counts).collect();
        assert_eq!(all_stats, [(7, None, 2, 0, 0, 2), (7, Some(1), 0, 1, 0, 1), (8, None, 0, 0, 1, 1)]);
        let (_, stats) = &interval.ops[0];
        assert_eq!(
            (max_us(&stats.latency) / 100, max_us(&stats.service) / 100, stats.failed.is_empty()),
            (700, 600, true)
        );
        assert_eq!((interval.second, interval.worker, interval.lag.unwrap().measured().len()), (0, 3, 3));
        assert_eq!(interval.rows.lines().count(), 4);

        let next = accumulator.take_due(Duration::from_millis(2300));
        assert_eq!(next.map(|interval| (interval.second, interval.ops.len())), Some((1, 1)));
        assert!(accumulator.take_due(Duration::from_secs(3)).is_none() && accumulator.next_handover().is_none());
        accumulator.record_sample(9, &sample(None, 3100, Class::Ok));
        accumulator.close_interval();
        let interval = accumulator.take_oldest().unwrap();
        assert_eq!(interval.second, 3);
        assert_eq!(interval.ops.iter().map(counts).collect::<Vec<_>>(), [(9, None, 1, 0, 0, 1)]);
        assert_eq!((interval.ops[0].1.latency.measured().len(), interval.lag.unwrap().measured().len()), (1, 1));
        accumulator.close_interval();
        assert!(accumulator.take_oldest().is_none());
        // A flush hands over everything, in order.
        accumulator.record_sample(9, &sample(None, 4100, Class::Ok));
        accumulator.record_sample(9, &sample(None, 5100, Class::Ok));
        accumulator.close_interval();
        let seconds: Vec<_> = std::iter::from_fn(|| accumulator.take_oldest())
            .map(|interval| (interval.second, interval.lag.is_some()))
            .collect();
        assert_eq!(seconds, [(4, true), (5, true)]);
    }

    #[test]
    fn a_long_poll_has_no_latency() {
        let mut accumulator = IntervalAccumulator::new(0, 1, false);
        let waited = |wake| Sample { is_long_poll: true, wake_delay: wake, ..sample(Some(1), 150, Class::Ok) };
        accumulator.record_sample(0, &waited(Some(Duration::from_millis(3))));
        accumulator.record_sample(0, &waited(None));
        accumulator.record_sample(
            0,
            &Sample {
                is_long_poll: true,
                ..sample(Some(1), 150, Class::Error(ErrorKind::Timeout(Awaited::FirstByte)))
            },
        );
        accumulator.close_interval();
        let interval = accumulator.take_oldest().unwrap();
        let (_, stats) = &interval.ops[0];
        let long_polls = stats.long_polls.as_ref().unwrap();
        assert_eq!(
            (stats.counts.ok, stats.counts.errors, stats.latency.is_empty(), stats.service.is_empty()),
            (2, 1, true, true)
        );
        assert_eq!(
            [&long_polls.waited, &long_polls.wake_delay, &stats.failed].map(|times| times.measured().len()),
            [2, 1, 1]
        );
        assert_eq!((max_us(&long_polls.waited) / 1000, max_us(&long_polls.wake_delay) / 1000), (40, 3));
        // The next second's first operation is no long poll, though its memory was one.
        accumulator.record_sample(0, &sample(None, 1150, Class::Ok));
        accumulator.close_interval();
        assert!(accumulator.take_oldest().unwrap().ops[0].1.long_polls.is_none());
    }

    #[test]
    fn pushes_are_counted_by_kind_and_each_second_starts_empty() {
        let mut accumulator = IntervalAccumulator::new(0, 1, false);
        accumulator.record_push(1, 300, Some((Duration::from_millis(20), Duration::ZERO)));
        accumulator.record_push(1, 100, None);
        accumulator.close_interval();
        let interval = accumulator.take_oldest().unwrap();
        let counts = |interval: &Interval| -> Vec<_> {
            let of = |(push, pushed): &(usize, PushStats)| {
                (*push, pushed.frames, pushed.bytes, pushed.delay.measured().len())
            };
            interval.pushes.iter().map(of).collect()
        };
        assert_eq!(counts(&interval), [(1, 2, 400, 1)]);
        accumulator.record_push(0, 7, None);
        accumulator.close_interval();
        assert_eq!(counts(&accumulator.take_oldest().unwrap()), [(0, 1, 7, 0)]);
    }

    #[test]
    fn held_connections_are_counted_by_load_step_and_are_no_requests() {
        let mut accumulator = IntervalAccumulator::new(0, 1, false);
        let now = Duration::ZERO;
        accumulator.record_opened(2, Duration::from_millis(7), Duration::ZERO, now);
        accumulator.held(3, now).counts.failed += 1;
        accumulator.count_loss(2, true, now);
        accumulator.count_loss(2, false, now);
        accumulator.count_loss(2, false, now);
        accumulator.held(2, now).counts.reopened += 1;
        accumulator.close_interval();
        let interval = accumulator.take_oldest().unwrap();
        let counts = |(load_step, stats): &(u32, HeldStats)| {
            let HeldCounts { opened, reopened, failed, closed, dropped, .. } = stats.counts;
            (*load_step, [opened, reopened, failed, closed, dropped, stats.opening.measured().len()])
        };
        assert_eq!(
            interval.held.iter().map(counts).collect::<Vec<_>>(),
            [(2, [1, 1, 0, 1, 2, 1]), (3, [0, 0, 1, 0, 0, 0])]
        );
        assert!(interval.ops.is_empty());
        accumulator.record_opened(2, Duration::ZERO, Duration::ZERO, now);
        accumulator.close_interval();
        assert_eq!(
            accumulator.take_oldest().unwrap().held.iter().map(counts).collect::<Vec<_>>(),
            [(2, [1, 0, 0, 0, 0, 1])]
        );
    }

    #[test]
    fn losses_are_in_their_own_second_however_long_nothing_was_recorded() {
        let mut accumulator = IntervalAccumulator::new(0, 1, false);
        let at = Duration::from_secs;
        accumulator.held(1, at(3)).counts.left += 9;
        accumulator.count_loss_after(1, true, at(185));
        accumulator.count_loss_after(1, false, at(186));
        accumulator.close_interval();
        let intervals: Vec<Interval> = std::iter::from_fn(|| accumulator.take_oldest()).collect();
        let lost = |stats: &HeldStats| {
            let HeldCounts { left, closed_after, dropped_after, .. } = stats.counts;
            (left, closed_after, dropped_after, stats.lost_after)
        };
        let seen: Vec<_> = intervals.iter().map(|interval| (interval.second, lost(&interval.held[0].1))).collect();
        let expected = [(3, (9, 0, 0, None)), (185, (0, 1, 0, Some((185, 185)))), (186, (0, 0, 1, Some((186, 186))))];
        assert_eq!(seen, expected);
        let mut all = HeldStats::default();
        intervals.iter().for_each(|interval| all.merge(&interval.held[0].1));
        assert_eq!(lost(&all), (9, 1, 1, Some((185, 186))));
    }

    #[test]
    fn errors_are_grouped_and_their_groups_bounded() {
        let mut accumulator = IntervalAccumulator::new(0, 1, false);
        for step in 0..ERROR_GROUPS_MAX + 5 {
            accumulator.record_error(0, step, &Failure::new(ErrorKind::Closed, "x".repeat(5000)));
        }
        for sample in ["later", "later", "last", "one too many"] {
            accumulator.record_error(0, 0, &Failure::new(ErrorKind::Closed, sample));
        }
        accumulator.count_not_sent(0, 2);
        accumulator.count_not_sent(0, 3);
        accumulator.count_not_sent(1, 0);
        accumulator.close_interval();
        let interval = accumulator.take_oldest().unwrap();
        assert_eq!(
            (interval.errors.len(), interval.errors[0].count, interval.errors[ERROR_GROUPS_MAX - 1].count),
            (64, 5, 6)
        );
        assert_eq!(interval.errors[ERROR_GROUPS_MAX - 1].kind, ErrorKind::Other);
        let samples: Vec<&str> = interval.errors[0].samples.iter().map(|sample| &sample[..4]).collect();
        assert_eq!((samples, ERROR_SAMPLES_MAX), (vec!["xxxx", "late", "last"], 3));
        assert_eq!(interval.errors[0].samples[0].len(), SAMPLE_CHARS_MAX);
        assert_eq!(interval.not_sent, [(0, 5)]);
    }
}
