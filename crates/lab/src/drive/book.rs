//! A worker's own book: what ended in this second, by part and operation. Histograms are used again from second to
//! second; a copy leaves when the second is over and the worker's turn has come. No lock, no channel and no memory for
//! a single exchange. Refuses to know what the figures will say.

use std::collections::VecDeque;
use std::time::Duration;

use hdrhistogram::Histogram;

use super::failure::Failure;
use crate::limits::{ERROR_GROUPS_MAX, OWN_SHARE_MIN, PAGES_SPREAD, SPARE_CELLS_MAX};
use crate::record::{Cell, Class, ErrorNote, HeldCell, Interval, Op, Pushed, Sample, Trouble, histogram, keep_sample};

/// What one worker saw in the second that is going on.
#[derive(Debug)]
pub(crate) struct Book {
    page: Interval,
    lag_us: Histogram<u64>,
    /// How long after the end of a second its page leaves.
    delay: Duration,
    /// Pages of seconds that are over, the oldest first.
    closed: VecDeque<Interval>,
    /// Cells of earlier seconds, emptied.
    spare: Vec<Cell>,
    /// A histogram of lag of an earlier second, emptied.
    spare_lag_us: Option<Histogram<u64>>,
    /// The cell that was written to last: most often the next one as well.
    last: usize,
    /// Frames that were pushed in this second, by kind; each kind keeps its place and its memory.
    pushes: Vec<Pushed>,
    /// Whether rows are wanted.
    rows: bool,
    /// Whether the page says anything yet.
    dirty: bool,
    /// Pages whose turn has come and that nobody has taken yet.
    full: VecDeque<Interval>,
}

impl Book {
    /// An empty book of one of so many workers.
    pub(crate) fn new(worker: u32, of: u32, rows: bool) -> Self {
        let page = Interval { worker, ..Interval::default() };
        Self {
            page,
            lag_us: histogram(),
            delay: PAGES_SPREAD * worker / of.max(1),
            closed: VecDeque::new(),
            spare: Vec::new(),
            spare_lag_us: None,
            last: 0,
            pushes: Vec::new(),
            rows,
            dirty: false,
            full: VecDeque::new(),
        }
    }

    /// When the next page leaves, if one says anything that somebody waits for.
    pub(crate) fn due(&self) -> Option<Duration> {
        let second = self.closed.front().map(|page| page.second).or(self.dirty.then_some(self.page.second));
        second.map(|second| self.leaves_at(second))
    }

    fn leaves_at(&self, second: u64) -> Duration {
        Duration::from_secs(second + 1) + self.delay
    }

    /// Turns the page when its second is over, and takes out those whose turn to leave has come.
    pub(crate) fn turn(&mut self, now: Duration) {
        let second = now.as_secs();
        if second > self.page.second {
            self.close();
            self.page.second = second;
        }
        while self.closed.front().is_some_and(|page| self.leaves_at(page.second) <= now) {
            self.take_out_first();
        }
    }

    /// A page that is full.
    pub(crate) fn full(&mut self) -> Option<Interval> {
        self.full.pop_front()
    }

    /// Takes out everything that was said so far, whosever turn it is.
    pub(crate) fn tear(&mut self) {
        self.close();
        while !self.closed.is_empty() {
            self.take_out_first();
        }
    }

    /// Begins an empty page of the same second. Nothing is copied: this happens in all workers at once.
    fn close(&mut self) {
        if !std::mem::take(&mut self.dirty) {
            return;
        }
        let empty = Interval { second: self.page.second, worker: self.page.worker, ..Interval::default() };
        let mut page = std::mem::replace(&mut self.page, empty);
        if !self.lag_us.is_empty() {
            let fresh = self.spare_lag_us.take().unwrap_or_else(histogram);
            page.lag_us = Some(std::mem::replace(&mut self.lag_us, fresh));
        }
        page.pushes = self.pushes.iter().filter(|pushed| pushed.frames > 0).cloned().collect();
        self.pushes.iter_mut().for_each(forget);
        self.closed.push_back(page);
    }

