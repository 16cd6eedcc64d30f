//! Events of a run, each with a near miss: a limiter, stuck work, faults; and the order of the findings.

use super::story::{Story, StorySecond};
use super::waits::small_pool;
use super::{check, check_sentence};
use crate::aggregate::{ErrorGroup, HeldFigures, JourneyFigures, LoadStepFigures, PhaseFigures};
use crate::findings::ProcessExit;
use crate::measurement::HeldCounts;
use crate::measurement::timeline::{FaultRow, PauseRow};

#[test]
fn limiter_rejects() {
    let denies = |denied: u64| {
        move |t: u64, second: &mut StorySecond| {
            if t >= 20 {
                (second.denied, second.ok) = (denied, 100 - denied);
            }
        }
    };
    check(&Story::busy(denies(60)), &["limiter_rejects"]);
    check_sentence(
        &Story::busy(denies(60)),
        &["A limiter refused", "from 20.0 s on", "admitted 40.0 a second", "They were denied; they did not fail"],
    );
    // Of the arrivals of those journeys that were refused at all, and from then on.
    let says = ["A limiter refused 60.0 % of the arrivals of `create` (2,400 of 4,000) from 20.0 s on"];
    check_sentence(&Story::busy(denies(60)), &says);
    let others = Story::busy(denies(60)).with(|story| {
        let mut other = JourneyFigures::default();
        (other.op.count, other.op.ok) = (9_000, 9_000);
        story.results.journeys.insert("read".to_owned(), other);
    });
    check_sentence(&others, &says);
    // A player who came too late for an item was refused as well, and no rate was limited.
    let taken = |story: &mut Story| story.denies_by_status = false;
    check(&Story::busy(denies(60)).with(taken), &["denied"]);
    check_sentence(
        &Story::busy(denies(60)).with(taken),
        &["The target refused", "They were denied; they did not fail"],
    );
    check(
        &Story::busy(|t, second| {
            if t == 20 {
                second.denied = 30;
            }
        }),
        &[],
    );
}

/// A story in which the lab's first worker did not run, from and to these moments.
fn paused(pauses: &[(f64, f64)]) -> impl Fn(&mut Story) {
    let rows = pauses.iter().map(|(t_s, until_s)| PauseRow { t_s: *t_s, until_s: *until_s, worker: 0 });
    let rows: Vec<PauseRow> = rows.collect();
    move |story| story.pauses.clone_from(&rows)
}

#[test]
fn the_target_was_silent() {
    let silent = |from: u64, to: u64| {
        move |t: u64, second: &mut StorySecond| {
            if (from..to).contains(&t) {
                (second.ok, second.in_flight) = (0, 200);
            }
        }
    };
    check_sentence(&Story::busy(silent(30, 32)), &["The target was silent from 30.0 s to 32.0 s"]);
    check(&Story::busy(silent(30, 32)), &["target_silent"]);
    check(&Story::busy(silent(30, 60)), &["target_silent"]);
    // A second is a hiccup; nothing is in flight if nothing was sent; and the lab's own pause is not the target's.
    check(&Story::busy(silent(30, 31)), &[]);
    let nothing_sent = |t: u64, second: &mut StorySecond| {
        if (30..40).contains(&t) {
            (second.ok, second.in_flight) = (0, 0);
        }
    };
    check(&Story::busy(nothing_sent), &[]);
    check(&Story::busy(silent(30, 32)).with(paused(&[(30.0, 32.0)])), &[]);
    // The second of two pauses is the lab's own as well.
    check(&Story::busy(silent(30, 32)).with(paused(&[(10.0, 14.0), (29.9, 32.1)])), &[]);
    // A pause that is too short explains nothing.
    check(&Story::busy(silent(30, 32)).with(paused(&[(30.0, 30.1)])), &["target_silent"]);
    // A wait by plan makes no such row, so a journey that pauses between its steps is treated like any other.
    check(
        &Story::busy(silent(30, 40)).with(|story| story.results.journeys.get_mut("create").unwrap().paced = true),
        &["target_silent"],
    );
    // Full machine and silence: the silence comes first.
    let full = |t: u64, second: &mut StorySecond| {
        silent(30, 40)(t, second);
        second.machine.insert("busy_share", 1.0);
    };
    let story = Story::busy(full);
    let found = story.findings();
    assert_eq!(found[0].code, "target_silent", "{found:?}");
}

