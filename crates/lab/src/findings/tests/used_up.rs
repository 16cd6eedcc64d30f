//! Planted shortages, each with a near miss: of CPUs, memory, ports and files.

use super::story::{BUSY_FROM, POOL, SCHEDULER, SECONDS, Story, StorySecond};
use super::waits::small_pool;
use super::{check, check_sentence};
use crate::aggregate::{ErrorGroup, HeldFigures, LoadStepFigures, PhaseFigures, Statistics};
use crate::cgroup::LimitStats;
use crate::findings::ProcessExit;
use crate::measurement::HeldCounts;
use crate::measurement::timeline::FaultRow;
use crate::scenario::TargetLimits;

/// No CPU is left for the target, and its tasks wait for a core.
pub(super) fn no_core_left(_: u64, second: &mut StorySecond) {
    second.server_cores = 1.9;
    second.machine.insert("busy_share", 1.0);
    second.add_timing(SCHEDULER, 40.0);
    second.add_timing(POOL, 30.0);
    second.add_wait(80.0);
}

#[test]
fn cpu_saturated() {
    check(&Story::busy(no_core_left), &["cpu_saturated"]);
    check_sentence(&Story::busy(no_core_left), &["1.90 of 2.00 cores"]);
    // The machine is not measured: the target's own use is enough.
    check(
        &Story::busy(|t, second| {
            no_core_left(t, second);
            second.machine.clear();
        }),
        &["cpu_saturated"],
    );
    // Only for four seconds.
    check(
        &Story::busy(|t, second| {
            if t < BUSY_FROM + 4 {
                no_core_left(t, second);
            }
        }),
        &[],
    );
    // With cores to spare the same waits have another cause.
    check(
        &Story::busy(|t, second| {
            no_core_left(t, second);
            second.server_cores = 1.2;
            second.machine.insert("busy_share", 0.7);
            second.add_timing(POOL, 0.1);
        }),
        &["scheduler_late"],
    );
    // A CPU limit of its own.
    let share = |story: &mut Story| story.limits = TargetLimits { cpu_cores: Some(0.5), ..TargetLimits::default() };
    let at_share = |_: u64, second: &mut StorySecond| {
        second.server_cores = 0.48;
        second.add_wait(80.0);
    };
    check(&Story::busy(at_share).with(share), &["cpu_saturated"]);
    check(&Story::busy(at_share), &[]);
}

/// The CPU time of a target that works by itself is not charged to the requests of the trial.
#[test]
fn own_work_of_the_target_is_named() {
    let with_ladder = |t: u64, second: &mut StorySecond| {
        no_core_left(t, second);
        second.gauges.insert("gauntlet_ladder_matches_unapplied", 64.0);
    };
    let said = ["1.90 of 2.00 cores", "64.0 pieces of its own work", "cannot be told apart"];
    check_sentence(&Story::busy(with_ladder), &said);
    let advice = |tell: fn(u64, &mut StorySecond)| format!("{:?}", Story::busy(tell).findings());
    assert!(!advice(with_ladder).contains("for each request") && advice(with_ladder).contains("without entries"));
    assert!(advice(no_core_left).contains("for each request") && !advice(no_core_left).contains("own work"));
    let idle = |t: u64, second: &mut StorySecond| {
        no_core_left(t, second);
        second.gauges.insert("gauntlet_ladder_matches_unapplied", 0.0);
    };
    assert!(!advice(idle).contains("own work"), "no ladder plays");
}

#[test]
fn one_core() {
    let single = |_: u64, second: &mut StorySecond| {
        second.server_cores = 1.0;
        second.add_wait(60.0);
    };
    check(&Story::busy(single), &["one_core"]);
    // Around one core by chance, and nothing waits; or not around one core.
    check(&Story::busy(|_, second| second.server_cores = 1.0), &[]);
    check(
        &Story::busy(|t, second| {
            single(t, second);
            second.server_cores = 0.8 + 0.1 * (t % 5) as f64;
        }),
        &[],
    );
    // On a machine with one core that is all there is.
    check(&Story::busy(single).with(|story| story.machine.cores = Some(1)), &["cpu_saturated"]);
}

