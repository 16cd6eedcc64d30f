//! The trial that this server runs: `gauntlet run` in a process of its own, one at a time, also of several servers with one folder. It is
//! bound to a thread that lives as long as it does, so that it ends with this process. It gets none of this server's configuration: its own
//! server must not open this one's data.

use engine::limits::{TRIAL_DURATION_MAX, TRIAL_END_MAX};
use gateway::problem::TrialRefusal;
use lab::guard::{Guard, ProcessLimits};
use lab::trial::new_run_id;
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsString;
use std::fs::{File, TryLockError};
use std::io::{self, Read};
use std::net::IpAddr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};
use wire::api::TrialFailure;

/// Held while a trial runs.
const LOCK: &str = ".trial.lock";
/// What a server that a trial starts would read from the folder.
const SETTINGS: &str = "gauntlet.toml";
/// Variables that a trial gets; besides, the token for a target.
const ENV: [&str; 7] = ["PATH", "HOME", "LANG", "TMPDIR", "TZ", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"];
const TOKEN: &str = "GAUNTLET_TOKEN";
/// How often it is looked whether it has ended.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How long the end of this process waits for it.
const LAST_WAIT: Duration = Duration::from_secs(2);
/// Bytes of what it said that are kept.
const SAID_BYTES_MAX: usize = 4096;
/// How `gauntlet run` ends when it has left a run: passed, a gate failed, void, interrupted.
const CODES_WITH_RUN: [i32; 4] = [0, 3, 4, 130];

/// A service that a trial loads.
pub(super) struct Target<'a> {
    url: &'a str,
    gets_token: bool,
}

impl<'a> Target<'a> {
    /// One of the targets of the configuration. The token of this process's environment is for the first of them, and only where no host
    /// between reads it: over https, or on this machine.
    pub(super) fn find(targets: &'a [String], url: &str) -> Option<Self> {
        let at = targets.iter().position(|known| known == url)?;
        let url = targets[at].as_str();
        let is_local = host(url).parse::<IpAddr>().map_or(host(url) == "localhost", |address| address.is_loopback());
        Some(Self { url, gets_token: at == 0 && (is_local || url.starts_with("https://")) })
    }
}

pub(super) struct Runner {
    dir: PathBuf,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// Told when a trial has ended.
    ended: Condvar,
}

#[derive(Default)]
struct State {
    current: Option<Current>,
    failure: Option<TrialFailure>,
}

/// The trial that goes on.
struct Current {
    name: String,
    /// None until it has started.
    pid: Option<Pid>,
    was_asked: bool,
}

impl Current {
    /// Asks it to end, once: `gauntlet run` takes a second signal as "at once" and writes no report. The process was not waited for yet, so
    /// that no other process has its id. False before it has started.
    fn ask_to_end(&mut self) -> bool {
        let Some(pid) = self.pid else { return false };
        if !std::mem::replace(&mut self.was_asked, true) {
            let _ = kill_process(pid, Signal::INT);
        }
        true
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // What is behind the lock is whole between any two statements.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Runner {
    pub(super) fn new(dir: &Path) -> Self {
        Self { dir: dir.to_owned(), shared: Arc::default() }
    }

    pub(super) fn running(&self) -> Option<String> {
        self.shared.lock().current.as_ref().map(|current| current.name.clone())
    }

    pub(super) fn is_running(&self, name: &str) -> bool {
        self.running().is_some_and(|running| running == name)
    }

    pub(super) fn failure(&self) -> Option<TrialFailure> {
        self.shared.lock().failure.clone()
    }

    /// Starts a trial; its name.
    pub(super) fn start(&self, scenario: &str, target: Option<&Target<'_>>) -> Result<String, TrialRefusal> {
        let not_started = |message: &dyn std::fmt::Display| TrialRefusal::NotStarted(message.to_string());
        if self.dir.join(SETTINGS).exists() {
            return Err(TrialRefusal::Folder(format!(
                "{SETTINGS} in it would configure the servers of trials: move it away"
            )));
        }
        let name = new_run_id().map_err(|error| not_started(&error))?;
        {
            let mut state = self.shared.lock();
            if let Some(current) = &state.current {
                return Err(TrialRefusal::Running(Some(current.name.clone())));
            }
            state.current = Some(Current { name: name.clone(), pid: None, was_asked: false });
        }
        let started = acquire_lock(&self.dir).and_then(|lock| {
            let command = command(&self.dir, &name, scenario, target).map_err(|error| not_started(&error))?;
            let trial = Trial { name: name.clone(), scenario: scenario.to_owned(), shared: self.shared.clone(), lock };
            trial.start(command).map_err(|error| not_started(&error))
        });
        match started {
            Ok(()) => Ok(name),
            Err(refusal) => {
                self.shared.lock().current = None;
                Err(refusal)
            }
        }
    }

    /// Asks a trial to end.
    pub(super) fn stop(&self, name: &str) -> Result<(), TrialRefusal> {
        let mut state = self.shared.lock();
        let current = state.current.as_mut().filter(|current| current.name == name);
        if current.is_some_and(Current::ask_to_end) { Ok(()) } else { Err(TrialRefusal::NotRunning) }
    }

    /// Asks the trial that goes on to end, and waits a little.
    pub(super) fn end(&self) {
        let mut state = self.shared.lock();
        if state.current.as_mut().is_some_and(Current::ask_to_end) {
            let _ = self.shared.ended.wait_timeout_while(state, LAST_WAIT, |state| state.current.is_some());
        }
    }
}

/// One trial at a time in this folder, whichever server starts it.
fn acquire_lock(dir: &Path) -> Result<File, TrialRefusal> {
    let refused = |error: io::Error| TrialRefusal::Folder(error.to_string());
    let file = File::options().create(true).truncate(false).write(true).open(dir.join(LOCK)).map_err(refused)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(TrialRefusal::Running(None)),
        Err(TryLockError::Error(error)) => Err(refused(error)),
    }
}

