//! What the log says of a request that changed something: whose it was.

use crate::test_server::{ANN, TestServer};
use serde_json::json;
use settings::CollectorUrl;
use std::cell::RefCell;
use std::io;
use std::sync::{Arc, Once};
use store::testing::MemoryDatabase;

thread_local! {
    /// Lines of the log that this thread wrote: a test and its server share one.
    static LINES: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

struct Lines;

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        LINES.with_borrow_mut(|lines| lines.extend_from_slice(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes the log from here on, in the whole process: were it one thread's alone, `tracing` would switch off for good what another thread
/// that writes none comes past first.
fn write_log() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(|| Lines).finish();
        tracing::subscriber::set_global_default(subscriber).expect("this process has no other subscriber");
    });
}

/// The last line of the log once this request is answered has these parts, and no secret.
async fn check(server: &TestServer, line: &str, by: &str, want: &[&str]) {
    LINES.take();
    server.call(line).by(by).json(&json!({ "name": "a name" })).check("201").await;
    let text = String::from_utf8(LINES.take()).unwrap();
    let last = text.lines().find(|line| line.contains("request done")).unwrap_or_default();
    assert!(want.iter().all(|part| last.contains(part)), "{want:?}: {text}");
    assert!(!text.contains("gnt_"), "{text}");
}

#[tokio::test]
async fn the_line_of_a_traced_request_has_its_trace() {
    let server = TestServer::open_with(Arc::new(MemoryDatabase::new()), |config| {
        let authority = "127.0.0.1:9".to_owned();
        config.telemetry_otlp_endpoint = Some(CollectorUrl { is_tls: false, authority, path: String::new() });
    })
    .await;
    write_log();
    LINES.take();
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let call = server.call("POST /api/tokens").by("player").json(&json!({ "name": "a name" }));
    call.header("traceparent", &format!("00-{trace}-00f067aa0ba902b7-00")).check("201").await;
    let text = String::from_utf8(LINES.take()).unwrap();
    let last = text.lines().find(|line| line.contains("request done")).unwrap_or_default();
    assert!(last.contains(&format!("trace_id={trace}")), "{text}");
}

#[tokio::test]
async fn the_line_of_a_change_says_whose_it_was() {
    let server = TestServer::open().await;
    write_log();
    let account = format!("account={ANN}");
    let player = ["/api/tokens", &account, "token=00000000-0000-0000-0000-000000000001"];
    check(&server, "POST /api/tokens", "player", &player).await;
    check(&server, "POST /api/stories/guests", "", &["/api/stories/guests"]).await;
}