#[test]
fn a_silence_is_reported_wherever_it_begins() {
    let silent = |per_s: u64, ranges: &[(f64, f64)]| {
        Story::from_rate(|_| per_s, |_, _| {}).with(|story| story.silences = ranges.to_vec())
    };
    // A second has responses before it begins, and another one after it is over.
    for (from_s, to_s) in [(2.6, 4.6), (2.2, 4.8), (30.9, 32.8), (57.3, 59.9)] {
        let story = silent(75, &[(from_s, to_s)]);
        check(&story, &["target_silent"]);
        check_sentence(&story, &[&format!("The target was silent from {from_s:.1} s to {to_s:.1} s: ")]);
    }
    check_sentence(&silent(75, &[(2.6, 4.6), (20.1, 23.2)]), &["from 20.1 s to 23.2 s"]);
    // A hiccup, and pauses by chance where responses are infrequent.
    check(&silent(75, &[(2.6, 3.8)]), &[]);
    check(&silent(3, &[(2.6, 4.5)]), &[]);
    check(&silent(3, &[(2.6, 4.7)]), &["target_silent"]);
    check(&silent(2, &[(2.6, 9.6)]), &[]);
    check(&silent(75, &[(2.6, 4.6)]).with(paused(&[(2.5, 4.7)])), &[]);
}

#[test]
fn only_errors_came() {
    let failing = |from: u64, to: u64| {
        move |t: u64, second: &mut StorySecond| {
            if (from..to).contains(&t) {
                (second.ok, second.errors) = (0, 100);
            }
        }
    };
    check(&Story::busy(failing(30, 32)), &["only_errors"]);
    check_sentence(&Story::busy(failing(30, 32)), &["Every request that ended from 30.0 s to 32.0 s had failed."]);
    check(&Story::busy(failing(30, 31)), &[]);
    check_sentence(&Story::busy(failing(30, 60)), &["Every request that ended from 30.0 s to the end had failed."]);
    check_sentence(&Story::busy(failing(0, 60)), &["Every request that ended from 15.0 s to the end had failed."]);
    check_sentence(&Story::from_rate(|_| 50, failing(0, 60)), &["Every request failed: 6,000 of 6,000."]);
    // Two stragglers that time out at the end.
    let stragglers = |t: u64, second: &mut StorySecond| {
        if t >= 57 {
            (second.ok, second.errors) = (0, u64::from(t >= 58));
        }
    };
    check(&Story::busy(stragglers), &[]);
    // Seconds in which nothing ended, or nothing was sampled, are not between two outages.
    let in_bursts = |t: u64, second: &mut StorySecond| {
        if t >= 30 {
            (second.ok, second.errors, second.in_flight) = (0, if t.is_multiple_of(3) { 60 } else { 0 }, 200);
        }
    };
    check_sentence(&Story::busy(in_bursts), &["Every request that ended from 30.0 s to the end had failed."]);
    // A dead target comes before a late lab, and a lab without ports before the consequences.
    let late = |story: &mut Story| story.results.generator.schedule_lag_ms.p99 = Some(770.0);
    let dead = Story::busy(failing(30, 60)).with(late);
    check(&dead, &["only_errors", "generator_behind"]);
    let no_port = |story: &mut Story| {
        let sample = "connect: os error 99".to_owned();
        let (journey, kind) = ("create".to_owned(), "connect".to_owned());
        story.errors.push(ErrorGroup { journey, step: None, kind, count: 9, sample, more_samples: Vec::new() });
    };
    check(&Story::busy(failing(30, 60)).with(no_port), &["ports_exhausted", "only_errors"]);
    let some = |t: u64, second: &mut StorySecond| {
        if (30..40).contains(&t) {
            (second.ok, second.errors) = (1, 99);
        }
    };
    check(&Story::busy(some), &[]);
}

