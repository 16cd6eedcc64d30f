//! The guard: a wrapper process between the lab and a program that it starts. It is the lab's own binary, started once
//! more, which ties its life to the lab's, joins the control groups and applies the limits that it was given, and then
//! becomes the program. The process keeps its id. Does not know trials.
//!
//! The kernel kills the program when the lab dies, also by `kill -9`. It is in fact tied to the *thread* that started
//! it, so programs are started from the lab's main thread, which lives as long as the lab. This holds for this one
//! process. Its child processes are in the control group of the run, if the machine allows one: another guard waits for
//! the lab's end and kills the group then. Otherwise the lab kills them however it ends, except when it is killed
//! itself. A program with more rights than its starter (setuid, capabilities) cannot be tied.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::cgroup::kill_after_parent;
use rustix::process::{Resource, Rlimit, Signal, getppid, setrlimit};

/// The hidden command of the binary.
pub const COMMAND: &str = "lab-guard";

/// The guard itself failed; the codes are those of `env` and `timeout`.
const REFUSED: u8 = 125;

/// The program was found and could not be started.
const NOT_STARTED: u8 = 126;

/// The program was not found.
const NOT_FOUND: u8 = 127;

/// The prefix of every message of the guard.
const MESSAGE_PREFIX: &str = "gauntlet lab-guard: ";

/// How a program is started through a guard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guard {
    prefix: Vec<OsString>,
}

/// What a guarded program may use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessLimits {
    /// The `cgroup.procs` of the control groups that it joins.
    pub groups: Vec<PathBuf>,
    pub open_files: Option<u64>,
}

impl Guard {
    /// A guard that runs this program's own executable.
    ///
    /// # Errors
    /// The system does not report the path of the executable.
    pub fn own() -> io::Result<Self> {
        Ok(Self::from_args([std::env::current_exe()?.into(), COMMAND.into()]))
    }

    /// Any program that passes the arguments after these to [`GuardArgs`].
    pub fn from_args(words: impl IntoIterator<Item = OsString>) -> Self {
        Self { prefix: words.into_iter().collect() }
    }

    /// The command line of a guard that starts nothing: it kills the processes in these groups once the lab is gone.
    #[must_use]
    pub fn watchdog_args(&self, groups: &[&Path]) -> Vec<OsString> {
        self.args().chain(groups.iter().map(|group| flag("--kill-group=", group))).collect()
    }

    /// The command line that starts this one guarded.
    #[must_use]
    pub fn wrap(&self, limits: &ProcessLimits, command: &[OsString]) -> Vec<OsString> {
        let groups = limits.groups.iter().map(|group| flag("--group=", group));
        let open_files = limits.open_files.map(|count| format!("--open-files={count}").into());
        let own = self.args().chain(groups).chain(open_files);
        own.chain(["--".into()]).chain(command.iter().cloned()).collect()
    }

    fn args(&self) -> impl Iterator<Item = OsString> {
        self.prefix.iter().cloned().chain([format!("--parent={}", std::process::id()).into()])
    }
}

/// An argument with a path, which need not be Unicode.
fn flag(name: &str, path: &Path) -> OsString {
    let mut argument = OsString::from(name);
    argument.push(path);
    argument
}

/// Start a program that ends when its starter does
#[derive(Clone, Debug, clap::Args)]
pub struct GuardArgs {
    /// The process to end with
    #[arg(long)]
    pub parent: u32,
    /// The cgroup.procs of a control group to go into
    #[arg(long = "group")]
    pub groups: Vec<PathBuf>,
    /// Open files that the program may have
    #[arg(long)]
    pub open_files: Option<u64>,
    /// Start nothing: kill what is in this control group when standard input ends
    #[arg(long = "kill-group", conflicts_with_all = ["groups", "open_files", "command"])]
    pub kill_groups: Vec<PathBuf>,
    /// The program and its arguments
    #[arg(last = true, required_unless_present = "kill_groups")]
    pub command: Vec<OsString>,
}

/// Becomes the program, or returns why not and with which exit code.
#[must_use]
pub fn run(args: &GuardArgs) -> ExitCode {
    if !args.kill_groups.is_empty() {
        kill_after_parent(&args.kill_groups);
        return ExitCode::SUCCESS;
    }
    let (code, message) = match apply_limits(args) {
        Err(message) => (REFUSED, message),
        Ok(()) => become_program(&args.command),
    };
    // The reader may have closed the pipe; the exit code reports the result.
    let _ = io::Write::write_all(&mut io::stderr(), format!("{MESSAGE_PREFIX}{message}\n").as_bytes());
    ExitCode::from(code)
}

