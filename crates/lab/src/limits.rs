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

/// Bytes of one answer body. A longer one is an error of kind `too_large`, never memory of ours.
pub const ANSWER_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Bytes of a figure's or a gate's formula; bounds the depth of its parse tree as well.
pub const FORMULA_BYTES_MAX: usize = 400;

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

/// The 99th percentile of schedule lag beyond which failed gates are void, when the scenario does not say.
pub const LAG_P99_MAX: Duration = Duration::from_millis(100);

/// Period of the timeline: process memory, CPU, in flight, metrics.
pub const PULSE: Duration = Duration::from_secs(1);

/// Points of a drain curve that are kept in memory; the whole curve is in the timeline file.
pub const CURVE_POINTS_MAX: usize = 64;

/// Points of a figure over time that reports are made of; the whole of it is in the timeline file.
pub const SERIES_POINTS_MAX: usize = 600;

/// Parts of a trial (bursts, levels) that get figures of their own; later ones are counted with the last.
pub const PARTS_MAX: u32 = 1_000;

/// Different groups of errors that are told apart; later ones are counted with the last.
pub const ERROR_GROUPS_MAX: usize = 64;

/// Characters of an error's sample message.
pub const SAMPLE_CHARS_MAX: usize = 300;

/// Levels in one search for the edge, repetitions included.
pub const EDGE_LEVELS_MAX: usize = 64;

/// Shortest level of a search: a backlog sampled ten times a second needs as long to show that it grows.
pub const EDGE_LEVEL_MIN: Duration = Duration::from_secs(2);

const _: () = assert!(CURVE_POINTS_MAX.is_multiple_of(2), "the curve halves itself when it is full");
const _: () = assert!(SERIES_POINTS_MAX.is_multiple_of(2), "a series halves itself when it is full");
const _: () = assert!(INTERRUPT_GRACE.as_millis() < STOP_WITHIN.as_millis(), "an interrupt ends within the stop");
const _: () = assert!(REQUEST_TIMEOUT.as_secs() < WAIT_MAX.as_secs(), "a default must be a legal value");
const _: () = assert!(EDGE_LEVEL_MIN.as_secs() <= EDGE_LEVEL.as_secs(), "a default must be a legal value");
const _: () = assert!(EDGE_LEVELS_MAX < PARTS_MAX as usize, "every level of a search has figures of its own");
const _: () = assert!(OBSERVE_EVERY_MIN.as_millis() <= OBSERVE_EVERY.as_millis(), "a default must be a legal value");
const _: () = assert!(ARRIVALS_MAX <= REQUESTS_MAX, "a phase at its limit fits a run");
const _: () = assert!(KEYS_MAX < 1 << 53, "keys are exact in a double");
