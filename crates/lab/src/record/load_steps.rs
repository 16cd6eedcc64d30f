//! Accumulates the figures of every load step: each burst, level and phase of the trial. A load step, or a phase of
//! several, keeps its distributions while it runs; when it is over, only its figures are kept. Does not know when a
//! load step should start.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::aggregate::{HeldFigures, JourneyAggregate, LoadStepFigures, PhaseAggregate, PhaseFigures};
use crate::edge::LevelAssessment;
use crate::format::round;
use crate::limits::LOAD_STEPS_MAX;
use crate::measurement::{Basis, HeldStats, Interval, OpKey, OpStats, PauseImpact};
use crate::scenario::Journey;

/// In the order in which their figures are kept.
const BASES: [Basis; 2] = [Basis::Measured, Basis::WithoutLab];

/// What is known of a load step before it starts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadStepSpec {
    pub number: u32,
    pub phase: String,
    /// How many load steps the phase has, at most.
    pub steps_of_phase: u32,
    /// What it is: `burst 2`, `50 clients`, `1,250/s`.
    pub label: String,
    pub start: Duration,
    /// Arrivals per second that are due.
    pub offered_per_s: Option<f64>,
    /// Clients, or held connections.
    pub clients: Option<u64>,
    /// The index of its journey in the scenario.
    pub journey: usize,
    /// The opening journey, whose figures are not the load step's.
    pub opening: Option<usize>,
    /// How long opening its connections may take, if it holds connections.
    pub open_within: Option<Duration>,
    /// The phase whose connections it resumes.
    pub resumes_phase: Option<String>,
}

#[derive(Debug, Default)]
pub struct LoadStepAccumulator {
    /// Each journey, without figures.
    journeys: Vec<JourneyAggregate>,
    steps: BTreeMap<u32, LoadStep>,
    phases: BTreeMap<String, PhaseAggregate>,
    /// The load step that ended last, with its distributions.
    last_finished: Option<(u32, OpStats)>,
}

#[derive(Debug, Default)]
struct LoadStep {
    spec: LoadStepSpec,
    op: OpStats,
    workers_done: u32,
    not_sent: u64,
    /// Of these, arrivals that a pause of the generator has held up.
    not_sent_behind_pauses: u64,
    ended_at: Duration,
    /// When it would have ended without pauses of the generator, and how much of its time was lost to them.
    needed_until: Duration,
    lost: Duration,
    /// For each basis, once it is over.
    figures: Option<Box<[LoadStepFigures; 2]>>,
    assessment: Option<LevelAssessment>,
    held: Option<Box<HeldConnections>>,
    workers_open: u32,
}

/// The connections that a load step holds.
#[derive(Debug, Default)]
struct HeldConnections {
    /// When the first of them was due.
    from: Duration,
    /// When the last of them was open, as far as workers have reported.
    until: Option<Duration>,
    stats: HeldStats,
}

impl LoadStepAccumulator {
    #[must_use]
    pub fn new(journeys: &[Journey]) -> Self {
        Self { journeys: journeys.iter().map(JourneyAggregate::new).collect(), ..Self::default() }
    }

    /// Starts a load step. Load steps beyond the limit are counted with the last one.
    pub fn begin(&mut self, spec: LoadStepSpec) {
        if self.steps.len() < LOAD_STEPS_MAX as usize {
            self.begin_phase(&spec);
            let from = spec.start;
            let held =
                spec.open_within.is_some().then(|| Box::new(HeldConnections { from, ..HeldConnections::default() }));
            self.steps.insert(spec.number, LoadStep { spec, held, ..LoadStep::default() });
        }
    }

    fn begin_phase(&mut self, spec: &LoadStepSpec) {
        if !self.phases.contains_key(&spec.phase) {
            let places = [Some(spec.journey), spec.opening].into_iter().flatten();
            let aggregates: Option<_> = places.map(|place| Some((place, self.journeys.get(place)?.clone()))).collect();
            self.phases.extend(aggregates.map(|aggregates| (spec.phase.clone(), PhaseAggregate::Open(aggregates))));
        }
    }

