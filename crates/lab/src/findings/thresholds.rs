//! Thresholds from which an observation becomes a finding, each with its reason; a run below all of them is healthy.
//! Contains only numbers.

/// The share of the loss (of a request's time, of a work item's time) from which a cause is material. Below a quarter,
/// fixing it would hardly be noticed.
pub(super) const SHARE_MIN: f64 = 0.25;

/// A mean wait in seconds that is not noticed: a network between cities takes as long.
pub(super) const WAIT_MIN_S: f64 = 0.005;

/// How many times longer than the use a wait must be before the number of slots is the limit. A queue in front of c
/// busy slots makes waits of this size only when they are busy nearly all the time.
pub(super) const WAIT_PER_USE_MIN: f64 = 2.0;

/// How much longer than in calm times something must take to have "grown". Caches and compiled statements alone make a
/// difference of two.
pub(super) const GREW_MIN: f64 = 3.0;

/// A mean commit or query in seconds from which a store is slow: a disk with its own cache commits in less than 1 ms, a
/// rotating one in about 10.
pub(super) const STORE_SLOW_S: f64 = 0.010;

/// How many durable writes of the disk before the run a commit may take: its data, its log, and the work between.
pub(super) const COMMIT_PER_FSYNC_MAX: f64 = 5.0;

/// Cores that a target uses for each commit in progress when commits compute instead of waiting for a disk.
pub(super) const COMMIT_CORES_MIN: f64 = 0.5;

/// A durable write in seconds from which the disk itself is slow, whatever uses it.
pub(super) const FSYNC_SLOW_S: f64 = 0.005;

/// The share of the time in which a store's one writer is busy, from which work queues behind it.
pub(super) const WRITER_BUSY_MIN: f64 = 0.5;

/// A mean delay of tasks in seconds from which a scheduler is late: ten times the usual granularity of timers.
pub(super) const SCHEDULER_LATE_S: f64 = 0.010;

/// A mean call in seconds from which what is called is slow, whatever it does: by then people notice.
pub(super) const CALL_SLOW_S: f64 = 1.0;

/// A mean call in seconds below which slower calls do not matter.
pub(super) const CALL_GREW_MIN_S: f64 = 0.050;

/// The share of calls without a response in time from which the dependency is unreliable.
pub(super) const LATE_SHARE_MIN: f64 = 0.01;

/// The share of a work item's time that calls take when they are the cause.
pub(super) const CALL_SHARE_MIN: f64 = 0.5;

/// The distance in seconds between calm and busy times: samples are not taken at their borders, and one busy moment
/// outweighs minutes of calm.
pub(super) const CALM_DISTANCE_S: f64 = 2.0;

/// How long a state must last, in seconds, to be a bottleneck and not a hiccup: three samples of the target.
pub(super) const SUSTAINED_MIN_S: f64 = 3.0;

/// The share of the busy time for which it must last.
pub(super) const SUSTAINED_SHARE_MIN: f64 = 0.5;

/// The share of the peak pressure from which the target is busy.
pub(super) const BUSY_MIN: f64 = 0.5;

/// The share of the peak pressure up to which it is calm.
pub(super) const CALM_MAX: f64 = 0.25;

/// The mean time in the queue in seconds from which a queue is behind: a poll of the lab takes as long.
pub(super) const QUEUE_WAIT_MIN_S: f64 = 1.0;

/// The share of created work items that wait at the same time, from which there is a queue at all.
pub(super) const QUEUE_DEPTH_SHARE_MIN: f64 = 0.1;

/// How near to its maximum the number of running work items stays while others wait, when the number of workers is the
/// limit.
pub(super) const PLATEAU_MIN: f64 = 0.8;

/// How much the run time of a work item may grow from the first half of the queue to the second and still be flat. Work
/// items differ, and the second half has the longer ones.
pub(super) const RUN_GROWTH_MAX: f64 = 1.5;

/// The share of its CPU allowance at which a target has none left. The rest is scheduling overhead.
pub(super) const CPU_FULL_SHARE: f64 = 0.9;

/// The same for the whole machine.
pub(super) const MACHINE_FULL_SHARE: f64 = 0.95;

/// The target's share of the busy CPU time from which no other program is to blame.
pub(super) const CPU_TARGET_SHARE: f64 = 0.75;

/// How long the CPUs must be used up, in seconds: starting a process takes this long.
pub(super) const CPU_SUSTAINED_MIN_S: f64 = 5.0;

/// Pieces of a target's own work, on average, that a finding about CPU time names.
pub(super) const OWN_WORK_MIN: f64 = 0.5;
/// Around one core: a target limited by one busy thread uses no more and no less.
pub(super) const ONE_CORE: std::ops::RangeInclusive<f64> = 0.93..=1.07;

/// The share of the busy time that it must stay there.
pub(super) const ONE_CORE_SHARE_MIN: f64 = 0.8;