#[test]
fn cpu_throttled() {
    let squeezed = |_: u64, second: &mut StorySecond| {
        second.server_cores = 0.5;
        second.add_timing(SCHEDULER, 30.0);
        second.add_timing(POOL, 60.0);
        second.add_wait(100.0);
    };
    let limits = |periods: u64, throttled: u64, us: u64| {
        move |story: &mut Story| {
            story.limits.cpu_cores = Some(0.5);
            story.limit_counters.cpu_periods = Some(periods);
            story.limit_counters.cpu_throttled_periods = Some(throttled);
            story.limit_counters.cpu_throttled_us = Some(us);
        }
    };
    check(&Story::busy(squeezed).with(limits(9000, 7000, 40_000_000)), &["cpu_throttled"]);
    check_sentence(
        &Story::busy(squeezed).with(limits(9000, 7000, 40_000_000)),
        &["of 0.50 cores it used 0.50", "77.8 %"],
    );
    // Now and then, and without effect.
    check(&Story::busy(|_, second| second.server_cores = 0.2).with(limits(9000, 500, 400_000)), &[]);
}

#[test]
fn machine_full() {
    let shared = |_: u64, second: &mut StorySecond| {
        no_core_left(0, second);
        second.add_timing(POOL, 0.1);
        (second.server_cores, second.bots_cores, second.lab_cores) = (0.8, 0.6, 0.2);
    };
    check(&Story::busy(shared), &["machine_full"]);
    check_sentence(
        &Story::busy(shared),
        &["the target used 0.80 cores, the lab 0.20, the trial's other processes 0.60, \
           programs outside of the trial 0.40."],
    );
    // The programs that used it, and what belongs to no program: the kernel handles packets on no process's account.
    let named = |t: u64, second: &mut StorySecond| {
        shared(t, second);
        second.machine.extend([("interrupt_share", 0.1), ("cores_of.rustc", 0.15), ("cores_of.idler", 0.01)]);
    };
    check_sentence(
        &Story::busy(named),
        &["the kernel's interrupts, including its network stack, 0.20", "outside of the trial 0.20 (rustc 0.15)."],
    );
    // The lab is late as well: the machine is the cause.
    let late = |story: &mut Story| story.results.generator.schedule_lag_ms.p99 = Some(300.0);
    check(&Story::busy(shared).with(late), &["machine_full"]);
}

#[test]
fn generator_behind() {
    let lag = |ms: f64| move |story: &mut Story| story.results.generator.schedule_lag_ms.p99 = Some(ms);
    let own = |_: u64, second: &mut StorySecond| {
        second.lab_cores = 0.98;
        second.machine.insert("busy_share", 0.75);
    };
    check(&Story::busy(own).with(lag(300.0)), &["generator_behind"]);
    check_sentence(&Story::busy(own).with(lag(300.0)), &["300 ms late (100 ms are allowed)", "the most that they can"]);
    check(&Story::busy(own).with(lag(100.0)), &[]);
    // Of few arrivals the latest counts, and a hundredth of them is none.
    let few = |story: &mut Story| {
        let lag = Statistics { count: 40, max: Some(300.0), ..Statistics::default() };
        story.results.generator.schedule_lag_ms = lag;
    };
    check_sentence(&Story::busy(own).with(few), &["an arrival was sent more than 300 ms late (100 ms are allowed)"]);
    // Other users of the CPUs are named, and if the lab's own usage is unknown, the finding says so.
    let others =
        |_: u64, second: &mut StorySecond| second.machine.extend([("busy_share", 0.9), ("cores_of.rustc", 1.2)]);
    let starved = Story::busy(others).with(lag(300.0));
    check_sentence(&starved, &["something kept them from running; meanwhile other programs used rustc 1.20 cores."]);
    assert!(starved.findings()[0].advice.starts_with("End rustc while measuring"));
    // It casts doubt on everything else, so it comes first.
    check(&Story::busy(small_pool).with(lag(300.0)), &["generator_behind", "pool_starved"]);
}

/// Memory that follows the number of work items.
fn growing(each_mib: f64) -> impl Fn(u64, &mut StorySecond) {
    move |t, second| {
        second.running = if t < 30 { 3 * t } else { 3 * (SECONDS - t) }.saturating_sub(20);
        second.rss_mib = 300.0 + each_mib * second.running as f64;
    }
}

fn limit(mib: u64) -> impl Fn(&mut Story) {
    move |story| story.limits.memory_bytes = Some(mib << 20)
}

#[test]
fn memory_per_work() {
    check(&Story::from_rate(|_| 20, growing(38.0)).with(limit(8192)), &["memory_per_work"]);
    check_sentence(
        &Story::from_rate(|_| 20, growing(38.0)).with(limit(8192)),
        &["38.0 MiB per work item", "it was released"],
    );
    // Little, relative to the limit.
    check(&Story::from_rate(|_| 20, growing(0.06)).with(limit(8192)), &[]);
    check(&Story::from_rate(|_| 20, growing(2.0)), &[]);
    // It grows without a work item in it: no number per item.
    check(&Story::from_rate(|_| 20, |t, second| second.rss_mib = 300.0 + 60.0 * (t % 7) as f64).with(limit(1024)), &[]);
}