fn apply_limits(args: &GuardArgs) -> Result<(), String> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| format!("the program cannot be bound to the lab's life: {error}"))?;
    // The lab may have died before the kernel registered the signal.
    let parent = getppid().and_then(|pid| u32::try_from(pid.as_raw_nonzero().get()).ok());
    if parent != Some(args.parent) {
        return Err(format!("process {} has ended already", args.parent));
    }
    for group in &args.groups {
        // Zero means the writing process.
        fs::write(group, "0").map_err(|error| format!("{} cannot be joined: {error}", group.display()))?;
    }
    if let Some(count) = args.open_files {
        let limit = Rlimit { current: Some(count), maximum: Some(count) };
        setrlimit(Resource::Nofile, limit).map_err(|error| format!("no limit of {count} open files: {error}"))?;
    }
    Ok(())
}

/// Returns only with the reason why the program could not be started.
fn become_program(command: &[OsString]) -> (u8, String) {
    let Some((program, arguments)) = command.split_first() else {
        return (REFUSED, "there is no program to start".to_owned());
    };
    let error = Command::new(program).args(arguments).exec();
    let code = if error.kind() == io::ErrorKind::NotFound { NOT_FOUND } else { NOT_STARTED };
    (code, format!("{}: {error}", Path::new(program).display()))
}

/// The message of a guard, if it was a guard that ended with this code and this last line.
#[must_use]
pub(crate) fn refusal(code: Option<i32>, last_line: Option<&str>) -> Option<&str> {
    let is_guards = code.is_some_and(|code| [REFUSED, NOT_STARTED, NOT_FOUND].map(i32::from).contains(&code));
    last_line.filter(|_| is_guards)?.strip_prefix(MESSAGE_PREFIX)
}

#[cfg(test)]
mod tests {
    use clap::FromArgMatches as _;

    use super::*;

    #[track_caller]
    fn check(bounds: &ProcessLimits, command: &[&str]) {
        let command: Vec<OsString> = command.iter().map(Into::into).collect();
        let words = Guard::from_args(["lab".into()]).wrap(bounds, &command);
        let definition = <GuardArgs as clap::Args>::augment_args(clap::Command::new("lab"));
        let args = GuardArgs::from_arg_matches(&definition.try_get_matches_from(words).unwrap()).unwrap();
        assert_eq!(ProcessLimits { groups: args.groups, open_files: args.open_files }, *bounds);
        assert_eq!((args.parent, args.command), (std::process::id(), command));
    }

    #[test]
    fn a_watchdog_guard_starts_nothing() {
        let groups = ["/a b/c", "/d"].map(Path::new);
        let words = Guard::from_args(["lab".into()]).watchdog_args(&groups);
        let definition = <GuardArgs as clap::Args>::augment_args(clap::Command::new("lab"));
        let matches = |words: Vec<OsString>| definition.clone().try_get_matches_from(words);
        let args = GuardArgs::from_arg_matches(&matches(words.clone()).unwrap()).unwrap();
        assert!(args.kill_groups.iter().eq(groups) && args.command.is_empty(), "{args:?}");
        assert!(matches(words.into_iter().chain(["--".into(), "true".into()]).collect()).is_err());
        assert!(matches(vec!["lab".into(), "--parent=1".into()]).is_err());
    }

    #[test]
    fn a_wrapped_command_line_is_parsed() {
        check(&ProcessLimits::default(), &["sleep", "1"]);
        check(
            &ProcessLimits { open_files: Some(64), ..ProcessLimits::default() },
            &["sh", "-c", "echo --parent=1 -- x"],
        );
        let groups = vec!["/a b/cgroup.procs".into(), "/c/cgroup.procs".into()];
        check(&ProcessLimits { groups, open_files: None }, &["--strange", "--", "-x"]);
    }

    #[test]
    fn a_guard_is_a_command_of_its_program() {
        let words =
            Guard::from_args(["/bin/lab".into(), COMMAND.into()]).wrap(&ProcessLimits::default(), &["true".into()]);
        assert_eq!(words[..2], ["/bin/lab", "lab-guard"]);
        assert_eq!(words[3..], ["--", "true"]);
    }

    #[test]
    fn only_messages_of_a_guard_are_recognized() {
        let line = Some("gauntlet lab-guard: nothing there");
        assert_eq!(refusal(Some(127), line), Some("nothing there"));
        assert_eq!(refusal(Some(125), line), Some("nothing there"));
        assert_eq!(refusal(Some(127), Some("sh: nothing there")), None);
        assert_eq!(refusal(Some(1), line), None);
        assert_eq!(refusal(None, line), None);
        assert_eq!(refusal(Some(127), None), None);
    }
}
