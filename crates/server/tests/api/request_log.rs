//! What the log says of a request that changed something: whose it was.

use crate::test_server::{ANN, TestServer};
use serde_json::json;
use std::io;
use std::sync::{Arc, Mutex};

/// Lines of the log.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The last line of the log once this request is answered has these parts, and no secret.
async fn check(server: &TestServer, written: &Written, line: &str, by: &str, want: &[&str]) {
    written.0.lock().unwrap().clear();
    server.call(line).by(by).json(&json!({ "name": "a name" })).check("201").await;
    let text = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
    let last = text.lines().find(|line| line.contains("request done")).unwrap_or_default();
    assert!(want.iter().all(|part| last.contains(part)), "{want:?}: {text}");
    assert!(!text.contains("gnt_"), "{text}");
}

#[tokio::test]
async fn the_line_of_a_change_says_whose_it_was() {
    let server = TestServer::open().await;
    let written = Written::default();
    let writer = written.clone();
    let lines = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
    let _subscribed = tracing::subscriber::set_default(lines);
    let account = format!("account={ANN}");
    let player = ["/api/tokens", &account, "token=00000000-0000-0000-0000-000000000001"];
    check(&server, &written, "POST /api/tokens", "player", &player).await;
    check(&server, &written, "POST /api/stories/guests", "", &["/api/stories/guests"]).await;
}
