//! The processes that a trial starts: awaited, watched, and stopped in every way out. Each leads a process group
//! of its own, so that a Ctrl-C reaches the lab alone and the lab ends them in order. Refuses to know what they
//! do.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method};
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::process::{Child, Command as Spawn};
use tokio::time::Instant;

use super::CouldNotRun;
use crate::drive::{Call, Client};
use crate::limits::STOP_WITHIN;
use crate::scenario::{Base, Command, Scenario, Scope};

/// The word that means the running executable.
const SELF: &str = "gauntlet";

/// From one look at a process or a ready URL to the next.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// How long killed processes may take to be gone.
const SWEEP_WITHIN: Duration = Duration::from_millis(500);

/// From one look at a killed group to the next.
const SWEEP_EVERY: Duration = Duration::from_millis(5);

/// Lines of a log that an error message quotes.
const TAIL_LINES: usize = 10;

/// Bytes at the end of a log in which those lines are looked for.
const TAIL_BYTES: u64 = 4096;

/// Started processes. Dropping it kills what still runs.
#[derive(Debug, Default)]
pub struct Fleet {
    members: Vec<Member>,
}

#[derive(Debug)]
struct Member {
    name: String,
    child: Child,
    /// The process group that the child leads, until it has been swept.
    group: Option<Pid>,
    log: PathBuf,
}

/// Something to start and await.
struct Order<'a> {
    name: &'a str,
    command: Option<&'a Command>,
    base: &'a Base,
    ready: Option<&'a str>,
    within: Duration,
    /// What to do when its port is taken.
    advice: &'a str,
}

impl Fleet {
    /// Starts what the scenario starts, and waits until everything that it needs is ready.
    ///
    /// # Errors
    /// A port is taken, a program does not start, ends early or is not ready in time. What was started is stopped
    /// by dropping the fleet.
    pub async fn start(&mut self, scenario: &Scenario, scope: &Scope<'_>, dir: &Path) -> Result<(), CouldNotRun> {
        for helper in &scenario.helpers {
            let advice = format!(
                "choose another port with --set, or use the process that runs there with --set process.{}.start=false",
                helper.name
            );
            let (command, ready) = (helper.spawn.as_ref(), Some(helper.ready.as_str()));
            let (name, base, within) = (helper.name.as_str(), &helper.base, helper.ready_within);
            self.bring_up(&Order { name, command, base, ready, within, advice: &advice }, scope, dir).await?;
        }
        let target = &scenario.target;
        let order = Order {
            name: "server",
            command: target.spawn.as_ref(),
            base: &target.url,
            ready: target.ready.as_deref(),
            within: target.ready_within,
            advice: "choose another port with --set, or put the service that runs there on trial with --target",
        };
        self.bring_up(&order, scope, dir).await
    }

    async fn bring_up(&mut self, order: &Order<'_>, scope: &Scope<'_>, dir: &Path) -> Result<(), CouldNotRun> {
        if let Some(command) = order.command {
            refuse_taken_port(order)?;
            self.members.push(spawn(order.name, command, scope, dir)?);
        }
        let Some(path) = order.ready else { return Ok(()) };
        self.await_ready(order, path).await
    }

    async fn await_ready(&mut self, order: &Order<'_>, path: &str) -> Result<(), CouldNotRun> {
        let url = format!("{}{path}", order.base.url());
        let deadline = Instant::now() + order.within;
        loop {
            if let Some(death) = self.death() {
                return Err(CouldNotRun(death));
            }
            let answer = ask(order.base, path).await;
            match answer {
                Ok(status) if (200..300).contains(&status) => return Ok(()),
                _ if Instant::now() < deadline => tokio::time::sleep(LOOK_EVERY).await,
                Ok(status) => return Err(self.not_ready(order, &format!("{url} still answers {status}"))),
                Err(message) => return Err(self.not_ready(order, &format!("{url}: {message}"))),
            }
        }
    }

    fn not_ready(&self, order: &Order<'_>, why: &str) -> CouldNotRun {
        let log = self.members.iter().find(|member| member.name == order.name);
        let log = log.map_or_else(String::new, |member| tail(&member.log));
        CouldNotRun(format!("{} was not ready within {:?}: {why}{log}", order.name, order.within))
    }

    /// Names and process ids of what runs.
    pub fn pids(&self) -> impl Iterator<Item = (&str, u32)> {
        self.members.iter().filter_map(|member| Some((member.name.as_str(), member.child.id()?)))
    }