/// This program, as `gauntlet run`.
fn command(dir: &Path, name: &str, scenario: &str, target: Option<&Target<'_>>) -> io::Result<Command> {
    let program: OsString = std::env::current_exe()?.into();
    let words = ["run", scenario, "--quiet", "--id", name, "--out"].map(OsString::from);
    let mut args: Vec<OsString> = [program].into_iter().chain(words).chain([dir.into()]).collect();
    let mut env: Vec<&str> = ENV.to_vec();
    if let Some(target) = target {
        // The operator who configured the target may have it loaded.
        args.extend(["--target", target.url, "--allow-host", host(target.url)].map(OsString::from));
        env.extend(target.gets_token.then_some(TOKEN));
    }
    Ok(guarded(&args, &env, dir))
}

/// A command that ends with the thread that starts it, with these variables of this process and no others.
fn guarded(args: &[OsString], env: &[&str], dir: &Path) -> Command {
    let args = Guard::own().map_or_else(|_| args.to_vec(), |guard| guard.wrap(&ProcessLimits::default(), args));
    let mut command = Command::new(&args[0]);
    command.args(&args[1..]).current_dir(dir).env_clear();
    command.envs(env.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
    // A Ctrl-C at the terminal is this process's to hand on: twice would mean "at once".
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).process_group(0);
    command
}

/// The host of an address that the configuration has accepted.
fn host(target: &str) -> &str {
    let authority = target.split_once("://").map_or(target, |(_, authority)| authority);
    let without_port = authority.rsplit_once(':').filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
    without_port.map_or(authority, |(host, _)| host).trim_matches(['[', ']'])
}

/// A trial and the thread that it is bound to.
struct Trial {
    name: String,
    scenario: String,
    shared: Arc<Shared>,
    lock: File,
}

impl Trial {
    /// Starts the process; an error is that of the system.
    fn start(self, mut command: Command) -> io::Result<()> {
        let (report, started) = mpsc::sync_channel(1);
        thread::Builder::new().name("trial".to_owned()).spawn(move || match command.spawn() {
            Ok(mut child) => {
                let errors = child.stderr.take();
                self.shared.lock().current =
                    Some(Current { name: self.name.clone(), pid: pid_of(&child), was_asked: false });
                let _ = report.send(Ok(()));
                let said = thread::spawn(move || errors.map(last_words).unwrap_or_default());
                let status = self.watch(&mut child);
                self.conclude(status, &said.join().unwrap_or_default());
            }
            Err(error) => {
                let _ = report.send(Err(error));
            }
        })?;
        started.recv().map_err(io::Error::other)?
    }

    /// Waits for its end, which comes: it is asked to end when its time is up, and killed when it does not.
    fn watch(&self, child: &mut Child) -> io::Result<ExitStatus> {
        let began = Instant::now();
        loop {
            let age = began.elapsed();
            {
                let mut state = self.shared.lock();
                // Under the lock: once it was waited for, its id may be another process's.
                if let Some(status) = child.try_wait()? {
                    if let Some(current) = &mut state.current {
                        current.pid = None;
                    }
                    return Ok(status);
                }
                if age > TRIAL_DURATION_MAX {
                    state.current.as_mut().map(Current::ask_to_end);
                }
            }
            if age > TRIAL_DURATION_MAX + TRIAL_END_MAX {
                child.kill()?;
            }
            thread::sleep(LOOK_EVERY);
        }
    }

    fn conclude(self, status: io::Result<ExitStatus>, said: &str) {
        let code = status.as_ref().ok().and_then(ExitStatus::code);
        let failure = code.is_none_or(|code| !CODES_WITH_RUN.contains(&code)).then(|| {
            let ended = status.map_or_else(|error| error.to_string(), |status| status.to_string());
            let message = if said.is_empty() { format!("it ended without a word ({ended})") } else { said.to_owned() };
            TrialFailure { name: self.name.clone(), scenario: self.scenario.clone(), message }
        });
        // Another one may begin as soon as this one counts as over.
        drop(self.lock);
        let mut state = self.shared.lock();
        (state.current, state.failure) = (None, failure);
        drop(state);
        self.shared.ended.notify_all();
    }
}