    /// The load step with this number, or the last one if it is beyond the limit.
    fn step_mut(&mut self, load_step: u32) -> Option<&mut LoadStep> {
        let known = if self.steps.contains_key(&load_step) { load_step } else { *self.steps.keys().next_back()? };
        self.steps.get_mut(&known)
    }

    pub fn add_interval(&mut self, interval: &Interval) {
        interval.ops.iter().for_each(|(key, stats)| self.add(*key, stats));
        for (load_step, stats) in &interval.held {
            if let Some(held) = self.step_mut(*load_step).and_then(|load_step| load_step.held.as_mut()) {
                held.stats.merge(stats);
            }
        }
    }

    fn add(&mut self, key: OpKey, stats: &OpStats) {
        let Some(load_step) = self.step_mut(key.load_step) else { return };
        if key.op.step.is_none() && load_step.spec.opening != Some(key.op.journey) {
            load_step.op.merge(stats);
        }
        let phase = load_step.spec.phase.clone();
        if let Some(phase) = self.phases.get_mut(&phase) {
            phase.add(key.op, stats);
        }
    }

    /// A worker reports that its connections are open, the last one since `at`. Returns true if it was the last worker.
    pub fn count_worker_open(&mut self, load_step: u32, workers: u32, at: Duration) -> bool {
        let Some(load_step) = self.steps.get_mut(&load_step) else { return false };
        load_step.workers_open += 1;
        if let Some(held) = load_step.held.as_mut() {
            held.until = held.until.max(Some(at));
        }
        load_step.workers_open >= workers
    }

    /// When the last held connection was open, as far as is known; none if the load step holds none.
    #[must_use]
    pub fn opened_by(&self, load_step: u32) -> Option<Duration> {
        let held = self.steps.get(&load_step)?.held.as_ref()?;
        Some(held.until.unwrap_or(held.from))
    }

    /// Whether the connections of so many workers are open, or have been.
    #[must_use]
    pub fn is_open(&self, load_step: u32, workers: u32) -> bool {
        self.steps.get(&load_step).is_some_and(|load_step| load_step.workers_open >= workers)
    }

    /// All connections are open: the load step is measured from `at` on.
    pub fn start_requests_at(&mut self, load_step: u32, at: Duration) {
        if let Some(load_step) = self.steps.get_mut(&load_step) {
            load_step.spec.start = at;
        }
    }

    /// A worker reports that everything it sent for the load step has ended by `at`, and how its pauses have changed the
    /// load step's length. Returns true if it was the last worker.
    pub fn count_worker_done(
        &mut self,
        load_step: u32,
        workers: u32,
        at: Duration,
        not_sent: u64,
        impact: PauseImpact,
    ) -> bool {
        let number = load_step;
        let Some(load_step) = self.step_mut(load_step) else { return false };
        load_step.workers_done += 1;
        load_step.not_sent += not_sent;
        load_step.not_sent_behind_pauses += impact.not_sent;
        load_step.ended_at = load_step.ended_at.max(at);
        load_step.needed_until = load_step.needed_until.max(at.saturating_sub(impact.extended_by));
        load_step.lost += impact.lost_time;
        let over = load_step.workers_done >= workers;
        let (phase, load_steps) = (load_step.spec.phase.clone(), load_step.spec.steps_of_phase);
        if over {
            load_step.figures = Some(Box::new(BASES.map(|basis| load_step.figures(basis))));
            // One distribution is kept for the assessment of the load step; the next one that ends replaces it.
            self.last_finished = Some((number, std::mem::take(&mut load_step.op)));
        }
        if let Some(aggregate) = self.phases.get_mut(&phase) {
            aggregate.count_not_sent(not_sent, impact.not_sent);
        }
        if over {
            self.close_phase(&phase, load_steps);
        }
        over
    }

    /// A phase is over with the last of its load steps. A search may stop before it has had all of them: then its
    /// distributions stay.
    fn close_phase(&mut self, phase: &str, load_steps: u32) {
        let over = self
            .steps
            .values()
            .filter(|load_step| load_step.spec.phase == phase && load_step.figures.is_some())
            .count();
        if let Some(aggregate) = self.phases.get_mut(phase).filter(|_| over >= load_steps as usize) {
            aggregate.close();
        }
    }

    #[must_use]
    pub fn is_over(&self, load_step: u32) -> bool {
        self.steps.get(&load_step).is_some_and(|load_step| load_step.figures.is_some())
    }

