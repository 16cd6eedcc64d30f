//! Generates the messages of `proto/`. JSON is the same shapes under the same names: its attributes are added here.

use std::error::Error;

const PROTO_FILES: [&str; 5] = ["health.proto", "hunt.proto", "otlp.proto", "rls.proto", "world.proto"];

/// Members that JSON leaves out when they have their default: each with the test for it.
const LEFT_OUT_IN_JSON: [(&str, &[&str]); 5] = [
    ("Option::is_none", &["Register.at", "Register.view", "Register.resume", "View.round", "View.score"]),
    (
        "String::is_empty",
        &["Register.world", "Register.token", "Mover.name", "Score.name", "Refused.reason", "Error.address"],
    ),
    (
        "Vec::is_empty",
        &[
            "Hello.capabilities",
            "Round.scores",
            "View.entered",
            "View.moved",
            "View.left",
            "View.trees",
            "View.items",
            "View.items_gone",
            "View.life",
            "View.life_gone",
        ],
    ),
    ("std::ops::Not::not", &["View.is_full"]),
    ("crate::world::json_numbers::is_zero", &["View.radius_x", "View.radius_y"]),
];

/// Members whose JSON is not that of their type.
const JSON_OF_ITS_OWN: [(&str, &str); 6] = [
    ("Resume.key", "text_u64"),
    ("Registered.key", "text_u64"),
    ("Move.step", "enum_name::<crate::world::Step>"),
    ("Item.kind", "enum_name::<crate::world::ItemKind>"),
    ("Grabbed.item", "enum_name::<crate::world::ItemKind>"),
    ("Round.phase", "enum_name::<crate::world::RoundPhase>"),
];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=proto");
    let mut config = prost_build::Config::new();
    config
        .include_file("proto.rs")
        .type_attribute(".gauntlet", "#[derive(serde::Serialize, serde::Deserialize)]")
        .message_attribute(".gauntlet", "#[serde(default)]")
        .enum_attribute(".gauntlet", r#"#[serde(rename_all = "snake_case")]"#)
        .boxed(".gauntlet.world.v1.ServerFrame.what.view");
    for (is_default, members) in LEFT_OUT_IN_JSON {
        for member in members {
            config.field_attribute(member, format!(r#"#[serde(skip_serializing_if = "{is_default}")]"#));
        }
    }
    for (member, module) in JSON_OF_ITS_OWN {
        config.field_attribute(member, format!(r#"#[serde(with = "crate::world::json_numbers::{module}")]"#));
    }
    config.compile_fds(protox::compile(PROTO_FILES, ["proto"])?)?;
    Ok(())
}
