//! Targets with https: trusted and not, odd endings, both clients.

use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use lab::generator::{ControlClient, Failure};
use lab::measurement::{Awaited, ErrorKind};
use lab::plan::LoadSpec;
use lab::scenario::{BaseUrl, Document, Reconnect, Scenario};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use tokio_tungstenite::tungstenite::{self, Message};

use super::{HOUR, Harness, HarnessResults, burst, clients, generator_config, hold, load_spec, scenario, visit};
use crate::scripted_server::{ReceivedRequest, ResponseAction, ScriptedServer, ok, response};
use crate::trial::{OutDir, trial};

/// A self-signed certificate for a name, as a server's configuration and as a file.
struct TestCertificate {
    config: Arc<ServerConfig>,
    file: PathBuf,
}

impl TestCertificate {
    fn for_name(name: &str) -> Self {
        let made = rcgen::generate_simple_self_signed(vec![name.to_owned()]).unwrap();
        let random: u64 = getrandom::u64().unwrap();
        let file = std::env::temp_dir().join(format!("lab-tls-{}-{random}.pem", std::process::id()));
        std::fs::write(&file, made.cert.pem()).unwrap();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let mut config = config.with_no_client_auth().with_single_cert(vec![made.cert.der().clone()], key).unwrap();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Self { config: Arc::new(config), file }
    }
}

impl Drop for TestCertificate {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.file);
    }
}

/// The target's lines for https.
fn over_tls(mut scenario: Scenario, target: &ScriptedServer, trusted: Option<&TestCertificate>) -> Scenario {
    let port = target.address.port();
    let authority = format!("127.0.0.1:{port}");
    scenario.target.url = BaseUrl { uses_tls: true, host: "127.0.0.1".to_owned(), port, authority };
    scenario.target.ca_file = trusted.map(|identity| identity.file.to_str().unwrap().to_owned());
    scenario
}

fn run(scenario: Scenario, target: &ScriptedServer, spec: LoadSpec) -> HarnessResults {
    Harness::start(generator_config(scenario, target.address), vec![spec], 1).run_to_end()
}

/// Three responses of one kind over as many connections as expected.
#[track_caller]
fn check(actions: &[ResponseAction], connections: u64) {
    let (identity, script) = (TestCertificate::for_name("127.0.0.1"), actions.to_vec());
    let target = ScriptedServer::secure(move |_| script.clone(), identity.config.clone());
    let results = run(over_tls(visit(), &target, Some(&identity)), &target, load_spec(clients(1, 3), 1));
    assert_eq!(
        (results.counts(), target.connections()),
        ((3, 0, 0), connections),
        "{actions:?} {:?}",
        results.errors()
    );
    assert_eq!(results.sum(|interval| interval.connects), connections);
}

#[test]
fn responses_are_decrypted() {
    check(&[ResponseAction::Write(response(200, "ok"))], 1);
    check(&[ResponseAction::WriteByteByByte(response(200, "ok"))], 1);
    check(&[ResponseAction::Write(response(200, &"x".repeat(1_000_000)))], 1);
    check(&[ResponseAction::Write(b"HTTP/1.1 200 OK\r\n\r\nuntil the end".to_vec()), ResponseAction::TlsClose], 3);
    check(&[ResponseAction::Write(response(200, "ok")), ResponseAction::TlsClose], 3);
}

#[test]
fn large_requests_arrive_whole() {
    let identity = TestCertificate::for_name("127.0.0.1");
    let target = ScriptedServer::secure(|_| ok(), identity.config.clone());
    let steps = "[[journey.step]]\nrequest = \"POST /\"\njson = [\"{{run.id}}\"]";
    let mut large = generator_config(over_tls(scenario(steps), &target, Some(&identity)), target.address);
    large.inputs.globals.insert("run.id".to_owned(), "x".repeat(5_000_000));
    let results = Harness::start(large, vec![load_spec(burst(2), 2)], 1).run_to_end();
    assert_eq!(results.counts(), (2, 0, 0));
    assert!(target.received_requests().iter().all(|request| request.body.len() == 5_000_004));
}

#[test]
fn every_user_has_its_own_handshake() {
    let identity = TestCertificate::for_name("127.0.0.1");
    let closes = |request: &ReceivedRequest| match request.head.contains("connection: close") {
        true => vec![ResponseAction::Write(response(200, "ok")), ResponseAction::TlsClose],
        false => ok(),
    };
    let target = ScriptedServer::secure(closes, identity.config.clone());
    let spec = LoadSpec { reconnect: Reconnect::Request, ..load_spec(clients(2, 5), 1) };
    let results = run(over_tls(visit(), &target, Some(&identity)), &target, spec);
    assert_eq!((results.counts(), target.connections()), ((10, 0, 0), 10));
}

