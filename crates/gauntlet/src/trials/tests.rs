use super::*;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// A folder of runs, removed at the end.
struct TestFolder(PathBuf);

const START: &str = r#"{"format":3,"id":"a","scenario":{"name":"demo","summary":"s","hash":"","seed":1,"settings":[],"target":"http://t"},"started_at":"2026-01-31T12:00:00Z","machine":{}}"#;

/// A sweep of two runs, of which one is over and the other goes on.
const SWEEP: &str = r#"{"format":1,"id":"a","program":"","scenario":{"name":"demo","summary":"s","settings":[],"target":null,"seed":1},
    "started_at":"2026-01-31T12:00:00Z","duration_s":9.5,"runs_planned":2,"rounds_made":0,
    "runs":[{"id":"20260131-120001-aaaa","round":0,"combination":1,"verdict":"passed","objective":7.5,"failure":null}],
    "running":{"id":"20260131-120002-aaaa","round":0,"combination":0,"verdict":null,"objective":null,"failure":null},
    "verdict":null,"keys":["think_ms"],"objective":"game finished, /min","rounds":1,"best":null,"rows":[
        {"values":["1"],"runs":0,"passed":0,"objective":{"median":null,"range":null},"cpu_s":{"median":null,"range":null},"rss_bytes":{"median":null,"range":null},"ranking":"failed","notes":[]},
        {"values":["30"],"runs":1,"passed":1,"objective":{"median":7.5,"range":null},"cpu_s":{"median":null,"range":null},"rss_bytes":{"median":null,"range":null},"ranking":"failed","notes":[]}]}"#;

