//! What a world costs on one core, without a server around it: `world-cost [movers] [viewers]`, a line for each cost.
//!
//! Movers are spread over 1000x1000 cells and step one after the other at random, a fiftieth of them in each batch, as
//! actors do who move once a second and are served every 20 ms. Viewers see 27x27 cells, and are all cut once while a
//! fifth of the movers has moved. It makes no judgement: a single run is an observation. Times are the processor's, as
//! other work on the machine would count in those of the wall.

use engine::ids::WorldId;
use engine::limits::WORLD_SNAPSHOT_MOVERS_PER_SLICE;
use engine::worlds::{Answer, Input, InputKind, MoverRef, Registration, ViewDelta, ViewOptions, World, WorldParams};
use rules::chance::Seed;
use rules::world::{Cell, Indicator, LifeSettings, Step, WorldSettings};
use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

const START_US: i64 = 1_800_000_000_000_000;
const BATCHES_A_SECOND: usize = 50;
const SECONDS: usize = 10;

/// A small generator of steps, so that what is measured is the world (xorshift; Marsaglia 2003).
struct StepGenerator(u64);

impl StepGenerator {
    fn next(&mut self) -> Step {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        Step::ALL[(self.0 >> 33) as usize % Step::ALL.len()]
    }
}

struct MoveLoad {
    world: World,
    movers: Vec<(MoverRef, u32)>,
    steps: StepGenerator,
    batch: Vec<Input>,
    answers: Vec<Answer>,
    now_us: i64,
    next: usize,
    applying: Duration,
    moves: usize,
}

fn main() {
    let argument = |at: usize, usual| std::env::args().nth(at).and_then(|text| text.parse().ok()).unwrap_or(usual);
    let (movers, viewers) = (argument(1, 1_000_000), argument(2, 15_000));
    let empty = resident_bytes();
    let mut load = MoveLoad::new(movers, None);
    let grown = resident_bytes().saturating_sub(empty);
    println!("movers: {movers}; memory, cells included: {:.1} bytes each", grown as f64 / movers as f64);
    for _ in 0..SECONDS * BATCHES_A_SECOND {
        load.step_movers(movers / BATCHES_A_SECOND);
    }
    println!("a move, in batches of {}: {:.0} ns", movers / BATCHES_A_SECOND, load.ns_per_move());
    copies(&mut load.world);
    drop(load);
    crowd(movers.min(200_000));
    views(viewers);
    life();
}

impl MoveLoad {
    fn new(movers: usize, at: Option<Cell>) -> Self {
        let mut world = world(None);
        let actor = registration(at, None);
        let movers = (0..movers).map(|_| (register(&mut world, &actor), 1)).collect();
        let (steps, batch, answers) = (StepGenerator(88_172_645_463_325_252), Vec::new(), Vec::new());
        Self { world, movers, steps, batch, answers, now_us: START_US, next: 0, applying: Duration::ZERO, moves: 0 }
    }

    /// So many movers, the next in turn, step once each.
    fn step_movers(&mut self, count: usize) {
        self.batch.clear();
        self.answers.clear();
        self.now_us += 20_000;
        for _ in 0..count {
            // A stride that shares no factor with their number: movers of one batch were not registered together.
            self.next = (self.next + 611_953) % self.movers.len();
            let (seat, seq) = &mut self.movers[self.next];
            let what = InputKind::Step(self.steps.next());
            self.batch.push(Input {
                mover: *seat,
                seq: *seq,
                tag: u64::from(seat.slot),
                at_us: self.now_us,
                kind: what,
            });
            *seq += 1;
        }
        let begun = processor_time();
        self.world.apply(&self.batch, self.now_us, &mut self.answers);
        self.applying += processor_time() - begun;
        self.moves += self.answers.len();
    }

    fn ns_per_move(&self) -> f64 {
        self.applying.as_nanos() as f64 / self.moves as f64
    }
}

fn crowd(movers: usize) {
    let mut load = MoveLoad::new(movers, Some(Cell { x: 500, y: 500 }));
    let viewer = register(&mut load.world, &registration(Some(Cell { x: 500, y: 500 }), Some(13)));
    let mut delta = ViewDelta::default();
    let (mut cutting, mut movers_sent) = (Duration::ZERO, 0);
    for _ in 0..BATCHES_A_SECOND {
        load.step_movers(movers / BATCHES_A_SECOND);
        let begun = processor_time();
        load.world.view(viewer, load.now_us, &mut delta);
        cutting += processor_time() - begun;
        movers_sent += delta.entered.len() + delta.moved.len() + delta.left.len();
    }
    println!("{movers} movers let loose on one cell: a move {:.0} ns", load.ns_per_move());
    println!(
        "a view of that crowd: {:.0} µs, {} movers",
        cutting.as_micros() as f64 / 50.0,
        movers_sent / BATCHES_A_SECOND
    );
}

