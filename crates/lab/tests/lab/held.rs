//! Whole trials that hold connections: phases wait for each other's openings, and one that does not get its connections
//! says so instead of asking less than was planned.

use lab::report::Run;
use lab::verdict::Verdict;

use crate::stub::{Fate, Stub};
use crate::trial::{Out, run};

const HOLD: &str = r#"
format = 1
name = "hold"
summary = "Two sorts of connections"
[vars]
port = 1
[target]
url = "http://127.0.0.1:{{port}}"
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
[[journey]]
name = "visit"
[[journey.step]]
request = "GET /ready"
[[journey]]
name = "enter"
[[journey.step]]
name = "come"
request = "GET /ready"
[gates]
"visit.errors" = "= 0"
"enter.ok" = "= 20"
"few.connections.opened" = "= 2"
"many.connections.opening_s" = ">= 0.38"
"many.connections.opening_ms.count" = "= 20"
"many.connections.dropped" = "= 0"
"#;

fn gate<'a>(run: &'a Run, name: &str) -> (&'a str, &'a serde_json::Value, bool) {
    let gate = run.gates.iter().find(|gate| gate.name == name).unwrap_or_else(|| panic!("{name}: {:?}", run.gates));
    (&gate.limit, &gate.value, gate.ok)
}

#[tokio::test]
async fn phases_that_open_at_the_same_time_begin_when_all_are_in() {
    let (stub, out) = (Stub::new(|_| Fate::Finishes), Out::new());
    let run = run(HOLD, &[], &stub, &out.0).await.run;
    assert_eq!(run.verdict, Verdict::Passed, "{:?}", run.gates);
    let held = |name: &str| run.results.phases[name].connections.clone().unwrap();
    let (few, many) = (held("few"), held("many"));
    let all_in = many.from_s + many.opening_s.unwrap();
    assert!(few.opening_s.unwrap() < many.opening_s.unwrap());
    for part in &run.parts {
        assert!(part.start_s >= all_in, "{} began at {} s, all were in at {all_in} s", part.phase, part.start_s);
    }
    // None of the openings is a request of the phase.
    assert_eq!(run.parts.iter().map(|part| part.op.count + part.not_sent).collect::<Vec<_>>(), [20, 0]);
    let (limit, value, ok) = gate(&run, "many opened");
    assert!(
        ok && limit == "20 connections within 60.4 s" && value.as_str().unwrap().starts_with("20 in 0."),
        "{value}"
    );
}

#[tokio::test]
async fn a_phase_that_does_not_get_its_connections_says_why_and_asks_nothing() {
    let (stub, out) = (Stub::new(|_| Fate::Finishes), Out::new());
    let settings = ["phase.many.arrivals.hold.open_within=600ms", "journey.enter.step.come.expect=299"];
    let run = run(HOLD, &settings, &stub, &out.0).await.run;
    assert_eq!(run.verdict, Verdict::Failed);
    let (limit, value, ok) = gate(&run, "many opened");
    let said = value.as_str().unwrap();
    assert!(
        !ok && limit == "20 connections within 0.600 s" && said.starts_with("0 of them; most often: status: "),
        "{limit}: {said}"
    );
    // The other one had waited for it, and then took place.
    assert!(gate(&run, "few opened").2 && run.results.journeys["visit"].op.ok > 0);
    assert!(run.results.phases["many"].connections.as_ref().is_some_and(|held| held.failed >= 20));
}
