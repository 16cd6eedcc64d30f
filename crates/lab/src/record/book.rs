//! The book of parts: every burst, level and phase of the trial with the figures of its own. A part keeps its
//! distributions while it runs; when it is over, only its figures stay. Refuses to know when a part should begin.

use std::collections::BTreeMap;
use std::time::Duration;

use super::interval::{Cell, HeldCell};
use crate::fold::{HeldFigures, HeldFold, OpFold, PartFigures, round};
use crate::limits::PARTS_MAX;

/// What is known of a part before it begins.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PartSpec {
    /// Its number.
    pub part: u32,
    /// Its phase's name.
    pub phase: String,
    /// What it is.
    pub label: String,
    /// Its first moment.
    pub start: Duration,
    /// Arrivals per second that are due.
    pub offered_per_s: Option<f64>,
    /// Clients, or held connections.
    pub clients: Option<u64>,
    /// A journey whose figures are not the part's: what its connections say first.
    pub opening: Option<usize>,
    /// Where it holds connections: how long opening them may take, at most.
    pub open_within: Option<Duration>,
    /// The phase with whose connections it goes on.
    pub keeps: Option<String>,
}

/// All parts.
#[derive(Debug, Default)]
pub struct Book {
    parts: BTreeMap<u32, Part>,
    /// The part that ended last, with its distributions.
    last_over: Option<(u32, OpFold)>,
}

#[derive(Debug, Default)]
struct Part {
    spec: PartSpec,
    op: OpFold,
    workers_over: u32,
    not_sent: u64,
    ended_at: Duration,
    figures: Option<PartFigures>,
    overload: Option<Vec<String>>,
    held: Option<Box<HeldFold>>,
    workers_in: u32,
}

impl Book {
    /// Begins a part. Beyond the bound of parts, later ones are counted with the last.
    pub fn begin(&mut self, spec: PartSpec) {
        if self.parts.len() < PARTS_MAX as usize {
            let held = spec.open_within.is_some().then(|| Box::new(HeldFold::from(spec.start)));
            self.parts.insert(spec.part, Part { spec, held, ..Part::default() });
        }
    }

    fn part_mut(&mut self, part: u32) -> Option<&mut Part> {
        let known = if self.parts.contains_key(&part) { part } else { *self.parts.keys().next_back()? };
        self.parts.get_mut(&known)
    }

    /// Takes the figures of a journey as a whole in.
    pub fn add(&mut self, cell: &Cell) {
        if let Some(part) = self.part_mut(cell.part).filter(|part| part.spec.opening != Some(cell.op.journey)) {
            part.op.add(cell);
        }
    }

    /// Takes what became of held connections in.
    pub fn add_held(&mut self, cell: &HeldCell) {
        if let Some(held) = self.part_mut(cell.part).and_then(|part| part.held.as_mut()) {
            held.add(cell);
        }
    }

    /// All connections that a worker holds for a part stand, the last one since `at`. Gives true when that was the last
    /// of the workers.
    pub fn opened(&mut self, part: u32, workers: u32, at: Duration) -> bool {
        let Some(part) = self.parts.get_mut(&part) else { return false };
        part.workers_in += 1;
        if let Some(held) = part.held.as_mut() {
            held.opened_by(at);
        }
        part.workers_in >= workers
    }

    /// When the last connection that a part holds stood, as far as is known; none where it holds none.
    #[must_use]
    pub fn stood_by(&self, part: u32) -> Option<Duration> {
        Some(self.parts.get(&part)?.held.as_ref()?.until())
    }

    /// Whether all connections that a part holds stand, or have stood, of so many workers.
    #[must_use]
    pub fn is_open(&self, part: u32, workers: u32) -> bool {
        self.parts.get(&part).is_some_and(|part| part.workers_in >= workers)
    }

    /// All connections of a part stand: what is measured of it begins at this moment.
    pub fn asked_from(&mut self, part: u32, at: Duration) {
        if let Some(part) = self.parts.get_mut(&part) {
            part.spec.start = at;
        }
    }

    /// A worker is done with a part: everything of it that this worker sent has ended by `at`. Gives true when that was
    /// the last of them.
    pub fn over(&mut self, part: u32, workers: u32, at: Duration, not_sent: u64) -> bool {
        let number = part;
        let Some(part) = self.part_mut(part) else { return false };
        part.workers_over += 1;
        part.not_sent += not_sent;
        part.ended_at = part.ended_at.max(at);
        let over = part.workers_over >= workers;
        if over {
            part.figures = Some(part.figures());
            // One distribution for whoever judges the part; it goes with the next part that ends.
            let op = std::mem::take(&mut part.op);
            self.last_over = Some((number, op));
        }
        over
    }