/// Viewers alone, each moving once a second: five rounds of views, between which a fifth of them has moved.
fn views(viewers: usize) {
    let mut load = MoveLoad::new(0, None);
    let watcher = registration(None, Some(13));
    load.movers = (0..viewers).map(|_| (register(&mut load.world, &watcher), 1)).collect();
    let seats: Vec<MoverRef> = load.movers.iter().map(|(seat, _)| *seat).collect();
    let mut delta = ViewDelta::default();
    let (mut first, mut cutting, mut frames, mut movers_sent) = (Duration::ZERO, Duration::ZERO, 0, 0);
    for round in 0..26 {
        if round > 0 {
            load.step_movers(viewers / 5);
        }
        let begun = processor_time();
        for seat in &seats {
            if load.world.view(*seat, load.now_us, &mut delta) && round > 0 {
                frames += 1;
                movers_sent += delta.entered.len() + delta.moved.len() + delta.left.len();
            }
        }
        *(if round == 0 { &mut first } else { &mut cutting }) += processor_time() - begun;
    }
    let ns = |span: Duration, count: usize| span.as_nanos() as f64 / count.max(1) as f64;
    println!("viewers: {viewers}; a full view of 27x27: {:.0} ns", ns(first, viewers));
    println!("a view after it: {:.0} ns", ns(cutting, 25 * viewers));
    println!("of a core at five views a second: {:.1} %", cutting.as_secs_f64() / 5.0 * 100.0);
    println!(
        "views with changes: {frames} of {}, {:.1} movers each",
        25 * viewers,
        movers_sent as f64 / frames.max(1) as f64
    );
}

fn life() {
    let mut world = world(Some(LifeSettings { generation: Duration::from_millis(50), start_permille: 300 }));
    world.advance_generation(START_US);
    let begun = processor_time();
    for generation in 1..=100 {
        world.advance_generation(START_US + generation * 50_000);
    }
    println!(
        "a generation of a million cells: {:.0} µs, {} alive",
        (processor_time() - begun).as_micros() as f64 / 100.0,
        world.stats().bacteria
    );
}

fn copies(world: &mut World) {
    let mut picture = world.picture(None);
    let begun = processor_time();
    for _ in 0..20 {
        picture = world.picture(Some(picture));
    }
    println!("a copy for readers: {:.0} µs", (processor_time() - begun).as_micros() as f64 / 20.0);
    snapshot(world, "without anybody who may come back");
    let lasting = Registration { is_resumable: true, ..registration(None, None) };
    for (count, more) in [("19000", 19_000), ("1000000", 981_000)] {
        for _ in 0..more {
            register(world, &lasting);
        }
        snapshot(world, &format!("of {count} who may"));
    }
}

/// A snapshot as a server writes it: how long moves have to wait while a portion is written, at most, and how long it takes in all.
fn snapshot(world: &mut World, of: &str) {
    let mut begun = processor_time();
    let first = begun;
    let mut snapshot = world.begin_snapshot(false);
    let mut longest = Duration::ZERO;
    while !world.write_movers(&mut snapshot, WORLD_SNAPSHOT_MOVERS_PER_SLICE) {
        longest = longest.max(processor_time() - begun);
        begun = processor_time();
    }
    longest = longest.max(processor_time() - begun);
    let (took, bytes) = (processor_time() - first, snapshot.into_bytes().len());
    let us = |span: Duration| span.as_nanos() as f64 / 1_000.0;
    println!("a snapshot {of}: {:.0} µs, {:.0} at a time at most, {bytes} bytes", us(took), us(longest));
}

fn world(life: Option<LifeSettings>) -> World {
    let settings = WorldSettings { life, ..WorldSettings::default() };
    let opening = WorldParams { id: WorldId(1), settings, seed: Seed(7), epoch: 1, ends_at: None };
    World::open(opening, None, &[], START_US).expect("the usual settings make a world")
}

fn registration(at: Option<Cell>, radius: Option<u8>) -> Registration {
    let view = radius.map(|radius| ViewOptions { radius_x: radius, radius_y: radius, per_s: 5 });
    Registration { indicator: Indicator::ACTOR, at, view, player: None, name: None, is_resumable: false, resume: None }
}

fn register(world: &mut World, registration: &Registration) -> MoverRef {
    world.register(registration, START_US).expect("a world of a million cells has room").mover
}

/// What this thread has had of the processor.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Memory of the process, in bytes; 0 where the system does not report it.
fn resident_bytes() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    pages.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).unwrap_or(0) * 4_096
}
