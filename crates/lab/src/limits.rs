//! Every limit of the lab, in one place, with its unit and the sentence that says why it stands.
//! Knows nothing but numbers: whoever enforces a limit names it.

use std::time::Duration;

/// Bytes of a scenario file. A scenario is written by hand; more than this is a mistake in the path.
pub const SCENARIO_BYTES_MAX: usize = 256 * 1024;

/// Arrivals in one phase. Every run is bounded in requests.
pub const ARRIVALS_MAX: u64 = 100_000_000;

/// Requests in flight in one phase: as many sockets stay open.
pub const IN_FLIGHT_MAX: u64 = 20_000;

/// Connections open at once in one run, over all worker processes.
pub const CONNECTIONS_MAX: u64 = 2_000_000;

/// Requests of one run. What a scenario does not bound by itself is bounded by this.
pub const REQUESTS_MAX: u64 = 1_000_000_000;

/// Arrivals per second that a phase may ask for: more than any machine sends, and still 100 ns apart.
pub const RATE_PER_S_MAX: f64 = 10_000_000.0;

/// Bytes of a feed's file: its rows stay in memory for the whole run, beside what is measured.
pub const FEED_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Rows of a feed.
pub const FEED_ROWS_MAX: usize = 1_000_000;

/// Different keys to draw from: numbers up to here are exact in the arithmetic of their law.
pub const KEYS_MAX: u64 = 1_000_000_000_000;

/// Different draws from the same keys in one arrival.
pub const KEY_DRAWS_MAX: u64 = 64;

/// Smallest exponent of Zipf's law: below it all keys are alike.
pub const ZIPF_MIN: f64 = 0.01;

/// Largest exponent of Zipf's law: beyond it there is only one key.
pub const ZIPF_MAX: f64 = 10.0;

/// Worker threads of the lab.
pub const WORKERS_MAX: u64 = 256;

/// Source addresses of the lab.
pub const SOURCES_MAX: usize = 254;

/// Shortest time from one reading of an observer to the next: a reading is a request, and must not become the load.
pub const OBSERVE_EVERY_MIN: Duration = Duration::from_millis(100);

/// From one reading of an observer to the next when the scenario does not say.
pub const OBSERVE_EVERY: Duration = Duration::from_secs(1);

/// Least memory that a target may be limited to: no program starts with less.
pub const TARGET_MEMORY_BYTES_MIN: u64 = 1024 * 1024;

/// Most memory that a target may be limited to.
pub const TARGET_MEMORY_BYTES_MAX: u64 = 1 << 40;

/// Least processor time that a target may be limited to, in cores: the kernel gives at least 1 ms in a period of 5 ms.
pub const TARGET_CPU_MIN: f64 = 0.2;

/// Most processor time that a target may be limited to, in cores.
pub const TARGET_CPU_MAX: f64 = 1024.0;

/// Fewest open files that a target may be limited to: standard streams and libraries need some.
pub const TARGET_OPEN_FILES_MIN: u64 = 16;

/// Most open files that a target may be limited to: the kernel's own ceiling (fs.nr_open).
pub const TARGET_OPEN_FILES_MAX: u64 = 1_048_576;

/// Length of a level of a search for the edge when the scenario does not say.
pub const EDGE_LEVEL: Duration = Duration::from_secs(5);

/// How long the edge is held at the end when the scenario does not say.
pub const EDGE_HOLD: Duration = Duration::from_secs(30);

/// Relative width at which a search for the edge is over when the scenario does not say.
pub const EDGE_PRECISION: f64 = 0.03;

/// Finest relative width of a search: neighbours closer than this differ by chance alone.
pub const EDGE_PRECISION_MIN: f64 = 0.001;

/// Coarsest relative width of a search.
pub const EDGE_PRECISION_MAX: f64 = 0.5;

/// Length of a phase, of a pause, and of every waiting time that a scenario may ask for.
pub const WAIT_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// Ids in one status request.
pub const BULK_MAX: u64 = 10_000;

/// Status requests under way at once, where each piece of work is asked for by itself and the scenario does not say.
pub const POLLS_AT_ONCE: u64 = 8;

