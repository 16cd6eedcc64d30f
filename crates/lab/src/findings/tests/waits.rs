//! Planted waits, each with a near miss: for a pool, the store, a queue, the scheduler, dependencies.

use super::story::{BUSY_FROM, CALL, COMMIT, COMMIT_WAIT, LATE, PERMIT, POOL, QUERY, SCHEDULER, Story, StorySecond};
use super::used_up::no_core_left;
use super::{check, check_sentence};

/// The pool has one slot: readers wait for it, and the reads themselves take what they always did.
pub(super) fn small_pool(_: u64, second: &mut StorySecond) {
    second.add_timing(POOL, 110.0);
    second.add_wait(110.0);
    second.server_cores = 1.0;
}

#[test]
fn pool_starved() {
    check(&Story::busy(small_pool), &["pool_starved"]);
    check_sentence(&Story::busy(small_pool), &["waited 110 ms", "held it for 1.20 ms", "of the 115 ms of a create"]);
    // A wait that is too short to notice.
    check(&Story::busy(|_, second| second.add_timing(POOL, 4.0)), &[]);
    // As long as the reads that are waited for: the pool is used, not starved.
    check(
        &Story::busy(|_, second| {
            second.add_timing(POOL, 8.0);
            second.add_timing(QUERY, 6.0);
            second.add_wait(14.0);
        }),
        &[],
    );
    // A small part of a long request.
    check(
        &Story::busy(|_, second| {
            second.add_timing(POOL, 10.0);
            second.add_wait(95.0);
        }),
        &[],
    );
    // Only three seconds of it.
    check(
        &Story::busy(|t, second| {
            if t < BUSY_FROM + 3 {
                small_pool(t, second);
            }
        }),
        &[],
    );
    // The reads themselves became slow: their connections are held for longer.
    check(
        &Story::busy(|t, second| {
            small_pool(t, second);
            second.add_timing(QUERY, 50.0);
        }),
        &["store_slow"],
    );
}

/// The same for another service whose metric roles are configured, in its own units.
#[test]
fn metric_roles_of_another_service() {
    let tell = |_: u64, second: &mut StorySecond| {
        second.gauges.insert("db_pool_wait_ms", 110.0);
        second.gauges.insert("db_query_ms{kind=\"read\"}", 1.0);
        second.gauges.insert("db_query_ms{kind=\"write\"}", 2.0);
        second.add_wait(110.0);
    };
    let named = |story: &mut Story| {
        story.metric_roles.insert("pool_wait".to_owned(), "db_pool_wait_ms".to_owned());
        story.metric_roles.insert("query_time".to_owned(), "db_query_ms".to_owned());
    };
    check(&Story::busy(tell).with(named), &["pool_starved"]);
    check_sentence(&Story::busy(tell).with(named), &["waited 110 ms", "held it for 2.00 ms"]);
    check(&Story::busy(tell), &[]);
}

#[test]
fn connections_to_dependencies() {
    let capped = |_: u64, second: &mut StorySecond| {
        second.add_timing(PERMIT, 400.0);
        second.running = 100;
    };
    check(&Story::busy(capped), &["pool_starved"]);
    check_sentence(&Story::busy(capped), &["a connection to the service that the target calls"]);
    check(&Story::busy(|_, second| second.add_timing(PERMIT, 4.0)), &[]);
}

/// A disk that takes 20 ms for a sync, from the first second on.
fn slow_disk(_: u64, second: &mut StorySecond) {
    second.times.insert(COMMIT, (45.0, 21.5));
    second.times.insert(COMMIT_WAIT, (45.0, 20.0));
    second.add_wait(40.0);
}

#[test]
fn store_slow() {
    check(&Story::from_rate(|_| 100, slow_disk), &["store_slow"]);
    check_sentence(&Story::from_rate(|_| 100, slow_disk), &["a commit took 21.5 ms", "0.25 ms"]);
    // The disk was slow before the run already.
    let known = |story: &mut Story| story.machine.fsync_ms_p50 = Some(19.0);
    check(&Story::from_rate(|_| 100, slow_disk).with(known), &["store_slow"]);
    // The speed of the disk is unknown, and commits are as slow as ever: they wait, they do not compute.
    let unknown = |story: &mut Story| story.machine.fsync_ms_p50 = None;
    check(&Story::from_rate(|_| 100, slow_disk).with(unknown), &["store_slow"]);
    let computes = |t: u64, second: &mut StorySecond| {
        slow_disk(t, second);
        second.server_cores = 1.2;
    };
    check(&Story::from_rate(|_| 100, computes).with(unknown), &[]);
    // Work alone: requests were over before it began.
    check(
        &Story::from_rate(
            |t| if t == 0 { 100 } else { 0 },
            |t, second| {
                slow_disk(t, second);
                second.running = 90;
            },
        ),
        &["store_slow"],
    );
    // Commits as long as on a healthy machine under load.
    check(
        &Story::from_rate(
            |_| 100,
            |_, second| {
                second.add_timing(COMMIT, 8.0);
                second.add_wait(10.0);
            },
        ),
        &[],
    );
    // Slow commits in the background, of which no request waits: requests are over sooner than one of them.
    check(
        &Story::from_rate(
            |_| 100,
            |_, second| {
                second.times.insert(COMMIT, (5.0, 21.5));
            },
        ),
        &[],
    );
}