fn pid_of(child: &Child) -> Option<Pid> {
    Pid::from_raw(child.id().try_into().ok()?)
}

/// The end of what a process said, read to its end: a full pipe would hold it up.
fn last_words(mut errors: ChildStderr) -> String {
    let mut kept: Vec<u8> = Vec::new();
    let mut chunk = [0; SAID_BYTES_MAX];
    while let Ok(read @ 1..) = errors.read(&mut chunk) {
        kept.extend(&chunk[..read]);
        let surplus = kept.len().saturating_sub(SAID_BYTES_MAX);
        kept.drain(..surplus);
    }
    String::from_utf8_lossy(&kept).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_host(target: &str, want: &str) {
        assert_eq!(host(target), want, "{target}");
    }

    #[test]
    fn the_host_of_a_target() {
        check_host("http://127.0.0.1:4001", "127.0.0.1");
        check_host("https://staging.example", "staging.example");
        check_host("http://[2001:db8::1]:4000", "2001:db8::1");
        check_host("http://[2001:db8::1]", "2001:db8::1");
    }

    #[track_caller]
    fn check_token(targets: &[&str], url: &str, want: Option<bool>) {
        let targets: Vec<String> = targets.iter().map(ToString::to_string).collect();
        assert_eq!(Target::find(&targets, url).map(|target| target.gets_token), want, "{url} of {targets:?}");
    }

    #[test]
    fn the_token_is_for_the_first_target_where_no_host_between_reads_it() {
        let [local, far, plain] = ["http://127.0.0.1:4001", "https://staging.example", "http://staging.example"];
        check_token(&[local, far], local, Some(true));
        check_token(&[local, far], far, Some(false));
        check_token(&[far], far, Some(true));
        check_token(&[plain], plain, Some(false));
        check_token(&["http://[::1]:1"], "http://[::1]:1", Some(true));
        check_token(&["http://localhost:1"], "http://localhost:1", Some(true));
        check_token(&["http://localhost.example"], "http://localhost.example", Some(false));
        check_token(&[local], far, None);
    }

    #[test]
    fn a_trial_is_asked_to_end_once() {
        // A shell cannot trap what it was started to ignore, as the jobs of another shell's background are.
        let shell = ["--default-signal=INT", "/bin/sh", "-c", ASKED_TWICE];
        let mut child = Command::new("env").args(shell).stdout(Stdio::piped()).spawn().unwrap();
        let mut ready = [0; 6];
        let mut said = child.stdout.take().unwrap();
        said.read_exact(&mut ready).unwrap();
        let mut current = Current { name: "t".to_owned(), pid: pid_of(&child), was_asked: false };
        assert!(current.ask_to_end());
        said.read_exact(&mut ready).unwrap();
        assert!(current.ask_to_end());
        kill_process(pid_of(&child).unwrap(), Signal::TERM).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(1), "signals that it got");
        assert!(!Current { pid: None, ..current }.ask_to_end());
    }

    /// Says that it is ready, and that it was asked; ends on SIGTERM with how often it was asked.
    const ASKED_TWICE: &str =
        "n=0; trap 'n=$((n+1)); echo asked' INT; trap 'exit $n' TERM; echo ready; while :; do sleep 0.05; done";

    /// What this runner says of a program that is started in place of a trial.
    #[track_caller]
    fn check_failure(script: &str, want: Option<&str>) {
        let dir = std::env::temp_dir().join(format!("gauntlet-trial-{}-{}", std::process::id(), script.len()));
        std::fs::create_dir_all(&dir).unwrap();
        let runner = Runner::new(&dir);
        let lock = acquire_lock(&dir).unwrap();
        assert!(matches!(acquire_lock(&dir), Err(TrialRefusal::Running(None))), "one at a time");
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let trial = Trial { name: "t".to_owned(), scenario: "s".to_owned(), shared: runner.shared.clone(), lock };
        trial.start(command).unwrap();
        let state = runner.shared.lock();
        drop(runner.shared.ended.wait_while(state, |state| state.current.is_some()).unwrap());
        assert_eq!(runner.failure().map(|failure| failure.message).as_deref(), want);
        drop(acquire_lock(&dir).unwrap());
        std::fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn what_a_trial_said_is_told_if_it_left_no_run() {
        check_failure("exit 0", None);
        check_failure("echo no gate holds >&2; exit 3", None);
        check_failure("echo cannot run: no such host >&2; exit 1", Some("cannot run: no such host"));
        check_failure("exit 2", Some("it ended without a word (exit status: 2)"));
        check_failure("kill -9 $$", Some("it ended without a word (signal: 9 (SIGKILL))"));
    }
}