/// The most that a scenario may ask for: polls shall not become the load.
pub const POLLS_AT_ONCE_MAX: u64 = 256;

/// Bytes of one answer body. A longer one is an error of kind `too_large`, never memory of ours.
pub const ANSWER_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Bytes of a figure's or a gate's formula; bounds the depth of its parse tree as well.
pub const FORMULA_BYTES_MAX: usize = 400;

/// Bytes of the head of one answer, and of its trailers. More than this is no head.
pub const HEAD_BYTES_MAX: usize = 64 * 1024;

/// Bytes of the line with the size of a chunk, its extensions included.
pub const CHUNK_LINE_BYTES_MAX: usize = 4 * 1024;

/// Rounds of one repeat.
pub const ROUNDS_MAX: u64 = 1_000_000;

/// Loops beside one journey: each has a connection of its own.
pub const BACKGROUND_LOOPS_MAX: usize = 64;

/// Steps of one journey, those beside it included. Each has figures of its own in every second.
pub const STEPS_MAX: usize = 200;

/// Retries of one step.
pub const RETRIES_MAX: u64 = 10_000;

/// How long a request may take when the scenario does not say.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a spawned process may take to answer its ready URL when the scenario does not say.
pub const READY_WITHIN: Duration = Duration::from_secs(30);

/// From SIGTERM to SIGKILL for a process that the lab started.
pub const STOP_WITHIN: Duration = Duration::from_secs(6);

/// What requests in flight get after an interrupt before they are dropped.
pub const INTERRUPT_GRACE: Duration = Duration::from_secs(1);

/// What work that was begun gets after an interrupt to come to its end, and the target to say what it has counted.
pub const INTERRUPT_DRAIN: Duration = Duration::from_secs(10);

/// A run that has recorded nothing for so long, and has no record, was cut off: a lab writes once a second.
pub const INTERRUPTED_AFTER: Duration = Duration::from_secs(10);

/// The 99th percentile of schedule lag beyond which failed gates are void, when the scenario does not say.
pub const LAG_P99_MAX: Duration = Duration::from_millis(100);

/// From the end of the preparations to the first moment of the plan: long enough for worker processes to be there.
pub const START_LEAD: Duration = Duration::from_millis(200);

/// Period of the timeline: process memory, CPU, in flight, metrics.
pub const SAMPLER_EVERY: Duration = Duration::from_secs(1);

/// Looks that are further apart than this leave a time between them of which nothing is known.
pub const UNSAMPLED_MIN: Duration = Duration::from_millis(2500);

/// A pause of a worker of this length or more makes a second unknown that it covers for half or more.
pub const UNRECORDED_MIN: Duration = Duration::from_millis(500);

/// Times without figures that are told apart, each of requests and of looks.
pub const UNRECORDED_SPANS_MAX: usize = 1_000;

/// From one count of unanswered requests to the next, while a search looks for growth.
pub const EDGE_SAMPLE_EVERY: Duration = Duration::from_millis(100);

/// How long a search waits for work of one level to be over before it begins the next.
pub const EDGE_DRAIN_WITHIN: Duration = Duration::from_secs(300);

/// From one look at a process's proportional set size to the next, at least: the kernel walks all its pages for it.
pub const PSS_EVERY: Duration = Duration::from_secs(10);

/// The share of the time that such looks may take.
pub const PSS_SHARE_MAX: f64 = 0.01;

/// Cores below which a program that has nothing to do with a trial is not told of by name.
pub const NEIGHBOUR_CORES_MIN: f64 = 0.05;

/// Programs that have nothing to do with a trial and are told of by name in one second: the busiest.
pub const NEIGHBOURS_SHOWN_MAX: usize = 5;

/// The period of a target's processor share: short, so that a target at its limit slows down evenly.
pub const CPU_PERIOD: Duration = Duration::from_millis(5);

/// Processor time that the kernel gives at a time, at least; shorter quotas are refused by it.
pub const CPU_QUOTA_MIN: Duration = Duration::from_millis(1);

/// The smallest processor share, in cores: [`CPU_QUOTA_MIN`] in the kernel's longest period of a second.
pub const CPU_SHARE_MIN: f64 = 0.001;