/// Checks the error for a certificate that is rejected.
#[track_caller]
fn check_refused(name: &str, trusted: bool, message: &str) {
    let identity = TestCertificate::for_name(name);
    let target = ScriptedServer::secure(|_| ok(), identity.config.clone());
    let results = run(over_tls(visit(), &target, trusted.then_some(&identity)), &target, load_spec(burst(2), 2));
    assert_eq!((results.counts(), target.requests()), ((0, 0, 2), 0));
    let (step, kind, count, found) = results.errors()[0];
    assert_eq!((step, kind, count), (0, ErrorKind::Connect, 2));
    assert!(found.starts_with(message), "{found}");
}

#[test]
fn untrusted_certificates_are_rejected() {
    check_refused("127.0.0.1", false, "TLS: invalid peer certificate: UnknownIssuer");
    check_refused("localhost", true, "TLS: invalid peer certificate: certificate not valid for name \"127.0.0.1\"");
}

#[test]
fn any_certificate_is_accepted_if_the_scenario_says_so() {
    let identity = TestCertificate::for_name("somebody.else");
    let target = ScriptedServer::secure(|_| ok(), identity.config.clone());
    let mut scenario = over_tls(visit(), &target, None);
    scenario.target.insecure = true;
    assert_eq!(run(scenario, &target, load_spec(burst(3), 1)).counts(), (3, 0, 0));
}

#[test]
fn a_response_cut_off_without_close_notify_is_truncated() {
    let identity = TestCertificate::for_name("127.0.0.1");
    let script = |_: &ReceivedRequest| {
        vec![ResponseAction::Write(b"HTTP/1.1 200 OK\r\n\r\nhalf of".to_vec()), ResponseAction::Close]
    };
    let target = ScriptedServer::secure(script, identity.config.clone());
    let results = run(over_tls(visit(), &target, Some(&identity)), &target, load_spec(burst(1), 1));
    assert_eq!(results.counts(), (0, 0, 1));
    let message = "the connection was closed without TLS's close_notify";
    assert_eq!(results.errors(), [(0, ErrorKind::Truncated, 1, message)]);
}

#[test]
fn a_target_without_tls_is_no_connection() {
    let target = ScriptedServer::start(|_| ok());
    let mut scenario = over_tls(visit(), &target, None);
    scenario.journeys[0].steps[0].timeout = Duration::from_millis(300);
    let harness = Harness::start(generator_config(scenario, target.address), vec![load_spec(burst(1), 1)], 1);
    target.await_connections(1);
    target.send_unsolicited(0, b"HTTP/1.1 400 Bad Request\r\n\r\n");
    let results = harness.run_to_end();
    assert_eq!(results.counts(), (0, 0, 1));
    assert_eq!(results.errors()[0].1, ErrorKind::Connect, "{:?}", results.errors());
}

#[test]
fn a_handshake_that_never_ends_is_a_timeout() {
    let target = ScriptedServer::start(|_| ok());
    let mut scenario = over_tls(visit(), &target, None);
    scenario.journeys[0].steps[0].timeout = Duration::from_millis(300);
    let results =
        Harness::start(generator_config(scenario, target.address), vec![load_spec(burst(1), 1)], 1).run_to_end();
    let message = "no end of the TLS handshake within 300ms";
    assert_eq!(results.errors(), [(0, ErrorKind::Timeout(Awaited::Tls), 1, message)]);
}

#[test]
fn connections_are_held_after_their_handshake() {
    let identity = TestCertificate::for_name("127.0.0.1");
    let target = ScriptedServer::secure(|_| ok(), identity.config.clone());
    let scenario = over_tls(visit(), &target, Some(&identity));
    let harness = Harness::start(generator_config(scenario, target.address), vec![hold(10, Some(200.0), HOUR)], 2);
    harness.await_gauges(|gauges| gauges.held == 10 && gauges.done >= 20);
    harness.worker_pool.end_load_step(0);
    let results = harness.run_to_end();
    let (good, denied, errors) = results.counts();
    assert_eq!((good, denied, errors, target.connections()), (target.requests(), 0, 0, 10));
}

