//! The hidden command between the lab and what it starts: it must become the program, within limits, and end with its
//! parent, even if that one is killed.

use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Command, Output, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_gauntlet");

fn guarded(options: &[&str], command: &[&str]) -> Output {
    let parent = format!("--parent={}", std::process::id());
    let mut guard = Command::new(PROGRAM);
    guard.args(["lab-guard", &parent]).args(options).arg("--").args(command).output().unwrap()
}

/// The guard must end with this code and this output.
#[track_caller]
fn check_refused(output: &Output, code: i32, printed: &str) {
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{error}");
    assert!(error.starts_with(&format!("gauntlet lab-guard: {printed}")), "{error}");
}

#[test]
fn it_becomes_the_program_or_reports_why_it_cannot() {
    let printed = guarded(&[], &["sh", "-c", "echo $0 $1; exit 9", "a b", "--parent=1"]);
    assert_eq!((printed.status.code(), printed.stdout.as_slice()), (Some(9), b"a b --parent=1\n".as_slice()));
    check_refused(&guarded(&[], &["no-such-program-anywhere"]), 127, "no-such-program-anywhere: No such file");
    check_refused(&guarded(&[], &["/proc/self/environ"]), 126, "/proc/self/environ: ");
    check_refused(
        &guarded(&["--group=/no/such/cgroup.procs"], &["true"]),
        125,
        "/no/such/cgroup.procs cannot be joined",
    );
    check_refused(&guarded(&["--open-files=99999999999"], &["true"]), 125, "no limit of 99999999999 open files");
}

#[test]
fn it_takes_no_orders_from_the_dead() {
    let mut shell = Command::new("sh");
    // The guard's parent is the shell, and not the given process.
    let output = shell.args(["-c", "\"$0\" lab-guard --parent=1 -- echo started; exit $?", PROGRAM]).output().unwrap();
    check_refused(&output, 125, "process 1 has ended already");
    assert!(output.stdout.is_empty());
}

#[test]
fn limits_hold_for_the_program() {
    let printed = guarded(&["--open-files=99"], &["sh", "-c", "ulimit -Sn; ulimit -Hn"]);
    assert_eq!(String::from_utf8_lossy(&printed.stdout), "99\n99\n");
}

/// Signals that the guard's own runtime ignores or blocks would be ignored or blocked for ever by the program. Those of
/// numbers 32 and 33 are the C library's own.
#[test]
fn the_program_receives_every_signal() {
    let mask = |output: &Output, name: &str| {
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let digits = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        u64::from_str_radix(digits.trim(), 16).unwrap() & !(0b11 << 31)
    };
    let direct = Command::new("cat").arg("/proc/self/status").output().unwrap();
    let through = guarded(&[], &["cat", "/proc/self/status"]);
    for name in ["SigBlk:", "SigIgn:"] {
        assert_eq!(mask(&through, name), mask(&direct, name), "{name}");
    }
}

#[test]
fn what_a_killed_lab_started_ends_with_it() {
    let script = "\"$0\" lab-guard --parent=$$ -- sh -c 'echo $$; exec sleep 1000' & wait";
    let mut lab =
        Command::new("sh").args(["-c", script, PROGRAM]).stdout(Stdio::piped()).process_group(0).spawn().unwrap();
    let mut words = BufReader::new(lab.stdout.take().unwrap());
    let mut pid = String::new();
    words.read_line(&mut pid).unwrap();
    assert!(std::path::Path::new(&format!("/proc/{}", pid.trim())).exists());
    lab.kill().unwrap();
    assert_eq!(lab.wait().unwrap().signal(), Some(9));
    // The pipe ends when the last process that holds it does.
    assert_eq!(words.read_to_end(&mut Vec::new()).unwrap(), 0);
}

#[test]
fn it_is_no_command_for_people() {
    let help = Command::new(PROGRAM).arg("--help").output().unwrap();
    let help = String::from_utf8_lossy(&help.stdout).into_owned();
    assert!(help.contains("serve") && !help.contains("lab-guard"), "{help}");
}
