//! What a package takes from the program: completions for each shell, and a man page for each command.

use crate::support::Folder;

/// The completions of this shell must have each of these.
#[track_caller]
fn check(shell: &str, want: &[&str]) {
    let output = Folder::new().command(&format!("completions {shell}")).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{shell}: {}", String::from_utf8_lossy(&output.stderr));
    for part in want {
        assert!(text.contains(part), "{shell}: {part:?} is missing");
    }
    assert!(!text.contains("lab-worker") && !text.contains("lab-guard"), "{shell}: hidden commands are shown");
}

#[test]
fn shells_complete_commands_and_flags() {
    check("bash", &["complete -F _gauntlet", "serve", "--drain-delay-ms", "health"]);
    check("zsh", &["#compdef gauntlet", "--drain-delay-ms", "health"]);
    check("fish", &["complete -c gauntlet", "drain-delay-ms", "health"]);
}

#[test]
fn an_unknown_shell_is_usage() {
    let output = Folder::new().command("completions csh").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("bash"), "the known ones are named");
}

#[test]
fn every_command_has_a_man_page() {
    let folder = Folder::new();
    let output = folder.command("manual share/man1").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let help = String::from_utf8(folder.command("--help").output().unwrap().stdout).unwrap();
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands: Vec<_> = commands.take_while(|line| !line.is_empty()).filter(|line| line.starts_with("  ")).collect();
    let names =
        commands.iter().filter(|line| !line.starts_with("   ")).filter_map(|line| line.split_whitespace().next());
    let names: Vec<_> = names.filter(|name| *name != "help").collect();
    assert!(names.contains(&"serve") && names.contains(&"sweep"), "{help}");
    for name in names {
        let page = std::fs::read_to_string(folder.path().join(format!("share/man1/gauntlet-{name}.1")));
        let page = page.unwrap_or_else(|error| panic!("{name} has no page: {error}"));
        assert!(page.contains(".TH ") && page.contains("SYNOPSIS"), "{name}");
    }
    assert!(folder.path().join("share/man1/gauntlet.1").exists());
    assert!(folder.path().join("share/man1/gauntlet-token-create.1").exists(), "also of commands within commands");
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let folder = Folder::new();
    folder.write("taken", "");
    let output = folder.command("manual taken").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot be written into taken"));
}
