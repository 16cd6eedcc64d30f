//! The walk-through by `curl` in docs/stories.md, run as it is written: what a newcomer copies must work.

use crate::support::Folder;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// The server's address in that page.
const WRITTEN_ADDRESS: &str = "127.0.0.1:4000";

/// What the page gives to be typed: its blocks that are marked `sh`, one after the other.
fn script(page: &str) -> String {
    let mut script = String::new();
    let mut is_inside = false;
    for line in page.lines() {
        match line {
            "```sh" => is_inside = true,
            "```" => is_inside = false,
            line if is_inside => script.extend([line, "\n"]),
            _ => {}
        }
    }
    script
}

#[test]
fn the_stories_page_can_be_played_as_it_is_written() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/stories.md");
    let script = script(&std::fs::read_to_string(page).unwrap());
    assert!(script.contains(WRITTEN_ADDRESS), "the walk begins somewhere else: {script}");
    let folder = Folder::new();
    let mut server = folder.serve("");
    let script = script.replace(WRITTEN_ADDRESS, &server.address().to_string());
    let played = Command::new("bash").arg("-euo").arg("pipefail").arg("-c").arg(&script).output().unwrap();
    let printed = String::from_utf8(played.stdout).unwrap();
    assert!(played.status.success(), "{printed}{}", String::from_utf8_lossy(&played.stderr));
    let answers: Vec<Value> = printed.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let refused: Vec<_> = answers.iter().filter(|answer| answer["code"].is_string()).collect();
    assert!(refused.is_empty(), "refused: {refused:#?}");
    let phases: Vec<_> = answers.iter().filter_map(|answer| answer["game"]["phase"].as_str()).collect();
    for phase in ["create", "invitation", "vote", "complete"] {
        assert!(phases.contains(&phase), "no answer shows the phase {phase}: {printed}");
    }
    assert!(printed.trim_end().ends_with("</svg>"), "the walk ends with the picture of a card: {printed}");
    assert_eq!(server.stop(), Some(0), "{}", server.log());
}