    /// A copy of the oldest page leaves; its memory stays for later ones.
    fn take_out_first(&mut self) {
        let Some(mut page) = self.closed.pop_front() else { return };
        let (cells, lag_us) = (std::mem::take(&mut page.cells), page.lag_us.take());
        (page.cells, page.lag_us) = (cells.clone(), lag_us.clone());
        self.full.push_back(page);
        for mut cell in cells {
            if self.spare.len() < SPARE_CELLS_MAX {
                wipe(&mut cell);
                self.spare.push(cell);
            }
        }
        if let Some(mut lag_us) = lag_us {
            lag_us.reset();
            self.spare_lag_us = Some(lag_us);
        }
    }

    /// Takes a sample, on the page of the second in which it ended.
    pub(crate) fn sample(&mut self, part: u32, sample: &Sample) {
        self.turn(sample.done);
        self.dirty = true;
        let op = Op { journey: sample.journey, step: sample.step };
        let cell = self.cell(part, op);
        cell.retries += sample.retries;
        let latency = us(sample.done.saturating_sub(sample.intended));
        take_own(cell, sample);
        match sample.class {
            Class::Ok if sample.waits => {
                cell.ok += 1;
                let waits = cell.waits.get_or_insert_default();
                note(&mut waits.waited_us, us(sample.done.saturating_sub(sample.sent)));
                sample.wake.into_iter().for_each(|wake| note(&mut waits.wake_us, us(wake)));
            }
            Class::Ok => {
                cell.ok += 1;
                note(&mut cell.latency_us, latency);
                note(&mut cell.service_us, us(sample.done.saturating_sub(sample.sent)));
            }
            Class::Denied => {
                cell.denied += 1;
                note(&mut cell.failed_us, latency);
            }
            Class::Error(_) => {
                cell.errors += 1;
                note(&mut cell.failed_us, latency);
            }
        }
        if sample.step.is_none() {
            note(&mut self.lag_us, us(sample.lag));
        }
        if self.rows {
            sample.write_row(part, &mut self.page.rows);
        }
    }

    /// What becomes of the connections that a part holds, on the page of the second in which it does.
    fn held(&mut self, part: u32, now: Duration) -> &mut HeldCell {
        // Whoever only holds connections may have had nothing to write for a long time.
        self.turn(now);
        self.dirty = true;
        let held = &mut self.page.held;
        let place = held.iter().position(|cell| cell.part == part).unwrap_or_else(|| {
            held.push(HeldCell::new(part));
            held.len() - 1
        });
        &mut held[place]
    }

    /// Takes a connection that stands for the first time, so long after it was due; so much of that was the worker's own
    /// doing.
    pub(crate) fn opened(&mut self, part: u32, took: Duration, own: Duration, now: Duration) {
        let held = self.held(part, now);
        held.opened += 1;
        note(&mut held.opening_us, us(took));
        if own >= OWN_SHARE_MIN {
            held.own.get_or_insert_default().note(took, own);
        }
    }

    /// Takes connections that stand already, because an earlier part has left them.
    pub(crate) fn kept(&mut self, part: u32, connections: u64, now: Duration) {
        if connections > 0 {
            self.held(part, now).kept += connections;
        }
    }

    /// Takes connections that stand when their part is over, and stay for a later one.
    pub(crate) fn left(&mut self, part: u32, connections: u64, now: Duration) {
        if connections > 0 {
            self.held(part, now).left += connections;
        }
    }

    /// Takes a connection that stands again.
    pub(crate) fn reopened(&mut self, part: u32, now: Duration) {
        self.held(part, now).reopened += 1;
    }

    /// Takes a try to open a connection that came to nothing.
    pub(crate) fn unopened(&mut self, part: u32, now: Duration) {
        self.held(part, now).failed += 1;
    }