/// How long the address of a host may take to be found.
pub const RESOLVE_WITHIN: Duration = Duration::from_secs(5);

/// How long a target that runs already may take to accept a first connection.
pub const CONNECT_WITHIN: Duration = Duration::from_secs(3);

/// Open files of a process of the lab besides its connections: logs, timeline, polls, its runtime.
pub const FILES_RESERVE: u64 = 64;

/// How long a closed connection keeps its port: Linux's TCP_TIMEWAIT_LEN.
pub const TIME_WAIT: Duration = Duration::from_secs(60);

/// After how long the kernel may take it again where `net.ipv4.tcp_tw_reuse` allows: its documented delay.
pub const TIME_WAIT_REUSED: Duration = Duration::from_secs(1);

/// Free disk below which a report warns: databases and logs of a target need room too.
pub const DISK_LOW_BYTES: u64 = 1024 * 1024 * 1024;

/// Threads of a process whose context switches are read every second; of one with more they are not.
pub const THREADS_READ_MAX: u64 = 128;

/// Points of a drain curve that are kept in memory; the whole curve is in the timeline file.
pub const CURVE_POINTS_MAX: usize = 64;

/// Points of a figure over time that reports are made of; the whole of it is in the timeline file.
pub const SERIES_POINTS_MAX: usize = 600;

/// Stretches of a run without a good answer that are remembered: of more, the shortest are forgotten.
pub const OUTAGES_MAX: usize = 500;

/// Points of a figure of the target, a process, the machine or a step: there may be hundreds, and with this many
/// their memory has stopped growing after two minutes.
pub const METRIC_POINTS_MAX: usize = 120;

/// Figures over time that are made of the target's metrics; a metric gives up to three. The rest is left out, and a
/// note says so; the timeline file has every value.
pub const METRIC_SERIES_MAX: usize = 600;

/// Figures over time in all.
pub const SERIES_MAX: usize = 1_000;

/// Faults and notes of a timeline that are kept, each.
pub const TIMELINE_NOTES_MAX: usize = 1_000;

/// Bytes of one line of a timeline that is read again: a row holds one answer of the target's metrics at most.
pub const TIMELINE_LINE_BYTES_MAX: usize = 2 * ANSWER_BYTES_MAX;

/// Seconds without an answer that a figure per second shows as zeros; a longer silence is a gap in it.
pub const EMPTY_SECONDS_MAX: u64 = 3_600;

/// Things that a sentence names one by one; how many more there are is a number.
pub const NAMED_MAX: usize = 3;

/// Names that an error about an unknown one lists: whoever misspelt it looks for the right one there.
pub const KNOWN_NAMES_MAX: usize = 20;

/// Messages of errors of one kind that are kept.
pub const ERROR_SAMPLES_MAX: usize = 3;

/// Ids in a record of work that the server does not know.
pub const UNKNOWN_IDS_MAX: usize = 5;

/// Different holders of stuck work that are told apart; later ones are counted together.
pub const HOLDERS_MAX: usize = 64;

/// Rows of a table in a report; the record has all.
pub const REPORT_ROWS_MAX: usize = 200;

/// Parts of a trial (bursts, levels) that get figures of their own; later ones are counted with the last.
pub const LOAD_STEPS_MAX: u32 = 1_000;

/// Journeys and steps that get figures of their own in each phase, over all phases: a few KiB of the record each.
pub const PHASE_OPS_MAX: usize = 10_000;

/// Units of time that a run is cut into when it is compared: seconds up to ten minutes, then several in one. Blocks of
/// them are longer anyway, and memory is bounded.
pub const COMPARE_UNITS_MAX: u64 = 600;

/// Runs in one comparison, over all sides.
pub const COMPARE_RUNS_MAX: usize = 100;

/// Bytes of a `run.json` that is read again: thousands of parts fit, a mistaken path does not.
pub const RECORD_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// Combinations of a sweep. Every one is a row that somebody reads.
pub const SWEEP_COMBINATIONS_MAX: usize = 100;

/// Repeats of each combination of a sweep.
pub const SWEEP_REPEATS_MAX: usize = 100;