/// The share of the periods in which a target waited for its CPU share.
pub(super) const THROTTLED_SHARE_MIN: f64 = 0.25;

/// Threads that waited for it at the same time, on average, from which throttling had an effect.
pub(super) const THROTTLED_MIN: f64 = 0.1;

/// The share of arrivals that were denied or failed from which it is a finding.
pub(super) const REFUSED_SHARE_MIN: f64 = 0.01;

/// How much longer requests take under pressure when a resource is scarce.
pub(super) const LATENCY_GREW_MIN: f64 = 2.0;

/// The share of the target's memory limit from which growth is worth knowing.
pub(super) const MEMORY_SHARE_MIN: f64 = 0.25;

/// Memory that was not released, in bytes, from which it may be a leak; an allocator keeps less for itself.
pub(super) const MEMORY_KEPT_MIN_BYTES: f64 = 64.0 * 1024.0 * 1024.0;

/// The share of the growth that was not released from which it may be a leak.
pub(super) const MEMORY_KEPT_SHARE_MIN: f64 = 0.5;

/// How well memory must correlate with the work in it (the share of its variance) before a number per work item is
/// reported.
pub(super) const MEMORY_FIT_MIN: f64 = 0.8;

/// The minimum number of points of such a fit.
pub(super) const MEMORY_POINTS_MIN: usize = 8;

/// The share of its memory limit at which a target has reached it.
pub(super) const MEMORY_FULL_SHARE: f64 = 0.95;

/// The share of its memory limit from which an unexplained kill is attributed to memory: it may keep growing between
/// two samples.
pub(super) const MEMORY_KILLED_SHARE: f64 = 0.8;

/// The share of its open-file limit at which a process has none left: between two samples it opens some more. A server
/// that limits its own connections keeps a few percent of its files free, and stays below.
pub(super) const FILES_FULL_SHARE: f64 = 0.99;

/// The share of held connections that were lost from which it is a finding: among many, some are always lost.
pub(super) const LOST_SHARE_MIN: f64 = 0.01;

/// How long before a fault the baseline is taken, in seconds.
pub(super) const BASELINE_S: f64 = 10.0;

/// How soon after a fault its effect must begin, in seconds; what begins later has another cause.
pub(super) const EFFECT_WITHIN_S: f64 = 10.0;

/// Responses a second before a fault from which two seconds of silence are not chance: with 3 a second, independent of
/// each other, one pause in 400 is as long.
pub(super) const SILENCE_RATE_MIN: f64 = 3.0;

/// How long requests must be in flight without one ending to be a finding, in seconds: a second is a hiccup.
pub(super) const SILENT_MIN_S: f64 = 1.25;

/// Successful responses that a silence would have had at the usual rate, so that it is not chance: as above.
pub(super) const SILENCE_MISSED_MIN: f64 = 6.0;

/// Failures that are an outage where nothing else ends: this share of what usually ends in that time, or as many as above. Fewer are the
/// last requests of a load that waited until they timed out.
pub(super) const OUTAGE_SHARE_MIN: f64 = 0.25;

/// How many times longer than before a fault responses may take after recovery.
pub(super) const RECOVERED_LATENCY_FACTOR: f64 = 2.0;

/// Added to that, in milliseconds: twice a very short time is a very short time.
pub(super) const RECOVERED_LATENCY_MARGIN_MS: f64 = 50.0;

/// How long a disturbance may last without being a finding, in seconds: figures come once a second.
pub(super) const DISTURBED_MIN_S: f64 = 2.0;

/// How long successful responses after a fault must take to count as an effect, in milliseconds, if they were quick
/// before: shorter pauses of the lab are in its figures as well.
pub(super) const EFFECT_LATENCY_MIN_MS: f64 = 500.0;

/// How much longer than its arrivals the responses of a load step take when more arrived than were answered, in seconds
/// and as a share: the last response alone takes a while.
pub(super) const BACKLOG_MIN_S: f64 = 0.5;
pub(super) const BACKLOG_MIN: f64 = 0.1;

/// How near to the median the responses of a second stay when a ceiling limits them.
pub(super) const CEILING_TOLERANCE: f64 = 0.2;

/// How far above it the rate of arrivals is.
pub(super) const OFFERED_ABOVE_MIN: f64 = 1.1;

/// How long after a fault an exit is attributed to it, in seconds.
pub(super) const EXIT_BY_FAULT_WITHIN_S: f64 = 10.0;

/// Packets that a machine dropped before any program received them, from which it is worth knowing: a few come from
/// other programs, and each of ours costs a connection at least 200 ms.
pub(super) const PACKETS_DROPPED_MIN: f64 = 100.0;

/// Milliseconds after which a system retransmits the SYN of a connection that was not accepted (RFC 6298): a connection
/// refused by a full queue took that long.
pub(super) const SYN_RETRANSMIT_MS: f64 = 1000.0;

/// Cores below which a program is not reported.
pub(super) const CORES_REPORTED_MIN: f64 = 0.005;
