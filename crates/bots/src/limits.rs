//! Every limit, with its unit and its reason. None can be configured: flags choose behaviour, these numbers keep a
//! misbehaving peer from choosing it.

use std::time::Duration;

/// Bytes of a request line with its headers. Callers of bots send about 200; 8 KiB is what most servers accept.
pub const HEAD_BYTES_MAX: usize = 8 * 1024;

/// Header lines in one request.
pub const HEADERS_MAX: usize = 48;

/// Bytes of a request body. Eight snakes that fill a 25x25 board, with hazards four deep, stay under 100 KiB.
pub const BODY_BYTES_MAX: usize = 256 * 1024;

/// Bytes of a chunked body as it travels, sizes and extensions included: bounds what useless extensions may cost.
pub const CHUNKED_BYTES_MAX: usize = 4 * BODY_BYTES_MAX;

/// Bytes taken from a socket at once, into memory that all connections of a thread share.
pub const READ_BYTES_MAX: usize = 64 * 1024;

/// Connections open at once; further ones wait in the listener's backlog.
pub const CONNECTIONS_MAX: usize = 32 * 1024;

/// Bytes that a connection's task may take: all the memory of an idle connection outside the kernel.
pub const CONNECTION_TASK_BYTES_MAX: usize = 1024;

/// Connections that wait to be accepted. A burst of matches opens all of its connections within milliseconds, and a
/// connection that finds no room tries again a second later: a late move that would be our fault.
pub const BACKLOG: u32 = 4096;

/// Time between two ticks: the one clock that ends idle connections and unfinished requests, none has its own timer.
pub const TICK_INTERVAL: Duration = Duration::from_secs(15);

/// Ticks after which a request that does not arrive completely is given up: 15 to 30 seconds.
pub const PARTIAL_TICKS_MAX: u32 = 2;

/// Ticks after which an idle connection is closed: 5 minutes. Longer than clients keep theirs (60 to 90 seconds as a
/// rule), so that the client closes first and no request meets a closing connection.
pub const IDLE_TICKS_MAX: u32 = 20;

/// Time for a peer to take an answer which did not fit into the socket at once.
pub const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

/// Time and bytes for which a closing connection still reads what the peer sends, so that the peer can read the last
/// answer before the connection ends.
pub const LINGER_TIME_MAX: Duration = Duration::from_secs(1);
/// See [`LINGER_TIME_MAX`].
pub const LINGER_BYTES_MAX: usize = 1024 * 1024;

/// The longest thinking time.
pub const THINK_MAX: Duration = Duration::from_secs(60);

/// How far behind the timeout of its match a late answer comes.
pub const LATE_MARGIN: Duration = Duration::from_millis(250);

/// The longest that any answer is held back, whatever timeout a request names.
pub const DELAY_MAX: Duration = Duration::from_secs(120);

/// Bytes of the body of a garbage answer that is too large for a sane reader.
pub const HUGE_BODY_BYTES: usize = 1024 * 1024;

/// Time in which answers that are being thought about may still go out after the call to shut down.
pub const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// First and longest pause after an accept that found no file descriptor or memory free.
pub const ACCEPT_PAUSE_FIRST: Duration = Duration::from_millis(10);
/// See [`ACCEPT_PAUSE_FIRST`].
pub const ACCEPT_PAUSE_MAX: Duration = Duration::from_secs(1);

/// Cells on the longer side of a board which the characters understand; on larger ones they move at random.
pub const BOARD_SIDE_MAX: usize = 25;

const _: () = assert!(HEAD_BYTES_MAX <= READ_BYTES_MAX, "the head of an ordinary request arrives in one read");
const _: () = assert!(BODY_BYTES_MAX < CHUNKED_BYTES_MAX, "a chunked body costs more bytes than it holds");
const _: () = assert!(PARTIAL_TICKS_MAX < IDLE_TICKS_MAX, "an unfinished request is worth less patience than silence");
const _: () = assert!(BOARD_SIDE_MAX <= u32::BITS as usize, "a row of the board is one word of bits");

/// Hunters of one process: more than most systems let it open files.
pub const HUNTERS_MAX: u32 = 100_000;

/// Acts of one hunter a second.
pub const HUNTER_RATE_MIN: f64 = 0.001;
/// See [`HUNTER_RATE_MIN`].
pub const HUNTER_RATE_MAX: f64 = 60.0;

/// Bytes of a frame that a hunter reads: a full view of a crowd is a tenth of it.
pub const HUNT_FRAME_BYTES_MAX: usize = 256 * 1024;

/// Cells that a hunter sees in each direction, and how often in a second.
pub const HUNT_SIGHT_CELLS: u32 = 8;
/// See [`HUNT_SIGHT_CELLS`].
pub const HUNT_VIEWS_PER_S: u32 = 2;

/// Time for a hunter to come into the world, and for each of its acts to be answered.
pub const HUNT_RESPONSE_TIMEOUT: Duration = Duration::from_secs(10);

/// Pause of a hunter after its first failure to connect, and the longest.
pub const HUNT_RETRY_DELAY_MIN: Duration = Duration::from_millis(500);
/// See [`HUNT_RETRY_DELAY_MIN`].
pub const HUNT_RETRY_DELAY_MAX: Duration = Duration::from_secs(15);
