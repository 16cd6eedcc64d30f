//! The book of parts: every burst, level and phase of the trial with the figures of its own. A part, or a phase of several,
//! keeps its distributions while it runs; when it is over, only its figures stay. Refuses to know when a part should begin.

use std::collections::BTreeMap;
use std::time::Duration;

use super::interval::{HeldStats, OpStats, PauseImpact};
use crate::aggregate::{
    Basis, HeldAggregate, HeldFigures, JourneyAggregate, LoadStepFigures, OpAggregate, PhaseAggregate,
    PhaseJourneyFigures, round,
};
use crate::edge::LevelAssessment;
use crate::limits::LOAD_STEPS_MAX;
use crate::scenario::Journey;

/// Both, in the order in which their figures are kept.
const BASES: [Basis; 2] = [Basis::Measured, Basis::WithoutLab];

/// What is known of a part before it begins.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadStepSpec {
    /// Its number.
    pub number: u32,
    /// Its phase's name.
    pub phase: String,
    /// How many parts the phase has, at most.
    pub steps_of_phase: u32,
    /// What it is.
    pub label: String,
    /// Its first moment.
    pub start: Duration,
    /// Arrivals per second that are due.
    pub offered_per_s: Option<f64>,
    /// Clients, or held connections.
    pub clients: Option<u64>,
    /// Its journey, by its place in the scenario.
    pub journey: usize,
    /// A journey whose figures are not the part's: what its connections say first.
    pub opening: Option<usize>,
    /// Where it holds connections: how long opening them may take, at most.
    pub open_within: Option<Duration>,
    /// The phase with whose connections it goes on.
    pub resumes_phase: Option<String>,
}

/// All parts.
#[derive(Debug, Default)]
pub struct LoadStepAccumulator {
    /// Each journey, before anything came of it.
    journeys: Vec<JourneyAggregate>,
    steps: BTreeMap<u32, LoadStep>,
    phases: BTreeMap<String, PhaseAggregate>,
    /// The part that ended last, with its distributions.
    last_finished: Option<(u32, OpAggregate)>,
}

#[derive(Debug, Default)]
struct LoadStep {
    spec: LoadStepSpec,
    op: OpAggregate,
    workers_done: u32,
    not_sent: u64,
    ended_at: Duration,
    /// When it would have ended without pauses of the lab, and how much of its time those lost.
    needed_until: Duration,
    lost: Duration,
    /// Of each basis, once it is over.
    figures: Option<Box<[LoadStepFigures; 2]>>,
    judged: Option<LevelAssessment>,
    held: Option<Box<HeldAggregate>>,
    workers_open: u32,
}

impl LoadStepAccumulator {
    /// An empty one, for a trial of these journeys.
    #[must_use]
    pub fn new(journeys: &[Journey]) -> Self {
        Self { journeys: journeys.iter().map(JourneyAggregate::new).collect(), ..Self::default() }
    }

    /// Begins a part. Beyond the bound of parts, later ones are counted with the last.
    pub fn begin(&mut self, spec: LoadStepSpec) {
        if self.steps.len() < LOAD_STEPS_MAX as usize {
            self.begin_phase(&spec);
            let held = spec.open_within.is_some().then(|| Box::new(HeldAggregate::starting_at(spec.start)));
            self.steps.insert(spec.number, LoadStep { spec, held, ..LoadStep::default() });
        }
    }

    fn begin_phase(&mut self, spec: &LoadStepSpec) {
        if !self.phases.contains_key(&spec.phase) {
            let places = [Some(spec.journey), spec.opening].into_iter().flatten();
            let folds: Option<_> = places.map(|place| Some((place, self.journeys.get(place)?.clone()))).collect();
            self.phases.extend(folds.map(|folds| (spec.phase.clone(), PhaseAggregate::Open(folds))));
        }
    }

    /// What is known of a part; of one beyond the bound, of the last.
    fn step_mut(&mut self, part: u32) -> Option<&mut LoadStep> {
        let known = if self.steps.contains_key(&part) { part } else { *self.steps.keys().next_back()? };
        self.steps.get_mut(&known)
    }

    /// Takes the figures of an operation in.
    pub fn add(&mut self, cell: &OpStats) {
        let Some(part) = self.step_mut(cell.load_step) else { return };
        if cell.op.step.is_none() && part.spec.opening != Some(cell.op.journey) {
            part.op.add(cell);
        }
        let phase = part.spec.phase.clone();
        if let Some(phase) = self.phases.get_mut(&phase) {
            phase.add(cell);
        }
    }

