//! Every limit of the lab, in one place, with its unit and its reason. Contains only numbers: the code that enforces a
//! limit names it.

use std::time::Duration;

/// Bytes of a scenario file. A scenario is written by hand; a larger file is probably a wrong path.
pub const SCENARIO_BYTES_MAX: usize = 256 * 1024;

/// Arrivals in one phase. Every run is bounded in requests.
pub const ARRIVALS_MAX: u64 = 100_000_000;

/// Requests in flight in one phase: as many sockets stay open.
pub const IN_FLIGHT_MAX: u64 = 20_000;

/// Connections open at once in one run, over all worker processes.
pub const CONNECTIONS_MAX: u64 = 2_000_000;

/// Requests of one run, if the scenario does not bound them.
pub const REQUESTS_MAX: u64 = 1_000_000_000;

/// Arrivals per second of a phase: more than any machine sends, and still 100 ns apart.
pub const RATE_PER_S_MAX: f64 = 10_000_000.0;

/// Bytes of a feed's file: its rows stay in memory for the whole run, together with the measurements.
pub const FEED_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Rows of a feed.
pub const FEED_ROWS_MAX: usize = 1_000_000;

/// Different keys to draw from: numbers up to here are exact in the arithmetic of their distribution.
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

/// Minimum interval of an observer: a reading is a request, and must not become the load.
pub const OBSERVE_EVERY_MIN: Duration = Duration::from_millis(100);

/// Interval of an observer if the scenario sets none.
pub const OBSERVE_EVERY: Duration = Duration::from_secs(1);

/// Minimum memory limit of a target: no program starts with less.
pub const TARGET_MEMORY_BYTES_MIN: u64 = 1024 * 1024;

/// Maximum memory limit of a target.
pub const TARGET_MEMORY_BYTES_MAX: u64 = 1 << 40;

/// Minimum CPU limit of a target, in cores: the kernel gives at least 1 ms in a period of 5 ms.
pub const TARGET_CPU_MIN: f64 = 0.2;

/// Maximum CPU limit of a target, in cores.
pub const TARGET_CPU_MAX: f64 = 1024.0;

/// Minimum open-file limit of a target: standard streams and libraries need some.
pub const TARGET_OPEN_FILES_MIN: u64 = 16;

/// Maximum open-file limit of a target: the kernel's own ceiling (fs.nr_open).
pub const TARGET_OPEN_FILES_MAX: u64 = 1_048_576;

/// Length of a level of a search for the edge if the scenario sets none.
pub const EDGE_LEVEL: Duration = Duration::from_secs(5);

/// How long the edge is held at the end if the scenario does not say.
pub const EDGE_HOLD: Duration = Duration::from_secs(30);

/// Relative width at which a search for the edge is over if the scenario sets none.
pub const EDGE_PRECISION: f64 = 0.03;

/// Finest relative width of a search: neighbours closer than this differ by chance alone.
pub const EDGE_PRECISION_MIN: f64 = 0.001;

/// Coarsest relative width of a search.
pub const EDGE_PRECISION_MAX: f64 = 0.5;

/// Length of a phase, of a pause, and of every waiting time in a scenario.
pub const WAIT_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// Ids in one status request.
pub const BULK_MAX: u64 = 10_000;

/// Concurrent status requests, if each work item is polled by itself and the scenario sets no number.
pub const POLLS_AT_ONCE: u64 = 8;

/// Maximum of that number: polls must not become the load.
pub const POLLS_AT_ONCE_MAX: u64 = 256;

/// Bytes of one response body. A longer one is an error of kind `too_large`, and is not kept in memory.
pub const ANSWER_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Bytes of a figure's or a gate's formula; bounds the depth of its parse tree as well.
pub const FORMULA_BYTES_MAX: usize = 400;

/// Bytes of the head of one response, and of its trailers.
pub const HEAD_BYTES_MAX: usize = 64 * 1024;

/// Bytes of the line with the size of a chunk, including its extensions.
pub const CHUNK_LINE_BYTES_MAX: usize = 4 * 1024;

/// Rounds of one repeat.
pub const ROUNDS_MAX: u64 = 1_000_000;

/// Background loops of one journey: each has its own connection.
pub const BACKGROUND_LOOPS_MAX: usize = 64;

/// Steps of one journey, including those of background loops. Each has its own figures in every second.
pub const STEPS_MAX: usize = 200;

/// Retries of one step.
pub const RETRIES_MAX: u64 = 10_000;

