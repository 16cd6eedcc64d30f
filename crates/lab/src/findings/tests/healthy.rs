//! Healthy runs: no finding, whatever the load looks like and however noisy it is.

use super::check;
use super::story::{BUSY_FROM, CALL, COMMIT, COMMIT_WAIT, POOL, QUERY, SCHEDULER, SECONDS, Story, StorySecond};

fn nothing(_: u64, _: &mut StorySecond) {}

#[test]
fn loads() {
    check(&Story::from_rate(|_| 100, nothing), &[]);
    check(&Story::from_rate(|t| 2 * t, nothing), &[]);
    check(&Story::busy(nothing), &[]);
    // Bursts with silence between them.
    check(&Story::from_rate(|t| if t % 20 < 3 { 500 } else { 0 }, nothing), &[]);
    // No load.
    check(&Story::from_rate(|_| 0, nothing), &[]);
}

/// A hundred work items at once, then only their completion: items that finish later ran longer.
#[test]
fn a_batch_and_its_drain() {
    let story = Story::from_rate(
        |t| if t == 0 { 100 } else { 0 },
        |t, second| {
            second.running = 100_u64.saturating_sub(3 * t);
            second.finished = 100 - second.running;
            second.times.insert("gauntlet_run_time_seconds", (3.0, 1000.0 * t as f64));
            second.times.insert(CALL, (20.0 * second.running as f64, 200.9));
            second.rss_mib = 20.0 + second.running as f64 * 0.02;
        },
    );
    check(&story, &[]);
}

/// The first seconds are slow, as usual: caches, connections, statements.
#[test]
fn warming_up() {
    let story = Story::from_rate(
        |_| 100,
        |t, second| {
            if t < 4 {
                second.add_wait(60.0);
                [(POOL, 15.0), (QUERY, 12.0), (COMMIT, 18.0), (SCHEDULER, 14.0)]
                    .iter()
                    .for_each(|(metric, ms)| second.add_timing(metric, *ms));
                second.server_cores = 1.9;
                second.machine.insert("busy_share", 1.0);
            }
        },
    );
    check(&story, &[]);
}

/// Everything varies by a factor of four, and every twenty seconds another program takes the machine for one.
#[test]
fn noise() {
    for seed in 0..20_u64 {
        let story = Story::from_rate(
            |t| 40 + noisy(seed, t, 0) % 120,
            |t, second| {
                for (index, metric) in [POOL, QUERY, COMMIT, COMMIT_WAIT, SCHEDULER, CALL].iter().enumerate() {
                    let usual = second.times[metric].1;
                    let factor = 0.5 + (noisy(seed, t, index as u64 + 1) % 150) as f64 / 100.0;
                    second.add_timing(metric, if t % 20 == 7 { 15.0 * usual } else { factor * usual });
                }
                second.add_wait((noisy(seed, t, 9) % 5) as f64);
                if t % 20 == 7 {
                    second.add_wait(80.0);
                    second.machine.insert("busy_share", 1.0);
                }
            },
        );
        check(&story, &[]);
    }
}

/// A small mix of numbers, the same in every run.
fn noisy(seed: u64, t: u64, index: u64) -> u64 {
    crate::scenario::mix(seed, (t << 8) ^ index) >> 16
}

/// The CPU is used up, and nothing waits: a batch job that takes what it gets.
#[test]
fn a_full_machine_without_waiting_requests() {
    check(
        &Story::from_rate(
            |_| 100,
            |_, second| {
                second.server_cores = 1.95;
                second.machine.insert("busy_share", 1.0);
            },
        ),
        &[],
    );
}

/// A fault without effect: another node took over at once.
#[test]
fn a_fault_that_is_survived() {
    let story = Story::busy(nothing).with(|story| {
        let fault = crate::measurement::timeline::FaultRow {
            t_s: 30.4,
            act: "kill".to_owned(),
            process: "node_b".to_owned(),
            ..Default::default()
        };
        story.faults.push(fault);
    });
    check(&story, &[]);
}

/// A service without metrics, of which only the responses are known.
#[test]
fn a_service_without_metrics() {
    let story = Story::busy(nothing).with(|story| {
        story.has_metrics = false;
        story.results.work.clear();
        story.machine = crate::machine::Machine::default();
        story.seconds.iter_mut().for_each(|second| second.machine.clear());
    });
    check(&story, &[]);
}

/// The stories have the shapes that the rows above claim.
#[test]
fn stories_have_their_shapes() {
    let timeline = Story::busy(nothing).timeline();
    let rate = timeline.get("op.create.ok_per_s").unwrap();
    assert_eq!((rate.points.len() as u64, rate.points[BUSY_FROM as usize].mean), (SECONDS, 100.0));
    let commit = timeline.get(&format!("metric.{COMMIT}.mean_s")).unwrap();
    assert!(commit.points.iter().all(|point| (point.mean - 0.0008).abs() < 1e-9));
    let cores = timeline.get("process.server.cpu_cores").unwrap();
    assert!(cores.points.iter().all(|point| (point.mean - 0.3).abs() < 1e-9));
}