#[test]
fn a_long_run_hides_no_silence() {
    // Its figures over time are means over several seconds by then.
    for (seconds, code) in [((0, 0), "target_silent"), ((0, 100), "only_errors")] {
        let story = Story::busy(|t, second| {
            if (30..33).contains(&t) {
                (second.ok, second.errors, second.in_flight) = (seconds.0, seconds.1, 200);
            }
        });
        let long = story.with(|story| {
            let healthy = story.seconds[20].clone();
            story.seconds.extend(std::iter::repeat_n(healthy, 2000));
            story.update_results();
        });
        let found = long.findings();
        let outage = found.iter().find(|finding| finding.code == code);
        assert!(outage.is_some_and(|outage| outage.sentence.contains("from 30.0 s to 33.0 s")), "{found:#?}");
    }
}

/// What is shown of the target while a run continues: nothing, until the seconds of the outage are known.
#[track_caller]
fn check_live(story: &Story, shown_from_to: (usize, usize), expected: &str) {
    for seconds in 1..=story.seconds.len() {
        let expected = (shown_from_to.0..shown_from_to.1).contains(&seconds).then_some(expected);
        assert_eq!(story.outage_after(seconds).as_deref(), expected, "after {seconds} s");
    }
}

#[test]
fn a_run_in_progress_uses_the_same_rule() {
    let outage = |from: u64, to: u64, errors: u64| {
        move |t: u64, second: &mut StorySecond| {
            if (from..to).contains(&t) {
                (second.ok, second.errors, second.in_flight) = (0, errors, 200);
            }
        }
    };
    check_live(&Story::busy(outage(30, 40, 0)), (32, 42), "the target is silent since 30.0 s");
    // The sample at 34 s completes the second after 31 s; that at 43 s completes 40 s, in which responses came again.
    check_live(&Story::busy(outage(30, 40, 100)), (35, 44), "only errors since 30.0 s");
    check_live(&Story::busy(outage(30, 31, 0)), (0, 0), "");
    // Infrequent responses leave pauses by chance; errors do not.
    let seldom = |errors| Story::from_rate(|_| 2, outage(30, 40, errors));
    check_live(&seldom(0), (0, 0), "");
    check_live(&seldom(1), (35, 44), "only errors since 30.0 s");
    // The lab's own pause is not the target's, nor is a fault's effect.
    check_live(&Story::busy(outage(30, 33, 0)).with(paused(&[(30.2, 32.8)])), (0, 0), "");
    check_live(
        &Story::busy(outage(30, 40, 0)).with(paused(&[(30.2, 32.8)])),
        (35, 42),
        "the target is silent since 33.0 s",
    );
    let stopped = |story: &mut Story| {
        let (act, process) = ("stop".to_owned(), "server".to_owned());
        story.faults.push(FaultRow { t_s: 29.5, act, process, ..FaultRow::default() });
    };
    check_live(&Story::busy(outage(30, 40, 0)).with(stopped), (0, 0), "");
    check_live(&Story::busy(outage(30, 55, 0)).with(stopped), (0, 0), "");
    check_live(&Story::busy(outage(45, 55, 0)).with(stopped), (47, 57), "the target is silent since 45.0 s");
    // A restart that is not ready by the end has its effect, too; a fault that never reached its process has none.
    let failed = |pid_before: Option<u32>| {
        move |story: &mut Story| {
            let (act, process, failed) =
                ("restart".to_owned(), "server".to_owned(), Some("the run is over".to_owned()));
            story.faults.push(FaultRow { t_s: 29.5, act, process, pid_before, failed, ..FaultRow::default() });
        }
    };
    check_live(&Story::busy(outage(30, 60, 0)).with(failed(Some(7))), (0, 0), "");
    check_live(&Story::busy(outage(30, 40, 0)).with(failed(None)), (32, 42), "the target is silent since 30.0 s");
}

