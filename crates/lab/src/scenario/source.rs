//! A scenario as it was put together: the text and every change, in order. One process of the lab hands it to another,
//! so that both read the same scenario. Does not know the receiver.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::document::Document;
use super::validation::ValidationErrors;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScenarioSource {
    pub(crate) text: String,
    pub(crate) changes: Vec<SourceChange>,
}

/// A change to a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SourceChange {
    Set(String),
    Target(String),
    Port(String, u16),
    File(String, String),
}

impl ScenarioSource {
    /// The files that it names: name and content.
    #[must_use]
    pub fn files(&self) -> BTreeMap<&str, &str> {
        let mut files = BTreeMap::new();
        for change in &self.changes {
            if let SourceChange::File(name, text) = change {
                files.insert(name.as_str(), text.as_str());
            }
        }
        files
    }

    /// Builds the document again.
    ///
    /// # Errors
    /// Those of the first time.
    pub fn rebuild(&self) -> Result<Document, ValidationErrors> {
        let mut document = Document::parse(&self.text)?;
        for change in &self.changes {
            match change {
                SourceChange::Set(setting) => document.set(setting)?,
                SourceChange::Target(url) => document.set_target(url),
                SourceChange::Port(variable, port) => document.set_port(variable, *port),
                SourceChange::File(name, text) => document.add_file(name, text),
            }
        }
        Ok(document)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "format = 1\n[vars]\nport = \"free\"\n[target]\nurl = \"http://127.0.0.1:{{port}}\"\n";

    #[test]
    fn a_source_rebuilds_the_same_document() {
        let mut document = Document::parse(TEXT).unwrap();
        document.set("target.ready=/up").unwrap();
        document.set_target("http://127.0.0.1:9");
        document.set_port("port", 4000);
        let text = serde_json::to_string(&document.source()).unwrap();
        let again = serde_json::from_str::<ScenarioSource>(&text).unwrap().rebuild().unwrap();
        assert_eq!((again.source(), again.hash()), (document.source(), document.hash()));
        assert_eq!((again.free_port_variables(), again.settings()), (Vec::new(), document.settings()));
    }
}
