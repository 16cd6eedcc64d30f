use std::io::Read as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::*;

const MIB: u64 = 1024 * 1024;

/// The limits in force, or none if the machine does not allow them: then this checks the refusal, and that this process
/// could not have created the groups either.
#[track_caller]
fn apply(limits: &TargetLimits, run: &str) -> Option<TargetCgroups> {
    match TargetCgroups::apply(limits, run) {
        Ok(cgroups) => Some(cgroups.expect("something is limited")),
        Err(refusal) => {
            assert!(refusal.starts_with("[target.limits] "), "{refusal}");
            assert!(refusal.contains("or take the limit out of the scenario"), "{refusal}");
            let able = controller_limits(limits).unwrap().iter().all(|limit| is_able(*limit));
            assert!(!able, "this process may write control groups, yet: {refusal}");
            None
        }
    }
}

/// Whether a group can be created and limited by hand.
fn is_able(limit: ControllerLimit) -> bool {
    let read = |path: &str| fs::read_to_string(path).unwrap();
    let Some(own) = find_own_cgroup(&read("/proc/self/mountinfo"), &read("/proc/self/cgroup"), limit.controller())
    else {
        return false;
    };
    let dir = own.dir.join(format!("lab-test-{}", std::process::id()));
    let is_made = fs::create_dir(&dir).is_ok();
    let is_limited = is_made && dir.join(limit.files(own.version)[0].name).exists();
    let _ = fs::remove_dir(&dir);
    is_limited
}

/// A shell that joins the groups and then runs the script.
fn confined_shell(cgroups: &TargetCgroups, script: &str) -> Child {
    let joins: String = cgroups.procs_files().iter().map(|file| format!("echo 0 > '{}'; ", file.display())).collect();
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{joins}{script}")]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
}

fn dirs(cgroups: &TargetCgroups) -> Vec<PathBuf> {
    cgroups.groups.iter().map(|group| group.dir().to_owned()).collect()
}

#[test]
fn memory_beyond_the_limit_is_refused_by_the_kernel_and_counted() {
    let limits = TargetLimits { memory_bytes: Some(8 * MIB), ..TargetLimits::default() };
    let Some(cgroups) = apply(&limits, "memory") else { return };
    assert_eq!(cgroups.applied().memory_bytes, Some(8 * MIB));
    // The last line of an endless line is all of it.
    let mut shell = confined_shell(&cgroups, "head -c 64M /dev/zero | tail | wc -c; exit 3");
    shell.wait().unwrap();
    let stats = cgroups.stats();
    assert!(stats.oom_kills.is_some_and(|kills| kills >= 1), "{stats:?}");
    assert!(stats.memory_peak_bytes.is_none_or(|peak| peak <= 8 * MIB), "{stats:?}");
    assert!(stats.memory_limit_hits.is_none_or(|hits| hits >= 1), "{stats:?}");
}

#[test]
fn a_share_of_a_processor_is_given_in_short_periods() {
    let limits = TargetLimits { cpu_cores: Some(0.25), ..TargetLimits::default() };
    let Some(cgroups) = apply(&limits, "cpu") else { return };
    assert_eq!(cgroups.applied().cpu, Some(Quota { quota_us: 1250, period_us: 5000 }));
    // On a busy machine it takes a while until the quota delays it, and not other processes.
    let mut shell = confined_shell(&cgroups, "while :; do :; done");
    let throttled = |stats: &LimitStats| {
        stats.cpu_throttled_periods.is_some_and(|periods| periods >= 1)
            && stats.cpu_throttled_us.is_some_and(|micros| micros > 0)
    };
    let deadline = Instant::now() + Duration::from_secs(60);
    while !throttled(&cgroups.stats()) && Instant::now() < deadline {
        std::thread::yield_now();
    }
    shell.kill().unwrap();
    shell.wait().unwrap();
    let stats = cgroups.stats();
    assert!(throttled(&stats), "{stats:?}");
    assert!(stats.cpu_periods >= stats.cpu_throttled_periods, "{stats:?}");
}