#[test]
fn memory_that_does_not_come_back() {
    let leaks = |kept: f64| {
        move |t: u64, second: &mut StorySecond| {
            growing(10.0)(t, second);
            if t >= 30 {
                second.rss_mib = second.rss_mib.max(300.0 + kept);
            }
        }
    };
    check(&Story::from_rate(|_| 20, leaks(500.0)), &["memory_per_work"]);
    check_sentence(&Story::from_rate(|_| 20, leaks(500.0)), &["500 MiB of it was not released"]);
    check(&Story::from_rate(|_| 20, leaks(60.0)), &[]);
}

#[test]
fn memory_cap() {
    let killed = ProcessExit { process: "server".to_owned(), t_s: 29.0, signal: Some(9) };
    let fell = |story: &mut Story| {
        story.process_exits.push(killed.clone());
        story.limits.memory_bytes = Some(3200 << 20);
    };
    check(&Story::from_rate(|_| 20, growing(38.0)).with(fell), &["memory_cap"]);
    check_sentence(
        &Story::from_rate(|_| 20, growing(38.0)).with(fell),
        &["killed for its memory at 29.0 s", "of 3.12 GiB"],
    );
    // The kernel reports it, though no sample saw the memory grow.
    let counted = |story: &mut Story| story.limit_counters = LimitStats { oom_kills: Some(1), ..LimitStats::default() };
    check(&Story::busy(|_, _| {}).with(counted), &["memory_cap"]);
    let own = |story: &mut Story| {
        counted(story);
        fell(story);
    };
    let says = ["killed for its memory", "of 3.12 GiB that target.limits.memory allows."];
    check_sentence(&Story::from_rate(|_| 20, growing(38.0)).with(own), &says);
    // At the limit and alive.
    check(&Story::from_rate(|_| 20, growing(38.0)).with(limit(2980)), &["memory_cap"]);
    let charged = |mib: u64| {
        move |story: &mut Story| {
            limit(2980)(story);
            story.limit_counters.memory_peak_bytes = Some(mib << 20);
        }
    };
    check(&Story::from_rate(|_| 20, growing(38.0)).with(charged(2960)), &["memory_cap"]);
    // Most of it is shared by its processes.
    check(&Story::from_rate(|_| 20, growing(38.0)).with(charged(650)), &["memory_per_work"]);
    // Killed far below the limit, or by the trial itself.
    check(&Story::busy(|_, _| {}).with(fell), &[]);
    let ordered = |story: &mut Story| {
        fell(story);
        story.faults.push(FaultRow {
            t_s: 28.5,
            act: "kill".to_owned(),
            process: "server".to_owned(),
            ..FaultRow::default()
        });
    };
    check(&Story::from_rate(|_| 20, growing(10.0)).with(ordered), &[]);
}

fn error(kind: &str, count: u64, sample: &str) -> ErrorGroup {
    ErrorGroup {
        journey: "create".to_owned(),
        step: None,
        kind: kind.to_owned(),
        count,
        sample: sample.to_owned(),
        more_samples: Vec::new(),
    }
}

#[test]
fn ports_and_files_are_used_up() {
    let fails = |sample: &'static str| {
        Story::busy(|_, second| second.errors = 5).with(move |story| story.errors.push(error("connect", 225, sample)))
    };
    check(&fails("connect: Cannot assign requested address (os error 99)"), &["ports_exhausted"]);
    check(&fails("connect: Too many open files (os error 24)"), &["descriptors_exhausted"]);
    check_sentence(&fails("connect: Too many open files (os error 24)"), &["The lab had no file left"]);
    check(&fails("connect: Connection refused (os error 111)"), &[]);
    // The target says that of itself.
    for answer in ["dial tcp 10.0.0.5:5432: connect: cannot assign requested address", "accept: too many open files"] {
        let sample = format!("502: {answer}");
        let says = |story: &mut Story| story.errors.push(error("status_502", 225, &sample));
        check(&Story::busy(|_, second| second.errors = 5).with(says), &[]);
    }
    // The target's own.
    let open = |files: f64| move |_: u64, second: &mut StorySecond| second.open_files = files;
    let limit = |story: &mut Story| story.limits.open_files = Some(1024);
    check(&Story::busy(open(1020.0)).with(limit), &["descriptors_exhausted"]);
    check_sentence(&Story::busy(open(1020.0)).with(limit), &["The target had no file left", "1,020 of 1,024"]);
    check(&Story::busy(open(800.0)).with(limit), &[]);
    // As many as that in four processes, each of which may have so many.
    let in_four = |t: u64, second: &mut StorySecond| {
        open(1080.0)(t, second);
        second.processes = 4.0;
    };
    check(&Story::busy(in_four).with(limit), &[]);
    // As full as its own limit on connections allows.
    check(&Story::busy(open(980.0)).with(limit), &[]);
    let refuses = |_: u64, second: &mut StorySecond| {
        second.counters.insert("gauntlet_http_accept_errors_total", 3.0);
    };
    check(&Story::busy(refuses), &["descriptors_exhausted"]);
}