#[test]
fn reads_are_slow() {
    let heavy = |_: u64, second: &mut StorySecond| {
        second.add_timing(QUERY, 60.0);
        second.add_wait(60.0);
    };
    check(&Story::busy(heavy), &["store_slow"]);
    check_sentence(&Story::busy(heavy), &["a read took 60.0 ms"]);
    check(
        &Story::busy(|_, second| {
            second.add_timing(QUERY, 9.0);
            second.add_wait(10.0);
        }),
        &[],
    );
}

/// Three workers for five work items a second.
fn few_workers(t: u64, second: &mut StorySecond) {
    (second.running, second.finished) = (3, t);
    second.waiting = 4 * t.min(30).saturating_sub(t.saturating_sub(30));
}

fn queued(story: &mut Story) {
    let work = story.results.work.get_mut("game").unwrap();
    (work.created, work.finished, work.running, work.waiting) = (124, 61, 3, 60);
    (work.queue_wait_s.avg, work.run_s.avg) = (Some(18.0), Some(2.1));
}

#[test]
fn queue_behind() {
    check(&Story::from_rate(|_| 5, few_workers).with(queued), &["queue_behind"]);
    check_sentence(
        &Story::from_rate(|_| 5, few_workers).with(queued),
        &["ran for 2.10 s", "Never more than 3 ran at the same time", "120 waited at 30.0 s"],
    );
    // Each work item runs longer and longer: something behind the workers is the limit.
    let slowing = |t: u64, second: &mut StorySecond| {
        few_workers(t, second);
        second.finished = (8.0 * (t as f64).sqrt()) as u64;
    };
    check(&Story::from_rate(|_| 5, slowing).with(queued), &[]);
    // Few wait, or all of them only for a moment.
    let shallow = |t: u64, second: &mut StorySecond| {
        few_workers(t, second);
        second.waiting = 2;
    };
    check(&Story::from_rate(|_| 5, shallow).with(queued), &[]);
    let short = |t: u64, second: &mut StorySecond| {
        few_workers(t, second);
        second.waiting = if t < 2 { 40 } else { 0 };
    };
    check(
        &Story::from_rate(|_| 5, short).with(|story| {
            queued(story);
            story.results.work.get_mut("game").unwrap().queue_wait_s.avg = Some(0.4);
        }),
        &[],
    );
    // As many run as there are, and more every second: no ceiling.
    let growing = |t: u64, second: &mut StorySecond| {
        few_workers(t, second);
        second.running = t;
    };
    check(&Story::from_rate(|_| 5, growing).with(queued), &[]);
    // The CPUs are used up: more workers would not help.
    let full = |t: u64, second: &mut StorySecond| {
        few_workers(t, second);
        second.server_cores = 1.9;
        second.machine.insert("busy_share", 1.0);
    };
    check(&Story::from_rate(|_| 5, full).with(queued), &["cpu_saturated"]);
}

/// A queue that the lab does not follow.
#[test]
fn queue_behind_by_metrics() {
    let tell = |wait_ms: f64, run_ms: f64| {
        Story::busy(move |_, second| {
            second.times.insert("gauntlet_queue_wait_seconds", (5.0, wait_ms));
            second.times.insert("gauntlet_run_time_seconds", (5.0, run_ms));
        })
        .with(|story| story.results.work.clear())
    };
    check(&tell(9000.0, 2000.0), &["queue_behind"]);
    check(&tell(900.0, 2000.0), &[]);
    check(&tell(1500.0, 20_000.0), &[]);
}

#[test]
fn scheduler_late() {
    let late = |_: u64, second: &mut StorySecond| {
        second.add_timing(SCHEDULER, 45.0);
        second.add_wait(50.0);
    };
    check(&Story::busy(late), &["scheduler_late"]);
    check(
        &Story::busy(|_, second| {
            second.add_timing(SCHEDULER, 8.0);
            second.add_wait(10.0);
        }),
        &[],
    );
    // As late in calm times: that is the resolution of its timers.
    check(
        &Story::from_rate(|t| if t < BUSY_FROM { 10 } else { 100 }, |_, second| second.add_timing(SCHEDULER, 15.0)),
        &[],
    );
}

#[test]
fn dependency_slow() {
    // Every second call has no response in time.
    let late = |_: u64, second: &mut StorySecond| {
        second.add_timing(CALL, 350.0);
        let calls = second.times[CALL].0;
        second.counters.insert(LATE, calls / 2.0);
    };
    check(&Story::busy(late), &["dependency_slow"]);
    check_sentence(&Story::busy(late), &["a call took 350 ms", "50.0 % of them had no response in time"]);
    // Slow, and in time.
    check(&Story::busy(|_, second| second.add_timing(CALL, 1600.0)), &["dependency_slow"]);
    check(&Story::busy(|_, second| second.add_timing(CALL, 400.0)), &[]);
    // Slower as the run continues.
    check(
        &Story::from_rate(|_| 100, |t, second| second.add_timing(CALL, if t < 20 { 20.9 } else { 200.0 })),
        &["dependency_slow"],
    );
    // One in a thousand is late.
    check(
        &Story::busy(|_, second| {
            let calls = second.times[CALL].0;
            second.counters.insert(LATE, calls / 1000.0);
        }),
        &[],
    );
    // Late because the target itself has no core left to send and to read.
    check(
        &Story::busy(|t, second| {
            no_core_left(t, second);
            late(t, second);
        }),
        &["cpu_saturated"],
    );
}