#[test]
fn groups_go_with_everything_that_is_in_them() {
    let limits = TargetLimits { memory_bytes: Some(64 * MIB), cpu_cores: Some(1.0), open_files: Some(9) };
    let Some(cgroups) = apply(&limits, "removed") else { return };
    assert_eq!(cgroups.applied().open_files, Some(9));
    let mut shell = confined_shell(&cgroups, "echo; read line");
    shell.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    let dirs = dirs(&cgroups);
    assert!(!dirs.is_empty() && dirs.iter().all(|dir| dir.exists()));
    drop(cgroups);
    assert_eq!(shell.wait().unwrap().signal(), Some(9));
    assert!(!dirs.iter().any(|dir| dir.exists()), "{dirs:?}");
}

#[test]
fn the_next_run_removes_what_a_killed_one_left_and_nothing_else() {
    let limits = TargetLimits { memory_bytes: Some(64 * MIB), ..TargetLimits::default() };
    let Some(living) = apply(&limits, "living") else { return };
    let stale = stale_of(&living);
    let shell = Command::new("sh")
        .args(["-c", &format!("echo 0 > '{}'; echo; read line", stale.join("cgroup.procs").display())])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut shell = shell.unwrap();
    shell.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    remove_stale(&dirs(&living)[0]);
    assert_eq!(shell.wait().unwrap().signal(), Some(9));
    assert!(!stale.exists());
    let dir = &dirs(&living)[0];
    assert!(dir.join(dir.file_name().unwrap()).exists());
}

/// A group of a lab with this one's id that started at another time. It lies below this one's, where no other test
/// looks for what is stale; beside it lies one that is not.
fn stale_of(living: &TargetCgroups) -> PathBuf {
    let dir = &dirs(living)[0];
    let name = dir.file_name().unwrap().to_str().unwrap();
    let started = crate::machine::start_ticks(std::process::id()).unwrap().to_string();
    let stale = dir.join(name.replace(&format!("-{started}-"), "-1-"));
    [&stale, &dir.join(name)].into_iter().for_each(|dir| fs::create_dir(dir).unwrap());
    stale
}

#[test]
fn what_needs_no_group_gets_none() {
    let files = TargetLimits { open_files: Some(64), ..TargetLimits::default() };
    assert!(TargetCgroups::apply(&TargetLimits::default(), "none").unwrap().is_none());
    assert!(TargetCgroups::apply(&files, "none").unwrap().is_none());
}

#[track_caller]
fn check_share(cpu_share: f64) {
    let limits = TargetLimits { cpu_cores: Some(cpu_share), ..TargetLimits::default() };
    let refusal = TargetCgroups::apply(&limits, "share").unwrap_err();
    assert!(refusal.contains("at least 0.001 cores"), "{refusal}");
}

#[test]
fn shares_that_no_kernel_gives_are_refused() {
    [0.0, -1.0, 0.0009, f64::NAN, f64::INFINITY].into_iter().for_each(check_share);
}

#[track_caller]
fn check_words(version: Option<Version>, part: &str) {
    let words = unavailable("memory", "/x: Permission denied (os error 13)", version);
    assert!(words.starts_with("[target.limits] memory cannot be held: /x: Permission denied"), "{words}");
    assert!(words.contains(part), "{part} in: {words}");
}

#[test]
fn refusals_say_what_to_do() {
    check_words(Some(Version::V1), "as root");
    check_words(Some(Version::V2), "systemd-run --user --scope -p Delegate=yes");
    check_words(None, "a kernel with control groups");
}

#[test]
fn a_controller_that_is_not_there_is_not_handed_down() {
    let dir = std::env::temp_dir().join(format!("lab-cgroup-{}", std::process::id()));
    fs::create_dir_all(&dir).unwrap();
    let hand = |available: &str, already: &str| {
        fs::write(dir.join("cgroup.controllers"), available).unwrap();
        fs::write(dir.join("cgroup.subtree_control"), already).unwrap();
        EnabledControllers::new(Path::new(&dir), &["memory", "cpu"], "aside").map(|handed| handed.is_some())
    };
    assert!(hand("memory pids\n", "").unwrap_err().starts_with("the controller `cpu` is not handed to "));
    assert_eq!(hand("cpu memory\n", "memory cpu\n"), Ok(false));
    assert_eq!(hand("cpu memory\n", "memory\n"), Ok(true));
    assert!(fs::read_to_string(dir.join("cgroup.subtree_control")).unwrap().starts_with("+cpu"));
    fs::remove_dir_all(dir).unwrap();
}