    /// Takes a held connection that is gone: ended by the other side in order, or lost otherwise.
    pub(crate) fn gone(&mut self, part: u32, in_order: bool, now: Duration) {
        let held = self.held(part, now);
        *(if in_order { &mut held.closed } else { &mut held.dropped }) += 1;
    }

    /// Takes a connection that is gone after its part was over, and before a later one went on with it.
    pub(crate) fn gone_after(&mut self, part: u32, in_order: bool, now: Duration) {
        let held = self.held(part, now);
        held.lose_after(now.as_secs(), u64::from(in_order), u64::from(!in_order));
    }

    /// Takes the reason of an error.
    pub(crate) fn error(&mut self, journey: usize, step: usize, failure: &Failure) {
        self.dirty = true;
        let errors = &mut self.page.errors;
        let same = |note: &ErrorNote| (note.journey, note.step, note.trouble) == (journey, step, failure.trouble);
        let rest = |note: &ErrorNote| note.trouble == Trouble::Other;
        let known = errors.iter().position(same).or_else(|| errors.iter().position(rest));
        let place = known.unwrap_or_else(|| {
            // The last place is for all that are not told apart.
            let trouble = if errors.len() + 1 < ERROR_GROUPS_MAX { failure.trouble } else { Trouble::Other };
            errors.push(ErrorNote { journey, step, trouble, count: 0, samples: Vec::new() });
            errors.len() - 1
        });
        errors[place].count += 1;
        keep_sample(&mut errors[place].samples, &failure.message);
    }

    /// Counts a try that is repeated because the scenario says so.
    pub(crate) fn retried(&mut self) {
        self.dirty = true;
        self.page.retried += 1;
    }

    /// Counts a request that is sent again because its connection had been closed.
    pub(crate) fn resent(&mut self) {
        self.dirty = true;
        self.page.resent += 1;
    }

    /// Takes a frame that was pushed, and how late it came, where it tells; and how much of that was the worker's own
    /// doing.
    pub(crate) fn pushed(&mut self, push: usize, bytes: usize, delay: Option<(Duration, Duration)>) {
        self.dirty = true;
        while self.pushes.len() <= push {
            self.pushes.push(Pushed::new(self.pushes.len()));
        }
        let pushed = &mut self.pushes[push];
        pushed.frames += 1;
        pushed.bytes += bytes as u64;
        let Some((delay, own)) = delay else { return };
        note(&mut pushed.delay_us, us(delay));
        if own >= OWN_SHARE_MIN {
            pushed.own.get_or_insert_default().note(delay, own);
        }
    }

    /// Counts an arrival that had to wait for a free place in flight: for the target, or only because the worker had
    /// paused.
    pub(crate) fn waited_for_a_place(&mut self, behind_a_pause: bool) {
        self.dirty = true;
        *(if behind_a_pause { &mut self.page.behind_pauses } else { &mut self.page.capped }) += 1;
    }

    /// Takes a pause of the worker.
    pub(crate) fn paused(&mut self, from: Duration, to: Duration) {
        self.turn(to);
        self.dirty = true;
        self.page.pauses.push((from, to));
    }

    /// Counts arrivals that were due and will never be sent.
    pub(crate) fn not_sent(&mut self, journey: usize, count: u64) {
        self.dirty |= count > 0;
        add_count(&mut self.page.not_sent, journey, count);
    }

    /// Counts those of them that were held up by a pause of the worker.
    pub(crate) fn not_sent_behind_a_pause(&mut self, journey: usize, count: u64) {
        add_count(&mut self.page.not_sent_behind_pauses, journey, count);
    }

    /// Counts an arrival that was sent and given up.
    pub(crate) fn abandoned(&mut self) {
        self.dirty = true;
        self.page.abandoned += 1;
    }

    /// Counts a connection that was opened.
    pub(crate) fn connected(&mut self) {
        self.dirty = true;
        self.page.connects += 1;
    }

