//! Texts: JSON of bots and what operators write.

use engine::rows::{AddressPrefix, BanTarget};
use lab::scenario::{Document, Scenario, builtins};
use settings::{Config, DatabaseUrl, Networks, Sources};
use std::net::IpAddr;
use std::path::PathBuf;
use wire::webhook::{IndexReply, MoveReply, Request};

/// What a bot is sent and what it answers, read and written again.
pub(super) fn webhook_json(bytes: &[u8]) {
    macro_rules! check {
        ($($shape:ty),+) => {$(
            if let Ok(value) = serde_json::from_slice::<$shape>(bytes) {
                let text = serde_json::to_vec(&value).expect("what was read can be written");
                assert_eq!(serde_json::from_slice::<$shape>(&text).ok().as_ref(), Some(&value), stringify!($shape));
            }
        )+};
    }
    check!(Request<'_>, IndexReply<'_>, MoveReply<'_>);
}

pub(super) fn webhook_json_seeds() -> Vec<Vec<u8>> {
    let snake = r##"{"id":"1","name":"ann","health":54,"body":[{"x":0,"y":0},{"x":1,"y":0}],"latency":"111","head":{"x":0,"y":0},"length":2,"shout":"hi","squad":"","customizations":{"color":"#26CF8E","head":"safe","tail":"round"}}"##;
    let request = format!(
        r#"{{"game":{{"id":"7","ruleset":{{"name":"standard","version":"v1","settings":{{"foodSpawnChance":15,"minimumFood":1,"hazardDamagePerTurn":14,"royale":{{"shrinkEveryNTurns":25}},"squad":{{"allowBodyCollisions":false}}}}}},"map":"standard","timeout":500,"source":"custom"}},"turn":14,"board":{{"height":11,"width":11,"food":[{{"x":5,"y":5}}],"hazards":[],"snakes":[{snake}]}},"you":{snake}}}"#
    );
    let others = [
        r#"{"move":"up","shout":"caf\u00e9"}"#,
        r##"{"apiversion":"1","author":"ann","color":"#888888","head":"default"}"##,
    ];
    others.into_iter().map(str::to_owned).chain([request]).map(String::into_bytes).collect()
}

/// A configuration file that is taken shows every value, and no value leads to a panic.
pub(super) fn settings_file(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let sources = Sources { file: Some((PathBuf::from("gauntlet.toml"), text.to_owned())), ..Sources::default() };
    match Config::load(&sources) {
        Ok(config) => assert_eq!(config.entries().len(), settings::SETTINGS.len()),
        Err(errors) => assert!(!errors.to_string().is_empty()),
    }
}

/// Every setting with its default, and some others.
pub(super) fn settings_file_seeds() -> Vec<Vec<u8>> {
    let mut file = String::new();
    let mut section = "";
    for setting in settings::SETTINGS {
        let Some((of, key)) = setting.key.split_once('.') else { continue };
        if of != section {
            section = of;
            file += &format!("[{of}]\n");
        }
        file += &format!("{key} = \"{}\"\n", setting.default);
    }
    let small = "[server]\nport = 4000\ninterface = \"0.0.0.0\"\n[http]\ntrusted_proxies = \"10.0.0.0/8, ::1\"\n[store]\nurl = \"postgres://ann:x@h:5432/g?sslmode=require\"\n";
    vec![file.into_bytes(), small.as_bytes().to_vec()]
}

/// Targets of bans and networks of settings: what is read shows as a text that is read as the same.
pub(super) fn addresses(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    if let Ok(prefix) = text.parse::<AddressPrefix>() {
        assert_eq!(prefix.to_string().parse(), Ok(prefix), "a network of a ban");
        assert!(!text.contains('/') || prefix.length() <= 128);
    }
    if let Ok(target) = text.parse::<BanTarget>() {
        assert_eq!(target.to_string().parse(), Ok(target), "the target of a ban");
    }
    if let Some(networks) = Networks::parse(text) {
        assert_eq!(Networks::parse(&networks.to_string()), Some(networks.clone()), "networks of a setting");
        if let Ok(address) = text.parse::<IpAddr>() {
            assert!(networks.contains(address), "an address is in itself");
        }
    }
}

pub(super) fn addresses_seeds() -> Vec<Vec<u8>> {
    let texts = [
        "192.0.2.7",
        "10.0.0.0/8, 2001:db8::/32, 192.0.2.7",
        "::ffff:192.0.2.7",
        "2001:db8:1::/48",
        "address:192.0.2.0/24",
        "guest:0190f3a2-7b1c-7000-8000-000000000001",
        "disabled:0190f3a2-7b1c-7000-8000-000000000001",
    ];
    texts.map(|text| text.as_bytes().to_vec()).into()
}

/// A scenario that is taken is taken again from what one process of the lab hands to another.
pub(super) fn scenario(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    match Document::parse(text).and_then(|document| Scenario::read(&document)) {
        Ok(scenario) => assert!(!scenario.name.is_empty()),
        Err(errors) => assert!(!errors.to_string().is_empty()),
    }
}

/// The built-in ones that are short.
pub(super) fn scenario_seeds() -> Vec<Vec<u8>> {
    builtins().iter().map(|builtin| builtin.toml.as_bytes().to_vec()).filter(|text| text.len() < 3_000).collect()
}

pub(super) fn policies(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    match rate_limit::rules::parse_policies(text, 1_000) {
        Ok(rules) => assert_eq!(rules.lines().len(), rules.policies.len()),
        Err(errors) => assert!(!errors.to_string().is_empty()),
    }
}

pub(super) fn policies_seeds() -> Vec<Vec<u8>> {
    vec![include_bytes!("../../../../examples/policies.toml").to_vec()]
}

/// The address of a database is shown without its password.
pub(super) fn database_url(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let shown = DatabaseUrl::new(text).to_string();
    if let Ok(Some(found)) = store::fuzzing::read_address(text) {
        let letters: Vec<char> = found.password.chars().collect();
        for part in letters.windows(4).map(String::from_iter) {
            // What is shown anyway, or is only the marks of a URL, cannot be told from a part of the password.
            let is_elsewhere = found.others.contains(&part) || "postgresql".contains(&part);
            let is_elsewhere = is_elsewhere || !part.bytes().all(|byte| byte.is_ascii_alphanumeric());
            assert!(is_elsewhere || !shown.contains(&part), "{shown} shows {part} of the password {}", found.password);
        }
    }
}

pub(super) fn database_url_seeds() -> Vec<Vec<u8>> {
    let urls = [
        "postgres://ann:hunter2@host:5432/games?sslmode=verify-full&sslrootcert=/x&connect_timeout=3",
        "postgresql://ann@h1,h2:5433/games?password=hunter2&passfile=%2Fetc%2Fx",
        "host=/run/postgresql user=ann password='hunter 2' dbname=games",
        "postgres://%2Frun%2Fpostgresql/games",
    ];
    urls.map(|text| text.as_bytes().to_vec()).into()
}
