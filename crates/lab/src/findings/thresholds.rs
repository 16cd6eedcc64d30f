//! From where on something is worth a sentence. Each with its reason; a run that stays below all of them is healthy.
//! Knows nothing but numbers.

/// A share of the loss (of a request's time, of a piece's time) from which a cause is material. Below a quarter,
/// mending it would hardly be noticed.
pub(super) const SHARE_MIN: f64 = 0.25;

/// A mean wait in seconds that nobody notices: a network between cities takes as long.
pub(super) const WAIT_MIN_S: f64 = 0.005;

/// How often longer than what it waits for a wait must be before the number of places is the limit. A queue in
/// front of c busy places makes waits of this size only when they are busy nearly all the time.
pub(super) const WAIT_PER_USE_MIN: f64 = 2.0;

/// How much longer than in calm times something takes when it "grew". Caches and compiled statements alone make a
/// difference of two.
pub(super) const GREW_MIN: f64 = 3.0;

/// A mean commit or query in seconds from which a store is slow: a disk with a cache of its own commits in less than
/// 1 ms, one that rotates in about 10.
pub(super) const STORE_SLOW_S: f64 = 0.010;

/// How many durable writes of the disk before the run a commit may take: its data, its log, and the work between.
pub(super) const COMMIT_PER_FSYNC_MAX: f64 = 5.0;

/// Cores that a target uses for each commit under way when commits compute instead of waiting for a disk.
pub(super) const COMMIT_CORES_MIN: f64 = 0.5;

/// A durable write in seconds from which the disk itself is slow, whoever uses it.
pub(super) const FSYNC_SLOW_S: f64 = 0.005;

/// The share of the time in which a store's one writer is busy, from which work queues behind it.
pub(super) const WRITER_BUSY_MIN: f64 = 0.5;

/// A mean delay of tasks in seconds from which a scheduler is late: ten times the usual granularity of timers.
pub(super) const SCHEDULER_LATE_S: f64 = 0.010;

/// A mean call in seconds from which what is called is slow, whatever it does: by then people notice.
pub(super) const CALL_SLOW_S: f64 = 1.0;

/// A mean call in seconds below which nobody minds that calls got slower.
pub(super) const CALL_GREW_MIN_S: f64 = 0.050;

/// The share of calls without an answer in time from which what is called is unreliable.
pub(super) const LATE_SHARE_MIN: f64 = 0.01;

/// The share of a piece's time that calls take when they are the reason for it.
pub(super) const CALL_SHARE_MIN: f64 = 0.5;

/// How far in seconds calm times keep away from busy ones: looks at the target are not taken at their borders, and
/// one busy moment outweighs minutes of calm.
pub(super) const CALM_DISTANCE_S: f64 = 2.0;

/// How long a state must last, in seconds, to be a bottleneck and not a hiccup: three looks at the target.
pub(super) const SUSTAINED_MIN_S: f64 = 3.0;

/// The share of the busy time for which it must last.
pub(super) const SUSTAINED_SHARE_MIN: f64 = 0.5;

/// The share of the pressure at the peak from which the target is busy.
pub(super) const BUSY_MIN: f64 = 0.5;

/// The share of the pressure at the peak up to which it is calm.
pub(super) const CALM_MAX: f64 = 0.25;

/// The mean time in the queue in seconds from which a queue is behind: a poll of the lab takes as long.
pub(super) const QUEUE_WAIT_MIN_S: f64 = 1.0;

/// Pieces that wait at once, as a share of those that were created, from which there is a queue at all.
pub(super) const QUEUE_DEPTH_SHARE_MIN: f64 = 0.1;

/// How near to its highest level "under way" stays while others wait, when the number of workers is the limit.
pub(super) const PLATEAU_MIN: f64 = 0.8;

/// How much the time that a piece is under way may grow from the first half of the queue to the second and still
/// be flat. Pieces differ, and the second half has the longer ones.
pub(super) const RUN_GROWTH_MAX: f64 = 1.5;

/// The share of the processor time it may use at which a target has none left. The rest is what a scheduler loses.
pub(super) const CPU_FULL_SHARE: f64 = 0.9;

/// The same of the whole machine.
pub(super) const MACHINE_FULL_SHARE: f64 = 0.95;

/// The share of what the machine's busy processors do that is the target's own when nobody else is to blame.
pub(super) const CPU_TARGET_SHARE: f64 = 0.75;

/// How long processors must be used up, in seconds: starting something takes this long.
pub(super) const CPU_SUSTAINED_MIN_S: f64 = 5.0;

/// Around one core: a target whose one busy thread is the limit shows no more and no less.
pub(super) const ONE_CORE: std::ops::RangeInclusive<f64> = 0.93..=1.07;

/// The share of the busy time that it must stay there.
pub(super) const ONE_CORE_SHARE_MIN: f64 = 0.8;