    /// Counts bytes handed to the kernel.
    pub(crate) fn sent(&mut self, bytes: usize) {
        self.dirty = true;
        self.page.sent_bytes += bytes as u64;
    }

    /// Counts bytes taken from the kernel.
    pub(crate) fn received(&mut self, bytes: usize) {
        self.dirty = true;
        self.page.received_bytes += bytes as u64;
    }

    fn cell(&mut self, part: u32, op: Op) -> &mut Cell {
        let cells = &mut self.page.cells;
        let is_it = |cell: &Cell| (cell.part, cell.op) == (part, op);
        if !cells.get(self.last).is_some_and(is_it) {
            self.last = cells.iter().position(is_it).unwrap_or_else(|| {
                let cell = self.spare.pop().map(|cell| Cell { part, op, ..cell });
                cells.push(cell.unwrap_or_else(|| Cell::new(part, op)));
                cells.len() - 1
            });
        }
        &mut cells[self.last]
    }
}

fn add_count(counts: &mut Vec<(usize, u64)>, journey: usize, count: u64) {
    match counts.iter_mut().find(|(known, _)| *known == journey) {
        Some((_, sum)) => *sum += count,
        None if count > 0 => counts.push((journey, count)),
        None => {}
    }
}

fn wipe(cell: &mut Cell) {
    (cell.ok, cell.denied, cell.errors, cell.retries) = (0, 0, 0, 0);
    cell.latency_us.reset();
    cell.service_us.reset();
    cell.failed_us.reset();
    // Few operations wait; those that do not must not look as if they did.
    (cell.waits, cell.own) = (None, None);
}

fn forget(pushed: &mut Pushed) {
    (pushed.frames, pushed.bytes, pushed.own) = (0, 0, None);
    pushed.delay_us.reset();
}

/// Notes what the times of a sample would have been without the lab's own share, where that is worth it.
fn take_own(cell: &mut Cell, sample: &Sample) {
    if sample.own.max(sample.own_wake) < OWN_SHARE_MIN {
        return;
    }
    let (latency, service) = (sample.done.saturating_sub(sample.intended), sample.done.saturating_sub(sample.sent));
    let own = cell.own.get_or_insert_default();
    match sample.class {
        Class::Ok if sample.waits => {
            own.waited.note(service, sample.own_service);
            sample.wake.into_iter().for_each(|wake| own.wake.note(wake, sample.own_wake));
        }
        Class::Ok => {
            own.latency.note(latency, sample.own);
            own.service.note(service, sample.own_service);
        }
        Class::Denied | Class::Error(_) => own.failed.note(latency, sample.own),
    }
}

/// A histogram that grows as needed refuses no value of 64 bits.
fn note(histogram: &mut Histogram<u64>, value: u64) {
    let _ = histogram.record(value);
}

