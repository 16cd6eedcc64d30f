//! Repeated steps, long polls and background loops: what a scenario may say of them, and what it may not.

use super::{complaints, read};
use crate::scenario::Journey;
use crate::scenario::known_figures;

const HEAD: &str = r#"format = 1
name = "n"
summary = "s"
target = { url = "http://127.0.0.1:1" }
phase = [{ name = "p", arrivals = { clients = 10, requests = 1 }, journey = "j" }]
[[journey]]
name = "j"
[[journey.step]]
name = "enter"
request = "GET /"
keep = { seq = "/seq" }
"#;

const POLL: &str = r#"[[journey.step]]
name = "poll"
request = "GET /{{seq}}"
keep = { seq = "/seq" }
"#;

fn journey(rest: &str) -> Journey {
    read(&format!("{HEAD}{rest}"), &[]).unwrap().journeys.remove(0)
}

/// Compares the errors of these lines after the first step, by line from there.
#[track_caller]
fn check(rest: &str, expected: &[&str]) {
    let found = complaints(&format!("{HEAD}{rest}"));
    let heads = HEAD.lines().count();
    let from_there = |complaint: &String| match complaint.strip_prefix("line ").and_then(|rest| rest.split_once(':')) {
        Some((line, rest)) => format!("{}:{}", line.parse::<usize>().unwrap().saturating_sub(heads), rest.trim_start()),
        None => complaint.clone(),
    };
    let mut found: Vec<String> = found.iter().map(from_there).collect();
    let mut expected = expected.to_vec();
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected);
}

#[test]
fn requests_and_connections_are_counted() {
    assert_eq!((journey("").request_count(), journey("").connection_count()), (1, 1));
    assert_eq!(journey(&format!("{POLL}repeat = 4\n")).request_count(), 5);
    let group = "[[journey.step]]\nrepeat = 3\n[[journey.step.step]]\nrequest = \"GET /a\"\nrepeat = 5\n";
    assert_eq!(journey(group).request_count(), 16);
    let beside = format!(
        "{POLL}[[journey.background]]\nafter = \"enter\"\neach = {{ own = [\"seq\", \"seq\", \"seq\"] }}\n\
         [[journey.background.step]]\nname = \"b\"\nrequest = \"GET /{{{{own}}}}\"\nrepeat = \"always\"\n"
    );
    assert_eq!((journey(&beside).request_count(), journey(&beside).connection_count()), (5, 4));
    // The phase has ten clients.
    let bounded = format!("{beside}[bounds]\nconnections = 39\nrequests = 49\n");
    check(
        &bounded,
        &[
            "12:`bounds` allow 49 requests, but the phases may come to 50",
            "12:`bounds` allow 39 connections, but the phase p needs 40",
        ],
    );
}

#[test]
fn what_waits_has_no_latency() {
    let figures = |waits: &str| {
        let paths = known_figures(&read(&format!("{HEAD}{POLL}waits = {waits}\n"), &[]).unwrap());
        ["latency_ms", "service_ms", "waited_ms", "wake_ms", "failed_ms"]
            .map(|figure| paths.contains(&format!("j.steps.poll.{figure}.p99")))
    };
    assert_eq!(figures("true"), [false, false, true, false, true]);
    assert_eq!(figures("{ since = \"/at\" }"), [false, false, true, true, true]);
    assert_eq!(figures("false"), [true, true, false, false, true]);
    check(
        &format!("{POLL}waits = true\n[gates]\n\"j.steps.poll.latency_ms.p99\" = \"< 5\"\n"),
        &["7:`gates.j.steps.poll.latency_ms.p99` is a figure that this trial does not have: \
           `j.steps.poll.latency_ms.p99`; `j.steps.poll` has count, denied, errors, failed_ms, ok, retries, waited_ms"],
    );
}

#[test]
fn errors_in_repeats() {
    let step = |repeat: &str| format!("{POLL}repeat = {repeat}\n");
    check(&step("0"), &["5:`journey.j.step.poll.repeat` must be from 1 to 1000000, not 0"]);
    check(
        &step("\"always\""),
        &["5:`journey.j.step.poll.repeat` can be \"always\" only at the end of what runs beside a journey"],
    );
    check(
        &step("\"twice\""),
        &["5:`journey.j.step.poll.repeat` must be a whole number, \"always\", or { times, for, until = { at, is } }"],
    );
    check(
        &step("{ until = { at = \"/s\", is = 1 } }"),
        &["5:`journey.j.step.poll.repeat` needs `times` or `for`: nothing is repeated without a bound"],
    );
    check(
        "[[journey.step]]\nstep = []\n",
        &[
            "1:`journey.j.step.1` needs `repeat`: how often its steps are taken, such as 4",
            "1:`journey.j.step.1` has a `step` without any step",
        ],
    );
}

#[test]
fn errors_in_long_polls() {
    check(&format!("{POLL}waits = 1\n"), &["5:`journey.j.step.poll.waits` must be true or false, not a whole number"]);
    check(
        &format!("{POLL}follows = {{ cursor = \"other\", items = \"/e\" }}\n"),
        &[
            "5:`journey.j.step.poll.follows.cursor` needs the new one of every answer: keep = { other = \"/seq\" }",
            "5:`journey.j.step.poll.follows` needs `items` and `number` together: the list, and where in each item its \
             number stands",
        ],
    );
    check(
        "[[setup]]\nrequest = \"GET /\"\nwaits = true\n",
        &["3:`setup.0.waits` has no meaning here: only the steps of a journey have it"],
    );
}

#[test]
fn errors_in_background_loops() {
    let beside = |lines: &str| {
        format!(
            "{POLL}repeat = 2\n[[journey.background]]\n{lines}\n[[journey.background.step]]\nname = \"b\"\nrequest = \"GET /\"\n"
        )
    };
    check(
        &beside("after = \"gone\""),
        &["7:`journey.j.background.0.after` names \"gone\", which is no step of the journey"],
    );
    check(
        &beside("after = \"poll\""),
        &[
            "7:`journey.j.background.0.after` names \"poll\", the journey's last step: what runs beside it ends with it",
            "7:`journey.j.background.0.after` names \"poll\", which is repeated: nothing begins more than once",
        ],
    );
    check(
        &beside("after = \"enter\"\neach = { a = [\"seq\", \"seq\"], b = [\"seq\"] }"),
        &["8:`journey.j.background.0.each.b` must list from 1 to 64 kept values, and as many as its neighbours"],
    );
    check(
        &beside("after = \"enter\"\neach = { a = [\"token\"] }"),
        &[
            "8:`journey.j.background.0.each.a.0` names `token`, which nothing has set before; known here: run.dir, run.id, seq",
        ],
    );
    let twice = beside("after = \"enter\"").replace("name = \"b\"", "name = \"poll\"");
    check(&twice, &["0:`journey.j` has two steps called \"poll\": give each a `name`, figures are found under it"]);
}
