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

/// From one look at a process's proportional set size to the next, at least: the kernel walks all its pages for it.
pub const PSS_EVERY: Duration = Duration::from_secs(10);

/// The share of the time that such looks may take.
pub const PSS_SHARE_MAX: f64 = 0.01;

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

/// Processes among which the lab divides its connections, at most.
pub const PROCESSES_MAX: u64 = 128;

/// Loopback addresses that the lab sends from where a scenario lists none, at most.
pub const LOOPBACK_SOURCES_MAX: u64 = 250;

/// Memory of a connection, in bytes: 2 KiB of the lab's own, and the kernel's for both ends (9.4 KiB, measured with
/// 9,000 idle ones over loopback on Linux 6.18).
pub const CONNECTION_BYTES: u64 = 12 * 1024;

/// Room for the record of a run without its samples, in bytes.
pub const RECORD_BYTES: u64 = 64 * 1024 * 1024;

/// Threads of a process whose context switches are read every second; of one with more they are not.
pub const THREADS_READ_MAX: u64 = 128;

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

const _: () = assert!(CURVE_POINTS_MAX.is_multiple_of(2), "the curve halves itself when it is full");
const _: () = assert!(SERIES_POINTS_MAX.is_multiple_of(2), "a series halves itself when it is full");
const _: () = assert!(INTERRUPT_GRACE.as_millis() < STOP_WITHIN.as_millis(), "an interrupt ends within the stop");
const _: () = assert!(REQUEST_TIMEOUT.as_secs() < WAIT_MAX.as_secs(), "a default must be a legal value");
