//! Whole trials that hold connections: phases wait for each other's openings, and a phase that does not get its
//! connections reports it instead of sending fewer requests than planned.

use lab::measurement::HeldCounts;
use lab::report::Run;
use lab::verdict::Verdict;

use crate::stub_service::{RequestFate, Stub};
use crate::trial::{OutDir, run};

/// Two kinds of connections.
const HOLD: &str = r#"
[[phase]]
name = "few"
at = "0s"
arrivals = { hold = { connections = 2 }, rate = 200, for = "100ms" }
journey = "visit"
[[phase]]
name = "many"
at = "0s"
arrivals = { hold = { connections = 20, open_per_s = 50 }, for = "100ms" }
opening = "enter"
journey = "visit"
[gates]
"visit.errors" = "= 0"
"enter.ok" = "= 20"
"few.connections.opened" = "= 2"
"many.connections.opening_s" = ">= 0.38"
"many.connections.opening_ms.count" = "= 20"
"many.connections.dropped" = "= 0"
"#;

/// One level of connections after the other. Each connection has one request: a second one would be sent only if the first
/// is answered before the level is over.
const LEVELS: &str = r#"
[[phase]]
name = "low"
arrivals = { hold = { connections = 4 }, rate = 80, for = "50ms" }
opening = "enter"
journey = "visit"
[[phase]]
name = "high"
after = "20ms"
keeps = "low"
arrivals = { hold = { connections = 10 }, rate = 200, for = "50ms" }
opening = "enter"
journey = "visit"
[gates]
"visit.errors" = "= 0"
"enter.ok" = "= 10"
"low.connections.opened" = "= 4"
"low.connections.kept" = "= 0"
"high.connections.opened" = "= 6"
"high.connections.kept" = "= 4"
"high.connections.opening_ms.count" = "= 6"
"high.connections.reopened" = "= 0"
# What each level asked, of journeys that both of them take.
"visit.ok" = "= 14"
"low.journey.ok" = "= 4"
"low.journey.requests" = "= 4"
"low.opening.ok" = "= 4"
"high.journey.latency_ms.count" = "= 10"
"high.journey.not_sent" = "= 0"
"high.opening.ok" = "= 6"
"high.opening.latency_ms.p99" = "> 0"
"#;

/// A level, a request that makes the target close all connections, and the next level.
const HUNG_UP: &str = r#"
[[phase]]
name = "low"
arrivals = { hold = { connections = 4 }, for = "50ms" }
journey = "visit"
[[phase]]
name = "between"
arrivals = { clients = 1, requests = 1 }
journey = "hang_up"
[[phase]]
name = "high"
keeps = "low"
arrivals = { hold = { connections = 10 }, for = "50ms" }
journey = "visit"
[[journey]]
name = "hang_up"
[[journey.step]]
request = "GET /hang-up"
[gates]
"low.connections.left" = "= 4"
"low.connections.closed_after" = "= 0"
"#;

/// A whole scenario of these phases and gates: connections with the opening journey `enter` if a phase names it, and
/// `visit` over them. Tests share the machine and are late now and then, so no verdict here is void for that.
fn scenario(phases: &str) -> String {
    let head = "format = 1\nname = \"held\"\nsummary = \"Held connections\"\n[vars]\nport = 1\n[target]\nurl = \"http://127.0.0.1:{{port}}\"\n\
                [generator]\nlag_p99_max = \"600s\"\n";
    let journey = |name: &str| {
        format!("[[journey]]\nname = \"{name}\"\n[[journey.step]]\nname = \"come\"\nrequest = \"GET /ready\"\n")
    };
    format!("{head}{}{}{phases}", journey("visit"), journey("enter"))
}

fn gate<'a>(run: &'a Run, name: &str) -> (&'a str, &'a serde_json::Value, bool) {
    let gate = run.gates.iter().find(|gate| gate.name == name).unwrap_or_else(|| panic!("{name}: {:?}", run.gates));
    (&gate.limit, &gate.value, gate.ok)
}

#[tokio::test]
async fn phases_that_open_at_the_same_time_begin_when_all_are_in() {
    let (stub, out) = (Stub::new(|_| RequestFate::Finishes), OutDir::new());
    let run = run(&scenario(HOLD), &[], &stub, &out.0).await.run;
    assert_eq!(run.verdict, Verdict::Passed, "{:?}", run.gates);
    let held = |name: &str| run.results.phases[name].connections.clone().unwrap();
    let (few, many) = (held("few"), held("many"));
    let all_in = many.from_s + many.opening_s.unwrap();
    assert!(few.opening_s.unwrap() < many.opening_s.unwrap());
    for load_step in &run.load_steps {
        assert!(
            load_step.start_s >= all_in,
            "{} began at {} s, all were in at {all_in} s",
            load_step.phase,
            load_step.start_s
        );
    }
    // None of the openings is a request of the phase.
    assert_eq!(
        run.load_steps.iter().map(|load_step| load_step.op.count + load_step.not_sent).collect::<Vec<_>>(),
        [20, 0]
    );
    let (limit, value, ok) = gate(&run, "many opened");
    assert!(
        ok && limit == "20 connections within 60.4 s" && value.as_str().unwrap().starts_with("20 in 0."),
        "{value}"
    );
}

#[tokio::test]
async fn a_level_opens_only_the_connections_that_are_missing() {
    let (stub, out) = (Stub::new(|_| RequestFate::Finishes), OutDir::new());
    let run = run(&scenario(LEVELS), &[], &stub, &out.0).await.run;
    assert_eq!(run.verdict, Verdict::Passed, "{:?}", run.gates);
    let (limit, value, ok) = gate(&run, "high opened");
    let said = value.as_str().unwrap();
    assert!(ok && limit.starts_with("10 connections within") && said.ends_with(" s, beside 4 kept"), "{limit}: {said}");
}

