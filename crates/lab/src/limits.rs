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

/// Points of a drain curve that are kept in memory; the whole curve is in the timeline file.
pub const CURVE_POINTS_MAX: usize = 64;

/// Points of a figure over time that reports are made of; the whole of it is in the timeline file.
pub const SERIES_POINTS_MAX: usize = 600;

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

/// Seconds without an answer that a figure per second shows as zeros; after a longer silence it simply goes on.
pub const SILENCE_SHOWN_MAX_S: u64 = 3_600;

/// Different holders of stuck work that are told apart; later ones are counted together.
pub const HOLDERS_MAX: usize = 64;

/// Parts of a trial (bursts, levels) that get figures of their own; later ones are counted with the last.
pub const PARTS_MAX: u32 = 1_000;

/// Different groups of errors that are told apart; later ones are counted with the last.
pub const ERROR_GROUPS_MAX: usize = 64;

/// Characters of an error's sample message.
pub const SAMPLE_CHARS_MAX: usize = 300;

const _: () = assert!(CURVE_POINTS_MAX.is_multiple_of(2), "the curve halves itself when it is full");
const _: () = assert!(SERIES_POINTS_MAX.is_multiple_of(2), "a series halves itself when it is full");
const _: () = assert!(METRIC_SERIES_MAX < SERIES_MAX, "a target's metrics leave room for everything else");
const _: () = assert!(INTERRUPT_GRACE.as_millis() < STOP_WITHIN.as_millis(), "an interrupt ends within the stop");
const _: () = assert!(REQUEST_TIMEOUT.as_secs() < WAIT_MAX.as_secs(), "a default must be a legal value");