#[test]
fn packets_dropped_by_the_machine() {
    let drops = |packets: f64| {
        move |_: u64, second: &mut StorySecond| {
            second.machine.insert("packets_dropped", packets);
        }
    };
    check(&Story::busy(drops(40.0)), &["packets_dropped"]);
    check(&Story::busy(drops(1.0)), &[]);
    let lost =
        |story: &mut Story| story.errors.push(error("reset", 225, "read: Connection reset by peer (os error 104)"));
    let timed_out = |t: u64, second: &mut StorySecond| {
        drops(40.0)(t, second);
        second.machine.insert("timed_out", 5.0);
        second.errors = 5;
    };
    check(&Story::busy(timed_out).with(lost), &["packets_dropped"]);
    check_sentence(&Story::busy(timed_out).with(lost), &["dropped 1,800 packets"]);
    let evidence = Story::busy(timed_out).with(lost).findings().remove(0).evidence;
    let says: Vec<_> = evidence.iter().map(|one| (one.figure.as_str(), one.text.as_str())).collect();
    let want = [
        ("errors.create.reset", "225 · read: Connection reset by peer (os error 104)"),
        ("machine.packets_dropped", "1,800 packets"),
        ("machine.timed_out", "225 connections ended by timeout"),
    ];
    assert_eq!(says, want);
    let overflows = |_: u64, second: &mut StorySecond| {
        second.machine.insert("listen_overflows", 2.0);
        second.errors = 1;
    };
    check(&Story::busy(overflows), &["accept_queue_full"]);
    check_sentence(&Story::busy(overflows), &["90 connections arrived"]);
    // Another program's, if nothing of this trial failed or was late; connections that came a second late were refused
    // first.
    let elsewhere = |_: u64, second: &mut StorySecond| {
        second.machine.insert("listen_overflows", 2.0);
    };
    check(&Story::busy(elsewhere), &[]);
    let opened_in = |max: f64, failed: u64| {
        move |story: &mut Story| {
            let opening_ms = Statistics { max: Some(max), ..Statistics::default() };
            let counts = HeldCounts { failed, ..HeldCounts::default() };
            let connections = Some(HeldFigures { opening_ms, counts, ..HeldFigures::default() });
            story.results.phases.insert("held".to_owned(), PhaseFigures { connections, ..PhaseFigures::default() });
        }
    };
    check(&Story::busy(elsewhere).with(opened_in(1003.0, 0)), &["accept_queue_full"]);
    check(&Story::busy(elsewhere).with(opened_in(40.0, 1)), &["accept_queue_full"]);
    check(&Story::busy(elsewhere).with(opened_in(40.0, 0)), &[]);
    check(&Story::busy(drops(0.0)), &[]);
    // No file is left to accept a connection with: that is the cause.
    let no_file = |t: u64, second: &mut StorySecond| {
        overflows(t, second);
        second.counters.insert("gauntlet_http_accept_errors_total", 3.0);
    };
    check(&Story::busy(no_file), &["descriptors_exhausted"]);
}

/// A closed loop sends as much as the target can answer: a full CPU is its limit, though nothing waits.
#[test]
fn closed_loops_take_what_there_is() {
    let full = |_: u64, second: &mut StorySecond| {
        second.server_cores = 1.95;
        second.machine.insert("busy_share", 1.0);
    };
    let closed =
        |story: &mut Story| story.load_steps.push(LoadStepFigures { clients: Some(50), ..LoadStepFigures::default() });
    check(&Story::from_rate(|_| 100, full).with(closed), &["cpu_saturated"]);
    check(&Story::from_rate(|_| 100, full), &[]);
}