impl TestFolder {
    fn new(name: &str) -> Self {
        let folder = Self(std::env::temp_dir().join(format!("gauntlet-trials-{name}-{}", std::process::id())));
        let _ = fs::remove_dir_all(&folder.0);
        fs::create_dir_all(&folder.0).unwrap();
        folder
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Nothing was written to this file for a while.
    fn age(&self, path: &str) {
        let old = std::time::SystemTime::now() - 2 * lab::limits::INTERRUPTED_AFTER;
        fs::File::options().write(true).open(self.0.join(path)).unwrap().set_modified(old).unwrap();
    }

    fn trials(&self) -> Arc<ServerTrials> {
        ServerTrials::of(&config(Some(&self.0))).unwrap().unwrap()
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn config(dir: Option<&Path>) -> Config {
    let mut config = Config::default();
    config.trials_dir = dir.map(Path::to_owned);
    config
}

#[track_caller]
fn check(trials: &ServerTrials, name: &str, want: &TrialRefusal) {
    assert_eq!(trials.report(name).as_ref().unwrap_err(), want, "{name:?}");
    assert_eq!(trials.comparison(name, name).as_ref().unwrap_err(), want, "{name:?}");
}

#[test]
fn what_is_no_run_is_refused() {
    let folder = TestFolder::new("refused");
    let secret = TestFolder::new("secret");
    secret.write("run.json", "secret");
    folder.write("empty/notes.txt", "");
    folder.write("file", "");
    folder.write("large/run.json", &" ".repeat(usize::try_from(TRIAL_RECORD_BYTES_MAX).unwrap() + 1));
    folder.write("linked/start.json", START);
    folder.write("folder/run.json/x", "");
    symlink(secret.0.join("run.json"), folder.0.join("linked/run.json")).unwrap();
    symlink(&secret.0, folder.0.join("away")).unwrap();
    folder.write("large-sweep/sweep.json", &" ".repeat(usize::try_from(TRIAL_RECORD_BYTES_MAX).unwrap() + 1));
    folder.write("linked-sweep/notes.txt", "");
    symlink(secret.0.join("run.json"), folder.0.join("linked-sweep/sweep.json")).unwrap();
    folder.write("folder-sweep/sweep.json/x", "");
    let trials = folder.trials();
    for name in ["", ".", "..", "../secret", "none", "empty", "file", "away", "/etc", "A"] {
        check(&trials, name, &TrialRefusal::NoSuchRun);
    }
    check(&trials, "large", &TrialRefusal::TooLarge);
    let no_file = TrialRefusal::Unreadable("run.json is no plain file".to_owned());
    check(&trials, "linked", &no_file);
    check(&trials, "folder", &no_file);
    check(&trials, "large-sweep", &TrialRefusal::TooLarge);
    let no_file = TrialRefusal::Unreadable("sweep.json is no plain file".to_owned());
    check(&trials, "linked-sweep", &no_file);
    check(&trials, "folder-sweep", &no_file);
}

#[test]
fn a_sweep_is_listed_and_read_and_not_compared() {
    let folder = TestFolder::new("sweep");
    let [sweep, run] = ["20260131-120000-aaaa", "20260131-120002-aaaa"];
    folder.write(&format!("{sweep}/sweep.json"), SWEEP);
    let trials = folder.trials();
    let state = || {
        let row = trials.runs(None, 9).unwrap().pop().unwrap();
        assert_eq!((row.name.as_str(), row.kind, row.scenario.as_deref()), (sweep, TrialKind::Sweep, Some("demo")));
        let document: Value = serde_json::from_slice(&trials.report(sweep).unwrap()).unwrap();
        assert_eq!((&document["kind"], &document["format"]), (&"sweep".into(), &1.into()));
        assert_eq!(document["is_running"], row.state == TrialState::Running);
        (row.state, row.verdict, row.runs_made, row.runs_planned)
    };
    let (made, planned) = (Some(1), Some(2));
    assert_eq!(state(), (TrialState::Running, None, made, planned));
    folder.age(&format!("{sweep}/sweep.json"));
    assert_eq!(state(), (TrialState::Interrupted, None, made, planned));
    // What it was written before is old; what its run writes is not.
    folder.write(&format!("{run}/start.json"), START);
    assert_eq!(state(), (TrialState::Running, None, made, planned));
    assert_eq!(trials.stop(sweep), Err(TrialRefusal::NotRunning));
    folder.age(&format!("{run}/start.json"));
    assert_eq!(state(), (TrialState::Interrupted, None, made, planned));
    folder.write(
        &format!("{sweep}/sweep.json"),
        &SWEEP.replace("\"verdict\":null,\"keys\"", "\"verdict\":\"failed\",\"keys\""),
    );
    assert_eq!(state(), (TrialState::Over, Some("failed".to_owned()), made, planned));
    let refused = trials.comparison(sweep, run).unwrap_err();
    assert!(
        matches!(&refused, TrialRefusal::Incomparable(reason) if reason.contains("is a sweep: compare two of its runs")),
        "{refused:?}"
    );
}

#[test]
fn what_a_sweep_says_of_itself_is_not_trusted() {
    let folder = TestFolder::new("strange");
    let secret = TestFolder::new("beside");
    secret.write("start.json", START);
    let beside = format!("../{}", secret.0.file_name().unwrap().to_str().unwrap());
    for (name, from, to) in [
        ("a", "\"best\":null", "\"best\":7"),
        ("b", "[\"30\"]", "[]"),
        ("c", "\"format\":1", "\"format\":2"),
        ("d", "\"rows\":[", "\"rows\":[7,"),
    ] {
        folder.write(&format!("{name}/sweep.json"), &SWEEP.replace(from, to));
        let refused = folder.trials().report(name).unwrap_err();
        assert!(matches!(refused, TrialRefusal::Unreadable(_)), "{name}: {refused:?}");
    }
    // A name of a run that leads elsewhere keeps no sweep going.
    folder.write("e/sweep.json", &SWEEP.replace("20260131-120002-aaaa", &beside));
    folder.age("e/sweep.json");
    assert_eq!(folder.trials().runs(None, 1).unwrap()[0].state, TrialState::Interrupted);
}

#[test]
fn a_run_without_a_record_is_not_compared() {
    let folder = TestFolder::new("cut");
    folder.write("a/start.json", START);
    let refused = folder.trials().comparison("a", "a").unwrap_err();
    assert!(
        matches!(&refused, TrialRefusal::Incomparable(reason) if reason.starts_with("a has no record yet")),
        "{refused:?}"
    );
}

#[test]
fn runs_are_listed_newest_first_and_page_by_page() {
    let folder = TestFolder::new("list");
    for name in ["20260101-000000-aaaa", "20260102-000000-aaaa", "20260103-000000-aaaa"] {
        folder
            .write(&format!("{name}/run.json"), &START.replace("\"format\":3", "\"format\":3,\"verdict\":\"passed\""));
    }
    folder.write("20260104-000000-aaaa/run.json", "{");
    folder.write("20260105-000000-aaaa/start.json", START);
    folder.write("Notes/run.json", START);
    folder.write("other/notes.txt", "");
    let trials = folder.trials();
    let page = |after: Option<&str>, limit: usize| {
        let rows = trials.runs(after, limit).unwrap();
        rows.into_iter().map(|row| (row.name[6..8].to_owned(), row.state, row.verdict)).collect::<Vec<_>>()
    };
    use TrialState::{Interrupted, Over, Running, Unreadable};
    let row = |day: &str, state: TrialState| (day.to_owned(), state, (state == Over).then(|| "passed".to_owned()));
    assert_eq!(page(None, 3), [row("05", Running), row("04", Unreadable), row("03", Over)]);
    assert_eq!(page(Some("20260103-000000-aaaa"), 3), [row("02", Over), row("01", Over)]);
    assert_eq!(page(Some("20260101-000000-aaaa"), 3), []);
    folder.age("20260105-000000-aaaa/start.json");
    assert_eq!(page(None, 1), [row("05", Interrupted)]);
}

#[test]
fn what_may_not_be_started_is_refused() {
    let folder = TestFolder::new("start");
    let mut config = config(Some(&folder.0));
    config.trials_targets = settings::Targets(vec!["http://127.0.0.1:1".to_owned()]);
    let trials = ServerTrials::of(&config).unwrap().unwrap();
    let start = |scenario: &str, target: Option<&str>| trials.start(scenario, target).unwrap_err();
    assert_eq!(start("../demo", None), TrialRefusal::UnknownScenario);
    assert_eq!(start("demo", Some("http://127.0.0.1:2")), TrialRefusal::UnknownTarget);
    assert_eq!(start("demo", Some("http://127.0.0.1:1/")), TrialRefusal::UnknownTarget);
    let needs = trials.overview().scenarios.into_iter().find(|scenario| !scenario.has_own_server);
    if let Some(scenario) = needs {
        assert_eq!(start(&scenario.name, None), TrialRefusal::TargetNeeded);
    }
    folder.write("gauntlet.toml", "");
    assert!(matches!(start("demo", None), TrialRefusal::Folder(_)));
    assert_eq!(trials.overview().running, None);
}

#[test]
fn only_what_runs_here_is_stopped() {
    let folder = TestFolder::new("stop");
    folder.write("20260101-000000-aaaa/start.json", START);
    let trials = folder.trials();
    assert_eq!(trials.stop("20260101-000000-aaaa"), Err(TrialRefusal::NotRunning));
    assert_eq!(trials.stop("20260102-000000-aaaa"), Err(TrialRefusal::NoSuchRun));
}

#[test]
fn without_a_folder_there_are_no_trials() {
    let of = |dir: Option<&Path>| ServerTrials::of(&config(dir)).map(|found| found.is_some());
    assert!(!of(None).unwrap());
    assert!(of(Some(Path::new("/no/such/folder"))).is_err());
    let folder = TestFolder::new("none");
    folder.write("file", "");
    assert!(of(Some(&folder.0.join("file"))).is_err());
}