/// The share of the periods in which a target waited for its share of the processors.
pub(super) const THROTTLED_SHARE_MIN: f64 = 0.25;

/// Threads that waited for it at once, in the mean, from which throttling was felt.
pub(super) const THROTTLED_MIN: f64 = 0.1;

/// The share of arrivals that were denied or failed from which it is worth a sentence.
pub(super) const REFUSED_SHARE_MIN: f64 = 0.01;

/// How much longer requests take under pressure when something is short of room.
pub(super) const LATENCY_GREW_MIN: f64 = 2.0;

/// The share of the memory that the target may use from which growth is worth knowing.
pub(super) const MEMORY_SHARE_MIN: f64 = 0.25;

/// Memory that did not come back, in bytes, from which it may be a leak; an allocator keeps less for itself.
pub(super) const MEMORY_KEPT_MIN_BYTES: f64 = 64.0 * 1024.0 * 1024.0;

/// The share of the growth that did not come back from which it may be a leak.
pub(super) const MEMORY_KEPT_SHARE_MIN: f64 = 0.5;

/// How well memory must follow the work in it (the share of its variance) before a number per piece is told.
pub(super) const MEMORY_FIT_MIN: f64 = 0.8;

/// Moments that such a line is drawn through, at least.
pub(super) const MEMORY_POINTS_MIN: usize = 8;

/// The share of its memory limit at which a target is at it.
pub(super) const MEMORY_FULL_SHARE: f64 = 0.95;

/// The share of its memory limit from which a kill by nobody is laid to memory: it may grow on between two looks.
pub(super) const MEMORY_KILLED_SHARE: f64 = 0.8;

/// The share of the files that a process may open at which it has none left: between two looks it opens some more. A server
/// that bounds its own connections keeps a few files in a hundred back, and stays below.
pub(super) const FILES_FULL_SHARE: f64 = 0.99;

/// The share of held connections that were lost from which it is worth a sentence: among many, some always are.
pub(super) const LOST_SHARE_MIN: f64 = 0.01;

/// How long before a fault the level is taken that it has to come back to, in seconds.
pub(super) const BASELINE_S: f64 = 10.0;

/// How soon after a fault its effect must begin, in seconds; what begins later has another cause.
pub(super) const EFFECT_WITHIN_S: f64 = 10.0;

/// Answers a second before a fault from which two seconds of silence are not chance: with 3 a second, independent
/// of each other, one pause in 400 is as long.
pub(super) const SILENCE_RATE_MIN: f64 = 3.0;

/// How long requests must be under way without an end to be told, in seconds: a second is a hiccup.
pub(super) const SILENT_MIN_S: f64 = 1.25;

/// Good answers that a silence would have had at the usual rate, so that it is not chance: as above.
pub(super) const SILENCE_MISSED_MIN: f64 = 6.0;

/// How much longer than before a fault answers may take when they are back.
pub(super) const RECOVERED_LATENCY_FACTOR: f64 = 2.0;

/// Added to that, in milliseconds: twice a very short time is a very short time.
pub(super) const RECOVERED_LATENCY_MARGIN_MS: f64 = 50.0;

/// How long a disturbance may last without a sentence, in seconds: figures come once a second.
pub(super) const DISTURBED_MIN_S: f64 = 2.0;

/// How long good answers after a fault must take to be felt, in milliseconds, where they were quick before: pauses of the lab
/// that are shorter are in its figures as well.
pub(super) const EFFECT_LATENCY_MIN_MS: f64 = 500.0;

/// How much longer than its arrivals the answers of a part take when more came than were answered, in seconds and as a share:
/// the last answer alone takes a while.
pub(super) const BACKLOG_MIN_S: f64 = 0.5;
pub(super) const BACKLOG_MIN: f64 = 0.1;

/// How near to the median the answers of a second stay when a ceiling is what holds them.
pub(super) const CEILING_TOLERANCE: f64 = 0.2;

/// How far above it the rate of arrivals is.
pub(super) const OFFERED_ABOVE_MIN: f64 = 1.1;

/// How long after a fault a death is its doing, in seconds.
pub(super) const EXIT_BY_FAULT_WITHIN_S: f64 = 10.0;

/// Packets that a machine dropped before any program saw them, from which it is worth knowing: a few are the noise of
/// other programs, and each of ours costs a connection at least 200 ms.
pub(super) const PACKETS_DROPPED_MIN: f64 = 100.0;

/// Milliseconds after which a system asks for a connection again that was not taken up (RFC 6298): who was refused by a full
/// queue took that long.
pub(super) const SYN_RETRANSMIT_MS: f64 = 1000.0;

/// Cores below which nobody is told to have used any.
pub(super) const CORES_REPORTED_MIN: f64 = 0.005;
