//! x
#[test]
fn scratch() {
    let Ok(dirs) = std::env::var("FDIRS") else { return };
    for dir in dirs.split_whitespace() {
        let timeline = crate::record::read_timeline(&std::path::Path::new(dir).join("timeline2.jsonl")).unwrap();
        let text = std::fs::read_to_string(format!("{dir}/run.json")).unwrap();
        let run: crate::report::Run = serde_json::from_str(&text).unwrap();
        let signals = Default::default();
        let input = super::Input {
            results: &run.results,
            parts: &run.parts,
            errors: &run.errors,
            timeline: &timeline,
            signals: &signals,
            machine: &run.machine,
            limits: Default::default(),
            pressure: Default::default(),
            deaths: &[],
            workers: 1,
        };
        println!("== {dir} {} {:?} notes {:?}", timeline.series.len(), run.scenario.settings, timeline.notes);
        for finding in super::findings(&input) {
            println!("{}", serde_json::to_string_pretty(&finding).unwrap());
        }
    }
}