#[test]
fn stuck_work() {
    let stops = |t: u64, second: &mut StorySecond| {
        if t >= 50 {
            second.stuck = 37;
        }
    };
    let held = |story: &mut Story| {
        let work = story.results.work.get_mut("game").unwrap();
        work.stuck_by = [("node_b:4001".to_owned(), 30), ("node_a:4000".to_owned(), 7)].into();
        story.faults.push(FaultRow {
            t_s: 20.0,
            act: "kill".to_owned(),
            process: "node_b".to_owned(),
            ..FaultRow::default()
        });
    };
    check(&Story::busy(stops), &["stuck_work"]);
    check(&Story::busy(stops).with(held), &["stuck_work"]);
    check_sentence(
        &Story::busy(stops).with(held),
        &["37 of", "30 held by node_b:4001, which got `kill` from the trial at 20.0 s; 7 held by node_a:4000."],
    );
    let died = |story: &mut Story| {
        held(story);
        story.faults.clear();
        story.process_exits.push(ProcessExit { process: "node_a".to_owned(), t_s: 31.0, signal: None });
    };
    check_sentence(&Story::busy(stops).with(died), &["7 held by node_a:4000, which ended by itself at 31.0 s"]);
    // Stuck for a while, and at the end none.
    check(
        &Story::busy(|t, second| {
            if (20..30).contains(&t) {
                second.stuck = 3;
            }
        }),
        &[],
    );
}

#[test]
fn errors_after_fault() {
    let fault = |act: &'static str| {
        move |story: &mut Story| {
            story.faults.push(FaultRow {
                t_s: 30.4,
                act: act.to_owned(),
                process: "server".to_owned(),
                ready_again_s: Some(35.2),
                ..FaultRow::default()
            });
        }
    };
    let away = |t: u64, second: &mut StorySecond| {
        if (30..36).contains(&t) {
            (second.ok, second.errors) = (0, 100);
        }
    };
    check(&Story::busy(away).with(fault("kill")), &["errors_after_fault"]);
    check_sentence(
        &Story::busy(away).with(fault("kill")),
        &["`kill` of server at 30.4 s", "600 errors", "as before again within 6 s"],
    );
    // Stopped and continued: nothing fails, everything is late.
    let stopped = |t: u64, second: &mut StorySecond| match t {
        30..35 => (second.ok, second.in_flight) = (0, 100),
        35 => second.add_wait(4000.0),
        _ => {}
    };
    check(&Story::busy(stopped).with(fault("stop")), &["late_after_fault"]);
    check(&Story::busy(|_, _| {}).with(fault("stop")), &[]);
    // It never recovers.
    let gone = |t: u64, second: &mut StorySecond| {
        if t >= 30 {
            (second.ok, second.errors) = (0, 100);
        }
    };
    check_sentence(&Story::busy(gone).with(fault("kill")), &["not as before until the load was over"]);
    // What waits and queues in that time is attributed to the fault.
    let piles = |t: u64, second: &mut StorySecond| {
        away(t, second);
        if (30..36).contains(&t) {
            small_pool(t, second);
            second.ok = 0;
        }
    };
    check(&Story::busy(piles).with(fault("kill")), &["errors_after_fault"]);
    // Errors without a fault, or long after it, are not a fault's.
    check(&Story::busy(away), &["only_errors"]);
    check(
        &Story::busy(|t, second| {
            if t > 45 {
                second.errors = 20;
            }
        })
        .with(fault("stop")),
        &[],
    );
}

/// The first finding of a run with these faults, and its cost as a share of all arrivals.
#[track_caller]
fn check_cost(story: &Story, faults: &[(f64, &str)], says: &[&str], cost: &str) {
    let row = |(t_s, act): &(f64, &str)| FaultRow {
        t_s: *t_s,
        act: (*act).to_owned(),
        process: "server".to_owned(),
        ..FaultRow::default()
    };
    let story = story.clone().with(|story| story.faults = faults.iter().map(row).collect());
    check_sentence(&story, says);
    let found = story.findings();
    let load = found[0].evidence.iter().find(|evidence| evidence.figure == "load");
    assert_eq!(load.map(|load| load.text.as_str()), Some(cost), "{found:#?}");
}