    /// Takes what became of held connections in.
    pub fn add_held(&mut self, cell: &HeldStats) {
        if let Some(held) = self.step_mut(cell.load_step).and_then(|part| part.held.as_mut()) {
            held.add(cell);
        }
    }

    /// All connections that a worker holds for a part stand, the last one since `at`. Gives true when that was the last
    /// of the workers.
    pub fn count_worker_open(&mut self, part: u32, workers: u32, at: Duration) -> bool {
        let Some(part) = self.steps.get_mut(&part) else { return false };
        part.workers_open += 1;
        if let Some(held) = part.held.as_mut() {
            held.set_opened_by(at);
        }
        part.workers_open >= workers
    }

    /// When the last connection that a part holds stood, as far as is known; none where it holds none.
    #[must_use]
    pub fn opened_by(&self, part: u32) -> Option<Duration> {
        Some(self.steps.get(&part)?.held.as_ref()?.opened_until())
    }

    /// Whether all connections that a part holds stand, or have stood, of so many workers.
    #[must_use]
    pub fn is_open(&self, part: u32, workers: u32) -> bool {
        self.steps.get(&part).is_some_and(|part| part.workers_open >= workers)
    }

    /// All connections of a part stand: what is measured of it begins at this moment.
    pub fn start_requests_at(&mut self, part: u32, at: Duration) {
        if let Some(part) = self.steps.get_mut(&part) {
            part.spec.start = at;
        }
    }

    /// A worker is done with a part: everything of it that this worker sent has ended by `at`. Gives true when that was
    /// the last of them.
    pub fn count_worker_done(&mut self, part: u32, workers: u32, at: Duration, not_sent: u64) -> bool {
        self.count_worker_done_with(part, workers, at, not_sent, PauseImpact::default())
    }

    /// The same of a worker whose pauses did this to the part's length.
    pub fn count_worker_done_with(
        &mut self,
        part: u32,
        workers: u32,
        at: Duration,
        not_sent: u64,
        own: PauseImpact,
    ) -> bool {
        let number = part;
        let Some(part) = self.step_mut(part) else { return false };
        part.workers_done += 1;
        part.not_sent += not_sent;
        part.ended_at = part.ended_at.max(at);
        part.needed_until = part.needed_until.max(at.saturating_sub(own.extended_by));
        part.lost += own.lost_time;
        let over = part.workers_done >= workers;
        if over {
            part.figures = Some(Box::new(BASES.map(|basis| part.figures(basis))));
            // One distribution for whoever judges the part; it goes with the next part that ends.
            let op = std::mem::take(&mut part.op);
            let spec = &part.spec;
            let (phase, parts) = (spec.phase.clone(), spec.steps_of_phase);
            self.last_finished = Some((number, op));
            self.close_phase(&phase, parts);
        }
        over
    }

    /// A phase is over with the last of its parts. A search may stop before it has had all of them: then its distributions stay.
    fn close_phase(&mut self, phase: &str, parts: u32) {
        let over = self.steps.values().filter(|part| part.spec.phase == phase && part.figures.is_some()).count();
        if let Some(fold) = self.phases.get_mut(phase).filter(|_| over >= parts as usize) {
            fold.close();
        }
    }

    /// Whether everything of a part has ended.
    #[must_use]
    pub fn is_over(&self, part: u32) -> bool {
        self.steps.get(&part).is_some_and(|part| part.figures.is_some())
    }

    /// What the search for the edge said of a part.
    pub fn set_overload(&mut self, part: u32, judged: &LevelAssessment) {
        if let Some(part) = self.steps.get_mut(&part) {
            part.judged = Some(judged.clone());
        }
    }

    /// What was known of a part before it began, and when it did.
    #[must_use]
    pub fn spec(&self, part: u32) -> Option<&LoadStepSpec> {
        self.steps.get(&part).map(|part| &part.spec)
    }

    /// The labels of parts that have begun by `now` and are not over, the last one first.
    pub fn current(&self, now: Duration) -> Option<&LoadStepSpec> {
        let running = self.steps.values().filter(|part| part.figures.is_none() && part.spec.start <= now);
        running.map(|part| &part.spec).next_back()
    }

    /// The figures of a part so far.
    #[must_use]
    pub fn figures(&self, part: u32) -> Option<LoadStepFigures> {
        self.figures_of(part, Basis::Measured)
    }

