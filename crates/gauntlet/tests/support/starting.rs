//! Servers that may be refused when they start.

use super::{Folder, until};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::File;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A server that may be refused, and what it has written so far. Killed with its owner.
pub(crate) struct Starting {
    child: Child,
    stdout: PathBuf,
    stderr: PathBuf,
}

impl Starting {
    /// On a free port.
    pub(crate) fn new(folder: &Folder, words: &str) -> Self {
        Self::at(folder, &format!("--port 0 {words}"))
    }

    pub(crate) fn at(folder: &Folder, words: &str) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let file = |name: &str| folder.path().join(format!("starting-{number}.{name}"));
        let (stdout, stderr) = (file("stdout"), file("stderr"));
        let mut command: Command = folder.command(&format!("serve --log-level info {words}"));
        command.stdout(File::create(&stdout).unwrap()).stderr(File::create(&stderr).unwrap());
        Self { child: command.spawn().unwrap(), stdout, stderr }
    }

    pub(crate) fn stdout(&self) -> String {
        std::fs::read_to_string(&self.stdout).unwrap()
    }

    pub(crate) fn stderr(&self) -> String {
        std::fs::read_to_string(&self.stderr).unwrap()
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// The exit code, which must come.
    pub(crate) fn code(&mut self) -> Option<i32> {
        until("the process ends", || self.child.try_wait().unwrap()).code()
    }

    /// Sends SIGTERM; returns its exit code.
    pub(crate) fn leave(&mut self) -> Option<i32> {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        self.code()
    }

    pub(crate) fn wait_until_it_serves(&self) {
        until("it serves", || self.stdout().contains("gauntlet serves").then_some(()));
    }

    /// Ends it as the system would.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Its address, once printed.
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        let stdout = self.stdout();
        let (address, _) = stdout.split_once("http://")?.1.split_once(' ')?;
        Some(address.parse().unwrap())
    }

    /// It ends without serving, and prints these texts.
    #[track_caller]
    pub(crate) fn check_refused(&mut self, why: &[&str]) {
        let code = self.code();
        let stderr = self.stderr();
        assert_ne!(code, Some(0), "{stderr}");
        assert!(why.iter().all(|why| stderr.contains(why)), "{why:?} in {stderr}");
        assert_eq!(self.stdout(), "", "it was announced and then refused: {stderr}");
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