/// Timeout of a request if the scenario sets none.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a spawned process may take to answer its ready URL if the scenario does not say.
pub const READY_WITHIN: Duration = Duration::from_secs(30);

/// From SIGTERM to SIGKILL for a process that the lab started.
pub const STOP_WITHIN: Duration = Duration::from_secs(6);

/// How long requests in flight may continue after an interrupt before they are dropped.
pub const INTERRUPT_GRACE: Duration = Duration::from_secs(1);

/// How long started work may take to finish after an interrupt, and the target to report its counts.
pub const INTERRUPT_DRAIN: Duration = Duration::from_secs(10);

/// A run that has recorded nothing for this long, and has no record, was killed: a lab writes once a second.
pub const INTERRUPTED_AFTER: Duration = Duration::from_secs(10);

/// The 99th percentile of schedule lag above which failed gates are void, if the scenario sets none.
pub const LAG_P99_MAX: Duration = Duration::from_millis(100);

/// From the end of the preparations to the start of the plan: long enough for worker processes to be ready.
pub const START_LEAD: Duration = Duration::from_millis(200);

/// Period of the timeline: process memory, CPU, in flight, metrics.
pub const SAMPLER_EVERY: Duration = Duration::from_secs(1);

/// Time between samples that are further apart than this counts as unknown.
pub const UNSAMPLED_MIN: Duration = Duration::from_millis(2500);

/// A pause of a worker of at least this length makes a second unknown if it covers half of it or more.
pub const UNRECORDED_MIN: Duration = Duration::from_millis(500);

/// Distinct times without figures, each for requests and for samples.
pub const UNRECORDED_SPANS_MAX: usize = 1_000;

/// Interval of counting unanswered requests, while a search looks for growth.
pub const EDGE_SAMPLE_EVERY: Duration = Duration::from_millis(100);

/// How long a search waits for work of one level to finish before it begins the next.
pub const EDGE_DRAIN_WITHIN: Duration = Duration::from_secs(300);

/// Minimum interval between reads of a process's proportional set size: the kernel walks all its pages for it.
pub const PSS_EVERY: Duration = Duration::from_secs(10);

/// The share of the time that such reads may take.
pub const PSS_SHARE_MAX: f64 = 0.01;

/// Cores below which a program that is not part of a trial is not listed by name.
pub const NEIGHBOUR_CORES_MIN: f64 = 0.05;

/// Programs that are not part of a trial and are listed by name in one second: the busiest.
pub const NEIGHBOURS_SHOWN_MAX: usize = 5;

/// The period of a target's CPU quota: short, so that a target at its limit slows down evenly.
pub const CPU_PERIOD: Duration = Duration::from_millis(5);

/// Minimum CPU quota of a period; the kernel refuses shorter ones.
pub const CPU_QUOTA_MIN: Duration = Duration::from_millis(1);

/// The smallest CPU share, in cores: [`CPU_QUOTA_MIN`] in the kernel's longest period of a second.
pub const CPU_SHARE_MIN: f64 = 0.001;

/// Timeout of resolving a host's address.
pub const RESOLVE_WITHIN: Duration = Duration::from_secs(5);

/// How long a target that is already running may take to accept a first connection.
pub const CONNECT_WITHIN: Duration = Duration::from_secs(3);

/// Open files of a process of the lab besides its connections: logs, timeline, polls, its runtime.
pub const FILES_RESERVE: u64 = 64;

/// How long a closed connection keeps its port: Linux's TCP_TIMEWAIT_LEN.
pub const TIME_WAIT: Duration = Duration::from_secs(60);

/// After how long the kernel may reuse it if `net.ipv4.tcp_tw_reuse` allows: its documented delay.
pub const TIME_WAIT_REUSED: Duration = Duration::from_secs(1);

/// Free disk below which a report warns: databases and logs of a target need room too.
pub const DISK_LOW_BYTES: u64 = 1024 * 1024 * 1024;

/// Context switches are read every second only for processes with at most this many threads.
pub const THREADS_READ_MAX: u64 = 128;

/// Points of a drain curve that are kept in memory; the whole curve is in the timeline file.
pub const CURVE_POINTS_MAX: usize = 64;

/// Points of a figure over time that reports are made of; the timeline file has all of them.
pub const SERIES_POINTS_MAX: usize = 600;

/// Periods of a run without a successful response that are kept: of more, the shortest are dropped.
pub const OUTAGES_MAX: usize = 500;

