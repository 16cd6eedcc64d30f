//! Trials over the API: who may do what with them, and what never reaches a file.

use crate::test_server::TestServer;
use gateway::problem::TrialRefusal;
use gateway::trials::{Trials, TrialsHandle};
use serde_json::json;
use std::sync::Arc;
use wire::api::{TrialKind, TrialRun, TrialState, Trials as TrialsView};

/// Trials without files: one run, which goes on.
struct FakeTrials;

const RUN: &str = "20260131-120000-ab12";

fn only(name: &str) -> Result<(), TrialRefusal> {
    // What is no name of a run must not have come this far.
    assert!(!name.contains(['.', '/', '\\']), "{name}");
    if name == RUN { Ok(()) } else { Err(TrialRefusal::NoSuchRun) }
}

impl Trials for FakeTrials {
    fn overview(&self) -> TrialsView {
        TrialsView { scenarios: Vec::new(), targets: Vec::new(), running: Some(RUN.to_owned()), failure: None }
    }

    fn runs(&self, after: Option<&str>, limit: usize) -> Result<Vec<TrialRun>, TrialRefusal> {
        let row = |name: &str| TrialRun {
            name: name.to_owned(),
            kind: TrialKind::Run,
            state: TrialState::Running,
            can_stop: true,
            verdict: None,
            scenario: None,
            summary: None,
            target: None,
            started_at: None,
            duration_s: None,
            runs_made: None,
            runs_planned: None,
            unreadable: None,
        };
        let names = ["c", "b", "a"].into_iter().filter(|name| after.is_none_or(|after| *name < after));
        Ok(names.take(limit).map(row).collect())
    }

    fn report(&self, name: &str) -> Result<Vec<u8>, TrialRefusal> {
        only(name).map(|()| b"{\"format\":1}".to_vec())
    }

    fn comparison(&self, first: &str, second: &str) -> Result<Vec<u8>, TrialRefusal> {
        only(first).and_then(|()| only(second)).map(|()| b"{\"format\":1}".to_vec())
    }

    fn start(&self, scenario: &str, _: Option<&str>) -> Result<String, TrialRefusal> {
        match scenario {
            "demo" => Err(TrialRefusal::Running(Some(RUN.to_owned()))),
            "leaderboard" => Ok(RUN.to_owned()),
            _ => Err(TrialRefusal::UnknownScenario),
        }
    }

    fn stop(&self, name: &str) -> Result<(), TrialRefusal> {
        only(name)
    }
}

async fn server() -> TestServer {
    TestServer::open_with_trials(TrialsHandle::new(Some(Arc::new(FakeTrials)))).await
}

const ROUTES: [&str; 6] = [
    "GET /api/trials",
    "GET /api/trials/runs",
    "GET /api/trials/runs/a",
    "GET /api/trials/comparison?first=a&second=b",
    "POST /api/trials/runs",
    "DELETE /api/trials/runs/a",
];

#[tokio::test]
async fn without_a_folder_there_are_none_and_strangers_do_not_learn_that() {
    let server = TestServer::open().await;
    for line in ROUTES {
        let call = |by: &str| server.call(line).by(by).json(&json!({ "scenario": "demo" }));
        call("").check("401 token_missing").await;
        call("player").check("403 role_too_weak").await;
        call("operator").check("404 trials_off").await;
    }
    assert_eq!(server.call("GET /api/session").by("operator").check("200").await.body["has_trials"], false);
}

#[tokio::test]
async fn operators_read_compare_start_and_stop() {
    let server = server().await;
    for line in ROUTES {
        server.call(line).by("").json(&json!({ "scenario": "demo" })).check("401 token_missing").await;
        server.call(line).by("player").json(&json!({ "scenario": "demo" })).check("403 role_too_weak").await;
    }
    for (by, has_trials) in [("player", false), ("operator", true), ("admin", true)] {
        let session = server.call("GET /api/session").by(by).check("200").await;
        assert_eq!(session.body["has_trials"], has_trials, "{by}");
    }
    let by = |line: &str| server.call(line).by("operator");
    assert_eq!(by("GET /api/trials").check("200").await.body["running"], RUN);
    assert_eq!(by(&format!("GET /api/trials/runs/{RUN}")).check("200").await.body["format"], 1);
    by(&format!("GET /api/trials/comparison?first={RUN}&second={RUN}")).check("200").await;
    by(&format!("GET /api/trials/comparison?first={RUN}")).check("400 bad_value").await;
    by(&format!("DELETE /api/trials/runs/{RUN}")).check("202").await;
    let start = async |scenario: &str, want: &str| {
        by("POST /api/trials/runs").json(&json!({ "scenario": scenario })).check(want).await;
    };
    start("leaderboard", "202").await;
    start("demo", "409 trial_running").await;
    start("../x", "400 unknown_scenario").await;
    by("POST /api/trials/runs").json(&json!({})).check("422 bad_shape").await;
}

#[tokio::test]
async fn runs_come_in_pages() {
    let server = server().await;
    let page = server.call("GET /api/trials/runs?limit=2").by("operator").check("200").await;
    assert_eq!(page.headers["link"], "</api/trials/runs?limit=2&after=b>; rel=\"next\"");
    let last = server.call("GET /api/trials/runs?limit=2&after=b").by("operator").check("200").await;
    assert_eq!((last.body[0]["name"].as_str(), last.headers.get("link")), (Some("a"), None));
}

#[tokio::test]
async fn no_name_leads_out_of_the_folder() {
    let server = server().await;
    for name in ["..", "%2e%2e", "..%2f..%2fetc%2fpasswd", "a%2fb", "%00", "a.b", "A", "-a", "a%5cb", &"a".repeat(65)] {
        let by = async |line: &str| server.call(line).by("operator").send().await;
        for line in [
            format!("GET /api/trials/runs/{name}"),
            format!("DELETE /api/trials/runs/{name}"),
            format!("GET /api/trials/comparison?first={name}&second={RUN}"),
            format!("GET /api/trials/runs?after={name}"),
        ] {
            let reply = by(&line).await;
            assert!(matches!(reply.status.as_u16(), 400 | 404), "{line}: {}", reply.status);
        }
    }
}