#[test]
fn what_a_fault_cost_is_counted_in_arrivals_each_once() {
    // Never continued: 3 of 10 seconds of load are answered, and the rest time out after its end.
    let never_continued = Story::from_rate(
        |t| if t < 3 { 50 } else { 0 },
        |t, second| match t {
            3..9 => second.in_flight = 50 * (t - 2),
            9..16 => (second.errors, second.in_flight) = (50, 50),
            _ => {}
        },
    );
    let says =
        ["`stop` of server at 3.0 s had an effect: 350 errors; responses were not as before until the load was over."];
    check_cost(
        &never_continued,
        &[(3.0, "stop")],
        &says,
        "350 arrivals without a successful response, 70.0 % of all arrivals",
    );
    // Two faults in one outage share its errors.
    let says = ["350 errors"];
    let both = [(3.0, "stop"), (4.0, "kill")];
    check_cost(&never_continued, &both, &says, "350 arrivals without a successful response, 70.0 % of all arrivals");
    // Stopped a moment before the load is over: everything was answered, late.
    let at_the_end = Story::from_rate(
        |t| if t < 3 { 50 } else { 0 },
        |t, second| match t {
            2 => second.ok = 46,
            3 => second.in_flight = 4,
            4 => (second.ok, second.service_ms) = (4, 980.0),
            _ => {}
        },
    );
    let says = [
        "`stop` of server at 2.9 s had an effect: no errors, successful responses that took up to 1.96 s (12.0 ms before)",
    ];
    check_cost(&at_the_end, &[(2.9, "stop")], &says, "every arrival was answered");
    // Arrivals that were never sent are lost as well.
    let unsent = never_continued.with(|story| {
        story.load_steps = vec![LoadStepFigures { length_s: 15.5, not_sent: 50, ..LoadStepFigures::default() }];
    });
    let says = ["350 errors, 50 arrivals never sent;"];
    check_cost(&unsent, &[(3.0, "stop")], &says, "400 arrivals without a successful response, 72.7 % of all arrivals");
}

#[test]
fn a_short_stop_delays_responses() {
    let stopped = |from: u64, late_ms: f64| {
        move |t: u64, second: &mut StorySecond| match t {
            t if t == from => (second.ok, second.in_flight) = (1, 19),
            t if t == from + 1 => (second.ok, second.service_ms) = (39, late_ms / 2.0),
            _ => {}
        }
    };
    let says = [
        "had an effect: no errors, successful responses that took up to 1.45 s (12.0 ms before); responses were as before again within 2 s.",
    ];
    for from in [20, 30] {
        let story = Story::from_rate(|_| 20, stopped(from, 1450.0));
        check_cost(&story, &[(from as f64 + 0.002, "stop")], &says, "every arrival was answered");
    }
    // The scheduler delays responses as much.
    let fault = FaultRow { t_s: 30.2, act: "stop".to_owned(), process: "server".to_owned(), ..FaultRow::default() };
    check(&Story::from_rate(|_| 20, stopped(30, 300.0)).with(|story| story.faults.push(fault)), &[]);
}

#[test]
fn connections_lost() {
    let held = |closed: u64, dropped: u64, when: Option<(f64, f64)>| {
        move |story: &mut Story| {
            let mut phase = |name: &str, figures: HeldFigures| {
                let figures = PhaseFigures { connections: Some(figures), ..PhaseFigures::default() };
                story.results.phases.insert(name.to_owned(), figures);
            };
            let (closed_after, dropped_after, lost_after_s) = (closed, dropped, when);
            let planned = 500_000;
            let counts = HeldCounts { left: planned, closed_after, dropped_after, ..HeldCounts::default() };
            let low = HeldFigures { planned, counts, lost_after_s, ..HeldFigures::default() };
            let keeps = Some("middle".to_owned());
            phase("middle", low);
            let counts = HeldCounts { kept: planned - closed - dropped, ..HeldCounts::default() };
            phase("high", HeldFigures { planned, counts, keeps, ..HeldFigures::default() });
        }
    };
    let calm = || Story::busy(|_, _| {});
    check(&calm().with(held(83_566, 0, Some((185.0, 186.0)))), &["connections_lost"]);
    check_sentence(
        &calm().with(held(83_566, 0, Some((185.0, 186.0)))),
        &[
            "83,566 of 500,000 connections were lost between `middle` and `high` (16.7 %), at 185.0 s: the target closed them.",
        ],
    );
    check_sentence(
        &calm().with(held(6_000, 1_000, Some((185.0, 190.0)))),
        &["7,000 of 500,000", "from 185.0 s to 190.0 s: the target closed 6,000, 1,000 were reset."],
    );
    // Among many, a few are always lost.
    check(&calm().with(held(4_999, 0, Some((185.0, 186.0)))), &[]);
    let dropped = |dropped: u64| {
        move |story: &mut Story| {
            let counts = HeldCounts { dropped, ..HeldCounts::default() };
            let held = HeldFigures { planned: 1_000, counts, ..HeldFigures::default() };
            let phase = PhaseFigures { connections: Some(held), ..PhaseFigures::default() };
            story.results.phases.insert("viewers".to_owned(), phase);
        }
    };
    check_sentence(
        &calm().with(dropped(30)),
        &["30 of 1,000 connections that `viewers` held were lost (3.00 %): they were reset."],
    );
    check(&calm().with(dropped(9)), &[]);
}