/// Points of a figure of the target, a process, the machine or a step: there may be hundreds, and with this many
/// their memory has stopped growing after two minutes.
pub const METRIC_POINTS_MAX: usize = 120;

/// Figures over time that are made of the target's metrics; a metric gives up to three. The rest is left out, and a
/// note says so; the timeline file has every value.
pub const METRIC_SERIES_MAX: usize = 600;

/// Figures over time in total.
pub const SERIES_MAX: usize = 1_000;

/// Faults and notes of a timeline that are kept, each.
pub const TIMELINE_NOTES_MAX: usize = 1_000;

/// Bytes of one line of a timeline that is read again: a row holds at most one response with the target's metrics.
pub const TIMELINE_LINE_BYTES_MAX: usize = 2 * ANSWER_BYTES_MAX;

/// Seconds without a response that a figure per second shows as zeros; a longer silence is a gap in it.
pub const EMPTY_SECONDS_MAX: u64 = 3_600;

/// Items that a sentence lists; the rest is given as a number.
pub const NAMED_MAX: usize = 3;

/// Names that an error about an unknown one lists, so that the user finds the right one.
pub const KNOWN_NAMES_MAX: usize = 20;

/// Messages of errors of one kind that are kept.
pub const ERROR_SAMPLES_MAX: usize = 3;

/// Ids in a record of work that the server does not know.
pub const UNKNOWN_IDS_MAX: usize = 5;

/// Distinct holders of stuck work; later ones are counted together.
pub const HOLDERS_MAX: usize = 64;

/// Columns of a heatmap in a report: more are not seen on a screen. A longer run has columns of several seconds.
pub const HEATMAP_COLUMNS_MAX: usize = 240;

/// Heatmaps in a report, one for a journey.
pub const HEATMAPS_MAX: usize = 12;

/// Rows of a table in a report; the record has all.
pub const REPORT_ROWS_MAX: usize = 200;

/// Repetitions of a fault: a record and a report have a row for each.
pub const FAULT_TIMES_MAX: u32 = TIMELINE_NOTES_MAX as u32;

/// Load steps of a trial (bursts, levels) with their own figures; later ones are counted with the last.
pub const LOAD_STEPS_MAX: u32 = 1_000;

/// Journeys and steps with their own figures in each phase, over all phases: a few KiB of the record each.
pub const PHASE_OPS_MAX: usize = 10_000;

/// Units of time that a run is cut into when it is compared: seconds up to ten minutes, then several in one. Blocks of
/// them are longer anyway, and memory is bounded.
pub const COMPARE_UNITS_MAX: u64 = 600;

/// Runs in one comparison, over all sides.
pub const COMPARE_RUNS_MAX: usize = 100;

/// Bytes of a `run.json` that is read again: thousands of load steps fit, a wrong path does not.
pub const RECORD_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// Combinations of a sweep: each is a row of a table that people read.
pub const SWEEP_COMBINATIONS_MAX: usize = 100;

/// Repeats of each combination of a sweep.
pub const SWEEP_REPEATS_MAX: usize = 100;

/// Runs of a sweep in total: at a minute each, most of a day.
pub const SWEEP_RUNS_MAX: usize = 1_000;

/// Sentences about what did not hold in a combination of a sweep; the reports of its runs have all.
pub const SWEEP_NOTES_MAX: usize = 20;

/// Distinct groups of errors; later ones are counted with the last.
pub const ERROR_GROUPS_MAX: usize = 64;

/// Emptied cells that a worker keeps for later seconds: a few histograms each.
pub const SPARE_OPS_MAX: usize = 32;

/// Arrivals that a worker sends before it checks for responses again.
pub const LAUNCHES_PER_TURN: usize = 32;

/// Maximum interval at which a busy worker reads its clock, if there are few workers: a longer gap is a pause of the
/// lab.
pub const CLOCK_CHECK_EVERY: Duration = Duration::from_millis(5);

/// The same with many workers: each check wakes a thread.
pub const CLOCK_CHECK_EVERY_MAX: Duration = Duration::from_millis(20);

/// Workers of a machine up to which each reads its clock at the shorter interval.
pub const CLOCK_CHECK_WORKERS: u32 = 8;

/// Pauses that a worker keeps; of earlier ones it keeps the total length.
pub const PAUSES_KEPT: usize = 4096;

/// The lab's own share of a time from which it is subtracted. Timers alone are as late as this.
pub const GENERATOR_DELAY_MIN: Duration = Duration::from_micros(100);

