//! The pages of `console/`, as npm built them, inside the program. A build without npm has none and works: whoever asks for a
//! page is told how to get it. Knows files; refuses to know routes and browsers.

use rust_embed::Embed;
use std::borrow::Cow;

#[derive(Embed)]
#[folder = "../../console/dist/site"]
#[allow_missing = true]
struct Site;

/// Where the names of files carry a digest of their content, so that a name never means anything else.
const HASHED: &str = "assets/";

/// A file of the console.
#[derive(Clone, Debug)]
pub struct Asset {
    /// What is in it.
    pub bytes: Cow<'static, [u8]>,
    /// Of its content, by the ending of its name.
    pub content_type: &'static str,
    /// A digest of its content.
    pub digest: [u8; 32],
    /// Whether this name will never have another content.
    pub is_immutable: bool,
}

/// The file of this name, with `/` between folders. `None` where there is none, or where the program was built without any.
#[must_use]
pub fn asset(name: &str) -> Option<Asset> {
    let file = Site::get(name)?;
    Some(Asset {
        bytes: file.data,
        content_type: content_type(name),
        digest: file.metadata.sha256_hash(),
        is_immutable: name.starts_with(HASHED),
    })
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, ending)| ending) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("json") => "application/json",
        Some("woff2") => "font/woff2",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, want: &str) {
        assert_eq!(content_type(name), want, "{name}");
    }

    #[test]
    fn endings_tell_what_a_file_is() {
        check("world.html", "text/html; charset=utf-8");
        check("assets/world-C9gdTdsp.js", "text/javascript; charset=utf-8");
        check("assets/world.min.css", "text/css; charset=utf-8");
        check("assets/icon.svg", "image/svg+xml");
        check("assets/html", "application/octet-stream");
        check("assets/world.exe", "application/octet-stream");
    }

    #[test]
    fn only_names_of_files_are_files() {
        for name in ["", "/", "..", "../package.json", "assets", "assets/", "assets/../../package.json", "nothing.html"]
        {
            assert!(asset(name).is_none(), "{name:?}");
        }
    }

    #[test]
    fn all_pages_together_come_in_a_second_over_a_slow_line() {
        let bytes: usize = Site::iter().filter_map(|name| asset(&name)).map(|asset| asset.bytes.len()).sum();
        assert!(bytes <= 128 * 1024, "{bytes} bytes of pages, without compression: a megabit a second brings 128 KiB");
    }

    #[test]
    fn every_file_that_was_built_is_there() {
        for name in Site::iter() {
            let asset = asset(&name).unwrap();
            assert!(!asset.bytes.is_empty(), "{name}");
            assert_ne!(asset.content_type, "application/octet-stream", "{name}");
            assert_eq!(asset.is_immutable, name != "world.html", "{name}");
        }
    }
}
