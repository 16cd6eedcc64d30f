//! The pages of `console/`, as npm built them, inside the program, and the template of a trial's report. A build without npm has
//! none and works: a visitor who asks for a page is told how to get it. Knows files and their compressed forms; refuses to know routes
//! and browsers.

use rust_embed::Embed;
use std::borrow::Cow;

#[derive(Embed)]
#[folder = "../../console/dist/site"]
#[allow_missing = true]
struct Site;

/// The page of a trial's report: one file, whose slots the lab fills.
#[derive(Embed)]
#[folder = "../../console/dist/report"]
#[allow_missing = true]
struct Report;

/// What the template of a report has once each, in this order: where its title, the page for readers without JavaScript, and
/// the document of the run go.
pub const REPORT_SLOTS: [&str; 3] = ["{{report title}}", "{{report without scripts}}", "{{report document}}"];

/// The template of a report; `None` where the program was built without pages.
#[must_use]
pub fn report_template() -> Option<Cow<'static, str>> {
    match Report::get("report.html")?.data {
        Cow::Borrowed(bytes) => std::str::from_utf8(bytes).ok().map(Cow::Borrowed),
        Cow::Owned(bytes) => String::from_utf8(bytes).ok().map(Cow::Owned),
    }
}

/// Where the names of files carry a digest of their content, so that a name never means anything else.
const HASHED: &str = "assets/";

/// The ending of the compressed form of a file, which the build writes beside it where that is smaller.
const BROTLI: &str = ".br";

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
    /// Whether `bytes` are compressed with Brotli (RFC 7932).
    pub is_brotli: bool,
}

/// The file of this name, with `/` between folders; in its compressed form where the browser takes that and there is one. `None`
/// where there is no such file, or where the program was built without any.
#[must_use]
pub fn asset(name: &str, takes_brotli: bool) -> Option<Asset> {
    if name.ends_with(BROTLI) {
        return None;
    }
    let compressed = takes_brotli.then(|| Site::get(&format!("{name}{BROTLI}"))).flatten();
    let is_brotli = compressed.is_some();
    let file = compressed.or_else(|| Site::get(name))?;
    Some(Asset {
        bytes: file.data,
        content_type: content_type(name),
        digest: file.metadata.sha256_hash(),
        is_immutable: name.starts_with(HASHED),
        is_brotli,
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
    use serde_json::Value;
    use std::collections::BTreeSet;

    const DOCUMENT: &str = "index.html";

    #[track_caller]
    fn check(name: &str, want: &str) {
        assert_eq!(content_type(name), want, "{name}");
    }

    #[test]
    fn endings_tell_what_a_file_is() {
        check("index.html", "text/html; charset=utf-8");
        check("assets/world-C9gdTdsp.js", "text/javascript; charset=utf-8");
        check("assets/world.min.css", "text/css; charset=utf-8");
        check("assets/icon.svg", "image/svg+xml");
        check("assets/html", "application/octet-stream");
        check("assets/world.exe", "application/octet-stream");
    }

    /// The files, without their compressed forms.
    fn names() -> impl Iterator<Item = Cow<'static, str>> {
        Site::iter().filter(|name| !name.ends_with(BROTLI))
    }

    #[test]
    fn only_names_of_files_are_files() {
        let compressed = Site::iter().find(|name| name.ends_with(BROTLI)).unwrap_or_default();
        for name in [
            "",
            "/",
            "..",
            "../package.json",
            "assets",
            "assets/",
            "assets/../../package.json",
            "nothing.html",
            &compressed,
        ] {
            assert!(asset(name, false).is_none() && asset(name, true).is_none(), "{name:?}");
        }
    }

    /// What the build says of each of its modules: its file, the styles and modules that come with it, and those that come later.
    fn manifest() -> Value {
        let manifest = asset("manifest.json", false).expect("the build writes it");
        serde_json::from_slice(&manifest.bytes).unwrap()
    }

    fn members<'v>(module: &'v Value, name: &str) -> impl Iterator<Item = &'v str> {
        module[name].as_array().into_iter().flatten().filter_map(Value::as_str)
    }

    /// Adds the files that a module cannot do without.
    fn add_files<'m>(manifest: &'m Value, module: &str, files: &mut BTreeSet<&'m str>) {
        let module = &manifest[module];
        if module["file"].as_str().is_some_and(|file| files.insert(file)) {
            files.extend(members(module, "css"));
            members(module, "imports").for_each(|import| add_files(manifest, import, files));
        }
    }

    fn compressed_bytes<'f>(files: impl IntoIterator<Item = &'f str>) -> usize {
        files.into_iter().map(|file| asset(file, true).unwrap().bytes.len()).sum()
    }

    /// The document, the modules that every page begins with, and the largest page: what comes later, such as the drawing of charts and pictures
    /// of maps, comes beside what is shown already.
    #[test]
    fn the_first_view_comes_in_a_second_over_a_slow_line() {
        if asset(DOCUMENT, false).is_none() {
            return;
        }
        let manifest = manifest();
        let mut shared = BTreeSet::from([DOCUMENT]);
        add_files(&manifest, DOCUMENT, &mut shared);
        let page_bytes = |page: &str| {
            let mut files = shared.clone();
            add_files(&manifest, page, &mut files);
            compressed_bytes(files.difference(&shared).copied())
        };
        let pages = members(&manifest[DOCUMENT], "dynamicImports").map(|page| (page_bytes(page), page));
        let (largest, page) = pages.max().expect("pages are loaded when they are opened");
        let bytes = compressed_bytes(shared.iter().copied()) + largest;
        assert!(bytes <= 200 * 1024, "{bytes} bytes with {page}, compressed: 1.6 Mbit/s bring 200 KiB in a second");
    }

    #[test]
    fn a_reports_template_has_each_slot_once_and_in_order() {
        let Some(template) = report_template() else { return };
        let places = REPORT_SLOTS.map(|slot| template.match_indices(slot).map(|(at, _)| at).collect::<Vec<_>>());
        assert!(places.iter().all(|places| places.len() == 1) && places.is_sorted(), "{places:?}");
    }

    #[test]
    fn every_file_that_was_built_is_there() {
        for name in names() {
            let plain = asset(&name, false).unwrap();
            assert!(!plain.bytes.is_empty() && !plain.is_brotli, "{name}");
            assert_ne!(plain.content_type, "application/octet-stream", "{name}");
            assert_eq!(plain.is_immutable, ![DOCUMENT, "manifest.json"].contains(&name.as_ref()), "{name}");
            let small = asset(&name, true).unwrap();
            assert_eq!(small.is_brotli, small.bytes.len() < plain.bytes.len(), "{name}");
            assert_eq!(small.is_brotli, small.digest != plain.digest, "{name}");
            assert_eq!((small.content_type, small.is_immutable), (plain.content_type, plain.is_immutable), "{name}");
        }
    }
}