    /// Records how the search has assessed a load step.
    pub fn set_overload(&mut self, load_step: u32, assessment: &LevelAssessment) {
        if let Some(load_step) = self.steps.get_mut(&load_step) {
            load_step.assessment = Some(assessment.clone());
        }
    }

    /// The spec of a load step, with the time at which it has started.
    #[must_use]
    pub fn spec(&self, load_step: u32) -> Option<&LoadStepSpec> {
        self.steps.get(&load_step).map(|load_step| &load_step.spec)
    }

    /// The load step that started last, of those that have started by `now` and are not over.
    pub fn current(&self, now: Duration) -> Option<&LoadStepSpec> {
        let running =
            self.steps.values().filter(|load_step| load_step.figures.is_none() && load_step.spec.start <= now);
        running.map(|load_step| &load_step.spec).next_back()
    }

    /// The figures of a load step so far.
    #[must_use]
    pub fn figures(&self, load_step: u32) -> Option<LoadStepFigures> {
        self.figures_of(load_step, Basis::Measured)
    }

    fn figures_of(&self, load_step: u32, basis: Basis) -> Option<LoadStepFigures> {
        let load_step = self.steps.get(&load_step)?;
        let known = load_step.figures.as_ref().map(|both| both[usize::from(basis == Basis::WithoutLab)].clone());
        let figures = known.unwrap_or_else(|| load_step.figures(basis));
        let (overload, void) = match &load_step.assessment {
            None => (None, None),
            Some(LevelAssessment::Sustained) => (Some(Vec::new()), None),
            Some(LevelAssessment::Overloaded(reasons)) => {
                (Some(reasons.iter().map(ToString::to_string).collect()), None)
            }
            Some(LevelAssessment::Void(reason)) => (None, Some(reason.clone())),
        };
        // Connections that it left open may be lost after it is over.
        Some(LoadStepFigures { overload, void, connections: load_step.connections(basis), ..figures })
    }

    /// A latency quantile of the load step that ended last, in milliseconds; none of an earlier one.
    #[must_use]
    pub fn latency_ms(&self, load_step: u32, quantile: f64) -> Option<f64> {
        let (_, op) = self.last_finished.as_ref().filter(|(last, _)| *last == load_step)?;
        op.latency.quantile_ms(quantile)
    }

    /// The figures of every phase that has started.
    #[must_use]
    pub(crate) fn phase_figures(&self, basis: Basis) -> BTreeMap<String, PhaseFigures> {
        self.phases.iter().map(|(phase, aggregate)| (phase.clone(), aggregate.figures(basis))).collect()
    }

    #[must_use]
    pub fn figures_on(&self, basis: Basis) -> Vec<LoadStepFigures> {
        self.steps.keys().filter_map(|load_step| self.figures_of(*load_step, basis)).collect()
    }
}

impl LoadStep {
    fn figures(&self, basis: Basis) -> LoadStepFigures {
        let length = match basis {
            Basis::Measured => self.ended_at.saturating_sub(self.spec.start),
            Basis::WithoutLab => self.needed_until.saturating_sub(self.spec.start).saturating_sub(self.lost),
        };
        let length_s = length.as_secs_f64();
        // As of a journey: without the generator's delays they would have been sent, and answered.
        let held_up = if basis == Basis::WithoutLab { self.not_sent_behind_pauses } else { 0 };
        LoadStepFigures {
            load_step: self.spec.number,
            phase: self.spec.phase.clone(),
            label: self.spec.label.clone(),
            start_s: round(self.spec.start.as_secs_f64()),
            length_s: round(length_s),
            offered_per_s: self.spec.offered_per_s,
            clients: self.spec.clients,
            throughput_per_s: (length_s > 0.0).then(|| round(self.op.counts.ok as f64 / length_s)),
            not_sent: self.not_sent - held_up,
            op: self.op.figures(basis).with_more_ok(held_up),
            overload: None,
            void: None,
            connections: self.connections(basis),
        }
    }