    fn figures_of(&self, part: u32, basis: Basis) -> Option<LoadStepFigures> {
        let part = self.steps.get(&part)?;
        let known = part.figures.as_ref().map(|both| both[usize::from(basis == Basis::WithoutLab)].clone());
        let figures = known.unwrap_or_else(|| part.figures(basis));
        let (overload, void) = match &part.judged {
            None => (None, None),
            Some(LevelAssessment::Sustained) => (Some(Vec::new()), None),
            Some(LevelAssessment::Overloaded(reasons)) => {
                (Some(reasons.iter().map(ToString::to_string).collect()), None)
            }
            Some(LevelAssessment::Void(why)) => (None, Some(why.clone())),
        };
        // What it has left may be lost after it is over.
        Some(LoadStepFigures { overload, void, connections: part.connections(basis), ..figures })
    }

    /// A quantile of the latency of the part that ended last, in milliseconds; none of an earlier one.
    #[must_use]
    pub fn latency_ms(&self, part: u32, quantile: f64) -> Option<f64> {
        let (_, op) = self.last_finished.as_ref().filter(|(last, _)| *last == part)?;
        op.latency.quantile_ms(quantile)
    }

    /// What every phase that has begun has asked so far.
    #[must_use]
    pub(crate) fn phase_figures(&self, basis: Basis) -> BTreeMap<String, PhaseJourneyFigures> {
        self.phases.iter().map(|(phase, fold)| (phase.clone(), fold.figures(basis))).collect()
    }

    /// The figures of all parts.
    #[must_use]
    pub fn all_figures(&self) -> Vec<LoadStepFigures> {
        self.figures_on(Basis::Measured)
    }

    /// The figures of all parts, on one basis.
    #[must_use]
    pub fn figures_on(&self, basis: Basis) -> Vec<LoadStepFigures> {
        self.steps.keys().filter_map(|part| self.figures_of(*part, basis)).collect()
    }
}

impl LoadStep {
    fn figures(&self, basis: Basis) -> LoadStepFigures {
        let length = match basis {
            Basis::Measured => self.ended_at.saturating_sub(self.spec.start),
            Basis::WithoutLab => self.needed_until.saturating_sub(self.spec.start).saturating_sub(self.lost),
        };
        let length_s = length.as_secs_f64();
        LoadStepFigures {
            part: self.spec.number,
            phase: self.spec.phase.clone(),
            label: self.spec.label.clone(),
            start_s: round(self.spec.start.as_secs_f64()),
            length_s: round(length_s),
            offered_per_s: self.spec.offered_per_s,
            clients: self.spec.clients,
            throughput_per_s: (length_s > 0.0).then(|| round(self.op.ok as f64 / length_s)),
            not_sent: self.not_sent,
            op: self.op.figures(basis),
            overload: None,
            void: None,
            connections: self.connections(basis),
        }
    }