/// A WebSocket over TLS that is left by the lab: the status in the close frame.
#[test]
fn the_close_frame_of_a_websocket_is_encrypted() {
    let identity = TestCertificate::for_name("127.0.0.1");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, config) = (listener.local_addr().unwrap(), identity.config.clone());
    let server = std::thread::spawn(move || {
        let session = ServerConnection::new(config).unwrap();
        let mut socket = tungstenite::accept(StreamOwned::new(session, listener.accept().unwrap().0)).unwrap();
        loop {
            if let Message::Close(frame) = socket.read().expect("a frame in TLS") {
                return frame.map(|frame| u16::from(frame.code));
            }
        }
    });
    let text = format!(
        "format = 1\nname = \"t\"\nsummary = \"t\"\n[target]\nurl = \"http://127.0.0.1:1\"\n[target.socket]\n\
         url = [\"wss://{address}/\"]\n[[phase]]\nname = \"p\"\narrivals = {{ batch = 1 }}\nin_flight_max = 1\n\
         journey = \"j\"\n[[journey]]\nname = \"j\"\n[[journey.step]]\nsend = {{ leave = true }}\n"
    );
    let mut scenario = Scenario::read(&Document::parse(&text).unwrap()).unwrap_or_else(|errors| panic!("{errors}"));
    scenario.target.ca_file = Some(identity.file.to_str().unwrap().to_owned());
    let mut config = generator_config(scenario, address);
    config.inputs.message_endpoints = vec![vec![address]];
    let spec = LoadSpec { reconnect: Reconnect::Journey, ..load_spec(burst(1), 1) };
    let results = Harness::start(config, vec![spec], 1).run_to_end();
    assert_eq!((results.counts(), server.join().unwrap()), ((1, 0, 0), Some(1000)), "{:?}", results.errors());
}

#[test]
fn a_file_without_certificates_is_reported_at_the_start() {
    let identity = TestCertificate::for_name("127.0.0.1");
    std::fs::write(&identity.file, "nothing").unwrap();
    let target = ScriptedServer::start(|_| ok());
    let config = generator_config(over_tls(visit(), &target, Some(&identity)), target.address);
    let error = lab::generator::WorkerPool::start(config).unwrap_err();
    let expected = format!("target.ca: {}: holds no certificate (PEM)", identity.file.display());
    assert_eq!(error.to_string(), expected);
}

#[tokio::test]
async fn the_control_client_trusts_the_same() {
    let identity = TestCertificate::for_name("127.0.0.1");
    let target = ScriptedServer::secure(|_| ok(), identity.config.clone());
    let scenario = over_tls(visit(), &target, Some(&identity));
    let call = lab::generator::ControlRequest {
        method: http::Method::GET,
        path: "/".parse().unwrap(),
        headers: http::HeaderMap::new(),
        body: bytes::Bytes::new(),
        timeout: Duration::from_secs(20),
        idempotent: true,
    };
    let reply = ControlClient::for_target(&scenario.target, &[target.address]).unwrap().send(&call).await.unwrap();
    assert_eq!((reply.status, &*reply.body), (200, b"ok".as_slice()));
    let distrustful = over_tls(visit(), &target, None);
    let Failure { kind, message } =
        ControlClient::for_target(&distrustful.target, &[target.address]).unwrap().send(&call).await.unwrap_err();
    assert_eq!(kind, ErrorKind::Connect);
    assert!(message.contains("UnknownIssuer"), "{message}");
}

#[tokio::test]
async fn readiness_probe_and_setup_of_a_trial_trust_the_same() {
    let identity = TestCertificate::for_name("127.0.0.1");
    let target = ScriptedServer::secure(|_| ok(), identity.config.clone());
    let text = format!(
        "format = 1\nname = \"t\"\nsummary = \"t\"\n[target]\nurl = \"https://{}\"\nca = {:?}\nready = \"/ready\"\nready_within = \"2s\"\n[[setup]]\nrequest = \"GET /\"\n\
         [[phase]]\nname = \"p\"\narrivals = {{ batch = 1 }}\nin_flight_max = 1\njourney = \"j\"\n[[journey]]\nname = \"j\"\n\
         [[journey.step]]\nrequest = \"GET /\"\n",
        target.address, identity.file
    );
    let (out, never) = (OutDir::new(), tokio_util::sync::CancellationToken::new());
    let finished = lab::trial::run(trial(&text, &[], &out.0, never)).await.unwrap();
    assert_eq!((finished.run.results.total.unwrap().ok, target.requests()), (1, 3));
}