    fn connections(&self, basis: Basis) -> Option<HeldFigures> {
        let held = self.held.as_ref()?;
        let figures = held.stats.figures(self.spec.clients.unwrap_or(0), held.from, held.until, basis);
        Some(HeldFigures { keeps: self.spec.resumes_phase.clone(), ..figures })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::aggregate::{Aggregate, JourneyFigures};
    use crate::measurement::{OpId, OutcomeCounts, TimeHistogram, histogram};
    use crate::scenario::{Document, Gate, Scenario};
    use crate::verdict::evaluate_gates;

    fn begun(load_steps: u32) -> LoadStepAccumulator {
        let mut accumulator = LoadStepAccumulator::default();
        (0..load_steps).for_each(|load_step| {
            accumulator.begin(LoadStepSpec {
                number: load_step,
                start: Duration::from_secs(1),
                ..LoadStepSpec::default()
            });
        });
        accumulator
    }

    fn answered(accumulator: &mut LoadStepAccumulator, load_step: u32, ok: u64) {
        let key = OpKey { load_step, op: OpId { journey: 0, step: None } };
        accumulator.add(key, &OpStats { counts: OutcomeCounts::all_ok(ok), ..OpStats::default() });
    }

    #[test]
    fn a_load_step_is_over_when_all_workers_are_done() {
        let mut accumulator = begun(2);
        answered(&mut accumulator, 1, 30);
        assert!(!accumulator.count_worker_done(1, 2, Duration::from_secs(3), 1, PauseImpact::default()));
        answered(&mut accumulator, 1, 10);
        assert!(!accumulator.is_over(1));
        assert!(accumulator.count_worker_done(1, 2, Duration::from_secs(5), 2, PauseImpact::default()));
        let figures = accumulator.figures(1).unwrap();
        assert_eq!((figures.op.ok, figures.not_sent, figures.length_s), (40, 3, 4.0));
        assert_eq!(figures.throughput_per_s, Some(10.0));
        assert_eq!((accumulator.is_over(0), accumulator.is_over(1)), (false, true));
    }

    /// Checks a load step of two workers that starts at 1 s and ends at 5 s with 40 ok responses. `own_s` has, for each
    /// worker, by how much its pauses extended the load step and how much time was lost, in seconds; `expected` is the
    /// throughput without pauses.
    #[track_caller]
    fn check_throughput(own_s: [(u64, u64); 2], expected: f64) {
        let mut accumulator = begun(1);
        answered(&mut accumulator, 0, 40);
        let impact = own_s.map(|(extended_by, lost)| PauseImpact {
            not_sent: 0,
            extended_by: Duration::from_secs(extended_by),
            lost_time: Duration::from_secs(lost),
        });
        accumulator.count_worker_done(0, 2, Duration::from_secs(5), 0, impact[0]);
        accumulator.count_worker_done(0, 2, Duration::from_secs(5), 0, impact[1]);
        let per_s = |basis| accumulator.figures_on(basis)[0].throughput_per_s;
        assert_eq!((per_s(Basis::Measured), per_s(Basis::WithoutLab)), (Some(10.0), Some(expected)), "{own_s:?}");
    }

    #[test]
    fn without_pauses_a_load_step_takes_as_long_as_its_slowest_worker() {
        check_throughput([(0, 0), (0, 0)], 10.0);
        check_throughput([(2, 0), (0, 0)], 10.0);
        check_throughput([(2, 0), (3, 0)], 20.0);
        check_throughput([(0, 1), (0, 1)], 20.0);
    }

    #[test]
    fn load_steps_beyond_the_limit_count_with_the_last() {
        let mut accumulator = begun(LOAD_STEPS_MAX + 5);
        assert_eq!(accumulator.figures_on(Basis::Measured).len(), LOAD_STEPS_MAX as usize);
        answered(&mut accumulator, LOAD_STEPS_MAX + 3, 7);
        assert_eq!(accumulator.figures(LOAD_STEPS_MAX - 1).unwrap().op.ok, 7);
    }

    #[test]
    fn the_current_load_step_has_started_and_is_not_over() {
        let mut accumulator = begun(2);
        let current = |accumulator: &LoadStepAccumulator, now| {
            accumulator.current(Duration::from_secs(now)).map(|spec| spec.number)
        };
        assert_eq!((current(&accumulator, 0), current(&accumulator, 1)), (None, Some(1)));
        accumulator.count_worker_done(1, 1, Duration::from_secs(2), 0, PauseImpact::default());
        assert_eq!(current(&accumulator, 2), Some(0));
    }

    /// Levels that share a journey of two steps and open with the other journey; and bursts of that other journey.
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

    /// The phase, its load step, and how many load steps the phase has.
    const PARTS: [(usize, u32, u32); 4] = [(0, 0, 1), (1, 1, 1), (2, 2, 2), (2, 3, 2)];

    fn levels() -> (Scenario, LoadStepAccumulator) {
        let scenario = Scenario::read(&Document::parse(LEVELS).unwrap()).unwrap();
        let mut accumulator = LoadStepAccumulator::new(&scenario.journeys);
        for (phase, load_step, parts_of_phase) in PARTS {
            let phase = &scenario.phases[phase];
            let (journey, opening, start) = (phase.journey_index, phase.opening_journey, Duration::from_secs(1));
            let phase = phase.name.clone();
            accumulator.begin(LoadStepSpec {
                number: load_step,
                phase,
                steps_of_phase: parts_of_phase,
                journey,
                opening,
                start,
                ..LoadStepSpec::default()
            });
        }
        (scenario, accumulator)
    }

    /// The figures of every phase, as in a record.
    fn phases(accumulator: &LoadStepAccumulator) -> BTreeMap<String, PhaseFigures> {
        let load_steps = accumulator.figures_on(Basis::Measured);
        let figures = |(phase, requested): (String, PhaseFigures)| {
            let own: Vec<&LoadStepFigures> = load_steps.iter().filter(|load_step| load_step.phase == phase).collect();
            let figures = requested.with_load_steps(&own);
            (phase, figures)
        };
        accumulator.phase_figures(Basis::Measured).into_iter().map(figures).collect()
    }

    /// Some ok responses of an operation in a load step, all with the same latency.
    fn answers(load_step: u32, journey: usize, step: Option<usize>, ok: u64, latency_us: u64) -> (OpKey, OpStats) {
        let mut times = histogram();
        times.record_n(latency_us, ok).unwrap();
        let counts = OutcomeCounts { ok, denied: 0, errors: 1 };
        let key = OpKey { load_step, op: OpId { journey, step } };
        (key, OpStats { counts, latency: TimeHistogram::from(times), ..OpStats::default() })
    }

    /// An interval with only these.
    fn only(cell: (OpKey, OpStats)) -> Interval {
        Interval { ops: vec![cell], ..Interval::default() }
    }

    fn cells() -> impl Strategy<Value = Vec<(OpKey, OpStats)>> {
        // Connections open with `enter`, turns have two steps; bursts run `enter` as well.
        let kinds = prop::sample::select(vec![(0, None), (0, Some(0)), (0, Some(1)), (1, None)]);
        let stats = |(load_step, (journey, step), ok, latency_us): (u32, (usize, Option<usize>), u64, u64)| {
            let (journey, step) = if load_step >= 2 { (1, None) } else { (journey, step) };
            answers(load_step, journey, step, ok, latency_us)
        };
        prop::collection::vec((0u32..4, kinds, 1u64..20, 1u64..1_000_000).prop_map(stats), 0..60)
    }

    /// The additive figures: counts and sums of times.
    fn sums(figures: &[&JourneyFigures]) -> Vec<u64> {
        let ops = |impact: &JourneyFigures| {
            [&impact.op].into_iter().chain(impact.steps.values()).cloned().collect::<Vec<_>>()
        };
        let counts = |op: &crate::aggregate::OpFigures| [op.ok, op.errors, op.latency_ms.count];
        let of_one = |impact: &&JourneyFigures| ops(impact).iter().flat_map(counts).collect::<Vec<_>>();
        let all: Vec<Vec<u64>> = figures.iter().map(of_one).collect();
        (0..all[0].len()).map(|place| all.iter().map(|impact| impact[place]).sum()).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Wherever a load step ends, and whatever phase has run a journey.
        #[test]
        fn journeys_are_the_sums_of_their_phases(cells in cells(), ends in prop::collection::vec(0usize..60, 4)) {
            let (scenario, mut accumulator) = levels();
            let mut all = Aggregate::new(&scenario.journeys);
            for (number, cell) in cells.iter().enumerate() {
                let load_step = cell.0.load_step as usize;
                // A load step that is over gets no more figures.
                if number <= ends[load_step] {
                    accumulator.add_interval(&only(cell.clone()));
                    all.add(&only(cell.clone()));
                }
                for load_step in (0..4).filter(|load_step| number == ends[*load_step]) {
                    accumulator.count_worker_done(load_step as u32, 1, Duration::from_secs(3), 0, PauseImpact::default());
                }
            }
            let (phases, journeys) = (phases(&accumulator), all.journeys(&|_| None, Basis::Measured));
            let of = |phase: &str| (phases[phase].journey.clone().unwrap(), phases[phase].opening.clone());
            let ((low, enter_low), (high, enter_high), (bursts, none)) = (of("low"), of("high"), of("bursts"));
            prop_assert!(none.is_none());
            prop_assert_eq!(sums(&[&low, &high]), sums(&[&journeys["turn"]]));
            prop_assert_eq!(sums(&[&enter_low.unwrap(), &enter_high.unwrap(), &bursts]), sums(&[&journeys["enter"]]));
        }
    }

    #[test]
    fn a_failing_level_does_not_hide_behind_a_passing_one() {
        let (_, mut accumulator) = levels();
        accumulator.add_interval(&only(answers(0, 0, Some(0), 100_000, 1_000)));
        accumulator.add_interval(&only(answers(1, 0, Some(0), 100, 50_000)));
        let gates = ["turn", "low.journey", "high.journey"].map(|of| format!("{of}.steps.move.latency_ms.p99"));
        let gates = gates.map(|name| Gate::parse(&name, "< 14.2").unwrap());
        let all = answers(0, 0, Some(0), 100_100, 1_000);
        let mut aggregate = Aggregate::new(&levels().0.journeys);
        aggregate.add(&only(all));
        let results = serde_json::json!({ "journeys": aggregate.journeys(&|_| None, Basis::Measured), "phases": phases(&accumulator) });
        assert_eq!(
            evaluate_gates(&gates, &results).iter().map(|gate| gate.ok).collect::<Vec<_>>(),
            [true, true, false]
        );
    }

    /// What the generator's own pause kept from being sent fails no gate of a phase or of a load step.
    #[test]
    fn arrivals_that_a_pause_has_held_up_count_without_it() {
        let (_, mut accumulator) = levels();
        accumulator.add_interval(&only(answers(0, 0, None, 7, 1_000)));
        let impact = PauseImpact { not_sent: 40, ..PauseImpact::default() };
        accumulator.count_worker_done(0, 1, Duration::from_secs(3), 41, impact);
        for (basis, want) in [(Basis::Measured, (7, 8, 41)), (Basis::WithoutLab, (47, 48, 1))] {
            let step = accumulator.figures_of(0, basis).unwrap();
            assert_eq!((step.op.ok, step.op.count, step.not_sent), want, "{basis:?}");
            let journey = accumulator.phase_figures(basis)["low"].journey.clone().unwrap();
            assert_eq!((journey.op.ok, journey.op.count), (want.0, want.1), "{basis:?}");
        }
    }

    #[test]
    fn a_phase_keeps_only_figures_once_its_last_load_step_is_over() {
        let (_, mut accumulator) = levels();
        let is_closed = |accumulator: &LoadStepAccumulator, phase: &str| {
            matches!(accumulator.phases[phase], PhaseAggregate::Closed(_))
        };
        for (load_step, phase, closed) in [(0, "low", true), (2, "bursts", false), (3, "bursts", true)] {
            accumulator.add_interval(&only(answers(load_step, 1, None, 7, 1_000)));
            accumulator.count_worker_done(load_step, 1, Duration::from_secs(3), 2, PauseImpact::default());
            assert_eq!(is_closed(&accumulator, phase), closed, "{load_step}");
        }
        let phases = phases(&accumulator);
        let bursts = phases["bursts"].journey.as_ref().unwrap();
        assert_eq!((bursts.op.ok, bursts.not_sent, bursts.throughput_per_s), (14, 4, Some(7.0)));
        assert_eq!(phases["low"].opening.as_ref().unwrap().op.ok, 7);
    }
}