/// Runs of a sweep in all: at a minute each, most of a day.
pub const SWEEP_RUNS_MAX: usize = 1_000;

/// Different groups of errors that are told apart; later ones are counted with the last.
pub const ERROR_GROUPS_MAX: usize = 64;

/// Emptied cells that a worker keeps for the seconds to come: a few histograms each.
pub const SPARE_OPS_MAX: usize = 32;

/// Arrivals that a worker sends before it looks for answers again.
pub const LAUNCHES_PER_TURN: usize = 32;

/// From one look of a working worker at its clock to the next, at most, where there are few workers: what keeps it from
/// looking for as long again is a pause of the lab.
pub const CLOCK_CHECK_EVERY: Duration = Duration::from_millis(5);

/// The same where there are many: each look wakes a thread.
pub const CLOCK_CHECK_EVERY_MAX: Duration = Duration::from_millis(20);

/// Workers of a machine that look at their clocks as often as they should.
pub const CLOCK_CHECK_WORKERS: u32 = 8;

/// Pauses that a worker remembers: of earlier ones it knows how long they were together.
pub const PAUSES_KEPT: usize = 4096;

/// The lab's own share of a time from which it is taken out of it. Timers alone are as late as this.
pub const GENERATOR_DELAY_MIN: Duration = Duration::from_micros(100);

/// A pause of the lab from which a report says so, whatever it did to the figures.
pub const PAUSE_REPORTED_MIN: Duration = Duration::from_millis(50);

/// The share of a level's time from which pauses of the lab make an overload of it void.
pub const LEVEL_PAUSED_MAX: f64 = 0.01;

/// Arrivals by which a worker counts ahead at once what is due and waits for a place.
pub const DUE_COUNTED_PER_TURN: usize = 4096;

/// Held connections that are being opened at once, over all workers, where the scenario does not say: the queue of one
/// listener takes them, and with a millisecond for each they are far from being what limits it.
pub const OPENING_AT_ONCE: u64 = 500;

/// The most that a scenario may ask for: as many sockets as a phase may have in flight, spread over listeners.
pub const OPENING_AT_ONCE_MAX: u64 = IN_FLIGHT_MAX;

/// How long opening held connections may take beyond what its own rate makes of it, when the scenario does not say.
pub const OPEN_WITHIN: Duration = Duration::from_secs(60);

/// Connections that a worker closes before it looks at anything else.
pub const CLOSED_PER_TURN: usize = 256;

/// How long a lost connection waits before it is opened again.
pub const REOPEN_AFTER: Duration = Duration::from_secs(1);

/// How long a client of a closed loop rests when it got no connection, so that nobody hammers at a closed door.
pub const REST_AFTER_REFUSAL: Duration = Duration::from_millis(50);

/// How long a connection that was given up waits for the other side to close it first, which leaves the port that is
/// blocked afterwards with the other side.
pub const LINGER: Duration = Duration::from_secs(1);

/// Connections that wait so at once; beyond it the oldest is closed from here.
pub const LINGERING_MAX: usize = 1_000;

/// Places that one trial opens connections to: as many as a supervisor of shards may have.
pub const ENDPOINTS_MAX: usize = 1_024;

/// Bytes of a frame that is taken whole. Servers that push more than this at once are better asked.
pub const FRAME_BYTES_MAX: usize = 1024 * 1024;

/// Memory of a read: the most that a worker takes from one connection before it looks at the next.
pub const READ_BYTES: usize = 64 * 1024;

/// Emptied buffers that a worker keeps, and the largest of them.
pub const SPARE_BUFFERS_MAX: usize = 64;

/// Bytes of the largest emptied buffer that is kept.
pub const SPARE_BUFFER_BYTES_MAX: usize = 64 * 1024;

/// How long news of started work may wait to travel with others.
pub const STARTED_WORK_DELAY_MAX: Duration = Duration::from_millis(20);

/// From one look at the gauges of a worker process to the next, where there are few of them.
pub const GAUGES_EVERY: Duration = Duration::from_millis(50);

/// Stretches in which requests were under way and none ended are noted from this length on.
pub const SILENCE_NOTED_MIN: Duration = Duration::from_secs(1);