    fn connections(&self, basis: Basis) -> Option<HeldFigures> {
        let figures = self.held.as_ref()?.figures(self.spec.clients.unwrap_or(0), basis);
        Some(HeldFigures { keeps: self.spec.resumes_phase.clone(), ..figures })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::aggregate::{Aggregate, JourneyFigures, PhaseFigures};
    use crate::record::{Interval, OpId};
    use crate::scenario::{Document, Gate, Scenario};
    use crate::verdict::evaluate_gates;

    fn begun(parts: u32) -> LoadStepAccumulator {
        let mut book = LoadStepAccumulator::default();
        (0..parts).for_each(|part| {
            book.begin(LoadStepSpec { number: part, start: Duration::from_secs(1), ..LoadStepSpec::default() })
        });
        book
    }

    fn answered(book: &mut LoadStepAccumulator, part: u32, ok: u64) {
        book.add(&OpStats { ok, ..OpStats::new(part, OpId { journey: 0, step: None }) });
    }

    #[test]
    fn a_part_is_over_when_all_workers_are_done_with_it() {
        let mut book = begun(2);
        answered(&mut book, 1, 30);
        assert!(!book.count_worker_done(1, 2, Duration::from_secs(3), 1));
        answered(&mut book, 1, 10);
        assert!(!book.is_over(1));
        assert!(book.count_worker_done(1, 2, Duration::from_secs(5), 2));
        let figures = book.figures(1).unwrap();
        assert_eq!((figures.op.ok, figures.not_sent, figures.length_s), (40, 3, 4.0));
        assert_eq!(figures.throughput_per_s, Some(10.0));
        assert_eq!((book.is_over(0), book.is_over(1)), (false, true));
    }

    /// A part of two workers that begins at 1 s and ends at 5 s with 40 good answers: what each worker's pauses did to its
    /// length, in seconds, and its throughput without them.
    #[track_caller]
    fn check_throughput(own_s: [(u64, u64); 2], expected: f64) {
        let mut book = begun(1);
        answered(&mut book, 0, 40);
        let own = own_s.map(|(longer, lost)| PauseImpact {
            extended_by: Duration::from_secs(longer),
            lost_time: Duration::from_secs(lost),
        });
        book.count_worker_done_with(0, 2, Duration::from_secs(5), 0, own[0]);
        book.count_worker_done_with(0, 2, Duration::from_secs(5), 0, own[1]);
        let per_s = |basis| book.figures_on(basis)[0].throughput_per_s;
        assert_eq!((per_s(Basis::Measured), per_s(Basis::WithoutLab)), (Some(10.0), Some(expected)), "{own_s:?}");
    }

    #[test]
    fn a_part_is_as_long_without_pauses_as_its_slowest_worker_needed() {
        check_throughput([(0, 0), (0, 0)], 10.0);
        check_throughput([(2, 0), (0, 0)], 10.0);
        check_throughput([(2, 0), (3, 0)], 20.0);
        check_throughput([(0, 1), (0, 1)], 20.0);
    }

    #[test]
    fn parts_beyond_the_bound_count_with_the_last() {
        let mut book = begun(LOAD_STEPS_MAX + 5);
        assert_eq!(book.all_figures().len(), LOAD_STEPS_MAX as usize);
        answered(&mut book, LOAD_STEPS_MAX + 3, 7);
        assert_eq!(book.figures(LOAD_STEPS_MAX - 1).unwrap().op.ok, 7);
    }

    #[test]
    fn the_current_part_has_begun_and_is_not_over() {
        let mut book = begun(2);
        let current = |book: &LoadStepAccumulator, now| book.current(Duration::from_secs(now)).map(|spec| spec.number);
        assert_eq!((current(&book, 0), current(&book, 1)), (None, Some(1)));
        book.count_worker_done(1, 1, Duration::from_secs(2), 0);
        assert_eq!(current(&book, 2), Some(0));
    }

    /// Levels that share a journey of two steps, each of which is opened with the other one; and bursts of that other one.
    const LEVELS: &str = r#"
format = 1
name = "levels"
summary = "Levels"
[target]
url = "http://127.0.0.1:1"
[[phase]]
name = "low"
arrivals = { hold = { connections = 1 }, for = "1s" }
opening = "enter"
journey = "turn"
[[phase]]
name = "high"
arrivals = { hold = { connections = 2 }, for = "1s" }
opening = "enter"
journey = "turn"
[[phase]]
name = "bursts"
arrivals = { batch = 9, every = "1s", times = 2 }
in_flight_max = 9
journey = "enter"
[[journey]]
name = "turn"
[[journey.step]]
name = "move"
request = "GET /move"
[[journey.step]]
name = "dig"
request = "GET /dig"
[[journey]]
name = "enter"
[[journey.step]]
request = "GET /"
"#;

    /// Phase, its part, and how many parts the phase has.
    const PARTS: [(usize, u32, u32); 4] = [(0, 0, 1), (1, 1, 1), (2, 2, 2), (2, 3, 2)];

    fn levels() -> (Scenario, LoadStepAccumulator) {
        let scenario = Scenario::read(&Document::parse(LEVELS).unwrap()).unwrap();
        let mut book = LoadStepAccumulator::new(&scenario.journeys);
        for (phase, part, parts_of_phase) in PARTS {
            let phase = &scenario.phases[phase];
            let (journey, opening, start) = (phase.journey_index, phase.opening_journey, Duration::from_secs(1));
            let phase = phase.name.clone();
            book.begin(LoadStepSpec {
                number: part,
                phase,
                steps_of_phase: parts_of_phase,
                journey,
                opening,
                start,
                ..LoadStepSpec::default()
            });
        }
        (scenario, book)
    }

    /// The figures of every phase, as they stand in a record.
    fn phases(book: &LoadStepAccumulator) -> BTreeMap<String, PhaseFigures> {
        let parts = book.all_figures();
        let figures = |(phase, asked): (String, PhaseJourneyFigures)| {
            let own: Vec<&LoadStepFigures> = parts.iter().filter(|part| part.phase == phase).collect();
            let figures = PhaseFigures::from_steps(&own, None, Some(asked));
            (phase, figures)
        };
        book.phase_figures(Basis::Measured).into_iter().map(figures).collect()
    }

    /// Some answers of an operation in a part, all of which took so long.
    fn answers(part: u32, journey: usize, step: Option<usize>, ok: u64, latency_us: u64) -> OpStats {
        let mut cell = OpStats { ok, errors: 1, ..OpStats::new(part, OpId { journey, step }) };
        cell.latency_us.record_n(latency_us, ok).unwrap();
        cell
    }

    fn cells() -> impl Strategy<Value = Vec<OpStats>> {
        // Connections enter, turns are of two steps; bursts enter as well.
        let kinds = prop::sample::select(vec![(0, None), (0, Some(0)), (0, Some(1)), (1, None)]);
        let cell = |(part, (journey, step), ok, latency_us): (u32, (usize, Option<usize>), u64, u64)| {
            let (journey, step) = if part >= 2 { (1, None) } else { (journey, step) };
            answers(part, journey, step, ok, latency_us)
        };
        prop::collection::vec((0u32..4, kinds, 1u64..20, 1u64..1_000_000).prop_map(cell), 0..60)
    }

    /// What figures are the sums of: counts, and times.
    fn sums(figures: &[&JourneyFigures]) -> Vec<u64> {
        let ops = |own: &JourneyFigures| [&own.op].into_iter().chain(own.steps.values()).cloned().collect::<Vec<_>>();
        let counts = |op: &crate::aggregate::OpFigures| [op.ok, op.errors, op.latency_ms.count];
        let of_one = |own: &&JourneyFigures| ops(own).iter().flat_map(counts).collect::<Vec<_>>();
        let all: Vec<Vec<u64>> = figures.iter().map(of_one).collect();
        (0..all[0].len()).map(|place| all.iter().map(|own| own[place]).sum()).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Wherever each part ends in the course of things, and whatever phase a journey was taken in.
        #[test]
        fn journeys_are_the_sums_of_what_phases_asked(cells in cells(), ends in prop::collection::vec(0usize..60, 4)) {
            let (scenario, mut book) = levels();
            let mut all = Aggregate::new(&scenario.journeys);
            for (number, cell) in cells.iter().enumerate() {
                let part = cell.load_step as usize;
                // A part that is over has nothing more to say.
                if number <= ends[part] {
                    book.add(cell);
                    all.add(&Interval { ops: vec![cell.clone()], ..Interval::default() });
                }
                for part in (0..4).filter(|part| number == ends[*part]) {
                    book.count_worker_done(part as u32, 1, Duration::from_secs(3), 0);
                }
            }
            let (phases, journeys) = (phases(&book), all.journeys(&|_| None, Basis::Measured));
            let of = |phase: &str| (phases[phase].journey.clone().unwrap(), phases[phase].opening.clone());
            let ((low, enter_low), (high, enter_high), (bursts, none)) = (of("low"), of("high"), of("bursts"));
            prop_assert!(none.is_none());
            prop_assert_eq!(sums(&[&low, &high]), sums(&[&journeys["turn"]]));
            prop_assert_eq!(sums(&[&enter_low.unwrap(), &enter_high.unwrap(), &bursts]), sums(&[&journeys["enter"]]));
        }
    }

    #[test]
    fn a_level_that_fails_does_not_hide_behind_one_that_passes() {
        let (_, mut book) = levels();
        book.add(&answers(0, 0, Some(0), 100_000, 1_000));
        book.add(&answers(1, 0, Some(0), 100, 50_000));
        let gates = ["turn", "low.journey", "high.journey"].map(|of| format!("{of}.steps.move.latency_ms.p99"));
        let gates = gates.map(|name| Gate::parse(&name, "< 14.2").unwrap());
        let all = answers(0, 0, Some(0), 100_100, 1_000);
        let mut fold = Aggregate::new(&levels().0.journeys);
        fold.add(&Interval { ops: vec![all], ..Interval::default() });
        let results =
            serde_json::json!({ "journeys": fold.journeys(&|_| None, Basis::Measured), "phases": phases(&book) });
        assert_eq!(
            evaluate_gates(&gates, &results).iter().map(|gate| gate.ok).collect::<Vec<_>>(),
            [true, true, false]
        );
    }

    #[test]
    fn a_phase_keeps_figures_alone_once_the_last_of_its_parts_is_over() {
        let (_, mut book) = levels();
        let is_closed =
            |book: &LoadStepAccumulator, phase: &str| matches!(book.phases[phase], PhaseAggregate::Closed(_));
        for (part, phase, closed) in [(0, "low", true), (2, "bursts", false), (3, "bursts", true)] {
            book.add(&answers(part, 1, None, 7, 1_000));
            book.count_worker_done(part, 1, Duration::from_secs(3), 2);
            assert_eq!(is_closed(&book, phase), closed, "{part}");
        }
        let phases = phases(&book);
        let bursts = phases["bursts"].journey.as_ref().unwrap();
        assert_eq!((bursts.op.ok, bursts.not_sent, bursts.throughput_per_s), (14, 4, Some(7.0)));
        assert_eq!(phases["low"].opening.as_ref().unwrap().op.ok, 7);
    }
}