    /// Whether everything of a part has ended.
    #[must_use]
    pub fn is_over(&self, part: u32) -> bool {
        self.parts.get(&part).is_some_and(|part| part.figures.is_some())
    }

    /// What the search for the edge said of a part.
    pub fn judge(&mut self, part: u32, reasons: Vec<String>) {
        if let Some(part) = self.parts.get_mut(&part) {
            part.overload = Some(reasons);
        }
    }

    /// What was known of a part before it began, and when it did.
    #[must_use]
    pub fn spec(&self, part: u32) -> Option<&PartSpec> {
        self.parts.get(&part).map(|part| &part.spec)
    }

    /// The labels of parts that have begun by `now` and are not over, the last one first.
    pub fn current(&self, now: Duration) -> Option<&PartSpec> {
        let running = self.parts.values().filter(|part| part.figures.is_none() && part.spec.start <= now);
        running.map(|part| &part.spec).next_back()
    }

    /// The figures of a part so far.
    #[must_use]
    pub fn figures(&self, part: u32) -> Option<PartFigures> {
        let part = self.parts.get(&part)?;
        let figures = part.figures.clone().unwrap_or_else(|| part.figures());
        // What it has left may be lost after it is over.
        Some(PartFigures { overload: part.overload.clone(), connections: part.connections(), ..figures })
    }

    /// A quantile of the latency of the part that ended last, in milliseconds; none of an earlier one.
    #[must_use]
    pub fn latency_ms(&self, part: u32, quantile: f64) -> Option<f64> {
        let (_, op) = self.last_over.as_ref().filter(|(last, _)| *last == part)?;
        op.latency.quantile_ms(quantile)
    }

    /// The figures of all parts.
    #[must_use]
    pub fn all(&self) -> Vec<PartFigures> {
        self.parts.keys().filter_map(|part| self.figures(*part)).collect()
    }
}

impl Part {
    fn figures(&self) -> PartFigures {
        let length_s = self.ended_at.saturating_sub(self.spec.start).as_secs_f64();
        PartFigures {
            part: self.spec.part,
            phase: self.spec.phase.clone(),
            label: self.spec.label.clone(),
            start_s: round(self.spec.start.as_secs_f64()),
            length_s: round(length_s),
            offered_per_s: self.spec.offered_per_s,
            clients: self.spec.clients,
            throughput_per_s: (length_s > 0.0).then(|| round(self.op.ok as f64 / length_s)),
            not_sent: self.not_sent,
            op: self.op.figures(),
            overload: None,
            connections: self.connections(),
        }
    }

    fn connections(&self) -> Option<HeldFigures> {
        let figures = self.held.as_ref()?.figures(self.spec.clients.unwrap_or(0));
        Some(HeldFigures { keeps: self.spec.keeps.clone(), ..figures })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Op;

    fn begun(parts: u32) -> Book {
        let mut book = Book::default();
        (0..parts).for_each(|part| book.begin(PartSpec { part, start: Duration::from_secs(1), ..PartSpec::default() }));
        book
    }

    fn answered(book: &mut Book, part: u32, ok: u64) {
        book.add(&Cell { ok, ..Cell::new(part, Op { journey: 0, step: None }) });
    }

    #[test]
    fn a_part_is_over_when_all_workers_are_done_with_it() {
        let mut book = begun(2);
        answered(&mut book, 1, 30);
        assert!(!book.over(1, 2, Duration::from_secs(3), 1));
        answered(&mut book, 1, 10);
        assert!(!book.is_over(1));
        assert!(book.over(1, 2, Duration::from_secs(5), 2));
        let figures = book.figures(1).unwrap();
        assert_eq!((figures.op.ok, figures.not_sent, figures.length_s), (40, 3, 4.0));
        assert_eq!(figures.throughput_per_s, Some(10.0));
        assert_eq!((book.is_over(0), book.is_over(1)), (false, true));
    }

    #[test]
    fn parts_beyond_the_bound_count_with_the_last() {
        let mut book = begun(PARTS_MAX + 5);
        assert_eq!(book.all().len(), PARTS_MAX as usize);
        answered(&mut book, PARTS_MAX + 3, 7);
        assert_eq!(book.figures(PARTS_MAX - 1).unwrap().op.ok, 7);
    }

    #[test]
    fn the_current_part_has_begun_and_is_not_over() {
        let mut book = begun(2);
        let current = |book: &Book, now| book.current(Duration::from_secs(now)).map(|spec| spec.part);
        assert_eq!((current(&book, 0), current(&book, 1)), (None, Some(1)));
        book.over(1, 1, Duration::from_secs(2), 0);
        assert_eq!(current(&book, 2), Some(0));
    }
}