/// How often a silence that goes on is told.
pub const SILENCE_REPORTED_EVERY: Duration = Duration::from_millis(250);

/// Looks at the gauges that are further apart than this do not belong to one silence: the lab did not run.
pub const SILENCE_SAMPLES_APART_MAX: Duration = Duration::from_millis(750);

/// Silences of a run that are kept, the longest of them.
pub const SILENCES_MAX: usize = 256;

/// Worker processes from which on each looks less often, so that their looks together stay as many.
pub const GAUGES_PROCESSES: u32 = 8;

/// From one look to the next at most: a second on the timeline has two of each process.
pub const GAUGES_EVERY_MAX: Duration = Duration::from_millis(500);

/// Within which part of a second, counted from its end, workers hand over what they saw in it: one after the other, because a
/// hundred who did so at once would take the processors from everybody for that long.
pub const INTERVALS_SPREAD: Duration = Duration::from_millis(500);

/// How long a worker process may take to end when its line has ended, before it is killed.
pub const WORKER_EXIT_WITHIN: Duration = Duration::from_secs(3);

/// From one look whether it has ended to the next.
pub const WORKER_EXIT_POLL_EVERY: Duration = Duration::from_millis(2);

/// Characters of an error's sample message.
pub const SAMPLE_CHARS_MAX: usize = 300;

/// Levels in one search for the edge, repetitions included.
pub const EDGE_LEVELS_MAX: usize = 64;

/// Shortest level of a search: a backlog sampled ten times a second needs as long to show that it grows.
pub const EDGE_LEVEL_MIN: Duration = Duration::from_secs(2);

/// Holds of an edge that may fail before a search says that it found none.
pub const EDGE_HOLDS_MAX: usize = 5;

/// A search whose first level is overloaded goes down to this part of its rate: six halvings.
pub const EDGE_FLOOR_DIVISOR: f64 = 64.0;

const _: () = assert!(CURVE_POINTS_MAX.is_multiple_of(2), "the curve halves itself when it is full");
const _: () = assert!(SERIES_POINTS_MAX.is_multiple_of(2), "a series halves itself when it is full");
const _: () = assert!(METRIC_SERIES_MAX < SERIES_MAX, "a target's metrics leave room for everything else");
const _: () = assert!(INTERRUPT_GRACE.as_millis() < STOP_WITHIN.as_millis(), "an interrupt ends within the stop");
const _: () = assert!(INTERRUPT_GRACE.as_millis() < INTERRUPT_DRAIN.as_millis(), "work is followed behind its request");
const _: () = assert!(REQUEST_TIMEOUT.as_secs() < WAIT_MAX.as_secs(), "a default must be a legal value");
const _: () = assert!(EDGE_LEVEL_MIN.as_secs() < WAIT_MAX.as_secs(), "a level is a phase like any other");
const _: () = assert!(EDGE_HOLDS_MAX < EDGE_LEVELS_MAX, "failing holds end before the levels are spent");
const _: () = assert!(EDGE_LEVEL_MIN.as_secs() <= EDGE_LEVEL.as_secs(), "a default must be a legal value");
const _: () = assert!(EDGE_LEVELS_MAX < LOAD_STEPS_MAX as usize, "every level of a search has figures of its own");
const _: () = assert!(OBSERVE_EVERY_MIN.as_millis() <= OBSERVE_EVERY.as_millis(), "a default must be a legal value");
const _: () = assert!(OPENING_AT_ONCE <= OPENING_AT_ONCE_MAX, "a default must be a legal value");
const _: () = assert!(OPEN_WITHIN.as_secs() < WAIT_MAX.as_secs(), "a default must be a legal value");
const _: () = assert!(ARRIVALS_MAX <= REQUESTS_MAX, "a phase at its limit fits a run");
const _: () = assert!(KEYS_MAX < 1 << 53, "keys are exact in a double");
const _: () =
    assert!(SWEEP_COMBINATIONS_MAX <= SWEEP_RUNS_MAX && SWEEP_REPEATS_MAX <= SWEEP_RUNS_MAX, "one of each fits");
