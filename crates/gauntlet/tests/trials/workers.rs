//! More connections than one process may open: `gauntlet run` spreads them over worker processes, visible only in the
//! measurements, which are complete. None of them outlives the lab, however that ends.

use crate::support::{Folder, until};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const SCENARIO: &str = r#"
format = 1
name = "many"
summary = "More connections than one process may open"
[vars]
port = 1
[target]
url = "http://127.0.0.1:{{port}}"
[[phase]]
name = "hold"
arrivals = { hold = { connections = 300 }, rate = 300, for = "1h" }
journey = "visit"
[[journey]]
name = "visit"
[[journey.step]]
request = "GET /"
[gates]
"visit.errors" = "= 0"
"#;

/// Open files of a process under test: its reserve, and room for some hundred connections.
const FILES: &str = "200";

/// A target that answers every request, and counts connections and requests.
struct Target {
    address: SocketAddr,
    connected: Arc<AtomicUsize>,
    request_count: Arc<AtomicUsize>,
}

impl Target {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (connected, request_count) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let (count, requests) = (connected.clone(), request_count.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (count, requests) = (count.clone(), requests.clone());
                std::thread::spawn(move || {
                    count.fetch_add(1, Ordering::SeqCst);
                    answer_all(stream, &requests);
                    count.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Self { address, connected, request_count }
    }

    /// The worker processes of a lab whose connections all stand.
    fn await_workers_of(&self, lab: &Child) -> Vec<u32> {
        let pids = until("all connections stand", || {
            (self.connected.load(Ordering::SeqCst) == 300).then(|| workers(lab.id()))
        });
        assert!(pids.len() >= 3, "{pids:?}");
        pids
    }
}

fn answer_all(mut stream: TcpStream, requests: &AtomicUsize) {
    let mut request = [0; 1024];
    while stream.read(&mut request).is_ok_and(|count| count > 0) {
        requests.fetch_add(1, Ordering::SeqCst);
        if stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").is_err() {
            return;
        }
    }
}

/// `gauntlet run` with few open files.
fn start(folder: &Folder, address: SocketAddr) -> Child {
    let scenario = folder.path().join("many.toml");
    fs::write(&scenario, SCENARIO).unwrap();
    let run = format!("run many.toml --quiet --set port={}", address.port());
    let gauntlet = folder.command(&run);
    let mut limited = Command::new("sh");
    limited.args(["-c", &format!("ulimit -n {FILES}; exec \"$0\" \"$@\"")]);
    limited.arg(gauntlet.get_program()).args(gauntlet.get_args()).current_dir(folder.path());
    limited.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

/// The worker processes of a lab.
fn workers(lab: u32) -> Vec<u32> {
    let is_worker = |pid: &u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let command = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        // After the name in brackets, which may hold anything: the state, then the parent.
        let rest = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
        rest.split(' ').nth(1) == Some(&lab.to_string()) && command.contains("lab-worker")
    };
    let names = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.file_name());
    names.filter_map(|name| name.to_str()?.parse().ok()).filter(is_worker).collect()
}

fn record(folder: &Folder) -> serde_json::Value {
    let runs = fs::read_dir(folder.path().join("runs")).unwrap().flatten();
    let found: Vec<PathBuf> = runs.map(|run| run.path().join("run.json")).filter(|path| path.exists()).collect();
    serde_json::from_str(&fs::read_to_string(&found[0]).unwrap()).unwrap()
}

#[test]
fn connections_are_spread_over_processes_and_their_figures_merged() {
    let (folder, target) = (Folder::new(), Target::start());
    let mut lab = start(&folder, target.address);
    let pids = target.await_workers_of(&lab);
    until("each sent two requests", || (target.request_count.load(Ordering::SeqCst) >= 600).then_some(()));
    kill_process(Pid::from_child(&lab), Signal::INT).unwrap();
    let code = until("the trial ends", || lab.try_wait().unwrap()).code();
    let printed = std::io::read_to_string(lab.stderr.take().unwrap()).unwrap();
    assert_eq!(code, Some(130), "{printed}");
    let record = record(&folder);
    let figure = |name: &str| record["journeys"]["visit"][name].as_u64().unwrap();
    // All that came back counts; what was under way when the trial was interrupted may have been given up.
    let request_count = target.request_count.load(Ordering::SeqCst) as u64;
    assert_eq!((figure("count"), figure("errors")), (figure("ok"), 0), "{record:#}");
    assert!((request_count - 300..=request_count).contains(&figure("ok")), "{request_count} were answered: {record:#}");
    assert!(pids.iter().all(|pid| !Path::new(&format!("/proc/{pid}")).exists()));
}

#[test]
fn no_worker_process_outlives_the_lab() {
    let (folder, target) = (Folder::new(), Target::start());
    let mut lab = start(&folder, target.address);
    let pids = target.await_workers_of(&lab);
    lab.kill().unwrap();
    lab.wait().unwrap();
    until("no connection is left", || (target.connected.load(Ordering::SeqCst) == 0).then_some(()));
    let gone = |pid: &u32| {
        // Its new parent may take a moment to reap it.
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.is_empty() || stat.contains(") Z ")
    };
    until("no worker is left", || pids.iter().all(gone).then_some(()));
}
