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

/// Bytes of the head of one answer, and of its trailers. More than this is no head.
pub const HEAD_BYTES_MAX: usize = 64 * 1024;

/// Bytes of the line with the size of a chunk, its extensions included.
pub const CHUNK_LINE_BYTES_MAX: usize = 4 * 1024;

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

/// Emptied cells that a worker keeps for the seconds to come: a few histograms each.
pub const SPARE_CELLS_MAX: usize = 32;

/// Arrivals that a worker sends before it looks for answers again.
pub const LAUNCHES_PER_TURN: usize = 32;

/// Arrivals by which a worker counts ahead at once what is due and waits for a place.
pub const COUNTED_PER_TURN: usize = 4096;

/// Connections that a worker may be opening at once where nothing else says how fast: a listener's queue is short.
pub const OPENING_MAX: usize = 500;

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

/// Memory of a read: the most that a worker takes from one connection before it looks at the next.
pub const READ_BYTES: usize = 64 * 1024;

/// Emptied buffers that a worker keeps, and the largest of them.
pub const SPARE_BUFFERS_MAX: usize = 64;

/// Bytes of the largest emptied buffer that is kept.
pub const SPARE_BUFFER_BYTES_MAX: usize = 64 * 1024;

/// How long news of started work may wait to travel with others.
pub const NEWS_WAIT_MAX: Duration = Duration::from_millis(20);

/// Characters of an error's sample message.
pub const SAMPLE_CHARS_MAX: usize = 300;

const _: () = assert!(CURVE_POINTS_MAX.is_multiple_of(2), "the curve halves itself when it is full");
const _: () = assert!(SERIES_POINTS_MAX.is_multiple_of(2), "a series halves itself when it is full");
const _: () = assert!(INTERRUPT_GRACE.as_millis() < STOP_WITHIN.as_millis(), "an interrupt ends within the stop");
const _: () = assert!(REQUEST_TIMEOUT.as_secs() < WAIT_MAX.as_secs(), "a default must be a legal value");
