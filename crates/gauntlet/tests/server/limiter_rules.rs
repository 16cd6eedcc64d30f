//! The rate limiter of the built program: stored rules survive `kill -9`, SIGHUP reloads the file of policies or leaves
//! the old ones in force, and `--only limiter` serves nothing else.

use crate::support::{Folder, Server, until};
use rustix::process::Signal;
use serde_json::{Value, json};

const ALONE: &str = "--only limiter --limiter-policies policies.toml";

fn policy(name: &str, limit: u64) -> String {
    format!("[[policy]]\nname = \"{name}\"\nclass = \"app\"\nlimit = {limit}\nwindow = \"1h\"\n")
}

impl Server {
    /// The limits of the policies in force, by name.
    fn limits(&self) -> Vec<(String, u64)> {
        let listed = self.request_ok("GET /api/limits/policies", &Value::Null);
        let policies = listed["policies"].as_array().unwrap();
        policies
            .iter()
            .map(|policy| (policy["name"].as_str().unwrap().to_owned(), policy["limit"].as_u64().unwrap()))
            .collect()
    }

    fn may(&self, key: &str) -> bool {
        match self.request("POST /api/limits/check", &json!({"key": key, "class": "app"})).status {
            200 => true,
            429 => false,
            status => panic!("a check was answered with {status}"),
        }
    }
}

fn named(policies: &[(&str, u64)]) -> Vec<(String, u64)> {
    policies.iter().map(|(name, limit)| ((*name).to_owned(), *limit)).collect()
}

#[test]
fn what_is_set_survives_a_kill() {
    let folder = Folder::new();
    folder.write("policies.toml", &policy("burst", 5));
    let server = folder.serve_games(ALONE);
    let settings = json!({"window_seconds": 3_600, "request_per_window": 7});
    let config = json!({"window_seconds": 3_600, "requests_per_window": 7});
    let own = json!({"client_id": "ann", "window_seconds": 10, "request_per_window": 2});
    for (line, body) in [
        ("POST /api/v1/configure", &settings),
        ("POST /api/v1/configure-client", &own),
        ("PUT /api/limits/policies/burst", &json!({"class": "app", "limit": 9, "window_ms": 3_600_000})),
        ("PUT /api/limits/policies/burst/overrides/vip", &json!({"limit": 1, "window_ms": 3_600_000})),
    ] {
        server.request_ok(line, body);
    }
    // At once: what was answered was saved.
    server.kill();
    let server = folder.serve_games(ALONE);
    assert_eq!(server.limits(), named(&[("burst", 9)]));
    assert_eq!(server.request_ok("GET /api/v1/client-config/bob", &Value::Null), config);
    let anns = json!({"window_seconds": 10, "requests_per_window": 2});
    assert_eq!(server.request_ok("GET /api/v1/client-config/ann", &Value::Null), anns);
    assert!(server.may("vip") && !server.may("vip"));
    server.request_ok("DELETE /api/limits/policies/burst", &Value::Null);
    server.request_ok("DELETE /api/v1/client-config/ann", &Value::Null);
    server.kill();
    let server = folder.serve_games(ALONE);
    assert_eq!(server.limits(), named(&[("burst", 5)]), "the file's policy holds again");
    assert_eq!(server.request_ok("GET /api/v1/client-config/ann", &Value::Null), config);
}

#[test]
fn a_hangup_reads_the_file_again_as_a_whole_or_not_at_all() {
    let folder = Folder::new();
    folder.write("policies.toml", &policy("burst", 2));
    let mut server = folder.serve_games(ALONE);
    assert!(server.may("k") && server.may("k") && !server.may("k"));
    folder.write("policies.toml", &(policy("burst", 3) + &policy("daily", 100)));
    server.signal(Signal::HUP);
    let want = named(&[("burst", 3), ("daily", 100)]);
    until("the new policies are in force", || (server.limits() == want).then_some(()));
    assert!(server.may("k") && !server.may("k"), "2 of 3 were used");

    folder.write("policies.toml", &(policy("burst", 50) + "limt = 7\n"));
    server.signal(Signal::HUP);
    until("the mistake is in the log", || {
        let log = server.log();
        (log.contains("no such key: ")
            && log.contains("limt")
            && log.contains("line 6")
            && log.contains("the old policies stay"))
        .then_some(())
    });
    assert_eq!(server.limits(), want);
    assert!(!server.may("k"));

    folder.write("policies.toml", "");
    server.signal(Signal::HUP);
    until("there are no policies", || server.limits().is_empty().then_some(()));
    assert!(server.may("k"));
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn a_bad_file_of_policies_is_reported_at_the_start() {
    let folder = Folder::new();
    folder.write("policies.toml", &policy("Burst", 0));
    let output = folder.command(&format!("serve --port 0 {ALONE}")).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{printed}");
    for part in ["policies.toml has 2 errors", "line 2: policy \"Burst\"", "line 4: policy \"Burst\": the limit is 0"] {
        assert!(printed.contains(part), "{part:?} is not in {printed}");
    }
    let output = folder.command("serve --port 0 --limiter-policies none.toml").output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("none.toml cannot be read"));
}

#[test]
fn alone_it_serves_no_games_and_reports_that() {
    let folder = Folder::new();
    let mut server = folder.serve_games("--only limiter");
    assert!(server.line.contains("only the rate limiter"), "{}", server.line);
    assert_eq!(server.request("GET /api/games", &Value::Null).status, 404);
    assert_eq!(server.request("POST /api/games", &json!({})).status, 404);
    assert_eq!(server.request_ok("GET /api/v1/health", &Value::Null), json!({"status": "ok"}));
    assert_eq!(server.request_ok("GET /readyz", &Value::Null)["ready"], true);
    assert!(server.may("k"), "without policies nothing is limited");
    assert_eq!(server.stop(), Some(0));
    let output = folder.command("serve --only limiter --limiter-service=false").output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
}
