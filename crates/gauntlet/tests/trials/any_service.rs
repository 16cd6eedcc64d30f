//! The example for other services, as a user would run it: examples/any-service.toml against the nginx of this machine.
//! Nothing in it knows Gauntlet's own server, so it tests what the lab promises for any service.

use crate::support::Folder;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Visitors a second; each sends two requests.
const RATE: u64 = 100;
/// Seconds of each phase.
const SECONDS: u64 = 1;

/// The example, with less load, in the folder of the repository that it is written for.
fn run(folder: &Folder) -> (String, PathBuf) {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = folder.command("run examples/any-service.toml --quiet --seed 7");
    command.arg("--out").arg(folder.path().join("runs"));
    // How fast a machine is that runs tests at the same time is no subject of this one.
    let settings = [
        &format!("rate={RATE}"),
        "clients=4",
        &format!("phase.visitors.arrivals.for={SECONDS}s"),
        &format!("phase.burst.arrivals.for={SECONDS}s"),
        "gates.browse.latency_ms.p99=< 60000",
        "gates.browse.steps.list.service_ms.p99=< 60000",
        "gates.look.service_ms.p99=< 60000",
    ];
    settings.iter().for_each(|setting| {
        command.args(["--set", setting]);
    });
    let output = command.current_dir(repository).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{printed}");
    let mut runs = std::fs::read_dir(folder.path().join("runs")).unwrap();
    (printed, runs.next().unwrap().unwrap().path())
}

/// The value at this pointer of run.json must be exactly this.
#[track_caller]
fn check_figure(run: &Value, pointer: &str, expected: u64) {
    assert_eq!(run.pointer(pointer).and_then(Value::as_u64), Some(expected), "{pointer} of {run:#}");
}

#[test]
fn a_stranger_can_test_a_service_by_writing_one_file() {
    let folder = Folder::new();
    let (printed, dir) = run(&folder);
    assert!(printed.contains("PASSED"), "{printed}");

    let run: Value = serde_json::from_slice(&std::fs::read(dir.join("run.json")).unwrap()).unwrap();
    assert_eq!(run["verdict"], "passed");
    for figure in ["journeys/browse", "journeys/browse/steps/list", "journeys/browse/steps/item"] {
        check_figure(&run, &format!("/{figure}/ok"), RATE * SECONDS);
        check_figure(&run, &format!("/{figure}/latency_ms/count"), RATE * SECONDS);
    }
    check_figure(&run, "/journeys/browse/errors", 0);
    check_figure(&run, "/journeys/look/errors", 0);
    check_figure(&run, "/load_steps/0/ok", RATE * SECONDS);
    check_figure(&run, "/load_steps/1/clients", 4);
    let looks = run.pointer("/journeys/look/ok").and_then(Value::as_u64).unwrap();
    // Four clients without a pause; even a slow machine answers more often than ten times a second.
    assert!(looks > 40 * SECONDS, "{looks} answers in the burst");
    check_figure(&run, "/load_steps/1/ok", looks);

    let timeline = std::fs::read_to_string(dir.join("timeline.jsonl")).unwrap();
    let rows: Vec<Value> = timeline.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let active = rows.iter().filter_map(|row| row["observed"]["nginx.active"].as_f64()).fold(0.0, f64::max);
    // nginx counts the observer itself, so all but one are clients.
    assert!(active > 1.0, "nginx saw {active} clients at most");
    assert_eq!(run.pointer("/observe/nginx/active/max").and_then(Value::as_f64), Some(active));
    let watched = rows.iter().any(|row| row["processes"]["server"]["rss_bytes"].as_f64().is_some_and(|rss| rss > 0.0));
    assert!(watched, "the memory of nginx is not on the timeline");

    for report in ["report.md", "report.html"] {
        let text = std::fs::read_to_string(dir.join(report)).unwrap();
        assert!(text.contains("any-service") && text.contains("browse"), "{report}");
    }
    let page = std::fs::read_to_string(dir.join("report.html")).unwrap();
    assert!(page.contains("nginx.active"), "what was observed is not in report.html");
}