#[tokio::test]
async fn what_the_target_hangs_up_on_between_two_levels_has_figures_a_time_and_a_finding() {
    let (stub, out) = (Stub::new(|_| RequestFate::Finishes), OutDir::new());
    let finished = run(&scenario(HUNG_UP), &["generator.workers=1"], &stub, &out.0).await;
    let low = finished.run.results.phases["low"].connections.clone().unwrap();
    let HeldCounts { closed, dropped, left, closed_after, dropped_after, .. } = low.counts;
    assert_eq!((closed, dropped, left, closed_after, dropped_after), (0, 0, 4, 4, 0));
    assert_eq!(finished.run.results.phases["high"].connections.as_ref().unwrap().counts.kept, 0);
    assert!(gate(&finished.run, "low.connections.left").2 && !gate(&finished.run, "low.connections.closed_after").2);
    let (from_s, to_s) = low.lost_after_s.unwrap();
    let [over, begun] = [0, 2].map(|load_step: usize| &finished.run.load_steps[load_step]);
    assert!(over.start_s + over.length_s < to_s && from_s < begun.start_s, "{from_s} to {to_s}: {over:?} {begun:?}");
    let finding = finished.run.findings.iter().find(|finding| finding.code == "connections_lost").unwrap();
    assert!(
        finding.sentence.starts_with("4 of 4 connections were lost between `low` and `high` (100 %)"),
        "{finding:?}"
    );
    // The same for a lab that was killed.
    std::fs::remove_file(finished.dir.join("run.json")).unwrap();
    let again = lab::report::load_or_rebuild(&finished.dir).unwrap().run;
    assert_eq!(again.results.phases["low"].connections.as_ref(), Some(&low));
}

/// A phase's journey and opening journey: counts and times.
fn phase_counts(run: &Run, phase: &str) -> Vec<(u64, lab::aggregate::Statistics)> {
    let figures = &run.results.phases[phase];
    let both = [&figures.journey, &figures.opening].map(|journey| journey.as_ref().unwrap());
    both.map(|journey| (journey.op.ok, journey.op.latency_ms.clone())).into()
}

/// What is written while a trial runs, without what is written at its end: as a killed lab leaves it.
#[tokio::test]
async fn connections_are_in_the_report_of_a_run_whose_lab_was_killed() {
    let (stub, out) = (Stub::new(|_| RequestFate::Finishes), OutDir::new());
    let finished = run(&scenario(LEVELS), &[], &stub, &out.0).await;
    std::fs::remove_file(finished.dir.join("run.json")).unwrap();
    let again = lab::report::load_or_rebuild(&finished.dir).unwrap().run;
    assert_eq!(again.verdict, Verdict::Interrupted);
    let held = |run: &Run, phase: &str| run.results.phases[phase].connections.clone().unwrap();
    for phase in ["low", "high"] {
        assert_eq!(held(&again, phase), held(&finished.run, phase));
        assert_eq!(phase_counts(&again, phase), phase_counts(&finished.run, phase));
    }
    let load_steps = |run: &Run| -> Vec<_> {
        run.load_steps.iter().map(|load_step| (load_step.start_s, load_step.connections.clone())).collect()
    };
    assert_eq!(load_steps(&again), load_steps(&finished.run));
    assert!(gate(&again, "high.connections.opening_ms.count").2);
    assert_eq!(gate(&again, "high opened"), gate(&finished.run, "high opened"));
}

#[tokio::test]
async fn connections_that_were_still_being_opened_when_the_lab_was_killed_are_in_its_report() {
    let (stub, out) = (Stub::new(|_| RequestFate::Finishes), OutDir::new());
    let finished = run(&scenario(LEVELS), &[], &stub, &out.0).await;
    // The opening had not ended yet.
    let path = finished.dir.join("timeline.jsonl");
    let rows = std::fs::read_to_string(&path).unwrap();
    let is_later = |row: &&str| {
        let row: serde_json::Value = serde_json::from_str(row).unwrap();
        row["load_step"] == 1 && (row["kind"] == "load_step" || row["kind"] == "opening" && row["over"] == true)
    };
    let earlier: String = rows.lines().filter(|row| !is_later(row)).map(|row| format!("{row}\n")).collect();
    std::fs::write(&path, earlier).unwrap();
    std::fs::remove_file(finished.dir.join("run.json")).unwrap();
    let again = lab::report::load_or_rebuild(&finished.dir).unwrap().run;
    let held = again.results.phases["high"].connections.clone().unwrap();
    assert_eq!((held.planned, held.counts.kept, held.counts.opened, held.opening_s), (10, 4, 6, None));
}

#[tokio::test]
async fn a_phase_that_does_not_get_its_connections_says_why_and_asks_nothing() {
    let (stub, out) = (Stub::new(|_| RequestFate::Finishes), OutDir::new());
    let settings = ["phase.many.arrivals.hold.open_within=600ms", "journey.enter.step.come.expect=299"];
    let run = run(&scenario(HOLD), &settings, &stub, &out.0).await.run;
    assert_eq!(run.verdict, Verdict::Failed);
    let (limit, value, ok) = gate(&run, "many opened");
    let said = value.as_str().unwrap();
    assert!(
        !ok && limit == "20 connections within 0.600 s" && said.starts_with("0 of them; most often: status_200: "),
        "{limit}: {said}"
    );
    // The other phase waited for it, and then ran.
    assert!(gate(&run, "few opened").2 && run.results.journeys["visit"].op.ok > 0);
    assert!(run.results.phases["many"].connections.as_ref().is_some_and(|held| held.counts.failed >= 20));
}
