//! What the tests of the built program share: a temporary folder, servers in it, bots that record every call, viewers.
//!
//! Everything is a real process or a real socket. Waiting is always for something observable, with a generous limit.

#![allow(dead_code, reason = "each of the two test targets uses a part of it")]

pub(crate) mod bots;
pub(crate) mod connection;
pub(crate) mod faults;
pub(crate) mod games;
pub(crate) mod hunter;
pub(crate) mod starting;
pub(crate) mod viewer;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use store::testing::TempDir;

/// What is waited for and has not come after this time does not come any more.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// The secret of the token that [`Folder::serve_games`] gives its servers.
pub(crate) const TOKEN: &str = "a-secret-of-twenty-characters";

/// Looks until there is something to see.
#[track_caller]
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(Instant::now() < end, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A list of keywords and values as the equivalent URL.
pub(crate) fn as_url(keywords: &str) -> String {
    let value = |key: &str| keywords.split(' ').find_map(|word| word.strip_prefix(key)).unwrap();
    let (host, user, name) = (value("host="), value("user="), value("dbname="));
    format!("postgres://{user}@{}/{name}", host.replace('/', "%2F"))
}

/// A working folder of one test: no other configuration, no other data. Removed with its owner.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(TempDir::new())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path().join(name), text).unwrap();
    }

    /// The program with these words, in this folder, without the environment's settings.
    pub(crate) fn command(&self, words: &str) -> Command {
        self.command_by(&[], words)
    }

    /// The same, started by another program, which must become it.
    pub(crate) fn command_by(&self, starter: &[&str], words: &str) -> Command {
        let program = env!("CARGO_BIN_EXE_gauntlet");
        let line: Vec<&str> = starter.iter().copied().chain([program]).chain(words.split_whitespace()).collect();
        let mut command = Command::new(line[0]);
        let ours = std::env::vars().map(|(name, _)| name).filter(|name| name.starts_with("GAUNTLET_"));
        ours.for_each(|name| {
            command.env_remove(name);
        });
        command.args(&line[1..]).current_dir(self.path()).stdin(Stdio::null());
        command
    }

    /// A server on a free port, once it has printed its address.
    pub(crate) fn serve(&self, words: &str) -> Server {
        self.launch(self.command(&format!("serve --port 0 --log-level warn {words}")))
    }

    /// A server that may call bots on this machine and knows [`TOKEN`].
    pub(crate) fn serve_games(&self, words: &str) -> Server {
        self.serve_games_by(&[], words)
    }

    /// The same on the port that is named.
    pub(crate) fn host_at(&self, words: &str) -> Server {
        self.launch_host(&[], words)
    }

    /// The same on a free port, started by another program, which must become it.
    pub(crate) fn serve_games_by(&self, starter: &[&str], words: &str) -> Server {
        self.launch_host(starter, &format!("--port 0 {words}"))
    }

    fn launch_host(&self, starter: &[&str], words: &str) -> Server {
        let words = format!("serve --log-level warn --allow-private-bots {words}");
        let mut command = self.command_by(starter, &words);
        command.env("GAUNTLET_BOOTSTRAP_TOKEN", TOKEN);
        self.launch(command)
    }

    fn launch(&self, mut command: Command) -> Server {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let log = self.path().join(format!("server-{}.log", COUNT.fetch_add(1, Ordering::Relaxed)));
        let mut child = command.stdout(Stdio::piped()).stderr(File::create(&log).unwrap()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let address = line.split("http://").nth(1).and_then(|rest| rest.split(' ').next());
        let read_log = || std::fs::read_to_string(&log).unwrap_or_default();
        let address = address.unwrap_or_else(|| panic!("no address in {line:?}; {}", read_log())).parse().unwrap();
        Server { child, address, line, log }
    }
}

/// A running server; killed if its test fails before it is stopped.
pub(crate) struct Server {
    child: Child,
    address: SocketAddr,
    /// Its ready line.
    pub(crate) line: String,
    log: PathBuf,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// The body as JSON; null when it is none.
    pub(crate) body: Value,
}

impl Server {
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Ends it as the system would: without a chance to do anything.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// What it has logged so far.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Sends SIGTERM; returns its exit code.
    pub(crate) fn stop(&mut self) -> Option<i32> {
        self.signal(Signal::TERM);
        self.code()
    }

    /// The exit code, which must come.
    pub(crate) fn code(&mut self) -> Option<i32> {
        until("the process ends", || self.child.try_wait().unwrap()).code()
    }

    /// Fails when the process has ended.
    #[track_caller]
    pub(crate) fn assert_alive(&mut self) {
        assert_eq!(self.child.try_wait().unwrap(), None, "the process has ended");
    }

    /// The whole answer to a GET, as text.
    pub(crate) fn get(&self, path: &str, token: &str) -> String {
        self.exchange("GET", path, token, "").unwrap()
    }

    /// A request with [`TOKEN`]; `body` may be null.
    pub(crate) fn request(&self, line: &str, body: &Value) -> Reply {
        let (method, path) = line.split_once(' ').unwrap();
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let text = self.exchange(method, path, TOKEN, &body).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{line}: {text:?}"));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        let is_chunked = head.to_ascii_lowercase().contains("transfer-encoding: chunked");
        let body = if is_chunked { joined(body) } else { body.to_owned() };
        Reply {
            status: status.unwrap_or_else(|| panic!("{head}")),
            body: serde_json::from_str(&body).unwrap_or_default(),
        }
    }

    /// The body of a GET with [`TOKEN`] that must succeed, as text.
    #[track_caller]
    pub(crate) fn download(&self, path: &str) -> String {
        let answer = self.get(path, TOKEN);
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200 "), "{path}: {head}");
        if head.to_ascii_lowercase().contains("transfer-encoding: chunked") { joined(body) } else { body.to_owned() }
    }

    /// A request that must succeed; its body.
    #[track_caller]
    pub(crate) fn request_ok(&self, line: &str, body: &Value) -> Value {
        let reply = self.request(line, body);
        assert!((200..300).contains(&reply.status), "{line}: {reply:?}");
        reply.body
    }

    /// The whole answer to a request, as text.
    pub(crate) fn exchange(&self, method: &str, path: &str, token: &str, body: &str) -> std::io::Result<String> {
        let mut client = TcpStream::connect(self.address)?;
        client.set_read_timeout(Some(PATIENCE))?;
        let (host, length) = (self.address, body.len());
        write!(
            client,
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        )?;
        let mut answer = String::new();
        client.read_to_string(&mut answer)?;
        Ok(answer)
    }
}

/// A body that came in chunks, put together.
fn joined(chunks: &str) -> String {
    let (mut body, mut rest) = (String::new(), chunks);
    while let Some((size, behind)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        body.push_str(&behind[..size]);
        rest = behind[size..].trim_start_matches("\r\n");
    }
    body
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("{} had logged:\n{}", self.line.trim(), std::fs::read_to_string(&self.log).unwrap_or_default());
        }
    }
}