    /// A sentence about the first process that has ended by itself, if one has.
    pub fn death(&mut self) -> Option<String> {
        self.members.iter_mut().find_map(|member| {
            let status = member.child.try_wait().ok()??;
            Some(format!("{} ended by itself ({status}){}", member.name, tail(&member.log)))
        })
    }

    /// Waits until a process ends by itself.
    pub async fn first_death(&mut self) -> String {
        loop {
            if let Some(death) = self.death() {
                return death;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Stops everything, the last first: SIGTERM, and SIGKILL for what does not end in time and for whatever the
    /// ended ones leave behind.
    pub async fn stop(&mut self) {
        for member in self.members.iter().rev() {
            member.signal(Signal::TERM);
        }
        let deadline = Instant::now() + STOP_WITHIN;
        for member in self.members.iter_mut().rev() {
            if tokio::time::timeout_at(deadline, member.child.wait()).await.is_err() {
                member.signal(Signal::KILL);
                let _ = member.child.wait().await;
            }
            member.sweep().await;
        }
        self.members.clear();
    }
}

impl Member {
    /// Signals the whole group, unless it has been swept: from then on its id may belong to somebody else.
    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            // All of it may have ended in this moment.
            let _ = kill_process_group(group, signal);
        }
    }

    /// Kills what is left of the group after its leader has ended, and waits until that is gone. Dead processes
    /// that nobody collects keep a group alive, so the wait is bounded.
    async fn sweep(&mut self) {
        self.signal(Signal::KILL);
        let deadline = Instant::now() + SWEEP_WITHIN;
        if let Some(group) = self.group.take() {
            while test_kill_process_group(group).is_ok() && Instant::now() < deadline {
                tokio::time::sleep(SWEEP_EVERY).await;
            }
        }
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

fn refuse_taken_port(order: &Order<'_>) -> Result<(), CouldNotRun> {
    let Base { host, port, .. } = order.base;
    match TcpListener::bind((host.as_str(), *port)) {
        Ok(_) => Ok(()),
        Err(error) => {
            let name = order.name;
            Err(CouldNotRun(format!("{name} cannot be started on {host}:{port} ({error}): {}", order.advice)))
        }
    }
}

fn spawn(name: &str, command: &Command, scope: &Scope<'_>, dir: &Path) -> Result<Member, CouldNotRun> {
    let failed = |why: String| CouldNotRun(format!("{name} could not be started: {why}"));
    let words: Result<Vec<String>, String> = command.argv.iter().map(|word| word.render(scope)).collect();
    let words = words.map_err(failed)?;
    let (program, arguments) = words.split_first().ok_or_else(|| failed("its command is empty".to_owned()))?;
    let program = match program.as_str() {
        SELF => std::env::current_exe().map_err(|error| failed(error.to_string()))?,
        other => PathBuf::from(other),
    };
    let log = dir.join(format!("{name}.log"));
    let output = File::create(&log).and_then(|file| Ok((file.try_clone()?, file)));
    let (stdout, stderr) = output.map_err(|error| failed(format!("{}: {error}", log.display())))?;
    let mut spawn = Spawn::new(&program);
    spawn.args(arguments).stdin(Stdio::null()).stdout(stdout).stderr(stderr).process_group(0).kill_on_drop(true);
    for (key, value) in &command.env {
        spawn.env(key, value.render(scope).map_err(failed)?);
    }
    let child = spawn.spawn().map_err(|error| failed(format!("{}: {error}", program.display())))?;
    let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    Ok(Member { name: name.to_owned(), child, group, log })
}

async fn ask(base: &Base, path: &str) -> Result<u16, String> {
    let client = Client::new(base).await.map_err(|failure| failure.message)?;
    let call = Call {
        method: Method::GET,
        path: path.parse().map_err(|_| "not a path".to_owned())?,
        headers: HeaderMap::new(),
        body: Bytes::new(),
        timeout: Duration::from_secs(2),
        repeatable: true,
    };
    client.send(&call).await.map(|reply| reply.status).map_err(|failure| failure.message)
}

/// The last lines of a log, ready to stand at the end of a message.
fn tail(log: &Path) -> String {
    let read = || -> std::io::Result<String> {
        let mut file = File::open(log)?;
        let len = file.metadata()?.len();
        file.seek(SeekFrom::Start(len.saturating_sub(TAIL_BYTES)))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    let text = read().unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let last = &lines[lines.len().saturating_sub(TAIL_LINES)..];
    match last {
        [] => format!("; its log {} is empty", log.display()),
        last => format!("; the end of {}:\n  {}", log.display(), last.join("\n  ")),
    }
}