/// What explains more comes first, and what is explained is left out.
#[test]
fn order() {
    let both = |t: u64, second: &mut StorySecond| {
        small_pool(t, second);
        if t >= 50 {
            (second.denied, second.ok) = (40, 60);
        }
    };
    check(&Story::busy(both), &["pool_starved", "limiter_rejects"]);
    // A machine that others use up casts doubt on it; a killed target remains a killed target.
    let crowded = |t: u64, second: &mut StorySecond| {
        both(t, second);
        second.machine.insert("busy_share", 1.0);
    };
    check(&Story::busy(crowded), &["machine_full", "pool_starved", "limiter_rejects"]);
    let killed = |story: &mut Story| story.limit_counters.oom_kills = Some(1);
    check(&Story::busy(crowded).with(killed), &["memory_cap", "machine_full", "pool_starved", "limiter_rejects"]);
}

#[test]
fn overloaded() {
    // 100 a second for 10 s, then 300 for 20 s of which 200 are answered a second, until 40 s.
    let part = |part: u32, start_s: f64, length_s: f64, per_s: f64, count: u64| {
        let mut figures = LoadStepFigures {
            load_step: part,
            start_s,
            length_s,
            offered_per_s: Some(per_s),
            ..LoadStepFigures::default()
        };
        (figures.label, figures.op.count, figures.op.ok) = (["low", "over"][part as usize].to_owned(), count, count);
        figures
    };
    let rate = |t| match t {
        0..10 => 100,
        10..40 => 200,
        _ => 0,
    };
    let over = |count: u64, length_s: f64| {
        Story::from_rate(rate, |_, _| {}).with(|story| {
            story.load_steps = vec![part(0, 0.0, 10.0, 100.0, 1_000), part(1, 10.0, length_s, 300.0, count)];
        })
    };
    check(&over(6_000, 30.0), &["overloaded"]);
    check_sentence(
        &over(6_000, 30.0),
        &[
            "More arrived than the target can answer: about 200 a second. 300 a second arrived in `over`",
            "10.0 s after it was due.",
        ],
    );
    // It kept up; it was delayed once; a search reports it itself.
    check(&over(8_900, 30.0), &[]);
    let held_up = |t: u64, second: &mut StorySecond| match t {
        20..30 => second.ok = 3,
        30..34 => second.ok = 600,
        _ => {}
    };
    let once = Story::from_rate(rate, held_up).with(|story| story.load_steps = over(6_000, 30.0).load_steps);
    check(&once, &[]);
    // One of five workers hangs, and its requests time out, the last ones ten seconds behind the last arrival.
    let hangs = |t: u64, second: &mut StorySecond| second.errors = if (10..70).contains(&t) { 20 } else { 0 };
    let all_else = |t: u64| if t < 60 { 80 } else { 0 };
    let hung = Story::from_rate(all_else, hangs).with(|story| {
        let idle = StorySecond { ok: 0, errors: 20, ..story.seconds[59].clone() };
        story.seconds.extend(std::iter::repeat_n(idle, 10));
        story.update_results();
        story.load_steps = vec![part(0, 0.0, 70.0, 100.0, 6_000)];
    });
    check(&hung, &[]);
    let searched = |story: &mut Story| story.load_steps[1].overload = Some(vec!["latency".to_owned()]);
    check(&over(6_000, 30.0).with(searched), &[]);
}