fn us(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::{ERROR_SAMPLES_MAX, SAMPLE_CHARS_MAX};
    use crate::record::Awaited;

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
            own: ms(0),
            own_service: ms(0),
            retries: 1,
            class,
            waits: false,
            wake: None,
            own_wake: ms(0),
        }
    }

    fn counts(cell: &Cell) -> (u32, Option<usize>, u64, u64, u64, u64) {
        (cell.part, cell.op.step, cell.ok, cell.denied, cell.errors, cell.retries)
    }

    #[test]
    fn a_page_tells_its_second_and_the_next_one_begins_empty() {
        let mut book = Book::new(3, 5, true);
        book.sample(7, &sample(None, 150, Class::Ok));
        book.sample(7, &sample(Some(1), 160, Class::Denied));
        book.sample(8, &sample(None, 400, Class::Error(Trouble::Status(500))));
        book.sample(7, &sample(None, 170, Class::Ok));
        // The second, and three fifths of half of one: the other workers have their turns before and after.
        assert_eq!(book.due(), Some(Duration::from_millis(1300)));
        book.turn(Duration::from_millis(999));
        assert!(book.full().is_none());
        // A later sample belongs to a later page.
        book.sample(7, &sample(None, 1200, Class::Ok));
        book.turn(Duration::from_millis(1299));
        assert_eq!((book.due(), book.full().is_none()), (Some(Duration::from_millis(1300)), true));
        book.turn(Duration::from_millis(1300));
        assert_eq!(book.due(), Some(Duration::from_millis(2300)));
        let page = book.full().unwrap();
        let cells: Vec<_> = page.cells.iter().map(counts).collect();
        assert_eq!(cells, [(7, None, 2, 0, 0, 2), (7, Some(1), 0, 1, 0, 1), (8, None, 0, 0, 1, 1)]);
        let cell = &page.cells[0];
        assert_eq!((cell.latency_us.max() / 100, cell.service_us.max() / 100, cell.failed_us.len()), (700, 600, 0));
        assert_eq!((page.second, page.worker, page.lag_us.unwrap().len()), (0, 3, 3));
        assert_eq!(String::from_utf8(page.rows).unwrap().lines().count(), 4);

        book.turn(Duration::from_millis(2300));
        assert_eq!(book.full().map(|page| (page.second, page.cells.len())), Some((1, 1)));
        book.turn(Duration::from_secs(3));
        assert!(book.full().is_none() && book.due().is_none());
        book.sample(9, &sample(None, 3100, Class::Ok));
        book.tear();
        let page = book.full().unwrap();
        assert_eq!(page.second, 3);
        assert_eq!(page.cells.iter().map(counts).collect::<Vec<_>>(), [(9, None, 1, 0, 0, 1)]);
        assert_eq!((page.cells[0].latency_us.len(), page.lag_us.unwrap().len()), (1, 1));
        book.tear();
        assert!(book.full().is_none());
        // Whoever cannot wait is told everything, in order.
        book.sample(9, &sample(None, 4100, Class::Ok));
        book.sample(9, &sample(None, 5100, Class::Ok));
        book.tear();
        let seconds: Vec<_> =
            std::iter::from_fn(|| book.full()).map(|page| (page.second, page.lag_us.is_some())).collect();
        assert_eq!(seconds, [(4, true), (5, true)]);
    }

    #[test]
    fn what_was_waited_for_has_no_latency() {
        let mut book = Book::new(0, 1, false);
        let waited = |wake| Sample { waits: true, wake, ..sample(Some(1), 150, Class::Ok) };
        book.sample(0, &waited(Some(Duration::from_millis(3))));
        book.sample(0, &waited(None));
        book.sample(
            0,
            &Sample { waits: true, ..sample(Some(1), 150, Class::Error(Trouble::Timeout(Awaited::FirstByte))) },
        );
        book.tear();
        let page = book.full().unwrap();
        let cell = &page.cells[0];
        let waits = cell.waits.as_ref().unwrap();
        assert_eq!((cell.ok, cell.errors, cell.latency_us.len(), cell.service_us.len()), (2, 1, 0, 0));
        assert_eq!((waits.waited_us.len(), waits.wake_us.len(), cell.failed_us.len()), (2, 1, 1));
        assert_eq!((waits.waited_us.max() / 1000, waits.wake_us.max() / 1000), (40, 3));
        // The next second's first operation does not wait, though its memory did.
        book.sample(0, &sample(None, 1150, Class::Ok));
        book.tear();
        assert!(book.full().unwrap().cells[0].waits.is_none());
    }

    #[test]
    fn pushes_are_counted_by_kind_and_each_second_begins_empty() {
        let mut book = Book::new(0, 1, false);
        book.pushed(1, 300, Some((Duration::from_millis(20), Duration::ZERO)));
        book.pushed(1, 100, None);
        book.tear();
        let page = book.full().unwrap();
        let counts = |page: &Interval| -> Vec<_> {
            let of = |pushed: &Pushed| (pushed.push, pushed.frames, pushed.bytes, pushed.delay_us.len());
            page.pushes.iter().map(of).collect()
        };
        assert_eq!(counts(&page), [(1, 2, 400, 1)]);
        book.pushed(0, 7, None);
        book.tear();
        assert_eq!(counts(&book.full().unwrap()), [(0, 1, 7, 0)]);
    }

    #[test]
    fn held_connections_are_counted_by_part_and_are_no_requests() {
        let mut book = Book::new(0, 1, false);
        let now = Duration::ZERO;
        book.opened(2, Duration::from_millis(7), Duration::ZERO, now);
        book.unopened(3, now);
        book.gone(2, true, now);
        book.gone(2, false, now);
        book.gone(2, false, now);
        book.reopened(2, now);
        book.tear();
        let page = book.full().unwrap();
        let counts = |cell: &HeldCell| {
            (cell.part, [cell.opened, cell.reopened, cell.failed, cell.closed, cell.dropped, cell.opening_us.len()])
        };
        assert_eq!(
            page.held.iter().map(counts).collect::<Vec<_>>(),
            [(2, [1, 1, 0, 1, 2, 1]), (3, [0, 0, 1, 0, 0, 0])]
        );
        assert!(page.cells.is_empty());
        book.opened(2, Duration::ZERO, Duration::ZERO, now);
        book.tear();
        assert_eq!(book.full().unwrap().held.iter().map(counts).collect::<Vec<_>>(), [(2, [1, 0, 0, 0, 0, 1])]);
    }

    #[test]
    fn what_befalls_a_connection_stands_in_its_own_second_however_long_nothing_was_written() {
        let mut book = Book::new(0, 1, false);
        let at = Duration::from_secs;
        book.left(1, 9, at(3));
        book.gone_after(1, true, at(185));
        book.gone_after(1, false, at(186));
        book.tear();
        let pages: Vec<Interval> = std::iter::from_fn(|| book.full()).collect();
        let lost = |cell: &HeldCell| (cell.left, cell.closed_after, cell.dropped_after, cell.lost_after);
        let seen: Vec<_> = pages.iter().map(|page| (page.second, lost(&page.held[0]))).collect();
        let expected = [(3, (9, 0, 0, None)), (185, (0, 1, 0, Some((185, 185)))), (186, (0, 0, 1, Some((186, 186))))];
        assert_eq!(seen, expected);
        let mut all = HeldCell::new(1);
        pages.iter().for_each(|page| all.merge(&page.held[0]));
        assert_eq!(lost(&all), (9, 1, 1, Some((185, 186))));
    }

    #[test]
    fn errors_are_grouped_and_their_groups_bounded() {
        let mut book = Book::new(0, 1, false);
        for step in 0..ERROR_GROUPS_MAX + 5 {
            book.error(0, step, &Failure::new(Trouble::Closed, "x".repeat(5000)));
        }
        for sample in ["later", "later", "last", "one too many"] {
            book.error(0, 0, &Failure::new(Trouble::Closed, sample));
        }
        book.not_sent(0, 2);
        book.not_sent(0, 3);
        book.not_sent(1, 0);
        book.tear();
        let page = book.full().unwrap();
        assert_eq!((page.errors.len(), page.errors[0].count, page.errors[ERROR_GROUPS_MAX - 1].count), (64, 5, 6));
        assert_eq!(page.errors[ERROR_GROUPS_MAX - 1].trouble, Trouble::Other);
        let samples: Vec<&str> = page.errors[0].samples.iter().map(|sample| &sample[..4]).collect();
        assert_eq!((samples, ERROR_SAMPLES_MAX), (vec!["xxxx", "late", "last"], 3));
        assert_eq!(page.errors[0].samples[0].len(), SAMPLE_CHARS_MAX);
        assert_eq!(page.not_sent, [(0, 5)]);
    }
}
