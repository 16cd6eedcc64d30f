//! What is shown of a running trial, compared with its findings in the end.

use std::sync::{Arc, Mutex};

use lab::report::Screen;
use lab::trial::Trial;
use tokio_util::sync::CancellationToken;

use crate::scripted_server::{Latch, ResponseAction, ScriptedServer, ok, response};
use crate::trial::{OutDir, trial};

const VISITS: &str = r#"
format = 1
name = "visits"
summary = "Asks for a page"
[vars]
port = 1
[target]
url = "http://127.0.0.1:{{port}}"
[[phase]]
name = "visits"
arrivals = { rate = 20, for = "11s" }
in_flight_max = 500
journey = "visit"
[[journey]]
name = "visit"
[[journey.step]]
request = "GET /"
"#;

/// Keeps the output, and opens a latch once it contains a text.
struct WatchedScreen {
    text: Arc<Mutex<String>>,
    awaited: &'static str,
    gate: Arc<Latch>,
}

impl std::io::Write for WatchedScreen {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let mut text = self.text.lock().unwrap();
        text.push_str(&String::from_utf8_lossy(bytes));
        if text.contains(self.awaited) {
            self.gate.open();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A target that answers the first requests, and then does `what` until the screen says so; the findings say the same, those
/// of a run whose lab was killed as well.
async fn check_shown(
    scenario: &str,
    what: impl Fn(&Arc<Latch>) -> Vec<ResponseAction> + Send + Sync + 'static,
    awaited: &'static str,
    code: &str,
) {
    let (gate, text, out) = (Arc::<Latch>::default(), Arc::<Mutex<String>>::default(), OutDir::new());
    let of_target = gate.clone();
    let target = ScriptedServer::start(move |asked| if asked.number < 20 { ok() } else { what(&of_target) });
    let never = CancellationToken::new();
    let trial = trial(scenario, &[format!("port={}", target.address.port())], &out.0, never);
    let screen = Screen::plain(WatchedScreen { text: text.clone(), awaited, gate });
    let finished = lab::trial::run(Trial { screen, ..trial }).await.unwrap();
    let text = text.lock().unwrap().clone();
    let since = text.split(awaited).nth(1).unwrap_or_else(|| panic!("{text}"));
    let since = since.split(" · ").next().unwrap().lines().next().unwrap().trim().to_owned();
    let findings = &finished.run.findings;
    let found = findings.iter().find(|finding| finding.code == code).unwrap_or_else(|| panic!("{findings:#?}"));
    assert!(found.sentence.contains(&format!("from {since} to ")), "{since}: {}", found.sentence);
    std::fs::remove_file(finished.dir.join("run.json")).unwrap();
    let again = lab::report::load_or_rebuild(&finished.dir).unwrap().run.findings;
    let again = again.iter().find(|finding| finding.code == code).unwrap_or_else(|| panic!("{again:#?}"));
    assert_eq!(again.sentence, found.sentence);
    // It ends on the screen as well.
    assert!(!text.lines().last().unwrap().contains(awaited), "{text}");
}

#[tokio::test]
async fn a_silent_target_is_shown_while_it_is_silent() {
    let waits = |gate: &Arc<Latch>| [vec![ResponseAction::Wait(gate.clone())], ok()].concat();
    check_shown(VISITS, waits, "the target is silent since ", "target_silent").await;
}

/// Clients that wait for their responses send no requests meanwhile, and pause between their requests.
#[tokio::test]
async fn a_closed_loop_sees_a_silent_target_as_well() {
    let closed = VISITS.replace("{ rate = 20, for = \"11s\" }\nin_flight_max = 500", "{ clients = 2, for = \"6s\" }");
    let closed = closed.replace("request = ", "pause = \"20ms\"\nrequest = ");
    assert!(closed.contains("clients") && closed.contains("pause"));
    let waits = |gate: &Arc<Latch>| [vec![ResponseAction::Wait(gate.clone())], ok()].concat();
    check_shown(&closed, waits, "the target is silent since ", "target_silent").await;
}

#[tokio::test]
async fn a_target_that_only_fails_is_shown_while_it_does() {
    let fails =
        |gate: &Arc<Latch>| if gate.is_open() { ok() } else { vec![ResponseAction::Write(response(500, "no"))] };
    check_shown(VISITS, fails, "only errors since ", "only_errors").await;
}