/// A pause of the lab from which a report mentions it, whatever it did to the figures.
pub const PAUSE_REPORTED_MIN: Duration = Duration::from_millis(50);

/// The share of a level's time from which pauses of the lab make an overload of it void.
pub const LEVEL_PAUSED_MAX: f64 = 0.01;

/// Arrivals that a worker counts ahead at once as due and waiting for a slot.
pub const DUE_COUNTED_PER_TURN: usize = 4096;

/// Held connections that are opened concurrently, over all workers, if the scenario sets no number: the queue of one
/// listener takes them, and at a millisecond each they are far from being the limit.
pub const OPENING_AT_ONCE: u64 = 500;

/// The maximum of that number: as many sockets as a phase may have in flight, spread over listeners.
pub const OPENING_AT_ONCE_MAX: u64 = IN_FLIGHT_MAX;

/// How long opening held connections may take beyond what their own rate requires, if the scenario sets no timeout.
pub const OPEN_WITHIN: Duration = Duration::from_secs(60);

/// Connections that a worker closes before it does anything else.
pub const CLOSED_PER_TURN: usize = 256;

/// How long a lost connection waits before it is opened again.
pub const REOPEN_AFTER: Duration = Duration::from_secs(1);

/// How long a client of a closed loop waits after it got no connection, so that it does not retry in a tight loop.
pub const REST_AFTER_REFUSAL: Duration = Duration::from_millis(50);

/// How long a discarded connection waits for the other side to close it first, which leaves the port that is blocked
/// afterwards with the other side.
pub const LINGER: Duration = Duration::from_secs(1);

/// Connections that wait so at the same time; beyond it the oldest is closed by the lab.
pub const LINGERING_MAX: usize = 1_000;

/// Endpoints to which one trial opens connections: as many as a supervisor of shards may have.
pub const ENDPOINTS_MAX: usize = 1_024;

/// Bytes of a frame. Servers that push larger ones are better polled.
pub const FRAME_BYTES_MAX: usize = 1024 * 1024;

/// Bytes of a read: the most that a worker takes from one connection before it continues with the next.
pub const READ_BYTES: usize = 64 * 1024;

/// Emptied buffers that a worker keeps.
pub const SPARE_BUFFERS_MAX: usize = 64;

/// Bytes of the largest emptied buffer that is kept.
pub const SPARE_BUFFER_BYTES_MAX: usize = 64 * 1024;

/// How long a notification of started work may wait to be sent together with others.
pub const STARTED_WORK_DELAY_MAX: Duration = Duration::from_millis(20);

/// Interval of sampling the gauges of a worker process, if there are few of them.
pub const GAUGES_EVERY: Duration = Duration::from_millis(50);

/// Periods in which requests were in flight and none ended are noted from this length on.
pub const SILENCE_NOTED_MIN: Duration = Duration::from_secs(1);

/// How often a continuing silence is reported.
pub const SILENCE_REPORTED_EVERY: Duration = Duration::from_millis(250);

/// Samples of the gauges that are further apart than this do not belong to one silence: the lab did not run.
pub const SILENCE_SAMPLES_APART_MAX: Duration = Duration::from_millis(750);

/// Silences of a run that are kept, the longest of them.
pub const SILENCES_MAX: usize = 256;

/// Number of worker processes from which each is sampled less often, so that the total number of samples stays the
/// same.
pub const GAUGES_PROCESSES: u32 = 8;

/// Maximum of that interval: a second on the timeline has two samples of each process.
pub const GAUGES_EVERY_MAX: Duration = Duration::from_millis(500);

/// The part of a second, counted from its end, over which workers hand over their figures: one after the other, because
/// a hundred at once would take the CPUs from everything else for that long.
pub const INTERVALS_SPREAD: Duration = Duration::from_millis(500);

/// How long a worker process may take to exit after its connection has ended, before it is killed.
pub const WORKER_EXIT_WITHIN: Duration = Duration::from_secs(3);

/// Interval of checking whether it has exited.
pub const WORKER_EXIT_POLL_EVERY: Duration = Duration::from_millis(2);

/// Characters of an error's sample message.
pub const SAMPLE_CHARS_MAX: usize = 300;

/// Levels in one search for the edge, repetitions included.
pub const EDGE_LEVELS_MAX: usize = 64;

/// Shortest level of a search: a backlog sampled ten times a second needs as long to show that it grows.
pub const EDGE_LEVEL_MIN: Duration = Duration::from_secs(2);

/// Failed holds of an edge after which a search reports that it found none.
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
