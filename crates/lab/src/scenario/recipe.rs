//! A scenario as it was put together: the text and everything that was set, in order. What a process of the lab hands
//! to another one, so that both read the same scenario. Refuses to know who needs it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::document::Document;
use super::mistakes::Mistakes;

/// How a document was put together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recipe {
    pub(crate) text: String,
    pub(crate) changes: Vec<Change>,
}

/// Something that was changed in a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Change {
    Set(String),
    Target(String),
    Port(String, u16),
    File(String, String),
}

impl Recipe {
    /// The files that it names, by the names that it gives them.
    #[must_use]
    pub fn files(&self) -> BTreeMap<&str, &str> {
        let mut files = BTreeMap::new();
        for change in &self.changes {
            if let Change::File(name, text) = change {
                files.insert(name.as_str(), text.as_str());
            }
        }
        files
    }

    /// The document once more.
    ///
    /// # Errors
    /// As when it was put together first.
    pub fn document(&self) -> Result<Document, Mistakes> {
        let mut document = Document::parse(&self.text)?;
        for change in &self.changes {
            match change {
                Change::Set(setting) => document.set(setting)?,
                Change::Target(url) => document.set_target(url),
                Change::Port(variable, port) => document.set_port(variable, *port),
                Change::File(name, text) => document.add_file(name, text),
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
    fn a_recipe_makes_the_same_document_again() {
        let mut document = Document::parse(TEXT).unwrap();
        document.set("target.ready=/up").unwrap();
        document.set_target("http://127.0.0.1:9");
        document.set_port("port", 4000);
        let text = serde_json::to_string(&document.recipe()).unwrap();
        let again = serde_json::from_str::<Recipe>(&text).unwrap().document().unwrap();
        assert_eq!((again.recipe(), again.hash()), (document.recipe(), document.hash()));
        assert_eq!((again.free_ports(), again.settings()), (Vec::new(), document.settings()));
    }
}
